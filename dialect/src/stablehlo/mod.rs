// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The `stablehlo` dialect.

use crate::rules::Table;

/// Rule tables of this dialect, one per family of ops.
pub const TABLES: &[Table] = &[
    // One per line, so that families of ops can be added side by side.
    calls::TABLE,
    control_flow::TABLE,
    dynamic::TABLE,
    elementwise::TABLE,
    fold::TABLE,
    shape::TABLE,
];

pub mod attrs;
mod calls;
pub(crate) mod constraints;
mod control_flow;
mod dynamic;
mod elementwise;
mod ffi;
mod float;
mod fold;
pub mod params;
mod shape;
