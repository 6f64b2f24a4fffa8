// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A package's steps as what a device is asked for: places instead of names, and graphs instead of launches.

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde::Serialize;
use slimhlo_package::{Manifest, Selector, Slot, Step};

use crate::device::{Device, DeviceError, Region, Shape, Work};

/// Launches and copies in one graph. More are several graphs: the driver takes some microseconds for each when it makes a graph, and a
/// few hundred are as fast as any number.
const LARGEST_GRAPH: u64 = 1024;

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
    Repeat {
        turns: u64,
        body: Vec<Self>,
    },
    Case {
        selector: Region,
        kind: Selector,
        branches: Vec<Vec<Self>>,
    },
    Graph(G),
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
            Step::Repeat { turns, body } => Command::Repeat { turns: *turns, body: self.steps(body)? },
            Step::Case { selector, kind, branches } => Command::Case {
                selector: self.places.region(*selector, kind.bytes())?,
                kind: *kind,
                branches: branches.iter().map(|branch| self.steps(branch)).collect::<Result<_>>()?,
            },
        })
    }
}

/// Whether a step repeats nothing.
fn is_idle(step: &Step) -> bool {
    matches!(step, Step::Repeat { turns, body } if *turns == 0 || body.iter().all(is_idle))
}

/// The same commands, with graphs in place of all launches and copies between which nobody waits. `None` where the device has no graphs,
/// or there are no two launches in a row.
pub(crate) fn with_graphs<D: Device>(
    commands: &[Command<D::Graph>],
    functions: &[Vec<(D::Function, Shape)>],
    device: &mut D,
) -> Result<Option<Vec<Command<D::Graph>>>> {
    let mut recorder = Recorder { functions, device, graphs: 0 };
    match recorder.commands(commands) {
        Ok(recorded) if recorder.graphs > 0 => Ok(Some(recorded)),
        Ok(_) | Err(Failure::NoGraphs) => Ok(None),
        Err(Failure::Device(error)) => Err(error).context("making a graph of launches"),
    }
}

enum Failure {
    NoGraphs,
    Device(DeviceError),
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

struct Recorder<'r, D: Device> {
    functions: &'r [Vec<(D::Function, Shape)>],
    device: &'r mut D,
    graphs: usize,
}

/// Commands that go into one graph, each so many times.
type Pending<'p, G> = Vec<(u64, &'p [Command<G>])>;

impl<D: Device> Recorder<'_, D> {
    fn commands(&mut self, commands: &[Command<D::Graph>]) -> Result<Vec<Command<D::Graph>>, Failure> {
        let mut made = Vec::new();
        let mut pending: Pending<'_, D::Graph> = Vec::new();
        let mut waiting = 0;
        for command in commands {
            let alone = std::slice::from_ref(command);
            let size = self.size(alone);
            if let Some(size) = size.filter(|size| *size <= LARGEST_GRAPH) {
                if waiting + size > LARGEST_GRAPH {
                    self.flush(&mut pending, &mut made)?;
                    waiting = 0;
                }
                waiting += size;
                pending.push((1, alone));
                continue;
            }
            self.flush(&mut pending, &mut made)?;
            waiting = 0;
            match command {
                Command::Repeat { turns, body } => {
                    match self.size(body).filter(|size| *size <= LARGEST_GRAPH) {
                        // As many turns in a graph as fit, and what is left in one more.
                        Some(size) => {
                            let at_once = (LARGEST_GRAPH / size.max(1)).clamp(1, *turns);
                            let mut whole = Vec::new();
                            self.flush(&mut vec![(at_once, body.as_slice())], &mut whole)?;
                            made.push(Command::Repeat { turns: turns / at_once, body: whole });
                            if turns % at_once > 0 {
                                self.flush(&mut vec![(turns % at_once, body.as_slice())], &mut made)?;
                            }
                        }
                        None => made.push(Command::Repeat { turns: *turns, body: self.commands(body)? }),
                    }
                }
                Command::Rounds { first, round, going } => made.push(Command::Rounds {
                    first: self.commands(first)?,
                    round: self.commands(round)?,
                    going: *going,
                }),
                Command::While { condition, predicate, body } => made.push(Command::While {
                    condition: self.commands(condition)?,
                    predicate: *predicate,
                    body: self.commands(body)?,
                }),
                Command::Case { selector, kind, branches } => {
                    let branches = branches.iter().map(|branch| self.commands(branch));
                    made.push(Command::Case {
                        selector: *selector,
                        kind: *kind,
                        branches: branches.collect::<Result<_, _>>()?,
                    });
                }
                // A kernel of more functions than a graph has nodes.
                Command::Launch { .. } | Command::Copy { .. } | Command::Graph(_) => {
                    pending.push((1, alone));
                    self.flush(&mut pending, &mut made)?;
                }
            }
        }
        self.flush(&mut pending, &mut made)?;
        Ok(made)
    }

    /// How many launches and copies that is; `None` if that depends on data.
    fn size(&self, commands: &[Command<D::Graph>]) -> Option<u64> {
        commands.iter().try_fold(0_u64, |sum, command| {
            let size = match command {
                Command::Launch { kernel, .. } => self.functions[*kernel].len() as u64,
                Command::Copy { .. } => 1,
                Command::Repeat { turns, body } => self.size(body)?.saturating_mul(*turns),
                Command::While { .. } | Command::Rounds { .. } | Command::Case { .. } | Command::Graph(_) => {
                    return None;
                }
            };
            Some(sum.saturating_add(size))
        })
    }

    /// Makes a graph of what is pending.
    fn flush(
        &mut self,
        pending: &mut Pending<'_, D::Graph>,
        made: &mut Vec<Command<D::Graph>>,
    ) -> Result<(), Failure> {
        let mut works = Vec::new();
        for (turns, commands) in pending.drain(..) {
            for _ in 0..turns {
                work(self.functions, commands, &mut works);
            }
        }
        if !works.is_empty() {
            let graph = self.device.graph(&works)?.ok_or(Failure::NoGraphs)?;
            self.graphs += 1;
            made.push(Command::Graph(graph));
        }
        Ok(())
    }
}

/// The launches and copies of commands that wait for nothing, in order.
fn work<'w, F, G>(
    functions: &'w [Vec<(F, Shape)>],
    commands: &'w [Command<G>],
    works: &mut Vec<Work<'w, F>>,
) {
    for command in commands {
        match command {
            Command::Launch { kernel, regions } => {
                let launches = functions[*kernel].iter();
                works.extend(launches.map(|(function, shape)| Work::Launch {
                    function,
                    shape: *shape,
                    regions,
                }));
            }
            &Command::Copy { from, to } => works.push(Work::Copy { from, to }),
            Command::Repeat { turns, body } => (0..*turns).for_each(|_| work(functions, body, works)),
            Command::While { .. } | Command::Rounds { .. } | Command::Case { .. } | Command::Graph(_) => {}
        }
    }
}
