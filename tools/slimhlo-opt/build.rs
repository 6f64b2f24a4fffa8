// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Compiles the call of MLIR's `MlirOptMain`, which its C API lacks.

mod cxx;

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let source = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("lib/OptMain.cpp");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", source.display());
    if cxx::is_only_linted() {
        return Ok(());
    }
    cxx::compiler()
        .include(env::var("DEP_SLIMHLO_CXX_INCLUDE")?)
        .define("SLIMHLO_VERSION", format!("\"{}\"", env::var("CARGO_PKG_VERSION")?).as_str())
        .file(source)
        .try_compile("slimhlo_opt_cxx")?;
    Ok(())
}
