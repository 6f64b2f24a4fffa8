// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Parts of arrays that are put somewhere else only after the array has been updated.

use super::NEAR;
use crate::hold::has_bits;
use crate::ir;
use crate::ops::class;
use crate::rewrite::{defining_op, ops_in, uses};
use crate::shards::is_manual_throughout;
use crate::simplify::site::is_kept_argument;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, Value, ValueLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{self, op_name};

const UPDATE: &str = "stablehlo.dynamic_update_slice";

/// A part of an array that is read when that has been updated.
pub struct Late<'c, 'a> {
    pub cut: OperationRef<'c, 'a>,
    /// The update that is first.
    pub update: OperationRef<'c, 'a>,
    /// A dimension along which that puts less than the array has: where along it is what waits for the part.
    pub dim: usize,
    /// What is behind that in the block and has to go before it, in order: the part, and the numbers that say where it is.
    pub behind: Vec<OperationRef<'c, 'a>>,
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
        let is_held = |array: &Value<'c, 'a>| has_bits(*array) && is_in_place(*array);
        let Some(array) = cut.operands().next().filter(is_held) else { continue };
        let Some(last) = put_by(*cut) else { continue };
        let Some(update) = first_update(last, array).filter(|update| *update != last) else { continue };
        if let (Some(dim), Some(behind)) = (narrower(update), behind(*cut, update, &places)) {
            found.push(Late { cut: *cut, update, dim, behind });
        }
    }
    let cuts: FxHashSet<usize> = found.iter().map(|late| ir::op_key(late.cut)).collect();
    // All that is found is held. Parts go into branches of their own, and no number back to where a later update is.
    found.retain(|late| late.behind.iter().all(|op| *op == late.cut || !cuts.contains(&ir::op_key(*op))));
    let mut moved: FxHashMap<usize, usize> = FxHashMap::default();
    for Late { update, behind, .. } in &mut found {
        let place = places[&ir::op_key(*update)];
        behind.retain(|op| {
            let first = moved.entry(ir::op_key(*op)).or_insert(usize::MAX);
            place < std::mem::replace(first, place.min(*first))
        });
    }
    found
}

/// A dimension along which an update puts less than the array has.
fn narrower(update: OperationRef<'_, '_>) -> Option<usize> {
    let mut shapes = update.operands().take(2).map(|operand| ffi::shape(operand.r#type()));
    let (array, put) = (shapes.next()??, shapes.next()??);
    (0..array.len()).find(|&dim| put[dim] < array[dim])
}

/// What a part is made of that is behind an update in the block, and the part itself if it is; none if that is more than numbers:
/// these may be computed before it as well, wherever the block has them.
fn behind<'c: 'a, 'a>(
    cut: OperationRef<'c, 'a>,
    update: OperationRef<'c, 'a>,
    places: &FxHashMap<usize, usize>,
) -> Option<Vec<OperationRef<'c, 'a>>> {
    let place = |op: OperationRef<'c, 'a>| places.get(&ir::op_key(op)).copied();
    let first = place(update)?;
    let mut behind = Vec::new();
    let mut seen = FxHashSet::default();
    let mut pending = vec![cut];
    while let Some(op) = pending.pop() {
        if place(op).is_none_or(|place| place < first) || !seen.insert(ir::op_key(op)) {
            continue;
        }
        if op != cut && !is_number(op) || behind.len() >= NEAR {
            return None;
        }
        behind.push(op);
        pending.extend(op.operands().filter_map(defining_op));
    }
    behind.sort_by_key(|op| place(*op));
    Some(behind)
}

/// Whether an op computes one number, of others.
fn is_number(op: OperationRef<'_, '_>) -> bool {
    let is_plain = || matches!(op_name(op), "stablehlo.constant" | "stablehlo.partition_id");
    let one = ir::first_result(op).and_then(|value| ffi::shape(value.r#type()));
    (class::is_fusible(op_name(op)) || is_plain())
        && one.is_some_and(|shape| shape.iter().all(|size| *size == 1))
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
