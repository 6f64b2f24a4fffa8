// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Runs a package on an NVIDIA GPU. Needs the NVIDIA driver and nothing else.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use slimhlo_package::Package;
use slimhlo_runner::{Cli, Policy, cuda::Cuda, plan, run};

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
    let policy = Policy::from_environment()?;
    let mut device = Cuda::open(cli.device, &package, policy)?;
    run(&package, &mut device, &cli.options, &mut io::stdout().lock())
}
