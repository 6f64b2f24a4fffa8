// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo`: the command for people. `slimhlo optimize` makes a StableHLO module need less memory, `slimhlo report`
//! shows where its memory goes.

mod diagnostics;
mod ffi;
mod html;
mod json;
mod module;
mod optimize;
mod output;
mod pipeline;
mod profile;
mod progress;
mod report;
mod source;
mod text;

use clap::{Parser, Subcommand};
use console::style;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// The exit status when a result is larger than --memory-limit.
const DOES_NOT_FIT: u8 = 3;

const EXIT_STATUS: &str = "Exit status:
  0  all is well
  1  the module is not valid, a pass failed, or a file cannot be read or written
  2  wrong usage
  3  the result needs more memory than --memory-limit (it is written nevertheless)";

/// StableHLO programs that fit in memory
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  slimhlo optimize step.mlir -o small.mlir    rewrite a module, and say what was saved
  slimhlo report step.mlir                    where its memory goes, by line of source
  slimhlo report step.mlir --html mem.html    the same as a page with a picture to explore

To get the module of a function that JAX compiles, with the lines it comes from:
  open('step.mlir', 'w').write(jax.jit(step).lower(*arguments).as_text(debug_info=True))

'slimhlo help optimize' and 'slimhlo help report' say more."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Rewrite a module so that it needs less memory
    Optimize(optimize::Args),
    /// Show where the memory of a module goes
    Report(report::Args),
}

impl InputArgs {
    /// The passes as the JSON names them.
    fn pipeline(&self) -> &str {
        self.pass_pipeline.as_deref().unwrap_or(pipeline::DEFAULT)
    }
}

/// What both commands read.
#[derive(clap::Args)]
struct InputArgs {
    /// StableHLO module, text or MLIR bytecode [default: standard input]
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,

    /// Passes to run instead of the default ones, in MLIR's textual form
    #[arg(long, value_name = "PASSES")]
    pass_pipeline: Option<String>,

    /// Read ops of dialects that are not known here
    #[arg(long)]
    allow_unregistered_dialect: bool,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Optimize(args) => optimize::main(&args),
        Command::Report(args) => report::main(&args),
    };
    outcome.unwrap_or_else(|error| {
        // Whoever reads the output has seen enough of it.
        let closed = |cause: &(dyn std::error::Error + 'static)| {
            cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        };
        if !error.is::<module::Diagnosed>() && !error.chain().any(closed) {
            eprintln!("{} {error:#}", style("error:").for_stderr().red().bold());
        }
        ExitCode::FAILURE
    })
}
