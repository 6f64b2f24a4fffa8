// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The `sdy` dialect.

use crate::rules::Table;

/// Rule tables of this dialect, one per family of ops.
pub const TABLES: &[Table] = &[];

pub mod params;
mod pending;
