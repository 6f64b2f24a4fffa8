// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is stored because all that it is made of would be read for it in each of several kernels.
//!
//! The gradient that goes back along a residual stream is a sum of sums: each layer adds what its own products made, and reads what there is
//! for a reduction or two besides. Each of these additions by itself reads two arrays and writes one, and might as well be done again
//! by each reader; all of them together, back to the products, read three arrays a layer. A back end that weighs bytes kernel by
//! kernel stores the sum once enough has come together.
//!
//! Which kernels a value is computed in is known once all has been decided; what they would read for it, from the first value to the
//! last, is known then, too. So this is a second look, by which what is decided is decided again.

use super::super::graph::{Class, Id};
use super::Fusion;
use smallvec::SmallVec;

/// Values in memory that are read for an element, as many as are told apart.
const MOST: usize = 24;

/// Values that are read, and bytes of parts of others.
#[derive(Clone, Default)]
struct Leaves {
    values: SmallVec<[Id; 8]>,
    others: u64,
}

impl Fusion<'_, '_, '_> {
    /// Marks those; says whether there are any.
    pub(super) fn look_again(&mut self) -> bool {
        self.revise(|fusion, node, taken| {
            let stored = fusion.reads_more_than_stored(node, taken);
            let is_made = fusion.inlined[node as usize] && !fusion.stored[node as usize];
            // What is stored in another order is so for all that read it, if layouts can be chosen.
            let is_copied = || {
                let homes = fusion.homes[node as usize];
                homes.told_apart().iter().any(|&home| fusion.class(home) == Class::Move)
            };
            (stored && is_made && !is_copied()).then_some(true)
        })
    }

    /// Takes back marks of values that, now that others are stored, are needed in too few kernels; says whether there were any.
    pub(super) fn take_back(&mut self) -> bool {
        self.revise(|fusion, node, taken| {
            let stored = fusion.reads_more_than_stored(node, taken);
            (fusion.collected[node as usize] && !stored).then_some(false)
        })
    }

    /// Marks elementwise ops or takes marks back, from the first to the last, as `decide` says of what is read for each.
    fn revise(&mut self, decide: impl Fn(&Self, Id, u64) -> Option<bool>) -> bool {
        let mut leaves = vec![Leaves::default(); self.graph.nodes.len()];
        let mut any = false;
        for (index, node) in
            self.graph.nodes.iter().enumerate().filter(|(_, node)| node.live && node.count == 1)
        {
            let own = self.leaves_of(index as Id, &leaves);
            if matches!(node.class, Class::Map(_)) {
                let bytes = |id: &Id| self.graph.values[*id as usize].bytes;
                let taken = own.values.iter().map(bytes).sum::<u64>().saturating_add(own.others);
                if let Some(marked) = decide(self, index as Id, taken) {
                    self.collected[index] = marked;
                    any = true;
                }
            }
            let is_made = self.inlined[index] && !self.stored[index];
            if is_made && !self.collected[index] || self.is_free(index as Id) {
                leaves[index] = own;
            } else {
                leaves[index].values.push(node.first);
            }
        }
        any
    }

    /// Whether the kernels that need a value, which is made of so many bytes, had better read it.
    fn reads_more_than_stored(&self, node: Id, taken: u64) -> bool {
        let own = self.graph.values[self.graph.nodes[node as usize].first as usize].bytes;
        let kernels = u64::from(self.kernels[node as usize]);
        kernels > 1 && self.is_less_stored(own, taken, kernels)
    }

    /// What is read for a node that is computed on the fly. Of what is much larger no more is read than comes of it, and what neighbours
    /// read as well is read once: stencils are the business of `spill.rs`.
    fn leaves_of(&self, index: Id, leaves: &[Leaves]) -> Leaves {
        let node = &self.graph.nodes[index as usize];
        let mut own = Leaves::default();
        let made = self.graph.values[node.first as usize].bytes;
        let bytes = |id: &Id| self.graph.values[*id as usize].bytes;
        for &operand in &node.operands {
            let before = &leaves[self.node_of(operand) as usize];
            let all = before.values.iter().map(bytes).sum::<u64>().saturating_add(before.others);
            if all > made.saturating_mul(2) && !matches!(node.class, Class::Map(_)) {
                own.others = own.others.saturating_add(made);
                continue;
            }
            own.others = own.others.saturating_add(before.others);
            for &value in &before.values {
                if own.values.len() < MOST && !own.values.contains(&value) {
                    own.values.push(value);
                }
            }
        }
        own
    }
}
