// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Passes in Rust, run by MLIR's pass manager.
//!
//! A pass is a struct with its options as fields ([`pass_options!`](crate::pass_options)) and an implementation of
//! [`Pass`]; [`PassInfo::of`] turns it into data, and [`register`] hands that to MLIR. In C++ there is one class,
//! `RustPass`, which carries any of them.

mod diagnostics;
mod ffi;
mod options;
mod pass;
mod statistics;

pub(crate) use ffi::{apply_greedily, changes, fingerprint};
pub use ffi::{register, register_pipeline};
pub use options::{Bytes, OptionInfo, OptionValue, Options};
pub(crate) use pass::panic_message;
pub use pass::{Anchor, Changed, Pass, PassContext, PassError, PassInfo, PassResult, Pipeline, PipelineInfo};
pub use statistics::{Statistic, report as statistics_report, total as statistic_total};
