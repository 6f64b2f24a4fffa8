// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! `cargo xtask pjrt`: the PJRT layer as users get it, which stands alone.
//!
//! The workspace links MLIR shared, since a plugin of mlir-opt has to; a library that is loaded into a user's
//! process, beside plugins that have an LLVM of their own, had better bring all of it and show none. mlir-sys
//! can do both, by a variable of the environment, so this is a build of its own in a target directory of its
//! own.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use duct::Expression;

use crate::setup;
use crate::shell::Shell;

/// What to build.
#[derive(clap::Args)]
pub struct Args {}

/// Builds the library and says how to use it.
pub fn main(shell: &Shell, _: &Args) -> Result<()> {
    setup::ensure(shell, false)?;
    shell.show(&command(shell))?;
    let library = library(shell);
    ensure!(library.is_file(), "{} is missing", library.display());
    println!(
        "{}\n\nFor TPUs, in the environment of a program that uses JAX (docs/pjrt.md says more):\n\n  \
         TPU_LIBRARY_PATH={}\n  SLIMHLO_PJRT_PLUGIN=<where libtpu.so is>",
        library.display(),
        library.display()
    );
    Ok(())
}

/// What builds it, and what the wheel is made of: one selection, and so one set of features, since cargo would build all that
/// they share once more for the other.
pub fn command(shell: &Shell) -> Expression {
    let folder = shell.target.join("standalone").to_string_lossy().into_owned();
    let packages = ["--package=slimhlo-pjrt", "--package=slimhlo-python"];
    let words = ["build", "--release"].into_iter().chain(packages).chain(["--target-dir", &folder]);
    alone(shell.cargo(words))
}

/// A command that builds, with MLIR linked statically.
pub fn alone(command: Expression) -> Expression {
    command
        .env("MLIR_SYS_LINK_SHARED", "0")
        // Instead of those in .cargo/config.toml, which name a folder for shared libraries.
        .env("RUSTFLAGS", "")
}

/// Where it is then.
pub fn library(shell: &Shell) -> PathBuf {
    shell.target.join("standalone/release/libslimhlo_pjrt.so")
}
