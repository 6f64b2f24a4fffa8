// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Compiles the C++ glue, and has the linker bind the library's references to itself.

mod cxx;

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    for watched in ["build.rs", "lib"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    if cxx::is_only_linted() {
        return Ok(());
    }
    cxx::compiler().file(root.join("lib/Dialects.cpp")).try_compile("slimhlo_pjrt_cxx")?;
    // rustc hides all but C functions written in Rust: GetPjrtApi, and the dialects' hooks. Another
    // libslimhlo in the process has such hooks, too, and would be asked instead of ours.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libslimhlo_pjrt.so");
    // Threads of ours may be at work, and JAX never unloads a plugin.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    Ok(())
}
