// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Parts of arrays, cut out of what a thin update has just written, and before it is overwritten.

use super::NEAR;
use crate::functions::is_public;
use crate::hold::is_same_place;
use crate::ir;
use crate::rewrite::{defining_op, users};
use crate::shards::is_manual_throughout;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};

/// What is in a branch already is behind one.
const BARRIER: &str = "stablehlo.optimization_barrier";

/// Whether an op cuts a part out of an array that is then updated elsewhere, and a back end would compute the update
/// that made the array again for that part: one that is less than the array by a dimension.
pub fn is_of_thin_update<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    matches!(op_name(op), "stablehlo.slice" | "stablehlo.dynamic_slice")
        && !op.results().any(|part| users(part.into()).any(|user| op_name(user) == BARRIER))
        && op
            .operands()
            .next()
            .is_some_and(|array| users(array).any(|user| is_updated_elsewhere(user, array, op)))
        && may_be_thin(op)
}

/// Whether an op updates an array at another place than where a part of it is cut out. That of what is there already is
/// part of the update.
fn is_updated_elsewhere<'c: 'a, 'a>(
    update: OperationRef<'c, 'a>,
    array: Value<'c, 'a>,
    part: OperationRef<'c, 'a>,
) -> bool {
    let is_there = || {
        let mut places = update.operands().skip(2).zip(part.operands().skip(1));
        op_name(part) == "stablehlo.dynamic_slice" && places.all(|(own, other)| is_same_place(own, other))
    };
    op_name(update) == "stablehlo.dynamic_update_slice"
        && update.operands().next() == Some(array)
        && !is_there()
}

/// Whether a thin update makes what an op reads first, in this computation or in one before it, or perhaps one outside
/// of this function.
fn may_be_thin<'c: 'a, 'a>(mut reader: OperationRef<'c, 'a>) -> bool {
    let Some(mut value) = reader.operands().next() else { return false };
    for _ in 0..NEAR {
        let from = match defining_op(value) {
            Some(op) => match op_name(op) {
                "stablehlo.dynamic_update_slice" => return is_thin(op),
                "func.call" => return true,
                "stablehlo.reshape" => op.operands().next().map(|from| (op, from)),
                "sdy.manual_computation" => returned(op, value),
                _ => None,
            },
            None => match ir::owner(value, reader) {
                Some((op, _)) if op_name(op) == "func.func" => return !is_public(op),
                Some((op, index)) if is_manual_throughout(op) => {
                    op.operands().nth(index).map(|from| (op, from))
                }
                _ => None,
            },
        };
        let Some(from) = from else { return false };
        (reader, value) = from;
    }
    false
}

/// Whether what an update writes has one element along a dimension along which the array has more.
fn is_thin(update: OperationRef<'_, '_>) -> bool {
    let mut shapes = update.operands().take(2).map(|operand| ffi::shape(operand.r#type()));
    let (Some(Some(array)), Some(Some(part))) = (shapes.next(), shapes.next()) else { return false };
    array.iter().zip(part).any(|(&all, &some)| some == 1 && all > 1)
}

/// What a manual computation returns for one of its results, and the op that does.
fn returned<'c: 'a, 'a>(
    computation: OperationRef<'c, 'a>,
    result: Value<'c, 'a>,
) -> Option<(OperationRef<'c, 'a>, Value<'c, 'a>)> {
    let index = computation.results().position(|own| Value::from(own) == result)?;
    let block = computation.regions().next().and_then(|region| region.first_block())?;
    let last = block.terminator()?;
    Some((last, last.operands().nth(index)?))
}
