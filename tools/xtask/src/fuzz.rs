// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! `cargo xtask fuzz`: more of what the tests take a sample of.

use anyhow::{Result, ensure};
use clap::ValueEnum;

use crate::shell::Shell;
use crate::{setup, test};

/// What to break, and how often.
#[derive(clap::Args)]
pub struct Args {
    /// What to break
    #[arg(value_enum)]
    target: Target,
    /// How many mutants
    #[arg(long, default_value_t = 50_000)]
    count: u64,
    /// The first mutant's number: the same numbers give the same mutants
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Packages of compiled programs and their inputs: manifests, schedules, .npy files
    Package,
    /// Bytecode and portable artifacts; needs the corpora that `cargo xtask test corpus` writes
    Forms,
}

/// Runs the mutants; fails at the first that is neither an error nor right.
pub fn main(shell: &Shell, args: &Args) -> Result<()> {
    if args.target == Target::Forms {
        return forms(shell, args);
    }
    let arguments = ["test", "--package=slimhlo-runner", "--test=fuzz", "--", "--nocapture"];
    let command = shell
        .cargo(arguments)
        .env("SLIMHLO_FUZZ_COUNT", args.count.to_string())
        .env("SLIMHLO_FUZZ_SEED", args.seed.to_string());
    shell.show(&command)
}

fn forms(shell: &Shell, args: &Args) -> Result<()> {
    let corpus = shell.target.join(test::CORPUS);
    ensure!(corpus.is_dir(), "there are no corpora; `cargo xtask test corpus` writes them");
    setup::environment(shell)?;
    shell.show(&shell.cargo(["build", "--package=slimhlo-forms"]))?;
    let converter = shell.target.join("debug/convert-forms");
    let broken = shell.target.join("xtask/fuzz-forms");
    let (count, seed) = (args.count.to_string(), args.seed.to_string());
    let (converter, corpus, broken) =
        (converter.to_string_lossy(), corpus.to_string_lossy(), broken.to_string_lossy());
    let command = shell.command(
        setup::python(shell),
        [
            "-u",
            "test/oracle/fuzz_forms.py",
            "--convert",
            &converter,
            "--corpus",
            &corpus,
            "--count",
            &count,
            "--seed",
            &seed,
            "--keep",
            &broken,
        ],
    );
    shell.show(&command)
}
