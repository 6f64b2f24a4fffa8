// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-to-kernels`: from a StableHLO module to kernels and planned memory, in one step.
//!
//! Runs [`PREPARE`], forms kernels and plans buffers. Kernels update in place by themselves; where the arena is nevertheless more than a
//! [`TIGHT`]th of all memory, it does so once more after [`IN_PLACE`], which orders updates and runs steps of donated fields a slab at a time,
//! and keeps what that gives if it is smaller by as much: what orders updates costs copies. Then once more with values computed in chunks
//! (`--slimhlo-stream`), if the arena is large, and keeps that where it saves more than a [`WORTH`]th: chunks cost time, and what kernels compute
//! on the fly needs no chunks.

use super::form_kernels::{entry, for_one_partition, ops::size_of};
use crate::framework::{
    Anchor, Bytes, Changed, Pass, PassContext, PassError, PassResult, Statistic, changes, fingerprint,
};
use crate::rewrite::{copy_of, move_body, remove_attribute};
use melior::dialect::DialectRegistry;
use melior::ir::attribute::IntegerAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike};
use slimhlo_dialect::ffi::{attribute_of, integer_value};

/// What runs before kernels are formed, in MLIR's textual form, on a module.
///
/// Indices of gathers are not shared: kernels compute them on the fly.
pub const PREPARE: &str = "inline,func.func(canonicalize,cse),symbol-dce,func.func(slimhlo-simplify,canonicalize,cse,\
                           slimhlo-scatter-to-update,canonicalize,cse,slimhlo-dus-to-pad,canonicalize,cse,\
                           slimhlo-coalesce-pads,canonicalize,cse,slimhlo-recompute-residuals{target=kernels},canonicalize,cse)";

/// What may make updates happen in place that do not otherwise.
const IN_PLACE: &str = "func.func(slimhlo-inplace-updates{target=kernels},canonicalize,cse)";

/// The share of all memory that it has to save.
const TIGHT: u64 = 100;

/// The share of all memory that chunks have to save.
const WORTH: u64 = 5;

crate::pass_options! {
    /// Lower a module to kernels with planned memory.
    ///
    /// Inlines and simplifies, lets updates happen in place, splits the program into kernels (`slimhlo-form-kernels`) and says where
    /// each value lies (`slimhlo-plan-buffers`). Where most of the memory goes to large values that are needed piece by piece, as in
    /// attention, they are computed in chunks.
    ///
    /// ```sh
    /// slimhlo-opt --slimhlo-to-kernels in.mlir
    /// ```
    pub struct ToKernels {
        /// Try chunks, too.
        stream: bool = true,
        /// How much the temporaries of one chunk may take, about.
        chunk_bytes: Bytes = Bytes(4 << 20),
    }
}

const STREAMED: Statistic = Statistic::new(c"num-streamed", c"programs that run in chunks");

/// Bytes of the arena, and of all memory.
fn memory(module: OperationRef<'_, '_>) -> Option<(u64, u64)> {
    let main = entry(module).ok()?;
    let number = |name: &str| {
        let attribute = IntegerAttribute::try_from(attribute_of(main, name)?).ok()?;
        u64::try_from(integer_value(attribute)).ok()
    };
    let block = main.region(0).ok()?.first_block()?;
    let given: u64 = (0..block.argument_count())
        .filter_map(|index| block.argument(index).ok())
        .map(|argument| size_of(argument.into()).1)
        .sum();
    let arena = number("slimhlo.arena")?;
    Some((arena, arena.saturating_add(given).saturating_add(number("slimhlo.constants")?)))
}

impl Pass for ToKernels {
    const ARGUMENT: &'static str = "slimhlo-to-kernels";
    const ANCHOR: Anchor = Anchor::Module;
    const STATISTICS: &'static [Statistic] = &[STREAMED];

    fn dependent_dialects(registry: &DialectRegistry) {
        // The default pipeline asks this pass in turn.
        let others = [Self::ARGUMENT, crate::optimize::Optimize::ARGUMENT];
        for pass in crate::passes().iter().filter(|pass| !others.contains(&pass.argument)) {
            (pass.dependent_dialects)(registry);
        }
    }

    fn run<'c>(&self, module: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        const LOWER: &str = "slimhlo-form-kernels,slimhlo-plan-buffers";
        let main = entry(module)?;
        if attribute_of(main, "slimhlo.arena").is_some() {
            return Ok(Changed::No);
        }
        // Before the work, too.
        for_one_partition(module)?;
        // To MLIR a private function that nobody calls is dead.
        remove_attribute(main, "sym_visibility");
        context.run_pipeline(module, PREPARE)?;
        let mut prepared = copy_of(module);
        context.run_pipeline(module, LOWER)?;
        let planned =
            |module| memory(module).ok_or_else(|| PassError::new("cannot tell what memory is planned"));
        let (mut arena, mut all) = planned(module)?;
        if arena > all / TIGHT {
            let plain = copy_of(module);
            move_body(module, prepared);
            let before = fingerprint(module);
            prepared = copy_of(module);
            context.run_pipeline(module, IN_PLACE)?;
            let mut smaller = false;
            if fingerprint(module) != before {
                let ordered = copy_of(module);
                context.run_pipeline(module, LOWER)?;
                let now = planned(module)?;
                smaller = now.1.saturating_add(all / TIGHT) < all;
                if smaller {
                    prepared = ordered;
                    (arena, all) = now;
                }
            }
            if !smaller {
                move_body(module, plain);
            }
        }
        if !self.stream || arena <= self.chunk_bytes.0.max(all / WORTH) {
            return Ok(Changed::Yes);
        }
        let plain = copy_of(module);
        move_body(module, prepared);
        let chunk = self.chunk_bytes.to_string();
        // The sizes that `cargo xtask bench plan` has figures of; the kernels' own rates are not calibrated.
        let stream = format!(
            "func.func(slimhlo-stream{{target=xla-cpu chunk-bytes={chunk} settle=false}},canonicalize,cse)"
        );
        let before = changes();
        context.run_pipeline(module, &stream)?;
        if changes() == before {
            // There is nothing to chunk, and so no other plan.
            move_body(module, plain);
            return Ok(Changed::Yes);
        }
        context.run_pipeline(module, LOWER)?;
        let (_, streamed) = planned(module)?;
        if streamed.saturating_add(all / WORTH) < all {
            context.count(&STREAMED, 1);
        } else {
            move_body(module, plain);
        }
        Ok(Changed::Yes)
    }
}
