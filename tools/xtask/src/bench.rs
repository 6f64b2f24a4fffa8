// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! `cargo xtask bench`: measurements, in release mode.

use anyhow::{Result, ensure};
use clap::ValueEnum;

use crate::setup;
use crate::shell::Shell;
use crate::test::CORPUS;

/// What to measure.
#[derive(clap::Args)]
pub struct Args {
    /// Benchmarks to run; all when none is named
    #[arg(value_enum)]
    benchmarks: Vec<Benchmark>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Benchmark {
    /// Parse, verify and print large modules, against jaxlib
    Parse,
}

/// Builds in release mode and prints the table of each benchmark.
pub fn main(shell: &Shell, args: &Args) -> Result<()> {
    setup::ensure(shell, true)?;
    shell.show(&shell.cargo(["build", "--release", "--package=slimhlo-opt"]))?;
    let all = Benchmark::value_variants();
    for benchmark in if args.benchmarks.is_empty() { all } else { &args.benchmarks } {
        let script = match benchmark {
            Benchmark::Parse => "test/oracle/bench_parse.py",
        };
        ensure!(shell.root.join(script).is_file(), "{script} is missing");
        let driver = shell.target.join("release/slimhlo-opt").to_string_lossy().into_owned();
        let corpus = shell.target.join(CORPUS).to_string_lossy().into_owned();
        // Its modules are made of the corpora's; this does nothing where they are current.
        shell
            .must("corpus", &shell.command(setup::python(shell), ["-u", "test/oracle/corpus.py", &corpus]))?;
        let args = ["-u", script, "--opt", &driver, "--corpus", &corpus];
        shell.show(&shell.command(setup::python(shell), args))?;
    }
    Ok(())
}
