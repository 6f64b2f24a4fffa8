// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a library of reductions takes together: all the arithmetic around one that nothing else needs a part of.

use super::super::graph::{Class, Id, Node, Reduce};
use super::Fusion;
use rustc_hash::FxHashMap;

impl Fusion<'_, '_, '_> {
    /// The root of the cluster of each node that is in one: the one node of a cluster that is stored.
    pub(super) fn clusters(&self) -> Vec<Option<Id>> {
        let nodes = self.graph.nodes.len();
        let library = |node: &Node| node.live && node.class == Class::Reduce(Reduce::Library);
        if !self.graph.nodes.iter().any(library) {
            return vec![None; nodes];
        }
        let mut clusters = Clusters {
            fusion: self,
            is_result: self.is_result(),
            parent: vec![NONE; nodes],
            root: vec![NONE; nodes],
            together: vec![0; nodes],
            wanted: FxHashMap::default(),
            pending: Vec::new(),
        };
        for seed in 0..nodes as Id {
            if library(&self.graph.nodes[seed as usize]) {
                clusters.grow(seed);
            }
        }
        let root_of = |member| clusters.find(member).map(|cluster| clusters.root[cluster as usize]);
        (0..nodes as Id).map(root_of).collect()
    }

    /// Whether the library can take an op together with a reduction.
    pub(super) fn is_known(&self, node: Id) -> bool {
        // Less than this is not worth its while.
        const FEWEST: u64 = 4096;
        let elements = |value: Id| self.graph.values.get(value as usize).map_or(0, |value| value.elements);
        let node = &self.graph.nodes[node as usize];
        match node.class {
            Class::Map(map) => map.library && elements(node.first) >= FEWEST,
            Class::Broadcast | Class::Iota | Class::Pad => elements(node.first) >= FEWEST,
            Class::Reduce(reduce) => reduce == Reduce::Library,
            Class::Dot { .. } => true,
            _ => false,
        }
    }
}

/// No cluster.
const NONE: Id = Id::MAX;

/// Clusters while they grow.
struct Clusters<'f, 'g, 'c, 'a> {
    fusion: &'f Fusion<'g, 'c, 'a>,
    is_result: Vec<bool>,
    /// Towards the node that stands for the cluster, for each node of one.
    parent: Vec<Id>,
    /// The one node that is stored, by the node that stands for the cluster.
    root: Vec<Id>,
    /// How many of a node's first users are known to be in one cluster: they stay so.
    together: Vec<usize>,
    /// What else uses keeps it out of a cluster, by cluster.
    wanted: FxHashMap<Id, Vec<Id>>,
    /// Operands of members, not looked at.
    pending: Vec<Id>,
}

impl Clusters<'_, '_, '_, '_> {
    /// What stands for the cluster of a node, if it is in one. Shortens the way there.
    fn find(&mut self, mut node: Id) -> Option<Id> {
        let mut up = self.parent[node as usize];
        if up == NONE {
            return None;
        }
        while up != node {
            let next = self.parent[up as usize];
            self.parent[node as usize] = next;
            node = up;
            up = next;
        }
        Some(up)
    }

    /// As two clusters become one, what both want may be taken: it is among what the one wants that wants less.
    fn join(&mut self, from: Id, into: Id) {
        self.parent[from as usize] = into;
        let mut few = self.wanted.remove(&from).unwrap_or_default();
        let many = self.wanted.entry(into).or_default();
        if few.len() > many.len() {
            std::mem::swap(&mut few, many);
        }
        self.pending.extend(few);
    }

    fn add_producers(&mut self, node: Id) {
        let operands = self.fusion.graph.nodes[node as usize].operands.iter().rev();
        self.pending.extend(operands.map(|&operand| self.fusion.node_of(operand)));
    }

    /// Grows the cluster of a reduction as far as it goes: to what its members are made of, and to what alone uses its root.
    fn grow(&mut self, seed: Id) {
        if self.find(seed).is_none() {
            self.parent[seed as usize] = seed;
            self.root[seed as usize] = seed;
        }
        self.pending.clear();
        self.add_producers(seed);
        loop {
            while let Some(producer) = self.pending.pop() {
                self.take_producer(seed, producer);
            }
            let Some(own) = self.find(seed) else { break };
            let last = self.root[own as usize];
            let users = self.fusion.users.of(last);
            let Some(&user) = users.first() else { break };
            if self.is_result[last as usize] || users.iter().any(|&other| other != user) {
                break;
            }
            let joins = self.fusion.class(user) != (Class::Dot { joins: false });
            match self.find(user) {
                Some(other) if other != own => self.join(own, other),
                None if self.fusion.is_known(user) && joins => {
                    self.parent[user as usize] = own;
                    self.root[own as usize] = user;
                }
                _ => break,
            }
            self.add_producers(user);
        }
    }

    /// Takes what a member is made of into the cluster, or notes that others need it.
    fn take_producer(&mut self, seed: Id, producer: Id) {
        let Some(own) = self.find(seed) else { return };
        let other = self.find(producer);
        if other == Some(own) || self.is_result[producer as usize] {
            return;
        }
        let users = self.fusion.users.of(producer);
        let first = users.first().is_none_or(|&user| self.find(user) == Some(own));
        if first {
            let mut known = self.together[producer as usize];
            while users.get(known).is_some_and(|&user| self.find(user) == Some(own)) {
                known += 1;
            }
            self.together[producer as usize] = known;
        }
        if !first || self.together[producer as usize] < users.len() {
            self.wanted.entry(own).or_default().push(producer);
            return;
        }
        match other {
            Some(other) if self.root[other as usize] == producer => self.join(other, own),
            None if self.fusion.is_known(producer) => {
                self.parent[producer as usize] = own;
                self.add_producers(producer);
            }
            _ => {}
        }
    }
}
