// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which values get memory: ops are gathered into kernels, and only what leaves a kernel is stored.

mod clusters;
mod collect;
mod costs;
mod leaves;
mod priority;
mod products;
mod rows;
mod siblings;
mod spill;

use super::graph::{Class, Graph, Id, Node, Reduce};
use super::lists::Lists;
use crate::ir::i64_array;
use crate::ops::updates;
use crate::target::{Reductions, Storage};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// What is stored, and by what it is computed.
pub(super) struct Kernels {
    /// One per node that is stored, or per few that are stored together, in an order in which they could run.
    pub kernels: Vec<Kernel>,
    /// The kernel whose root a node is.
    pub of: Vec<Option<Id>>,
    /// What all kernels read, those of one kernel in one piece.
    reads: Vec<Read>,
    /// Nodes that are stored beside kernels' own, those of one kernel in one piece.
    beside: Vec<Id>,
    /// Sums and extremes of rows that are computed in the kernel of what reads the rows beside them.
    pub in_rows: Vec<Id>,
}

#[derive(Clone, Copy)]
pub(super) struct Kernel {
    /// The node whose results are stored; the first of them.
    pub node: Id,
    /// Elementwise operations, about: an exponential counts as many.
    pub work: f64,
    /// What it computes on the way to what it stores.
    pub inside: Inside,
    reads: Piece,
    beside: Piece,
}

/// What a node, or a kernel that ends in it, has inside.
#[derive(Clone, Copy, Default)]
pub(super) struct Inside {
    /// A product.
    pub product: Option<Id>,
    /// The last barrier that it waits for, among those of its graph.
    pub after: Option<u32>,
    /// A reduction of which a node is made that goes over as many elements as that has results.
    pub reduction: Option<Id>,
    /// Sums or extremes of rows, and what is made of all of a row's elements with them.
    pub rows: bool,
    /// More than one op.
    fused: bool,
}

/// A part of all reads: the first, and how many.
#[derive(Clone, Copy, Default)]
struct Piece {
    first: u32,
    count: u32,
}

impl Piece {
    fn range(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

impl Kernels {
    /// Values that a kernel reads from memory, each once.
    pub fn reads(&self, kernel: Kernel) -> &[Read] {
        &self.reads[kernel.reads.range()]
    }

    /// Bytes that a kernel reads, and that it stores.
    pub fn bytes(&self, graph: &Graph<'_, '_>, kernel: Kernel) -> (u64, u64) {
        let made = self.made(graph, kernel).map(|value| graph.values[value as usize].bytes);
        let read = self.reads(kernel).iter().map(|read| read.bytes);
        (read.fold(0, u64::saturating_add), made.fold(0, u64::saturating_add))
    }

    /// Nodes whose results a kernel stores.
    pub fn nodes(&self, kernel: Kernel) -> impl Iterator<Item = Id> {
        std::iter::once(kernel.node).chain(self.beside[kernel.beside.range()].iter().copied())
    }

    /// The same, and the reduction that the first of them is made of within the kernel.
    pub fn computed(&self, kernel: Kernel) -> impl Iterator<Item = Id> {
        self.nodes(kernel).chain(kernel.inside.reduction)
    }

    /// Values that a kernel stores.
    pub fn made(&self, graph: &Graph<'_, '_>, kernel: Kernel) -> impl Iterator<Item = Id> {
        self.nodes(kernel).flat_map(|node| graph.results_of(node))
    }
}

#[derive(Clone, Copy)]
pub(super) struct Read {
    pub value: Id,
    /// Each element is read only for the element at the same place of what is made for it, `of`.
    pub pointwise: bool,
    /// The node that is made of it.
    pub of: Id,
    /// How much of it is read: slices take no more than comes of them.
    pub bytes: u64,
    /// What is read of it beyond that, which has been read before: rows that are gathered more than once, and by slices that have
    /// elements in common.
    pub again: u64,
    /// The op that takes it out of memory.
    pub taker: Id,
    /// The last op that asks for other elements than it is asked for, from there to what is made: `NOBODY` if there is none. What is
    /// read for the same such op is read once.
    by: Id,
}

/// No node.
const NOBODY: Id = Id::MAX;

/// Which kernels a node is computed in.
#[derive(Clone, Copy)]
struct Homes {
    /// Those that are told apart, as far as `count` says.
    ids: [Id; Self::TOLD_APART],
    /// How many, or more than are told apart.
    count: u8,
}

impl Homes {
    /// More kernels than these are just many.
    const TOLD_APART: usize = 4;
    const NONE: Self = Self { ids: [0; Self::TOLD_APART], count: 0 };

    fn one(home: Id) -> Self {
        Self { ids: [home; Self::TOLD_APART], count: 1 }
    }

    fn and(mut self, other: Self) -> Self {
        if self.count as usize > Self::TOLD_APART || other.count as usize > Self::TOLD_APART {
            return Self { count: Self::TOLD_APART as u8 + 1, ..self };
        }
        for &id in other.told_apart() {
            if !self.told_apart().contains(&id) {
                if let Some(free) = self.ids.get_mut(self.count as usize) {
                    *free = id;
                }
                self.count += 1;
                if self.count as usize > Self::TOLD_APART {
                    break;
                }
            }
        }
        self
    }

    /// The kernels, if they are few.
    fn told_apart(&self) -> &[Id] {
        self.ids.get(..self.count as usize).unwrap_or_default()
    }
}

struct Fusion<'g, 'c, 'a> {
    graph: &'g Graph<'c, 'a>,
    storage: &'static Storage,
    /// Nodes that use a node, once per use, in order.
    users: Lists,
    /// The library's kernel that a node is part of, or a product's: its root.
    cluster: Vec<Option<Id>>,
    /// Whether a node is computed within a product's kernel, before the product.
    before_product: Vec<bool>,
    homes: Vec<Homes>,
    /// The update for which it is stored although it could be computed on the fly.
    apart: Vec<Option<Id>>,
    /// It is a slice of what an update then writes over.
    replaced: Vec<bool>,
    /// Operations for one element if all is computed on the fly that can be.
    chain: Vec<f32>,
    /// The part of it that is of elements from elsewhere.
    moved: Vec<f32>,
    /// For each node what the back end reckons that it takes by itself, where that is known.
    alone: Vec<f32>,
    /// For each node the bytes that are read for one of its elements, where rereads are weighed.
    taken: Vec<f32>,
    /// Stored because what is read for it would be read for each of those that ask for other elements of it.
    spilled: Vec<bool>,
    /// Stored because too much would be read for it in each of several kernels.
    collected: Vec<bool>,
    /// In how many kernels it would be computed if it were not stored, as far as they are told apart.
    kernels: Vec<u8>,
    /// Elements are read more than once on the way to the root.
    repeats: Vec<bool>,
    stored: Vec<bool>,
    /// How often each element of what is not stored is asked for by what repeats it.
    often: Vec<f32>,
    /// A node is computed inside of at least one user.
    inlined: Vec<bool>,
    /// What leads from the sum or extreme of a row back to all elements of the row, in one kernel with what reads the row beside it.
    along_rows: Vec<bool>,
    /// At how many places of its kernel a node's elements are asked for, each of which is code of its own.
    places: Vec<u32>,
    /// Whose places those are, among all askers: ops that ask for other elements than they are asked for, and roots.
    asked: Vec<Piece>,
    /// Stored in any case.
    kept: Vec<bool>,
    /// Whether it is stored, where that has been found as the back end finds it.
    found: Vec<Option<bool>>,
    /// It is not computed in a kernel that reads it though it is stored besides: that takes longer.
    slower: Vec<bool>,
}

/// Elementwise operations that an exponential or a quotient takes, about.
pub(crate) const EXPENSIVE: f64 = 20.0;

/// Live ops of a graph from which on its kernels are merged by priority.
const LEAST_BY_PRIORITY: usize = 128;

/// Whether it is found by priority what is stored. Around products other parts of a back end merge first, which are not followed as closely, and in
/// small graphs the rules of `costs.rs`, one value by itself, are as good. Measured by hand over 371 modules, the corpus before and after many
/// builds: temporaries are off by 0.134 (mean absolute logarithm) so, by 0.138 in small graphs as well, 0.144 with products, 0.153 without
/// priority; `memory_model.py --by-priority` compares any modules.
fn is_by_priority(graph: &Graph<'_, '_>) -> bool {
    let live = || graph.nodes.iter().filter(|node| node.live);
    live().count() >= LEAST_BY_PRIORITY && !live().any(|node| matches!(node.class, Class::Dot { .. }))
}

/// More places of a kernel are not counted: code of that size no compiler makes.
const MOST_OFTEN: u32 = 1024;

/// Askers of an op that are told apart.
const MOST_ASKERS: usize = 16;

/// Where a slice is cut out of an array, or an update put into one: its shape and starts, if they are known.
fn place_of<'c>(op: OperationRef<'c, '_>) -> Option<(&'c [i64], Vec<i64>)> {
    if op_name(op) == "stablehlo.slice" {
        let strides = i64_array(op, "strides")?;
        let shape = Tensor::new(op.results().next()?.r#type())?.shape;
        return strides
            .iter()
            .all(|&by| by == 1)
            .then_some((shape, i64_array(op, "start_indices")?.to_vec()));
    }
    let update = updates::update_of(op).filter(|_| updates::is_update(op))?;
    Some((Tensor::new(update.r#type())?.shape, updates::starts_of(op)?))
}

pub(super) fn kernels(graph: &Graph<'_, '_>, storage: &'static Storage) -> Kernels {
    let count = graph.nodes.len();
    let users = Lists::new(count, |add| {
        for (index, node) in graph.nodes.iter().enumerate().filter(|(_, node)| node.live) {
            for &operand in &node.operands {
                add(graph.values[operand as usize].node, index as Id);
            }
        }
    });
    let mut fusion = Fusion {
        graph,
        storage,
        users,
        cluster: vec![None; count],
        before_product: vec![false; count],
        homes: vec![Homes::NONE; count],
        apart: vec![None; count],
        replaced: vec![false; count],
        chain: Vec::new(),
        moved: Vec::new(),
        alone: Vec::new(),
        taken: Vec::new(),
        spilled: vec![false; count],
        collected: vec![false; count],
        kernels: vec![0; count],
        repeats: vec![false; count],
        stored: vec![false; count],
        often: vec![1.0; count],
        inlined: vec![false; count],
        along_rows: vec![false; count],
        places: vec![1; count],
        asked: vec![Piece::default(); count],
        kept: Vec::new(),
        found: vec![None; count],
        slower: vec![false; count],
    };
    fusion.kept = fusion.kept();
    fusion.cluster = match storage.reductions {
        Reductions::Library { .. } => fusion.clusters(),
        Reductions::Kernels { .. } => fusion.with_products(),
    };
    fusion.set_apart();
    if storage.longest_row > 0 {
        fusion.find_rows();
    }
    if storage.weighs_copies {
        (fusion.chain, fusion.moved) = fusion.chains();
    }
    let priorities = storage.priorities.filter(|_| is_by_priority(graph));
    if let Some(reckoned) = storage.reckoned.filter(|_| priorities.is_none()) {
        fusion.alone = fusion.alone(reckoned);
    }
    if let Some(rereads) = storage.rereads.filter(|_| priorities.is_none()) {
        (fusion.spilled, fusion.taken) = fusion.spill(rereads);
    }
    fusion.decide();
    if let Some(by) = priorities {
        (fusion.found, fusion.slower) = fusion.by_priority(by);
        fusion.decide();
    } else if storage.weighs_copies && fusion.look_again() {
        fusion.decide();
        if fusion.take_back() {
            fusion.decide();
        }
    }
    let mut kernels = fusion.collect();
    if let Some(joins) = storage.joins_kernels {
        kernels = kernels.joined(graph, (storage, joins), &fusion.slower);
    }
    fusion.settle(kernels)
}

impl Fusion<'_, '_, '_> {
    fn node_of(&self, value: Id) -> Id {
        self.graph.values[value as usize].node
    }

    /// Elements of a node's first result, if it has one.
    fn elements(&self, node: Id) -> u64 {
        let first = self.graph.nodes[node as usize].first;
        self.graph.values.get(first as usize).map_or(0, |value| value.elements)
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

    /// Whether `user` could compute `producer`, its operand number `index`, on the fly.
    fn may_inline(&self, producer: Id, user: Id, index: usize) -> bool {
        if let Some(root) = self.cluster[producer as usize]
            && root != producer
        {
            return self.cluster[user as usize] == Some(root);
        }
        if self.cluster[producer as usize].is_some() {
            return false;
        }
        if matches!(self.class(user), Class::Dot { .. }) || self.before_product[user as usize] {
            return !self.reads_memory(user) && self.is_taken_before(producer, user);
        }
        if self.cluster[user as usize].is_some() {
            // What comes after a product repeats what is given.
            return self.storage.weighs_copies && self.is_free(producer);
        }
        let fusible = match self.class(producer) {
            Class::Gather => !self.storage.gathers_alone,
            Class::Map(_)
            | Class::Broadcast
            | Class::Iota
            | Class::Move
            | Class::Pad
            | Class::Read
            | Class::Update => true,
            Class::Join { alone } => !alone,
            Class::Reduce(Reduce::Tiles | Reduce::Reader) => true,
            Class::Reduce(Reduce::Kernel) => {
                self.along_rows[producer as usize] || self.is_made_into(producer, user)
            }
            _ => false,
        };
        fusible
            && !self.apart[producer as usize].is_some_and(|update| self.happens_in_place(update))
            && match self.class(user) {
                Class::Map(_) | Class::Broadcast | Class::Move | Class::Read => true,
                Class::Pad => !self.storage.pads_alone,
                Class::Gather => !self.storage.gathers_alone,
                Class::Join { alone } => !alone && !self.storage.gathers_alone,
                // An update happens in the memory of what is updated, unless it is computed on the fly itself.
                Class::Update => {
                    index != 0
                        || !matches!(self.class(producer), Class::Update)
                        || !self.happens_in_place(user)
                }
                Class::Reduce(reduce) => reduce != Reduce::Library,
                Class::Scatter => index > 0 && self.storage.fuses_into_scatters,
                _ => false,
            }
    }

    /// Whether a node could compute another on the fly, wherever it takes it.
    fn may_compute(&self, user: Id, producer: Id) -> bool {
        let operands = self.graph.nodes[user as usize].operands.iter().enumerate();
        let mut taken = operands.filter(|&(_, &operand)| self.node_of(operand) == producer);
        taken.all(|(at, _)| self.may_inline(producer, user, at))
    }

    /// Whether an update changes what is stored: one that a kernel computes on the fly chooses between the old and the new.
    fn happens_in_place(&self, update: Id) -> bool {
        !self.storage.weighs_copies || self.stored[update as usize]
    }

    /// Whether a node is a conversion that makes its operand no smaller.
    fn widens(&self, node: Id) -> bool {
        let node = &self.graph.nodes[node as usize];
        let bytes = |value: Id| self.graph.values[value as usize].bytes;
        matches!(node.class, Class::Map(map) if !map.expensive)
            && node.operands.len() == 1
            && bytes(node.operands[0]) < bytes(node.first)
    }

    /// What an update reads of the array that it changes is read before: in one kernel with the update it could be
    /// read after.
    fn set_apart(&mut self) {
        for node in 0..self.graph.nodes.len() as Id {
            if self.class(node) != Class::Update || !self.graph.nodes[node as usize].live {
                continue;
            }
            let &[base, update, ..] = &self.graph.nodes[node as usize].operands[..] else { continue };
            let updating = self.node_of(update);
            // Only as far as one kernel could go, and a kernel is not large.
            const FARTHEST: usize = 64;
            let mut pending = vec![updating];
            let mut seen = 0;
            while let Some(producer) = pending.pop() {
                seen += 1;
                if seen > FARTHEST {
                    break;
                }
                let inlined = matches!(
                    self.class(producer),
                    Class::Map(_)
                        | Class::Broadcast
                        | Class::Move
                        | Class::Pad
                        | Class::Read
                        | Class::Update
                        | Class::Join { .. }
                );
                if !inlined {
                    continue;
                }
                let operands = &self.graph.nodes[producer as usize].operands;
                if operands.contains(&base) {
                    // Each element of what is written over is read just before.
                    let place = |node: Id| self.graph.nodes[node as usize].op.and_then(place_of);
                    if place(producer).is_some_and(|own| place(node) == Some(own)) {
                        self.replaced[producer as usize] = true;
                        continue;
                    }
                    let stored = if self.storage.stores_updates { updating } else { producer };
                    self.apart[stored as usize] = Some(node);
                } else {
                    pending.extend(operands.iter().map(|&operand| self.node_of(operand)));
                }
            }
        }
    }

    fn is_expensive(&self, node: Id) -> bool {
        match self.class(node) {
            Class::Map(map) => map.expensive,
            Class::Reduce(_) | Class::Gather => true,
            Class::Pad | Class::Join { .. } => !self.storage.weighs_copies,
            _ => false,
        }
    }

    /// What is stored in any case: results, and what is held apart until kernels are made.
    fn kept(&self) -> Vec<bool> {
        let mut kept = self.is_result();
        if self.storage.barriers_hold {
            self.graph.barred.iter().flatten().for_each(|&id| kept[self.node_of(id) as usize] = true);
        }
        kept
    }

    /// From the last node to the first: is it stored, and in which kernels is it computed?
    fn decide(&mut self) {
        let joined = if self.storage.weighs_copies { self.joined() } else { Vec::new() };
        let mut askers: Vec<Id> = Vec::new();
        for node in (0..self.graph.nodes.len() as Id).rev() {
            let index = node as usize;
            if !self.graph.nodes[index].live {
                continue;
            }
            let mut homes = Homes::NONE;
            let mut stored =
                self.kept[index] || self.graph.nodes[index].effects || self.users.of(node).is_empty();
            let (mut repeats, mut grows) = (false, false);
            let mut often = 1.0f32;
            let first = askers.len();
            for &user in self.users.of(node) {
                if !self.may_compute(user, node) {
                    stored = true;
                    continue;
                }
                let own = if self.stored[user as usize] { Homes::one(user) } else { Homes::NONE };
                let through =
                    if self.inlined[user as usize] { self.homes[user as usize] } else { Homes::NONE };
                homes = homes.and(own).and(through);
                // A kernel that reads rows as a whole computes each of their elements, and what comes of all of them, once.
                let once = self.along_rows[user as usize];
                repeats |= !once && (self.repeats[user as usize] || self.grows(user));
                grows |= !once && self.grows(user);
                if !once {
                    often = often.max(self.often[user as usize] * self.growth(user));
                }
                self.ask(user, &mut askers, first);
            }
            // In all kernels; those of one are shared evenly among few.
            let all = askers[first..]
                .iter()
                .fold(0u32, |places, &asker| places.saturating_add(self.places[asker as usize]));
            let each = all.div_ceil(homes.told_apart().len().max(1) as u32);
            let places = if homes.count == 1 { each } else { 1 };
            let in_cluster = self.cluster[index].is_some_and(|root| root != node);
            let alone = stored || homes.count > 1;
            let better_stored = if let Some(found) = self.found[index] {
                found
            } else if self.storage.weighs_copies {
                alone
                    && !self.is_free(node)
                    && (stored
                        || joined[index]
                        || self.moves_more(node)
                        || self.is_worth_storing(node, homes)
                        || self.is_reckoned_worth_storing(node, homes))
                    || repeats && (self.is_expensive(node) || self.repeats_more(node, homes, often))
                    || grows && self.is_worth_doing_once(node, homes, often)
                    || places > 1 && self.computes_more(node, places)
                    || self.spilled[index]
                    || self.collected[index]
            } else {
                self.is_expensive(node) && (alone || repeats) || alone && self.reads_more(node)
            };
            self.kernels[index] = homes.count;
            if !in_cluster && (better_stored || self.is_too_often(node, places)) {
                stored = true;
                homes = Homes::NONE;
            }
            if homes.count == 1 || self.storage.weighs_copies && !homes.told_apart().is_empty() {
                self.places[index] = each.clamp(1, MOST_OFTEN);
            }
            if homes.count != 1 {
                askers.truncate(first);
                askers.push(node);
            }
            self.asked[index] = Piece { first: first as u32, count: (askers.len() - first) as u32 };
            self.stored[index] = stored || homes.count == 0;
            self.inlined[index] = homes.count > 0;
            let is_before = |&user: &Id| {
                let is_product = matches!(self.class(user), Class::Dot { .. });
                self.before_product[user as usize] || is_product && !self.reads_memory(user)
            };
            self.before_product[index] = homes.count > 0 && self.users.of(node).iter().any(is_before);
            self.homes[index] = homes;
            self.repeats[index] = repeats && (homes.count > 0 || !self.storage.computes_stored_once);
            self.often[index] = if self.stored[index] { 1.0 } else { often };
        }
    }

    /// Adds those for whom `user` asks for its operand to the askers from `first` on, each once.
    fn ask(&self, user: Id, askers: &mut Vec<Id>, first: usize) {
        // Reductions of as many elements become one kernel, which computes what all of them reduce once.
        let merges = self.storage.joins_kernels.is_some_and(|joins| !joins.alike);
        let reduced = |node: Id| {
            let is_merged = merges && matches!(self.class(node), Class::Reduce(_));
            let of = self.graph.nodes[node as usize].operands.first().filter(|_| is_merged)?;
            Some(self.graph.values[*of as usize].elements)
        };
        let add = |askers: &mut Vec<Id>, asker| {
            let own = reduced(asker);
            let is_known = |&other: &Id| other == asker || own.is_some() && reduced(other) == own;
            // More are too many anyway.
            if askers.len() - first < MOST_ASKERS && !askers[first..].iter().any(is_known) {
                askers.push(asker);
            }
        };
        match self.class(user) {
            // Elementwise ops ask for what they are asked for; so do those of rows, in kernels that read these as a whole.
            _ if self.along_rows[user as usize] => {
                self.asked[user as usize].range().for_each(|place| add(askers, askers[place]))
            }
            Class::Map(_) => self.asked[user as usize].range().for_each(|place| add(askers, askers[place])),
            _ => add(askers, user),
        }
    }

    /// Whether a back end would store this op instead of having its code at so many places of a kernel. Pads and concatenates are
    /// branches, within which nothing computed before is known.
    fn is_too_often(&self, node: Id, places: u32) -> bool {
        match self.class(node) {
            Class::Pad | Class::Join { .. } => places > 1 && !self.storage.weighs_copies,
            Class::Broadcast | Class::Iota | Class::Constant => false,
            _ => places > self.storage.most_places,
        }
    }

    /// Nodes of several arrays, or made of such and no larger: which array an element is of, each kernel would have to ask for each.
    fn joined(&self) -> Vec<bool> {
        let bytes =
            |node: &Node<'_, '_>| self.graph.values.get(node.first as usize).map_or(0, |value| value.bytes);
        let mut joined = vec![false; self.graph.nodes.len()];
        for (index, node) in self.graph.nodes.iter().enumerate() {
            joined[index] = match node.class {
                Class::Join { .. } => true,
                Class::Map(_) | Class::Move => node.operands.iter().any(|&operand| {
                    let producer = self.node_of(operand);
                    let other = &self.graph.nodes[producer as usize];
                    joined[producer as usize] && !self.kept[producer as usize] && bytes(node) <= bytes(other)
                }),
                _ => false,
            };
        }
        joined
    }

    /// Whether it is made of next to nothing, so that each kernel makes it for itself.
    fn is_free(&self, node: Id) -> bool {
        matches!(self.class(node), Class::Broadcast | Class::Iota | Class::Constant)
    }
}
