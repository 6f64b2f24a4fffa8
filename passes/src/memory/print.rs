// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-print-memory`: what a module needs, and why.

use super::{Kind, Report, Unmodelled, analyze};
use crate::framework::{Anchor, Changed, Pass, PassContext, PassError, PassResult};
use crate::target::Target;
use melior::ir::OperationRef;
use melior::ir::operation::OperationLike;
use std::fmt::Write;
use std::io::Write as _;

crate::pass_options! {
    /// Print the modelled memory of a module.
    ///
    /// Writes to standard error what a fusing compiler needs for the module's `@main` (or its only public function):
    /// bytes of arguments, results, results in donated arguments, and temporaries; their ratio to what no compiler can
    /// do without; and the largest values that are alive when most is, with the source lines they come from. Changes
    /// nothing.
    pub struct PrintMemory {
        /// What compiles the module.
        target: Target = Target::default(),
        /// How many values are listed.
        top: u64 = 10,
        /// How many kernels are listed, those first that take longest.
        kernels: u64 = 0,
        /// Print plain numbers of bytes, for scripts.
        plain: bool = false,
        /// Merge kernels of XLA for GPUs one after the other, as it does: closer for large graphs without products. Passes do not decide by
        /// that.
        by_priority: bool = false,
    }
}

impl Pass for PrintMemory {
    const ARGUMENT: &'static str = "slimhlo-print-memory";
    const ANCHOR: Anchor = Anchor::Module;

    fn run<'c>(&self, root: OperationRef<'c, '_>, _context: &PassContext<'_>) -> PassResult<'c> {
        let target = if self.by_priority { self.target.by_priority() } else { self.target };
        let text = match analyze(root, target) {
            Ok(report) => {
                let most = |count| usize::try_from(count).unwrap_or(usize::MAX);
                show(&report, most(self.top), self.plain) + &show_kernels(&report, most(self.kernels))
            }
            // What no machine has is a mistake; all else is a program that somebody can run.
            Err(reason @ (Unmodelled::TooLarge(..) | Unmodelled::TooMuch(_))) => {
                let location = reason.location().unwrap_or_else(|| root.location());
                return Err(PassError::at_location(location, reason.to_string()));
            }
            Err(reason) => {
                let place = reason.location().and_then(super::source_of);
                let place = place.map_or(String::new(), |place| format!(" ({place})"));
                format!("memory: not modelled: {reason}{place}\n")
            }
        };
        // Nobody may be reading any more; that is no failure of the pass.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        Ok(Changed::No)
    }
}

/// The report in lines for people.
pub(super) fn show(report: &Report<'_>, top: usize, plain: bool) -> String {
    let bytes = |count: u64| if plain { count.to_string() } else { bytes(count) };
    let footprint = &report.footprint;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "memory: peak {} = arguments {} + results {} - aliased {} + temporaries {}",
        bytes(footprint.peak()),
        bytes(footprint.arguments),
        bytes(footprint.results),
        bytes(footprint.aliased),
        bytes(footprint.temporaries),
    );
    let _ = writeln!(text, "  floor {}, ratio {:.3}", bytes(footprint.floor()), footprint.ratio());
    if let Some((seconds, launches)) = report.time {
        let _ = writeln!(text, "  time {:.1} us, {launches} launches", seconds * 1e6);
    }
    if let Some(step) = report.steps.get(report.peak_step) {
        let _ = writeln!(
            text,
            "  most is alive at step {} of {}: {}",
            report.peak_step,
            report.steps.len(),
            step.op
        );
    }
    for buffer in report.at_peak().take(top) {
        let kind = match buffer.kind {
            Kind::Argument => "argument",
            Kind::Result => "result",
            Kind::Temporary => "temporary",
        };
        let _ = write!(
            text,
            "  {:>12} {kind:9} {} {} {}",
            bytes(buffer.bytes),
            buffer.name,
            buffer.op,
            buffer.ty
        );
        if let Some(source) = super::source_of(buffer.location) {
            let _ = write!(text, " at {source}");
        }
        text.push('\n');
    }
    text
}

/// The kernels that take longest, in lines: what all runs of one take, and how often it runs.
fn show_kernels(report: &Report<'_>, count: usize) -> String {
    let mut text = String::new();
    for kernel in report.kernels.iter().take(count) {
        let super::Spent { seconds, runs, op, ty, location } = kernel;
        // Writing to a string cannot fail.
        let _ = write!(text, "  {:>12.1} us in {runs} runs {op} {ty}", seconds * 1e6);
        if let Some(source) = location.and_then(super::source_of) {
            let _ = write!(text, " at {source}");
        }
        text.push('\n');
    }
    text
}

/// `1.50 MiB`
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut size = count as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.2} {}", UNITS[unit])
}
