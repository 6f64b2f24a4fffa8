// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! `cargo xtask fuzz`: more of what the tests take a sample of.

use anyhow::Result;
use clap::ValueEnum;

use crate::shell::Shell;

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
}

/// Runs the mutants; fails at the first that is neither an error nor right.
pub fn main(shell: &Shell, args: &Args) -> Result<()> {
    let arguments = match args.target {
        Target::Package => ["test", "--package=slimhlo-runner", "--test=fuzz", "--", "--nocapture"],
    };
    let command = shell
        .cargo(arguments)
        .env("SLIMHLO_FUZZ_COUNT", args.count.to_string())
        .env("SLIMHLO_FUZZ_SEED", args.seed.to_string());
    shell.show(&command)
}
