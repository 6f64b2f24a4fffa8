// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Compiles the C++ class that carries a Rust pass.

mod cxx;

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    let prefix = cxx::prefix();
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    for watched in ["build.rs", "include", "lib"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    println!("cargo:include={}", root.join("include").display());
    if cxx::is_only_linted() {
        return Ok(());
    }

    let mut build = cxx::compiler();
    build.include(root.join("include")).file(root.join("lib/RustPass.cpp"));
    // Whether mlir::Pass::Statistic has a counter in it depends on this, and must match how libMLIR was built.
    let mode = Command::new(prefix.join("bin/llvm-config")).arg("--assertion-mode").output()?;
    if String::from_utf8_lossy(&mode.stdout).trim() == "OFF" {
        build.define("NDEBUG", None);
    }
    if env::var("PROFILE")? == "release" {
        build.define("SLIMHLO_RELEASE", None);
    }
    build.try_compile("slimhlo_passes_cxx")?;
    Ok(())
}
