// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The `sdy` dialect.

use crate::rules::Table;

/// Rule tables of this dialect, one per family of ops.
pub const TABLES: &[Table] = &[collectives::TABLE, ops::TABLE, regions::TABLE];

pub mod attrs;
pub mod collectives;
pub mod edges;
pub(crate) mod ffi;
pub mod hooks;
pub mod mesh;
pub mod ops;
pub mod params;
pub mod regions;
pub mod rule;
pub mod sharding;
