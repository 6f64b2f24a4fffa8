// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The `chlo` dialect.

use crate::rules::Table;

/// Rule tables of this dialect, one per family of ops.
pub const TABLES: &[Table] =
    &[broadcast::TABLE, elementwise::TABLE, ragged_dot::TABLE, scan::TABLE, top_k::TABLE];

pub mod attrs;
pub mod broadcast;
pub mod elementwise;
pub mod ragged_dot;
pub mod scan;
pub mod top_k;
