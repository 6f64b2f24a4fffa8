// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How all build scripts compile C++: one place for the compiler, the language and MLIR's headers.

use std::env;
use std::path::PathBuf;

/// Where LLVM and MLIR are installed.
pub fn prefix() -> PathBuf {
    PathBuf::from(env::var("MLIR_SYS_220_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".into()))
}

/// Whether this is for clippy, which links nothing and has build scripts run once more for it: then C++ need not be compiled.
pub fn is_only_linted() -> bool {
    let wrapper = env::var_os("RUSTC_WORKSPACE_WRAPPER").map(PathBuf::from);
    wrapper.is_some_and(|wrapper| wrapper.file_stem().is_some_and(|name| name == "clippy-driver"))
}

/// A compiler set up as LLVM's own is: without exceptions and run-time type information, which code that shares classes with
/// libMLIR must not have either.
pub fn compiler() -> cc::Build {
    let prefix = prefix();
    let mut build = cc::Build::new();
    build
        .cpp(true)
        // The glue is thin: what there is to debug is Rust.
        .debug(false)
        .compiler(prefix.join("bin/clang++"))
        .std("c++17")
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag("-fvisibility-inlines-hidden")
        .flag("-Wno-unused-parameter")
        .flag("-isystem")
        .flag(prefix.join("include"));
    build
}
