// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What XLA for GPUs computes on the fly, found as it finds it.
//!
//! Each op begins as a kernel of its own. A kernel is merged into all kernels that read what it makes, if it can be merged into each and
//! these then take no longer than all did before, a microsecond for its start included. The one that wins most goes first, and what it
//! wins is worked out anew for all that a merge touches (`PriorityFusion` in openxla/xla). What is left is stored.
//!
//! How long a kernel takes is what XLA reckons, not what it takes (`GpuPerformanceModel` there): cycles of ops by a table, bytes that are
//! read for each way that leads to an element (`group.rs`), of which those after the first come from a cache.
//!
//! Much follows from two limits. A kernel has no more than 96 operands and results, constants among them: of one step of an ocean model
//! with 20,000 ops, 219 of the 375 values that XLA stores are stored for that. And it has no more than 10,000 ops of code.
//!
//! How kernels of several results come of what is left (`siblings.rs`) is not followed as closely, and with that what is alive at once: so this is
//! asked for (`--slimhlo-print-memory=by-priority=true`), and passes do not decide by it.
//!
//! Only ops are weighed whose readers could all compute them, as classes go (`Fusion::may_inline`). What goes along rows, and what is
//! computed before a product, other parts of XLA have merged before: these kernels are as `decide` had them.

mod group;

use super::super::blocks::moves_last;
use super::super::graph::{Class, Id, Node, Reduce, is_splat};
use super::Fusion;
use super::costs::Counts;
use super::siblings::MOST_OPERANDS;
use crate::ir::splat_element;
use crate::ops::joined;
use crate::target::Reckoning;
use group::{Asked, Group, Operand, Reader, at_root};
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{AttributeLike, TypeLike, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{attribute_of, element_type, op_name};
use slimhlo_dialect::types::Tensor;
use smallvec::SmallVec;
use std::collections::BinaryHeap;

/// Ops of a kernel, each for each place of the code that it is at; elements that are many to be reduced to one.
const MOST_CODE: f32 = 10_000.0;
const MANY: f32 = 16.0;

/// Threads of a block; the part of the shorter of cycles and bytes that takes no time of its own.
const THREADS: f32 = 128.0;
const OVERLAP: f32 = 0.95;

/// How many times as fast as memory the second cache is, and that beside both of the first; bytes that memory hands over at least.
const CACHE: f32 = 2.5;
const NEAR: f32 = 8.0;
const SECTOR: f32 = 64.0;

/// Threads that take the same branch: what each part of a concatenation is rounded up to, along what it goes along. One that does not fill
/// them is reckoned to be so costly that it is computed once.
const WARP: u64 = 32;
const JOINED: f32 = 6.0;
const JOINED_UNEVENLY: f32 = 400.0;

struct Merging<'f, 'g, 'c, 'a> {
    fusion: &'f Fusion<'g, 'c, 'a>,
    by: &'static Reckoning,
    groups: Vec<Group>,
    /// Bytes of what is read, by its number, and of one of its elements.
    sizes: Vec<(f32, f32)>,
    /// For each value itself, or the first constant of the same number.
    number: Vec<Id>,
    /// Where the kernel at hand reads a value, if it does.
    place: Vec<u32>,
    /// What each wins, in quarters of a nanosecond; its number, itself, and its version.
    queue: BinaryHeap<(i64, u32, Id, u32)>,
    last_number: u32,
}

impl Fusion<'_, '_, '_> {
    /// For each node whether it is stored, where that is a matter of time; then whether it takes longer to compute it in all kernels that read it
    /// though it is stored besides.
    pub(super) fn by_priority(&self, by: &'static Reckoning) -> (Vec<Option<bool>>, Vec<bool>) {
        let mut merging = Merging::new(self, by);
        merging.run();
        let found = |group: &Group| group.is_open.then_some(!group.roots.is_empty());
        let found = merging.groups.iter().map(found).collect();
        (found, merging.groups.iter().map(|group| group.is_open && group.gain() < group.write).collect())
    }

    /// Whether a node is a kernel that could be merged with others.
    fn is_fusible(&self, node: Id) -> bool {
        let is_one = !matches!(
            self.class(node),
            Class::Parameter
                | Class::Constant
                | Class::Dot { .. }
                | Class::Opaque
                | Class::Exchange { .. }
                | Class::Loop
                | Class::Branch
        );
        is_one && self.cluster[node as usize].is_none()
    }

    /// Whether all that read a node could compute it, so that it is a matter of time whether they do.
    fn is_open(&self, node: Id) -> bool {
        let is_bound = |node: Id| {
            !self.is_fusible(node) || self.along_rows[node as usize] || self.before_product[node as usize]
        };
        let users = self.users.of(node);
        let computes = |&user: &Id| !is_bound(user) && self.may_compute(user, node);
        let is_kept = self.kept[node as usize] || self.graph.nodes[node as usize].effects;
        let is_computed = match self.class(node) {
            Class::Reduce(reduce) => reduce == Reduce::Reader,
            class => class != Class::Scatter,
        };
        is_computed
            && self.graph.nodes[node as usize].count == 1
            && !is_kept
            && !is_bound(node)
            && !users.is_empty()
            && users.iter().all(computes)
    }

    fn is_given_from_outside(&self, value: Id) -> bool {
        self.class(self.node_of(value)) == Class::Parameter
    }

    /// Whether a node only says in which order elements lie: what is not given from outside is made in that order.
    fn is_layout(&self, node: Id) -> bool {
        let node = &self.graph.nodes[node as usize];
        node.op.is_some_and(|op| op_name(op) == "stablehlo.transpose")
            && !self.is_given_from_outside(node.operands[0])
    }
}

impl<'f, 'g, 'c, 'a> Merging<'f, 'g, 'c, 'a> {
    fn new(fusion: &'f Fusion<'g, 'c, 'a>, by: &'static Reckoning) -> Self {
        let graph = fusion.graph;
        let count = graph.nodes.len() as Id;
        let size = |bytes: u64, elements: u64| (bytes as f32, bytes as f32 / elements.max(1) as f32);
        let mut merging = Self {
            fusion,
            by,
            groups: Vec::with_capacity(count as usize),
            sizes: graph.values.iter().map(|value| size(value.bytes, value.elements)).collect(),
            number: (0..graph.values.len() as Id).collect(),
            place: vec![u32::MAX; graph.values.len()],
            queue: BinaryHeap::new(),
            last_number: count,
        };
        merging.find_numbers();
        let mut known = Counts::default();
        for node in 0..count {
            let group = merging.group_of(node, &mut known);
            merging.groups.push(group);
        }
        for reader in 0..count {
            let made_by = |operand: &Operand| graph.values[operand.id as usize].node;
            let before: SmallVec<[Id; 4]> =
                merging.groups[reader as usize].operands.iter().map(made_by).collect();
            for node in before {
                let readers = &mut merging.groups[node as usize].readers;
                if readers.last().is_none_or(|last| last.group != reader) {
                    readers.push(Reader::new(reader));
                }
            }
        }
        merging
    }

    /// Constants of which each element is the same number are that number.
    fn find_numbers(&mut self) {
        let mut known: FxHashMap<usize, Id> = FxHashMap::default();
        let constants = self.fusion.graph.nodes.iter().filter(|node| node.class == Class::Constant);
        for node in constants.filter(|node| node.count == 1) {
            let value = node.op.and_then(|op| attribute_of(op, "value"));
            let dense = value.and_then(|value| DenseElementsAttribute::try_from(value).ok());
            if let Some(number) = dense.and_then(splat_element) {
                let (size, each) = &mut self.sizes[node.first as usize];
                *size = *each;
                let number = number.to_raw().ptr as usize;
                self.number[node.first as usize] = *known.entry(number).or_insert(node.first);
            }
        }
    }

    /// A node as a kernel of its own.
    fn group_of(&self, index: Id, known: &mut Counts) -> Group {
        let fusion = self.fusion;
        let node = &fusion.graph.nodes[index as usize];
        if !node.live || !fusion.is_fusible(index) {
            return Group::default();
        }
        let made = fusion.elements(index) as f32;
        let goes_over = match node.class {
            Class::Reduce(_) => node.operands.first(),
            Class::Scatter => node.operands.last(),
            _ => None,
        };
        let elements = goes_over.map_or(made, |&value| fusion.graph.values[value as usize].elements as f32);
        let written: f32 = match (node.class, node.operands.get(1)) {
            (Class::Update, Some(&update)) => self.sizes[update as usize].0,
            _ => fusion.graph.results_of(index).map(|value| self.sizes[value as usize].0).sum(),
        };
        let parts = self.joined_sizes(node);
        let table = self.by.cycles;
        let cycles = match node.class {
            Class::Map(_) => made * fusion.counted(node, table, known) as f32,
            Class::Reduce(_) => (elements - made).max(0.0) * fusion.counted(node, table, known) as f32,
            Class::Join { .. } if parts.iter().any(|part| part % WARP != 0) => made * JOINED_UNEVENLY,
            Class::Join { .. } => made * JOINED,
            _ => 0.0,
        };
        let is_along_rows = fusion.along_rows[index as usize];
        let mut group = Group {
            number: index,
            cycles,
            code: 1.0,
            operands: self.operands_of(node, made, &parts, is_along_rows),
            roots: vec![Asked::ONCE],
            write: written / self.by.bytes,
            blocks: (elements / THREADS).ceil().max(1.0),
            is_open: fusion.is_open(index),
            reduces: matches!(node.class, Class::Reduce(_))
                && !is_along_rows
                && elements >= MANY * made.max(1.0),
            ..Group::default()
        };
        self.set_time(&mut group);
        group
    }

    /// What a node reads to make so many elements.
    fn operands_of(
        &self,
        node: &Node<'_, '_>,
        made: f32,
        parts: &[u64],
        is_along_rows: bool,
    ) -> Vec<Operand> {
        let is_given = node.operands.first().is_some_and(|&value| self.fusion.is_given_from_outside(value));
        let turned = is_given && node.op.is_some_and(moves_last);
        let is_square = node.op.is_some_and(|op| op_name(op) == "chlo.square");
        let mut operands: Vec<Operand> = Vec::with_capacity(node.operands.len());
        let scaled = self.scaled_twice(node);
        for (place, &value) in node.operands.iter().enumerate() {
            let value = scaled.filter(|&(at, _)| at == place).map_or(value, |(_, of)| of);
            let id = self.number[value as usize];
            let (size, each) = self.sizes[id as usize];
            let share = made / (size / each).max(1.0);
            let often = match node.class {
                Class::Broadcast => share,
                Class::Gather if place == 0 => share,
                Class::Move | Class::Read if place == 0 => share.min(1.0),
                Class::Join { .. } => parts
                    .get(place)
                    .map_or(1.0, |&part| part.next_multiple_of(WARP) as f32 / part.max(1) as f32),
                Class::Update if place == 0 => 0.0,
                _ => 1.0,
            };
            // A kernel that goes along rows computes each element, and what comes of all of them, once.
            let is_elementwise = is_along_rows || matches!(node.class, Class::Map(_));
            let known = operands.iter_mut().find(|operand| operand.id == id);
            match known {
                Some(known) if is_elementwise => known.more += 1.0,
                Some(known) => known.own = known.own.and(Asked { often, places: 1.0, turned }),
                None if is_elementwise => operands.push(Operand::new(id, Asked::default(), at_root())),
                None => {
                    let own = Asked { often, places: 1.0, turned };
                    operands.push(Operand::new(id, own, SmallVec::new()));
                }
            }
        }
        operands.iter_mut().filter(|_| is_square).for_each(|operand| operand.more += 1.0);
        operands.sort_by_key(|operand| operand.id);
        operands
    }

    /// Of a product with a number that is multiplied with another: the operand, and what is multiplied with both. XLA makes the two
    /// numbers one, whoever else reads the inner product (`AlgebraicSimplifier` in openxla/xla).
    fn scaled_twice(&self, node: &Node<'_, '_>) -> Option<(usize, Id)> {
        let at = self.multiplied(node)?;
        let graph = self.fusion.graph;
        let inner = &graph.nodes[graph.values[node.operands[at] as usize].node as usize];
        Some((at, inner.operands[self.multiplied(inner)?]))
    }

    /// Which operand of a node is multiplied with a number.
    fn multiplied(&self, node: &Node<'_, '_>) -> Option<usize> {
        let op = node.op.filter(|_| matches!(node.class, Class::Map(_)))?;
        let &[left, right] = &node.operands[..] else { return None };
        let graph = self.fusion.graph;
        let is_number = |value: Id| is_splat(graph, &graph.nodes[graph.values[value as usize].node as usize]);
        match (op_name(op), is_number(left), is_number(right)) {
            ("stablehlo.multiply", false, true) => Some(0),
            ("stablehlo.multiply", true, false) => Some(1),
            // By the inverse, but for integers.
            ("stablehlo.divide", false, true) => {
                let element = element_type(op.operands().next()?.r#type())?;
                (!element.is_integer()).then_some(0)
            }
            _ => None,
        }
    }

    /// Elements of the parts of a concatenation along what it goes along, unless that is the first dimension.
    fn joined_sizes(&self, node: &Node<'_, '_>) -> SmallVec<[u64; 8]> {
        let op = node.op.filter(|_| matches!(node.class, Class::Join { .. }));
        let Some((dim, mut sizes)) = op.and_then(joined::sizes).filter(|&(dim, _)| dim > 0) else {
            return SmallVec::new();
        };
        if sizes.len() != node.operands.len() {
            // Some of its parts.
            let types = node.operands.iter().map(|&value| self.fusion.graph.values[value as usize].ty);
            sizes = types.filter_map(|ty| Tensor::new(ty)?.shape.get(dim).copied()).collect();
        }
        sizes.iter().map(|&size| size.unsigned_abs()).collect()
    }

    /// Nanoseconds to read so many bytes of a value.
    fn reading(&self, id: Id, bytes: f32, turned: bool, blocks: f32) -> f32 {
        let (size, each) = self.sizes[id as usize];
        let first = size.min(bytes);
        let useful = if turned { each / SECTOR } else { 1.0 };
        let most = blocks * self.by.block_bytes;
        let again = match first {
            first if first < self.by.near => self.by.bytes * CACHE * NEAR,
            first if first < self.by.cache => self.by.bytes * CACHE,
            _ => self.by.bytes * useful,
        };
        first / (self.by.bytes * useful).min(most) + (bytes - first).max(0.0) / again.min(most)
    }

    /// Nanoseconds for cycles and for what moves meanwhile.
    fn together(&self, cycles: f32, blocks: f32, moves: f32) -> f32 {
        let lanes = THREADS.min(self.by.lanes) * blocks.min(self.by.multiprocessors);
        let computes = cycles / (lanes * self.by.cycles_per_ns);
        computes + moves - OVERLAP * computes.min(moves)
    }

    /// Works out how long a kernel takes.
    fn set_time(&self, group: &mut Group) {
        group.read = 0.0;
        for at in 0..group.operands.len() {
            let operand = &group.operands[at];
            let asked = group.asked(operand);
            let bytes = self.sizes[operand.id as usize].0 * asked.often;
            let once = self.reading(operand.id, bytes, asked.turned, group.blocks);
            let time = once * (1.0 + operand.more);
            group.operands[at].time = time;
            group.read += time;
        }
        group.all = self.together(group.cycles, group.blocks, group.read + group.write);
    }

    /// What the kernel at hand would win if it computed what it reads of another, and whether it could.
    fn weigh(&self, made: Id, reader: Id) -> Option<(f32, bool)> {
        let (from, to) = (&self.groups[made as usize], &self.groups[reader as usize]);
        let asking = to.reads(self.fusion.graph.results_of(made).next()?)?;
        let mut asked = to.asked(asking);
        asked.often += asking.more;
        let (mut read, mut shared) = (to.read - asking.time, 0);
        for operand in &from.operands {
            let size = self.sizes[operand.id as usize].0;
            let own = from.asked(operand);
            let mut bytes = size * own.often * asked.often;
            let mut turned = own.turned != asked.turned;
            let place = self.place[operand.id as usize] as usize;
            if let Some(known) = to.operands.get(place).filter(|known| known.id == operand.id) {
                shared += 1;
                let there = to.asked(known);
                bytes += size * there.often;
                turned |= there.turned;
                if operand.ways.contains(&0) {
                    bytes -= size * to.common(known, asking);
                }
                read -= known.time;
            }
            read += self.reading(operand.id, bytes, turned, to.blocks);
        }
        let all = self.together(to.cycles + from.cycles * asked.often, to.blocks, read + to.write);
        let (count, united) = (to.operands.len(), from.operands.len() + to.operands.len() - shared - 1);
        // Two results, one of which goes; and what has no more operands than before may have as many.
        let fits =
            united + 2 <= MOST_OPERANDS || united <= count || from.operands.len() + count < MOST_OPERANDS;
        let fits = fits && !(from.reduces && to.reduces);
        Some((to.all - all, fits && from.code * asked.places + to.code <= MOST_CODE))
    }

    /// Makes a kernel the one at hand.
    fn look_at(&mut self, group: Id) {
        for (at, operand) in self.groups[group as usize].operands.iter().enumerate() {
            self.place[operand.id as usize] = at as u32;
        }
    }

    /// Weighs anew what the kernel at hand would win by computing what it reads of another.
    fn weigh_again(&mut self, made: Id, reader: Id) {
        let weighed = self.weigh(made, reader);
        let readers = &mut self.groups[made as usize].readers;
        let known = readers.iter_mut().find(|known| known.group == reader);
        if let Some(known) = known {
            (known.gain, known.fits) = weighed.unwrap_or((0.0, false));
        }
    }

    /// Puts a kernel into the queue if it is worth merging.
    fn put(&mut self, id: Id) {
        let group = &mut self.groups[id as usize];
        group.version += 1;
        if !group.is_open || !group.readers.iter().all(|reader| reader.fits) {
            return;
        }
        let priority = (group.gain() * 4.0).floor() as i64;
        if priority >= 0 {
            self.queue.push((priority, group.number, id, group.version));
        }
    }

    /// Kernels that make what a kernel reads, if whether they are merged is a matter of time.
    fn open_before(&self, id: Id) -> SmallVec<[Id; 16]> {
        let made_by = |operand: &Operand| self.fusion.graph.values[operand.id as usize].node;
        let before = self.groups[id as usize].operands.iter().map(made_by);
        before.filter(|&node| self.groups[node as usize].is_open).collect()
    }

    fn run(&mut self) {
        let count = self.groups.len() as Id;
        for reader in 0..count {
            self.look_at(reader);
            for made in self.open_before(reader) {
                self.weigh_again(made, reader);
            }
        }
        // What is computed on the fly whatever that takes.
        for id in (0..count).rev() {
            let (group, fusion) = (&self.groups[id as usize], self.fusion);
            let surely = match group.is_open {
                true => fusion.is_layout(id),
                false => !fusion.stored[id as usize] && fusion.graph.nodes[id as usize].count == 1,
            };
            if surely && !group.roots.is_empty() {
                self.merge(id);
            }
        }
        (0..count).for_each(|id| self.put(id));
        while let Some((_, _, id, version)) = self.queue.pop() {
            let group = &self.groups[id as usize];
            if group.version == version && !group.roots.is_empty() {
                self.merge(id);
            }
        }
    }

    /// Merges a kernel into all that read what it makes.
    fn merge(&mut self, id: Id) {
        let Some(made) = self.fusion.graph.results_of(id).next() else { return };
        let is_open = self.groups[id as usize].is_open;
        let from = std::mem::replace(&mut self.groups[id as usize], Group { is_open, ..Group::default() });
        let readers: SmallVec<[Id; 8]> = from.readers.iter().map(|reader| reader.group).collect();
        for operand in &from.operands {
            let before = self.fusion.graph.values[operand.id as usize].node;
            let known = &mut self.groups[before as usize].readers;
            known.retain(|reader| reader.group != id);
            for &reader in &readers {
                if known.iter().all(|known| known.group != reader) {
                    known.push(Reader::new(reader));
                }
            }
        }
        let mut touched: Vec<Id> = readers.to_vec();
        for &reader in &readers {
            let mut to = std::mem::take(&mut self.groups[reader as usize]);
            if to.code <= 1.0 {
                self.last_number += 1;
                to.number = self.last_number;
            }
            if to.absorb(&from, made) {
                self.set_time(&mut to);
            }
            self.groups[reader as usize] = to;
        }
        for &reader in &readers {
            self.look_at(reader);
            for made in self.open_before(reader) {
                self.weigh_again(made, reader);
                touched.push(made);
            }
            if self.groups[reader as usize].is_open {
                let theirs: SmallVec<[Id; 8]> =
                    self.groups[reader as usize].readers.iter().map(|reader| reader.group).collect();
                for user in theirs {
                    self.look_at(user);
                    self.weigh_again(reader, user);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        touched.into_iter().for_each(|id| self.put(id));
    }
}
