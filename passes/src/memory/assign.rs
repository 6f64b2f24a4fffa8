// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! In which order kernels run, how long what they store is needed, and where it can lie.

use super::fuse::{Kernel, Kernels, kernels};
use super::graph::{Class, Graph, Id};
use super::hiding::hide;
use super::lists::{Ids, Lists};
use super::schedule::order;
use super::stages::workspace;
use crate::target::{Rates, Storage};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::op_name;
use smallvec::{SmallVec, smallvec};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Memory for one value, or for several that take each other's place.
pub(super) struct Memory {
    /// Values it holds, one after the other.
    pub values: Ids,
    pub bytes: u64,
    /// Steps, both included.
    pub from: u32,
    pub to: u32,
    pub place: Place,
}

/// Where a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In memory of its own.
    Own,
    /// In a parameter's memory.
    Parameter(usize),
    /// In a result's memory.
    Result(usize),
}

/// What whoever runs a graph gives it, and takes from it.
pub(super) struct Frame {
    /// For each parameter, whether it may be written over.
    pub writable: Vec<bool>,
    /// For each result, the parameter whose memory it is to be in.
    pub alias: Vec<Option<usize>>,
}

/// How a graph runs.
pub(super) struct Plan {
    pub kernels: Kernels,
    /// Kernels in the order in which they run: one step each.
    pub order: Vec<Id>,
    pub memory: Vec<Memory>,
    /// Bytes of temporaries at each step, what regions need included.
    pub live: Vec<u64>,
    /// Bytes of memory that is needed for temporaries.
    pub temporaries: u64,
    /// Bytes of each result that is computed elsewhere and copied to its place at the end.
    pub copied: Vec<u64>,
    /// Plans of the regions of each kernel's node.
    pub inner: Vec<Vec<Plan>>,
}

/// Gaps that packing leaves are modelled for this many of the largest temporaries.
const MOST_PACKED: usize = 768;
/// How many places are tried for a temporary.
const MOST_PLACES: usize = 64;

struct Slot {
    place: Place,
    bytes: u64,
    /// Steps during which something is there: first and last, apart from each other but for what is copied there at the end.
    busy: BTreeMap<u32, u32>,
}

impl Slot {
    fn is_free(&self, from: u32, to: u32) -> bool {
        self.busy.range(..=to).next_back().is_none_or(|(_, &end)| end < from)
    }
}

pub(super) fn plan(
    graph: &Graph<'_, '_>,
    frame: &Frame,
    storage: &'static Storage,
    hiding: Option<&Rates>,
) -> Plan {
    let kernels = kernels(graph, storage);
    let inner: Vec<Vec<Plan>> = kernels
        .kernels
        .iter()
        .map(|kernel| {
            let node = &graph.nodes[kernel.node as usize];
            node.regions
                .iter()
                .enumerate()
                .map(|(index, region)| {
                    let is_body = node.class == Class::Loop && index == 1;
                    let carried = region.parameters.len() - region.captures.len();
                    plan(
                        region,
                        &Frame {
                            writable: (0..region.parameters.len())
                                .map(|at| is_body && at < carried)
                                .collect(),
                            alias: (0..region.results.len()).map(|at| is_body.then_some(at)).collect(),
                        },
                        storage,
                        hiding,
                    )
                })
                .collect()
        })
        .collect();
    let inside = |plans: &Vec<Plan>| plans.iter().map(|plan| plan.temporaries).max().unwrap_or(0);
    let within: Vec<u64> = std::iter::zip(&kernels.kernels, &inner)
        .map(|(kernel, plans)| inside(plans).saturating_add(workspace(graph, &kernels, *kernel, storage)))
        .collect();
    let order = order(graph, &kernels, &within, storage.schedule);
    let order = match hiding {
        Some(rates) => hide(graph, &kernels, order, rates),
        None => order,
    };
    let mut assignment = Assignment::new(graph, frame, &kernels, &order, storage.one_waits);
    assignment.run(&within);
    let Assignment { memory, live, temporaries, copied, .. } = assignment;
    Plan { kernels, order, memory, live, temporaries, copied, inner }
}

struct Assignment<'g, 'c, 'a> {
    graph: &'g Graph<'c, 'a>,
    frame: &'g Frame,
    kernels: &'g Kernels,
    order: &'g [Id],
    /// Which parameter a value is.
    parameters: FxHashMap<Id, usize>,
    /// Last step that reads a value.
    last: Vec<u32>,
    /// Kernels that read a value.
    readers: Lists,
    /// For each kernel, the last search that met it.
    met: Vec<u32>,
    searches: u32,
    /// The memory that a value is in.
    home: Vec<Option<u32>>,
    memory: Vec<Memory>,
    slots: Vec<Slot>,
    live: Vec<u64>,
    temporaries: u64,
    copied: Vec<u64>,
    end: u32,
    /// [`Storage::one_waits`].
    one_waits: bool,
}

impl<'g, 'c, 'a> Assignment<'g, 'c, 'a> {
    fn new(
        graph: &'g Graph<'c, 'a>,
        frame: &'g Frame,
        kernels: &'g Kernels,
        order: &'g [Id],
        one_waits: bool,
    ) -> Self {
        let end = order.len() as u32;
        let mut last = vec![0; graph.values.len()];
        for (step, &kernel) in order.iter().enumerate() {
            for read in kernels.reads(kernels.kernels[kernel as usize]) {
                last[read.value as usize] = step as u32;
            }
        }
        let readers = Lists::new(graph.values.len(), |add| {
            for &kernel in order {
                for read in kernels.reads(kernels.kernels[kernel as usize]) {
                    add(read.value, kernel);
                }
            }
        });
        for &result in &graph.results {
            last[result as usize] = end;
        }
        Self {
            graph,
            frame,
            kernels,
            order,
            parameters: graph.parameters.iter().enumerate().map(|(at, &value)| (value, at)).collect(),
            last,
            readers,
            met: vec![0; kernels.kernels.len()],
            searches: 0,
            home: vec![None; graph.values.len()],
            memory: Vec::new(),
            slots: Vec::new(),
            live: Vec::new(),
            temporaries: 0,
            copied: Vec::new(),
            end,
            one_waits,
        }
    }

    fn run(&mut self, within: &[u64]) {
        for (step, &kernel) in self.order.iter().enumerate() {
            self.store(step as u32, kernel);
        }
        self.place_results();
        self.place_temporaries();
        self.measure(within);
    }

    fn parameter(&self, value: Id) -> Option<usize> {
        let node = self.graph.values[value as usize].node;
        (self.graph.nodes[node as usize].class == Class::Parameter)
            .then(|| self.parameters.get(&value).copied())
            .flatten()
    }

    /// Finds memory for what a kernel stores: an operand's, where that is done with, or new memory.
    fn store(&mut self, step: u32, kernel: Id) {
        let kernel = self.kernels.kernels[kernel as usize];
        let node = &self.graph.nodes[kernel.node as usize];
        if node.class == Class::Parameter {
            // Memory that is given, and that may be given on.
            let value = node.first;
            if self.parameter(value).is_some_and(|at| self.frame.writable[at]) {
                self.new_memory(value, 0);
            }
            return;
        }
        let in_place = matches!(node.class, Class::Update | Class::Scatter | Class::Loop);
        let mut taken = Ids::new();
        let kernels = self.kernels;
        for value in kernels.made(self.graph, kernel) {
            let content = self.graph.values[value as usize];
            if content.bytes == 0 {
                continue;
            }
            let shared = self.shareable(kernel, value).into_iter().find(|&operand| {
                let Some(home) = self.home[operand as usize] else { return false };
                self.last[operand as usize] == step
                    && (!in_place || self.is_read_before(operand, kernel))
                    && self.graph.values[operand as usize].bytes == content.bytes
                    && self.memory[home as usize].to == step
                    && !taken.contains(&home)
            });
            match shared.and_then(|operand| self.home[operand as usize]) {
                Some(home) => {
                    taken.push(home);
                    let memory = &mut self.memory[home as usize];
                    memory.values.push(value);
                    memory.to = self.last[value as usize].max(step);
                    self.home[value as usize] = Some(home);
                }
                None => self.new_memory(value, step),
            }
        }
    }

    fn new_memory(&mut self, value: Id, step: u32) {
        self.home[value as usize] = Some(self.memory.len() as u32);
        self.memory.push(Memory {
            values: smallvec![value],
            bytes: self.graph.values[value as usize].bytes,
            from: step,
            to: self.last[value as usize].max(step),
            place: Place::Own,
        });
    }

    /// Values whose memory a kernel's result could take, if nothing else needs it any more.
    fn shareable(&self, kernel: Kernel, result: Id) -> Ids {
        let made_by = self.graph.values[result as usize].node;
        let node = &self.graph.nodes[made_by as usize];
        let index = result - node.first;
        let operand = node.operands.get(index as usize).copied();
        match node.class {
            Class::Map(_) | Class::Move | Class::Pad | Class::Read | Class::Gather | Class::Broadcast => self
                .kernels
                .reads(kernel)
                .iter()
                .filter(|read| read.pointwise && read.of == made_by)
                .map(|read| read.value)
                .collect(),
            Class::Update => {
                let first = self.kernels.reads(kernel).first().filter(|read| read.pointwise);
                first.map(|read| read.value).into_iter().collect()
            }
            // The first of several that start from the same value takes its place; the others get copies.
            Class::Loop => operand
                .filter(|operand| {
                    node.operands.iter().position(|other| other == operand) == Some(index as usize)
                })
                .into_iter()
                .collect(),
            // Sums are added up where they lie; what is only handed around goes elsewhere.
            Class::Exchange { summands } if summands > 1 => operand.into_iter().collect(),
            Class::Scatter => operand
                .filter(|operand| node.operands.iter().filter(|other| *other == operand).count() == 1)
                .into_iter()
                .collect(),
            Class::Opaque if node.op.is_some_and(|op| op_name(op) == "stablehlo.sort") => {
                // Arguments are copied, donated or not.
                operand.filter(|&operand| self.parameter(operand).is_none()).into_iter().collect()
            }
            _ => Ids::new(),
        }
    }

    /// Whether all other kernels that read a value must run before this one, whatever the order: only then is no copy
    /// made for them.
    fn is_read_before(&mut self, value: Id, kernel: Kernel) -> bool {
        // What feeds a kernel is mostly near.
        const FARTHEST: usize = 256;
        let mut others: Ids = self
            .readers
            .of(value)
            .iter()
            .copied()
            .filter(|&other| self.kernels.kernels[other as usize].node != kernel.node)
            .collect();
        self.searches += 1;
        let mut pending: SmallVec<[Kernel; 16]> = smallvec![kernel];
        let mut seen = 0;
        while let Some(next) = pending.pop() {
            if others.is_empty() || seen > FARTHEST {
                break;
            }
            for read in self.kernels.reads(next) {
                let producer = self.graph.values[read.value as usize].node;
                if let Some(producer) = self.kernels.of[producer as usize]
                    && std::mem::replace(&mut self.met[producer as usize], self.searches) != self.searches
                {
                    seen += 1;
                    others.retain(|other| *other != producer);
                    pending.push(self.kernels.kernels[producer as usize]);
                }
            }
        }
        others.is_empty()
    }

    fn place_results(&mut self) {
        // Parameters that may be written over are places.
        for (at, &value) in self.graph.parameters.iter().enumerate() {
            if !self.frame.writable[at] {
                continue;
            }
            let home = self.home[value as usize];
            let mut busy = BTreeMap::new();
            if let Some(home) = home {
                let memory = &mut self.memory[home as usize];
                memory.place = Place::Parameter(at);
                busy.insert(memory.from, memory.to);
            }
            let bytes = self.graph.values[value as usize].bytes;
            self.slots.push(Slot { place: Place::Parameter(at), bytes, busy });
        }
        let mut slots: FxHashMap<usize, usize> = FxHashMap::default();
        for (index, slot) in self.slots.iter().enumerate() {
            if let Place::Parameter(at) = slot.place {
                slots.insert(at, index);
            }
        }
        let misplaced = self.misplaced();
        for (index, &value) in self.graph.results.iter().enumerate() {
            let bytes = self.graph.values[value as usize].bytes;
            let alias = self.frame.alias.get(index).copied().flatten();
            let place = alias.map_or(Place::Result(index), Place::Parameter);
            let slot = match alias.and_then(|at| slots.get(&at).copied()) {
                Some(slot) => slot,
                None => {
                    alias.map(|at| slots.insert(at, self.slots.len()));
                    self.slots.push(Slot { place, bytes, busy: BTreeMap::new() });
                    self.slots.len() - 1
                }
            };
            match self.home[value as usize] {
                // It is where it should be, or it is copied at the end.
                Some(home) if self.memory[home as usize].place == place => {}
                Some(home) if self.memory[home as usize].place == Place::Own => {
                    let memory = &mut self.memory[home as usize];
                    let slot = &mut self.slots[slot];
                    if slot.bytes >= memory.bytes && slot.is_free(memory.from, memory.to) {
                        memory.place = place;
                        slot.busy.insert(memory.from, memory.to);
                    } else {
                        // It is copied there at the end.
                        slot.busy.insert(self.end, self.end);
                        self.copied.push(bytes);
                    }
                }
                // It lies in another place.
                Some(_) if alias.is_some() => {
                    match in_ring(&misplaced, index).filter(|_| self.one_waits) {
                        Some(false) => continue,
                        // There, and back.
                        Some(true) => self.copied.extend([bytes, bytes]),
                        None => self.copied.push(bytes),
                    }
                    self.memory.push(Memory {
                        values: smallvec![value],
                        bytes,
                        from: self.end.saturating_sub(1),
                        to: self.end,
                        place: Place::Own,
                    });
                }
                _ => {}
            }
        }
    }

    /// For each result that lies in another's place, that other one.
    fn misplaced(&self) -> Vec<Option<usize>> {
        let alias = |index: usize| self.frame.alias.get(index).copied().flatten();
        let count = self.graph.results.len();
        let wants: FxHashMap<usize, usize> =
            (0..count).filter_map(|index| Some((alias(index)?, index))).collect();
        let lies = |index: usize| {
            let home = self.home[self.graph.results[index] as usize]?;
            match self.memory[home as usize].place {
                Place::Parameter(at) => wants.get(&at).copied().filter(|&other| other != index),
                _ => None,
            }
        };
        (0..count).map(lies).collect()
    }

    /// Temporaries lie where results will, or arguments have been, if they fit.
    fn place_temporaries(&mut self) {
        self.slots.sort_by_key(|slot| slot.bytes);
        let mut temporaries: Vec<u32> = (0..self.memory.len() as u32)
            .filter(|&index| self.memory[index as usize].place == Place::Own)
            .collect();
        temporaries.sort_by_key(|&index| Reverse(self.memory[index as usize].bytes));
        for index in temporaries {
            let memory = &mut self.memory[index as usize];
            let first = self.slots.partition_point(|slot| slot.bytes < memory.bytes);
            let place = self.slots[first..]
                .iter_mut()
                .take(MOST_PLACES)
                .find(|slot| slot.is_free(memory.from, memory.to));
            if let Some(slot) = place {
                slot.busy.insert(memory.from, memory.to);
                memory.place = slot.place;
            }
        }
    }

    /// Bytes at each step, and in all, with what is `within` each kernel.
    fn measure(&mut self, within: &[u64]) {
        let steps = self.order.len() + 1;
        let mut change = vec![0i128; steps + 1];
        for memory in self.memory.iter().filter(|memory| memory.place == Place::Own) {
            change[memory.from as usize] += i128::from(memory.bytes);
            change[memory.to as usize + 1] -= i128::from(memory.bytes);
        }
        let mut scratch = Vec::new();
        let mut now = 0i128;
        for (step, &change) in change[..steps].iter().enumerate() {
            now += change;
            let inside = self.order.get(step).map_or(0, |&kernel| within[kernel as usize]);
            if inside > 0 {
                scratch.push((inside, step as u32));
            }
            self.live.push(u64::try_from(now).unwrap_or(0).saturating_add(inside));
        }
        let peak = self.live.iter().copied().max().unwrap_or(0);
        self.temporaries = peak.max(self.packed(&scratch));
    }

    /// The height of the largest temporaries, packed largest first into the smallest gap that is free all the time.
    fn packed(&self, scratch: &[(u64, u32)]) -> u64 {
        let intervals: Vec<(u64, u32, u32)> = self
            .memory
            .iter()
            .filter(|memory| memory.place == Place::Own)
            .map(|memory| (memory.bytes, memory.from, memory.to))
            .chain(scratch.iter().map(|&(bytes, step)| (bytes, step, step)))
            .collect();
        // Of equal ones the first; the rest need not be in any order.
        let key = |&(index, (bytes, from, _)): &(usize, (u64, u32, u32))| (Reverse(bytes), from, index);
        let mut intervals: Vec<_> = intervals.into_iter().enumerate().collect();
        if intervals.len() > MOST_PACKED {
            intervals.select_nth_unstable_by_key(MOST_PACKED, key);
            intervals.truncate(MOST_PACKED);
        }
        intervals.sort_unstable_by_key(key);
        // From the lowest on.
        let mut packed: Vec<(u64, u64, u32, u32)> = Vec::with_capacity(intervals.len());
        let mut height = 0;
        for (_, (bytes, from, to)) in intervals {
            let mut best: Option<(u64, u64)> = None;
            let mut top = 0;
            for &(low, high, start, end) in &packed {
                if start > to || from > end {
                    continue;
                }
                if low > top && low - top >= bytes && best.is_none_or(|(gap, _)| low - top < gap) {
                    best = Some((low - top, top));
                }
                top = top.max(high);
            }
            let low = best.map_or(top, |(_, low)| low);
            let high = low.saturating_add(bytes);
            let at = packed.partition_point(|&(other, end, ..)| (other, end) < (low, high));
            packed.insert(at, (low, high, from, to));
            height = height.max(high);
        }
        height
    }
}

/// Whether results lie in each other's places in a ring, a result among them, and that one is the first: it waits somewhere else, so that
/// the others are computed in their own places one after the other.
fn in_ring(misplaced: &[Option<usize>], index: usize) -> Option<bool> {
    let mut ring = std::iter::successors(misplaced[index], |&at| misplaced[at]).take(misplaced.len());
    let mut first = index;
    let mut closes = |at: usize| {
        first = first.min(at);
        at == index
    };
    ring.any(&mut closes).then_some(first == index)
}
