// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! VHLO: StableHLO with a version on every op, attribute and type, as portable artifacts carry it.

mod attributes;
pub mod codec;
pub mod from;
pub mod kinds;
pub mod ops;
mod rules;
pub mod text;
pub mod to;
pub mod types;
mod version;

pub use version::{InvalidVersion, Version};
