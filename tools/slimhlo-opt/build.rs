// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Compiles the call of MLIR's `MlirOptMain`, which its C API lacks.

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let prefix = PathBuf::from(env::var("MLIR_SYS_220_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".into()));
    let source = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("lib/OptMain.cpp");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", source.display());
    cc::Build::new()
        .cpp(true)
        // The glue is thin, and debug information of MLIR's headers doubles the time it takes to compile.
        .debug(false)
        .compiler(prefix.join("bin/clang++"))
        .std("c++17")
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag("-fvisibility-inlines-hidden")
        .flag("-Wno-unused-parameter")
        .flag("-isystem")
        .flag(prefix.join("include"))
        .include(env::var("DEP_SLIMHLO_CXX_INCLUDE")?)
        .define("SLIMHLO_VERSION", format!("\"{}\"", env::var("CARGO_PKG_VERSION")?).as_str())
        .file(source)
        .try_compile("slimhlo_opt_cxx")?;
    Ok(())
}
