// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `libslimhlo_pjrt.so`: a PJRT plugin around another one, for CUDA, TPUs or any other device, that makes the
//! programs which it is given to compile need less memory. docs/pjrt.md is for its users.
//!
//! | file | what it knows |
//! |---|---|
//! | `abi.rs` | PJRT's C interface, as far as the layer touches it |
//! | `inner.rs` | the plugin inside: loading it, and asking what it knows of devices and executables |
//! | `layer.rs` | the table that callers get, and the functions in it that are the layer's own |
//! | `attributes.rs` | what the layer may not state of the plugin |
//! | `decide.rs` | which program is compiled, and which executable kept |
//! | `limits.rs` | what a program may take |
//! | `optimizer.rs`, `mlir.rs` | from a program to a smaller one |
//! | `config.rs`, `summary.rs` | what users say, and what they are told |
//!
//! `unsafe` is in `attributes.rs`, `inner.rs`, `layer.rs` and `mlir.rs`.

pub mod abi;
mod attributes;
mod config;
pub mod decide;
mod inner;
mod layer;
mod limits;
pub mod mlir;
pub mod optimizer;
mod summary;

use abi::Header;

/// The table of the plugin's functions, for whoever loads it: that of the plugin which `SLIMHLO_PJRT_PLUGIN`
/// names at the time of the call, with the layer in it.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the interface's name")]
pub extern "C" fn GetPjrtApi() -> *const Header {
    layer::table(GetPjrtApi)
}
