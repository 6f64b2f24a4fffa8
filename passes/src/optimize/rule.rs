// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! By what stages are judged: bytes, and within what they may take, time.

use super::stages::Judge;
use crate::cost::{Cost, Limit};
use crate::target::Target;
use std::collections::HashMap;

/// The share of its peak that a function may grow by, all stages together. Those that judge for themselves trade a gathered
/// array, which the partitioner would add later, for a halo in a buffer of its own.
pub(super) const SLACK: u64 = 100;
/// And so many bytes more: scalars and alignment.
const SLACK_BYTES: u64 = 4 << 10;
/// The share of a function's temporaries that is worth time,
const MATTERS: u64 = 8;
/// and so many bytes are in any case.
const MATTERS_BYTES: u64 = 64 << 20;

/// What functions of a module cost, by name.
pub(super) type Costs = HashMap<String, Option<Cost>>;

/// By what stages are judged.
#[derive(Clone, Copy)]
pub(super) struct Rule<'r> {
    pub(super) target: Target,
    pub(super) limit: Limit,
    /// Bytes that a function may need: nobody wants it smaller for its time.
    pub(super) enough: Option<u64>,
    /// What functions cost as they came.
    pub(super) originals: &'r Costs,
}

impl Rule<'_> {
    /// Whether what a stage made of a function is kept.
    pub(super) fn keeps(
        &self,
        judge: Judge,
        function: &str,
        before: Option<&Cost>,
        after: Option<&Cost>,
    ) -> bool {
        let (Some(before), Some(after)) = (before, after) else {
            return !judge.wants_less();
        };
        if judge.wants_less() && self.is_enough(before) {
            return self.is_enough(after) && after.seconds < before.seconds;
        }
        let less_bytes = match judge {
            Judge::Pass | Judge::Unseen | Judge::Partitioner => return true,
            Judge::NotWorse if self.is_faster(before, after) => after.peak() <= with_slack(before.peak()),
            Judge::NotWorse => after.peak() <= before.peak(),
            Judge::Nearly => after.peak() <= with_slack(before.peak()),
            Judge::Paid => after.peak() <= with_slack(before.peak()) && self.has_saved(function, before),
            Judge::Better => after.peak() < before.peak(),
            Judge::Worth if self.target.rates().is_none() || after.seconds <= before.seconds => {
                after.peak() < before.peak()
            }
            Judge::Worth | Judge::Much if self.target.rates().is_some() => {
                after.peak() < before.peak() - before.peak() / SLACK
            }
            Judge::Large => {
                after.peak() <= before.peak().saturating_sub(before.footprint.temporaries / MATTERS)
            }
            Judge::Worth | Judge::Much => {
                let least = (before.footprint.temporaries / MATTERS).clamp(1, MATTERS_BYTES);
                after.peak() <= before.peak().saturating_sub(least)
            }
        };
        less_bytes && self.allows(function, before, after)
    }

    /// Whether a function takes less time, and not just a little.
    fn is_faster(&self, before: &Cost, after: &Cost) -> bool {
        self.target.rates().is_some() && after.seconds < before.seconds * (1.0 - 1.0 / SLACK as f64)
    }

    /// Whether a function needs less than it came with.
    fn has_saved(&self, function: &str, now: &Cost) -> bool {
        let original = self.originals.get(function).and_then(Option::as_ref);
        original.is_some_and(|original| now.peak() < original.peak())
    }

    /// Whether what a function needs is no more than it may.
    fn is_enough(&self, cost: &Cost) -> bool {
        self.enough.is_some_and(|enough| cost.peak() <= enough)
    }

    /// Whether what saves less may do as well: because this is slower than it may be, or small enough.
    pub(super) fn is_too_dear(&self, function: &str, after: &Cost) -> bool {
        self.is_enough(after) || self.is_too_slow(function, after)
    }

    /// Whether one form of a function is better than another: small enough, and then faster; else it needs less, or as good as no more and takes
    /// less time.
    pub(super) fn prefers(&self, one: &Cost, other: &Cost) -> bool {
        match (self.is_enough(one), self.is_enough(other)) {
            (true, true) => one.seconds < other.seconds,
            (false, false) => costs_less(one, other),
            (fits, _) => fits,
        }
    }

    /// Whether a function takes longer than it may whatever it saves.
    fn is_too_slow(&self, function: &str, after: &Cost) -> bool {
        let original = self.originals.get(function).and_then(Option::as_ref);
        original.is_some_and(|original| after.seconds > original.seconds * self.limit.most())
    }

    /// Whether a function may take so long: no longer than it did, or than the limit of the original's time.
    fn allows(&self, function: &str, before: &Cost, after: &Cost) -> bool {
        let original = self.originals.get(function).and_then(Option::as_ref).unwrap_or(before);
        after.seconds <= before.seconds || self.limit.allows(original, after)
    }
}

/// What a function that needed so many bytes may need.
pub(super) fn with_slack(before: u64) -> u64 {
    before.saturating_add(before / SLACK + SLACK_BYTES)
}

/// Whether one form of a function is better than another: it needs less, or as good as no more and takes less time.
fn costs_less(one: &Cost, other: &Cost) -> bool {
    let (least, most) = (one.peak().min(other.peak()), one.peak().max(other.peak()));
    if most <= with_slack(least) { one.seconds < other.seconds } else { one.peak() < other.peak() }
}
