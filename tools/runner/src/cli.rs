// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The command line of `slimhlo-run`, of which completions and manual pages are made, too.

use std::path::PathBuf;

use clap::Parser;

use crate::RunOptions;

/// Run a program that `slimhlo compile` has compiled, on an NVIDIA GPU
#[derive(Parser)]
#[command(
    name = "slimhlo-run",
    version,
    after_help = "Examples:
  slimhlo-run package/                                     with random arguments
  slimhlo-run package/ --input x.npy y.npy --output-dir out
  slimhlo-run package/ --bench 100                         medians, and the bandwidth of each kernel

Exit status: 0 it ran, 1 it did not, 2 wrong usage."
)]
pub struct Cli {
    /// The folder that `slimhlo compile` wrote
    pub package: PathBuf,

    /// How.
    #[command(flatten)]
    pub options: RunOptions,

    /// Print the buffer plan and stop; needs no GPU
    #[arg(long)]
    pub plan: bool,

    /// The GPU, in the driver's order (CUDA_VISIBLE_DEVICES chooses)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: usize,
}
