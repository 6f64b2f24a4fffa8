// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The forms that StableHLO modules come and go in.
//!
//! [`read_module`] tells them apart by itself; what is written is asked for.

pub mod bools;
mod ffi;
mod read;
pub mod source;

pub use ffi::print;
pub use read::{Error, parse, read_module};
pub use source::Source;
