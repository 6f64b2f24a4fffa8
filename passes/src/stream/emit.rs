// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Making the loop: chunks of producers, what consumers do with them, the loop around, and the tail after it.

mod chunks;

use super::beside::{Readers, Sunk};
use super::consumer::{Consumer, Role};
use super::parts::Parts;
use super::plan::{Chunk, Plan};
use crate::counted::Open;
use crate::hold::{self, barriers};
use crate::ir::{self, Builder, bytes, element_of, is_narrow};
use crate::ops::access::{Along, Source};
use crate::ops::class::{self, is_costly};
use crate::rewrite::{defining_op, is_unused, location_of};
use crate::target::Storage;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, RegionLike, Type, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;
use slimhlo_dialect::types::Tensor;

/// Ops of a value that the loop's body makes itself.
const MOST_MADE_AGAIN: usize = 16;

/// Where a chunk starts, in units.
#[derive(Clone, Copy)]
pub enum Start<'c, 'a> {
    /// Known when the loop is made.
    Known(i64),
    /// A scalar of the loop.
    At(Value<'c, 'a>),
}

/// What chunks are sliced from.
#[derive(Clone, Copy)]
pub struct Leaf<'c, 'a> {
    /// The value.
    pub value: Value<'c, 'a>,
    /// Where its first unit begins.
    pub from: i64,
}

/// What chunks are computed from: for each chunk that is a slice what it is one of; and other names for values used whole.
pub struct Given<'c, 'a> {
    /// For each chunk that is a slice, what of.
    pub leaves: Vec<Option<Leaf<'c, 'a>>>,
    /// Other names.
    pub wholes: FxHashMap<usize, Value<'c, 'a>>,
}

/// Chunks that readers compute for themselves.
#[derive(Default)]
struct Own<'c, 'a> {
    /// For each reader where they are in the plan.
    made: FxHashMap<usize, Vec<(usize, Value<'c, 'a>)>>,
    /// What the last barrier hands on.
    last: Option<Value<'c, 'a>>,
}

/// The loop of a group of consumers, and its tail.
pub struct Loop<'c, 'a, 'r> {
    /// What makes ops.
    pub build: &'r Builder<'c, 'a>,
    /// What the back end stores.
    pub storage: &'static Storage,
    /// How chunks are computed.
    pub plan: &'r Plan<'c, 'a>,
    /// What takes them, in order.
    pub consumers: &'r [Consumer<'c, 'a>],
    /// Units of a chunk.
    pub chunk: i64,
    /// Between how many bytes and how many, about, a product may take beside what it is added to.
    pub part: (i64, i64),
    /// Values used whole that the loop has another way to come by.
    pub sunk: &'r [Sunk<'c, 'a>],
}

/// Elementary functions for an element from which on they are kept out of the update of the result: a back end that divides work among
/// cores leaves updates in place, and what it fuses into them, to one.
const MUCH_WORK: u32 = 4;
/// Bytes of a chunk from which on it is divided among cores.
const DIVIDED: i64 = 256 << 10;
impl<'c: 'a, 'a> Loop<'c, 'a, '_> {
    /// Makes the loop before `anchor`; the values are the consumers' results.
    pub fn emit(&self, anchor: OperationRef<'c, 'a>) -> (OperationRef<'c, 'a>, Vec<Value<'c, 'a>>) {
        let build = self.build;
        build.set_insertion_point_before(anchor);
        let ops: Vec<_> = self.consumers.iter().map(|consumer| consumer.op).collect();
        let location = location_of(&ops).unwrap_or(anchor.location());
        let (leaves, captured) = self.captured(location);

        let carried = self.consumers.iter().map(|consumer| self.initial(consumer));
        let carried: Vec<Value> = carried.chain(captured.iter().copied()).collect();
        let whole_chunks = self.plan.units / self.chunk;
        let turn = Open::new(build, (0..whole_chunks * self.chunk, self.chunk), &carried, location);
        let (accumulators, given) = turn.carried.split_at(self.consumers.len());
        let mut inner: FxHashMap<usize, Value<'c, 'a>> =
            captured.iter().map(|value| ir::key(*value)).zip(given.iter().copied()).collect();
        let sliced = self.kept_narrow(turn.at, &leaves, &inner, location);
        let inner_leaves = leaves
            .iter()
            .map(|leaf| {
                leaf.map(|leaf| {
                    let key = ir::key(leaf.value);
                    let value = sliced.get(&key).or_else(|| inner.get(&key)).copied();
                    Leaf { value: value.unwrap_or(leaf.value), ..leaf }
                })
            })
            .collect();
        for key in self.gathered_from() {
            inner.extend(sliced.get(&key).map(|value| (key, *value)));
        }
        let mut next = vec![];
        let given_inside = Given { leaves: inner_leaves, wholes: inner };
        next.extend(self.step(Start::At(turn.at), self.chunk, given_inside, accumulators));
        next.extend(given);
        let op = turn.close(&next);

        build.set_insertion_point_before(anchor);
        let mut results: Vec<Value<'c, 'a>> = (1..=self.consumers.len())
            .map(|index| op.result(index).expect("a result per operand").into())
            .collect();
        let rest = self.plan.units % self.chunk;
        if rest > 0 {
            let start = Start::Known(whole_chunks * self.chunk);
            results = self.step(start, rest, Given { leaves, wholes: FxHashMap::default() }, &results);
        }
        let results = self
            .consumers
            .iter()
            .zip(results)
            .map(|(consumer, result)| {
                let ty = consumer.result().r#type();
                if result.r#type() == ty { result } else { build.convert(result, ty, consumer.op.location()) }
            })
            .collect();
        (op, results)
    }

    /// What chunks need whole.
    fn wholes(&self) -> Vec<Value<'c, 'a>> {
        let kept = self.plan.wholes.iter().copied().filter(|whole| self.sunk_of(*whole).is_none());
        let sunk = self.sunk.iter().flat_map(|sunk| sunk.scalars.iter().copied().chain([sunk.from]));
        kept.chain(sunk).collect()
    }

    fn sunk_of(&self, value: Value<'c, 'a>) -> Option<&Sunk<'c, 'a>> {
        self.sunk.iter().find(|sunk| sunk.value == value)
    }

    /// What is gathered from whole, and nothing else, by key.
    fn gathered_from(&self) -> Vec<usize> {
        let mut gathered = Vec::new();
        let mut others = Vec::new();
        let consumers = self.consumers.iter().map(|consumer| consumer.op);
        for op in self.plan.chunks.iter().filter_map(|chunk| defining_op(chunk.value)).chain(consumers) {
            for (index, operand) in op.operands().enumerate() {
                let from = op_name(op) == "stablehlo.gather" && index == 0;
                if from { &mut gathered } else { &mut others }.push(ir::key(operand));
            }
        }
        let whole = |key: &usize| self.plan.wholes.iter().any(|whole| ir::key(*whole) == *key);
        gathered.retain(|key| whole(key) && !others.contains(key));
        gathered
    }

    /// The narrow floats among what is sliced or gathered from, behind a barrier with the loop's counter. A back end without slices or gathers of them
    /// widens what they are of: in the body that is done on the fly, but the whole of what does not depend on the counter would be
    /// widened before the loop, and stored.
    fn kept_narrow(
        &self,
        counter: Value<'c, 'a>,
        leaves: &[Option<Leaf<'c, 'a>>],
        inner: &FxHashMap<usize, Value<'c, 'a>>,
        location: Location<'c>,
    ) -> FxHashMap<usize, Value<'c, 'a>> {
        let mut keys: Vec<usize> = Vec::new();
        let mut behind = vec![counter];
        let leaves = leaves.iter().flatten().map(|leaf| ir::key(leaf.value));
        for key in leaves.chain(self.gathered_from()) {
            if let Some(value) = inner.get(&key).filter(|value| is_narrow(**value))
                && !keys.contains(&key)
            {
                keys.push(key);
                behind.push(*value);
            }
        }
        if keys.is_empty() || !self.storage.widens {
            return FxHashMap::default();
        }
        let held = barriers(&behind, self.build, location);
        keys.into_iter().zip(held.into_iter().skip(1)).collect()
    }

    /// What is sliced, for each chunk that is a slice; and what the body needs from outside, besides what it makes itself.
    fn captured(&self, location: Location<'c>) -> (Vec<Option<Leaf<'c, 'a>>>, Vec<Value<'c, 'a>>) {
        let mut captured: Vec<Value<'c, 'a>> = Vec::new();
        let mut note = |value| {
            if !captured.contains(&value) {
                captured.push(value);
            }
        };
        let mut leaves = Vec::with_capacity(self.plan.chunks.len());
        for chunk in &self.plan.chunks {
            leaves.push((chunk.source == Source::Slice).then(|| {
                let leaf = self.leaf(chunk, location);
                note(leaf.value);
                leaf
            }));
        }
        for value in self.wholes() {
            if !is_made_again(value) {
                note(value);
            }
        }
        (leaves, captured)
    }

    /// A value to slice chunks from: padded where chunks go beyond its ends.
    fn leaf(&self, chunk: &Chunk<'c, 'a>, location: Location<'c>) -> Leaf<'c, 'a> {
        let (low, high) = self.plan.beyond(chunk);
        let mut leaf = Leaf { value: chunk.value, from: chunk.along.from + low };
        if (low, high) != (0, 0) {
            let build = self.build;
            let tensor = Tensor::new(chunk.value.r#type()).expect("planned values are tensors");
            let mut shape = tensor.shape.to_vec();
            shape[chunk.along.dim] += low + high;
            let none = vec![0; shape.len()];
            let only = |number: i64| {
                let mut numbers = none.clone();
                numbers[chunk.along.dim] = number;
                numbers
            };
            let zero = build.number(0.0, tensor.element, location);
            let ty = Tensor::get(&shape, tensor.element, None);
            leaf.value = build.pad(chunk.value, zero, [&only(low), &only(high), &none], ty, location);
        }
        leaf
    }

    /// What a consumer accumulates into at first.
    fn initial(&self, consumer: &Consumer<'c, 'a>) -> Value<'c, 'a> {
        let location = consumer.op.location();
        let ty = consumer.accumulator_type();
        match consumer.role {
            Role::Scatter => {
                let input = consumer.first_scatter().operand(0).expect("scatter has an input");
                if input.r#type() == ty { input } else { self.build.convert(input, ty, location) }
            }
            Role::Contract | Role::Place => {
                let zero = self.build.number(0.0, element_of(ty), location);
                self.build.broadcast_scalar(zero, ty, location)
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
        mut given: Given<'c, 'a>,
        accumulators: &[Value<'c, 'a>],
    ) -> Vec<Value<'c, 'a>> {
        // Constants are made again inside the loop, which back ends see through better than through a carried value. So is what
        // follows from positions alone, a causal mask, say: a loop in the body may then do it a chunk at a time.
        if let Start::At(_) = start {
            for whole in self.wholes().into_iter().filter(|whole| is_made_again(*whole)) {
                self.make_again(whole, &mut given.wholes);
            }
        }
        let readers = match start {
            Start::At(_) => Readers::of(self.plan, self.consumers),
            Start::Known(_) => Readers::default(),
        };
        let count = self.plan.chunks.len();
        let mut chunks: Vec<Value<'c, 'a>> = Vec::with_capacity(count);
        let mut results = Vec::with_capacity(accumulators.len());
        // An op of several results is done once for all of them.
        let mut done: FxHashMap<(usize, Along), OperationRef<'c, 'a>> = FxHashMap::default();
        let mut own = Own::default();
        for at in 0..count {
            let reads = |reader: &usize| readers.any_copied(*reader, self.plan.operands(at));
            let value = match readers.of_chunk(at).filter(reads) {
                Some(reader) => {
                    let order = readers.before(at).map(|at| chunks[at]);
                    let seen = self.own(&mut own, &readers, (reader, order), (start, size), &given, &chunks);
                    self.chunk(at, start, size, &given, &seen, &mut done)
                }
                None => self.chunk(at, start, size, &given, &chunks, &mut done),
            };
            chunks.push(value);
        }
        for (number, (consumer, accumulator)) in self.consumers.iter().zip(accumulators).enumerate() {
            let reader = count + number;
            let inputs = consumer.inputs();
            let mut inputs = inputs.iter().filter_map(|(value, dim)| self.plan.position_of_all(*value, *dim));
            let result = if !readers.any_copied(reader, &mut inputs) {
                self.consume(consumer, start, *accumulator, &chunks, &given.wholes)
            } else {
                let order = results.last().copied().or(readers.before(count).map(|at| chunks[at]));
                let seen = self.own(&mut own, &readers, (reader, order), (start, size), &given, &chunks);
                self.consume(consumer, start, *accumulator, &seen, &given.wholes)
            };
            results.push(result);
        }
        // What was sliced of slices needs them no more.
        let slices = self.plan.chunks.iter().zip(&chunks).filter(|(chunk, _)| chunk.source == Source::Slice);
        for op in slices.filter_map(|(_, value)| defining_op(*value)) {
            if op_name(op) == "stablehlo.dynamic_slice" && is_unused(op) {
                self.build.erase_with_dead_producers(op, |_| {});
            }
        }
        results
    }

    /// The chunks as a reader sees them that computes some for itself: from what is behind a barrier with what the reader
    /// before it makes, so that they are not merged with its.
    fn own(
        &self,
        own: &mut Own<'c, 'a>,
        readers: &Readers,
        (reader, order): (usize, Option<Value<'c, 'a>>),
        (start, size): (Start<'c, 'a>, i64),
        given: &Given<'c, 'a>,
        chunks: &[Value<'c, 'a>],
    ) -> Vec<Value<'c, 'a>> {
        let mut seen = chunks.to_vec();
        let made = own.made.entry(reader).or_default();
        made.iter().for_each(|&(at, value)| seen[at] = value);
        let missing = |at: &usize| *at < chunks.len() && made.iter().all(|(known, _)| known != at);
        let copied: Vec<usize> = readers.copies(reader).iter().copied().filter(missing).collect();
        if copied.is_empty() {
            return seen;
        }
        let build = self.build;
        let mut slices: Vec<usize> = Vec::new();
        // In the order of the program: that of addresses is another one in each run.
        let mut wholes: Vec<(usize, Value<'c, 'a>)> = Vec::new();
        for &at in &copied {
            let chunk = &self.plan.chunks[at];
            slices.extend(
                self.plan.operands(at).filter(|&from| self.plan.chunks[from].source == Source::Slice),
            );
            for (operand, along) in chunk.op.iter().flat_map(|op| op.operands()).zip(chunk.source.operands())
            {
                let key = ir::key(operand);
                let known = wholes.iter().any(|(other, _)| *other == key);
                if along.is_none() && !ir::is_rank_zero(operand) && !known {
                    wholes.push((key, given.wholes.get(&key).copied().unwrap_or(operand)));
                }
            }
        }
        slices.sort_unstable();
        slices.dedup();
        let counter = match start {
            Start::At(counter) => Some(counter),
            Start::Known(_) => None,
        };
        let mut behind: Vec<Value<'c, 'a>> = order.or(counter).into_iter().chain(own.last).collect();
        let first = behind.len();
        behind.extend(slices.iter().map(|&at| chunks[at]));
        behind.extend(wholes.iter().map(|(_, value)| *value));
        let location = self
            .consumers
            .first()
            .map_or_else(|| Location::unknown(build.context()), |consumer| consumer.op.location());
        let results = barriers(&behind, build, location);
        own.last = results.first().copied();
        let (sliced, whole) = results[first..].split_at(slices.len());
        slices.iter().zip(sliced).for_each(|(&at, value)| seen[at] = *value);
        let mut given = Given { leaves: given.leaves.clone(), wholes: given.wholes.clone() };
        given.wholes.extend(wholes.iter().zip(whole).map(|(&(key, _), value)| (key, *value)));
        let mut done = FxHashMap::default();
        for at in copied {
            seen[at] = self.chunk(at, start, size, &given, &seen, &mut done);
            made.push((at, seen[at]));
        }
        seen
    }

    /// A copy of a value that follows from positions and constants alone, and of what it is computed from.
    fn make_again(&self, value: Value<'c, 'a>, made: &mut FxHashMap<usize, Value<'c, 'a>>) -> Value<'c, 'a> {
        if let Some(known) = made.get(&ir::key(value)) {
            return *known;
        }
        let op = defining_op(value).expect("what follows from positions is computed");
        let operands: Vec<_> = op.operands().map(|operand| self.make_again(operand, made)).collect();
        let copy = self.build.copy_with(op, &operands, &[], &[value.r#type()]);
        let copy = copy.result(0).expect("it has one result").into();
        made.insert(ir::key(value), copy);
        copy
    }

    /// A splat constant once more, with another shape.
    pub(super) fn splat(&self, value: Value<'c, 'a>, ty: Type<'c>) -> Value<'c, 'a> {
        let op = defining_op(value).expect("a constant is an op");
        let dense = op.attribute("value").ok().and_then(|value| value.try_into().ok());
        let dense = dense.expect("splats are dense");
        let scalar = self.build.scalar_constant(dense, element_of(ty), op.location());
        self.build.broadcast_scalar(scalar, ty, op.location())
    }

    /// The accumulator after a consumer has taken its chunk.
    fn consume(
        &self,
        consumer: &Consumer<'c, 'a>,
        start: Start<'c, 'a>,
        accumulator: Value<'c, 'a>,
        chunks: &[Value<'c, 'a>],
        wholes: &FxHashMap<usize, Value<'c, 'a>>,
    ) -> Value<'c, 'a> {
        let build = self.build;
        let op = consumer.op;
        let location = op.location();
        let element = element_of(accumulator.r#type());
        let mut taken = consumer.inputs().into_iter().map(|(value, dim)| {
            chunks[self.plan.position_of_all(value, dim).expect("inputs of consumers are planned")]
        });
        let mut next = || taken.next().expect("consumers have the inputs they were planned with");
        let copy = match consumer.role {
            Role::Place => {
                let shape = Tensor::new(accumulator.r#type()).expect("results are tensors").shape;
                let run = shape[consumer.dim] / self.plan.units;
                let mut starts = vec![build.i64_constant(0, location); shape.len()];
                starts[consumer.dim] = self.position(start, run, 0, location);
                let mut rows = next();
                if let Start::At(at) = start
                    && self.storage.divides_work
                    && bytes(rows) >= DIVIDED
                    && hold::work_before(rows) >= MUCH_WORK
                {
                    let units = build.i64_constant(self.plan.units, location);
                    let goes_on = build.compare(ComparisonDirection::Lt, at, units, location);
                    rows = hold::by_branch(build, goes_on, &[rows.r#type()], location, || vec![rows])[0];
                }
                return build.dynamic_update_slice(accumulator, rows, &starts, location);
            }
            Role::Contract => {
                let (left, right) = (next(), next());
                if let Some(parts) = Parts::of(op, accumulator.r#type(), self.part) {
                    return parts.accumulate(op, [left, right], accumulator, build);
                }
                build.copy_with(op, &[left, right], &[], &[accumulator.r#type()])
            }
            Role::Scatter => {
                let mut accumulator = accumulator;
                for op in consumer.scatters() {
                    let (indices, updates) = (next(), next());
                    let updates = self.widened(updates, element, op.location());
                    let copy =
                        build.copy_with(op, &[accumulator, indices, updates], &[], &[accumulator.r#type()]);
                    if consumer.widen.is_some() {
                        retype_region(build, copy, element);
                    }
                    accumulator = copy.result(0).expect("consumers have one result").into();
                }
                return accumulator;
            }
            Role::Reduce { identity, .. } => {
                let operand = self.widened(next(), element, location);
                let init = match identity {
                    Some(identity) => build.number(identity, element, location),
                    None => {
                        let init = op.operand(1).expect("reduce has an initial value");
                        wholes.get(&ir::key(init)).copied().unwrap_or(init)
                    }
                };
                build.copy_with(op, &[operand, init], &[], &[accumulator.r#type()])
            }
        };
        if consumer.widen.is_some() && op.region_count() > 0 {
            retype_region(build, copy, element);
        }
        let result = copy.result(0).expect("consumers have one result").into();
        match consumer.role {
            Role::Scatter | Role::Place => result,
            Role::Contract => build.binary("stablehlo.add", accumulator, result, location),
            Role::Reduce { combine, .. } => build.binary(combine, accumulator, result, location),
        }
    }
}

/// Lets the one binary op of a reducer compute in `element`.
pub fn retype_region<'c: 'a, 'a>(build: &Builder<'c, 'a>, op: OperationRef<'c, 'a>, element: Type<'c>) {
    let ty = Tensor::get(&[], element, None);
    let Some(block) = op.region(0).ok().and_then(|region| region.first_block()) else { return };
    for index in 0..block.argument_count() {
        if let Ok(argument) = block.argument(index) {
            build.set_type(argument.into(), ty);
        }
    }
    let mut nested = block.first_operation();
    while let Some(op) = nested {
        op.results().for_each(|result| build.set_type(result.into(), ty));
        nested = op.next_in_block();
    }
}

/// The same shape of other elements.
fn with_element<'c>(ty: Type<'c>, element: Type<'c>) -> Type<'c> {
    let tensor = Tensor::new(ty).expect("planned values are tensors");
    Tensor::get(tensor.shape, element, None)
}

/// Whether the loop's body makes a value itself: splats, and what a few ops make of positions and splats.
pub fn is_made_again(value: Value<'_, '_>) -> bool {
    ir::splat_constant(value).is_some() || follows_from_positions(value, &mut { MOST_MADE_AGAIN })
}

fn follows_from_positions(value: Value<'_, '_>, left: &mut usize) -> bool {
    let Some(less) = left.checked_sub(1) else { return false };
    *left = less;
    let Some(op) = defining_op(value).filter(|op| ir::discardable_attributes(*op).is_empty()) else {
        return false;
    };
    let name = op_name(op);
    let simple = name == "stablehlo.iota"
        || ir::splat_constant(value).is_some()
        || matches!(name, "stablehlo.broadcast_in_dim" | "stablehlo.reshape")
        || (class::is_elementwise(name) && !is_costly(name));
    simple
        && op.result_count() == 1
        && op.region_count() == 0
        && op.operands().all(|operand| follows_from_positions(operand, left))
}

fn result_index<'c: 'a, 'a>(op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> usize {
    op.results().position(|result| Value::from(result) == value).expect("the op defines the value")
}
