// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo`: the command for people. `slimhlo optimize` makes a StableHLO module need less memory, `slimhlo report`
//! shows where its memory goes, `slimhlo compile` makes a program for an NVIDIA GPU of it, `slimhlo run` runs that.

mod allocator;
mod compile;
mod diagnostics;
mod ffi;
mod folder;
mod guarded;
mod json;
mod lower;
mod manual;
mod module;
mod optimize;
mod output;
mod page_plan;
mod plan;
mod progress;
mod report;
mod run;

use clap::{Parser, Subcommand};
use console::style;
use slimhlo_passes::cost::Limit;
use slimhlo_passes::framework::OptionValue;
use slimhlo_passes::optimize::{Optimize, Without};
use slimhlo_passes::target::Target as BackEnd;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

/// MLIR's memory as much as ours; see the one of `slimhlo-opt`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
  slimhlo compile step.mlir -o step           make a package for an NVIDIA GPU
  slimhlo run step --bench 100                run it there, and say how fast it is
  slimhlo run step.mlir --device cpu          run the same kernels on the CPU

To get the module of a function that JAX compiles, with the lines it comes from:
  open('step.mlir', 'w').write(jax.jit(step).lower(*arguments).as_text(debug_info=True))

'slimhlo help COMMAND' says more."
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
    /// Compile a module for an NVIDIA GPU
    Compile(compile::Args),
    /// Run a compiled program, or a module, on an NVIDIA GPU or the CPU
    Run(run::Args),
    /// Print what a shell completes of this command
    Completions(manual::Completions),
    /// Write manual pages and completions, of this command and of slimhlo-run, for a package of them
    #[command(hide = true)]
    Manual(manual::Manual),
}

impl InputArgs {
    /// What the default passes are asked for.
    fn options(&self) -> Optimize {
        let (target, max_slowdown, without) = (self.target, self.max_slowdown, self.without);
        Optimize { target, max_slowdown, without, ..Optimize::default() }
    }

    /// The passes as the JSON names them.
    fn pipeline(&self) -> &str {
        self.pass_pipeline.as_deref().unwrap_or(slimhlo_report::pipeline::DEFAULT)
    }
}

/// What both commands read.
#[derive(clap::Args)]
struct InputArgs {
    /// StableHLO module: text, MLIR bytecode, a portable artifact or a file of jax.export [default: standard input]
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,

    /// Passes to run instead of the default ones, in MLIR's textual form
    #[arg(long, value_name = "PASSES")]
    pass_pipeline: Option<String>,

    /// What compiles the module: a back end, or a chip
    #[arg(long, value_name = "TARGET", default_value = "xla-gpu", value_parser = BackEnd::parse, long_help = format!(
        "What compiles the module, a back end with its usual chip, or a chip: {}", BackEnd::value_name().replace('|', ", ")))]
    target: BackEnd,

    /// How many times the original's time the result may take, by the target's rates [default: 1.25 where temporaries at least
    /// halve, else 1.05]
    #[arg(long, value_name = "TIMES", default_value = "usual", hide_default_value = true, value_parser = Limit::parse)]
    max_slowdown: Limit,

    /// Levers that are left alone, by the passes that pull them: rematerialize,offload say
    #[arg(long, value_name = "PASSES", default_value = "none", hide_default_value = true, value_parser = Without::parse)]
    without: Without,

    /// Read ops of dialects that are not known here
    #[arg(long)]
    allow_unregistered_dialect: bool,
}

/// The stack for the work, in bytes. Passes and MLIR's parser recurse into regions and along operands, and programs of
/// 100,000 ops in one chain exist. Only what is used is ever taken.
const STACK: usize = 1 << 30;

fn main() -> ExitCode {
    match thread::Builder::new().stack_size(STACK).spawn(start) {
        Ok(work) => work.join().unwrap_or(ExitCode::FAILURE),
        // Where memory is limited, most programs need no more than what there is.
        Err(_) => start(),
    }
}

fn start() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Optimize(args) => optimize::main(&args),
        Command::Report(args) => report::main(&args),
        Command::Compile(args) => compile::main(&args),
        Command::Run(args) => run::main(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Manual(args) => manual::manual(&args),
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
