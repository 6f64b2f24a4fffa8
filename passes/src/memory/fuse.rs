// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which values get memory: ops are gathered into kernels, and only what leaves a kernel is stored.

use super::graph::{Class, Graph, Id};
use std::collections::HashMap;

/// What is stored, and by what it is computed.
pub(super) struct Kernels {
    /// One per node that is stored, in program order: what it reads.
    pub kernels: Vec<Kernel>,
    /// The kernel whose root a node is.
    pub of: Vec<Option<Id>>,
}

pub(super) struct Kernel {
    /// The node whose results are stored.
    pub node: Id,
    /// Values read from memory, each once.
    pub reads: Vec<Read>,
}

#[derive(Clone, Copy)]
pub(super) struct Read {
    pub value: Id,
    /// Each element is read only for the result element at the same place.
    pub pointwise: bool,
}

/// Which kernels a node is computed in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Homes {
    None,
    One(Id),
    Many,
}

impl Homes {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, homes) | (homes, Self::None) => homes,
            (Self::One(left), Self::One(right)) if left == right => self,
            _ => Self::Many,
        }
    }
}

/// More reads than this are not told apart: the others count as the first ones do.
const MOST_READS: usize = 64;

struct Fusion<'g, 'c, 'a> {
    graph: &'g Graph<'c, 'a>,
    /// Nodes that use a node, once per use, in order.
    users: Vec<Vec<Id>>,
    /// The library's kernel that a node is part of: its root.
    cluster: Vec<Option<Id>>,
    homes: Vec<Homes>,
    /// Elements are read more than once on the way to the root.
    repeats: Vec<bool>,
    stored: Vec<bool>,
    /// A node is computed inside of at least one user.
    inlined: Vec<bool>,
}

pub(super) fn kernels(graph: &Graph<'_, '_>) -> Kernels {
    let count = graph.nodes.len();
    let mut users = vec![Vec::new(); count];
    for (index, node) in graph.nodes.iter().enumerate().filter(|(_, node)| node.live) {
        for &operand in &node.operands {
            users[graph.values[operand as usize].node as usize].push(index as Id);
        }
    }
    let mut fusion = Fusion {
        graph,
        users,
        cluster: vec![None; count],
        homes: vec![Homes::None; count],
        repeats: vec![false; count],
        stored: vec![false; count],
        inlined: vec![false; count],
    };
    fusion.clusters();
    fusion.decide();
    fusion.collect()
}

impl Fusion<'_, '_, '_> {
    fn node_of(&self, value: Id) -> Id {
        self.graph.values[value as usize].node
    }

    fn class(&self, node: Id) -> Class {
        self.graph.nodes[node as usize].class
    }

    fn is_result(&self) -> Vec<bool> {
        let mut is_result = vec![false; self.graph.nodes.len()];
        for &id in &self.graph.results {
            is_result[self.node_of(id) as usize] = true;
        }
        is_result
    }

    /// What a library of reductions takes together: the arithmetic that feeds one, and a softmax' way back.
    fn clusters(&mut self) {
        let is_result = self.is_result();
        for start in 0..self.graph.nodes.len() as Id {
            let node = &self.graph.nodes[start as usize];
            let Class::Reduce(reduce) = node.class else { continue };
            if !node.live || !reduce.library || self.cluster[start as usize].is_some() {
                continue;
            }
            // Downwards: reduced, broadcast, and met again by what was reduced.
            let mut members = vec![start];
            let mut root = start;
            let only_user = |node: Id| match self.users[node as usize][..] {
                [only] if !is_result[node as usize] => Some(only),
                _ => None,
            };
            let feeds = self.node_of(node.operands[0]);
            if let Some(broadcast) = only_user(start).filter(|&user| self.class(user) == Class::Broadcast)
                && let Some(meets) = only_user(broadcast)
                && matches!(self.class(meets), Class::Map(map) if map.library)
                && self.users[feeds as usize].iter().all(|&user| user == start || user == meets)
                && self.graph.nodes[meets as usize]
                    .operands
                    .iter()
                    .any(|&operand| self.node_of(operand) == feeds)
            {
                members.extend([broadcast, meets]);
                root = meets;
                while let Some(next) = only_user(root)
                    && matches!(self.class(next), Class::Map(map) if map.library)
                    && self.graph.nodes[next as usize].operands.len() == 1
                {
                    members.push(next);
                    root = next;
                }
            }
            for &member in &members {
                self.cluster[member as usize] = Some(root);
            }
            // Upwards.
            let mut pending = members;
            while let Some(member) = pending.pop() {
                if self.class(member) == Class::Dot {
                    continue;
                }
                for &operand in &self.graph.nodes[member as usize].operands {
                    let producer = self.node_of(operand);
                    let fits = match self.class(producer) {
                        Class::Map(map) => map.library,
                        Class::Dot => true,
                        Class::Broadcast => true,
                        _ => false,
                    };
                    if fits
                        && self.cluster[producer as usize].is_none()
                        && !is_result[producer as usize]
                        && self.users[producer as usize]
                            .iter()
                            .all(|&user| self.cluster[user as usize] == Some(root))
                    {
                        self.cluster[producer as usize] = Some(root);
                        pending.push(producer);
                    }
                }
            }
        }
    }

    /// Whether `user` could compute `producer`, its operand number `index`, on the fly.
    fn may_inline(&self, producer: Id, user: Id, index: usize) -> bool {
        if let Some(root) = self.cluster[producer as usize]
            && root != producer
        {
            return self.cluster[user as usize] == Some(root);
        }
        if self.cluster[producer as usize].is_some() || self.cluster[user as usize].is_some() {
            return false;
        }
        let fusible = match self.class(producer) {
            Class::Map(_) | Class::Broadcast | Class::Iota | Class::Move | Class::Read | Class::Update => {
                true
            }
            Class::Reduce(reduce) => !reduce.library && reduce.minor,
            _ => false,
        };
        fusible
            && match self.class(user) {
                Class::Map(_) | Class::Broadcast | Class::Move | Class::Read => true,
                // An update happens in the memory of what is updated.
                Class::Update => index != 0 || !matches!(self.class(producer), Class::Update),
                Class::Reduce(reduce) => !reduce.library && reduce.minor,
                _ => false,
            }
    }

    fn is_expensive(&self, node: Id) -> bool {
        match self.class(node) {
            Class::Map(map) => map.expensive,
            Class::Reduce(_) => true,
            Class::Read => self.graph.nodes[node as usize]
                .op
                .is_some_and(|op| slimhlo_dialect::ffi::op_name(op) == "stablehlo.gather"),
            _ => false,
        }
    }

    /// From the last node to the first: is it stored, and in which kernels is it computed?
    fn decide(&mut self) {
        let is_result = self.is_result();
        for node in (0..self.graph.nodes.len() as Id).rev() {
            let index = node as usize;
            if !self.graph.nodes[index].live {
                continue;
            }
            let mut homes = Homes::None;
            let mut stored =
                is_result[index] || self.graph.nodes[index].effects || self.users[index].is_empty();
            let mut repeats = false;
            let mut several = false;
            for user in 0..self.users[index].len() {
                let user = self.users[index][user];
                let inlines = self.graph.nodes[user as usize]
                    .operands
                    .iter()
                    .enumerate()
                    .filter(|&(_, &operand)| self.node_of(operand) == node)
                    .all(|(at, _)| self.may_inline(node, user, at));
                if !inlines {
                    stored = true;
                    continue;
                }
                let own = if self.stored[user as usize] { Homes::One(user) } else { Homes::None };
                let through =
                    if self.inlined[user as usize] { self.homes[user as usize] } else { Homes::None };
                homes = homes.and(own).and(through);
                repeats |= self.repeats[user as usize] || self.grows(user);
                several |= user != self.users[index][0];
            }
            let in_cluster = self.cluster[index].is_some_and(|root| root != node);
            if self.is_expensive(node)
                && !in_cluster
                && (stored || homes == Homes::Many || repeats || several && self.is_read_apart(node))
            {
                stored = true;
                homes = Homes::None;
            }
            self.stored[index] = stored || homes == Homes::None;
            self.inlined[index] = homes != Homes::None;
            self.homes[index] = homes;
            self.repeats[index] = repeats;
        }
    }

    /// Whether users read an expensive result at different places.
    fn is_read_apart(&self, _node: Id) -> bool {
        false
    }

    fn grows(&self, node: Id) -> bool {
        let node = &self.graph.nodes[node as usize];
        node.class == Class::Broadcast
            && node.operands.first().is_some_and(|&operand| {
                self.graph.values[operand as usize].elements < self.graph.values[node.first as usize].elements
            })
    }

    /// What each kernel reads.
    fn collect(self) -> Kernels {
        let count = self.graph.nodes.len();
        let mut of = vec![None; count];
        let mut kernels = Vec::new();
        // Of nodes that are computed on the fly.
        let mut through: Vec<Vec<Read>> = vec![Vec::new(); count];
        for (index, node) in self.graph.nodes.iter().enumerate().filter(|(_, node)| node.live) {
            let mut reads: Vec<Read> = Vec::new();
            let mut at: HashMap<Id, usize> = HashMap::new();
            let mut add = |read: Read| match at.get(&read.value) {
                Some(&place) => {
                    let known: &mut Read = &mut reads[place];
                    known.pointwise &= read.pointwise;
                }
                None if reads.len() < MOST_READS || self.stored[index] => {
                    at.insert(read.value, reads.len());
                    reads.push(read);
                }
                None => {}
            };
            let elements = self.graph.values.get(node.first as usize).map_or(0, |value| value.elements);
            let maps = matches!(node.class, Class::Map(_));
            for (place, &operand) in node.operands.iter().enumerate() {
                let producer = self.node_of(operand);
                let pointwise = maps && self.graph.values[operand as usize].elements == elements
                    || place == 0 && node.class == Class::Update;
                if self.class(producer) == Class::Constant {
                    continue;
                }
                if self.inlined[producer as usize] && self.may_inline(producer, index as Id, place) {
                    for read in &through[producer as usize] {
                        add(Read { value: read.value, pointwise: read.pointwise && pointwise });
                    }
                } else {
                    add(Read { value: operand, pointwise });
                }
            }
            if self.stored[index] && node.class != Class::Constant {
                of[index] = Some(kernels.len() as Id);
                kernels.push(Kernel { node: index as Id, reads: reads.clone() });
            }
            if self.inlined[index] {
                reads.truncate(MOST_READS);
                through[index] = reads;
            }
        }
        Kernels { kernels, of }
    }
}
