// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Graphs in place of launches between which nobody waits.
//!
//! What a counter is differs from turn to turn, and what is in a graph does not: a turn's launches are given the address of the turn's
//! entry in a table of values. Where all turns are in one graph that table never changes; a graph that is launched several times, with
//! some turns in it, has one that is written before each time.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::{Context, Result};
use slimhlo_package::OFFSETS;

use super::{Command, Count};
use crate::device::{Buffer, Device, DeviceError, Region, Shape, Work};

/// Launches and copies in one graph. More are several graphs: the driver takes some microseconds for each when it makes a graph, and a
/// few hundred are as fast as any number.
const LARGEST_GRAPH: u64 = 1024;

/// What a device is asked for, in graphs.
pub(crate) struct Recorded<G> {
    pub commands: Vec<Command<G>>,
    /// Memory that the graphs use, besides the program's own: to be freed after them.
    pub tables: Vec<Buffer>,
}

/// The same commands, with graphs in place of all launches and copies between which nobody waits. No commands where the device has no
/// graphs, or there are no two launches in a row.
pub(crate) fn with_graphs<D: Device>(
    commands: &[Command<D::Graph>],
    functions: &[Vec<(D::Function, Shape)>],
    device: &mut D,
) -> Result<Recorded<D::Graph>> {
    let mut recorder = Recorder { functions, device, graphs: 0, fixed: HashMap::new(), tables: Vec::new() };
    let recorded = recorder.commands(commands);
    let (graphs, tables) = (recorder.graphs, recorder.tables);
    match recorded {
        Ok(commands) if graphs > 0 => Ok(Recorded { commands, tables }),
        Ok(_) | Err(Failure::NoGraphs) => Ok(Recorded { commands: Vec::new(), tables }),
        Err(Failure::Device(error)) => Err(error).context("making a graph of launches"),
    }
}

enum Failure {
    NoGraphs,
    Device(DeviceError),
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        match error {
            // Without tables and graphs, launches do.
            DeviceError::OutOfMemory { .. } => Self::NoGraphs,
            error @ DeviceError::Failed(_) => Self::Device(error),
        }
    }
}

struct Recorder<'r, D: Device> {
    functions: &'r [Vec<(D::Function, Shape)>],
    device: &'r mut D,
    graphs: usize,
    /// By counter: its values from the first turn on, in a table that never changes.
    fixed: HashMap<usize, Region>,
    tables: Vec<Buffer>,
}

/// Commands that go into one graph, so many times.
struct Piece<'p, G> {
    turns: u64,
    commands: &'p [Command<G>],
    /// Where these times differ: a counter's value, and the table that has it for each.
    counted: Option<Moved>,
}

/// A region, and where else to find what it has.
#[derive(Clone, Copy)]
struct Moved {
    from: Region,
    to: Region,
}

impl<D: Device> Recorder<'_, D> {
    fn commands(&mut self, commands: &[Command<D::Graph>]) -> Result<Vec<Command<D::Graph>>, Failure> {
        let mut made = Vec::new();
        let mut pending: Vec<Piece<'_, D::Graph>> = Vec::new();
        let mut waiting = 0;
        for command in commands {
            let alone = Piece { turns: 1, commands: std::slice::from_ref(command), counted: None };
            let size = self.size(alone.commands);
            if let Some(size) = size.filter(|size| *size <= LARGEST_GRAPH) {
                if waiting + size > LARGEST_GRAPH {
                    self.flush(&mut pending, &mut made)?;
                    waiting = 0;
                }
                waiting += size;
                pending.push(alone);
                continue;
            }
            self.flush(&mut pending, &mut made)?;
            waiting = 0;
            match command {
                // The resolver asks for one turn at once.
                Command::Repeat { turns, at_once: _, count, body } => {
                    match self.size(body).filter(|size| *size <= LARGEST_GRAPH) {
                        Some(size) => self.turns(*turns, *count, (size, body), &mut made)?,
                        None => made.push(Command::Repeat {
                            turns: *turns,
                            at_once: 1,
                            count: *count,
                            body: self.commands(body)?,
                        }),
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
                    pending.push(alone);
                    self.flush(&mut pending, &mut made)?;
                }
            }
        }
        self.flush(&mut pending, &mut made)?;
        Ok(made)
    }

    /// Graphs of a loop whose turns, of `size` launches and copies each, are more than one graph takes: as many turns in a graph as fit,
    /// and what is left in one more.
    fn turns(
        &mut self,
        turns: u64,
        count: Option<Count>,
        (size, body): (u64, &[Command<D::Graph>]),
        made: &mut Vec<Command<D::Graph>>,
    ) -> Result<(), Failure> {
        let at_once = (LARGEST_GRAPH / size.max(1)).clamp(1, turns);
        let table = count.map(|count| Ok::<_, Failure>((count, self.table(at_once)?))).transpose()?;
        let left = turns % at_once;
        for (first, turns, at_once) in [(0, turns - left, at_once), (turns - left, left, left)] {
            if turns == 0 {
                continue;
            }
            let counted = table.map(|(count, table)| Moved { from: count.values, to: table });
            let mut whole = Vec::new();
            self.flush(&mut vec![Piece { turns: at_once, commands: body, counted }], &mut whole)?;
            let count = table.map(|(count, values)| Count { first, values, ..count });
            made.push(Command::Repeat { turns, at_once, count, body: whole });
        }
        Ok(())
    }

    /// How many launches and copies that is; `None` if that depends on data.
    fn size(&self, commands: &[Command<D::Graph>]) -> Option<u64> {
        commands.iter().try_fold(0_u64, |sum, command| {
            let size = match command {
                Command::Launch { kernel, .. } => self.functions[*kernel].len() as u64,
                Command::Copy { .. } => 1,
                Command::Repeat { turns, body, .. } => self.size(body)?.saturating_mul(*turns),
                Command::While { .. } | Command::Rounds { .. } | Command::Case { .. } | Command::Graph(_) => {
                    return None;
                }
            };
            Some(sum.saturating_add(size))
        })
    }

    /// Memory for the values of so many turns.
    fn table(&mut self, turns: u64) -> Result<Region, Failure> {
        let bytes = turns * OFFSETS;
        let buffer = self.device.allocate(bytes)?;
        self.tables.push(buffer);
        Ok(Region { buffer, offset: 0, bytes })
    }

    /// Sees to it that the loops in some commands find the values of all their turns.
    fn fix(&mut self, commands: &[Command<D::Graph>]) -> Result<(), Failure> {
        for command in commands {
            let Command::Repeat { turns, count, body, .. } = command else { continue };
            self.fix(body)?;
            let Some(count) = count else { continue };
            if self.fixed.get(&count.number).is_none_or(|table| table.bytes < turns * OFFSETS) {
                let table = self.table(*turns)?;
                self.device.upload(table, &count.table(0, *turns))?;
                self.fixed.insert(count.number, table);
            }
        }
        Ok(())
    }

    /// Makes a graph of what is pending.
    fn flush(
        &mut self,
        pending: &mut Vec<Piece<'_, D::Graph>>,
        made: &mut Vec<Command<D::Graph>>,
    ) -> Result<(), Failure> {
        for piece in &*pending {
            self.fix(piece.commands)?;
        }
        let mut unrolled =
            Unrolled { functions: self.functions, fixed: &self.fixed, moved: Vec::new(), works: Vec::new() };
        for Piece { turns, commands, counted } in pending.drain(..) {
            unrolled.turns(turns, counted, commands);
        }
        if !unrolled.works.is_empty() {
            let graph = self.device.graph(&unrolled.works)?.ok_or(Failure::NoGraphs)?;
            self.graphs += 1;
            made.push(Command::Graph(graph));
        }
        Ok(())
    }
}

/// The launches and copies of commands that wait for nothing, in order.
struct Unrolled<'w, F> {
    functions: &'w [Vec<(F, Shape)>],
    fixed: &'w HashMap<usize, Region>,
    /// What counters are in the turn that is unrolled, of the loops around.
    moved: Vec<Moved>,
    works: Vec<Work<'w, F>>,
}

impl<'w, F> Unrolled<'w, F> {
    fn turns<G>(&mut self, turns: u64, counted: Option<Moved>, commands: &'w [Command<G>]) {
        for turn in 0..turns {
            let entry =
                |table: Region| Region { offset: table.offset + turn * OFFSETS, bytes: OFFSETS, ..table };
            self.moved.extend(counted.map(|Moved { from, to }| Moved { from, to: entry(to) }));
            self.commands(commands);
            self.moved.truncate(self.moved.len() - usize::from(counted.is_some()));
        }
    }

    fn commands<G>(&mut self, commands: &'w [Command<G>]) {
        for command in commands {
            match command {
                Command::Launch { kernel, regions } => {
                    for (function, shape) in &self.functions[*kernel] {
                        let regions = self.regions(regions);
                        self.works.push(Work::Launch { function, shape: *shape, regions });
                    }
                }
                &Command::Copy { from, to } => self.works.push(Work::Copy { from: self.region(from), to }),
                Command::Repeat { turns, count, body, .. } => {
                    let counted = count.and_then(|count| {
                        let to = *self.fixed.get(&count.number)?;
                        Some(Moved { from: count.values, to })
                    });
                    self.turns(*turns, counted, body);
                }
                Command::While { .. } | Command::Rounds { .. } | Command::Case { .. } | Command::Graph(_) => {
                }
            }
        }
    }

    fn region(&self, region: Region) -> Region {
        let is_it = |moved: &&Moved| (moved.from.buffer, moved.from.offset) == (region.buffer, region.offset);
        match self.moved.iter().find(is_it) {
            Some(moved) => Region { bytes: region.bytes, ..moved.to },
            None => region,
        }
    }

    fn regions(&self, regions: &'w [Region]) -> Cow<'w, [Region]> {
        if self.moved.is_empty() {
            return Cow::Borrowed(regions);
        }
        Cow::Owned(regions.iter().map(|&region| self.region(region)).collect())
    }
}
