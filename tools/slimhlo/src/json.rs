// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What `--json` prints. docs/slimhlo.md describes it; `version` grows when a field goes away or changes its meaning.

use crate::plan::{Plan, Refusal, Scheduled};
use anyhow::Result;
use serde::Serialize;
use slimhlo_report::pareto::Summary as Point;
use slimhlo_report::pipeline::PassRun;
use slimhlo_report::profile::{Footprint, Profile, Value};
use slimhlo_report::source::Source;

/// The version of both forms.
pub const VERSION: u32 = 1;

/// `slimhlo optimize --json`
#[derive(Serialize)]
pub struct Optimize<'a> {
    /// [`VERSION`]
    pub version: u32,
    /// The module's file, or `-`.
    pub input: String,
    /// Where the result went, or `-`.
    pub output: String,
    /// The passes as they were asked for.
    pub pipeline: &'a str,
    /// The module as it was; nothing if it is beyond the model.
    pub before: Option<&'a Footprint>,
    /// The result.
    pub after: Option<&'a Footprint>,
    /// What came off the peak, in bytes; negative if it grew.
    pub saved: Option<i64>,
    /// What each pass did, in order.
    pub passes: &'a [PassRun],
    /// Of the result, the values alive at its peak, the largest first.
    pub at_peak: Vec<&'a Value>,
    /// What --memory-limit says, in bytes.
    pub memory_limit: Option<u64>,
    /// Whether the result's peak is within it.
    pub fits: Option<bool>,
}

/// `slimhlo report --json`
#[derive(Serialize)]
pub struct Report<'a> {
    /// [`VERSION`]
    pub version: u32,
    /// The module's file, or `-`.
    pub input: String,
    /// The module as it is.
    pub program: Program<'a>,
    /// The module after the passes, unless they were not asked for.
    pub optimized: Option<Optimized<'a>>,
    /// What `slimhlo compile` plans; nothing if it was not asked for, or cannot compile the module.
    pub plan: Option<Planned<'a>>,
    /// Why there is no plan, if the module is in the way.
    pub no_plan: Option<&'a Refusal>,
    /// With `--pareto`: what it could be made into, from the fastest to the smallest.
    pub frontier: Option<Vec<Point<'a>>>,
}

/// A buffer plan.
#[derive(Serialize)]
pub struct Planned<'a> {
    /// Bytes of arguments, results that do not lie in arguments, arena and constants, and their sum.
    pub planned: slimhlo_runner::Planned,
    /// Arguments and results.
    pub floor: u64,
    /// The sum over the floor; nothing if that is 0.
    pub ratio: Option<f64>,
    /// The schedule: a step before those inside of it.
    pub steps: &'a [Scheduled],
    /// Where every value lies, as in a package.
    pub values: &'a [slimhlo_package::Buffer],
}

impl<'a> From<&'a Plan> for Planned<'a> {
    fn from(plan: &'a Plan) -> Self {
        let (planned, floor) = (plan.planned(), plan.floor());
        let ratio = (floor > 0).then(|| planned.total as f64 / floor as f64);
        Self { planned, floor, ratio, steps: &plan.steps, values: plan.values() }
    }
}

/// A module after passes.
#[derive(Serialize)]
pub struct Optimized<'a> {
    /// The passes as they were asked for.
    pub pipeline: &'a str,
    /// What each did, in order.
    pub passes: &'a [PassRun],
    /// What came of it.
    pub program: Program<'a>,
}

/// The memory of a program.
#[derive(Serialize)]
pub struct Program<'a> {
    /// The totals.
    pub footprint: &'a Footprint,
    /// Index of the step with the most bytes alive.
    pub peak_step: usize,
    /// What runs, in order.
    pub steps: Vec<Step<'a>>,
    /// All values that take memory.
    pub values: &'a [Value],
}

/// One kernel.
#[derive(Serialize)]
pub struct Step<'a> {
    /// The op that its result is of.
    pub op: &'a str,
    /// Bytes alive while it runs.
    pub live: u64,
    /// The line it comes from.
    pub source: Option<&'a Source>,
}

impl<'a> From<&'a Profile> for Program<'a> {
    fn from(profile: &'a Profile) -> Self {
        let step = |step: &'a slimhlo_report::profile::Step| Step {
            op: &step.op,
            live: step.live,
            source: step.source.as_deref(),
        };
        Self {
            footprint: &profile.footprint,
            peak_step: profile.peak_step,
            steps: profile.steps.iter().map(step).collect(),
            values: &profile.values,
        }
    }
}

/// One object on one or more lines, ended by a newline.
pub fn print(object: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(object)?;
    text.push(b'\n');
    Ok(text)
}
