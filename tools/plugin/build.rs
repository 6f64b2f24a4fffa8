// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Compiles the plugin's entry points and has the linker export what rustc would hide.

mod cxx;

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    for watched in ["build.rs", "include", "lib", "exports.map"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    if cxx::is_only_linted() {
        return Ok(());
    }
    cxx::compiler()
        .include(root.join("include"))
        .include(env::var("DEP_SLIMHLO_CXX_INCLUDE")?)
        .include(env::var("DEP_SLIMHLO_CXX_GENERATED_INCLUDE")?)
        .file(root.join("lib/Plugin.cpp"))
        .link_lib_modifier("+whole-archive")
        .try_compile("slimhlo_plugin_cxx")?;

    // rustc exports Rust's own C functions only. The second version script adds the C++ ones to that list.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={}", root.join("exports.map").display());
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libslimhlo.so");
    Ok(())
}
