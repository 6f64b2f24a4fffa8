// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The cheapest way to have values where they are needed: each is kept, for its bytes, or computed again from others, for a price.
//!
//! A value is two nodes, and what is between them is what keeping it costs. Into the first flows what computing it again takes, and all that is
//! computed from; out of the second what is computed of it, and what is needed. A minimum cut between those who pay and those who
//! need is a cheapest choice (the way in which compilers of PyTorch's graphs split a step's forward from its backward part). Of all such
//! cuts the one next to what is needed is taken, from where the least has to be computed again.

use crate::ir;
use crate::tables::Table;
use melior::ir::Value;
use std::collections::VecDeque;

/// What cannot be paid.
pub const ENDLESS: u64 = 1 << 60;

/// Who pays.
pub const SOURCE: u32 = 0;
/// Who needs.
pub const SINK: u32 = 1;
/// The first node of the first value.
const FIRST: u32 = 2;

/// Where one of both directions of a pipe leads, and how much may still flow there: the other direction is its
/// neighbour among all.
#[derive(Clone, Copy)]
struct Arc {
    to: u32,
    left: u64,
}

/// Values, and what they cost.
#[derive(Default)]
pub struct Network<'c, 'a> {
    values: Vec<Value<'c, 'a>>,
    /// Each value's first node; the second one is next to it.
    nodes: Table<usize, u32>,
    /// From which node to which how much may flow.
    pipes: Vec<(u32, u32, u64)>,
}

impl<'c, 'a> Network<'c, 'a> {
    /// How many nodes there are: a maximum flow is not linear in them.
    pub fn size(&self) -> usize {
        FIRST as usize + 2 * self.values.len()
    }

    /// Adds a value that can be kept for `bytes`; false if it is known.
    pub fn add(&mut self, value: Value<'c, 'a>, bytes: impl FnOnce() -> u64) -> bool {
        let node = self.size() as u32;
        if *self.nodes.entry(ir::key(value)).or_insert(node) != node {
            return false;
        }
        self.values.push(value);
        self.pipes.push((node, node + 1, bytes()));
        true
    }

    /// A value that was added is needed.
    pub fn need(&mut self, value: Value<'c, 'a>) {
        self.pipes.push((self.after(value), SINK, ENDLESS));
    }

    /// To compute a value again costs this.
    pub fn price(&mut self, value: Value<'c, 'a>, price: u64) {
        self.pipes.push((SOURCE, self.nodes[&ir::key(value)], price));
    }

    /// To compute a value again takes an operand; both were added.
    pub fn takes(&mut self, value: Value<'c, 'a>, operand: Value<'c, 'a>) {
        self.pipes.push((self.after(operand), self.nodes[&ir::key(value)], ENDLESS));
    }

    fn after(&self, value: Value<'c, 'a>) -> u32 {
        self.nodes[&ir::key(value)] + 1
    }

    /// The values to keep in the cheapest choice; `None` if what is needed cannot be had at all.
    pub fn cut(&self) -> Option<Vec<Value<'c, 'a>>> {
        let mut flow = Flow::new(self.size(), &self.pipes);
        flow.is_filled().then_some(())?;
        let again = flow.before(SINK);
        let firsts = (FIRST as usize..).step_by(2).zip(&self.values);
        let kept = firsts.filter(|&(node, _)| !again[node] && again[node + 1]);
        Some(kept.map(|(_, value)| *value).collect())
    }
}

/// A flow from those who pay to those who need, by Dinitz: of ways that have as few pipes as any all are filled at
/// once.
pub struct Flow {
    /// Both directions of each pipe, side by side.
    arcs: Vec<Arc>,
    /// The arcs out of each node, those of one node in one piece, and where each node's begin.
    out: Vec<u32>,
    starts: Vec<u32>,
    /// How many pipes it is from the source to each node.
    levels: Vec<u32>,
    /// Which of a node's arcs is next: what comes before it leads nowhere any more.
    next: Vec<u32>,
}

/// The level of what cannot be reached.
const FAR: u32 = u32::MAX;

impl Flow {
    /// So many nodes, and pipes from one to another, each of which takes so much.
    pub fn new(nodes: usize, pipes: &[(u32, u32, u64)]) -> Self {
        let both =
            |&(from, to, left): &(u32, u32, u64)| [(from, Arc { to, left }), (to, Arc { to: from, left: 0 })];
        let mut starts = vec![0u32; nodes + 1];
        pipes.iter().flat_map(both).for_each(|(from, _)| starts[from as usize + 1] += 1);
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut free = starts.clone();
        let mut out = vec![0u32; 2 * pipes.len()];
        for ((from, _), arc) in pipes.iter().flat_map(both).zip(0..) {
            let place = &mut free[from as usize];
            out[*place as usize] = arc;
            *place += 1;
        }
        let arcs = pipes.iter().flat_map(both).map(|(_, arc)| arc).collect();
        Self { arcs, out, starts, levels: vec![FAR; nodes], next: vec![0; nodes] }
    }

    fn out_of(&self, node: u32) -> &[u32] {
        &self.out[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// Has as much flow as can; false if that is [`ENDLESS`].
    pub fn is_filled(&mut self) -> bool {
        let mut all = 0u64;
        while self.measure() {
            let Self { starts, next, .. } = self;
            next.copy_from_slice(&starts[..starts.len() - 1]);
            while let Some(more) = self.fill_one() {
                all = all.saturating_add(more);
                if all >= ENDLESS {
                    return false;
                }
            }
        }
        true
    }

    /// Finds out how far each node is from the source; whether the sink can be reached.
    fn measure(&mut self) -> bool {
        self.levels.fill(FAR);
        self.levels[SOURCE as usize] = 0;
        let mut pending = VecDeque::from([SOURCE]);
        while let Some(node) = pending.pop_front() {
            let level = self.levels[node as usize] + 1;
            for at in self.starts[node as usize]..self.starts[node as usize + 1] {
                let Arc { to, left } = self.arcs[self.out[at as usize] as usize];
                if left > 0 && self.levels[to as usize] == FAR {
                    self.levels[to as usize] = level;
                    if to == SINK {
                        // What is as far leads nowhere in as few pipes.
                        return true;
                    }
                    pending.push_back(to);
                }
            }
        }
        false
    }

    /// Fills one of the shortest ways; how much then flows through it, if there is one left.
    fn fill_one(&mut self) -> Option<u64> {
        // Arcs from the source on.
        let mut way: Vec<u32> = Vec::new();
        let mut node = SOURCE;
        while node != SINK {
            let Self { arcs, out, starts, levels, next } = self;
            let at = &mut next[node as usize];
            let onwards = levels[node as usize] + 1;
            let open = (*at..starts[node as usize + 1]).find(|&at| {
                let Arc { to, left } = arcs[out[at as usize] as usize];
                left > 0 && levels[to as usize] == onwards
            });
            match open {
                Some(open) => {
                    *at = open;
                    way.push(out[open as usize]);
                    node = arcs[out[open as usize] as usize].to;
                }
                None => {
                    *at = starts[node as usize + 1];
                    let back = way.pop()?;
                    node = arcs[back as usize ^ 1].to;
                    next[node as usize] += 1;
                }
            }
        }
        let most = way.iter().map(|&arc| self.arcs[arc as usize].left).min()?;
        for arc in way {
            self.arcs[arc as usize].left -= most;
            self.arcs[arc as usize ^ 1].left += most;
        }
        Some(most)
    }

    /// From which nodes more could still flow to this one.
    pub fn before(&self, node: u32) -> Vec<bool> {
        let mut before = vec![false; self.levels.len()];
        before[node as usize] = true;
        let mut front = vec![node];
        while let Some(node) = front.pop() {
            for &arc in self.out_of(node) {
                let from = self.arcs[arc as usize].to;
                let open = self.arcs[arc as usize ^ 1].left > 0;
                if open && !std::mem::replace(&mut before[from as usize], true) {
                    front.push(from);
                }
            }
        }
        before
    }
}
