// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The `stablehlo` dialect.

use crate::rules::Table;

/// Rule tables of this dialect, one per family of ops.
pub const TABLES: &[Table] = &[
    // One per line, so that families of ops can be added side by side.
    batch_norm::TABLE,
    calls::TABLE,
    collective::TABLE,
    communication::TABLE,
    contraction::TABLE,
    control_flow::TABLE,
    convolution::TABLE,
    dynamic::TABLE,
    elementwise::TABLE,
    fold::TABLE,
    gather_scatter::TABLE,
    linear_algebra::TABLE,
    random::TABLE,
    reduction::TABLE,
    shape::TABLE,
    sort::TABLE,
];

pub mod attrs;
mod batch_norm;
mod calls;
mod collective;
mod communication;
pub(crate) mod constraints;
mod contraction;
mod control_flow;
mod convolution;
mod dim_lists;
mod dynamic;
mod elementwise;
mod ffi;
mod float;
mod fold;
mod gather_scatter;
mod linear_algebra;
mod matrix;
pub mod params;
mod random;
mod reducer;
mod reduction;
mod shape;
mod sort;
mod window;
