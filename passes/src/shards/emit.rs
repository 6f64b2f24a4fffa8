// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Making the manual computation: what each device does with its shards, and what it sends where.

mod boxes;
mod by_device;
mod exchange;
mod places;
pub(crate) mod rounds;
mod slots;
mod updates;
mod whole;

pub use exchange::next_channel;
pub use updates::merged;

use super::classes::{Class, Devices, Read};
use super::layout::is_zero_bits;
use super::manual::{looked_up, manual_computation};
use super::mesh::{Layout, Mesh};
use super::moves::{Box_, Expr, Index};
use crate::ir::{self, Builder, element_of};
use crate::rewrite::defining_op;
use melior::Context;
use melior::ir::attribute::{BoolAttribute, DenseElementsAttribute, FloatAttribute, IntegerAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, Location, OperationRef, Type, TypeLike, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi;
use slimhlo_dialect::types::Tensor;

/// A step of an update in place: part of the array is overwritten.
struct Written {
    version: usize,
    local: Box_,
    devices: Devices,
}

/// What a manual computation is made of.
pub struct Outside<'c, 'a, 'r> {
    /// The op before which it is made.
    pub anchor: OperationRef<'c, 'a>,
    /// Where it comes from.
    pub location: Location<'c>,
    /// Values that it takes, in parts that come out even.
    pub inputs: &'r [(Value<'c, 'a>, Layout)],
    /// Scalars from outside.
    pub fills: &'r [Value<'c, 'a>],
    /// The type of its result, and how that is laid out.
    pub result: (Type<'c>, &'r Layout),
    /// What pieces of the result are computed as, by number.
    pub exprs: Vec<&'r Expr<'c, 'a>>,
}

/// A manual computation under construction.
pub struct Body<'c, 'a, 'r> {
    build: &'r Builder<'c, 'a>,
    context: &'c Context,
    mesh: &'r Mesh<'c>,
    location: Location<'c>,
    op: OperationRef<'c, 'a>,
    /// How much of its tile of the result each device has something in.
    extents: Vec<Vec<i64>>,
    /// Whether tiles of the result and of what is read are of other sizes, or short at the ends.
    pub is_uneven: bool,
    /// Whether a tile may be made by places that each device looks up where that is not so.
    pub may_slide: bool,
    /// Whether an array that is updated is stored in any case, and not just computed on by whoever reads it.
    pub is_stored: bool,
    /// How many elements it may get from others at once, if that can be helped.
    pub most_at_once: Option<i64>,
    inputs: Vec<Value<'c, 'a>>,
    /// Scalars, and whether they are known to be zero in every bit.
    fills: Vec<(Value<'c, 'a>, bool)>,
    exprs: Vec<&'r Expr<'c, 'a>>,
    channel: &'r mut i64,
    partition: Option<Value<'c, 'a>>,
    predicates: FxHashMap<Devices, Value<'c, 'a>>,
    filled: FxHashMap<(usize, Vec<i64>), Value<'c, 'a>>,
    starts: FxHashMap<i64, Value<'c, 'a>>,
    /// Numbers that devices look up.
    tables: FxHashMap<Vec<i64>, Value<'c, 'a>>,
    /// What will be read of inputs from other devices, and what came of it.
    foreseen: Vec<(Read, Option<Value<'c, 'a>>)>,
    /// What has been joined, by its parts, along which dimension.
    joined: FxHashMap<(Vec<usize>, usize), Vec<by_device::Joined<'c, 'a>>>,
    /// The array being updated, after so many updates.
    versions: Vec<Value<'c, 'a>>,
    latest: Option<Value<'c, 'a>>,
    written: Vec<Written>,
    /// How many exchanges there are.
    pub exchanges: u64,
    /// How many elements a device receives in them all; each device has room for all, whoever sends.
    pub received: i64,
    /// How many of them it receives at once, if exchanges come one after the other.
    pub widest: i64,
}

impl<'c: 'a, 'a, 'r> Body<'c, 'a, 'r> {
    /// Opens a manual computation with one result, which is padded at its ends until parts come out even, as inputs are.
    pub fn open(
        build: &'r Builder<'c, 'a>,
        mesh: &'r Mesh<'c>,
        channel: &'r mut i64,
        Outside { anchor, location, inputs, fills, result, exprs }: Outside<'c, 'a, 'r>,
    ) -> Option<Self> {
        let context = crate::rewrite::context_of(anchor);
        let scalar = Layout::whole(0);
        let is_constant = |value: Value<'c, 'a>| ir::splat_constant(value).is_some();
        let given = fills.iter().filter(|fill| !is_constant(**fill)).map(|fill| (*fill, &scalar));
        let operands: Vec<(Value<'c, 'a>, &Layout)> =
            inputs.iter().map(|(value, layout)| (*value, layout)).chain(given).collect();
        let (ty, layout) = result;
        let shape = ffi::shape(ty)?;
        let extents = layout.extents(shape, &mesh.grid)?;
        let even = Tensor::get(&layout.even_shape(shape, &mesh.grid)?, element_of(ty), None);
        let tile = layout.tile_shape(shape, &mesh.grid)?;
        let is_uneven = extents.iter().any(|extent| *extent != tile)
            || inputs.iter().any(|(value, layout)| {
                ffi::shape(value.r#type()).and_then(|shape| layout.tile_shape(shape, &mesh.grid)).as_ref()
                    != Some(&tile)
            });
        build.set_insertion_point_before(anchor);
        let (op, block) = manual_computation(build, mesh, &operands, &[(even, layout)], location)?;
        let mut arguments =
            (0..operands.len()).filter_map(|index| block.argument(index).ok().map(Value::from));
        let inputs = arguments.by_ref().take(inputs.len()).collect();
        let fills = fills
            .iter()
            .map(|&fill| match defining_op(fill).filter(|_| is_constant(fill)) {
                Some(constant) => {
                    let copy = build.copy_with(constant, &[], &[], &[fill.r#type()]);
                    let zero = ir::splat_constant(fill).is_some_and(is_zero_bits);
                    Some((copy.result(0).ok()?.into(), zero))
                }
                None => Some((arguments.next()?, false)),
            })
            .collect::<Option<_>>()?;
        Some(Self {
            build,
            context,
            mesh,
            location,
            op,
            extents,
            is_uneven,
            may_slide: false,
            is_stored: false,
            most_at_once: None,
            inputs,
            fills,
            exprs,
            channel,
            partition: None,
            predicates: FxHashMap::default(),
            filled: FxHashMap::default(),
            starts: FxHashMap::default(),
            tables: FxHashMap::default(),
            foreseen: Vec::new(),
            joined: FxHashMap::default(),
            versions: Vec::new(),
            latest: None,
            written: Vec::new(),
            exchanges: 0,
            received: 0,
            widest: 0,
        })
    }

    /// Returns `value` from the computation; gives its result outside.
    pub fn close(self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.build.terminator("sdy.return", &[value], self.location);
        self.op.result(0).expect("made with one result").into()
    }

    /// Takes it all back.
    pub fn abandon(self) {
        self.build.erase(self.op);
    }

    /// A scalar zero; `None` if the type has none that is written as a number.
    fn zero(&mut self, element: Type<'c>) -> Option<Value<'c, 'a>> {
        let zero: Attribute = match IntegerType::try_from(element) {
            Ok(integer) if integer.width() == 1 => BoolAttribute::new(self.context, false).into(),
            Ok(_) => IntegerAttribute::new(element, 0).into(),
            Err(_) if element.is_float() => FloatAttribute::new(self.context, element, 0.0).into(),
            Err(_) => return None,
        };
        let ty = Tensor::get(&[], element, None);
        let value = DenseElementsAttribute::new(ty, &[zero]).ok()?;
        Some(self.build.insert("stablehlo.constant", &[], &[("value", value.into())], ty, self.location))
    }

    /// What the devices of a class put into their box.
    fn value(&mut self, class: &Class) -> Value<'c, 'a> {
        let (_, size) = corners(&class.local);
        let mut reads = class.reads.iter();
        let mut leaf = |body: &mut Self, index: &[Index]| {
            let value = body.read(reads.next().expect("as many as in the expression"));
            body.oriented(value, index, &size)
        };
        self.expr(self.exprs[class.piece], &mut leaf, &size)
    }

    /// An expression computed for a box of this size; `leaf` gives what is read, from left to right.
    fn expr(
        &mut self,
        expr: &Expr<'c, 'a>,
        leaf: &mut dyn FnMut(&mut Self, &[Index]) -> Value<'c, 'a>,
        size: &[i64],
    ) -> Value<'c, 'a> {
        match expr {
            Expr::Fill(fill) => self.filled(*fill, size),
            Expr::Read(_, index) => leaf(self, index),
            Expr::Apply(op, arguments) => {
                let mut operands = Vec::with_capacity(arguments.len());
                for (operand, argument) in op.operands().zip(arguments) {
                    operands.push(match argument {
                        Expr::Fill(fill) if ir::is_rank_zero(operand) => self.fills[*fill].0,
                        _ => self.expr(argument, leaf, size),
                    });
                }
                let result = op.results().next().expect("elementwise ops have one result");
                let ty = Tensor::get(size, element_of(result.r#type()), None);
                let copy = self.build.copy_with(*op, &operands, &[], &[ty]);
                ir::remove_discardable_attributes(copy);
                copy.result(0).expect("as the original").into()
            }
        }
    }

    /// A part as read, with dimensions reversed, dropped and repeated as the result needs it.
    fn oriented(&mut self, value: Value<'c, 'a>, index: &[Index], size: &[i64]) -> Value<'c, 'a> {
        let element = element_of(value.r#type());
        let mut value = value;
        let backwards: Vec<i64> = index
            .iter()
            .enumerate()
            .filter(|(_, at)| matches!(at, Index::Minus { .. }))
            .map(|(dim, _)| dim as i64)
            .collect();
        if !backwards.is_empty() {
            let dimensions = self.build.i64_array(&backwards);
            let ty = value.r#type();
            value = self.build.insert(
                "stablehlo.reverse",
                &[value],
                &[("dimensions", dimensions)],
                ty,
                self.location,
            );
        }
        let dims: Vec<usize> = index.iter().filter_map(|at| at.dim()).collect();
        if dims.iter().copied().eq(0..size.len()) && index.len() == size.len() {
            return value;
        }
        let in_place = |(dim, at): (usize, &Index)| at.dim().map_or(size[dim] > 0, |along| along == dim);
        if index.len() == size.len() && index.iter().enumerate().all(in_place) {
            let dims: Vec<i64> = (0..size.len() as i64).collect();
            return self.broadcast(value, &dims, size);
        }
        if dims.len() < index.len() {
            let shape: Vec<i64> = dims.iter().map(|&dim| size[dim]).collect();
            value = self.build.reshape(value, Tensor::get(&shape, element, None), self.location);
        }
        let mut order: Vec<usize> = (0..dims.len()).collect();
        order.sort_by_key(|&at| dims[at]);
        if !order.is_sorted() {
            let shape: Vec<i64> = order.iter().map(|&at| size[dims[at]]).collect();
            let permutation: Vec<i64> = order.iter().map(|&at| at as i64).collect();
            let permutation = self.build.i64_array(&permutation);
            let ty = Tensor::get(&shape, element, None);
            value = self.build.insert(
                "stablehlo.transpose",
                &[value],
                &[("permutation", permutation)],
                ty,
                self.location,
            );
        }
        if dims.len() < size.len() {
            let dims: Vec<i64> = order.iter().map(|&at| dims[at] as i64).collect();
            value = self.broadcast(value, &dims, size);
        }
        value
    }

    fn broadcast(&self, value: Value<'c, 'a>, dims: &[i64], size: &[i64]) -> Value<'c, 'a> {
        let ty = Tensor::get(size, element_of(value.r#type()), None);
        let dims = [("broadcast_dimensions", self.build.i64_array(dims))];
        self.build.insert("stablehlo.broadcast_in_dim", &[value], &dims, ty, self.location)
    }

    fn slice(&self, value: Value<'c, 'a>, start: &[i64], size: &[i64]) -> Value<'c, 'a> {
        if shape_of(value) == size {
            return value;
        }
        let ty = Tensor::get(size, element_of(value.r#type()), None);
        self.build.slice(value, start, ty, self.location)
    }

    /// `yes` on the devices of a set, `no` on the others.
    fn select(&mut self, devices: &Devices, yes: Value<'c, 'a>, no: Value<'c, 'a>) -> Value<'c, 'a> {
        let predicate = self.predicate(devices);
        self.build.insert("stablehlo.select", &[predicate, yes, no], &[], yes.r#type(), self.location)
    }

    /// The number of this device.
    fn tabled(&mut self, numbers: Vec<i64>) -> Value<'c, 'a> {
        if let Some(value) = self.tables.get(&numbers) {
            return *value;
        }
        let i64_type = self.build.i64_type();
        let table: Vec<Attribute> =
            numbers.iter().map(|at| IntegerAttribute::new(i64_type, *at).into()).collect();
        let value = self.looked_up(&table, i64_type);
        self.tables.insert(numbers, value);
        value
    }

    /// The entry of this device in a table.
    fn looked_up(&mut self, table: &[Attribute<'c>], element: Type<'c>) -> Value<'c, 'a> {
        looked_up(self.build, &mut self.partition, table, element, self.location)
    }

    /// Whether this device is in a set: looked up in a table.
    fn predicate(&mut self, devices: &Devices) -> Value<'c, 'a> {
        if let Some(value) = self.predicates.get(devices) {
            return *value;
        }
        let boolean: Type = IntegerType::new(self.context, 1).into();
        let members: Vec<Attribute> = (0..self.mesh.grid.devices())
            .map(|device| BoolAttribute::new(self.context, devices.contains(device)).into())
            .collect();
        let value = self.looked_up(&members, boolean);
        self.predicates.insert(devices.clone(), value);
        value
    }

    fn filled(&mut self, fill: usize, size: &[i64]) -> Value<'c, 'a> {
        let scalar = self.fills[fill].0;
        if size.is_empty() {
            return scalar;
        }
        let (build, location) = (self.build, self.location);
        *self.filled.entry((fill, size.to_vec())).or_insert_with(|| {
            let ty = Tensor::get(size, element_of(scalar.r#type()), None);
            build.broadcast_scalar(scalar, ty, location)
        })
    }

    fn start(&mut self, at: i64) -> Value<'c, 'a> {
        let (build, location) = (self.build, self.location);
        *self.starts.entry(at).or_insert_with(|| build.i64_constant(at, location))
    }
}

fn corners(window: &Box_) -> (Vec<i64>, Vec<i64>) {
    window.iter().map(|(low, high)| (*low, high - low)).unzip()
}

fn shape_of<'c>(value: Value<'c, '_>) -> &'c [i64] {
    ffi::shape(value.r#type()).expect("values here are ranked")
}
