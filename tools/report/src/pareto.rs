// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The frontier of bytes and time: what a program can be made into, each point needing less than the one before and
//! taking longer.

use crate::pipeline::{self, PassRun, Progress};
use crate::profile::{Footprint, Profile};
use crate::text;
use anyhow::{Context as _, Result};
use melior::Context;
use melior::ir::Module;
use serde::Serialize;
use slimhlo_passes::Bytes;
use slimhlo_passes::cost::{Cost, Limit};
use slimhlo_passes::functions::functions;
use slimhlo_passes::optimize::Optimize;
use slimhlo_passes::rewrite::{borrowed, copy_of, move_body};

/// How many limits are tried between the program as it came and the smallest.
const BETWEEN: u32 = 8;
/// Within which bounds of time the smallest is looked for.
const BOUNDS: [Limit; 4] = [Limit::Usual, Limit::Times(1.25), Limit::Times(1.5), Limit::Times(2.0)];

/// A program that the module can be made into.
#[derive(Clone, Debug)]
pub struct Point {
    /// The memory limit that it was made for, in bytes; `None` for the program as it came, and for the smallest within a
    /// bound of time.
    pub limit: Option<u64>,
    /// By the target's rates.
    pub seconds: f64,
    /// How many times as long it takes as the program as it came.
    pub times: f64,
    /// What was done, in the pipeline's order.
    pub runs: Vec<PassRun>,
    /// Its memory.
    pub profile: Profile,
}

/// What `--json` says of a point.
#[derive(Serialize)]
pub struct Summary<'a> {
    /// What it needs.
    pub footprint: &'a Footprint,
    /// What it was made for; nothing for the program as it came, and for the smallest within a bound of time.
    pub memory_limit: Option<u64>,
    /// Seconds by the target's rates, and how many times the original's.
    pub seconds: f64,
    /// The latter.
    pub times: f64,
    /// What each pass did.
    pub passes: &'a [PassRun],
}

/// The frontier from the program as it came to the smallest: no point needs more than one before it, nor takes less
/// time.
///
/// Points are made by runs of the pipeline for limits that divide the temporaries between both ends evenly, as ratios,
/// whose time is not bounded, and by runs for the least bytes within each of some [`BOUNDS`] of time: stages are greedy,
/// and what is best for a limit is not always found by aiming at it. The module is left as it came.
///
/// # Errors
/// A pass failed, or the target's rates are not known, so that nothing can be said of time.
pub fn frontier(
    context: &Context,
    module: &Module<'_>,
    options: &Optimize,
    before: &Profile,
    progress: &dyn Progress,
) -> Result<Vec<Point>> {
    options.target.rates().with_context(|| format!("nobody has measured the rates of {}", options.target))?;
    let op = module.as_operation();
    let original = copy_of(op);
    let seconds = |op| -> f64 {
        functions(op).filter_map(|each| Cost::of(each, options.target)).map(|cost| cost.seconds).sum()
    };
    let as_it_came = seconds(op);
    let point = |limit, seconds: f64, runs, profile| {
        let times = if as_it_came > 0.0 { seconds / as_it_came } else { 1.0 };
        Point { limit, seconds, times, runs, profile }
    };
    let came = point(None, as_it_came, Vec::new(), before.clone());
    let made = |limit: Option<u64>, max_slowdown: Limit| -> Result<Option<Point>> {
        let options = Optimize { memory_limit: limit.map(Bytes), max_slowdown, ..options.clone() };
        let (runs, after) = pipeline::run(context, module, None, &options, Some(before.clone()), progress)?;
        let point = after.map(|profile| point(limit, seconds(op), runs, profile));
        move_body(op, copy_of(borrowed(&original)));
        Ok(point)
    };
    let (floor, most) = (before.footprint.floor, before.footprint.temporaries);
    let endless = Limit::Times(f64::INFINITY);
    let Some(smallest) = made(Some(floor), endless)? else { return Ok(vec![came]) };
    let least = smallest.profile.footprint.temporaries;
    let mut points = vec![came, smallest];
    if least < most {
        let step = (least.max(1) as f64 / most as f64).powf(1.0 / f64::from(BETWEEN + 1));
        for number in 1..=BETWEEN {
            let temporaries = most as f64 * step.powi(number as i32);
            points.extend(made(Some(floor.saturating_add(temporaries as u64)), endless)?);
        }
        for bound in BOUNDS {
            points.extend(made(None, bound)?);
        }
    }
    Ok(undominated(points))
}

/// Those of some points, the largest first, of which none both needs as much as another and takes as long.
fn undominated(mut points: Vec<Point>) -> Vec<Point> {
    let peak = |point: &Point| point.profile.footprint.peak;
    points.sort_by(|one, other| one.seconds.total_cmp(&other.seconds).then(peak(one).cmp(&peak(other))));
    let mut least = u64::MAX;
    points.retain(|point| {
        let smaller = peak(point) < least;
        least = least.min(peak(point));
        smaller
    });
    points
}

/// Points for `--json`.
pub fn summaries(points: &[Point]) -> Vec<Summary<'_>> {
    fn summary(point: &Point) -> Summary<'_> {
        Summary {
            footprint: &point.profile.footprint,
            memory_limit: point.limit,
            seconds: point.seconds,
            times: point.times,
            passes: &point.runs,
        }
    }
    points.iter().map(summary).collect()
}

impl Point {
    /// What took bytes off the peak: `chunks 1.20 GiB, values again 300 MiB`.
    pub fn did(&self) -> String {
        if self.runs.is_empty() {
            return "as it came".into();
        }
        let (rows, _) = pipeline::summary(&self.runs);
        let saved = rows.iter().filter_map(|run| {
            let saved = run.saved.filter(|saved| *saved > 0)?;
            Some(format!("{} {}", run.pass, text::signed_bytes(saved)))
        });
        saved.collect::<Vec<_>>().join(", ")
    }
}

/// The frontier as a table for a terminal.
pub fn table(points: &[Point]) -> String {
    let mut rows =
        vec![["peak", "temporaries", "ratio", "time", "what was saved by"].map(String::from).to_vec()];
    rows.extend(points.iter().map(|point| {
        let footprint = &point.profile.footprint;
        vec![
            text::bytes(footprint.peak),
            text::bytes(footprint.temporaries),
            text::ratio(footprint.ratio),
            format!("{:.2}", point.times),
            point.did(),
        ]
    }));
    text::table(&rows, &[0, 1, 2, 3])
}
