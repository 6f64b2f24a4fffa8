// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is made in a manual computation of ops that were on whole arrays.

use super::layout::{Grid, Layout, Mesh};
use crate::ir::{self, Builder};
use crate::rewrite::set_attribute;
use crate::stream::plan;
use melior::ir::attribute::{DenseElementsAttribute, IntegerAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, Location, OperationRef, RegionLike, Type, Value};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ChannelHandle;
use slimhlo_dialect::types::Tensor;

/// StableHLO's number for channels between devices.
const DEVICE_TO_DEVICE: i64 = 1;

/// What comes of a value on all devices along some axes, made before `anchor`; takes a channel.
pub(crate) fn all_reduce<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    grid: &Grid,
    channel: &mut i64,
    (value, axes, combine): (Value<'c, 'a>, &[usize], &str),
    location: Location<'c>,
) -> OperationRef<'c, 'a> {
    let parts = grid.parts(axes);
    let i64_type = build.i64_type();
    let mut numbers: Vec<Attribute<'c>> = Vec::with_capacity(grid.devices());
    for device in (0..grid.devices()).filter(|&device| grid.part_of(device, axes) == 0) {
        let group = (0..parts).map(|part| grid.with_part(device, axes, part) as i64);
        numbers.extend(group.map(|device| Attribute::from(IntegerAttribute::new(i64_type, device))));
    }
    let table = Tensor::get(&[grid.devices() as i64 / parts, parts], i64_type, None);
    let groups = DenseElementsAttribute::new(table, &numbers).expect("a tensor type");
    let handle = ChannelHandle::new(build.context(), *channel, DEVICE_TO_DEVICE);
    *channel += 1;
    let ty = melior::ir::ValueLike::r#type(&value);
    let scalar = Tensor::get(&[], ir::element_of(ty), None);
    let op = build.op_with_blocks("stablehlo.all_reduce", &[value], &[ty], &[&[scalar, scalar]], location);
    set_attribute(op, "replica_groups", groups.into());
    set_attribute(op, "channel_handle", handle.into());
    set_attribute(op, "use_global_device_ids", Attribute::unit(build.context()));
    let block = op.region(0).ok().and_then(|region| region.first_block()).expect("made with a block");
    build.set_insertion_point_to_end(block);
    let argument =
        |index| melior::ir::block::BlockLike::argument(&block, index).expect("made with arguments").into();
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
    let dim = plan::iota_dimension(op)?;
    let axes = layout.0.get(dim).filter(|axes| !axes.is_empty())?;
    let location = op.location();
    let element = ir::element_of(ty);
    let size = ffi::shape(ty)?[dim];
    let grid = &mesh.grid;
    let starts: Vec<Attribute<'c>> = (0..grid.devices())
        .map(|device| IntegerAttribute::new(element, grid.part_of(device, axes) * size).into())
        .collect();
    let partition = *partition.get_or_insert_with(|| {
        let ty = Tensor::get(&[], IntegerType::unsigned(build.context(), 32).into(), None);
        build.insert("stablehlo.partition_id", &[], &[], ty, location)
    });
    let table_type = Tensor::get(&[starts.len() as i64], element, None);
    let table = DenseElementsAttribute::new(table_type, &starts).ok()?;
    let table = build.insert("stablehlo.constant", &[], &[("value", table.into())], table_type, location);
    let one = build.dynamic_slice(table, &[partition], Tensor::get(&[1], element, None), location);
    let start = build.reshape(one, Tensor::get(&[], element, None), location);
    let start = build.broadcast_scalar(start, ty, location);
    let counted = build.iota(ty, dim, location);
    Some(build.binary("stablehlo.add", counted, start, location))
}
