// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-merge-branches`: what branches hand to branches of the same condition is computed there.
//!
//! # What it matches
//!
//! ```mlir
//! %residuals:2 = "stablehlo.case"(%index) ({
//!   stablehlo.return %zeros, %zeros : tensor<16x1024xf32>, tensor<16x1024xf32>
//! }, {
//!   %a:2 = stablehlo.while(...) ...
//!   stablehlo.return %a#0, %a#1 : tensor<16x1024xf32>, tensor<16x1024xf32>
//! }) : (tensor<i32>) -> (tensor<16x1024xf32>, tensor<16x1024xf32>)
//! %y = "stablehlo.case"(%index) ({
//!   stablehlo.return %x : tensor<1024xf32>
//! }, {
//!   %b = stablehlo.while(... %residuals#0, %residuals#1 ...) ...
//!   stablehlo.return %b : tensor<1024xf32>
//! }) : (tensor<i32>) -> tensor<1024xf32>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %y = "stablehlo.case"(%index) ({
//!   stablehlo.return %x : tensor<1024xf32>
//! }, {
//!   %a:2 = stablehlo.while(...) ...
//!   %b = stablehlo.while(... %a#0, %a#1 ...) ...
//!   stablehlo.return %b : tensor<1024xf32>
//! }) : (tensor<i32>) -> tensor<1024xf32>
//! ```
//!
//! and the same for an `if`. JAX makes two of a `lax.cond` that it differentiates: one that hands out all that any branch's gradient will ask for, and one
//! that takes it, with zeros for what other branches would have stored.
//!
//! # Why it is right
//!
//! Both take the same branch. What the first one's computes is read by nobody but the second one's, and has no effects, so that nobody can tell when it
//! is done.
//!
//! # Why it pays
//!
//! What a branch stores for itself is seen by all other passes: loops that read what others store compute it again, or have it a segment at a
//! time. Nothing is handed out, nor are zeros.
//!
//! # What it costs
//!
//! What the first one reads is needed until the second. Ops are moved, never copied; one walk, and all uses of what branches hand out.
//!
//! # When it must not fire
//!
//! * Anything but the second one's branches reads what the first one hands out.
//! * The first one has effects, or discardable attributes, a sharding, say, which would be lost.

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{Builder, discardable_attributes};
use crate::ops::class::has_effects;
use crate::rewrite::{in_block, is_unused, ops_in, users, walk};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, RegionLike, Value};
use slimhlo_dialect::ffi::op_name;

crate::pass_options! {
    /// Compute what branches hand to others of the same condition in these.
    ///
    /// ```mlir
    /// %a = "stablehlo.if"(%c) ({ ... return %0 }, { ... return %1 })
    /// %b = "stablehlo.if"(%c) ({ ... %a ... }, { ... %a ... })
    /// // becomes
    /// %b = "stablehlo.if"(%c) ({ ... %0 ... }, { ... %1 ... })
    /// ```
    pub struct MergeBranches;
}

const MERGED: Statistic = Statistic::new(c"num-merged", c"ops with branches that became part of others");

impl Pass for MergeBranches {
    const ARGUMENT: &'static str = "slimhlo-merge-branches";
    const STATISTICS: &'static [Statistic] = &[MERGED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let mut found = Vec::new();
        walk(root, |op| {
            if matches!(op_name(op), "stablehlo.case" | "stablehlo.if") {
                found.push(op);
            }
            WalkResult::Advance
        });
        let build = Builder::new(root);
        let mut merged = 0;
        // The last ones first: one that reads another is then part of a third already.
        for op in found.into_iter().rev() {
            if let Some(into) = reader(op) {
                merge(op, into, &build);
                merged += 1;
            }
        }
        context.count(&MERGED, merged);
        Ok(Changed::from(merged > 0))
    }
}

/// The op in whose branches all is read that branches of `op` hand out, if it has the same condition.
fn reader<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let readers = || op.results().flat_map(|result| users(result.into()));
    let into = in_block(readers().next()?, op.block())?;
    let alike = op_name(op) == op_name(into)
        && op.operand(0) == into.operand(0)
        && op.region_count() == into.region_count()
        && discardable_attributes(op).is_empty();
    // What reads its condition reads it in no branch.
    let is_inside =
        |reader: OperationRef<'c, 'a>| reader != into && in_block(reader, op.block()) == Some(into);
    let effects = || {
        walk(op, |inner| if has_effects(inner) { WalkResult::Interrupt } else { WalkResult::Advance })
            == WalkResult::Interrupt
    };
    (alike && readers().all(is_inside) && !effects()).then_some(into)
}

/// Moves each branch of `op` to where the same branch of `into` begins.
fn merge<'c: 'a, 'a>(op: OperationRef<'c, 'a>, into: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) {
    for index in 0..op.region_count() {
        let block = |op: OperationRef<'c, 'a>| -> BlockRef<'c, 'a> {
            let block = op.region(index).ok().and_then(|region| region.first_block());
            block.expect("branches are of one block")
        };
        let (from, to) = (block(op), block(into));
        let is_read = |user: OperationRef<'c, 'a>| in_block(user, Some(to)).is_some();
        let end = from.terminator().expect("branches end");
        let made: Vec<Value> = end.operands().collect();
        let first = to.first_operation().expect("branches end");
        for nested in ops_in(from).filter(|nested| *nested != end).collect::<Vec<_>>() {
            build.move_before(nested, first);
        }
        for (result, value) in op.results().zip(made) {
            build.replace_uses(result.into(), value, is_read);
        }
    }
    debug_assert!(is_unused(op), "all of it is read in a branch");
    build.erase(op);
}
