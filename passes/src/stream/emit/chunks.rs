// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A turn's chunk of each value, from the chunks of what it is made of: slices, positions, loops of a chunk's own.

use super::super::beside::{Sunk, repeated};
use super::{Given, Loop, Start, result_index, with_element};
use crate::ir::{self, element_of};
use crate::ops::access::{Along, Source};
use crate::ops::loops;
use crate::rewrite::defining_op;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, RegionLike, Type, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;
use slimhlo_dialect::types::Tensor;

impl<'c: 'a, 'a> Loop<'c, 'a, '_> {
    /// One chunk of a value: `size` units from `start`. `wholes` says what stands for a value used whole, `chunks` are
    /// those planned before it.
    pub fn chunk(
        &self,
        at: usize,
        start: Start<'c, 'a>,
        size: i64,
        given: &Given<'c, 'a>,
        chunks: &[Value<'c, 'a>],
        done: &mut FxHashMap<(usize, Along), OperationRef<'c, 'a>>,
    ) -> Value<'c, 'a> {
        let build = self.build;
        let chunk = &self.plan.chunks[at];
        let whole = |value: Value<'c, 'a>| given.wholes.get(&ir::key(value)).copied().unwrap_or(value);
        let Along { dim, run, from } = chunk.along;
        let ty = self.plan.chunk_type(chunk.value.r#type(), chunk.along, size);
        let tensor = Tensor::new(chunk.value.r#type()).expect("planned values are tensors");
        let op = defining_op(chunk.value);
        let first = self.consumers.first().map(|consumer| consumer.op);
        let location = op.or(first).map_or_else(|| Location::unknown(build.context()), |op| op.location());
        match &chunk.source {
            Source::Slice => {
                let leaf = given.leaves[at].expect("slices are of something");
                match start {
                    Start::Known(at) => {
                        let mut starts = vec![0; tensor.rank()];
                        starts[dim] = at * run + leaf.from;
                        build.slice(leaf.value, &starts, ty, location)
                    }
                    Start::At(_) => {
                        let mut starts = vec![build.i64_constant(0, location); tensor.rank()];
                        starts[dim] = self.position(start, run, leaf.from, location);
                        build.dynamic_slice(leaf.value, &starts, ty, location)
                    }
                }
            }
            Source::Splat => self.splat(chunk.value, ty),
            Source::Iota => {
                // Counted in i64, then converted, as the whole iota is: a float would round the sum, not the number.
                let (counted, wide) =
                    self.counted(ty, dim, self.position(start, run, from, location), location);
                if wide == ty { counted } else { build.convert(counted, ty, location) }
            }
            Source::Op(operands) | Source::Pad(operands) => {
                let op = op.expect("planned as an op");
                let index = result_index(op, chunk.value);
                let same = |copy: &&OperationRef<'c, 'a>| {
                    copy.result(index).is_ok_and(|result| Value::from(result).r#type() == ty)
                };
                if let Some(copy) = done.get(&(ir::op_key(op), chunk.along)).filter(same) {
                    return copy.result(index).expect("copies have the results of the op").into();
                }
                let operands: Vec<_> = op
                    .operands()
                    .zip(operands.iter())
                    .map(|(operand, along)| match along {
                        Some(along) => {
                            chunks[self.plan.position(operand, *along).expect("operands are planned first")]
                        }
                        None => whole(operand),
                    })
                    .collect();
                if matches!(chunk.source, Source::Pad(_)) {
                    return self.padded(op, &operands, chunk.along, ty, start, location);
                }
                if op_name(op) == "stablehlo.while" {
                    let copy = self.turns(op, index, chunk.along, &operands, size);
                    done.insert((ir::op_key(op), chunk.along), copy);
                    return copy.result(index).expect("copies have the results of the op").into();
                }
                let numbers =
                    |name: &str| ir::i64_array(op, name).expect("the plan has looked at it").to_vec();
                let mut attributes = Vec::new();
                if op_name(op) == "stablehlo.slice" {
                    if let Some(slice) = self.slice_of_slice(op, operands[0], dim, ty) {
                        return slice;
                    }
                    let (mut starts, mut limits) = (numbers("start_indices"), numbers("limit_indices"));
                    (starts[dim], limits[dim]) = (0, run * size);
                    attributes.push(("start_indices", build.i64_array(&starts)));
                    attributes.push(("limit_indices", build.i64_array(&limits)));
                }
                let mut types: Vec<Type> = op
                    .results()
                    .map(|result| self.plan.chunk_type(result.r#type(), chunk.along, size))
                    .collect();
                let gathered = (op_name(op) == "stablehlo.gather").then(|| ir::operand(op, 0)).flatten();
                if let Some(sunk) = gathered.and_then(|from| self.sunk_of(from)) {
                    let indices = operands[1];
                    types[0] = with_element(types[0], element_of(sunk.from.r#type()));
                    let rows = build.copy_with(op, &[whole(sunk.from), indices], &attributes, &types);
                    let copy = self.after_gather(sunk, rows, &whole);
                    done.insert((ir::op_key(op), chunk.along), copy);
                    return copy.result(0).expect("elementwise ops have one result").into();
                }
                let copy = build.copy_with(op, &operands, &attributes, &types);
                done.insert((ir::op_key(op), chunk.along), copy);
                copy.result(index).expect("copies have the results of the op").into()
            }
        }
    }

    /// All turns of a loop for one chunk, see `ops/loops.rs`.
    fn turns(
        &self,
        op: OperationRef<'c, 'a>,
        result: usize,
        along: Along,
        operands: &[Value<'c, 'a>],
        size: i64,
    ) -> OperationRef<'c, 'a> {
        let build = self.build;
        let turns = loops::of(op, result, along, self.plan.units).expect("planned as a loop in chunks");
        let types: Vec<Type> = operands.iter().map(|operand| operand.r#type()).collect();
        let body = |op: OperationRef<'c, 'a>| op.region(1).ok()?.first_block()?.first_operation();
        // Splats in the chunk's shape are made before the loop.
        let mut splats: FxHashMap<(usize, Type<'c>), Value<'c, 'a>> = FxHashMap::default();
        let mut taken: Vec<(usize, usize, Value<'c, 'a>)> = Vec::new();
        let ops = std::iter::successors(body(op), |op| op.next_in_block()).collect::<Vec<_>>();
        for (place, op) in ops.iter().enumerate() {
            for (index, value) in op.operands().enumerate() {
                let Some(along) = turns.splats.get(&(ir::op_key(*op), index)) else { continue };
                let ty = self.plan.chunk_type(value.r#type(), *along, size);
                let splat = *splats.entry((ir::key(value), ty)).or_insert_with(|| self.splat(value, ty));
                taken.push((place, index, splat));
            }
        }
        let copy = build.copy_with(op, operands, &[], &types);
        let copies = std::iter::successors(body(copy), |op| op.next_in_block()).collect::<Vec<_>>();
        for block in (0..2).filter_map(|index| copy.region(index).ok()?.first_block()) {
            for (index, ty) in types.iter().enumerate() {
                build.set_type(block.argument(index).expect("an argument per operand").into(), *ty);
            }
        }
        for (place, index, splat) in taken {
            build.set_operand(copies[place], index, splat);
        }
        for (op, copy) in ops.into_iter().zip(copies) {
            for (from, to) in op.results().map(Value::from).zip(copy.results().map(Value::from)) {
                let Some(along) = turns.inside.get(&ir::key(from)) else { continue };
                build.set_type(to, self.plan.chunk_type(from.r#type(), *along, size));
                if op_name(op) == "stablehlo.slice" {
                    let limits = ir::i64_array(op, "limit_indices").expect("the plan has looked at it");
                    let mut limits = limits.to_vec();
                    limits[along.dim] = along.run * size;
                    crate::rewrite::set_attribute(copy, "limit_indices", build.i64_array(&limits));
                }
            }
        }
        copy
    }

    /// A slice of a chunk that is a slice itself is one of what that is of: each column is looked up by itself, and nothing between
    /// is stored. XLA for CPU computes what several read by a function of its own, in which it would look for each element where the
    /// chunk begins, and computes one element at a time for that.
    fn slice_of_slice(
        &self,
        op: OperationRef<'c, 'a>,
        chunk: Value<'c, 'a>,
        dim: usize,
        ty: Type<'c>,
    ) -> Option<Value<'c, 'a>> {
        let sliced = defining_op(chunk).filter(|op| op_name(*op) == "stablehlo.dynamic_slice")?;
        let (first, strides) = (ir::i64_array(op, "start_indices")?, ir::i64_array(op, "strides")?);
        let from = ir::operand(sliced, 0)?;
        if strides.iter().any(|&stride| stride != 1) {
            return None;
        }
        // A chunk is all of the other dimensions.
        let starts: Vec<_> = sliced
            .operands()
            .skip(1)
            .enumerate()
            .map(
                |(at, start)| {
                    if at == dim { start } else { self.build.i64_constant(first[at], op.location()) }
                },
            )
            .collect();
        Some(self.build.dynamic_slice(from, &starts, ty, op.location()))
    }

    /// What a sunk value's ops make of rows gathered from what it is computed from; the last of them.
    fn after_gather(
        &self,
        sunk: &Sunk<'c, 'a>,
        rows: OperationRef<'c, 'a>,
        whole: &impl Fn(Value<'c, 'a>) -> Value<'c, 'a>,
    ) -> OperationRef<'c, 'a> {
        let build = self.build;
        let mut last = rows;
        let mut from = sunk.from;
        for op in &sunk.ops {
            let current: Value<'c, 'a> = last.result(0).expect("gathers have one result").into();
            let like = |value: Value<'c, 'a>| with_element(current.r#type(), element_of(value.r#type()));
            let result: Value<'c, 'a> = op.result(0).expect("elementwise ops have one result").into();
            let operands: Vec<_> = op
                .operands()
                .map(|operand| {
                    if operand == from {
                        current
                    } else if ir::is_rank_zero(operand) && !ir::is_rank_zero(result) {
                        whole(operand)
                    } else if let Some(scalar) = repeated(operand) {
                        build.broadcast_scalar(whole(scalar), like(operand), op.location())
                    } else {
                        let value = defining_op(operand).and_then(|op| op.attribute("value").ok());
                        let value = value.and_then(|value| value.try_into().ok()).expect("splats are dense");
                        let scalar =
                            build.scalar_constant(value, element_of(operand.r#type()), op.location());
                        build.broadcast_scalar(scalar, like(operand), op.location())
                    }
                })
                .collect();
            last = build.copy_with(*op, &operands, &[], &[like(result)]);
            from = result;
        }
        last
    }

    /// A chunk of a pad along the streamed dimension: the operand's elements where there are some, else the padding.
    fn padded(
        &self,
        op: OperationRef<'c, 'a>,
        operands: &[Value<'c, 'a>],
        along: Along,
        ty: Type<'c>,
        start: Start<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let build = self.build;
        let numbers = |name: &str| ir::i64_array(op, name).expect("the plan has looked at it").to_vec();
        let (mut low, mut high) = (numbers("edge_padding_low"), numbers("edge_padding_high"));
        let interior = numbers("interior_padding");
        let first = std::mem::take(&mut low[along.dim]);
        high[along.dim] = 0;
        let others = low.iter().chain(&high).chain(&interior).any(|&padding| padding != 0);
        let inner = if others {
            build.pad(operands[0], operands[1], [&low, &high, &interior], ty, location)
        } else {
            operands[0]
        };
        let size = op
            .operand(0)
            .ok()
            .and_then(|operand| Tensor::new(operand.r#type()))
            .expect("pads are of tensors");
        let from = self.position(start, along.run, along.from - first, location);
        let (counted, wide) = self.counted(ty, along.dim, from, location);
        let limit = |number: i64| {
            let number = build.i64_constant(number, location);
            build.broadcast_scalar(number, wide, location)
        };
        let mut inside =
            build.compare(ComparisonDirection::Lt, counted, limit(size.shape[along.dim]), location);
        if first > 0 {
            let after = build.compare(ComparisonDirection::Ge, counted, limit(0), location);
            inside = build.binary("stablehlo.and", inside, after, location);
        }
        let padding = build.broadcast_scalar(operands[1], ty, location);
        build.select(inside, inner, padding, location)
    }

    /// The numbers from `from` on along a dimension of an i64 tensor of `like`'s shape, and its type.
    fn counted(
        &self,
        like: Type<'c>,
        dim: usize,
        from: Value<'c, 'a>,
        location: Location<'c>,
    ) -> (Value<'c, 'a>, Type<'c>) {
        let build = self.build;
        let shape = Tensor::new(like).expect("planned values are tensors").shape;
        let wide = Tensor::get(shape, build.i64_type(), None);
        let counted = build.iota(wide, dim, location);
        let from = build.broadcast_scalar(from, wide, location);
        (build.binary("stablehlo.add", counted, from, location), wide)
    }

    /// The element at which a chunk begins.
    pub(super) fn position(
        &self,
        start: Start<'c, 'a>,
        run: i64,
        from: i64,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let build = self.build;
        match start {
            Start::Known(at) => build.i64_constant(at * run + from, location),
            Start::At(at) if from == 0 => self.scaled(at, run, location),
            Start::At(at) => {
                let scaled = self.scaled(at, run, location);
                build.binary("stablehlo.add", scaled, build.i64_constant(from, location), location)
            }
        }
    }

    pub(super) fn scaled(&self, units: Value<'c, 'a>, run: i64, location: Location<'c>) -> Value<'c, 'a> {
        if run == 1 {
            return units;
        }
        let run = self.build.i64_constant(run, location);
        self.build.binary("stablehlo.multiply", units, run, location)
    }
}
