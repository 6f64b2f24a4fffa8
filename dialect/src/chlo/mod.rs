// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The `chlo` dialect.

use crate::rules::Table;

/// Rule tables of this dialect, one per family of ops.
pub const TABLES: &[Table] = &[];
