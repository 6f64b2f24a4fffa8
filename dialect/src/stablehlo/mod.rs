// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The `stablehlo` dialect.

use crate::rules::Table;

/// Rule tables of this dialect, one per family of ops.
pub const TABLES: &[Table] = &[
    // One per line, so that families of ops can be added side by side.
    elementwise::TABLE,
    shape::TABLE,
];

pub mod attrs;
mod ffi;
mod constraints;
mod elementwise;
pub mod params;
mod shape;
