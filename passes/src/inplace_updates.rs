// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-inplace-updates`: arrays that are updated from themselves are updated where they are.
//!
//! # What it matches
//!
//! **Halos.** A chain of `dynamic_update_slice` on an array that may be overwritten (donated, carried by a loop, or a
//! temporary), whose values are computed from slices of that array: of the version that is just updated, or of an older one.
//!
//! ```mlir
//! %s1 = stablehlo.slice %x [0:80, 8:9, 0:1552]                      // the first inner row ...
//! %u1 = stablehlo.broadcast_in_dim %s1, dims = [0, 1, 2]            // ... eight times
//! %x1 = stablehlo.dynamic_update_slice %x, %u1, %0, %0, %0
//! %s2 = stablehlo.slice %x1 [0:80, 775:776, 0:1552]
//! %u2 = stablehlo.broadcast_in_dim %s2, dims = [0, 1, 2]
//! %x2 = stablehlo.dynamic_update_slice %x1, %u2, %0, %776, %0
//! ```
//!
//! becomes
//!
//! ```mlir
//! %s1, %s2 = ... both slices of %x
//! %both = stablehlo.concatenate %s1, %s2, dim = 0
//! %there = stablehlo.optimization_barrier %both
//! %t1 = stablehlo.slice %there [0:80, 0:1, 0:1552], %t2 = ...
//! %x1 = stablehlo.dynamic_update_slice %x, (%t1 eight times), ...
//! %x2 = stablehlo.dynamic_update_slice %x1, (%t2 eight times), ...
//! ```
//!
//! **Concatenations** of the largest part of such an array, where it is, and new edges become updates of it (`inplace_updates/fill.rs`).
//!
//! **Steps.** Arrays that may be overwritten (donated arguments with the result that takes their place, values carried by a
//! loop with what the loop gives back for them), if new contents are computed from old ones of neighbouring places or from each
//! other, and all of it independently along a dimension (levels of an ocean, batches, tiles). It becomes a `while` over that
//! dimension, which overwrites the arrays a slab at a time:
//!
//! ```mlir
//! %loop:3 = stablehlo.while(%i = %c0, %u_ = %u, %h_ = %h) do {
//!   %slabs:2 = "stablehlo.if"(%goes_on) ({ optimization_barrier of slab %i of %u_ and of %h_ }, { zeros })
//!   ...                                                              // the step on slabs
//!   %u1 = stablehlo.dynamic_update_slice %u_, %new_u, %i, %c0, %c0
//!   %h1 = stablehlo.dynamic_update_slice %h_, %new_h, %i, %c0, %c0
//!   stablehlo.return %i + 1, %u1, %h1
//! }
//! ```
//!
//! # Why it is right
//!
//! A slice of a version has the same bits in every version between updates that do not touch it, and values read are only
//! carried. In a step each slab is computed by the same ops from the same slabs of the same arrays, which no other slab's
//! turn has overwritten.
//!
//! # Why it pays, and what it relies on
//!
//! An update can be in place only if everything that reads the old array is known to come before. Back ends know it from
//! data flow alone: where a read of the old array and the update do not depend on each other, they copy the array. So each read
//! is made part of what some update writes:
//!
//! * a read takes the newest version whose update it feeds, if the part it reads has not changed since;
//! * else it is read with the next update's own reads, into one small value on which that update depends. The barrier
//!   keeps it one value: without it, simplification would take the concatenation apart again;
//! * an update with a broadcast value is computed again by fusing back ends inside of what reads a part of it, from the version
//!   before, which stays alive by that. No read takes such a version where another will do; where none will, the
//!   update's value is made of two halves, of which a barrier hides one.
//!
//! In a step's loop all slabs are read by one `if`, whose condition is that of the loop, and stand behind a barrier in it:
//! back ends take no such `if` apart, so that every update waits for all reads. (An `if` without a barrier becomes a select
//! of slices in XLA, and slabs concatenated behind a barrier without an `if` are fused into what slices them: both read
//! from the arrays again.) The step itself knows nothing but slabs, so that it fuses into the updates. A back end that
//! asks its host for the condition of an `if` does so once per slab.
//!
//! # What it costs
//!
//! The parts read, once more, for a moment: at most half of the array, else nothing is done. For a step, temporaries of one
//! slab, and moving slabs to where the step finds them. A loop is made if arrays fall into at least 16 slabs; slabs take
//! up to `chunk-bytes` together, or one unit where that is more, and at least a sixteenth of it. Reads are followed over a bounded number of ops and versions: the pass is linear in its module.
//!
//! # When it must not fire
//!
//! * Arrays that may not be overwritten, and what a loop that runs once starts from: there is a copy anyway. Versions that something needs whole later on: likewise.
//! * Chains whose last version is not what takes the array's place: something computed of it does, for which there has to be
//!   room in any case.
//! * Chains in order already, so that a second run changes nothing; elementwise steps, which back ends do in place; steps with
//!   dots and scatters.
//! * Reads and updates at places not known at compile time are never moved across each other.
//! * Programs for more than one partition, but inside of manual computations over all axes of the mesh; dynamic shapes, encodings; in steps also ops with discardable attributes.
//! * Arrays of fewer than `min-bytes`.
//! * Reads are not moved for back ends whose arrays lie in tiles: what is staged flat is copied for that, and XLA for a v5p needs 31 MiB for
//!   the halos of a [1792, 16, 448] field of u16 so, and 11 without (`test/oracle/referee.py --target v5p` on both forms).

mod chain;
mod fill;
mod stage;
mod sweep;

pub(crate) use chain::is_donated;
pub(crate) use sweep::{Place, function_places, loop_places, manual_places};

use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::rewrite::ops_named;
use crate::shards::of_one_partition;
use crate::target::Target;
use chain::Chain;
use melior::ir::OperationRef;
use rustc_hash::FxHashSet;
use stage::Order;

crate::pass_options! {
    /// Update arrays where they are.
    ///
    /// Chains of updates whose values are read from the array that is updated (halos) are put into an order in which no
    /// version of it outlives the next update; halos by concatenation become such chains. Steps that compute new contents of donated or carried arrays from old
    /// ones of neighbouring places, independently along some dimension, become a loop over that dimension that overwrites
    /// the arrays a slab at a time. Every bit is kept.
    ///
    /// ```mlir
    /// %x1 = stablehlo.dynamic_update_slice %x, (a row of %x, eight times), ...
    /// %x2 = stablehlo.dynamic_update_slice %x1, (a row of %x1, eight times), ...
    /// // becomes
    /// %rows = stablehlo.optimization_barrier (both rows of %x)
    /// %x1 = stablehlo.dynamic_update_slice %x, (a row of %rows, eight times), ...
    /// %x2 = stablehlo.dynamic_update_slice %x1, (a row of %rows, eight times), ...
    /// ```
    pub struct InplaceUpdates {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// How much the slabs that a turn of a loop works on may take.
        pub chunk_bytes: Bytes = Bytes(4 << 20),
        /// Smaller arrays are left alone.
        pub min_bytes: Bytes = Bytes(16 << 10),
        /// Whether steps are done a slab at a time, too.
        pub steps: bool = true,
    }
}

const FILLS: Statistic = Statistic::new(c"num-fills", c"concatenations that are updates of an array");
const CHAINS: Statistic = Statistic::new(c"num-chains", c"chains of updates put in order");
const READS: Statistic = Statistic::new(c"num-reads", c"reads that take another version or are staged");
const LOOPS: Statistic = Statistic::new(c"num-loops", c"steps done a slab at a time");

impl Pass for InplaceUpdates {
    const ARGUMENT: &'static str = "slimhlo-inplace-updates";
    const STATISTICS: &'static [Statistic] = &[FILLS, CHAINS, READS, LOOPS];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let build = Builder::new(root);
        let limit = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        let min_bytes = limit(self.min_bytes);
        let chunk_bytes = limit(self.chunk_bytes).max(1);
        let parts = of_one_partition(root);
        let fills: usize = parts.iter().map(|part| fill::run(*part, &build, min_bytes)).sum();
        context.count(&FILLS, fills as u64);
        let mut loops = 0;
        for part in parts.iter().filter(|_| self.steps) {
            loops += sweep::run(*part, &build, (chunk_bytes, min_bytes), self.target.storage());
        }
        context.count(&LOOPS, loops as u64);
        let mut changed = loops + fills > 0;

        let is_tiled = self.target.storage().is_tiled();
        let mut seen = FxHashSet::default();
        for op in parts.iter().flat_map(|part| ops_named(*part, "stablehlo.dynamic_update_slice")) {
            // Chains are met from their first update on; one that was made just now has been seen in its place.
            if seen.contains(&ir::op_key(op)) {
                continue;
            }
            let Some(mut chain) = Chain::starting(op, &mut seen) else { continue };
            if chain.bytes() < min_bytes || !chain.stays_in_place() || chain.find_reads().is_none() {
                continue;
            }
            let Some(order) = Order::find(&chain) else { continue };
            let moved = order.moved(&chain);
            if is_tiled && moved > 0 {
                continue;
            }
            context.count(&CHAINS, 1);
            context.count(&READS, moved as u64);
            order.apply(&mut chain, &build);
            changed = true;
        }
        Ok(Changed::from(changed))
    }
}
