// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What chunks mean for products: how many rows they have, what they read whole, and in which order.

use super::super::consumer::{Consumer, Role};
use super::super::outside::{EXPANDS, Outside};
use super::super::plan::Plan;
use super::place::is_in_loop;
use super::{LEFT_OVER, MOST_DIVISORS, ROWS};
use crate::ir::{self, bytes};
use crate::ops::class;
use crate::ops::products::{self, dot_numbers};
use crate::rewrite::{defining_op, users};
use crate::tables::{Keys, Table};
use crate::target::Splits;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;

/// Whether a plan computes dots that something outside needs, too.
pub(super) fn computes_dots_again<'c: 'a, 'a>(plan: &Plan<'c, 'a>, outside: &Outside<'c, 'a>) -> bool {
    let mut computed = plan.chunks.iter().zip(&outside.needed);
    computed.any(|(chunk, needed)| chunk.source.is_op() && *needed && chunk.kind.dot)
}

/// The dimensions of a dot: of its operands those that are only the left's, only the right's, and contracted.
struct DotDims {
    left: Vec<usize>,
    right: Vec<usize>,
}

fn dot_dims(op: OperationRef<'_, '_>) -> Option<DotDims> {
    let numbers = dot_numbers(op)?;
    let free = |index: usize, batch: &[i64], contracted: &[i64]| -> Option<Vec<usize>> {
        let rank = ir::plain(op.operands().nth(index)?)?.rank();
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
pub(super) fn wanted_units<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
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
        let Some(op) = chunk.op.filter(|_| chunk.kind.dot) else {
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

/// A chunk of about so many units of which the products that a loop adds up fall into parts as they lie. Where parts do not begin where
/// 16 bytes do, back ends pad both operands, each of which is then written and read once more in every turn. What is left over is
/// little, and nothing where it would need copies of its own.
pub(super) fn in_parts<'c: 'a, 'a>(
    splits: Splits,
    plan: &Plan<'c, 'a>,
    group: &[(usize, Consumer<'c, 'a>)],
    chunk: i64,
    whole: bool,
) -> i64 {
    let sums = group.iter().filter(|(_, consumer)| matches!(consumer.role, Role::Contract));
    let step = sums
        .filter_map(|(_, consumer)| whole_parts(splits, consumer, plan.units, chunk))
        .fold(1, |step: i64, other| (step / ir::gcd(step, other)).saturating_mul(other));
    if chunk % step == 0 {
        return chunk;
    }
    let fits = |size: &i64| {
        let rest = plan.units % size;
        rest == 0 || !whole && rest <= size / LEFT_OVER
    };
    let sizes = (chunk / 2 / step + 1..=chunk / step).rev().map(|count| count * step);
    sizes.take(MOST_DIVISORS).find(fits).unwrap_or(chunk)
}

/// Of how many units a chunk has to be a multiple for a product to fall into parts as it lies, if it does that at all.
fn whole_parts(splits: Splits, consumer: &Consumer<'_, '_>, units: i64, chunk: i64) -> Option<i64> {
    let numbers = dot_numbers(consumer.op)?;
    let [left, right] =
        [0, 1].map(|index| ir::operand(consumer.op, index).and_then(|value| ir::plain(value)));
    let (left, right) = (left?, right?);
    let dims = numbers.lhs_contracting_dimensions();
    let contracted = dims.iter().map(|&dim| left.shape[dim as usize]).fold(1, i64::saturating_mul);
    let each = (contracted % units == 0).then_some(contracted / units)?;
    let result = ir::plain(consumer.result())
        .filter(|result| result.element.is_float() && ir::element_bytes(result.element) <= Some(4))?;
    let results = result.shape.iter().copied().fold(1, i64::saturating_mul);
    let batch = numbers.lhs_batching_dimensions().iter().map(|&dim| left.shape[dim as usize]);
    let [batch, results, chunk] =
        [batch.fold(1, i64::saturating_mul), results, each.saturating_mul(chunk)].map(u64::try_from);
    let parts = splits.parts(batch.ok()?, results.ok()?, chunk.ok()?);
    let narrower = ir::element_bytes(left.element)?.min(ir::element_bytes(right.element)?);
    let at_once = 16 / narrower.clamp(1, 16);
    let parts = i64::try_from(parts).ok().filter(|&parts| parts > 1)?;
    let rows = parts.saturating_mul(at_once);
    Some(rows / ir::gcd(rows, each.max(1)))
}

/// Bytes of the largest operand that dots in a plan take whole: each turn reads it again.
pub(super) fn read_again(plan: &Plan<'_, '_>) -> i64 {
    let mut most = 0;
    for chunk in plan.chunks.iter().filter(|chunk| chunk.kind.dot) {
        let Some(op) = chunk.op else { continue };
        let operands = op.operands().zip(chunk.source.operands());
        let whole = operands.filter(|(_, along)| along.is_none()).map(|(operand, _)| bytes(operand));
        most = most.max(whole.max().unwrap_or(0));
    }
    most
}

/// Whether chunks would make a vector of an operand of a dot that names its algorithm: XLA for CPU computes such a product in
/// a fusion, where it knows no algorithms, and refuses the program.
pub(super) fn names_products_of_vectors<'c: 'a, 'a>(
    plan: &Plan<'c, 'a>,
    group: &[(usize, Consumer<'c, 'a>)],
    chunk: i64,
) -> bool {
    let named = |op: OperationRef<'c, 'a>| ffi::attribute_of(op, "algorithm").is_some();
    let product = |value: Value<'c, 'a>, dims: &[usize]| {
        Tensor::new(value.r#type())
            .map_or(1, |tensor| dims.iter().map(|&dim| tensor.shape[dim]).fold(1i64, i64::saturating_mul))
    };
    let rest = plan.units % chunk;
    let least = if rest == 0 { chunk } else { rest };
    let shrinks = |all: i64| all > 1 && (all / plan.units).saturating_mul(least) <= 1;
    let planned = plan.chunks.iter().any(|part| {
        let Some(op) = part.op.filter(|op| part.kind.dot && named(*op)) else {
            return false;
        };
        let (Some(dims), [left, right]) = (dot_dims(op), part.source.operands()) else { return false };
        match (left, right, op.operand(0), op.operand(1)) {
            (Some(_), None, Ok(operand), _) => shrinks(product(operand, &dims.left)),
            (None, Some(_), _, Ok(operand)) => shrinks(product(operand, &dims.right)),
            _ => false,
        }
    });
    let contracted = |op: OperationRef<'c, 'a>| {
        let (Some(numbers), Ok(left)) = (dot_numbers(op), op.operand(0)) else { return 1 };
        let dims: Vec<usize> = numbers.lhs_contracting_dimensions().iter().map(|&dim| dim as usize).collect();
        product(left, &dims)
    };
    planned
        || group.iter().any(|(_, member)| {
            matches!(member.role, Role::Contract) && named(member.op) && shrinks(contracted(member.op))
        })
}

/// Bytes of a dot's operands whose dimensions are not in an order that back ends take as it is: batch dimensions first, and
/// what is contracted next to each other at an end.
pub(super) fn shuffled(op: OperationRef<'_, '_>) -> i64 {
    (0..2)
        .filter(|&index| is_shuffled(op, index))
        .filter_map(|index| op.operands().nth(index))
        .map(bytes)
        .sum()
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

/// Whether an operand of a dot has what is contracted where a plain product of matrices has not.
fn is_turned(op: OperationRef<'_, '_>, index: usize) -> bool {
    let (Some(numbers), Some(dims), Ok(operand)) = (dot_numbers(op), dot_dims(op), op.operand(index)) else {
        return false;
    };
    let Some(tensor) = Tensor::new(operand.r#type()) else { return false };
    let (contracted, free) = if index == 0 {
        (numbers.lhs_contracting_dimensions(), dims.left)
    } else {
        (numbers.rhs_contracting_dimensions(), dims.right)
    };
    // A plain matrix is taken either way.
    if tensor.shape.iter().filter(|&&size| size != 1).count() <= 2 {
        return false;
    }
    let contracted = contracted.iter().map(|&dim| dim as usize).find(|&dim| tensor.shape[dim] != 1);
    let free = free.into_iter().find(|&dim| tensor.shape[dim] != 1);
    contracted
        .zip(free)
        .is_some_and(|(contracted, free)| if index == 0 { contracted < free } else { free < contracted })
}

/// Bytes of the copies that back ends make of what dots in chunks need whole: in f32 where there is no narrow dot, and
/// in the order they want.
pub(super) fn copies<'c: 'a, 'a>(plan: &Plan<'c, 'a>) -> i64 {
    let mut copied: Table<usize, i64> = Table::default();
    for chunk in &plan.chunks {
        let Some(op) = chunk.op.filter(|_| chunk.kind.dot) else {
            continue;
        };
        for (index, (operand, along)) in op.operands().zip(chunk.source.operands()).enumerate() {
            let Some(tensor) = ir::plain(operand) else { continue };
            let narrow =
                tensor.element.is_float() && ir::element_bytes(tensor.element).is_some_and(|size| size < 4);
            if along.is_none() && (narrow || is_shuffled(op, index) || is_turned(op, index)) {
                copied.insert(ir::key(operand), if narrow { 2 * bytes(operand) } else { bytes(operand) });
            }
        }
    }
    copied.values().fold(0, |sum, size| sum.saturating_add(*size))
}

/// Whether what a value is elementwise made of is a dot's result that is much larger than the dot's operands, as scores are.
pub(super) fn is_made_of_less<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    const MOST: usize = 32;
    let size = bytes(value);
    let mut seen = Keys::default();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        let Some(op) = defining_op(value) else { continue };
        let name = op_name(op);
        if name == "stablehlo.dot_general" {
            let taken = op.operands().map(bytes).fold(0, i64::saturating_add);
            if taken.saturating_mul(EXPANDS) <= op.results().map(|result| bytes(result.into())).sum() {
                return true;
            }
        } else if class::is_fusible(name) {
            let large = op.operands().filter(|operand| bytes(*operand) >= size / 2);
            pending.extend(large.filter(|operand| seen.len() < MOST && seen.insert(ir::key(*operand))));
        }
    }
    false
}

/// Whether back ends are likely to compute a chain of dots, and the softmax between them, without storing what is between: all
/// that a dot is made into is reductions, at least one, and arithmetic of values that are not small, up to one other dot, which
/// is a product of matrices, and dimensions change their order only where the first dot could have made it.
///
/// The memory model says the same of XLA's library for CPU (`memory/fuse.rs`): it begins with a reduction, and takes along
/// what is around it. Scores that are made into weights by elementwise ops alone are stored.
pub(super) fn is_library_fused<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> bool {
    const LONGEST: usize = 64;
    /// Elements that arithmetic has to have for the library to take it: that of statistics of fewer rows is not.
    const FEWEST: i64 = 4096;
    const NOT: [&str; 6] = [
        "stablehlo.select",
        "stablehlo.compare",
        "stablehlo.iota",
        "stablehlo.concatenate",
        "stablehlo.pad",
        "stablehlo.slice",
    ];
    let is_fused = |op: OperationRef<'c, 'a>| {
        let name = op_name(op);
        matches!(name, "stablehlo.dot_general" | "stablehlo.reduce")
            || (class::is_fusible(name) && !NOT.contains(&name))
    };
    let is_dot = |op: OperationRef<'c, 'a>| op_name(op) == "stablehlo.dot_general";
    // In loops, XLA does not do so.
    if group.iter().any(|(_, consumer)| is_in_loop(consumer.op)) {
        return false;
    }
    let mut seen: Keys = Keys::default();
    let mut pending = Vec::new();
    for chunk in &plan.chunks {
        let Some(op) = chunk.op.filter(|_| chunk.source.is_op()) else { continue };
        if !is_fused(op) {
            return false;
        }
        if is_dot(op) && group.iter().all(|(_, consumer)| consumer.op != op && consumer.source != op) {
            pending.push(op);
        }
    }
    if pending.len() != 1 {
        return false;
    }
    let (mut ends, mut reductions) = (0, 0);
    while let Some(op) = pending.pop() {
        for user in op.results().flat_map(|result| users(result.into())) {
            if !seen.insert(ir::op_key(user)) {
                continue;
            }
            if !is_fused(user) || seen.len() > LONGEST {
                return false;
            }
            match op_name(user) {
                "stablehlo.dot_general" => {
                    if !products::is_matrix_product(user) {
                        return false;
                    }
                    ends += 1;
                    continue;
                }
                "stablehlo.reduce" => reductions += 1,
                // A product's transpose is the product the other way round, if either side has one dimension.
                "stablehlo.transpose" => {
                    let sides = is_dot(op).then(|| dot_dims(op)).flatten();
                    if !sides.is_some_and(|sides| sides.left.len() == 1 && sides.right.len() == 1) {
                        return false;
                    }
                }
                _ => {
                    let elements = user
                        .result(0)
                        .ok()
                        .and_then(|result| Tensor::new(Value::from(result).r#type())?.element_count());
                    if elements.is_some_and(|count| count < FEWEST) {
                        return false;
                    }
                }
            }
            pending.push(user);
        }
    }
    ends == 1 && reductions > 0
}
