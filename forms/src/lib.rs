// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The forms that StableHLO modules come and go in.
//!
//! [`read_module`] tells them apart by itself; what is written is asked for.

pub mod bools;
mod bytecode;
mod exported;
mod ffi;
mod hooks;
mod ir;
mod locations;
mod nesting;
mod read;
mod sdy;
pub mod source;
mod stablehlo;
pub mod vhlo;
mod wire;
mod write;

pub use ffi::{print, print_to};
pub use ir::OwnedModule;
pub use read::{Error, diagnosed, is_converted, is_parsed, parse, read_module, read_source, text_of};
pub use source::Source;
pub use vhlo::{InvalidVersion, Version};
pub use wire::{BYTECODE_VERSION, bytecode, bytecode_to, register_dialects};
pub use write::{vhlo_text, write_portable_artifact, write_portable_artifact_to};
