// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The stablehlo, chlo and sdy dialects.
//!
//! ODS files under `include/slimhlo` give ops, attributes and types their shape and syntax; everything that decides
//! something about them (validity, result types, folds, effects) is Rust, in the modules below, reached from the
//! generated C++ through the few functions of [`hooks`].

pub mod dense;
pub mod dims;
pub mod ffi;
pub mod first;
pub mod hooks;
pub mod quant;
pub mod rules;
pub mod types;
pub mod view;

pub mod chlo;
pub mod sdy;
pub mod stablehlo;

pub use types::DYNAMIC;
pub use view::{Inferred, OpError, OpView, Verdict};

/// All rule tables, one per family of ops.
fn tables() -> Vec<rules::Table> {
    [stablehlo::TABLES, chlo::TABLES, sdy::TABLES].concat()
}
