// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The buffer plan of `slimhlo compile`: as a table, and for `slimhlo report`.

use crate::diagnostics::Diagnostics;
use crate::lower;
use melior::Context;
use melior::ir::Module;
use serde::Serialize;
use slimhlo_package::{Buffer, Manifest, Slot, Step};
use slimhlo_passes::rewrite::copy_of;
use slimhlo_report::source::Source;
use slimhlo_report::text;
use slimhlo_runner::Planned;
use std::collections::HashMap;
use std::fmt::Write;

/// Why a module has no plan.
#[derive(Clone, Debug, Serialize)]
pub struct Refusal {
    /// What is in the way, with the op's name.
    pub reason: String,
    /// Where that is.
    pub source: Option<Source>,
}

/// Where every value of a compiled program lies, and when.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program; its kernels have no code yet.
    manifest: Manifest,
    /// The schedule as a list: a step before those inside of it.
    pub steps: Vec<Scheduled>,
}

/// A step of the schedule.
#[derive(Clone, Debug, Serialize)]
pub struct Scheduled {
    /// `launch`, `copy`, `while`, `repeat` or `case`.
    #[serde(rename = "do")]
    pub action: &'static str,
    /// The kernel that is launched.
    pub kernel: Option<String>,
    /// Where that comes from.
    pub source: Option<String>,
}

impl Scheduled {
    /// For people.
    pub fn name(&self) -> &str {
        self.kernel.as_deref().unwrap_or(self.action)
    }
}

/// Memory that is taken from one step to another by one value, or by several that are each other's updates or copies.
#[derive(Debug)]
pub struct Place<'a> {
    /// Where.
    pub slot: Slot,
    /// How much.
    pub bytes: u64,
    /// The first and the last step; nothing if always.
    pub steps: Option<(u64, u64)>,
    /// The values that lie there, in the order in which they are made; at least one.
    pub values: Vec<&'a Buffer>,
}

impl Plan {
    /// What `slimhlo compile` would plan for a module, which stays as it is. What is diagnosed on the way is not printed.
    pub fn of(context: &Context, module: &Module<'_>, diagnostics: &Diagnostics) -> Result<Self, Refusal> {
        let plain = |reason: String| Refusal { reason, source: None };
        let copy = Module::from_operation(copy_of(module.as_operation()))
            .ok_or_else(|| plain("it is not a module".into()))?;
        let (planned, error) = diagnostics.during(|| lower::plan(context, &copy));
        match planned {
            Ok(true) => {}
            Ok(false) => {
                let (reason, source) = error.unwrap_or_else(|| ("it cannot be compiled".into(), None));
                return Err(Refusal { reason, source });
            }
            Err(error) => return Err(plain(format!("{error:#}"))),
        }
        let (manifest, _) =
            lower::manifest(&copy, String::new(), "").map_err(|error| plain(format!("{error:#}")))?;
        let sources = manifest
            .kernels
            .iter()
            .map(|kernel| (kernel.name.as_str(), kernel.location.as_deref()))
            .collect();
        let mut steps = Vec::new();
        schedule(&sources, &manifest.steps, &mut steps);
        Ok(Self { manifest, steps })
    }

    /// The totals.
    pub fn planned(&self) -> Planned {
        Planned::of(&self.manifest)
    }

    /// Arguments and results that do not lie in arguments.
    pub fn floor(&self) -> u64 {
        let planned = self.planned();
        planned.arguments.saturating_add(planned.results)
    }

    /// All values.
    pub fn values(&self) -> &[Buffer] {
        &self.manifest.buffers
    }

    /// The bytes of each argument, and of each result: 0 for those that lie in arguments.
    pub fn signature(&self) -> (Vec<u64>, Vec<u64>) {
        let own = |result: &slimhlo_package::Output| if result.argument.is_none() { result.bytes } else { 0 };
        (
            self.manifest.arguments.iter().map(|argument| argument.bytes).collect(),
            self.manifest.results.iter().map(own).collect(),
        )
    }

    /// Memory that is taken, in the order of slots and then of time.
    pub fn places(&self) -> Vec<Place<'_>> {
        let live = |value: &Buffer| value.live.map(|live| (live.from, live.to));
        let mut values: Vec<_> = self.manifest.buffers.iter().filter(|value| value.bytes > 0).collect();
        values.sort_by_key(|value| (value.slot, live(value), std::cmp::Reverse(value.bytes)));
        let mut places: Vec<Place<'_>> = Vec::new();
        for value in values {
            // Values of other lengths may be in between.
            let same = places
                .iter_mut()
                .rev()
                .take_while(|place| place.slot == value.slot)
                .find(|place| place.bytes == value.bytes);
            if let Some(place) = same
                && meet(place.steps, live(value))
            {
                place.steps = place.steps.zip(live(value)).map(|((from, to), (_, end))| (from, to.max(end)));
                place.values.push(value);
            } else {
                let values = vec![value];
                places.push(Place { slot: value.slot, bytes: value.bytes, steps: live(value), values });
            }
        }
        places
    }

    /// Memory that is taken by anything but arguments, the largest first.
    pub fn largest(&self) -> Vec<Place<'_>> {
        let mut places = self.places();
        places.retain(|place| !matches!(place.slot, Slot::Argument(_)));
        places.sort_by_key(|place| std::cmp::Reverse(place.bytes));
        places
    }
}

/// Whether what is there at the second time follows on what is there at the first.
fn meet(first: Option<(u64, u64)>, second: Option<(u64, u64)>) -> bool {
    match (first, second) {
        (Some((_, end)), Some((start, _))) => start <= end,
        (None, None) => true,
        _ => false,
    }
}

fn schedule(sources: &HashMap<&str, Option<&str>>, steps: &[Step], all: &mut Vec<Scheduled>) {
    for step in steps {
        let (action, kernel) = match step {
            Step::Launch { kernel, .. } => ("launch", Some(kernel.clone())),
            Step::Copy { .. } => ("copy", None),
            Step::While { .. } => ("while", None),
            Step::Repeat { .. } => ("repeat", None),
            Step::Case { .. } => ("case", None),
        };
        let source = kernel.as_deref().and_then(|kernel| *sources.get(kernel)?).map(str::to_owned);
        all.push(Scheduled { action, kernel, source });
        step.blocks().for_each(|block| schedule(sources, block, all));
    }
}

/// When memory is taken.
pub fn when(steps: Option<(u64, u64)>) -> String {
    steps.map_or_else(|| "always".into(), |(from, to)| format!("{from} to {to}"))
}

/// Where every value lies.
pub fn table(values: &[Buffer]) -> String {
    let mut rows = vec![["value", "type", "bytes", "place", "steps", "from"].map(str::to_owned).to_vec()];
    for buffer in values {
        rows.push(vec![
            buffer.name.clone(),
            buffer.tensor.as_ref().map(ToString::to_string).unwrap_or_default(),
            buffer.bytes.to_string(),
            buffer.slot.to_string(),
            when(buffer.live.map(|live| (live.from, live.to))),
            buffer.location.clone().unwrap_or_default(),
        ]);
    }
    text::table(&rows, &[2])
}

/// Two lines: all of the memory, and what of it no plan can do without.
pub fn totals(planned: &Planned) -> String {
    let floor = planned.arguments.saturating_add(planned.results);
    let ratio = (floor > 0).then(|| planned.total as f64 / floor as f64);
    format!(
        "  memory  {}\n  floor   {}, ratio {}\n",
        planned.describe(),
        text::bytes(floor),
        text::ratio(ratio)
    )
}

/// The part of the report.
pub fn section(plan: &Plan, most: usize, all: bool) -> String {
    let planned = plan.planned();
    let mut text = totals(&planned);
    if all {
        let _ = write!(text, "\n{}", table(plan.values()));
        return text;
    }
    let largest = plan.largest();
    if largest.is_empty() || most == 0 {
        return text;
    }
    let mut rows =
        vec![["size", "of all", "place", "steps", "value", "type", "from"].map(String::from).to_vec()];
    for place in largest.iter().take(most) {
        let value = place.values[0];
        let more = match place.values.len() {
            1 => String::new(),
            several => format!(" and {} more", several - 1),
        };
        rows.push(vec![
            text::bytes(place.bytes),
            text::share(place.bytes, planned.total),
            place.slot.to_string(),
            when(place.steps),
            format!("{}{more}", text::printable(&value.name)),
            value.tensor.as_ref().map(ToString::to_string).unwrap_or_default(),
            text::printable(value.location.as_deref().unwrap_or_default()),
        ]);
    }
    let _ = write!(text, "\n{}", text::table(&rows, &[0, 1]));
    if largest.len() > most {
        let _ = writeln!(
            text,
            "  and {} smaller ones; --plan lists all",
            text::count((largest.len() - most) as u64)
        );
    }
    text
}

/// What is said where there is no plan.
pub fn refusal(refusal: &Refusal) -> String {
    let place = refusal.source.as_ref().map_or_else(String::new, |source| format!("{source}: "));
    format!("{place}{}", text::printable(&refusal.reason))
}
