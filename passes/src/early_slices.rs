// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-early-slices`: of what waits to be sliced, slices wait.
//!
//! # What it matches
//!
//! ```mlir
//! %d = stablehlo.dot_general %dy, %w ...                          // tensor<100000x384xf32>: edge, sender and receiver
//! %r = stablehlo.slice %d [0:100000, 256:384]
//! ...
//! %later:9 = stablehlo.optimization_barrier ..., %d
//! %s = stablehlo.slice %later#8 [0:100000, 128:256]
//! %e = stablehlo.slice %later#8 [0:100000, 0:128]
//! ```
//!
//! becomes
//!
//! ```mlir
//! %s0 = stablehlo.slice %d [0:100000, 128:256]
//! %e0 = stablehlo.slice %d [0:100000, 0:128]
//! %later:10 = stablehlo.optimization_barrier ..., %s0, %e0        // and %d is gone
//! ```
//!
//! Graph networks concatenate what an edge and both its nodes have, and the gradient of that is taken apart: a third of it is summed over nodes at once, another
//! is needed when the layer before is due. Values that are computed again (`--slimhlo-rematerialize`) stand behind such barriers.
//!
//! # Why it is right
//!
//! A barrier hands on what it is given.
//!
//! # What it costs
//!
//! A copy of each slice, which a back end would else have read out of the whole. Saved is the rest of the whole, as long as the last slice is needed, and each
//! slice's share from its own last use on. Linear in the operands of barriers.
//!
//! # When it must not fire
//!
//! * Anything but slices, in the barrier's own block, reads what is behind it.
//! * Slices that are together no smaller than the whole.
//! * Barriers that carry annotations.

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold::barriers;
use crate::ir::{self, Builder, bytes, discardable_attributes};
use crate::rewrite::{defining_op, ops_named, users};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;

crate::pass_options! {
    /// Let slices wait behind barriers, not what they are taken from.
    ///
    /// ```mlir
    /// %later = stablehlo.optimization_barrier %d : tensor<100000x384xf32>
    /// %e = stablehlo.slice %later [0:100000, 0:128]
    /// // becomes
    /// %e0 = stablehlo.slice %d [0:100000, 0:128]
    /// %e = stablehlo.optimization_barrier %e0 : tensor<100000x128xf32>
    /// ```
    pub struct EarlySlices;
}

const EARLY: Statistic = Statistic::new(c"num-early", c"values of which slices wait");

impl Pass for EarlySlices {
    const ARGUMENT: &'static str = "slimhlo-early-slices";
    const STATISTICS: &'static [Statistic] = &[EARLY];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let build = Builder::new(root);
        let mut count = 0;
        for barrier in ops_named(root, "stablehlo.optimization_barrier") {
            count += rewrite(barrier, &build);
        }
        context.count(&EARLY, count);
        Ok(Changed::from(count > 0))
    }
}

/// The slices that are all that is made of a barrier's result, alike ones side by side; none if they are not, or no smaller.
fn slices<'c: 'a, 'a>(
    barrier: OperationRef<'c, 'a>,
    result: Value<'c, 'a>,
) -> Option<Vec<Vec<OperationRef<'c, 'a>>>> {
    let mut found: Vec<Vec<OperationRef<'c, 'a>>> = Vec::new();
    for user in users(result) {
        if op_name(user) != "stablehlo.slice" || user.block() != barrier.block() {
            return None;
        }
        let of = |op: OperationRef<'c, 'a>| {
            ["start_indices", "limit_indices", "strides"].map(|name| ir::i64_array(op, name))
        };
        match found.iter_mut().find(|alike| of(alike[0]) == of(user)) {
            Some(alike) => alike.push(user),
            None => found.push(vec![user]),
        }
    }
    let all = found.iter().map(|alike| alike[0].result(0).map_or(0, |slice| bytes(slice.into())));
    (!found.is_empty() && all.sum::<i64>() < bytes(result)).then_some(found)
}

/// Has slices of what a barrier hands on come before it: of how many values.
fn rewrite<'c: 'a, 'a>(barrier: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> u64 {
    if !discardable_attributes(barrier).is_empty() {
        return 0;
    }
    let early: Vec<_> = barrier.results().map(|result| slices(barrier, result.into())).collect();
    let count = early.iter().flatten().count() as u64;
    if count == 0 {
        return 0;
    }
    build.set_insertion_point_before(barrier);
    let (mut operands, mut later): (Vec<Value>, Vec<Vec<Value>>) = (Vec::new(), Vec::new());
    for ((operand, result), slices) in barrier.operands().zip(barrier.results()).zip(early) {
        let Some(slices) = slices else {
            operands.push(operand);
            later.push(vec![result.into()]);
            continue;
        };
        for alike in slices {
            let copy = build.copy_with(alike[0], &[operand], &[], &[first(alike[0]).r#type()]);
            operands.push(first(copy));
            later.push(alike.into_iter().map(first).collect());
        }
    }
    for (now, before) in barriers(&operands, build, barrier.location()).into_iter().zip(later) {
        for value in before {
            build.replace_all_uses_with(value, now);
            if let Some(slice) = defining_op(value).filter(|op| *op != barrier) {
                build.erase(slice);
            }
        }
    }
    build.erase(barrier);
    count
}

/// The result of an op of one.
fn first<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Value<'c, 'a> {
    ir::first_result(op).expect("slices have a result")
}
