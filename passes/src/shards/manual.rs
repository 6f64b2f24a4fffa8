// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Making manual computations, and what ops on whole arrays become in them.

use super::mesh::{Grid, Layout, Mesh};
use crate::ir::{self, Builder};
use crate::ops::access;
use crate::rewrite::set_attribute;
use melior::ir::attribute::{DenseElementsAttribute, IntegerAttribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, BlockRef, Location, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{ManualAxes, TensorShardingPerValue, View};
use slimhlo_dialect::stablehlo::attrs::ChannelHandle;
use slimhlo_dialect::types::Tensor;

/// StableHLO's number for channels between devices.
const DEVICE_TO_DEVICE: i64 = 1;

/// A manual computation along all axes of the mesh at the insertion point, which moves to the end of its block. Types are those of whole
/// arrays; `None` if one does not come out even.
pub(crate) fn manual_computation<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    mesh: &Mesh<'c>,
    operands: &[(Value<'c, 'a>, &Layout)],
    results: &[(Type<'c>, &Layout)],
    location: Location<'c>,
) -> Option<(OperationRef<'c, 'a>, BlockRef<'c, 'a>)> {
    let context = build.context();
    let local = |(value, layout): &(Value<'c, 'a>, &Layout)| {
        let tensor = Tensor::new(value.r#type())?;
        Some(Tensor::get(&layout.local_shape(tensor.shape, &mesh.grid)?, tensor.element, None))
    };
    let locals: Vec<Type<'c>> = operands.iter().map(local).collect::<Option<_>>()?;
    let shardings = |layouts: &mut dyn Iterator<Item = &Layout>| {
        let all: Option<Vec<_>> = layouts.map(|layout| mesh.sharding(context, layout)).collect();
        TensorShardingPerValue::new(context, &all?)
    };
    let taken = shardings(&mut operands.iter().map(|(_, layout)| *layout))?;
    let given = shardings(&mut results.iter().map(|(_, layout)| *layout))?;
    let names: Vec<_> = mesh.names().map(|name| StringAttribute::new(context, name)).collect();
    let manual = ManualAxes::new(context, &names)?;
    let values: Vec<_> = operands.iter().map(|(value, _)| *value).collect();
    let types: Vec<_> = results.iter().map(|(ty, _)| *ty).collect();
    let op = build.op_with_blocks("sdy.manual_computation", &values, &types, &[&locals], location);
    set_attribute(op, "in_shardings", taken.attribute());
    set_attribute(op, "out_shardings", given.attribute());
    set_attribute(op, "manual_axes", manual.attribute());
    let block = op.region(0).ok().and_then(|region| region.first_block())?;
    build.set_insertion_point_to_end(block);
    Some((op, block))
}

/// A constant as a device has it, of type `ty`: the same, or a splat of another shape.
pub(crate) fn constant_on_shards<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    constant: OperationRef<'c, 'a>,
    ty: Type<'c>,
) -> Value<'c, 'a> {
    let value = ir::first_result(constant).expect("constants have one result");
    let splat = ir::splat_constant(value).and_then(|_| ffi::attribute_of(constant, "value"));
    match splat.and_then(|splat| splat.try_into().ok()).filter(|_| ty != value.r#type()) {
        Some(splat) => {
            let scalar = build.scalar_constant(splat, ir::element_of(ty), constant.location());
            build.broadcast_scalar(scalar, ty, constant.location())
        }
        None => ir::first_result(build.copy_with(constant, &[], &[], &[ty])).expect("as the original"),
    }
}

/// The number of this device.
pub(crate) fn partition_id<'c: 'a, 'a>(build: &Builder<'c, 'a>, location: Location<'c>) -> Value<'c, 'a> {
    let ty = Tensor::get(&[], IntegerType::unsigned(build.context(), 32).into(), None);
    build.insert("stablehlo.partition_id", &[], &[], ty, location)
}

/// The entry of this device in a table with one for each; `partition` is the device's number if it is there.
pub(crate) fn looked_up<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    partition: &mut Option<Value<'c, 'a>>,
    table: &[Attribute<'c>],
    element: Type<'c>,
    location: Location<'c>,
) -> Value<'c, 'a> {
    let partition = *partition.get_or_insert_with(|| partition_id(build, location));
    let ty = Tensor::get(&[table.len() as i64], element, None);
    let dense = DenseElementsAttribute::new(ty, table).expect("a tensor type");
    let table = build.insert("stablehlo.constant", &[], &[("value", dense.into())], ty, location);
    let one = build.dynamic_slice(table, &[partition], Tensor::get(&[1], element, None), location);
    build.reshape(one, Tensor::get(&[], element, None), location)
}

/// Which devices are together along some axes, in order along these: a row of the table for each of the others.
fn groups<'c: 'a, 'a>(build: &Builder<'c, 'a>, grid: &Grid, axes: &[usize]) -> DenseElementsAttribute<'c> {
    let parts = grid.parts(axes);
    let i64_type = build.i64_type();
    let mut numbers: Vec<Attribute<'c>> = Vec::with_capacity(grid.devices());
    for device in (0..grid.devices()).filter(|&device| grid.part_of(device, axes) == 0) {
        let group = (0..parts).map(|part| grid.with_part(device, axes, part) as i64);
        numbers.extend(group.map(|device| Attribute::from(IntegerAttribute::new(i64_type, device))));
    }
    let table = Tensor::get(&[grid.devices() as i64 / parts, parts], i64_type, None);
    DenseElementsAttribute::new(table, &numbers).expect("a tensor type")
}

/// The next channel between devices.
fn channel_handle<'c: 'a, 'a>(build: &Builder<'c, 'a>, channel: &mut i64) -> Attribute<'c> {
    let handle = ChannelHandle::new(build.context(), *channel, DEVICE_TO_DEVICE);
    *channel += 1;
    handle.into()
}

/// What one device sends another, by pairs of who sends and who receives; takes a channel.
pub(crate) fn collective_permute<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    channel: &mut i64,
    (value, pairs): (Value<'c, 'a>, &[(usize, usize)]),
    location: Location<'c>,
) -> Value<'c, 'a> {
    let i64_type = build.i64_type();
    let mut pairs = pairs.to_vec();
    pairs.sort_unstable();
    let numbers: Vec<Attribute<'c>> = pairs
        .iter()
        .flat_map(|(from, to)| [*from, *to])
        .map(|device| IntegerAttribute::new(i64_type, device as i64).into())
        .collect();
    let table = Tensor::get(&[pairs.len() as i64, 2], i64_type, None);
    let pairs = DenseElementsAttribute::new(table, &numbers).expect("a tensor type");
    let attributes =
        [("source_target_pairs", pairs.into()), ("channel_handle", channel_handle(build, channel))];
    build.insert("stablehlo.collective_permute", &[value], &attributes, value.r#type(), location)
}

/// A value of one dimension, one after the other of all devices along some axes; takes a channel.
pub(crate) fn all_gather<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    grid: &Grid,
    channel: &mut i64,
    (value, axes): (Value<'c, 'a>, &[usize]),
    location: Location<'c>,
) -> Value<'c, 'a> {
    let size = ffi::shape(value.r#type()).expect("values here are ranked")[0];
    let ty = Tensor::get(&[size * grid.parts(axes)], ir::element_of(value.r#type()), None);
    let attributes = [
        ("all_gather_dim", IntegerAttribute::new(build.i64_type(), 0).into()),
        ("replica_groups", groups(build, grid, axes).into()),
        ("channel_handle", channel_handle(build, channel)),
        ("use_global_device_ids", Attribute::unit(build.context())),
    ];
    build.insert("stablehlo.all_gather", &[value], &attributes, ty, location)
}

/// What comes of a value on all devices along some axes, made before `anchor`; takes a channel.
pub(crate) fn all_reduce<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    grid: &Grid,
    channel: &mut i64,
    (value, axes, combine): (Value<'c, 'a>, &[usize], &str),
    location: Location<'c>,
) -> OperationRef<'c, 'a> {
    let ty = value.r#type();
    let scalar = Tensor::get(&[], ir::element_of(ty), None);
    let op = build.op_with_blocks("stablehlo.all_reduce", &[value], &[ty], &[&[scalar, scalar]], location);
    set_attribute(op, "replica_groups", groups(build, grid, axes).into());
    set_attribute(op, "channel_handle", channel_handle(build, channel));
    set_attribute(op, "use_global_device_ids", Attribute::unit(build.context()));
    let block = op.region(0).ok().and_then(|region| region.first_block()).expect("made with a block");
    build.set_insertion_point_to_end(block);
    let argument = |index| block.argument(index).expect("made with arguments").into();
    let both = build.binary(combine, argument(0), argument(1), location);
    build.terminator("stablehlo.return", &[both], location);
    op
}

/// A shard, of type `ty`, of an iota that counts along a dimension that is cut; `partition` is the device's number if it is there.
pub(crate) fn counted<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    mesh: &Mesh<'c>,
    layout: &Layout,
    partition: &mut Option<Value<'c, 'a>>,
    op: OperationRef<'c, 'a>,
    ty: Type<'c>,
) -> Option<Value<'c, 'a>> {
    if op_name(op) != "stablehlo.iota" {
        return None;
    }
    let dim = access::iota_dimension(op)?;
    let axes = layout.0.get(dim).filter(|axes| !axes.is_empty())?;
    let location = op.location();
    let element = ir::element_of(ty);
    let size = ffi::shape(ty)?[dim];
    let grid = &mesh.grid;
    let starts: Vec<Attribute<'c>> = (0..grid.devices())
        .map(|device| IntegerAttribute::new(element, grid.part_of(device, axes) * size).into())
        .collect();
    let start = looked_up(build, partition, &starts, element, location);
    let start = build.broadcast_scalar(start, ty, location);
    let counted = build.iota(ty, dim, location);
    Some(build.binary("stablehlo.add", counted, start, location))
}
