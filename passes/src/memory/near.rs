// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What of a program's arrays lies in a chip's second cache when a kernel reads or writes it: those that were used last, whole.
//!
//! A turn of a loop finds what the turn before it has left. Slices of an array differ from turn to turn, so they only go by and push others
//! out. `test/oracle/hlo_cache.py` is the same for compiled programs, and says what an H100 was seen to do.

use super::assign::Plan;
use super::fuse::Kernel;
use super::graph::{Class, Graph, Id};
use crate::target::Rates;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Of the cache, the bytes that are found in it again (`SHARE` of `hlo_cache.py`).
const SHARE: f64 = 0.7;

/// Memory of a plan, by its place in there; `NOWHERE` of what is in none.
type Place = u32;

const NOWHERE: Place = Place::MAX;

/// How often a graph runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    Once,
    /// As a turn of a loop: the cache has what the last one left.
    Again,
}

/// Whether a node is a kernel's, or some kernels': no loop or branch, which have kernels of their own, and nothing that is there.
pub(super) fn is_own(class: Class) -> bool {
    !matches!(class, Class::Parameter | Class::Constant | Class::Loop | Class::Branch)
}

/// For each kernel the bytes that it moves to and from the second cache instead of memory. `memory` is where each value lies.
pub(super) fn near_bytes(
    graph: &Graph<'_, '_>,
    plan: &Plan,
    memory: &[Place],
    rates: &Rates,
    runs: Runs,
) -> Vec<f64> {
    let mut found = vec![0.0; plan.kernels.kernels.len()];
    if rates.cached.is_infinite() {
        return found;
    }
    let mut near = Near::of(rates.cache);
    let passes = if runs == Runs::Again { 2 } else { 1 };
    for &index in std::iter::repeat_n(&plan.order, passes).flatten() {
        let kernel = plan.kernels.kernels[index as usize];
        match graph.nodes[kernel.node as usize].class {
            Class::Loop | Class::Branch => near.forget(),
            class if is_own(class) => found[index as usize] = near.runs(graph, plan, kernel, memory) as f64,
            _ => {}
        }
    }
    found
}

/// What was used last, up to so many bytes.
pub struct Near {
    capacity: u64,
    /// Bytes of all that is held.
    size: u64,
    /// Uses in their order: of those of one place the last counts.
    uses: VecDeque<(Place, u64)>,
    /// Of what is held, when it was used last, and its bytes.
    held: FxHashMap<Place, (u64, u64)>,
    now: u64,
    /// A place that is asked for no more, of what went by last.
    passing: Place,
}

impl Near {
    /// Of a cache of so many bytes; 0 for none.
    pub fn of(cache: u64) -> Self {
        let capacity = (SHARE * cache as f64) as u64;
        Self {
            capacity,
            size: 0,
            uses: VecDeque::new(),
            held: FxHashMap::default(),
            now: 0,
            passing: NOWHERE,
        }
    }

    /// Whether what lies at a place is there; from now on it is, if it fits. What has no place goes by.
    pub fn uses(&mut self, mut place: Place, bytes: u64) -> bool {
        self.now += 1;
        if place == NOWHERE {
            self.passing -= 1;
            place = self.passing;
        }
        let before = self.held.remove(&place);
        self.size -= before.map_or(0, |(_, bytes)| bytes);
        if bytes > self.capacity {
            self.forget();
            return false;
        }
        self.held.insert(place, (self.now, bytes));
        self.uses.push_back((place, self.now));
        self.size += bytes;
        while self.size > self.capacity {
            let Some((place, when)) = self.uses.pop_front() else { break };
            if self.held.get(&place).is_some_and(|&(last, _)| last == when) {
                self.size -= self.held.remove(&place).map_or(0, |(_, bytes)| bytes);
            }
        }
        before.is_some()
    }

    /// What a kernel uses: the bytes of it that are there. What it writes pushes out what it has not read yet, unless it takes that one's
    /// place, and is what was used last.
    fn runs(&mut self, graph: &Graph<'_, '_>, plan: &Plan, kernel: Kernel, memory: &[Place]) -> u64 {
        let node = &graph.nodes[kernel.node as usize];
        // Of what is changed in place no more is written than is put there.
        let put = match node.class {
            Class::Update => node.operands.get(1),
            Class::Scatter => node.operands.last(),
            _ => None,
        };
        let bytes = |value: Id| graph.values[value as usize].bytes;
        let reads = plan.kernels.reads(kernel).iter().map(|read| {
            let is_whole = read.bytes >= bytes(read.value);
            (if is_whole { memory[read.value as usize] } else { NOWHERE }, read.bytes)
        });
        let written = |made: &Id| match put {
            Some(&put) => (NOWHERE, bytes(put)),
            None => (memory[*made as usize], bytes(*made)),
        };
        let of = |value: Id| memory[value as usize];
        let is_read = |made: &Id| plan.kernels.reads(kernel).iter().any(|read| of(read.value) == of(*made));
        let (in_place, apart): (Vec<Id>, Vec<Id>) = plan.kernels.made(graph, kernel).partition(is_read);
        let apart: Vec<_> = apart.iter().map(written).collect();
        let all = apart.iter().copied().chain(reads).chain(in_place.iter().map(written));
        let found = all.filter(|&(place, bytes)| self.uses(place, bytes)).map(|(_, bytes)| bytes).sum();
        for (place, bytes) in apart.into_iter().filter(|&(place, _)| place != NOWHERE) {
            self.uses(place, bytes);
        }
        found
    }

    /// Something else went by, of more bytes than there are.
    fn forget(&mut self) {
        self.held.clear();
        self.uses.clear();
        self.size = 0;
    }
}
