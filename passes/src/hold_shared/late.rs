// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Parts of arrays that are put somewhere else only after the array has been updated.

use super::NEAR;
use crate::ir;
use crate::ops::class;
use crate::rewrite::{defining_op, ops_in, uses};
use crate::shards::is_manual_throughout;
use crate::simplify::site::is_kept_argument;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, Value};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{self, op_name};

const UPDATE: &str = "stablehlo.dynamic_update_slice";

/// A part of an array that is read when that has been updated.
pub struct Late<'c, 'a> {
    pub cut: OperationRef<'c, 'a>,
    /// The update that is first.
    pub update: OperationRef<'c, 'a>,
    /// Whether the part is cut out behind that in the block: what is made of one before it may be there before it, too.
    pub is_behind: bool,
}

/// Parts that are cut out of an array in a block and read when it has been updated: a back end that cuts a part out where it is read
/// keeps a copy of the array for it.
pub fn read_late<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> Vec<Late<'c, 'a>> {
    let ops: Vec<_> = ops_in(block).collect();
    let places: FxHashMap<usize, usize> =
        ops.iter().enumerate().map(|(place, op)| (ir::op_key(*op), place)).collect();
    let mut found = Vec::new();
    for cut in ops.iter().filter(|op| matches!(op_name(**op), "stablehlo.slice" | "stablehlo.dynamic_slice"))
    {
        let Some(array) = cut.operands().next().filter(|array| is_in_place(*array)) else { continue };
        let Some(last) = put_by(*cut) else { continue };
        let Some(update) = first_update(last, array).filter(|update| *update != last) else { continue };
        // It has to be there before the update.
        let place = places.get(&ir::op_key(update));
        let is_before =
            |value: Value<'c, 'a>| defining_op(value).is_none_or(|op| places.get(&ir::op_key(op)) < place);
        if cut.operands().all(is_before) {
            found.push(Late { cut: *cut, update, is_behind: places.get(&ir::op_key(*cut)) > place });
        }
    }
    found
}

/// The update that puts what an op makes, or what is computed of it alone with what is there, somewhere.
fn put_by<'c: 'a, 'a>(cut: OperationRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let mut op = cut;
    for _ in 0..NEAR {
        let value = ir::first_result(op)?;
        let mut readers = uses(value);
        let reader = readers.next().filter(|_| readers.next().is_none())?;
        match op_name(reader.user) {
            UPDATE => return (reader.operand == 1).then_some(reader.user),
            name if class::is_fusible(name) => op = reader.user,
            _ => return None,
        }
    }
    None
}

/// The update of `array` that a later update is of.
fn first_update<'c: 'a, 'a>(
    last: OperationRef<'c, 'a>,
    array: Value<'c, 'a>,
) -> Option<OperationRef<'c, 'a>> {
    let mut update = last;
    for _ in 0..NEAR {
        let of = update.operands().next()?;
        if of == array {
            return Some(update);
        }
        update = defining_op(of).filter(|op| op_name(*op) == UPDATE)?;
    }
    None
}

/// Whether a back end may update an array where it is: something here makes it, a loop carries it, or the program gives it away. Another
/// is copied in any case.
fn is_in_place<'c: 'a, 'a>(array: Value<'c, 'a>) -> bool {
    let Some(argument) = ffi::as_block_argument(array) else { return true };
    let Some(owner) = argument.owner().parent_operation() else { return false };
    if !is_manual_throughout(owner) {
        return op_name(owner) == "stablehlo.while";
    }
    owner.operands().nth(argument.argument_number()).is_some_and(|taken| !is_kept_argument(taken))
}
