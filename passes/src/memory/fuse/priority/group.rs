// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A kernel while kernels are merged: what it reads, and by how many ways.
//!
//! An element is computed once for all elementwise ops of a kernel that need it, but again for each op that asks for others than it is
//! asked for. So each operand has its ways: those through elementwise ops alone lead to a root, which several operands may have in
//! common, and which is the kernel's result or what an op asks for that is not elementwise; all others count for the operand alone
//! (`GpuHloCostAnalysis::FusionCalculateUtilizations` in openxla/xla).

use super::super::super::graph::Id;
use smallvec::{SmallVec, smallvec};

/// Nanoseconds to start a kernel.
const START: f32 = 1000.0;

/// Ways to an operand that are told apart.
const MOST_WAYS: usize = 24;

/// Roots of a kernel that may lie about unused.
const MOST_ROOTS: usize = 32;

/// How elements of something are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    /// How often, all of them.
    pub often: f32,
    /// At how many places of the code.
    pub places: f32,
    /// In another order than they lie in memory.
    pub turned: bool,
}

impl Asked {
    pub const ONCE: Self = Self { often: 1.0, places: 1.0, turned: false };

    pub fn and(self, other: Self) -> Self {
        Self {
            often: self.often + other.often,
            places: self.places + other.places,
            turned: self.turned || other.turned,
        }
    }

    /// What is asked for by something that is asked for itself.
    fn through(self, outer: Self) -> Self {
        Self {
            often: self.often * outer.often,
            places: self.places * outer.places,
            turned: self.turned != outer.turned,
        }
    }
}

/// What a kernel reads.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    /// The value, or a constant of the same number.
    pub id: Id,
    /// By ops that are not elementwise.
    pub own: Asked,
    /// Roots of elementwise ops that lead to it: places in the kernel's list.
    pub ways: SmallVec<[u32; 2]>,
    /// How often more it is named by a kernel's only op, as by a square.
    pub more: f32,
    /// Nanoseconds to read it.
    pub time: f32,
}

impl Operand {
    pub fn new(id: Id, own: Asked, ways: SmallVec<[u32; 2]>) -> Self {
        Self { id, own, ways, more: 0.0, time: 0.0 }
    }
}

/// A kernel, as far as it has been merged; without roots, one that has been merged into all that read it, or is none.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Of two that win the same the one with the higher number goes first.
    pub number: u32,
    /// Cycles for all elements, and ops, each for each place of the code that it is at.
    pub cycles: f32,
    pub code: f32,
    /// Sorted.
    pub operands: Vec<Operand>,
    /// What elementwise ops are asked for by; the first is the result.
    pub roots: Vec<Asked>,
    /// Nanoseconds to read, to write, and in all.
    pub read: f32,
    pub write: f32,
    pub all: f32,
    /// Blocks of threads.
    pub blocks: f32,
    pub readers: Vec<Reader>,
    /// Whether it is merged is a matter of time.
    pub is_open: bool,
    /// It reduces many elements to one.
    pub reduces: bool,
    /// How often its priority has changed.
    pub version: u32,
}

/// A kernel that reads what another makes.
#[derive(Debug)]
pub(super) struct Reader {
    pub group: Id,
    /// Nanoseconds that it takes less if it computes what it reads.
    pub gain: f32,
    /// It can.
    pub fits: bool,
}

impl Reader {
    pub fn new(group: Id) -> Self {
        Self { group, gain: 0.0, fits: true }
    }
}

impl Group {
    pub fn asked(&self, operand: &Operand) -> Asked {
        operand.ways.iter().fold(operand.own, |all, &way| all.and(self.roots[way as usize]))
    }

    /// Nanoseconds that are won if all that read it compute it.
    pub fn gain(&self) -> f32 {
        START + self.all + self.readers.iter().map(|reader| reader.gain).sum::<f32>()
    }

    pub fn reads(&self, id: Id) -> Option<&Operand> {
        self.operands.binary_search_by_key(&id, |operand| operand.id).ok().map(|at| &self.operands[at])
    }

    /// Elements of one operand that are asked for by the same as those of another.
    pub fn common(&self, one: &Operand, other: &Operand) -> f32 {
        let both = one.ways.iter().filter(|way| other.ways.contains(way));
        both.map(|&way| self.roots[way as usize].often).sum()
    }

    /// Makes what another kernel computes part of this one, which reads `made` of it; whether it does.
    pub fn absorb(&mut self, from: &Self, made: Id) -> bool {
        let Ok(at) = self.operands.binary_search_by_key(&made, |operand| operand.id) else { return false };
        self.operands.iter_mut().for_each(|operand| operand.more = 0.0);
        let mut asking = self.operands.remove(at);
        let asked = self.asked(&asking);
        self.reduces |= from.reduces;
        self.cycles += from.cycles * asked.often;
        self.code += from.code * asked.places;
        if asking.own.places > 0.0 {
            asking.ways.push(self.roots.len() as u32);
            self.roots.push(asking.own);
        }
        let first = self.roots.len() as u32;
        self.roots.extend(from.roots.iter().skip(1).map(|root| root.through(asked)));
        let mut before = std::mem::take(&mut self.operands).into_iter().peekable();
        let mut all = Vec::with_capacity(before.len() + from.operands.len());
        for operand in &from.operands {
            while let Some(other) = before.next_if(|other| other.id < operand.id) {
                all.push(other);
            }
            let known = before.next_if(|other| other.id == operand.id);
            let empty = || Operand::new(operand.id, Asked::default(), SmallVec::new());
            let mut merged = known.unwrap_or_else(empty);
            if operand.own.places > 0.0 {
                merged.own = merged.own.and(operand.own.through(asked));
            }
            for &way in &operand.ways {
                match way {
                    0 => asking.ways.iter().for_each(|&way| self.add_way(&mut merged, way)),
                    _ => self.add_way(&mut merged, first + way - 1),
                }
            }
            all.push(merged);
        }
        all.extend(before);
        self.operands = all;
        self.forget_roots();
        true
    }

    fn add_way(&self, operand: &mut Operand, way: u32) {
        if operand.ways.contains(&way) {
            return;
        }
        if operand.ways.len() < MOST_WAYS {
            operand.ways.push(way);
        } else {
            operand.own = operand.own.and(self.roots[way as usize]);
        }
    }

    /// Leaves out roots that nothing is asked for by any more, if there are many.
    fn forget_roots(&mut self) {
        if self.roots.len() <= MOST_ROOTS {
            return;
        }
        let mut places = vec![u32::MAX; self.roots.len()];
        places[0] = 0;
        let mut roots = vec![self.roots[0]];
        for way in self.operands.iter_mut().flat_map(|operand| &mut operand.ways) {
            let place = &mut places[*way as usize];
            if *place == u32::MAX {
                *place = roots.len() as u32;
                roots.push(self.roots[*way as usize]);
            }
            *way = *place;
        }
        self.roots = roots;
    }
}

/// The way of an elementwise op's operand.
pub(super) fn at_root() -> SmallVec<[u32; 2]> {
    smallvec![0]
}
