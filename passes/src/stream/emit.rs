// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Making the loop: chunks of producers, what consumers do with them, the loop around, and the tail after it.

use super::plan::{Chunk, Plan, Source};
use super::{Consumer, Role};
use crate::ir::{self, Builder, element_of};
use crate::rewrite::{defining_op, location_of};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;
use std::collections::HashMap;

/// Where a chunk starts, in units.
#[derive(Clone, Copy)]
pub enum Start<'c, 'a> {
    /// Known when the loop is made.
    Known(i64),
    /// A scalar of the loop.
    At(Value<'c, 'a>),
}

/// The loop of a group of consumers, and its tail.
pub struct Loop<'c, 'a, 'r> {
    /// What makes ops.
    pub build: &'r Builder<'c, 'a>,
    /// How chunks are computed.
    pub plan: &'r Plan<'c, 'a>,
    /// What takes them, in order.
    pub consumers: &'r [Consumer<'c, 'a>],
    /// Units of a chunk.
    pub chunk: i64,
}

impl<'c: 'a, 'a> Loop<'c, 'a, '_> {
    /// Makes the loop before `anchor`; the values are the consumers' results.
    pub fn emit(&self, anchor: OperationRef<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let build = self.build;
        build.set_insertion_point_before(anchor);
        let ops: Vec<_> = self.consumers.iter().map(|consumer| consumer.op).collect();
        let location = location_of(&ops).unwrap_or(anchor.location());
        let captured = self.captured();

        let mut operands = vec![build.i64_constant(0, location)];
        operands.extend(self.consumers.iter().map(|consumer| self.initial(consumer)));
        operands.extend(&captured);
        let types: Vec<Type> = operands.iter().map(|operand| operand.r#type()).collect();
        let whole_chunks = self.plan.units / self.chunk;
        let op = build.op_with_blocks("stablehlo.while", &operands, &types, &[&types, &types], location);

        let arguments = |region: usize| -> Vec<Value<'c, 'a>> {
            let block =
                op.region(region).ok().and_then(|region| region.first_block()).expect("made with blocks");
            build.set_insertion_point_to_end(block);
            (0..types.len()).map(|index| block.argument(index).expect("made with arguments").into()).collect()
        };
        let inside = arguments(0);
        let end = build.i64_constant(whole_chunks * self.chunk, location);
        let goes_on = build.less_than(inside[0], end, location);
        build.terminator("stablehlo.return", &[goes_on], location);

        let inside = arguments(1);
        let (accumulators, given) = inside[1..].split_at(self.consumers.len());
        let wholes = captured.iter().map(|value| ir::key(*value)).zip(given.iter().copied()).collect();
        let mut next = vec![];
        next.extend(self.step(Start::At(inside[0]), self.chunk, wholes, accumulators));
        let by = build.i64_constant(self.chunk, location);
        next.insert(0, build.binary("stablehlo.add", inside[0], by, location));
        next.extend(given);
        build.terminator("stablehlo.return", &next, location);

        build.set_insertion_point_before(anchor);
        let mut results: Vec<Value<'c, 'a>> = (1..=self.consumers.len())
            .map(|index| op.result(index).expect("a result per operand").into())
            .collect();
        let rest = self.plan.units % self.chunk;
        if rest > 0 {
            let start = Start::Known(whole_chunks * self.chunk);
            results = self.step(start, rest, HashMap::new(), &results);
        }
        self.consumers
            .iter()
            .zip(results)
            .map(|(consumer, result)| {
                let ty = consumer.result().r#type();
                if result.r#type() == ty { result } else { build.convert(result, ty, consumer.op.location()) }
            })
            .collect()
    }

    /// What the body needs from outside, besides what it makes itself.
    fn captured(&self) -> Vec<Value<'c, 'a>> {
        let sliced = self.plan.chunks.iter().filter(|chunk| chunk.source == Source::Slice);
        let mut captured = Vec::new();
        for value in sliced.map(|chunk| chunk.value).chain(self.plan.wholes.iter().copied()) {
            if ir::splat_constant(value).is_none() && !captured.contains(&value) {
                captured.push(value);
            }
        }
        captured
    }

    /// What a consumer accumulates into at first.
    fn initial(&self, consumer: &Consumer<'c, 'a>) -> Value<'c, 'a> {
        let location = consumer.op.location();
        let ty = consumer.accumulator_type();
        match consumer.role {
            Role::Scatter => {
                let input = consumer.op.operand(0).expect("scatter has an input");
                if input.r#type() == ty { input } else { self.build.convert(input, ty, location) }
            }
            Role::Contract | Role::Place => {
                let element = element_of(ty);
                let zero = if element.is_float() { "0.0" } else { "0" };
                let zero = self.build.parsed_constant(zero, element, location);
                self.build.broadcast_scalar(zero.expect("plain numbers have a zero"), ty, location)
            }
            Role::Reduce { .. } => {
                let init = consumer.op.operand(1).expect("reduce has an initial value");
                let scalar = self.widened(init, element_of(ty), location);
                if Tensor::new(ty).is_some_and(|tensor| tensor.rank() == 0) {
                    scalar
                } else {
                    self.build.broadcast_scalar(scalar, ty, location)
                }
            }
        }
    }

    fn widened(&self, value: Value<'c, 'a>, element: Type<'c>, location: Location<'c>) -> Value<'c, 'a> {
        if element_of(value.r#type()) == element {
            return value;
        }
        let shape = Tensor::new(value.r#type()).expect("planned values are tensors").shape;
        self.build.convert(value, Tensor::get(shape, element, None), location)
    }

    /// Computes a chunk and lets the consumers take it.
    fn step(
        &self,
        start: Start<'c, 'a>,
        size: i64,
        mut wholes: HashMap<usize, Value<'c, 'a>>,
        accumulators: &[Value<'c, 'a>],
    ) -> Vec<Value<'c, 'a>> {
        // Constants are made again inside the loop, which back ends see through better than through a carried value.
        if let Start::At(_) = start {
            for whole in &self.plan.wholes {
                if let Some(op) = defining_op(*whole).filter(|_| ir::splat_constant(*whole).is_some()) {
                    let copy = self.build.copy_with(op, &[], &[], &[whole.r#type()]);
                    wholes.insert(ir::key(*whole), copy.result(0).expect("constants have a result").into());
                }
            }
        }
        let mut chunks: Vec<Value<'c, 'a>> = Vec::with_capacity(self.plan.chunks.len());
        for chunk in &self.plan.chunks {
            chunks.push(self.chunk(chunk, start, size, &wholes, &chunks));
        }
        self.consumers
            .iter()
            .zip(accumulators)
            .map(|(consumer, accumulator)| self.consume(consumer, start, *accumulator, &chunks, &wholes))
            .collect()
    }

    /// One chunk of a value: `size` units from `start`. `wholes` says what stands for a value used whole, `chunks` are
    /// those planned before it.
    pub fn chunk(
        &self,
        chunk: &Chunk<'c, 'a>,
        start: Start<'c, 'a>,
        size: i64,
        wholes: &HashMap<usize, Value<'c, 'a>>,
        chunks: &[Value<'c, 'a>],
    ) -> Value<'c, 'a> {
        let build = self.build;
        let whole = |value: Value<'c, 'a>| wholes.get(&ir::key(value)).copied().unwrap_or(value);
        let ty = self.plan.chunk_type(chunk.value.r#type(), chunk.dim, size);
        let tensor = Tensor::new(chunk.value.r#type()).expect("planned values are tensors");
        let run = tensor.shape[chunk.dim] / self.plan.units;
        let op = defining_op(chunk.value);
        let location = op.map_or_else(|| self.consumers[0].op.location(), |op| op.location());
        match &chunk.source {
            Source::Slice => match start {
                Start::Known(at) => {
                    let mut starts = vec![0; tensor.rank()];
                    starts[chunk.dim] = at * run;
                    build.slice(whole(chunk.value), &starts, ty, location)
                }
                Start::At(at) => {
                    let mut starts = vec![build.i64_constant(0, location); tensor.rank()];
                    starts[chunk.dim] = self.scaled(at, run, location);
                    build.dynamic_slice(whole(chunk.value), &starts, ty, location)
                }
            },
            Source::Splat => {
                let op = op.expect("a constant is an op");
                let value = op.attribute("value").expect("constants have a value");
                let value = value.try_into().expect("splats are dense");
                let scalar = build.scalar_constant(value, tensor.element, location);
                build.broadcast_scalar(scalar, ty, location)
            }
            Source::Iota => {
                // Counted in i64, then converted, as the whole iota is: a float would round the sum, not the number.
                let Some(shape) = Tensor::new(ty).map(|tensor| tensor.shape) else { unreachable!() };
                let wide = Tensor::get(shape, build.i64_type(), None);
                let counted = build.iota(wide, chunk.dim, location);
                let from = match start {
                    Start::Known(at) => build.i64_constant(at * run, location),
                    Start::At(at) => self.scaled(at, run, location),
                };
                let from = build.broadcast_scalar(from, wide, location);
                let counted = build.binary("stablehlo.add", counted, from, location);
                if wide == ty { counted } else { build.convert(counted, ty, location) }
            }
            Source::Op(operands) => {
                let op = op.expect("planned as an op");
                let operands: Vec<_> = op
                    .operands()
                    .zip(operands)
                    .map(|(operand, dim)| match dim {
                        Some(dim) => {
                            chunks[self.plan.position(operand, *dim).expect("operands are planned first")]
                        }
                        None => whole(operand),
                    })
                    .collect();
                let mut attributes = Vec::new();
                if op_name(op) == "stablehlo.slice" {
                    let mut limits = ir::i64_array(op, "limit_indices").expect("slices have limits").to_vec();
                    limits[chunk.dim] = run * size;
                    attributes.push(("limit_indices", build.i64_array(&limits)));
                }
                let copy = build.copy_with(op, &operands, &attributes, &[ty]);
                copy.result(0).expect("planned ops have one result").into()
            }
        }
    }

    fn scaled(&self, units: Value<'c, 'a>, run: i64, location: Location<'c>) -> Value<'c, 'a> {
        if run == 1 {
            return units;
        }
        let run = self.build.i64_constant(run, location);
        self.build.binary("stablehlo.multiply", units, run, location)
    }

    /// The accumulator after a consumer has taken its chunk.
    fn consume(
        &self,
        consumer: &Consumer<'c, 'a>,
        start: Start<'c, 'a>,
        accumulator: Value<'c, 'a>,
        chunks: &[Value<'c, 'a>],
        wholes: &HashMap<usize, Value<'c, 'a>>,
    ) -> Value<'c, 'a> {
        let build = self.build;
        let op = consumer.op;
        let location = op.location();
        let element = element_of(accumulator.r#type());
        let mut taken = consumer.inputs().into_iter().map(|(value, dim)| {
            chunks[self.plan.position(value, dim).expect("inputs of consumers are planned")]
        });
        let mut next = || taken.next().expect("consumers have the inputs they were planned with");
        let copy = match consumer.role {
            Role::Place => {
                let shape = Tensor::new(accumulator.r#type()).expect("results are tensors").shape;
                let run = shape[consumer.dim] / self.plan.units;
                let mut starts = vec![build.i64_constant(0, location); shape.len()];
                starts[consumer.dim] = match start {
                    Start::Known(at) => build.i64_constant(at * run, location),
                    Start::At(at) => self.scaled(at, run, location),
                };
                return build.dynamic_update_slice(accumulator, next(), &starts, location);
            }
            Role::Contract => {
                let (left, right) = (next(), next());
                build.copy_with(op, &[left, right], &[], &[accumulator.r#type()])
            }
            Role::Scatter => {
                let (indices, updates) = (next(), next());
                let updates = self.widened(updates, element, location);
                build.copy_with(op, &[accumulator, indices, updates], &[], &[accumulator.r#type()])
            }
            Role::Reduce { identity, .. } => {
                let operand = self.widened(next(), element, location);
                let init = match identity {
                    Some(text) => build
                        .parsed_constant(text, element, location)
                        .expect("the identity was chosen for this type"),
                    None => {
                        let init = op.operand(1).expect("reduce has an initial value");
                        wholes.get(&ir::key(init)).copied().unwrap_or(init)
                    }
                };
                build.copy_with(op, &[operand, init], &[], &[accumulator.r#type()])
            }
        };
        if consumer.widen.is_some() && op.region_count() > 0 {
            self.retype_region(copy, element);
        }
        let result = copy.result(0).expect("consumers have one result").into();
        match consumer.role {
            Role::Scatter | Role::Place => result,
            Role::Contract => build.binary("stablehlo.add", accumulator, result, location),
            Role::Reduce { combine, .. } => build.binary(combine, accumulator, result, location),
        }
    }

    /// Lets the one binary op of a reducer compute in `element`.
    fn retype_region(&self, op: OperationRef<'c, 'a>, element: Type<'c>) {
        let ty = Tensor::get(&[], element, None);
        let Some(block) = op.region(0).ok().and_then(|region| region.first_block()) else { return };
        for index in 0..block.argument_count() {
            if let Ok(argument) = block.argument(index) {
                self.build.set_type(argument.into(), ty);
            }
        }
        let mut nested = block.first_operation();
        while let Some(op) = nested {
            op.results().for_each(|result| self.build.set_type(result.into(), ty));
            nested = op.next_in_block();
        }
    }
}
