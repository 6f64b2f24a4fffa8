// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The memory model's report without its ties to MLIR, so that it outlives the passes that change the module.

use crate::source::{self, Source};
use crate::text;
use melior::ir::{Location, OperationRef};
use serde::Serialize;
use slimhlo_passes::memory::{self, Kind, Unmodelled};
use slimhlo_passes::shards;
use slimhlo_passes::target::Target;
use std::rc::Rc;

/// Bytes on one device.
#[derive(Clone, Debug, Serialize)]
pub struct Footprint {
    /// What the program is handed.
    pub arguments: u64,
    /// What it hands back.
    pub results: u64,
    /// Results that live in donated arguments.
    pub aliased: u64,
    /// The most that everything else takes at one time.
    pub temporaries: u64,
    /// `arguments + results - aliased + temporaries`.
    pub peak: u64,
    /// `arguments + results - aliased`: what any program with this signature takes.
    pub floor: u64,
    /// Peak over floor; nothing if the floor is 0.
    pub ratio: Option<f64>,
    /// In a program for several devices, exchanges that one takes part in: those that are written down, and those that a partitioner is
    /// expected to make of ops whose layouts are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collectives: Option<u64>,
    /// Bytes that these bring to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<u64>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueKind {
    /// Handed in.
    Argument,
    /// Handed back.
    Result,
    /// Neither.
    Temporary,
}

impl ValueKind {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Result => "result",
            Self::Temporary => "temporary",
        }
    }
}

/// A value that takes memory.
#[derive(Clone, Debug, Serialize)]
pub struct Value {
    /// As the printed module has it: `%12`.
    pub name: String,
    /// The op that makes it.
    pub op: String,
    /// Its type, as printed.
    #[serde(rename = "type")]
    pub ty: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Argument, result or temporary.
    pub kind: ValueKind,
    /// The first step it is alive at.
    pub from: usize,
    /// The last one.
    pub to: usize,
    /// It lies in memory that is there anyway, an argument's, a result's or its operand's, and takes none of its own.
    pub reuses: bool,
    /// The line that it comes from, if the module says.
    pub source: Option<Source>,
    /// The name that the front end gave its op, if it did: `jit(step)/dot_general`.
    pub scope: Option<String>,
}

impl Value {
    /// Whether it has bytes of its own.
    pub fn takes_memory(&self) -> bool {
        self.bytes > 0 && !self.reuses
    }

    /// The line that it comes from, in words of `line`; else the name of its op or argument in the front end.
    pub fn origin(&self, line: impl FnOnce(&Source) -> String) -> String {
        self.source.as_ref().map(line).or_else(|| self.scope.clone()).unwrap_or_default()
    }
}

/// One kernel of the program: an op, or several that are fused. A loop's body runs once here.
#[derive(Clone, Debug)]
pub struct Step {
    /// The op that its result is of.
    pub op: Rc<str>,
    /// Its line.
    pub source: Option<Rc<Source>>,
    /// Bytes alive while it runs.
    pub live: u64,
}

/// Why the model has no figures.
#[derive(Debug)]
pub struct Unknown {
    reason: String,
    source: Option<Source>,
}

impl Unknown {
    fn new(reason: &Unmodelled<'_>) -> Self {
        Self { reason: reason.to_string(), source: reason.location().and_then(line_of) }
    }
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.reason)?;
        self.source.as_ref().map_or(Ok(()), |source| write!(formatter, " ({source})"))
    }
}

impl std::error::Error for Unknown {}

/// What the model says of a module.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The totals.
    pub footprint: Footprint,
    /// The program.
    pub steps: Vec<Step>,
    /// All values that take memory.
    pub values: Vec<Value>,
    /// The step with the most bytes alive.
    pub peak_step: usize,
}

impl Profile {
    /// Asks the model of this target.
    ///
    /// # Errors
    /// Why the module's memory is not known, with the line of source if the module says.
    pub fn of(module: OperationRef<'_, '_>, target: Target) -> Result<Self, Unknown> {
        let report = memory::analyze(module, target).map_err(|reason| Unknown::new(&reason))?;
        let footprint = &report.footprint;
        let (peak, floor) = (footprint.peak(), footprint.floor());
        let traffic = shards::traffic(module);
        let footprint = Footprint {
            arguments: footprint.arguments,
            results: footprint.results,
            aliased: footprint.aliased,
            temporaries: footprint.temporaries,
            peak,
            floor,
            ratio: (floor > 0).then(|| peak as f64 / floor as f64),
            collectives: traffic.map(|traffic| traffic.collectives),
            received: traffic.map(|traffic| traffic.bytes),
        };
        let mut ops = Interner::default();
        let mut lines = Interner::default();
        let steps = report
            .steps
            .iter()
            .map(|step| Step {
                op: ops.share(step.op.as_str()),
                source: line_of(step.location).map(|source| lines.share_source(source)),
                live: step.live,
            })
            .collect();
        let last = report.steps.len().saturating_sub(1);
        let values = report
            .buffers
            .iter()
            .map(|buffer| Value {
                name: buffer.name.clone(),
                op: buffer.op.clone(),
                ty: buffer.ty.clone(),
                bytes: buffer.bytes,
                kind: match buffer.kind {
                    Kind::Argument => ValueKind::Argument,
                    Kind::Result => ValueKind::Result,
                    Kind::Temporary => ValueKind::Temporary,
                },
                // What is needed to the end ends with the last step.
                from: buffer.from.min(last),
                to: buffer.to.min(last),
                reuses: buffer.reuses,
                source: line_of(buffer.location),
                scope: source::name(buffer.location),
            })
            .collect();
        Ok(Self { footprint, steps, values, peak_step: report.peak_step })
    }

    /// The values alive at the peak, the largest first.
    pub fn at_peak(&self) -> Vec<&Value> {
        let alive = |value: &&Value| (value.from..=value.to).contains(&self.peak_step);
        let mut values: Vec<_> =
            self.values.iter().filter(|value| value.takes_memory()).filter(alive).collect();
        values.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.from.cmp(&b.from)));
        values
    }

    /// Bytes at the peak that no value has: what packing values of different sizes leaves between them.
    pub fn gaps(&self) -> u64 {
        let live = self.steps.get(self.peak_step).map_or(self.footprint.peak, |step| step.live);
        self.footprint.peak.saturating_sub(live)
    }

    /// Where the peak is, for a sentence: `, in dot_general at step.py:12,`; nothing if the program has no ops.
    pub fn peak_place(&self) -> String {
        let Some(step) = self.steps.get(self.peak_step) else { return String::new() };
        let op = text::printable(&step.op);
        match text::place(step.source.as_deref()) {
            place if place.is_empty() => format!(" ({op})"),
            place => format!(" ({op}, {place})"),
        }
    }
}

/// The line of the user's source.
fn line_of(location: Location<'_>) -> Option<Source> {
    let memory::Source { file, line, column, .. } = memory::source_of(location)?;
    let file = if file.is_empty() { "-".into() } else { file };
    Some(Source { file, line: line.into(), column: column.into() })
}

/// Holds each text only once: 100,000 ops have a few dozen names and a few hundred lines.
#[derive(Default)]
struct Interner {
    texts: std::collections::HashSet<Rc<str>>,
    sources: std::collections::HashSet<Rc<Source>>,
}

impl Interner {
    fn share(&mut self, text: &str) -> Rc<str> {
        if let Some(shared) = self.texts.get(text) {
            return shared.clone();
        }
        let shared: Rc<str> = text.into();
        self.texts.insert(shared.clone());
        shared
    }

    fn share_source(&mut self, source: Source) -> Rc<Source> {
        if let Some(shared) = self.sources.get(&source) {
            return shared.clone();
        }
        let shared = Rc::new(source);
        self.sources.insert(shared.clone());
        shared
    }
}
