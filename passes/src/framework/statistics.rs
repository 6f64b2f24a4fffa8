// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Counters of passes (`--mlir-pass-statistics`).
//!
//! MLIR's own counters are compiled out of release builds of LLVM, Debian's among them, and its report is then empty.
//! So the counts are kept here as well, summed over all instances of a pass in the process; where MLIR was asked for a
//! report and cannot give one, it is printed when the process ends.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fmt::Write;
use std::sync::{LazyLock, Mutex, PoisonError};

/// A counter that a pass declares in [`Pass::STATISTICS`](super::Pass::STATISTICS) and raises by
/// [`PassContext::count`](super::PassContext::count).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// Name in the report, such as `num-rewritten`.
    pub name: &'static CStr,
    /// What is counted.
    pub description: &'static CStr,
}

impl Statistic {
    /// Declares a counter.
    pub const fn new(name: &'static CStr, description: &'static CStr) -> Self {
        Self { name, description }
    }
}

/// The counts of one run.
#[derive(Debug)]
pub struct Counts<'a> {
    pub(crate) declared: &'static [Statistic],
    /// Cells, so that all patterns of a run can count.
    pub(crate) values: &'a [Cell<u64>],
}

impl Counts<'_> {
    pub(crate) fn add(&self, statistic: &Statistic, by: u64) {
        let position = self.declared.iter().position(|declared| declared == statistic);
        debug_assert!(position.is_some(), "{:?} is not in the pass's STATISTICS", statistic.name);
        if let Some(value) = position.and_then(|position| self.values.get(position)) {
            value.set(value.get() + by);
        }
    }
}

/// Name of a pass, then of its counter, to what was counted and its description.
type Totals = BTreeMap<&'static str, BTreeMap<&'static CStr, (u64, &'static CStr)>>;

static TOTALS: LazyLock<Mutex<Totals>> = LazyLock::new(Mutex::default);

pub(crate) fn record(pass: &'static str, counts: &Counts<'_>) {
    let mut totals = TOTALS.lock().unwrap_or_else(PoisonError::into_inner);
    let totals = totals.entry(pass).or_default();
    for (statistic, value) in counts.declared.iter().zip(counts.values.iter()) {
        totals.entry(statistic.name).or_insert((0, statistic.description)).0 += value.get();
    }
}

/// What the pass of this name (its struct's) has counted under `statistic` in this process.
pub fn total(pass: &str, statistic: &Statistic) -> u64 {
    let totals = TOTALS.lock().unwrap_or_else(PoisonError::into_inner);
    totals.get(pass).and_then(|counters| counters.get(statistic.name)).map_or(0, |(value, _)| *value)
}

/// The report in the form MLIR gives it (`--mlir-pass-statistics-display=list`); empty if nothing was declared.
pub fn report() -> String {
    let totals = TOTALS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = String::new();
    for (pass, counters) in totals.iter().filter(|(_, counters)| !counters.is_empty()) {
        let _ = writeln!(text, "{pass}");
        let width = counters.keys().map(|name| name.count_bytes()).max().unwrap_or_default();
        for (name, (value, description)) in counters {
            let (name, description) = (name.to_string_lossy(), description.to_string_lossy());
            let _ = writeln!(text, "  (S) {value:>8} {name:<width$} - {description}");
        }
    }
    text
}
