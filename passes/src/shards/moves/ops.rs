// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which ops only move elements, and what is asked of them.

use super::super::layout::SHARDING;
use super::DEPTH;
use crate::ir::{self, discardable_attributes};
use crate::ops::class;
use crate::ops::updates::is_update;
use crate::rewrite::{defining_op, users};
use crate::splat::Splat;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};

/// Whether an op computes each element of its result from the elements in the same place, or from scalars.
pub fn is_elementwise(op: OperationRef<'_, '_>) -> bool {
    const OTHERS: &[&str] = &[
        "bitcast_convert",
        "broadcast",
        "broadcast_in_dim",
        "constant",
        "dynamic_slice",
        "iota",
        "pad",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    ];
    let name = op_name(op);
    if !class::is_fusible(name)
        || name.strip_prefix("stablehlo.").is_none_or(|name| OTHERS.binary_search(&name).is_ok())
        || op.result_count() != 1
        || op.operand_count() == 0
    {
        return false;
    }
    let Some(shape) = op.results().next().and_then(|result| ffi::shape(result.r#type())) else {
        return false;
    };
    op.operands()
        .all(|operand| ffi::shape(operand.r#type()).is_some_and(|other| other == shape || other.is_empty()))
}

/// Whether an op only moves elements, or puts a scalar where none come from.
pub fn is_move(op: OperationRef<'_, '_>) -> bool {
    matches!(
        op_name(op),
        "stablehlo.slice"
            | "stablehlo.pad"
            | "stablehlo.dynamic_update_slice"
            | "stablehlo.concatenate"
            | "stablehlo.reverse"
    ) || is_update(op)
}

/// Bytes that an element takes at most.
pub(super) fn element_bytes(element: Type<'_>) -> i64 {
    match IntegerType::try_from(element) {
        Ok(integer) => i64::from(integer.width().div_ceil(8)),
        Err(_) => 16,
    }
}

/// Whether nothing but shardings hangs on an op, and those are about this program's mesh or an older one's.
pub fn is_bare(op: OperationRef<'_, '_>) -> bool {
    discardable_attributes(op).iter().all(|(name, _)| name.as_string_ref().as_str() == Ok(SHARDING))
}

/// The value under sharding constraints.
pub fn unconstrained<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> Value<'c, 'a> {
    for _ in 0..DEPTH {
        match defining_op(value).filter(|op| op_name(*op) == "sdy.sharding_constraint") {
            Some(op) => match op.operand(0) {
                Ok(operand) => value = operand,
                Err(_) => break,
            },
            None => break,
        }
    }
    value
}

/// Whether a splat repeats a constant or a scalar that is one by itself, rather than an element of an array: that is an
/// array like another, on some device.
pub(super) fn repeats_scalar<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> bool {
    for _ in 0..DEPTH {
        let Some(op) = defining_op(value) else { break };
        match op_name(op) {
            "stablehlo.constant" => return true,
            "stablehlo.broadcast_in_dim"
            | "stablehlo.broadcast"
            | "stablehlo.reshape"
            | "stablehlo.transpose"
            | "stablehlo.convert" => match op.operand(0) {
                Ok(operand) => value = operand,
                Err(_) => return false,
            },
            _ => break,
        }
    }
    ir::is_rank_zero(value)
}

/// Whether several ops read a value, constraints of it counted as one with it.
pub fn is_shared<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    is_shared_through(value, |op, _| op_name(op) == "sdy.sharding_constraint")
}

/// Whether an op computes its result, element by element, of this array alone: in the place of that, where several arrays would be
/// stored for one if each of them were.
fn is_of_one<'c: 'a, 'a>(op: OperationRef<'c, 'a>, array: Value<'c, 'a>) -> bool {
    let is_scalar = |value: Value<'c, 'a>| ir::is_rank_zero(value) || Splat::of(value).is_some();
    is_elementwise(op) && op.operands().all(|operand| operand == array || is_scalar(operand))
}

/// Whether several ops read a value, or what is computed from it alone, element by element: it is stored, or else computed
/// once for each. A manual computation reads its operands as often as it needs them.
pub fn is_computed_on_shared<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    let is_constraint = |op: OperationRef<'c, 'a>| op_name(op) == "sdy.sharding_constraint";
    let constrained = users(value).filter(|user| is_constraint(*user)).filter_map(ir::first_result);
    let all = std::iter::once(value).chain(constrained);
    all.flat_map(users).any(|user| op_name(user) == "sdy.manual_computation")
        || is_shared_through(value, |op, array| is_constraint(op) || is_of_one(op, array))
}

/// Whether a manual computation reads a value, or what others make of it alone, element by element or in another shape, or several do.
pub fn is_read_by_made<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> bool {
    for _ in 0..DEPTH {
        let mut all = users(value);
        let Some(first) = all.next() else { return false };
        if op_name(first) == "sdy.manual_computation" || all.any(|other| other != first) {
            return true;
        }
        let goes_on = is_of_one(first, value)
            || matches!(
                op_name(first),
                "sdy.sharding_constraint" | "stablehlo.pad" | "stablehlo.reshape" | "stablehlo.transpose"
            );
        match ir::first_result(first) {
            Some(result) if goes_on => value = result,
            _ => return false,
        }
    }
    false
}

/// Whether several ops read a value, counting each op with one result that passes `is_one` as one with what it reads.
pub(super) fn is_shared_through<'c: 'a, 'a>(
    mut value: Value<'c, 'a>,
    is_one: impl Fn(OperationRef<'c, 'a>, Value<'c, 'a>) -> bool,
) -> bool {
    for _ in 0..DEPTH {
        let mut all = users(value);
        let Some(first) = all.next() else { return false };
        if all.any(|other| other != first) {
            return true;
        }
        match ir::first_result(first) {
            Some(result) if is_one(first, value) => value = result,
            _ => return false,
        }
    }
    false
}
