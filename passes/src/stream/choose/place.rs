// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Where a loop for several consumers can stand: behind all that it takes, before all that takes its results.

use super::super::consumer::Consumer;
use super::super::outside::Outside;
use super::super::plan::Plan;
use crate::ir;
use crate::ops::access::Source;
use crate::ops::class;
use crate::rewrite::{defining_op, users};
use crate::tables::Keys;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::op_name;

/// Whether all that a loop takes is there before it: nothing of it is computed from the loop's own results.
pub(super) fn is_ahead<'c: 'a, 'a>(
    plan: &Plan<'c, 'a>,
    group: &[(usize, Consumer<'c, 'a>)],
    outside: &Outside<'c, 'a>,
) -> bool {
    let members: Vec<_> = group.iter().map(|(_, member)| member.op).collect();
    let Some(early) = early_users(&members, &outside.dying(plan)) else { return false };
    let late: Keys = early.iter().chain(&members).map(|op| ir::op_key(*op)).collect();
    let slices = plan.chunks.iter().filter(|chunk| chunk.source == Source::Slice).map(|chunk| chunk.value);
    slices
        .chain(plan.wholes.iter().copied())
        .all(|value| defining_op_key(value).is_none_or(|op| !late.contains(&op)))
}

pub(super) fn is_in_loop(op: OperationRef<'_, '_>) -> bool {
    op.parent_operation().is_some_and(|parent| op_name(parent) == "stablehlo.while")
}

pub(super) fn last_of<'c: 'a, 'a>(
    ops: impl Iterator<Item = OperationRef<'c, 'a>>,
) -> Option<OperationRef<'c, 'a>> {
    ops.reduce(|last, op| if last != op && ir::is_before(last, op) { op } else { last })
}

pub(super) fn defining_op_key(value: Value<'_, '_>) -> Option<usize> {
    defining_op(value).map(ir::op_key)
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
/// done, because it is no mere elementwise op or the last consumer needs it. What the loop takes in for good does not count.
pub(super) fn early_users<'c: 'a, 'a>(
    members: &[OperationRef<'c, 'a>],
    dying: &Keys,
) -> Option<Vec<OperationRef<'c, 'a>>> {
    const MOST: usize = 16;
    let last = last_of(members.iter().copied())?;
    let mut early: Vec<OperationRef<'c, 'a>> = Vec::new();
    let mut pending = members.to_vec();
    while let Some(op) = pending.pop() {
        for user in op.results().flat_map(|result| users(result.into())) {
            let user = in_block_of(user, last)?;
            if user != last && ir::is_before(last, user)
                || early.contains(&user)
                || dying.contains(&ir::op_key(user))
            {
                continue;
            }
            if members.contains(&user) || !class::is_fusible(op_name(user)) || early.len() == MOST {
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
