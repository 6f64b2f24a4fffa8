// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! slimhlo's passes.
//!
//! One file per pass. [`passes`] and [`pipelines`] are the only lists of them: registration in tools and plugin, the
//! help and docs/passes.md all come from there.

mod addresses;
mod body;
pub mod cost;
mod counted;
pub mod docs;
pub mod framework;
pub mod functions;
mod gspmd;
mod hold;
pub mod ir;
mod min_cut;
pub mod ops;
mod order;
pub mod rewrite;
pub mod sparse;
pub mod splat;
mod stacks;
mod tables;
pub mod target;
mod ties;

pub mod batch_slices;
pub mod coalesce_pads;
pub mod data_parallel;
pub mod dus_to_pad;
pub mod early_gradients;
pub mod early_parts;
pub mod early_slices;
pub mod early_sums;
pub mod early_updates;
pub mod even_products;
pub mod fuse_concatenates;
pub mod gather_again;
pub mod gather_results;
pub mod gpu;
pub mod hold_biases;
pub mod hold_halos;
pub mod hold_shared;
pub mod in_turn;
pub mod inplace_updates;
pub mod known_branches;
pub mod late_gathers;
pub mod late_splats;
pub mod memory;
pub mod merge_branches;
pub mod merge_shards;
pub mod narrow_updates;
pub mod offload;
pub mod optimize;
pub mod own_splats;
pub mod pool_gradients;
pub mod recompute_residuals;
pub mod rematerialize;
pub mod reuse_gather_indices;
pub mod scatter_to_update;
pub mod segment_loops;
pub mod shards;
pub mod simplify;
pub mod sink_invariants;
pub mod sink_views;
pub mod slabs;
pub mod split_sums;
pub mod stream;
pub mod take_turns;
pub mod unroll_rotations;
pub mod unstack;

pub use framework::{
    Anchor, Bytes, Changed, Options, Pass, PassContext, PassError, PassInfo, PassResult, Pipeline,
    PipelineInfo, Statistic,
};
pub use rewrite::{Applied, Greedy, Patterns, Rewriter};

use std::sync::LazyLock;

/// What `tests/internals.rs` looks into, and nobody else. Tests inside would have the largest crate compiled once more.
#[doc(hidden)]
pub mod internals {
    pub use crate::gpu::emit::numbers::special::{bernoulli, riemann_zeta_minus_one};
    pub use crate::gspmd::assignment::{Assignment, Grid, written};
    pub use crate::memory::near::Near;
    pub use crate::min_cut::{ENDLESS, Flow, SINK, SOURCE};
    pub use crate::optimize::search::{Outcome, Search};
    pub use crate::segment_loops::plan::{Plan, Sizes};
    pub use crate::shards::emit::rounds::{Exchange, Wanted, scheduled};
}

/// All passes.
pub fn passes() -> &'static [PassInfo] {
    static PASSES: LazyLock<Vec<PassInfo>> = LazyLock::new(|| {
        vec![
            PassInfo::of::<batch_slices::BatchSlices>(),
            PassInfo::of::<coalesce_pads::CoalescePads>(),
            PassInfo::of::<data_parallel::DataParallel>(),
            PassInfo::of::<dus_to_pad::DusToPad>(),
            PassInfo::of::<gpu::emit::EmitGpu>(),
            PassInfo::of::<early_parts::EarlyParts>(),
            PassInfo::of::<early_slices::EarlySlices>(),
            PassInfo::of::<gather_again::GatherAgain>(),
            PassInfo::of::<early_sums::EarlySums>(),
            PassInfo::of::<early_gradients::EarlyGradients>(),
            PassInfo::of::<early_updates::EarlyUpdates>(),
            PassInfo::of::<even_products::EvenProducts>(),
            PassInfo::of::<gpu::form_kernels::FormKernels>(),
            PassInfo::of::<fuse_concatenates::FuseConcatenates>(),
            PassInfo::of::<gather_results::GatherResults>(),
            PassInfo::of::<gpu::to_host::KernelsToHost>(),
            PassInfo::of::<hold_biases::HoldBiases>(),
            PassInfo::of::<hold_halos::HoldHalos>(),
            PassInfo::of::<hold_shared::HoldShared>(),
            PassInfo::of::<in_turn::InTurn>(),
            PassInfo::of::<inplace_updates::InplaceUpdates>(),
            PassInfo::of::<known_branches::KnownBranches>(),
            PassInfo::of::<late_gathers::LateGathers>(),
            PassInfo::of::<late_splats::LateSplats>(),
            PassInfo::of::<gpu::plan_buffers::PlanBuffers>(),
            PassInfo::of::<memory::PrintMemory>(),
            PassInfo::of::<merge_branches::MergeBranches>(),
            PassInfo::of::<merge_shards::MergeShards>(),
            PassInfo::of::<narrow_updates::NarrowUpdates>(),
            PassInfo::of::<optimize::Optimize>(),
            PassInfo::of::<offload::Offload>(),
            PassInfo::of::<own_splats::OwnSplats>(),
            PassInfo::of::<split_sums::SplitSums>(),
            PassInfo::of::<pool_gradients::PoolGradients>(),
            PassInfo::of::<recompute_residuals::RecomputeResiduals>(),
            PassInfo::of::<rematerialize::Rematerialize>(),
            PassInfo::of::<reuse_gather_indices::ReuseGatherIndices>(),
            PassInfo::of::<scatter_to_update::ScatterToUpdate>(),
            PassInfo::of::<segment_loops::SegmentLoops>(),
            PassInfo::of::<shards::ExchangeShards>(),
            PassInfo::of::<simplify::Simplify>(),
            PassInfo::of::<sink_invariants::SinkInvariants>(),
            PassInfo::of::<sink_views::SinkViews>(),
            PassInfo::of::<slabs::Slabs>(),
            PassInfo::of::<stream::Stream>(),
            PassInfo::of::<take_turns::TakeTurns>(),
            PassInfo::of::<gpu::to_kernels::ToKernels>(),
            PassInfo::of::<unroll_rotations::UnrollRotations>(),
            PassInfo::of::<unstack::Unstack>(),
        ]
    });
    &PASSES
}

/// All pipelines.
pub fn pipelines() -> &'static [PipelineInfo] {
    static PIPELINES: LazyLock<Vec<PipelineInfo>> = LazyLock::new(Vec::new);
    &PIPELINES
}

/// Adds all passes and pipelines to MLIR's registry; more than once does no harm.
pub fn register_all() {
    passes().iter().for_each(framework::register);
    pipelines().iter().for_each(framework::register_pipeline);
}
