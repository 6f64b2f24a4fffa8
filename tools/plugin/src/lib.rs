// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `libslimhlo.so`: a plugin for any `*-opt` of MLIR 22, and a library for C (`slimhlo-c/Slimhlo.h`) and C++.
//!
//! It links libMLIR shared, so that a process has one MLIR, that of the program which loads it.

use std::ffi::c_char;
use std::panic::catch_unwind;

// Everything the library exports from C++ comes in through these crates.
use slimhlo_dialect as _;

/// See `Slimhlo.h`.
#[unsafe(no_mangle)]
pub extern "C" fn slimhloVersion() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// See `Slimhlo.h`.
#[unsafe(no_mangle)]
pub extern "C" fn slimhloRegisterPasses() {
    // What has been registered until then stays; the rest is reported as unknown where it is asked for.
    let _ = catch_unwind(|| {
        slimhlo_passes::register_all();
        slimhlo_nvptx::register_passes();
    });
}
