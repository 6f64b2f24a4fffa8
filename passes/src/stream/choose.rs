// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which consumers share a loop, along which dimension, in chunks of what size; and whether it pays.
//!
//! For each way a consumer can be streamed, and each dimension, a plan is made and weighed: what is no longer stored, less
//! what the loop itself stores (accumulators in f32, a dot's part beside the accumulator it is added to, copies that back ends
//! make of operands which each chunk needs whole). The plan that leaves least wins. One that computes dots again has to
//! leave half of what the best one without does.

use super::emit::Loop;
use super::outside::Outside;
use super::plan::{self, Plan, Source, Stop, bytes};
use super::{Consumer, GAIN, ROUNDS, Role, dot_numbers, is_free};
use crate::ir::{self, Builder};
use crate::rewrite::{defining_op, is_unused, users};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;
use std::collections::{HashMap, HashSet};

/// Rows that a dot in a chunk should have, so that it is computed as fast as the whole.
const ROWS: i64 = 256;
/// How many times `chunk-bytes` a chunk may take for that.
const STRETCH: i64 = 8;
/// Which part of what a loop saves its chunk may take for that.
const SHARE: i64 = 64;

/// A plan that was found worth its loop.
struct Found<'c, 'a> {
    plan: Plan<'c, 'a>,
    group: Vec<(usize, Consumer<'c, 'a>)>,
    chunk: i64,
    /// Bytes of temporaries of one unit.
    unit_bytes: i64,
    /// Bytes that need not be stored any more.
    saved: i64,
    /// Bytes that the loop stores besides its chunk.
    cost: i64,
    /// Bytes of it that are copies of what chunks need whole.
    copies: i64,
    /// Whether dots are computed again whose results are needed elsewhere.
    again: bool,
    /// Whether a chunk takes about as much as it may.
    fits: bool,
}

impl Found<'_, '_> {
    /// Bytes the loop stores.
    fn leaves(&self) -> i64 {
        self.cost.saturating_add(self.unit_bytes.saturating_mul(self.chunk))
    }

    /// Whether it is better than another.
    fn beats(&self, other: &Self, chunk_bytes: i64) -> bool {
        let net = |found: &Self| found.saved.saturating_sub(found.leaves());
        // Less than a chunk's difference is no difference: the first way and dimension is the natural one.
        let margin = match (self.again, other.again) {
            (true, false) => (other.leaves() / 2).max(chunk_bytes),
            (false, true) => -(self.leaves() / 2),
            _ => chunk_bytes,
        };
        net(self).saturating_sub(net(other)) > margin
    }
}

pub struct Rewrite<'c, 'a> {
    pub build: Builder<'c, 'a>,
    pub chunk_bytes: i64,
    /// Ops that were erased.
    pub gone: HashSet<usize>,
}

impl<'c: 'a, 'a> Rewrite<'c, 'a> {
    /// Whether a consumer has been erased, or part of it.
    pub fn is_gone(&self, consumer: &Consumer<'c, 'a>) -> bool {
        [consumer.source, consumer.op].iter().any(|op| self.gone.contains(&ir::op_key(*op)))
    }

    /// Streams a consumer and those that share its producers; says which, if it was worth it.
    pub fn stream(
        &mut self,
        consumers: &[Consumer<'c, 'a>],
        first: usize,
        rest: Vec<usize>,
    ) -> Option<Vec<usize>> {
        let mut best: Option<Found<'c, 'a>> = None;
        // One that takes nothing whole, whatever its chunks take: a loop in its body can do the rest.
        let mut apart: Option<Found<'c, 'a>> = None;
        // One op may be streamed in several ways; they follow each other.
        let ways = (0..=first).rev().take_while(|&way| consumers[way].source == consumers[first].source);
        for way in ways.filter(|&way| !self.is_gone(&consumers[way])) {
            for &dim in &consumers[way].dims {
                let Some(found) = self.plan(consumers, (way, consumers[way].along(dim)), &rest) else {
                    continue;
                };
                let kept = if found.fits {
                    &mut best
                } else if found.cost == 0 && !found.again {
                    &mut apart
                } else {
                    continue;
                };
                if kept.as_ref().is_none_or(|kept| found.beats(kept, self.chunk_bytes)) {
                    *kept = Some(found);
                }
            }
        }
        let mut found = best?;
        if let Some(apart) = apart
            && found.copies > self.chunk_bytes
            && apart.saved >= found.saved
        {
            found = apart;
        }
        found.group.sort_by_key(|(index, _)| *index);
        let group: Vec<_> = found.group.iter().map(|(_, consumer)| consumer.clone()).collect();
        let last = last_of(group.iter().map(|consumer| consumer.op))?;
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
            if !self.is_gone(consumer) && is_unused(consumer.op) {
                self.erase(consumer.op);
            }
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
            let whole = outside.needed_whole(&plan, &group);
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
        if group[0].1.op.block() != block || group.iter().any(|(_, member)| member.is_the_same(consumer)) {
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
                    && plan.position(chunk.value, chunk.along).is_some()
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
        let stored = outside.stored(&plan, &group);
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
                    let padded = plan.beyond(chunk) != (0, 0);
                    if padded || (fused && !there.contains(&ir::key(chunk.value))) {
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
        if is_library_fused(&plan, &group, outside) {
            saved = plan.chunks.iter().filter_map(|chunk| defining_op(chunk.value)).map(shuffled).sum();
        }
        let copies = copies(&plan);
        let mut cost = copies;
        for (_, consumer) in &group {
            let result = bytes(consumer.result());
            let wide = if consumer.widen.is_some() { 2 * result } else { 0 };
            cost = cost.saturating_add(match consumer.role {
                Role::Scatter => wide,
                Role::Contract => wide + wide.max(result),
                Role::Reduce { .. } => wide,
                Role::Place => 0,
            });
        }
        let threshold = self.chunk_bytes.saturating_mul(GAIN);
        let net = saved.saturating_sub(cost);
        if net <= threshold {
            return None;
        }
        let most = self.chunk_bytes / unit_bytes.max(1);
        // For dots that would be too thin, more.
        let stretched = self.chunk_bytes.saturating_mul(STRETCH).min(net / SHARE) / unit_bytes.max(1);
        let wanted = wanted_units(&plan, &group).min(stretched);
        let most = most.max(wanted).clamp(1, plan.units);
        // A power of two: sizes often are, too, and then nothing is left over.
        let chunk = 1 << most.ilog2();
        if plan.units / chunk < 2 {
            return None;
        }
        let fits = unit_bytes.saturating_mul(chunk)
            <= threshold.max(self.chunk_bytes.saturating_mul(STRETCH).min(net / SHARE));
        let again = plan.chunks.iter().enumerate().any(|(at, chunk)| {
            chunk.source.is_op()
                && outside.needed[at]
                && defining_op(chunk.value).is_some_and(|op| op_name(op) == "stablehlo.dot_general")
        });
        Some(Found { plan, group, chunk, unit_bytes, saved, cost, copies, again, fits })
    }
}

/// The dimensions of a dot: of its operands those that are only the left's, only the right's, and contracted.
struct DotDims {
    left: Vec<usize>,
    right: Vec<usize>,
}

fn dot_dims(op: OperationRef<'_, '_>) -> Option<DotDims> {
    let numbers = dot_numbers(op)?;
    let free = |index: usize, batch: &[i64], contracted: &[i64]| -> Option<Vec<usize>> {
        let rank = plan::plain(op.operand(index).ok()?)?.rank();
        Some(
            (0..rank)
                .filter(|&dim| ![batch, contracted].iter().any(|of| of.contains(&(dim as i64))))
                .collect(),
        )
    };
    Some(DotDims {
        left: free(0, numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions())?,
        right: free(1, numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions())?,
    })
}

/// How many units the dots of a plan would like a chunk to have.
fn wanted_units<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    let mut wanted = 1;
    let mut note = |rows_of_all: i64| {
        let rows = (rows_of_all / plan.units).max(1);
        wanted = wanted.max((ROWS + rows - 1) / rows);
    };
    let product = |value: Value<'c, 'a>, dims: &[usize]| {
        Tensor::new(value.r#type())
            .map_or(1, |tensor| dims.iter().map(|&dim| tensor.shape[dim]).fold(1i64, i64::saturating_mul))
    };
    for chunk in &plan.chunks {
        let Some(op) = defining_op(chunk.value).filter(|op| op_name(*op) == "stablehlo.dot_general") else {
            continue;
        };
        let (Some(dims), [left, right]) = (dot_dims(op), chunk.source.operands()) else { continue };
        match (left, right, op.operand(0), op.operand(1)) {
            (Some(_), None, Ok(operand), _) => note(product(operand, &dims.left)),
            (None, Some(_), _, Ok(operand)) => note(product(operand, &dims.right)),
            _ => {}
        }
    }
    for (_, consumer) in group {
        if matches!(consumer.role, Role::Contract)
            && let (Some(numbers), Ok(left)) = (dot_numbers(consumer.op), consumer.op.operand(0))
        {
            let dims: Vec<usize> =
                numbers.lhs_contracting_dimensions().iter().map(|&dim| dim as usize).collect();
            note(product(left, &dims));
        }
    }
    wanted
}

/// Bytes of a dot's operands whose dimensions are not in an order that back ends take as it is: batch dimensions first, and
/// what is contracted next to each other at an end.
fn shuffled(op: OperationRef<'_, '_>) -> i64 {
    (0..2).filter(|&index| is_shuffled(op, index)).filter_map(|index| op.operand(index).ok()).map(bytes).sum()
}

fn is_shuffled(op: OperationRef<'_, '_>, index: usize) -> bool {
    if op_name(op) != "stablehlo.dot_general" {
        return false;
    }
    let (Some(numbers), Ok(operand)) = (dot_numbers(op), op.operand(index)) else { return false };
    let Some(tensor) = Tensor::new(operand.r#type()) else { return false };
    let (batch, contracted) = if index == 0 {
        (numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions())
    } else {
        (numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions())
    };
    let kept: Vec<i64> = (0..tensor.rank() as i64).filter(|&dim| tensor.shape[dim as usize] != 1).collect();
    let role = |dim: &i64| {
        if batch.contains(dim) {
            0
        } else if contracted.contains(dim) {
            1
        } else {
            2
        }
    };
    let roles: Vec<i32> = kept.iter().map(role).collect();
    let batch_first = roles.iter().skip_while(|&&role| role == 0).all(|&role| role != 0);
    let mut turns = roles.iter().filter(|&&role| role != 0).collect::<Vec<_>>();
    turns.dedup();
    !batch_first || turns.len() > 2
}

/// Bytes of the copies that back ends make of what dots in chunks need whole: in f32 where there is no narrow dot, and
/// in the order they want.
fn copies<'c: 'a, 'a>(plan: &Plan<'c, 'a>) -> i64 {
    let mut copied: HashMap<usize, i64> = HashMap::new();
    for chunk in &plan.chunks {
        let Some(op) = defining_op(chunk.value).filter(|op| op_name(*op) == "stablehlo.dot_general") else {
            continue;
        };
        for (index, (operand, along)) in op.operands().zip(chunk.source.operands()).enumerate() {
            let Some(tensor) = plan::plain(operand) else { continue };
            let narrow =
                tensor.element.is_float() && plan::element_bytes(tensor.element).is_some_and(|size| size < 4);
            if along.is_none() && (narrow || is_shuffled(op, index)) {
                copied.insert(ir::key(operand), if narrow { 2 * bytes(operand) } else { bytes(operand) });
            }
        }
    }
    copied.values().fold(0, |sum, size| sum.saturating_add(*size))
}

/// Whether back ends are likely to compute a chain of dots, and the softmax between them, without storing what is between: all
/// is dots, reductions and arithmetic of one value, and nothing else needs any of it.
fn is_library_fused<'c: 'a, 'a>(
    plan: &Plan<'c, 'a>,
    group: &[(usize, Consumer<'c, 'a>)],
    outside: &Outside<'c, 'a>,
) -> bool {
    const NOT: [&str; 5] =
        ["stablehlo.select", "stablehlo.compare", "stablehlo.iota", "stablehlo.concatenate", "stablehlo.pad"];
    let [(_, consumer)] = group else { return false };
    let mut dots = 0;
    for (at, chunk) in plan.chunks.iter().enumerate() {
        let Some(op) = defining_op(chunk.value).filter(|_| chunk.source.is_op()) else { continue };
        let name = op_name(op);
        let fused = match name {
            "stablehlo.dot_general" | "stablehlo.reduce" => true,
            _ => ir::is_fusible(name) && !NOT.contains(&name),
        };
        if !fused || chunk.source == Source::Iota || outside.needed[at] {
            return false;
        }
        dots += usize::from(name == "stablehlo.dot_general");
    }
    matches!(consumer.role, Role::Place) && dots > 1
}

fn last_of<'c: 'a, 'a>(ops: impl Iterator<Item = OperationRef<'c, 'a>>) -> Option<OperationRef<'c, 'a>> {
    ops.reduce(|last, op| if last != op && ir::is_before(last, op) { op } else { last })
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
    let last = last_of(members.iter().copied())?;
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
