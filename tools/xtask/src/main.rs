// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The chores of this repository, each one command of `cargo xtask`.
//!
//! xtask depends on nothing but Rust, since it is what installs the rest on a bare machine.

mod bench;
mod demo;
mod dist;
mod docs;
mod fuzz;
mod pjrt;
mod setup;
mod shell;
mod table;
mod test;
mod wheel;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use shell::Shell;

/// The chores of slimhlo
#[derive(Parser)]
#[command(
    bin_name = "cargo xtask",
    after_help = "Examples:
  cargo xtask setup              install what building and testing need
  cargo xtask demo               see a program rewritten, and its memory before and after
  cargo xtask dist               an archive that runs where LLVM is not installed
  cargo xtask test               everything that CI checks
  cargo xtask test lit docs      two of its steps, and what these need
  cargo xtask fuzz package       50,000 broken packages and inputs for slimhlo-run
  cargo xtask fuzz forms         50,000 broken modules as bytecode and portable artifacts
  cargo xtask bench memory       what the reference programs need under XLA, before and after

Exit status: 0 all is well, 1 something failed, 2 wrong usage, 3 packages are missing that only root can install.

Everything made is below the target directory; delete it to start over."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install the Debian packages and make the Python environment
    Setup(setup::Args),
    /// Rewrite a bundled program and show what changed, in the text and in memory
    Demo(demo::Args),
    /// Make an archive of all programs that needs no LLVM where it is unpacked, and try it
    Dist(dist::Args),
    /// Run the checks and tests, all or those named
    Test(test::Args),
    /// Measure, in release mode
    Bench(bench::Args),
    /// Break inputs in many ways, and see that nothing crashes
    Fuzz(fuzz::Args),
    /// Build libslimhlo_pjrt.so, which optimizes what JAX compiles, so that it stands alone
    Pjrt(pjrt::Args),
    /// Build the Python package
    Wheel(wheel::Args),
    /// Write docs/passes.md and docs/dialects from the sources
    Docs(docs::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match Shell::new().and_then(|shell| run(&shell, cli.command)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{} {error:#}", console::style("error:").for_stderr().red().bold());
            if error.is::<setup::NeedsRoot>() { ExitCode::from(3) } else { ExitCode::FAILURE }
        }
    }
}

fn run(shell: &Shell, command: Command) -> Result<ExitCode> {
    match command {
        Command::Setup(args) => setup::main(shell, &args)?,
        Command::Demo(args) => demo::main(shell, &args)?,
        Command::Dist(args) => dist::main(shell, &args)?,
        Command::Test(args) => return test::main(shell, &args),
        Command::Bench(args) => bench::main(shell, &args)?,
        Command::Fuzz(args) => fuzz::main(shell, &args)?,
        Command::Pjrt(args) => pjrt::main(shell, &args)?,
        Command::Wheel(args) => wheel::main(shell, &args)?,
        Command::Docs(args) => docs::main(shell, &args)?,
    }
    Ok(ExitCode::SUCCESS)
}
