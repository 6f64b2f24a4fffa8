// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What it takes to compute a value where it is needed: bytes that are read for it, and elementwise operations.

use super::super::graph::{Class, Id, Node};
use super::{EXPENSIVE, Fusion, Homes};
use crate::ir::i64_array;
use crate::rewrite::ops_in;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Type, TypeLike, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{element_type, op_name};
use smallvec::SmallVec;

/// Operations for one element, by the name of an op, and what it is of; where both lie, which for names of ops is in
/// one place.
pub(super) type Counts = FxHashMap<(usize, usize), f64>;

impl Fusion<'_, '_, '_> {
    /// Whether all kernels that need it move more bytes to compute it, each for itself, than to read it once one has stored it.
    pub(super) fn moves_more(&self, node: Id) -> bool {
        let kernels = self.users.of(node).len() as u64;
        let node = &self.graph.nodes[node as usize];
        let own = self.graph.values[node.first as usize].full;
        let mut taken = 0u64;
        for (at, &operand) in node.operands.iter().enumerate() {
            let content = &self.graph.values[operand as usize];
            if !node.operands[..at].contains(&operand) && !self.is_free(content.node) {
                // Of what is sliced or gathered from no more than comes of it.
                let all = matches!(node.class, Class::Map(_) | Class::Reduce(_));
                let most = if all { u64::MAX } else { own };
                taken = taken.saturating_add(content.full.min(most));
            }
        }
        self.is_less_stored(own, taken, kernels)
    }

    /// Whether it is fewer bytes that `kernels` read a value of `own` bytes once one has made it from `taken` bytes and stored it than that each
    /// makes it for itself.
    pub(super) fn is_less_stored(&self, own: u64, taken: u64, kernels: u64) -> bool {
        let stored = taken.saturating_add(own.saturating_mul(kernels + 1));
        taken.saturating_mul(kernels) > stored.saturating_add(self.storage.launch_bytes)
    }

    /// Whether computing it in each of the kernels that need it takes longer than to store it once and read it in each: random bits for a
    /// dropout and for its gradient, say.
    pub(super) fn is_worth_storing(&self, node: Id, homes: Homes) -> bool {
        let value = &self.graph.values[self.graph.nodes[node as usize].first as usize];
        let each = value.full as f32 / value.elements.max(1) as f32;
        let kernels = homes.told_apart().len() as f32;
        // Of a chain some is stored on the way, which is not known yet.
        const SURE: f32 = 4.0;
        // What is stored for one reader takes `work_per_byte`.
        let stored = each * self.storage.work_per_byte * (kernels + 1.0) / 2.0;
        // Elements from elsewhere are the business of stencils (`spill.rs`).
        let here = self.chain[node as usize] - self.moved[node as usize];
        // What is only made wider is stored as it was.
        kernels > 1.0 && here * (kernels - 1.0) > SURE * stored && !self.widens(node)
    }

    /// The same by the back end's own reckoning, of what nothing else needs on the way: that much is surely computed in each of them, while what
    /// else it reads and writes comes and goes.
    pub(super) fn is_reckoned_worth_storing(&self, node: Id, homes: Homes) -> bool {
        let (Some(&work), Some(&taken)) = (self.alone.get(node as usize), self.taken.get(node as usize))
        else {
            return false;
        };
        let value = &self.graph.values[self.graph.nodes[node as usize].first as usize];
        let elements = value.elements.max(1) as f32;
        let each = value.bytes as f32 / elements;
        let time = |bytes: f32| bytes * self.storage.work_per_byte;
        let known = homes.told_apart();
        // Of more kernels than are told apart nothing is known but that there are as many.
        let others = usize::from(known.is_empty() && homes.count > 1) * (Homes::TOLD_APART + 1);
        let moved = known.iter().map(|&home| self.moved_by(home) / elements);
        let (computed, read) = moved
            .chain(std::iter::repeat_n(each, others))
            .map(|moved| (work.max(time(moved)), time(moved + each)))
            .fold((0.0, 0.0), |(all, stored), (one, other)| (all + one, stored + other));
        let started = self.storage.launch_bytes as f32 / elements;
        let first = work.max(time(taken + each)) + time(started);
        first + read < computed && !self.widens(node)
    }

    /// Bytes that a kernel moves if nothing is stored that need not be.
    fn moved_by(&self, home: Id) -> f32 {
        let node = &self.graph.nodes[home as usize];
        let bytes = |value: Id| {
            let value = &self.graph.values[value as usize];
            (value.bytes as f32, value.elements as f32)
        };
        match node.class {
            Class::Reduce(_) => node
                .operands
                .first()
                .map_or(0.0, |&operand| self.taken[self.node_of(operand) as usize] * bytes(operand).1),
            _ if node.count == 0 => 0.0,
            _ => {
                let (made, elements) = bytes(node.first);
                made + self.taken[home as usize] * elements
            }
        }
    }

    /// For each node, operations for one element as the back end reckons with them, of itself and of what is computed for nothing else.
    pub(super) fn alone(&self, reckoned: fn(&str, Type<'_>) -> f64) -> Vec<f32> {
        let mut alone = vec![0.0f32; self.graph.nodes.len()];
        let mut known = Counts::default();
        for (index, node) in self.graph.nodes.iter().enumerate() {
            let Some(op) = node.op.filter(|_| matches!(node.class, Class::Map(_))) else { continue };
            let own = counted_as(op, local_name(op), reckoned, &mut known) as f32;
            let before = node.operands.iter().map(|&operand| self.node_of(operand));
            let only = before.filter(|&from| self.users.of(from).len() == 1).map(|from| alone[from as usize]);
            alone[index] = own + only.sum::<f32>();
        }
        alone
    }

    /// Whether computing an element at so many places of a kernel takes longer than to store it and read it there.
    pub(super) fn computes_more(&self, node: Id, places: u32) -> bool {
        let value = &self.graph.values[self.graph.nodes[node as usize].first as usize];
        let each = value.full as f32 / value.elements.max(1) as f32;
        !self.is_free(node) && self.chain[node as usize] * places as f32 > each * self.storage.work_per_byte
    }

    /// For each node, operations for one element if all before it is computed on the fly that can be: elements at the same place once,
    /// those from elsewhere for each of the ways that lead to them. Then how many of them are of elements from elsewhere.
    pub(super) fn chains(&self) -> (Vec<f32>, Vec<f32>) {
        const MOST: f32 = 1e6;
        let mut chains = vec![0.0f32; self.graph.nodes.len()];
        let mut moved = vec![0.0f32; self.graph.nodes.len()];
        for (index, node) in self.graph.nodes.iter().enumerate() {
            let own = match node.class {
                Class::Map(map) if map.expensive => EXPENSIVE as f32,
                Class::Map(_) | Class::Move | Class::Pad | Class::Join { .. } | Class::Update => 1.0,
                Class::Read | Class::Gather | Class::Broadcast | Class::Iota => 1.0,
                _ => continue,
            };
            let before = node.operands.iter().map(|&operand| self.node_of(operand) as usize);
            let (own_place, elsewhere) = if matches!(node.class, Class::Map(_) | Class::Update) {
                let same = before.clone().map(|at| chains[at] - moved[at]).fold(0.0, f32::max);
                (same, before.map(|at| moved[at]).sum::<f32>())
            } else {
                (0.0, before.map(|at| chains[at]).fold(0.0, f32::max))
            };
            // A number is the same wherever it is asked for, and so is what counts places.
            let is_number = |&operand: &Id| self.graph.values[operand as usize].elements <= 1;
            let elsewhere = if self.is_free(index as Id) && node.operands.iter().all(is_number) {
                0.0
            } else {
                elsewhere
            };
            moved[index] = elsewhere.min(MOST);
            chains[index] = (own + own_place + elsewhere).min(MOST);
        }
        (chains, moved)
    }

    /// Whether computing it twice reads more than reading it twice: the reads of a sum of two arrays are more than
    /// the sum.
    pub(super) fn reads_more(&self, node: Id) -> bool {
        let node = &self.graph.nodes[node as usize];
        if node.count != 1 {
            return false;
        }
        let own = self.graph.values[node.first as usize];
        let mut full = 0;
        let mut bytes = 0;
        for (at, &operand) in node.operands.iter().enumerate() {
            let content = &self.graph.values[operand as usize];
            if node.operands[..at].contains(&operand) {
                continue;
            }
            bytes += content.bytes;
            if content.elements > 1
                && !matches!(self.class(content.node), Class::Broadcast | Class::Iota | Class::Constant)
            {
                full += 1;
            }
        }
        full > 1 && bytes > own.bytes
    }

    /// Whether reductions that compute each element so often take longer for it than to store it once and read it. What goes along rows
    /// is no such kernel: a block of its threads shares what is repeated.
    pub(super) fn repeats_more(&self, node: Id, homes: Homes, often: f32) -> bool {
        let homes = homes.told_apart();
        if homes.is_empty() || !homes.iter().all(|&home| matches!(self.class(home), Class::Reduce(_))) {
            return false;
        }
        !self.is_free(node) && self.chain[node as usize] > self.work_for_once(node, often)
    }

    /// Operations for an element, asked for so often, that take as long as to store it once.
    fn work_for_once(&self, node: Id, often: f32) -> f32 {
        let value = &self.graph.values[self.graph.nodes[node as usize].first as usize];
        let again = value.elements as f32 * (often - 1.0);
        let bytes = value.full.saturating_add(self.storage.launch_bytes) as f32;
        bytes * self.storage.work_per_byte / again
    }

    /// Whether what a node is made of, of the same place, is more work than hides behind what kernels move that do it so often: random
    /// numbers that all heads of an attention share, say.
    pub(super) fn is_worth_doing_once(&self, node: Id, homes: Homes, often: f32) -> bool {
        if self.taken.is_empty() || self.is_free(node) || homes.told_apart().is_empty() {
            return false;
        }
        // More is not looked at: a random number is some 130 ops.
        const MOST: usize = 256;
        let hidden = |&home: &Id| self.moved_by(home) / self.elements(home).max(1) as f32;
        let hidden = homes.told_apart().iter().map(hidden).fold(f32::MAX, f32::min);
        let least = hidden * self.storage.work_per_byte + self.work_for_once(node, often);
        // Each op is as little as one operation.
        let (mut found, mut next, mut work) = (vec![node], 0, 0.0);
        while let Some(&at) = found.get(next).filter(|_| work <= least && next < MOST) {
            next += 1;
            let Class::Map(map) = self.class(at) else { continue };
            work += if map.expensive { EXPENSIVE as f32 } else { 1.0 };
            for &operand in &self.graph.nodes[at as usize].operands {
                let before = self.node_of(operand);
                let is_here = self.elements(before) == self.elements(node);
                if is_here && !self.is_free(before) && !found.contains(&before) {
                    found.push(before);
                }
            }
        }
        work > least
    }

    /// How many elements a node makes of one.
    pub(super) fn growth(&self, node: Id) -> f32 {
        let node = &self.graph.nodes[node as usize];
        let elements = |value: Id| self.graph.values[value as usize].elements.max(1) as f32;
        match (node.class, node.operands.first()) {
            (Class::Broadcast, Some(&operand)) => (elements(node.first) / elements(operand)).max(1.0),
            _ => 1.0,
        }
    }

    pub(super) fn grows(&self, node: Id) -> bool {
        self.growth(node) > 1.0
    }

    /// Bytes that a node takes of its operand at `place`.
    pub(super) fn taken(&self, index: Id, place: usize) -> u64 {
        let node = &self.graph.nodes[index as usize];
        let content = &self.graph.values[node.operands[place] as usize];
        let made = self.graph.values.get(node.first as usize).map_or(0, |value| value.elements);
        let part = content.bytes.min(made.saturating_mul(content.bytes / content.elements.max(1)));
        match node.class {
            Class::Read | Class::Move => part,
            Class::Gather if place == 0 => part,
            // It is there, and stays; but one that is computed on the fly reads what it does not replace.
            Class::Update | Class::Scatter if place == 0 && self.stored[index as usize] => 0,
            _ => content.bytes,
        }
    }

    /// Bytes that a node takes of its operand at `place` once more: of a table fewer bytes than are gathered from it.
    pub(super) fn taken_again(&self, node: &Node<'_, '_>, place: usize) -> u64 {
        if node.class != Class::Gather || place != 0 {
            return 0;
        }
        let content = &self.graph.values[node.operands[place] as usize];
        let made = self.graph.values.get(node.first as usize).map_or(0, |value| value.elements);
        let width = content.bytes / content.elements.max(1);
        let gathered = made.saturating_mul(width);
        let Some(rereads) = self.storage.rereads else { return gathered.saturating_sub(content.bytes) };
        let row = node.op.and_then(|op| i64_array(op, "slice_sizes")).unwrap_or_default();
        let row = row.iter().product::<i64>().max(1) as u64;
        let rows = |least: u64| (made / row).saturating_mul(least.max(row.saturating_mul(width)));
        // Rows by chance: each comes with the rest of its sector. What memory has is read once anyway, what the cache has is read besides.
        if content.bytes <= rereads.cache {
            rows(rereads.sector / 2)
        } else {
            rows(rereads.sector).saturating_sub(content.bytes.min(gathered))
        }
    }

    /// For each kernel's node, elementwise operations of all that it computes: elements that are asked for at several places as often,
    /// those that are repeated once for each time. `leader` says which node stands for a kernel that stores several.
    pub(super) fn work(&self, leader: impl Fn(Id) -> Option<Id>) -> Vec<f64> {
        let count = self.graph.nodes.len();
        let elements = |node: Id| self.elements(node).max(1) as f64;
        let mut work = vec![0.0; count];
        let mut scale = vec![0.0f64; count];
        let mut known = Counts::default();
        for node in (0..count as Id).rev().filter(|&node| self.graph.nodes[node as usize].live) {
            let index = node as usize;
            let own = self.own_work(node, &mut known);
            // What reductions load is work, too.
            let loads = |home: Id| match self.class(home) {
                Class::Reduce(_) => self.loads(node),
                _ => 0.0,
            };
            if self.stored[index] {
                scale[index] = 1.0;
                work[leader(node).unwrap_or(node) as usize] += own + loads(node) + self.stepping(node);
                continue;
            }
            for &user in self.users.of(node) {
                let often = match self.class(user) {
                    _ if self.along_rows[user as usize] => 1.0,
                    // What is more than a few operations for a number, keys of random numbers mostly, XLA does once, and stores.
                    Class::Broadcast if elements(node) <= 1.0 => 1.0,
                    // Where a slice begins is the same for all of its elements.
                    Class::Read if !self.is_first_operand(node, user) => 1.0,
                    Class::Broadcast | Class::Move | Class::Read | Class::Gather => {
                        elements(user) / elements(node)
                    }
                    _ => 1.0,
                };
                scale[index] = scale[index].max(scale[user as usize] * often);
            }
            let mut homes: SmallVec<[Id; 4]> = SmallVec::new();
            for &home in self.homes[index].told_apart() {
                let loads = loads(home);
                let home = leader(home).unwrap_or(home);
                if !homes.contains(&home) {
                    homes.push(home);
                    work[home as usize] += (own + loads) * scale[index] * f64::from(self.places[index]);
                }
            }
        }
        work
    }

    /// Whether a node makes the first operand of a user.
    fn is_first_operand(&self, node: Id, user: Id) -> bool {
        self.graph.nodes[user as usize].operands.first().is_some_and(|&first| self.node_of(first) == node)
    }

    /// Operations in the time in which a reduction's kernel loads what a node takes from memory, where the back end counts them.
    fn loads(&self, node: Id) -> f64 {
        // `LOAD_STEPS` of `test/oracle/hlo_time.py`, which says what shows it.
        const LOAD: f64 = 3.0;
        if !self.storage.counts_steps {
            return 0.0;
        }
        let node = &self.graph.nodes[node as usize];
        let made = self.graph.values.get(node.first as usize).map_or(0, |value| value.elements);
        let mut loaded = 0;
        for (at, &operand) in node.operands.iter().enumerate() {
            let content = &self.graph.values[operand as usize];
            let is_there = self.stored.get(content.node as usize).is_none_or(|&stored| stored)
                || self.class(content.node) == Class::Parameter;
            if is_there && content.elements > 1 && !node.operands[..at].contains(&operand) {
                let asked = match node.class {
                    Class::Reduce(_) => content.elements,
                    _ => made,
                };
                loaded += asked;
            }
        }
        LOAD * loaded as f64
    }

    /// Operations to find where each element of a stored node is, where the back end counts them: of those that are put there, or of
    /// those that are reduced.
    fn stepping(&self, node: Id) -> f64 {
        // `arithmetic.py` says what shows it.
        const LOOP: f64 = 4.0;
        if !self.storage.counts_steps {
            return 0.0;
        }
        let node = &self.graph.nodes[node as usize];
        let of = |id: Option<&Id>| {
            id.and_then(|&id| self.graph.values.get(id as usize)).map_or(0, |value| value.elements)
        };
        let elements = match node.class {
            Class::Reduce(_) => of(node.operands.first()),
            Class::Update => of(node.operands.get(1)),
            Class::Scatter => of(node.operands.last()),
            Class::Dot { .. }
            | Class::Opaque
            | Class::Exchange { .. }
            | Class::Parameter
            | Class::Constant
            | Class::Loop
            | Class::Branch => 0,
            _ => of(Some(&node.first)),
        };
        LOOP * elements as f64
    }

    /// Elementwise operations of a node by itself.
    fn own_work(&self, node: Id, known: &mut Counts) -> f64 {
        let in_place = self.stored[node as usize];
        let node = &self.graph.nodes[node as usize];
        let most = |ids: &mut dyn Iterator<Item = Id>| {
            ids.filter_map(|id| self.graph.values.get(id as usize)).map(|value| value.elements).max()
        };
        let elements = match node.class {
            Class::Reduce(_) => most(&mut node.operands.iter().copied()),
            // In place no more is done than what is put there.
            Class::Update if in_place => most(&mut node.operands.iter().copied().skip(1).take(1)),
            Class::Scatter => most(&mut node.operands.iter().copied().skip(1)),
            _ => most(&mut (node.first..node.first + node.count)),
        };
        if let Some(operations) = self.storage.operations {
            return elements.unwrap_or(0) as f64 * self.counted(node, operations, known);
        }
        let each = match node.class {
            Class::Map(map) if map.expensive => EXPENSIVE,
            // Whether a place is within what is put there is asked for each dimension.
            Class::Update => 12.0,
            Class::Pad => 8.0,
            Class::Join { .. } => 4.0,
            Class::Parameter | Class::Constant | Class::Dot { .. } | Class::Loop | Class::Branch => 0.0,
            _ => 1.0,
        };
        // Half as many of 64 bits are computed at a time.
        let wide = self
            .graph
            .values
            .get(node.first as usize)
            .is_some_and(|value| value.bytes / value.elements.max(1) >= 8);
        elements.unwrap_or(0) as f64 * each * if wide { 2.0 } else { 1.0 }
    }

    /// Operations of a node for one of its elements, where the back end says how many that are.
    pub(super) fn counted(
        &self,
        node: &Node<'_, '_>,
        operations: fn(&str, Type<'_>) -> f64,
        known: &mut Counts,
    ) -> f64 {
        let Some(op) = node.op else { return 0.0 };
        let mut of = |op: OperationRef<'_, '_>, name: &str| counted_as(op, name, operations, known);
        let mut local = |op: OperationRef<'_, '_>| of(op, local_name(op));
        match node.class {
            // By something that all elements share: its inverse is multiplied with.
            Class::Map(map) if !map.expensive && op_name(op) == "stablehlo.divide" => of(op, "multiply"),
            Class::Map(_) => local(op),
            Class::Reduce(_) => match op.regions().next().and_then(|region| region.first_block()) {
                Some(body) => ops_in(body).filter(|op| op.result_count() > 0).map(local).sum(),
                // Of the parts of a product.
                None => of(op, "add"),
            },
            Class::Scatter | Class::Opaque => 1.0,
            _ => 0.0,
        }
    }
}

/// Operations of an op that counts as `name` for one of its elements.
fn counted_as(
    op: OperationRef<'_, '_>,
    name: &str,
    operations: fn(&str, Type<'_>) -> f64,
    known: &mut Counts,
) -> f64 {
    // Not `operand(0)`: an op without operands would be printed, for the error, and the module verified for that.
    let Some(ty) = op.operands().next().map(|value| value.r#type()) else { return 0.0 };
    let count = || element_type(ty).map_or(0.0, |element| operations(name, element));
    *known.entry((name.as_ptr() as usize, ty.to_raw().ptr as usize)).or_insert_with(count)
}

/// An op's name without its dialect.
fn local_name<'c>(op: OperationRef<'c, '_>) -> &'c str {
    let name = op_name(op);
    name.split_once('.').map_or(name, |(_, local)| local)
}
