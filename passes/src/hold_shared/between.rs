// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Values that are made before an update, of what was updated, joined or padded, and of which a part is cut out as well.

use super::NEAR;
use crate::hold::has_bits;
use crate::ir;
use crate::ops::class;
use crate::rewrite::{defining_op, has_one_use, uses};
use crate::shards::is_manual_throughout;
use crate::splat::Splat;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::op_name;

const UPDATE: &str = "stablehlo.dynamic_update_slice";

/// Whether an op computes or cuts out an array that is then updated, and of which a part is cut out besides, from one that was updated, joined
/// or padded: a back end would make it again for the part, and the update with it for what is computed of that.
pub fn is_between_updates<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    let is_there = || {
        let owner = op.block().and_then(|block| block.parent_operation());
        owner.is_some_and(|owner| is_manual_throughout(owner) || op_name(owner) == "stablehlo.while")
    };
    class::is_fusible(op_name(op))
        && !is_stored(op_name(op))
        && op.result_count() == 1
        && ir::first_result(op).is_some_and(|value| has_bits(value) && is_cut_and_updated(value))
        && is_there()
        && is_of_made(op)
}

/// Whether a back end stores what an op makes, where several kernels read it.
fn is_stored(name: &str) -> bool {
    matches!(name, UPDATE | "stablehlo.concatenate" | "stablehlo.pad")
}

/// Whether an update is of a value, and a part of that is cut out for something else.
fn is_cut_and_updated<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    let is_cut_out = |op| matches!(op_name(op), "stablehlo.slice" | "stablehlo.dynamic_slice");
    let all = || uses(value).filter(|used| used.operand == 0).map(|used| used.user);
    let mut updates = all().filter(|op| op_name(*op) == UPDATE).peekable();
    let is_updated = updates.peek().is_some();
    let anew: Vec<_> = updates.filter(|update| is_anew(*update)).collect();
    is_updated && all().any(|op| is_cut_out(op) && !anew.iter().any(|update| is_all_for(op, *update)))
}

/// Whether an update that one op reads puts something into most of its array: a kernel that computes it writes the array
/// anew. A rotated field of 66 x 276 numbers on 16 devices, and a stencil of it, take a tile of temporaries so, and two where the field is held
/// (`test/oracle/sharded_fields.py --seed 401 --number 300`); what is put into a small part is not computed with all of it.
fn is_anew(update: OperationRef<'_, '_>) -> bool {
    let bytes = |index| update.operand(index).map_or(0, ir::bytes);
    2 * bytes(1) >= bytes(0) && ir::first_result(update).is_some_and(has_one_use)
}

/// Whether what an op makes is only computed with, element by element, for what an update puts in.
fn is_all_for<'c: 'a, 'a>(op: OperationRef<'c, 'a>, update: OperationRef<'c, 'a>) -> bool {
    let mut seen = FxHashSet::default();
    let mut pending = vec![op];
    while let Some(op) = pending.pop() {
        if seen.len() >= NEAR {
            return false;
        }
        if !seen.insert(ir::op_key(op)) {
            continue;
        }
        for used in op.results().flat_map(|result| uses(result.into())) {
            match used.user {
                user if user == update && used.operand == 1 => {}
                user if class::is_elementwise(op_name(user)) => pending.push(user),
                _ => return false,
            }
        }
    }
    true
}

/// Whether what one kernel would compute an op from is, among others, made by an update, or joined or padded, and as large as half of
/// the result.
fn is_of_made<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    let bytes = ir::first_result(op).map_or(0, ir::bytes);
    let mut seen = FxHashSet::default();
    let mut pending: Vec<Value<'c, 'a>> = op.operands().collect();
    while let Some(value) = pending.pop() {
        let Some(producer) = defining_op(value).filter(|_| Splat::of(value).is_none()) else { continue };
        if seen.len() >= NEAR || !seen.insert(ir::op_key(producer)) {
            continue;
        }
        match op_name(producer) {
            name if is_stored(name) && 2 * ir::bytes(value) >= bytes => return true,
            name if class::is_fusible(name) => pending.extend(producer.operands()),
            _ => {}
        }
    }
    false
}
