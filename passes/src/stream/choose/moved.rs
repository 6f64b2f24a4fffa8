// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a plan's turns read, write and carry, in bytes, beside what they compute.

use super::super::consumer::{Consumer, Role};
use super::super::plan::{self, Plan};
use super::place::is_in_loop;
use super::{LEFT_OVER, MOST_DIVISORS};
use crate::ir::{self, bytes, is_narrow};
use crate::ops::access::{self, Source};
use crate::rewrite::defining_op;
use crate::simplify::site::is_kept_argument;
use crate::tables::{Keys, Table};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// Bytes of one unit of what a plan slices, of small sums on its way, and of its results.
pub(super) fn around<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    let small =
        |value: &Value<'c, 'a>| defining_op(*value).is_none_or(|op| op_name(op) == "stablehlo.reduce");
    let taken = plan.chunks.iter().filter(|chunk| chunk.source == Source::Slice || small(&chunk.value));
    let results = group.iter().map(|(_, consumer)| bytes(consumer.result()));
    taken.map(|chunk| chunk.size).chain(results).fold(0, i64::saturating_add) / plan.units
}

/// A chunk of at least so many units, about, and at most so many that leaves nothing over, or little. What is left over is done
/// once more beside the loop: it would need copies of its own of what is needed `whole`, and if it is much, a loop of its own, of
/// short turns.
pub(super) fn evened(units: i64, least: i64, most: i64, whole: bool) -> i64 {
    let rest = units % least;
    if rest == 0 || !whole && rest <= least / LEFT_OVER {
        return least;
    }
    let most = most.min(units / 2).max(least);
    let least_even = if whole { least / 2 } else { least - least / 4 };
    let divisor = (least_even.max(1)..=most).rev().take(MOST_DIVISORS).find(|part| units % part == 0);
    let even = units / (units / most + 1);
    let little = even > 0 && units % even <= even / LEFT_OVER;
    divisor.or(little.then_some(even)).unwrap_or(least)
}

/// Bytes of the results that a loop puts in their places and that back ends without moves of 8-bit floats or bf16 rewrite whole for
/// each part: what they do in a wider type is no update in place.
pub(super) fn rewritten<'c: 'a, 'a>(group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    let half = |value: Value<'c, 'a>| {
        Tensor::new(value.r#type()).is_some_and(|tensor| tensor.element.to_string() == "f16")
    };
    let places = group.iter().filter(|(_, consumer)| matches!(consumer.role, Role::Place));
    let values = places.map(|(_, consumer)| consumer.result());
    values.filter(|value| is_narrow(*value) && !half(*value)).map(bytes).fold(0, i64::saturating_add)
}

/// Bytes, in f32, of the products of narrow floats that a loop adds up. Each turn reads and writes all of them, and multiplies for them
/// in ways that are slower than a back end's for the whole, which widens both operands at once: if all turns together move more of them
/// than the loop saves, that is a lot of time for little memory.
pub(super) fn narrow_sums<'c: 'a, 'a>(group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    let sums = group
        .iter()
        .filter(|(_, consumer)| matches!(consumer.role, Role::Contract) && consumer.widen.is_some());
    sums.map(|(_, consumer)| bytes(consumer.result()).saturating_mul(2)).fold(0, i64::saturating_add)
}

/// Bytes that loops in a plan carry in chunks and that nothing in the plan asks for.
pub(super) fn carried_besides(plan: &Plan<'_, '_>) -> i64 {
    let mut counted = Keys::default();
    let mut besides: i64 = 0;
    for chunk in plan.chunks.iter().filter(|chunk| chunk.source.is_op() && chunk.name == "stablehlo.while") {
        let Some(op) = chunk.op.filter(|op| counted.insert(ir::op_key(*op))) else { continue };
        for (result, along) in op.results().map(Value::from).zip(chunk.source.operands()) {
            if along.is_some_and(|along| plan.position(result, along).is_none()) {
                besides = besides.saturating_add(bytes(result));
            }
        }
    }
    besides
}

/// Bytes of the updates that are there already: a scatter reads them where they are, but a loop has to copy each part of them.
pub(super) fn copied_updates<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    let scatters = group.iter().filter(|(_, consumer)| matches!(consumer.role, Role::Scatter));
    scatters
        .flat_map(|(_, consumer)| consumer.inputs())
        .filter_map(|(value, dim)| plan.position_of_all(value, dim))
        .filter(|&at| plan.chunks[at].source == Source::Slice)
        .map(|at| plan.chunks[at].size)
        .fold(0, i64::saturating_add)
}

/// Bytes of what reductions of several operands (the position of a minimum, say) take that is arithmetic on slices: back ends
/// compute it in the reduction's own loop, which is much slower if it has to look up where the slice is for each element.
pub(super) fn searched(plan: &Plan<'_, '_>) -> i64 {
    let mut sliced: Vec<bool> = Vec::with_capacity(plan.chunks.len());
    for (at, chunk) in plan.chunks.iter().enumerate() {
        let computed = chunk.source.is_op() && chunk.kind.fusible;
        sliced.push(chunk.source == Source::Slice || computed && plan.operands(at).any(|from| sliced[from]));
    }
    let several = |chunk: &plan::Chunk<'_, '_>| {
        chunk.source.is_op()
            && chunk.name == "stablehlo.reduce"
            && chunk.op.is_some_and(|op| op.result_count() > 1)
    };
    // The results of a reduction each have their chunk.
    let mut counted = Keys::default();
    plan.chunks
        .iter()
        .enumerate()
        .filter(|(_, chunk)| several(chunk) && chunk.op.is_some_and(|op| counted.insert(ir::op_key(op))))
        .flat_map(|(at, _)| plan.operands(at))
        .filter(|&from| sliced[from])
        .map(|from| plan.chunks[from].size)
        .fold(0, i64::saturating_add)
}

/// Whether a plan is arithmetic and reductions alone, and chunks of the largest values are many short runs of elements: each turn
/// then reads and writes memory with gaps, and reduces with strides.
pub(super) fn is_strided(plan: &Plan<'_, '_>) -> bool {
    let computed = || plan.chunks.iter().filter(|chunk| chunk.source.is_op());
    let largest = computed().map(|chunk| chunk.size).max().unwrap_or(0);
    computed().all(|chunk| chunk.kind.fusible || chunk.name == "stablehlo.reduce")
        && computed().filter(|chunk| chunk.size == largest).any(|chunk| {
            ir::plain(chunk.value)
                .is_some_and(|tensor| tensor.shape[..chunk.along.dim].iter().any(|&size| size > 1))
        })
}

/// Whether gaps in what is strided cost time. They do not where two sums of pairs are taken together, along rows and along columns, if back
/// ends compute all of it on the fly: no slices are taken of something large with gaps, and nothing large is computed both ways.
/// Chunks of columns then take a GPU no longer than chunks of rows: `lennard_jones_jax_md` by XLA for an H100 25 MiB of temporaries in
/// 968 ms for 55 in 1,106, in chunks of 16 MiB (`--slimhlo-stream` of the simplified module, then `test/oracle/referee.py`). Of single sums a Behler-Parrinello network's pipeline found 1,690 MiB for 380 by the model.
pub(super) fn gaps_matter(plan: &Plan<'_, '_>, group: &[(usize, Consumer<'_, '_>)], large: i64) -> bool {
    let has = |is: fn(&Role) -> bool| group.iter().any(|(_, consumer)| is(&consumer.role));
    if !has(|role| matches!(role, Role::Reduce { .. })) || !has(|role| matches!(role, Role::Place)) {
        return true;
    }
    let mut known = Keys::default();
    plan.chunks.iter().filter(|chunk| chunk.size > large).any(|chunk| match chunk.source {
        Source::Slice => ir::plain(chunk.value)
            .is_some_and(|tensor| tensor.shape[..chunk.along.dim].iter().any(|&size| size > 1)),
        _ => chunk.source.is_op() && !chunk.kind.free && !known.insert(ir::key(chunk.value)),
    })
}

/// Bytes of what a plan takes slices of that is no argument.
pub(super) fn sliced_temporaries(plan: &Plan<'_, '_>) -> i64 {
    let sliced = plan.chunks.iter().filter(|chunk| chunk.source == Source::Slice);
    let mut counted = Keys::default();
    let temporaries =
        sliced.filter(|chunk| !is_kept_argument(chunk.value) && counted.insert(ir::key(chunk.value)));
    temporaries.map(|chunk| chunk.size).fold(0, i64::saturating_add)
}

/// Bytes of the copies in f32 of what dots in a loop's body take whole, and would take a chunk of: back ends without narrow dots
/// make them before the loop. What is taken from the loop's own values is small, or seen to elsewhere.
pub(super) fn widened<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    if !group.iter().all(|(_, consumer)| is_in_loop(consumer.op)) {
        return 0;
    }
    let mut taken: Table<usize, i64> = Table::default();
    let mut note = |operand: Value<'c, 'a>, along: Option<access::Along>| {
        let sliced = along
            .and_then(|along| plan.position(operand, along))
            .is_some_and(|at| plan.chunks[at].source == Source::Slice);
        if sliced && defining_op(operand).is_none() && is_narrow(operand) {
            taken.insert(ir::key(operand), bytes(operand).saturating_mul(2));
        }
    };
    for chunk in plan.chunks.iter().filter(|chunk| chunk.source.is_op()) {
        if let Some(op) = defining_op(chunk.value).filter(|op| op_name(*op) == "stablehlo.dot_general") {
            op.operands().zip(chunk.source.operands()).for_each(|(operand, along)| note(operand, *along));
        }
    }
    for (_, consumer) in group.iter().filter(|(_, consumer)| matches!(consumer.role, Role::Contract)) {
        for (operand, dim) in consumer.inputs() {
            note(operand, plan.all_of(operand, dim).ok());
        }
    }
    taken.values().fold(0, |sum, size| sum.saturating_add(*size))
}

/// Whether the loop around an op adds products up to values of more than `large` bytes.
pub(super) fn sums_up(op: OperationRef<'_, '_>, large: i64) -> bool {
    const MOST: usize = 64;
    let is_sum = |value: Value<'_, '_>| {
        bytes(value) > large
            && defining_op(value).is_some_and(|op| matches!(op_name(op), "stablehlo.add" | "stablehlo.while"))
    };
    is_in_loop(op)
        && op
            .block()
            .and_then(|block| block.terminator())
            .is_some_and(|end| end.operands().take(MOST).any(is_sum))
}
