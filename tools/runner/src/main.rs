// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Runs a package on an NVIDIA GPU. Needs the NVIDIA driver and nothing else.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use slimhlo_package::Package;
use slimhlo_runner::{RunOptions, cuda::Cuda, plan, run};

/// Run a program that `slimhlo compile` has compiled, on an NVIDIA GPU
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  slimhlo-run package/                                     with random arguments
  slimhlo-run package/ --input x.npy y.npy --output-dir out
  slimhlo-run package/ --bench 100                         medians, and the bandwidth of each kernel

Exit status: 0 it ran, 1 it did not, 2 wrong usage."
)]
struct Cli {
    /// The folder that `slimhlo compile` wrote
    package: PathBuf,

    #[command(flatten)]
    options: RunOptions,

    /// Print the buffer plan and stop; needs no GPU
    #[arg(long)]
    plan: bool,

    /// The GPU, in the driver's order (CUDA_VISIBLE_DEVICES chooses)
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: usize,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match start(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Whoever reads the output has seen enough of it.
            let closed = |cause: &(dyn std::error::Error + 'static)| {
                cause
                    .downcast_ref::<io::Error>()
                    .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
            };
            if !error.chain().any(closed) {
                eprintln!("error: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

fn start(cli: &Cli) -> Result<()> {
    let package = Package::read(&cli.package)?;
    if cli.plan {
        io::stdout().lock().write_all(plan(&package.manifest).as_bytes())?;
        return Ok(());
    }
    let mut device = Cuda::open(cli.device, &package)?;
    run(&package, &mut device, &cli.options, &mut io::stdout().lock())
}
