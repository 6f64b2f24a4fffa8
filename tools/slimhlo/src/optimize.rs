// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo optimize`

use crate::allocator::Allocator;
use crate::diagnostics::Diagnostics;
use crate::module::{self, Booleans, Input};
use crate::output::{self, Target};
use crate::progress::Progress;
use crate::{DOES_NOT_FIT, EXIT_STATUS, InputArgs, json};
use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use clap::error::ErrorKind;
use console::style;
use slimhlo_forms::Version;
use slimhlo_passes::Bytes;
use slimhlo_passes::cost::Room;
use slimhlo_passes::optimize::Optimize;
use slimhlo_report::profile::Profile;
use slimhlo_report::{pipeline, text};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Rewrite a module so that it needs less memory
///
/// What is printed about memory comes from a model of how XLA assigns buffers, for one device: no program is compiled or
/// run. The peak is what is alive at the worst moment, the floor what arguments and results take by themselves.
#[derive(clap::Args)]
#[command(after_help = format!("Examples:
  slimhlo optimize step.mlir -o small.mlir
  slimhlo optimize step.mlir -o small.mlir --memory-limit 16GiB
  slimhlo optimize step.mlir -o small.mlir --json | jq .saved
  slimhlo optimize < step.mlir > small.mlir
  slimhlo optimize step.mlir -o small.mlir --pass-pipeline 'canonicalize,func.func(slimhlo-dus-to-pad)'

The summary goes to standard error. Locations are printed if the input has any. The output is written whole or not at all, and may be the input. The default passes are those of slimhlo-opt's --{}.

{EXIT_STATUS}", pipeline::DEFAULT))]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Where the result goes [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write bytecode instead of text
    #[arg(long)]
    emit_bytecode: bool,

    /// Write a StableHLO portable artifact, of the newest version or of that given
    #[arg(long, value_name = "VERSION", num_args = 0..=1, require_equals = true, conflicts_with = "emit_bytecode",
        default_missing_value = "1.17.0")]
    emit_portable_artifact: Option<Version>,

    /// How large constants of booleans are printed
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    boolean_constants: Booleans,

    /// Make the fastest program that needs no more than this, by the target's rates; where there is none, the smallest one,
    /// with what fills it and exit status 3. Bytes, 16GiB say, or a share of the chip's memory, 0.9 say
    #[arg(long, value_name = "BYTES", value_parser = Room::parse)]
    memory_limit: Option<Room>,

    /// Write what was done as JSON to a file, or to standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,

    /// Print no summary, progress or warnings
    #[arg(short, long)]
    quiet: bool,
}

/// How many values are named when the result does not fit.
const NAMED: usize = 10;

/// `slimhlo optimize`
pub fn main(args: &Args) -> Result<ExitCode> {
    let target = Target::new(args.output.as_deref());
    let json = args.json.as_deref().map(|path| Target::new(Some(path)));
    if json.as_ref() == Some(&target) {
        crate::Cli::command()
            .error(
                ErrorKind::ArgumentConflict,
                "module and JSON would go to the same place; give -o FILE, or --json=FILE",
            )
            .exit();
    }
    output::check(&target)?;
    json.iter().try_for_each(output::check)?;
    let limit = args.memory_limit.map(|room| room.bytes(args.input.target)).transpose();
    let limit = limit.map_err(anyhow::Error::msg).context("--memory-limit")?;
    // What JAX is told of a GPU's memory holds for its programs, unless they are given a limit of their own.
    let allocator = Allocator::from_env()?;
    let told =
        allocator.limit(args.input.target).filter(|_| limit.is_none() && args.input.pass_pipeline.is_none());
    let limit = limit.or(told.map(|(bytes, _)| bytes));
    let mut input = Input::open(args.input.input.as_deref())?;

    let progress = Progress::new(args.quiet);
    progress.say("reading");
    let context = module::context(args.input.allow_unregistered_dialect);
    let diagnostics = Diagnostics::attach(&context);
    let module = input.parse(&context, &diagnostics, args.quiet)?;
    let locations = input.has_locations(&module);
    input.release();

    progress.say("looking at its memory");
    let passes = args.input.pass_pipeline.as_deref();
    let options = Optimize { memory_limit: limit.map(Bytes), ..args.input.options() };
    let before = Profile::of(module.as_operation(), options.target);
    let outcome =
        pipeline::run(&context, &module, passes, &options, before.as_ref().ok().cloned(), &progress);
    progress.finish();
    diagnostics.print(input.text(), args.quiet);
    let (runs, after) = outcome?;

    let booleans = args.boolean_constants;
    output::stream(&target, |to| {
        Ok(match args.emit_portable_artifact {
            Some(version) => slimhlo_forms::write_portable_artifact_to(&module, version, to)?,
            None if args.emit_bytecode => module::write_bytecode_to(&module, to),
            None => module::print_to(&module, locations, booleans, to),
        })
    })?;

    let peak = after.as_ref().map(|after| after.footprint.peak);
    let fits = peak.zip(limit).map(|(peak, limit)| peak <= limit);
    if let Some(json) = json {
        output::write(
            &json,
            &json::print(&json::Optimize {
                version: json::VERSION,
                input: input.name(),
                output: args.output.as_deref().unwrap_or(Path::new("-")).display().to_string(),
                pipeline: args.input.pipeline(),
                before: before.as_ref().ok().map(|before| &before.footprint),
                after: after.as_ref().map(|after| &after.footprint),
                saved: before
                    .as_ref()
                    .ok()
                    .zip(peak)
                    .map(|(b, peak)| pipeline::difference(b.footprint.peak, peak)),
                passes: &runs,
                at_peak: after.as_ref().map(Profile::at_peak).unwrap_or_default(),
                memory_limit: limit,
                fits,
            })?,
        )?;
    }
    if !args.quiet {
        match (&before, &after) {
            (Ok(before), Some(after)) => eprintln!("{}", text::footprints(before, Some(after))),
            (Err(why), _) => eprintln!("  no figures of memory: {why}\n"),
            (Ok(_), None) => {}
        }
        eprint!("{}", text::passes(&runs));
        if let Some((bytes, name)) = told {
            eprintln!("  the limit of {} is by {name}", text::bytes(bytes));
        }
        if let Some(advice) =
            after.as_ref().and_then(|after| allocator.advice(&after.footprint, options.target))
        {
            eprintln!("  {advice}");
        }
    }
    match (after, limit, fits) {
        (Some(after), Some(limit), Some(false)) => {
            does_not_fit(&after, limit);
            Ok(ExitCode::from(DOES_NOT_FIT))
        }
        (None, Some(_), _) => bail!("whether the result fits is not known: its memory cannot be modelled"),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn does_not_fit(after: &Profile, limit: u64) {
    let peak = after.footprint.peak;
    eprintln!(
        "\n{} the result needs {}, {} over the limit of {}; alive at its peak{}:\n{}",
        style("does not fit:").for_stderr().red().bold(),
        text::bytes(peak),
        text::bytes(peak - limit),
        text::bytes(limit),
        after.peak_place(),
        text::values(after, NAMED).trim_end(),
    );
}
