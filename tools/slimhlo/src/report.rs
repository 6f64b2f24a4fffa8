// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo report`

use crate::diagnostics::Diagnostics;
use crate::module::{self, Input};
use crate::output::{self, Target};
use crate::plan::{Plan, Refusal};
use crate::progress::Progress;
use crate::{EXIT_STATUS, InputArgs, folder, json, page_plan, plan};
use anyhow::{Context, Result, ensure};
use clap::CommandFactory;
use clap::error::ErrorKind;
use console::{Term, style};
use slimhlo_report::profile::Profile;
use slimhlo_report::{Findings, html, pareto, pipeline, text};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show where the memory of a module goes
///
/// Peak and floor, the memory over the program, and the values alive at the peak with the lines they come from; and what
/// 'slimhlo optimize' would make of it. All of that comes from a model of how XLA assigns buffers, for one device: no
/// program is compiled or run. Then the buffer plan of 'slimhlo compile', which does without XLA.
#[derive(clap::Args)]
#[command(after_help = format!("Examples:
  slimhlo report step.mlir
  slimhlo report step.mlir --html memory.html     a page to hover over and zoom into
  slimhlo report step.mlir --pareto --html memory.html     the page, with the frontier of bytes and time
  slimhlo report step.mlir --json | jq '.program.footprint.peak'
  python lower.py | slimhlo report
  slimhlo report dump/                            a line for each module of a folder, before and after

{EXIT_STATUS}"))]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Write a self-contained page with the memory timeline
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write all of it as JSON to a file, or to standard output in place of the text
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,

    /// How many values to list
    #[arg(long, value_name = "COUNT", default_value_t = 12)]
    top: usize,

    /// List every value of the buffer plan, with its place and when it is taken
    #[arg(long)]
    plan: bool,

    /// Look at the module as it is only, without what optimization would make of it; no buffer plan unless --plan is given
    #[arg(long)]
    as_is: bool,

    /// Look for what else the program could be made into: ten programs or so from the fastest to the smallest, with what was done for
    /// each. In the text as a table, in the JSON as `frontier`, on the page as a picture in which a point can be chosen
    #[arg(long, conflicts_with_all = ["as_is", "pass_pipeline"])]
    pareto: bool,

    /// Print no text, progress or warnings
    #[arg(short, long)]
    quiet: bool,
}

/// `slimhlo report`
pub fn main(args: &Args) -> Result<ExitCode> {
    let page = args.html.as_deref().map(|path| Target::new(Some(path)));
    let json = args.json.as_deref().map(|path| Target::new(Some(path)));
    if page.is_some() && page == json {
        crate::Cli::command()
            .error(ErrorKind::ArgumentConflict, "page and JSON would go to the same place")
            .exit();
    }
    page.iter().chain(&json).try_for_each(output::check)?;
    if let Some(folder) = args.input.input.as_deref().filter(|path| path.is_dir()) {
        let one = page.is_some() || args.plan || args.pareto;
        ensure!(!one, "--html, --plan and --pareto are for one module, and {} is a folder", folder.display());
        return folder::report(folder, &args.input, json.as_ref(), args.quiet);
    }
    let mut input = Input::open(args.input.input.as_deref())?;

    let progress = Progress::new(args.quiet);
    progress.say("reading");
    let context = module::context(args.input.allow_unregistered_dialect);
    let diagnostics = Diagnostics::attach(&context);
    let module = input.parse(&context, &diagnostics, args.quiet)?;
    input.release();

    progress.say("looking at its memory");
    let passes = args.input.pass_pipeline.as_deref();
    let options = args.input.options();
    let before = Profile::of(module.as_operation(), options.target)
        .map_err(anyhow::Error::new)
        .with_context(|| format!("the memory of {} cannot be modelled", input.name()));
    let plan = (before.is_ok() && (args.plan || !args.as_is)).then(|| {
        progress.say("planning buffers");
        Plan::of(&context, &module, &diagnostics)
    });
    let outcome = before.and_then(|before| {
        let frontier = match args.pareto {
            true => pareto::frontier(&context, &module, &options, &before, &progress).context("--pareto")?,
            false => Vec::new(),
        };
        let (runs, after) = if args.as_is {
            (vec![], None)
        } else {
            pipeline::run(&context, &module, passes, &options, Some(before.clone()), &progress)?
        };
        Ok((before, runs, after, frontier))
    });
    progress.finish();
    diagnostics.print(input.text(), args.quiet);
    let (before, runs, after, frontier) = outcome?;

    let plan = plan.as_ref();
    let (input, after) = (input.name(), after.as_ref());
    let findings = Findings { input, before: &before, after, runs: &runs, frontier: &frontier };
    if let Some(page) = &page {
        output::write(page, html::page(&findings, &page_plan::section(plan)?)?.as_bytes())?;
    }
    if let Some(json) = &json {
        output::write(
            json,
            &json::print(&json::Report {
                version: json::VERSION,
                input: findings.input.clone(),
                program: (&before).into(),
                optimized: after.map(|after| json::Optimized {
                    pipeline: args.input.pipeline(),
                    passes: &runs,
                    program: after.into(),
                }),
                plan: plan.and_then(|plan| plan.as_ref().ok()).map(Into::into),
                no_plan: plan.and_then(|plan| plan.as_ref().err()),
                frontier: args.pareto.then(|| pareto::summaries(findings.frontier)),
            })?,
        )?;
    }
    let stdout_taken = page.iter().chain(&json).any(|target| *target == Target::Stdout);
    if !args.quiet && !stdout_taken {
        output::write(&Target::Stdout, print(&findings, plan, args.top, args.plan).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(
    findings: &Findings<'_>,
    plan: Option<&Result<Plan, Refusal>>,
    most: usize,
    whole_plan: bool,
) -> String {
    let width = usize::from(Term::stdout().size_checked().map_or(100, |(_, columns)| columns)).clamp(40, 120);
    let mut text = text::report(findings, most, width, &|heading| style(heading).bold().to_string());
    let mut add = |heading: &str, part: String| {
        let _ = write!(text, "\n{}\n{part}", style(heading).bold());
    };
    if !findings.frontier.is_empty() {
        add("What it could be made into", pareto::table(findings.frontier));
    }
    match plan {
        Some(Ok(plan)) => {
            add("Buffer plan for a GPU, by slimhlo compile", plan::section(plan, most, whole_plan));
        }
        Some(Err(refusal)) => {
            add("Buffer plan for a GPU", format!("  none: {}\n", plan::refusal(refusal)));
        }
        None => {}
    }
    text
}
