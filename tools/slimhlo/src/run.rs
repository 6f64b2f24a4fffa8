// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo run`

use crate::compile::{CodeArgs, program_name};
use crate::diagnostics::Diagnostics;
use crate::guarded::Order;
use crate::lower::Wanted;
use crate::module::{self, Input};
use crate::{EXIT_STATUS, ffi, lower};
use anyhow::{Result, bail};
use clap::ValueEnum;
use slimhlo_nvptx::host::Kernels;
use slimhlo_package::Package;
use slimhlo_runner::cuda::Cuda;
use slimhlo_runner::{Policy, RunOptions, run};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// What runs the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Place {
    /// The CPU: the very same kernels, a block of one thread at a time. Needs the module
    Cpu,
    /// An NVIDIA GPU
    Cuda,
}

/// Run a compiled program, or a module, on an NVIDIA GPU or the CPU
///
/// A module is compiled first. On the CPU the same kernels run as on a GPU, which shows what they compute, not how fast.
#[derive(clap::Args)]
#[command(after_help = format!("Examples:
  slimhlo run step --input x.npy --input y.npy --output-dir out
  slimhlo run step --bench 100                   medians, and the bandwidth of each kernel
  slimhlo run step.mlir --device cpu             without a GPU, random arguments

{EXIT_STATUS}"))]
pub struct Args {
    /// A package's folder, or a StableHLO module [default: a module from standard input]
    #[arg(value_name = "INPUT")]
    program: Option<PathBuf>,

    /// What runs it [default: cuda for a package, cpu for a module]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Place>,

    /// The GPU, in the driver's order (CUDA_VISIBLE_DEVICES chooses)
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpu: usize,

    /// Threads of a block on the CPU, a power of two. More than one take turns from barrier to barrier, in ever
    /// other orders: slow, and a test of what threads of a GPU do together
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = block_threads)]
    block_threads: u64,

    /// On the CPU, end each buffer where memory ends that may be touched, so that a kernel that reads or writes beyond it dies of a
    /// segmentation fault: a test of kernels
    #[arg(long)]
    guard: bool,

    /// With --guard, the order of the blocks, of which a GPU promises none
    #[arg(long, value_name = "ORDER", default_value = "forward", requires = "guard")]
    block_order: Order,

    #[command(flatten)]
    code: CodeArgs,

    #[command(flatten)]
    options: RunOptions,
}

/// How much the CPU's code is optimised unless told otherwise: enough, and quickly made.
const CPU_LEVEL: u8 = 1;

fn block_threads(text: &str) -> Result<u64, String> {
    let count = text.parse().ok().filter(|count: &u64| count.is_power_of_two() && *count <= 1024);
    count.ok_or_else(|| "must be a power of two up to 1024".into())
}

/// `slimhlo run`
pub fn main(args: &Args) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    let gpu = |package: &Package| Cuda::open(args.gpu, package, Policy::from_environment()?);
    if let Some(folder) = args.program.as_deref().filter(|path| path.is_dir()) {
        if args.device == Some(Place::Cpu) {
            bail!(
                "{} is a package, which holds code for a GPU only; the CPU needs the module",
                folder.display()
            );
        }
        let package = Package::read(folder)?;
        run(&package, &mut gpu(&package)?, &args.options, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let input = Input::open(args.program.as_deref())?;
    let context = module::context(false);
    let diagnostics = Diagnostics::attach(&context);
    let module = input.parse(&context, &diagnostics, true)?;
    let wanted = Wanted { chip: args.code.chip, limit: None };
    lower::lower(&context, &module, &input, &diagnostics, true, wanted)?;
    let name = program_name(args.program.as_deref());
    let (manifest, constants) = lower::manifest(&module, name, args.code.chip.name())?;
    let mut package = Package { manifest, ptx: String::new(), cubin: None, constants };
    match args.device.unwrap_or(Place::Cpu) {
        Place::Cpu => {
            let level = args.code.options().opt_level.min(CPU_LEVEL);
            // The process ends with the run.
            let kernels =
                Box::leak(Box::new(Kernels::new(module.as_operation(), level, args.block_threads)?));
            if args.guard {
                run(&package, &mut ffi::guarded_cpu(kernels, args.block_order), &args.options, &mut out)?;
            } else {
                run(&package, &mut ffi::cpu(kernels), &args.options, &mut out)?;
            }
        }
        Place::Cuda => {
            package.ptx = slimhlo_nvptx::compile(module.as_operation(), &args.code.options(), false)?.ptx;
            run(&package, &mut gpu(&package)?, &args.options, &mut out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
