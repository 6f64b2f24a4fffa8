// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is stored because computing it where it is needed reads too much.
//!
//! A stencil of a stencil could be computed in one kernel: each of its elements needs five of the inner stencil, and these five of the
//! field each. A back end that weighs bytes stores the inner one. It is asked of ops whose elements others than elementwise ops ask
//! for: `r` bytes are read for one of its elements of `e` bytes, and `w` elements asked for in its place. On the fly that reads `w r`,
//! stored it reads `r`, writes `e` and reads `w e`. What is read more than once comes from the cache if that holds the array.

use super::super::graph::{Class, Id, Node};
use super::Fusion;
use crate::target::Rereads;
use smallvec::{SmallVec, smallvec};

/// Values that are read for elements at the same place, and who asks for others, as many as are told apart.
const MOST: usize = 8;

/// Who asks for elements, and how many for one.
type Askers = SmallVec<[(Id, f32); 4]>;

/// What is read for one element.
#[derive(Clone, Default)]
struct Taken {
    /// Values of which the element at the same place is read.
    here: SmallVec<[Id; 4]>,
    /// Bytes of other elements.
    elsewhere: f32,
}

impl Fusion<'_, '_, '_> {
    /// Marks those, from the first node to the last: what comes after a stored one reads that. Then the bytes that are read for one element of
    /// each node.
    pub(super) fn spill(&self, rereads: Rereads) -> (Vec<bool>, Vec<f32>) {
        let count = self.graph.nodes.len();
        let askers = self.askers();
        let mut taken = vec![Taken::default(); count];
        let mut spilled = vec![false; count];
        for (index, node) in self.graph.nodes.iter().enumerate().filter(|(_, node)| node.live) {
            let Some(own) = self.taken_for(node, &taken) else {
                taken[index]
                    .here
                    .extend((node.class != Class::Constant && node.count == 1).then_some(node.first));
                continue;
            };
            let asks_elsewhere = |&user: &Id| !matches!(self.class(user), Class::Map(_));
            if self.users.of(index as Id).iter().any(asks_elsewhere) {
                let wanted = askers[index].iter().map(|&(_, share)| share).sum();
                spilled[index] = self.rereads_more(node, self.bytes(&own), wanted, rereads);
            }
            let narrow = self.node_of_narrow(index as Id).filter(|_| spilled[index]);
            if let Some(narrow) = narrow {
                // What is only made wider is stored as it was.
                spilled[index] = false;
                spilled[narrow as usize] = true;
                let first = self.graph.nodes[narrow as usize].first;
                taken[narrow as usize] = Taken { here: smallvec![first], elsewhere: 0.0 };
                taken[index] = taken[narrow as usize].clone();
            } else if spilled[index] {
                taken[index].here.push(node.first);
            } else {
                taken[index] = own;
            }
        }
        let reads = taken.iter().map(|taken| self.bytes(taken)).collect();
        (spilled, reads)
    }

    /// What a node only makes wider, if that is computed, too.
    fn node_of_narrow(&self, node: Id) -> Option<Id> {
        let before = self.node_of(*self.graph.nodes[node as usize].operands.first()?);
        (self.widens(node) && matches!(self.class(before), Class::Map(_))).then_some(before)
    }

    /// Whether it takes longer to read what it is made of for each that asks than to store it.
    fn rereads_more(
        &self,
        node: &Node<'_, '_>,
        taken: f32,
        wanted: f32,
        Rereads { cache, share, .. }: Rereads,
    ) -> bool {
        let value = &self.graph.values[node.first as usize];
        let each = value.bytes as f32 / value.elements.max(1) as f32;
        let share = if value.bytes > cache { 1.0 } else { share };
        let saved = share * (wanted - 1.0) * (taken - each) - 2.0 * each;
        saved * value.elements as f32 > self.storage.launch_bytes as f32
    }

    /// What is read for one element if nothing is stored that need not be; `None` if it is stored anyway.
    fn taken_for(&self, node: &Node<'_, '_>, taken: &[Taken]) -> Option<Taken> {
        let elements =
            self.graph.values.get(node.first as usize).filter(|_| node.count == 1)?.elements.max(1) as f32;
        let operands = node.operands.iter().map(|&operand| &self.graph.values[operand as usize]);
        let mut own = Taken::default();
        match node.class {
            Class::Map(_) => {
                for before in operands.map(|operand| &taken[operand.node as usize]) {
                    own.elsewhere += before.elsewhere;
                    for &value in &before.here {
                        if own.here.len() < MOST && !own.here.contains(&value) {
                            own.here.push(value);
                        }
                    }
                }
            }
            Class::Move | Class::Pad | Class::Join { .. } | Class::Read | Class::Broadcast => {
                // Of an operand with fewer elements the result has only these.
                let part = |operand: &super::super::graph::Content<'_>| match operand.elements {
                    // Next to nothing, and by how many ways it is come by, of random numbers' keys, nobody could tell.
                    0 | 1 => 0.0,
                    all => self.bytes(&taken[operand.node as usize]) * (all as f32 / elements).min(1.0),
                };
                own.elsewhere = operands.map(part).sum();
            }
            Class::Iota => {}
            _ => return None,
        }
        Some(own)
    }

    fn bytes(&self, taken: &Taken) -> f32 {
        let each = |&value: &Id| {
            let value = &self.graph.values[value as usize];
            value.bytes as f32 / value.elements.max(1) as f32
        };
        taken.elsewhere + taken.here.iter().map(each).sum::<f32>()
    }

    /// For each node those that ask for its elements, through elementwise ops, and for how many for one of its own.
    fn askers(&self) -> Vec<Askers> {
        let kept = self.kept();
        let elements = |node: Id| self.elements(node).max(1) as f32;
        let mut askers: Vec<Askers> = vec![Askers::new(); self.graph.nodes.len()];
        for node in (0..self.graph.nodes.len() as Id).rev() {
            let mut own = Askers::new();
            let mut add = |asker: Id, share: f32| {
                if own.len() < MOST && own.iter().all(|&(known, _)| known != asker) {
                    own.push((asker, share));
                }
            };
            for &user in self.users.of(node) {
                if matches!(self.class(user), Class::Map(_)) && !kept[user as usize] {
                    askers[user as usize].iter().for_each(|&(asker, share)| add(asker, share));
                } else {
                    add(user, (elements(user) / elements(node)).min(1.0));
                }
            }
            askers[node as usize] = own;
        }
        askers
    }
}
