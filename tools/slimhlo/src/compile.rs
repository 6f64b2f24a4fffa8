// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo compile`

use crate::diagnostics::Diagnostics;
use crate::lower::Wanted;
use crate::module::{self, Input};
use crate::output::{self, Target};
use crate::{EXIT_STATUS, lower, plan};
use anyhow::{Context as _, Result, anyhow};
use clap::ValueEnum;
use melior::ir::Module;
use slimhlo_nvptx::{Chip, Options, PtxVersion, compile, ptxas};
use slimhlo_package::{Manifest, Package};
use slimhlo_passes::cost::Limit;
use slimhlo_passes::framework::OptionValue as _;
use slimhlo_report::text;
use slimhlo_runner::Planned;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What code is made for, and how.
#[derive(clap::Args)]
pub struct CodeArgs {
    /// The GPU that code is for: sm_70 to sm_120
    #[arg(long, value_name = "CHIP", default_value = "sm_90")]
    pub chip: Chip,

    /// The version of PTX, such as 8.0 [default: the first that knows the chip]
    #[arg(long, value_name = "VERSION")]
    ptx_version: Option<PtxVersion>,

    /// How much LLVM optimises
    #[arg(long, value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: u8,

    /// CUDA's math functions (libdevice.10.bc) [default: looked for under CUDA_HOME and in the Python environment]
    #[arg(long, value_name = "FILE")]
    libdevice: Option<PathBuf>,
}

impl CodeArgs {
    pub fn options(&self) -> Options {
        Options {
            chip: self.chip,
            ptx_version: self.ptx_version,
            opt_level: self.opt_level,
            libdevice: self.libdevice.clone(),
        }
    }
}

/// What a package has, by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The package's manifest: signature, buffer plan and schedule; no code is made
    Manifest,
    /// The schedule and the kernels, before they leave MLIR
    Mlir,
    /// Optimised LLVM IR of the kernels
    Llvm,
    /// The kernels as PTX
    Ptx,
    /// The kernels as machine code; needs NVIDIA's ptxas
    Cubin,
}

/// Compile a module for an NVIDIA GPU
///
/// Kernels are formed so that only what has to be in memory is, buffers are planned to the byte, and code is made by LLVM. The
/// result is a package: a folder with the kernels, the plan and the schedule, for `slimhlo run` and for `slimhlo-run`, which
/// needs nothing but the NVIDIA driver.
#[derive(clap::Args)]
#[command(after_help = format!("Examples:
  slimhlo compile step.mlir -o step                  a package, for sm_90
  slimhlo compile step.mlir -o step --chip sm_80     for an older GPU
  slimhlo compile step.mlir --plan                   only show where every value would be
  slimhlo compile step.mlir --emit ptx               the kernels as text

What is written is written whole or not at all. Nothing is if the module cannot be compiled.

{EXIT_STATUS}"))]
pub struct Args {
    /// StableHLO module, text or MLIR bytecode [default: standard input]
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,

    /// The package's folder; with --emit, a file [default: nothing is written; with --emit, standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// Write code, or the manifest, instead of a package
    #[arg(long, value_name = "FORM")]
    emit: Option<Form>,

    /// Show where every value lies, and when
    #[arg(long)]
    plan: bool,

    /// Put machine code into the package, too; needs NVIDIA's ptxas
    #[arg(long)]
    cubin: bool,

    /// How many times as long the program may take in a form that needs less memory, such as in chunks, by an estimate [default: 2]
    #[arg(long, value_name = "TIMES", value_parser = Limit::parse)]
    max_slowdown: Option<Limit>,

    #[command(flatten)]
    code: CodeArgs,

    /// Print no summary or warnings
    #[arg(short, long)]
    quiet: bool,
}

/// `slimhlo compile`
pub fn main(args: &Args) -> Result<ExitCode> {
    let file = args.emit.map(|_| Target::new(args.output.as_deref()));
    file.iter().try_for_each(output::check)?;
    let input = Input::open(args.input.as_deref())?;
    let context = module::context(false);
    let diagnostics = Diagnostics::attach(&context);
    let module = input.parse(&context, &diagnostics, args.quiet)?;
    let name = program_name(args.input.as_deref());
    let wanted = Wanted { chip: args.code.chip, limit: args.max_slowdown };
    lower::lower(&context, &module, &input, &diagnostics, args.quiet, wanted)?;
    let (manifest, constants) = lower::manifest(&module, name, args.code.chip.name())?;
    let code = |form: Form| code(&module, &args.code.options(), form);
    match (&file, args.emit) {
        (Some(file), Some(Form::Manifest)) => {
            manifest.validate()?;
            output::write(file, serde_json::to_string_pretty(&manifest)?.as_bytes())?;
        }
        (Some(file), Some(form)) => output::write(file, &code(form)?)?,
        _ => {
            let ptx = String::from_utf8(code(Form::Ptx)?)?;
            let cubin = args.cubin.then(|| ptxas::cubin(&ptx, args.code.chip)).transpose()?;
            let package = Package { manifest: manifest.clone(), ptx, cubin, constants };
            match &args.output {
                Some(folder) => {
                    package.write(folder).with_context(|| format!("cannot write {}", folder.display()))?;
                }
                None => manifest.validate()?,
            }
        }
    }
    if !args.quiet {
        if args.plan {
            eprintln!("{}", plan::table(&manifest.buffers));
        }
        eprint!("{}", summary(&manifest));
    }
    Ok(ExitCode::SUCCESS)
}

/// What the package is called: the file's name without its ending.
pub fn program_name(path: Option<&Path>) -> String {
    let stem = path.and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| stem != "-").unwrap_or_default()
}

fn code(module: &Module<'_>, options: &Options, form: Form) -> Result<Vec<u8>> {
    if form == Form::Mlir {
        return Ok(module::print(module, false, module::Booleans::default()));
    }
    let compiled = compile(module.as_operation(), options, form == Form::Llvm)?;
    match form {
        Form::Llvm => Ok(compiled.llvm_ir.context("LLVM has no text")?.into_bytes()),
        Form::Cubin => ptxas::cubin(&compiled.ptx, options.chip).map_err(|error| anyhow!(error)),
        Form::Ptx | Form::Mlir | Form::Manifest => Ok(compiled.ptx.into_bytes()),
    }
}

/// The kernels, and what memory is planned.
fn summary(manifest: &Manifest) -> String {
    let mut rows = vec![["kernel", "launches", "moves", "from"].map(str::to_owned).to_vec()];
    for kernel in &manifest.kernels {
        let launches: Vec<_> =
            kernel.functions.iter().map(|function| format!("{}x{}", function.grid, function.block)).collect();
        rows.push(vec![
            kernel.name.clone(),
            launches.join(" + "),
            text::bytes(kernel.traffic()),
            kernel.location.clone().unwrap_or_default(),
        ]);
    }
    format!("{}\n{}", text::table(&rows, &[2]), plan::totals(&Planned::of(manifest)))
}
