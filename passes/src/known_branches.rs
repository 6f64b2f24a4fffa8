// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-known-branches`: branches whose conditions are constants.
//!
//! # What it matches
//!
//! ```mlir
//! %c = stablehlo.constant dense<0> : tensor<i32>
//! %0 = "stablehlo.case"(%c) ({
//!   %1 = stablehlo.exponential %x : tensor<4xf32>
//!   stablehlo.return %1 : tensor<4xf32>
//! }, ...) : (tensor<i32>) -> tensor<4xf32>
//! ```
//!
//! becomes `%0 = stablehlo.exponential %x`, and the same for an `if`. JAX lowers what it does in one way on one platform and in another
//! way elsewhere to such a `case` (`jnp.diag`, say), and nothing that is in a branch is seen by the passes for what is around it.
//!
//! # Why it is right
//!
//! A branch sees what is around it, and an index that is out of range chooses the last (spec, `case`).
//!
//! # What it costs
//!
//! Nothing: back ends do it as well. One walk by MLIR's greedy driver.
//!
//! # When it must not fire
//!
//! * The op has discardable attributes, a sharding, say: they would be lost.
//! * A branch's values are of other types than the results (of less static shapes).

use crate::framework::{Changed, Pass, PassContext, PassError, PassResult, Statistic};
use crate::ir::{self, discardable_attributes};
use crate::rewrite::{Greedy, Patterns, Rewriter, ops_in, walk};
use crate::splat::Splat;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, RegionLike, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;

crate::pass_options! {
    /// Put the ops of a branch that is always taken in the place of the branch.
    ///
    /// ```mlir
    /// %0 = "stablehlo.if"(%true) ({
    ///   %1 = stablehlo.exponential %x : tensor<4xf32>
    ///   stablehlo.return %1 : tensor<4xf32>
    /// }, { ... }) : (tensor<i1>) -> tensor<4xf32>
    /// // becomes
    /// %0 = stablehlo.exponential %x : tensor<4xf32>
    /// ```
    pub struct KnownBranches;
}

const TAKEN: Statistic = Statistic::new(c"num-branches", c"branches whose ops took their place");

impl Pass for KnownBranches {
    const ARGUMENT: &'static str = "slimhlo-known-branches";
    const STATISTICS: &'static [Statistic] = &[TAKEN];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        const BRANCHES: [&str; 2] = ["stablehlo.case", "stablehlo.if"];
        // Most programs have none, and the driver would look at all their ops.
        let found = walk(root, |op| match BRANCHES.contains(&op_name(op)) {
            true => WalkResult::Interrupt,
            false => WalkResult::Advance,
        });
        if found == WalkResult::Advance {
            return Ok(Changed::No);
        }
        let mut patterns = Patterns::new();
        for name in BRANCHES {
            patterns = patterns.on(name, |op, rewriter| {
                let changed = take(op, rewriter)?;
                if changed {
                    context.count(&TAKEN, 1);
                }
                Ok(changed)
            });
        }
        Ok(patterns.apply(root, &Greedy::default())?.changed)
    }
}

/// Puts the ops of the branch that a constant condition chooses in the place of an `if` or a `case`.
fn take<'c: 'a, 'a>(op: OperationRef<'c, 'a>, rewriter: &Rewriter<'c, 'a>) -> Result<bool, PassError<'c>> {
    let Some((moved, values)) = taken(op) else { return Ok(false) };
    let alike = op.results().zip(&values).all(|(result, value)| result.r#type() == value.r#type());
    if !alike || op.result_count() != values.len() || !discardable_attributes(op).is_empty() {
        return Ok(false);
    }
    for nested in moved {
        rewriter.base().move_op_before(nested, op);
    }
    rewriter.replace(op, &values)?;
    Ok(true)
}

/// The ops of the branch that is always taken, but for its end, and what it hands out. A condition that is a constant of another
/// branch is known once that is taken.
fn taken<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<(Vec<OperationRef<'c, 'a>>, Vec<Value<'c, 'a>>)> {
    let condition = op.operands().next()?;
    let index = match op_name(op) {
        "stablehlo.if" => usize::from(Splat::of(condition)?.bytes()?.iter().all(|byte| *byte == 0)),
        _ => {
            // What is out of range chooses the last.
            let last = op.region_count().checked_sub(1)?;
            usize::try_from(ir::constant_integer(condition)?).map_or(last, |index| index.min(last))
        }
    };
    let block = op.region(index).ok()?.first_block()?;
    let end = block.terminator()?;
    let all = ops_in(block);
    Some((all.filter(|nested| *nested != end).collect(), end.operands().collect()))
}
