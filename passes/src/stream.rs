// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-stream`: what is only reduced, scattered or contracted is computed a chunk at a time and never stored whole.
//!
//! # What it matches
//!
//! A `reduce` over, a `scatter` of updates along, or a `dot_general` that contracts a long dimension, whose input is computed
//! from other values in a way that is independent along that dimension, and would take much memory on its way; and a
//! `dot_general` whose small result can be computed in parts from parts of large operands (softmax attention, say):
//!
//! ```mlir
//! %rows = "stablehlo.gather"(%table, %indices) ...       // tensor<1000000000xf32>, stored
//! %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0]
//! ```
//!
//! becomes
//!
//! ```mlir
//! %loop:4 = stablehlo.while(%i = %c0, %sum = %zero, %table_ = %table, %indices_ = %indices)
//!   cond { %i < %whole_chunks }
//!   do {
//!     %some = stablehlo.dynamic_slice %indices_, %i, ...
//!     %rows = "stablehlo.gather"(%table_, %some) ...     // one chunk
//!     %part = stablehlo.reduce(%rows init: %zero) ...
//!     stablehlo.return %i + chunk, %sum + %part, %table_, %indices_
//!   }
//! ```
//!
//! and, if the chunk does not divide the dimension, the same once more for the rest after the loop. Accumulators are carried,
//! so that a scatter goes on updating one buffer in place; parts of a dot's result are put into theirs by
//! `dynamic_update_slice`. Consumers in a block that share costly producers along the same
//! dimension share a loop; what needs the result of one of them before the last is moved after the loop, if it is elementwise.
//!
//! Independent along a dimension are: elementwise ops, broadcasts, iota, splats, slices of other dimensions, concatenation along
//! another one, reshapes that keep the units apart, transposes, pads and reversals of other dimensions, gathers (along
//! batch dimensions of their indices), scatters along dimensions paired with their indices', reductions of other dimensions, and dots (along batch and free dimensions). All
//! else is a value that is there, and is sliced.
//!
//! # Why it is right
//!
//! Each element is computed by the same ops from the same elements. Only the order of accumulation changes, which
//! StableHLO leaves open; for combiners whose order shows (a scatter that sets) chunks run along the slowest scatter
//! dimension, so that even the order stays. Reductions stream only if their body is a single known associative and commutative
//! op; where an initial value is not its identity, it is taken once. Sums and products of floats below 32 bits accumulate in
//! f32, and so do contractions: a chunk's end must not round where one reduction (or a back end's scatter, which widens it too) did not.
//!
//! # Why it pays
//!
//! What counts as stored, and so as saved: results of gather, concatenate, dot and reduce; what scatter, gather and dot
//! read, if it is computed; and elementwise values that two of the above need, where back ends that do not compute twice store
//! them. An elementwise chain into one reduce is fused by every back end: nothing is stored, and nothing is done.
//! The loop is made if it saves more than four times `chunk-bytes`. Chunks take about `chunk-bytes`: with the default of
//! 4 MiB some hundred thousand rows of an index, at nanoseconds each, against microseconds for a turn of the loop.
//!
//! # Where it does not pay yet
//!
//! XLA CPU runs some attention programs without storing the scores, and reports no temporaries for them; streamed, the loop's
//! chunk is a temporary. Until the memory model can tell, the pass is in no pipeline by default and has to be asked for. JAX
//! hides producers behind private functions (`jnp.clip`): run `--inline` first.
//!
//! # What it costs
//!
//! Reducing the order of accumulation to chunks, and computing again what is cheap and also used elsewhere. A plan
//! looks at no more than a fixed number of producers, and each consumer at a fixed number of those before it: the pass
//! is linear in its module.
//!
//! Consumers are visited from the last one upwards: what is further down takes more producers along. A value that costs much
//! is never computed twice: what a forward pass reduces and its gradient needs again stays stored between the two.
//!
//! # When it must not fire
//!
//! * Programs for more than one partition, and consumers or producers with discardable attributes (shardings): what a
//!   chunk's sharding would be is unknown.
//! * Dynamic shapes, encodings, element types that are no plain numbers, reducers that use values from around them.
//! * A costly producer that something else needs whole is there anyway: it is sliced, and not counted as saved.
//! * What is inside of a loop made by this pass takes less than the threshold: a second run changes nothing.

pub(crate) mod emit;
pub(crate) mod plan;

use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder, discardable_attributes, element_of};
use crate::rewrite::{defining_op, is_unused, users, walk};
use emit::Loop;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use plan::{Plan, Source, Stop, bytes};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{DotDimensionNumbers, ScatterDimensionNumbers};
use slimhlo_dialect::types::Tensor;
use std::collections::{BTreeSet, HashSet};

crate::pass_options! {
    /// Compute what is only reduced, scattered or contracted a chunk at a time.
    ///
    /// Where a large intermediate (a gather's result, concatenated indices, updates, attention scores, logits) exists
    /// only to be reduced, scattered or contracted along a dimension, or to be mapped to a smaller dot's result, its producers and its consumers become a `while` over chunks of that dimension,
    /// which carries the accumulators in place. Consumers that share costly producers share a loop; what a chunk leaves
    /// over is done after it. Only the order of accumulation changes; sums of bf16 and f16 accumulate in f32.
    ///
    /// ```mlir
    /// %rows = "stablehlo.gather"(%table, %indices) ...
    /// %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0]
    /// // becomes
    /// %loop:4 = stablehlo.while(%i = %c0, %acc = %zero, %t = %table, %n = %indices) ...
    /// ```
    pub struct Stream {
        /// How much the temporaries of one chunk may take, about.
        pub chunk_bytes: Bytes = Bytes(4 << 20),
    }
}

const LOOPS: Statistic = Statistic::new(c"num-loops", c"loops over chunks");
const CONSUMERS: Statistic = Statistic::new(c"num-consumers", c"reductions and scatters done in chunks");

/// How much more than a chunk a loop has to save.
const GAIN: i64 = 4;
/// How many consumers before one are asked whether they share its producers.
const NEIGHBOURS: usize = 32;
/// How often a plan is made again for values that turned out to be needed whole, and all consumers are gone over again.
const ROUNDS: usize = 8;

/// What a consumer does with its chunks.
#[derive(Clone, Copy)]
enum Role {
    Reduce {
        /// The op that joins two partial results.
        combine: &'static str,
        /// What each chunk starts from, if not from the op's own initial value.
        identity: Option<&'static str>,
    },
    Scatter,
    /// A dot, streamed along contracted dimensions: the number is the left operand's.
    Contract,
    /// An op each chunk of whose result is computed by itself, and put in its place.
    Place,
}

/// A reduce, scatter or dot, to be streamed along a dimension.
#[derive(Clone)]
pub(crate) struct Consumer<'c, 'a> {
    op: OperationRef<'c, 'a>,
    role: Role,
    /// The element type to accumulate in, if not the op's own.
    widen: Option<Type<'c>>,
    /// Dimensions it may be streamed along: of a reduction's operand, of a scatter's updates, of a dot's left operand or,
    /// where chunks of a result are put in their place, of the result.
    dims: Vec<usize>,
    /// The one it is.
    dim: usize,
}

impl<'c: 'a, 'a> Consumer<'c, 'a> {
    /// The ways in which an op can be one.
    fn all(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Vec<Self> {
        if op_name(op) == "stablehlo.dot_general" {
            return Self::dot(op, f32_type).unwrap_or_default();
        }
        Self::new(op, f32_type).into_iter().collect()
    }

    fn dot(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Option<Vec<Self>> {
        if !discardable_attributes(op).is_empty() {
            return None;
        }
        let left = plan::plain(op.operand(0).ok()?)?;
        plan::plain(op.operand(1).ok()?)?;
        let result = plan::plain(op.result(0).ok()?.into())?;
        let numbers = dot_numbers(op)?;
        let narrow = result.element.is_float() && plan::element_bytes(result.element)? < 4;
        let mut ways = Vec::new();
        // An algorithm names the type it accumulates in; what chunks of it would add up to is not for us to say.
        if ffi::attribute_of(op, "algorithm").is_none() {
            let dims = numbers.lhs_contracting_dimensions().iter().map(|&dim| dim as usize);
            let dims: Vec<usize> = dims.filter(|&dim| left.shape[dim] > 1).collect();
            ways.push(Self { op, role: Role::Contract, widen: narrow.then_some(f32_type), dims, dim: 0 });
        }
        let dims = (0..result.rank()).filter(|&dim| result.shape[dim] > 1).collect();
        // A result larger than what it is made of is not what the memory goes into.
        if bytes(op.result(0).ok()?.into()) <= bytes(op.operand(0).ok()?).max(bytes(op.operand(1).ok()?)) {
            ways.push(Self { op, role: Role::Place, widen: None, dims, dim: 0 });
        }
        ways.retain(|way| !way.dims.is_empty());
        Some(ways)
    }

    fn new(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Option<Self> {
        let name = op_name(op);
        if !matches!(name, "stablehlo.reduce" | "stablehlo.scatter")
            || op.result_count() != 1
            || !discardable_attributes(op).is_empty()
            || !plan::is_closed(op)
        {
            return None;
        }
        for operand in op.operands() {
            plan::plain(operand)?;
        }
        let element = element_of(op.result(0).ok()?.r#type());
        let combiner = combiner(op);
        let adds = matches!(combiner, Some("stablehlo.add" | "stablehlo.multiply"));
        let narrow = element.is_float() && plan::element_bytes(element)? < 4;
        let widen = (adds && narrow).then_some(f32_type);
        let (role, dims) = if name == "stablehlo.reduce" {
            let combine = combiner?;
            let dims = ir::i64_array(op, "dimensions")?.iter().map(|&dim| dim as usize).collect();
            (Role::Reduce { combine, identity: fresh_identity(op, combine, element)? }, dims)
        } else {
            (Role::Scatter, scatter_dims(op, combiner.is_some())?)
        };
        let mut consumer = Self { op, role, widen, dims, dim: 0 };
        if widen.is_some()
            && let Role::Reduce { identity, combine } = &mut consumer.role
        {
            // The op's own initial value has the narrow type.
            *identity = Some(if *combine == "stablehlo.add" { "-0.0" } else { "1.0" });
        }
        let shape = plan::plain(consumer.streamed()?)?.shape;
        consumer.dims.retain(|&dim| shape[dim] > 1);
        consumer.dims.sort_unstable();
        (!consumer.dims.is_empty()).then_some(consumer)
    }

    /// What is taken apart: the reduction's operand, the scatter's updates.
    fn streamed(&self) -> Option<Value<'c, 'a>> {
        match self.role {
            Role::Reduce { .. } | Role::Contract => self.op.operand(0).ok(),
            Role::Scatter => self.op.operand(2).ok(),
            Role::Place => Some(self.result()),
        }
    }

    /// Bytes of the largest of its operands.
    fn takes(&self) -> i64 {
        self.op.operands().map(bytes).max().unwrap_or(0)
    }

    /// Along `dim`.
    fn along(&self, dim: usize) -> Self {
        Self { dim, ..self.clone() }
    }

    fn result(&self) -> Value<'c, 'a> {
        self.op.result(0).expect("consumers have one result").into()
    }

    fn accumulator_type(&self) -> Type<'c> {
        let ty = self.result().r#type();
        match self.widen {
            Some(element) => Tensor::get(ffi::shape(ty).unwrap_or_default(), element, None),
            None => ty,
        }
    }

    /// The values it takes a chunk of, and along which dimension.
    fn inputs(&self) -> Vec<(Value<'c, 'a>, usize)> {
        let operand = |index| self.op.operand(index).expect("checked when the consumer was found");
        match self.role {
            Role::Reduce { .. } => vec![(operand(0), self.dim)],
            Role::Scatter => {
                let indices = scatter_numbers(self.op)
                    .map(|numbers| indices_dim(numbers, self.dim))
                    .expect("checked when the consumer was found");
                vec![(operand(1), indices), (operand(2), self.dim)]
            }
            Role::Contract => {
                let right = dot_numbers(self.op)
                    .and_then(|numbers| {
                        let dims = numbers.lhs_contracting_dimensions();
                        let pair = dims.iter().position(|&dim| dim == self.dim as i64)?;
                        Some(numbers.rhs_contracting_dimensions()[pair] as usize)
                    })
                    .expect("checked when the consumer was found");
                vec![(operand(0), self.dim), (operand(1), right)]
            }
            Role::Place => vec![(self.result(), self.dim)],
        }
    }

    /// Units along its dimension.
    fn units(&self) -> i64 {
        self.streamed().and_then(plan::plain).map_or(0, |tensor| tensor.shape[self.dim])
    }

    fn plan(&self, plan: &mut Plan<'c, 'a>, there: &HashSet<usize>) -> Result<(), Stop> {
        for (value, dim) in self.inputs() {
            plan.add(value, dim, there)?;
        }
        if matches!(self.role, Role::Reduce { identity: None, .. }) {
            plan.add_whole(self.op.operand(1).map_err(|_| Stop::No)?)?;
        }
        Ok(())
    }
}

fn dot_numbers<'c>(op: OperationRef<'c, '_>) -> Option<DotDimensionNumbers<'c>> {
    ffi::attribute_of(op, "dot_dimension_numbers")?.try_into().ok()
}

fn scatter_numbers<'c>(op: OperationRef<'c, '_>) -> Option<ScatterDimensionNumbers<'c>> {
    ffi::attribute_of(op, "scatter_dimension_numbers")?.try_into().ok()
}

/// The dimension of the scatter indices that belongs to a dimension of the updates that is no window dimension.
fn indices_dim(numbers: ScatterDimensionNumbers<'_>, dim: usize) -> usize {
    let batch = (0..dim).filter(|&dim| !numbers.update_window_dims().contains(&(dim as i64))).count();
    batch + usize::from(batch as i64 >= numbers.index_vector_dim())
}

/// The dimensions of a scatter's updates that may be taken in chunks.
fn scatter_dims(op: OperationRef<'_, '_>, commutes: bool) -> Option<Vec<usize>> {
    if op.operand_count() != 3 {
        return None;
    }
    let numbers = scatter_numbers(op)?;
    let updates = plan::plain(op.operand(2).ok()?)?;
    let mut dims = Vec::new();
    for dim in (0..updates.rank()).filter(|&dim| !numbers.update_window_dims().contains(&(dim as i64))) {
        // A dimension paired with one of the input does not accumulate: each chunk would have its own part.
        if !numbers.scatter_indices_batching_dims().contains(&(indices_dim(numbers, dim) as i64)) {
            dims.push(dim);
        }
        if !commutes && updates.shape[dim] > 1 {
            break;
        }
    }
    Some(dims)
}

/// The op that a reducer is, if it is just one that is associative and commutative.
fn combiner(op: OperationRef<'_, '_>) -> Option<&'static str> {
    const KNOWN: [&str; 6] = [
        "stablehlo.add",
        "stablehlo.multiply",
        "stablehlo.maximum",
        "stablehlo.minimum",
        "stablehlo.and",
        "stablehlo.or",
    ];
    let block = op.region(0).ok()?.first_block()?;
    let inner = block.first_operation()?;
    let name = KNOWN.into_iter().find(|name| *name == op_name(inner))?;
    let arguments: BTreeSet<usize> =
        [0, 1].iter().filter_map(|&index| block.argument(index).ok()).map(|a| ir::key(a.into())).collect();
    let operands: BTreeSet<usize> = inner.operands().map(ir::key).collect();
    let end = inner.next_in_block()?;
    let returned = end.operand(0).ok()?;
    (block.argument_count() == 2
        && arguments == operands
        && discardable_attributes(inner).is_empty()
        && end.operand_count() == 1
        && end.next_in_block().is_none()
        && inner.result(0).is_ok_and(|result| Value::from(result) == returned))
    .then_some(name)
}

/// What chunks of a reduction start from so that its initial value counts once: nothing special if the value may count
/// any number of times, otherwise the identity; `None` if that is not known.
fn fresh_identity(
    op: OperationRef<'_, '_>,
    combine: &str,
    element: Type<'_>,
) -> Option<Option<&'static str>> {
    let float = element.is_float();
    let (identity, same): (&'static str, &[&str]) = match combine {
        "stablehlo.add" if float => ("-0.0", &["-0.000000e+00", "0.000000e+00"]),
        "stablehlo.add" => ("0", &["0", "false"]),
        "stablehlo.multiply" if float => ("1.0", &["1.000000e+00"]),
        "stablehlo.multiply" => ("1", &["1", "true"]),
        _ => return Some(None),
    };
    let init = op.operand(1).ok()?;
    let text = ir::splat_constant(init).map(|element| element.to_string());
    let known = text.is_some_and(|text| same.contains(&text.split(" : ").next().unwrap_or_default().trim()));
    if known {
        return Some(None);
    }
    // What adding booleans means with another initial value is not for us to say.
    let boolean = element == Type::from(IntegerType::new(crate::rewrite::context_of(op), 1));
    (plan::element_bytes(element)? > 0 && !boolean).then_some(Some(identity))
}

impl Pass for Stream {
    const ARGUMENT: &'static str = "slimhlo-stream";
    const STATISTICS: &'static [Statistic] = &[LOOPS, CONSUMERS];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let f32_type = Type::float32(crate::rewrite::context_of(root));
        let chunk_bytes =
            i64::try_from(self.chunk_bytes.0).unwrap_or(i64::MAX).clamp(1, i64::MAX / (2 * GAIN));
        let mut changed = false;
        // A loop may leave its producers to one other consumer, for which a loop pays only then.
        for _ in 0..ROUNDS {
            let mut more = false;
            let mut consumers = Vec::new();
            walk(root, |op| {
                let ways = Consumer::all(op, f32_type);
                // Nothing on the way to it can be worth a loop if it has hardly an element to take.
                consumers
                    .extend(ways.into_iter().filter(|way| way.takes().saturating_mul(1 << 16) > chunk_bytes));
                WalkResult::Advance
            });
            let mut rewrite = Rewrite { build: Builder::new(root), chunk_bytes, gone: HashSet::new() };
            let mut done = vec![false; consumers.len()];
            // From the last one upwards: what is further down takes more of its producers along, earlier consumers among them.
            for first in (0..consumers.len()).rev() {
                let op = consumers[first].op;
                let seen = consumers.get(first + 1).is_some_and(|next| next.op == op);
                if seen || done[first] || rewrite.gone.contains(&ir::op_key(op)) {
                    continue;
                }
                let rest = (0..first)
                    .rev()
                    .filter(|&next| !done[next] && consumers[next].op != op)
                    .filter(|&next| !rewrite.gone.contains(&ir::op_key(consumers[next].op)))
                    .take(NEIGHBOURS)
                    .collect();
                if let Some(group) = rewrite.stream(&consumers, first, rest) {
                    context.count(&LOOPS, 1);
                    context.count(&CONSUMERS, group.len() as u64);
                    group.into_iter().for_each(|index| done[index] = true);
                    more = true;
                }
            }
            changed |= more;
            if !more {
                break;
            }
        }
        Ok(Changed::from(changed))
    }
}

/// Whether the program is for several partitions.
pub(crate) fn is_partitioned(root: OperationRef<'_, '_>) -> bool {
    let mut op = Some(root);
    while let Some(current) = op {
        if ir::constant_attribute(current, "mhlo.num_partitions").is_some_and(|count| count > 1) {
            return true;
        }
        op = current.parent_operation();
    }
    false
}

/// A plan that was found worth its loop.
struct Found<'c, 'a> {
    plan: Plan<'c, 'a>,
    group: Vec<(usize, Consumer<'c, 'a>)>,
    chunk: i64,
    /// Bytes of temporaries of one unit.
    unit_bytes: i64,
    /// Bytes that need not be stored any more.
    saved: i64,
}

struct Rewrite<'c, 'a> {
    build: Builder<'c, 'a>,
    chunk_bytes: i64,
    /// Ops that were erased.
    gone: HashSet<usize>,
}

impl<'c: 'a, 'a> Rewrite<'c, 'a> {
    /// Streams a consumer and those that share its producers; says which, if it was worth it.
    fn stream(
        &mut self,
        consumers: &[Consumer<'c, 'a>],
        first: usize,
        rest: Vec<usize>,
    ) -> Option<Vec<usize>> {
        let mut most: Option<Found<'c, 'a>> = None;
        // One op may be streamed in several ways; they follow each other.
        let ways = (0..=first).rev().take_while(|&way| consumers[way].op == consumers[first].op);
        for way in ways {
            let mut best: Option<Found<'c, 'a>> = None;
            for &dim in &consumers[way].dims {
                let Some(found) = self.plan(consumers, (way, consumers[way].along(dim)), &rest) else {
                    continue;
                };
                // The first dimension is the one along which chunks lie together; another has to fit where that does not.
                if found.unit_bytes <= self.chunk_bytes {
                    best = Some(found);
                    break;
                }
                if best.as_ref().is_none_or(|best| found.unit_bytes < best.unit_bytes) {
                    best = Some(found);
                }
            }
            if let Some(found) = best
                && most.as_ref().is_none_or(|most| found.saved > most.saved)
            {
                most = Some(found);
            }
        }
        let mut found = most?;
        found.group.sort_by_key(|(index, _)| *index);
        let group: Vec<_> = found.group.iter().map(|(_, consumer)| consumer.clone()).collect();
        let last = group.last()?.op;
        let members: Vec<_> = group.iter().map(|consumer| consumer.op).collect();
        let early = early_users(&members)?;
        for op in &early {
            self.build.move_before(*op, last);
        }
        let anchor = early.first().copied().unwrap_or(last);
        let made = Loop { build: &self.build, plan: &found.plan, consumers: &group, chunk: found.chunk };
        let results = made.emit(anchor);
        for (consumer, result) in group.iter().zip(results) {
            self.build.replace_all_uses_with(consumer.result(), result);
        }
        let producers: Vec<_> = found
            .plan
            .chunks
            .iter()
            .filter_map(|chunk| Some((defining_op_key(chunk.value)?, chunk.value)))
            .collect();
        for consumer in &group {
            self.erase(consumer.op);
        }
        for (key, value) in producers.into_iter().rev() {
            if self.gone.contains(&key) {
                continue;
            }
            if let Some(op) = defining_op(value).filter(|op| is_unused(*op)) {
                self.erase(op);
            }
        }
        Some(found.group.into_iter().map(|(index, _)| index).collect())
    }

    fn erase(&mut self, op: OperationRef<'c, 'a>) {
        let gone = &mut self.gone;
        self.build.erase_with_dead_producers(op, |value| gone.extend(defining_op_key(value)));
    }

    /// A plan for a consumer along its dimension, and for those that share costly producers with it.
    fn plan(
        &self,
        consumers: &[Consumer<'c, 'a>],
        first: (usize, Consumer<'c, 'a>),
        rest: &[usize],
    ) -> Option<Found<'c, 'a>> {
        let nothing = HashSet::new();
        let mut units = first.1.units();
        let mut plan = Plan::new(units);
        match first.1.plan(&mut plan, &nothing) {
            Ok(()) => {}
            Err(Stop::Retry(fewer)) => {
                units = fewer;
                plan = Plan::new(units);
                first.1.plan(&mut plan, &nothing).ok()?;
            }
            Err(Stop::No) => return None,
        }
        let mut group = vec![first];
        for &next in rest {
            if let Some(joined) = self.join(&group, &consumers[next], &plan) {
                group.push((next, joined));
                plan = replan(units, &group, &nothing)?;
            }
        }
        // Values that are needed whole by others are there: found out only once it is known who is in the group.
        let mut there = HashSet::new();
        for _ in 0..ROUNDS {
            let outside = Outside::of(&plan, &group);
            let whole = outside.needed_whole(&plan);
            if whole.is_subset(&there) {
                return self.weigh(plan, group, &there, &outside);
            }
            there.extend(whole);
            plan = replan(units, &group, &there)?;
        }
        None
    }

    /// The consumer as a member of the group, if it shares costly producers and can be done at the same time.
    fn join(
        &self,
        group: &[(usize, Consumer<'c, 'a>)],
        consumer: &Consumer<'c, 'a>,
        plan: &Plan<'c, 'a>,
    ) -> Option<Consumer<'c, 'a>> {
        let block = consumer.op.block();
        if group[0].1.op.block() != block || group.iter().any(|(_, member)| member.op == consumer.op) {
            return None;
        }
        for &dim in &consumer.dims {
            let consumer = consumer.along(dim);
            let mut own = Plan::new(plan.units);
            if consumer.plan(&mut own, &HashSet::new()).is_err() {
                continue;
            }
            let costly = |value: Value<'c, 'a>| {
                defining_op(value).is_some_and(|op| !is_free(op_name(op)))
                    || is_large_argument(value, self.chunk_bytes)
            };
            let shares = own.chunks.iter().any(|chunk| {
                chunk.source != Source::Slice
                    && costly(chunk.value)
                    && plan.position(chunk.value, chunk.dim).is_some()
            });
            // The loop goes to the last consumer: what uses the results of the others has to come after it.
            let members: Vec<_> = group.iter().map(|(_, member)| member.op).chain([consumer.op]).collect();
            let waits = early_users(&members).is_some();
            if shares && waits {
                return Some(consumer);
            }
        }
        None
    }

    /// The plan with its chunk, if the loop saves enough.
    fn weigh(
        &self,
        plan: Plan<'c, 'a>,
        group: Vec<(usize, Consumer<'c, 'a>)>,
        there: &HashSet<usize>,
        outside: &Outside<'c, 'a>,
    ) -> Option<Found<'c, 'a>> {
        let stored = stored(&plan, &group, outside);
        let mut saved: i64 = 0;
        let mut unit_bytes: i64 = 0;
        // An elementwise value computed from one that is there takes its place, if nothing else needs that any more.
        let reuses: Vec<bool> = plan
            .chunks
            .iter()
            .enumerate()
            .map(|(at, chunk)| {
                defining_op(chunk.value).is_some_and(|op| ir::is_fusible(op_name(op)))
                    && outside.temporaries[at] > bytes(chunk.value) / 4
            })
            .collect();
        for (at, (chunk, stored)) in plan.chunks.iter().zip(&stored).enumerate() {
            let size = bytes(chunk.value);
            match chunk.source {
                Source::Slice => {
                    // Sliced, a value that was computed on the fly has to be stored.
                    let fused = defining_op(chunk.value).is_some_and(|op| ir::is_fusible(op_name(op)));
                    if fused && !there.contains(&ir::key(chunk.value)) {
                        saved = saved.saturating_sub(size);
                    }
                }
                _ if *stored && !reuses[at] => saved = saved.saturating_add(size),
                _ => {}
            }
            if *stored {
                unit_bytes = unit_bytes.saturating_add(size / plan.units);
            }
        }
        for whole in &plan.wholes {
            let fused = defining_op(*whole).is_some_and(|op| ir::is_fusible(op_name(op)));
            if fused && ir::splat_constant(*whole).is_none() {
                saved = saved.saturating_sub(bytes(*whole));
            }
        }
        for (_, consumer) in &group {
            if consumer.widen.is_some() && !matches!(consumer.role, Role::Scatter) {
                saved = saved.saturating_sub(bytes(consumer.result()).saturating_mul(2));
            }
        }
        let threshold = self.chunk_bytes.saturating_mul(GAIN);
        if saved <= threshold {
            return None;
        }
        let most = (self.chunk_bytes / unit_bytes.max(1)).clamp(1, plan.units);
        // A power of two: sizes often are, too, and then nothing is left over.
        let chunk = 1 << most.ilog2();
        if plan.units / chunk < 2 || unit_bytes.saturating_mul(chunk) > threshold {
            return None;
        }
        Some(Found { plan, group, chunk, unit_bytes, saved })
    }
}

fn defining_op_key(value: Value<'_, '_>) -> Option<usize> {
    defining_op(value).map(ir::op_key)
}

fn replan<'c: 'a, 'a>(
    units: i64,
    group: &[(usize, Consumer<'c, 'a>)],
    there: &HashSet<usize>,
) -> Option<Plan<'c, 'a>> {
    let mut plan = Plan::new(units);
    for (_, consumer) in group {
        consumer.plan(&mut plan, there).ok()?;
    }
    Some(plan)
}

/// The op around `op`, or itself, that is in the block of `other`.
fn in_block_of<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    other: OperationRef<'c, 'a>,
) -> Option<OperationRef<'c, 'a>> {
    let mut current = Some(op);
    while let Some(op) = current {
        if op.block() == other.block() {
            return Some(op);
        }
        current = op.parent_operation();
    }
    None
}

/// What uses the consumers' results before the last of them and has to be moved there, in order; `None` if that cannot be
/// done, because it is no mere elementwise op or the last consumer needs it.
fn early_users<'c: 'a, 'a>(members: &[OperationRef<'c, 'a>]) -> Option<Vec<OperationRef<'c, 'a>>> {
    const MOST: usize = 16;
    let last = members.iter().copied().reduce(|last, op| if ir::is_before(last, op) { op } else { last })?;
    let mut early: Vec<OperationRef<'c, 'a>> = Vec::new();
    let mut pending = members.to_vec();
    while let Some(op) = pending.pop() {
        for user in op.results().flat_map(|result| users(result.into())) {
            let user = in_block_of(user, last)?;
            if user != last && ir::is_before(last, user) || early.contains(&user) {
                continue;
            }
            if members.contains(&user) || !ir::is_fusible(op_name(user)) || early.len() == MOST {
                return None;
            }
            early.push(user);
            pending.push(user);
        }
    }
    early.sort_by(|left, right| {
        if left == right {
            std::cmp::Ordering::Equal
        } else if ir::is_before(*left, *right) {
            std::cmp::Ordering::Less
        } else {
            std::cmp::Ordering::Greater
        }
    });
    Some(early)
}

fn is_large_argument(value: Value<'_, '_>, than: i64) -> bool {
    defining_op(value).is_none() && bytes(value) > than
}

/// Whether an op costs nothing to do again, wherever it is needed.
fn is_free(name: &str) -> bool {
    matches!(
        name,
        "stablehlo.broadcast_in_dim"
            | "stablehlo.constant"
            | "stablehlo.iota"
            | "stablehlo.reshape"
            | "stablehlo.slice"
    )
}

/// Whether an op is too costly to do twice.
fn is_costly(name: &str) -> bool {
    !ir::is_fusible(name)
        || matches!(
            name,
            "stablehlo.atan2"
                | "stablehlo.cbrt"
                | "stablehlo.cosine"
                | "stablehlo.exponential"
                | "stablehlo.exponential_minus_one"
                | "stablehlo.log"
                | "stablehlo.log_plus_one"
                | "stablehlo.logistic"
                | "stablehlo.power"
                | "stablehlo.sine"
                | "stablehlo.tan"
                | "stablehlo.tanh"
        )
}

/// Who uses planned values besides the plan.
struct Outside<'c, 'a> {
    /// For each chunk of the plan.
    users: Vec<Vec<OperationRef<'c, 'a>>>,
    /// For each chunk, whether something outside is computed from it: what is done again inside goes on being done outside.
    needed: Vec<bool>,
    /// For each chunk, bytes of what is there that it is computed from.
    sources: Vec<i64>,
    /// The same without arguments, whose memory is not free to be used again.
    temporaries: Vec<i64>,
}

impl<'c: 'a, 'a> Outside<'c, 'a> {
    fn of(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> Self {
        let mut inside: HashSet<usize> = group.iter().map(|(_, consumer)| ir::op_key(consumer.op)).collect();
        for chunk in plan.chunks.iter().filter(|chunk| chunk.source != Source::Slice) {
            inside.extend(defining_op_key(chunk.value));
        }
        let placed = |value| {
            group.iter().any(|(_, member)| matches!(member.role, Role::Place) && member.result() == value)
        };
        let users: Vec<Vec<_>> = plan
            .chunks
            .iter()
            .map(|chunk| match chunk.source {
                Source::Slice => Vec::new(),
                _ if placed(chunk.value) => Vec::new(),
                _ => users(chunk.value).filter(|user| !inside.contains(&ir::op_key(*user))).collect(),
            })
            .collect();
        let mut needed: Vec<bool> = users.iter().map(|users| !users.is_empty()).collect();
        for at in (0..plan.chunks.len()).rev().filter(|&at| plan.chunks[at].source != Source::Slice) {
            if needed[at] {
                streamed_operands(plan, at).for_each(|from| needed[from] = true);
            }
        }
        let mut sources = vec![0i64; plan.chunks.len()];
        for at in 0..plan.chunks.len() {
            sources[at] = match plan.chunks[at].source {
                Source::Slice => bytes(plan.chunks[at].value),
                _ => streamed_operands(plan, at).fold(0, |sum, from| sum.saturating_add(sources[from])),
            };
        }
        let mut temporaries = vec![0i64; plan.chunks.len()];
        for at in 0..plan.chunks.len() {
            let chunk = &plan.chunks[at];
            temporaries[at] = match chunk.source {
                Source::Slice if defining_op(chunk.value).is_some() => bytes(chunk.value),
                Source::Slice => 0,
                _ => streamed_operands(plan, at).fold(0, |sum, from| sum.saturating_add(temporaries[from])),
            };
        }
        Self { users, needed, sources, temporaries }
    }

    /// The values that stay whatever the loop does, so that it may as well slice them.
    fn needed_whole(&self, plan: &Plan<'c, 'a>) -> HashSet<usize> {
        let mut whole = HashSet::new();
        for ((chunk, users), needed) in plan.chunks.iter().zip(&self.users).zip(&self.needed) {
            let Source::Op(_) = chunk.source else { continue };
            let Some(op) = defining_op(chunk.value) else { continue };
            let name = op_name(op);
            if is_free(name) {
                continue;
            }
            let stored_for = |user: &OperationRef<'c, 'a>| {
                !ir::is_fusible(op_name(*user)) && op_name(*user) != "stablehlo.reduce"
            };
            if plan.wholes.contains(&chunk.value)
                || (*needed && is_costly(name))
                || users.iter().any(stored_for)
                || users.len() > 1
            {
                whole.insert(ir::key(chunk.value));
            }
        }
        whole
    }
}

/// The places of the chunks that the one at `at` is computed from.
fn streamed_operands<'c: 'a, 'a>(plan: &Plan<'c, 'a>, at: usize) -> impl Iterator<Item = usize> {
    let chunk = &plan.chunks[at];
    let operands = match (&chunk.source, defining_op(chunk.value)) {
        (Source::Op(dims), Some(op)) => {
            op.operands().zip(dims).filter_map(|(operand, dim)| plan.position(operand, (*dim)?)).collect()
        }
        _ => Vec::new(),
    };
    operands.into_iter()
}

/// For each chunk whether its value takes memory of its own.
fn stored<'c: 'a, 'a>(
    plan: &Plan<'c, 'a>,
    group: &[(usize, Consumer<'c, 'a>)],
    outside: &Outside<'c, 'a>,
) -> Vec<bool> {
    let count = plan.chunks.len();
    let mut stored = vec![false; count];
    // Which kernels a value is needed in: numbered by the chunk, or the consumer after them, that each computes.
    let mut kernels: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
    let reads = |op: OperationRef<'c, 'a>, operand: usize| match op_name(op) {
        "stablehlo.scatter" => operand > 0,
        "stablehlo.gather" | "stablehlo.dot_general" => true,
        _ => false,
    };
    for (number, (_, consumer)) in group.iter().enumerate() {
        let scatter = matches!(consumer.role, Role::Scatter | Role::Contract);
        for (value, dim) in consumer.inputs() {
            if let Some(at) = plan.position(value, dim) {
                stored[at] |= scatter;
                kernels[at].insert(count + number);
            }
        }
    }
    let placed: Vec<usize> = group
        .iter()
        .filter(|(_, consumer)| matches!(consumer.role, Role::Place))
        .filter_map(|(_, consumer)| plan.position(consumer.result(), consumer.dim))
        .collect();
    for at in (0..count).rev() {
        let chunk = &plan.chunks[at];
        let Some(op) = defining_op(chunk.value) else { continue };
        let name = op_name(op);
        let kernel = !ir::is_fusible(name);
        // What is computed from values of its size takes the place of one of them: nothing is gained there.
        let needed_outside = !outside.users[at].is_empty() && outside.sources[at] <= bytes(chunk.value) / 4;
        if chunk.source == Source::Slice {
            continue;
        }
        if kernel || (!is_free(name) && (kernels[at].len() > 1 || needed_outside)) {
            stored[at] = true;
        }
        if let Source::Op(operands) = &chunk.source {
            for (index, (operand, dim)) in op.operands().zip(operands).enumerate() {
                let Some(from) = dim.and_then(|dim| plan.position(operand, dim)) else { continue };
                stored[from] |= reads(op, index);
                if kernel {
                    kernels[from].insert(at);
                } else {
                    let inherited = kernels[at].clone();
                    kernels[from].extend(inherited);
                }
            }
        }
    }
    // These take their memory in the loop's result as before.
    placed.into_iter().for_each(|at| stored[at] = false);
    stored
}
