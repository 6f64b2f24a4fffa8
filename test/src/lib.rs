// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! Runs the lit tests below `test/` under `cargo test`, one test per file, by litcheck.
//!
//! `cargo test -p slimhlo-test` builds `slimhlo-opt` and the plugin first, so it works in a fresh checkout.
//! A file's name is its test name (`dus-to-pad/chain.mlir`), and the usual filters of `cargo test` select by it.
//!
//! RUN lines call tools by bare name: `slimhlo-opt`, `mlir-opt`, `FileCheck`, `not`, `split-file`. The suite
//! resolves them through one folder of links at the head of `PATH` rather than by rewriting the line, so a tool
//! name inside quotes or behind `not` needs no special case. `FileCheck` is this very executable under another
//! name (see [`filecheck`]): litcheck's own is a separate command which a test crate cannot depend on.

mod filecheck;
mod suite;
mod tools;

use std::env;
use std::path::Path;
use std::process::ExitCode;

/// Entry point of the `lit` test target. Called as `FileCheck`, it is the FileCheck of the RUN lines.
pub fn main() -> ExitCode {
    let name = env::args_os().next().unwrap_or_default();
    if Path::new(&name).file_name().is_some_and(|name| name == tools::FILECHECK) {
        return filecheck::main();
    }
    match suite::run(&libtest_mimic::Arguments::from_args()) {
        Ok(conclusion) => conclusion.exit_code(),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
