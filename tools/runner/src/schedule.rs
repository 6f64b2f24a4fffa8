// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A package's steps as what a device is asked for: places instead of names, and graphs (`schedule/graphs.rs`) instead of launches.

mod graphs;

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde::Serialize;
use slimhlo_package::{Counter, Manifest, OFFSETS, Selector, Slot, Step};

use crate::device::Region;
pub(crate) use graphs::with_graphs;

/// A step with places instead of names.
pub(crate) enum Command<G> {
    Launch {
        kernel: usize,
        regions: Vec<Region>,
    },
    Copy {
        from: Region,
        to: Region,
    },
    While {
        condition: Vec<Self>,
        predicate: Region,
        body: Vec<Self>,
    },
    /// `first`, and then `round` as long as the byte at `going` is not 0; one too many does nothing.
    Rounds {
        first: Vec<Self>,
        round: Vec<Self>,
        going: Region,
    },
    /// `body`, which is `at_once` turns, as often as makes `turns`; what it counts is put into place before.
    Repeat {
        turns: u64,
        at_once: u64,
        count: Option<Count>,
        body: Vec<Self>,
    },
    Case {
        selector: Region,
        kind: Selector,
        branches: Vec<Vec<Self>>,
    },
    Graph(G),
}

/// What a loop counts.
#[derive(Clone, Copy)]
pub(crate) struct Count {
    /// The counter's number.
    pub number: usize,
    /// What it is.
    pub counter: Counter,
    /// Which of the turns that the counter counts is the loop's first.
    pub first: u64,
    /// Where the values of as many turns as are asked for at once go, [`OFFSETS`] bytes apart.
    pub values: Region,
}

impl Count {
    /// The values of some turns, [`OFFSETS`] bytes apart.
    pub fn table(&self, first: u64, turns: u64) -> Vec<u8> {
        let value = |turn| {
            let mut bytes = self.counter.at(self.first.wrapping_add(first).wrapping_add(turn));
            bytes.resize(OFFSETS as usize, 0);
            bytes
        };
        (0..turns).flat_map(value).collect()
    }
}

/// What a run asked of its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Launches and copies, one by one.
    pub launches: u64,
    /// Launches of graphs.
    pub graphs: u64,
    /// How often it was waited for, to learn how to go on.
    pub waits: u64,
}

/// Where things are.
pub(crate) struct Places<'p> {
    pub arguments: &'p [Region],
    pub results: &'p [Region],
    pub arena: Region,
    pub constants: Region,
    /// By counter: what it is in a turn that is asked for by itself.
    pub counters: &'p [Region],
    /// The bytes that guarded kernels ask, if there are any: one that is always 1, and that of the loop which runs.
    pub guards: Option<Guards>,
}

/// Bytes that say whether guarded kernels do anything.
#[derive(Clone, Copy)]
pub(crate) struct Guards {
    /// 1.
    pub always: Region,
    /// Whether the loop that runs goes on.
    pub going: Region,
}

impl Places<'_> {
    fn region(&self, slot: Slot, bytes: u64) -> Result<Region> {
        let (whole, offset) = match slot {
            Slot::Argument(number) => (self.arguments.get(number).copied(), 0),
            Slot::Result(number) => (self.results.get(number).copied(), 0),
            Slot::Arena(offset) => (Some(self.arena), offset),
            Slot::Constant(offset) => (Some(self.constants), offset),
            Slot::Counter(number) => {
                let counter = self.counters.get(number).copied();
                (counter, counter.map_or(0, |counter| counter.offset))
            }
        };
        let whole = whole.with_context(|| format!("there is no `{slot}`"))?;
        Ok(Region { buffer: whole.buffer, offset, bytes })
    }
}

/// The commands that a manifest's steps are.
pub(crate) fn resolve<G>(manifest: &Manifest, places: &Places<'_>) -> Result<Vec<Command<G>>> {
    let names = manifest.kernels.iter().enumerate();
    let kernels = &names.map(|(number, kernel)| (kernel.name.as_str(), number)).collect();
    let guard = places.guards.map(|guards| guards.always);
    Resolver { manifest, kernels, places, guard }.steps(&manifest.steps)
}

/// Turns slots into regions.
struct Resolver<'r> {
    manifest: &'r Manifest,
    /// Numbers of kernels by name.
    kernels: &'r HashMap<&'r str, usize>,
    places: &'r Places<'r>,
    /// What guarded kernels ask.
    guard: Option<Region>,
}

impl Resolver<'_> {
    fn steps<G>(&self, steps: &[Step]) -> Result<Vec<Command<G>>> {
        // What repeats nothing may do so very often.
        let busy = steps.iter().filter(|step| !is_idle(step));
        busy.map(|step| self.step(step)).collect()
    }

    fn step<G>(&self, step: &Step) -> Result<Command<G>> {
        Ok(match step {
            Step::Launch { kernel: name, buffers } => {
                let kernel = self.kernels.get(name.as_str()).copied();
                let kernel = kernel.with_context(|| format!("there is no kernel `{name}`"))?;
                let known = &self.manifest.kernels[kernel];
                let regions = buffers
                    .iter()
                    .zip(&known.parameters)
                    .map(|(&slot, parameter)| self.places.region(slot, parameter.bytes));
                let mut regions = regions.collect::<Result<Vec<_>>>()?;
                if known.guarded {
                    regions.push(self.guard.with_context(|| format!("nothing guards kernel `{name}`"))?);
                }
                Command::Launch { kernel, regions }
            }
            &Step::Copy { from, to, bytes } => {
                Command::Copy { from: self.places.region(from, bytes)?, to: self.places.region(to, bytes)? }
            }
            Step::While { condition, predicate, body, guarded: true } => {
                let guards = self.places.guards.context("a guarded loop of kernels that are not")?;
                let predicate = self.places.region(*predicate, 1)?;
                let ahead = Resolver { guard: Some(guards.going), ..*self };
                let mut first = self.steps(condition)?;
                first.push(Command::Copy { from: predicate, to: guards.going });
                let mut round = ahead.steps(body)?;
                round.extend(ahead.steps(condition)?);
                round.push(Command::Copy { from: predicate, to: guards.going });
                Command::Rounds { first, round, going: guards.going }
            }
            Step::While { condition, predicate, body, guarded: false } => Command::While {
                condition: self.steps(condition)?,
                predicate: self.places.region(*predicate, 1)?,
                body: self.steps(body)?,
            },
            Step::Repeat { turns, counter, body } => Command::Repeat {
                turns: *turns,
                at_once: 1,
                count: counter.map(|number| self.count(number)).transpose()?,
                body: self.steps(body)?,
            },
            Step::Case { selector, kind, branches } => Command::Case {
                selector: self.places.region(*selector, kind.bytes())?,
                kind: *kind,
                branches: branches.iter().map(|branch| self.steps(branch)).collect::<Result<_>>()?,
            },
        })
    }

    /// A counter, one turn at a time.
    fn count(&self, number: usize) -> Result<Count> {
        let known = self.manifest.counters.get(number).zip(self.places.counters.get(number));
        let (&counter, &values) = known.with_context(|| format!("there is no counter {number}"))?;
        Ok(Count { number, counter, first: 0, values })
    }
}

/// Whether a step repeats nothing.
fn is_idle(step: &Step) -> bool {
    matches!(step, Step::Repeat { turns, body, .. } if *turns == 0 || body.iter().all(is_idle))
}
