// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which values are stored, and which kernels compute what on the fly. See [the pass](super) for the cost model.

use super::ops::{Class, captures, evaluations, flops_of, is_plain_operand, size_of};
use crate::framework::PassError;
use crate::ir::{self, key};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Traffic that a launch is worth, in bytes: about two microseconds.
const LAUNCH: f64 = 4e6;
/// Traffic that a stored byte is worth, in bytes: memory is what slimhlo is for.
const STORED: f64 = 4.0;
/// Operations that take as long as the traffic of one byte.
const FLOPS_PER_BYTE: f64 = 16.0;
/// Ops in one kernel, counted once for each place at which they are evaluated.
const LARGEST: usize = 1500;
/// Places at which one value is evaluated in one kernel.
const MOST_PLACES: usize = 48;
/// Ops that are looked at to find what a value costs.
const FARTHEST: usize = 400;

/// An op of the function or of a region that the host runs.
pub struct Node<'c, 'a> {
    pub op: OperationRef<'c, 'a>,
    pub class: Class,
    /// Which block it is in.
    pub block: usize,
    /// The loop or branch around it.
    pub parent: Option<usize>,
    /// It has memory of its own.
    pub stored: bool,
    /// Somebody needs it in memory.
    needed: bool,
    /// Kernels that evaluate it, and at which places.
    demand: BTreeMap<usize, BTreeSet<u32>>,
    pub elements: u64,
    pub bytes: u64,
}

/// A kernel under construction.
pub struct Kernel {
    pub kind: &'static str,
    /// Nodes whose results it stores, in order.
    pub roots: Vec<usize>,
    /// The reduction, if its result is not stored.
    base: Option<usize>,
    /// Elements of each result.
    pub elements: u64,
    size: usize,
    /// Places that values are evaluated at: of which op's operand, at which place of it.
    places: HashMap<(u32, usize, usize), u32>,
    /// How often a place is evaluated.
    evaluations: Vec<f64>,
}

/// A function's ops, and the kernels that it is made of.
pub struct Partition<'c, 'a> {
    pub nodes: Vec<Node<'c, 'a>>,
    pub kernels: Vec<Kernel>,
    defined: HashMap<usize, usize>,
    /// Updates in place, by the value whose memory they take.
    updates: HashMap<usize, Vec<usize>>,
    /// What needs the result of an update, directly or not.
    dependents: HashMap<usize, HashSet<usize>>,
    budget: usize,
    /// Nodes that use a node.
    users: Vec<Vec<usize>>,
    /// Arguments of the function that may not be written to, by value.
    read_only: HashSet<usize>,
    blocks: usize,
}

/// What one element of a value costs, if all that can be computed on the fly is.
struct Cost {
    flops: f64,
    bytes: f64,
    /// Bytes of what has to stay in memory for it, arguments of the function left out.
    held: u64,
    /// Bases that are read, by value.
    bases: HashSet<usize>,
}

impl<'c: 'a, 'a> Partition<'c, 'a> {
    /// Decides for a function. `read_only` are arguments that belong to the caller.
    pub fn new(function: OperationRef<'c, 'a>, read_only: HashSet<usize>) -> Result<Self, PassError<'c>> {
        let mut this = Self {
            nodes: Vec::new(),
            kernels: Vec::new(),
            defined: HashMap::new(),
            updates: HashMap::new(),
            dependents: HashMap::new(),
            budget: 20_000_000,
            users: Vec::new(),
            read_only,
            blocks: 0,
        };
        if let Some(block) = function.region(0).ok().and_then(|region| region.first_block()) {
            this.add_block(block, None)?;
        }
        this.link();
        for node in (0..this.nodes.len()).rev() {
            this.decide(node);
        }
        super::merge::merge(&mut this);
        Ok(this)
    }

    fn add_block(&mut self, block: BlockRef<'c, 'a>, parent: Option<usize>) -> Result<(), PassError<'c>> {
        let number = self.blocks;
        self.blocks += 1;
        let mut next = block.first_operation();
        while let Some(op) = next {
            next = op.next_in_block();
            let class = Class::of(op)?;
            let node = self.nodes.len();
            let (elements, bytes) = op.results().next().map_or((0, 0), |result| size_of(result.into()));
            self.nodes.push(Node {
                op,
                class,
                block: number,
                parent,
                stored: false,
                needed: false,
                demand: BTreeMap::new(),
                elements,
                bytes,
            });
            for result in op.results() {
                self.defined.insert(key(result.into()), node);
            }
            if class == Class::Control {
                for index in 0..op.region_count() {
                    if let Some(block) = op.region(index).ok().and_then(|region| region.first_block()) {
                        if block.next_in_region().is_some() {
                            return Err(PassError::at(op, "has a region of more than one block"));
                        }
                        self.add_block(block, Some(node))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The node that computes a value; none for arguments.
    pub fn node_of(&self, value: Value<'c, 'a>) -> Option<usize> {
        self.defined.get(&key(value)).copied()
    }

    /// All that an op reads: operands, then what its regions capture.
    pub fn operands(&self, node: usize) -> Vec<Value<'c, 'a>> {
        let op = self.nodes[node].op;
        let mut operands: Vec<_> = op.operands().collect();
        if self.nodes[node].class != Class::Control {
            operands.extend(captures(op));
        }
        operands
    }

    /// Finds who uses what, and what is updated in place.
    fn link(&mut self) {
        self.users = vec![Vec::new(); self.nodes.len()];
        for node in 0..self.nodes.len() {
            for operand in self.operands(node) {
                if let Some(producer) = self.node_of(operand)
                    && self.users[producer].last() != Some(&node)
                {
                    self.users[producer].push(node);
                }
            }
            if let Class::Root(kind @ ("update" | "scatter")) = self.nodes[node].class {
                let op = self.nodes[node].op;
                for (index, operand) in op.operands().enumerate() {
                    if is_plain_operand(op, kind, index) {
                        let base = self.base(operand);
                        if !self.read_only.contains(&key(base)) && !self.is_made_of_nothing(base) {
                            self.updates.entry(key(base)).or_default().push(node);
                        }
                    }
                }
            }
        }
    }

    fn is_made_of_nothing(&self, value: Value<'c, 'a>) -> bool {
        self.node_of(value).is_some_and(|node| {
            matches!(self.nodes[node].class, Class::Constant | Class::Iota | Class::Table)
        })
    }

    /// What a value shares its memory with, if it is stored.
    fn base(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        let mut value = value;
        while let Some(node) = self.node_of(value)
            && self.nodes[node].class == Class::View
            && let Some(operand) = self.nodes[node].op.operands().next()
        {
            value = operand;
        }
        value
    }

    /// Makes a kernel with one root.
    fn new_kernel(&mut self, node: usize, kind: &'static str) -> usize {
        let kernel = self.kernels.len();
        let elements = self.nodes[node].elements;
        self.kernels.push(Kernel {
            kind,
            roots: vec![node],
            base: None,
            elements,
            size: 1,
            places: HashMap::new(),
            evaluations: vec![elements as f64],
        });
        self.nodes[node].stored = true;
        kernel
    }

    fn need(&mut self, value: Value<'c, 'a>) {
        if let Some(node) = self.node_of(value) {
            self.nodes[node].needed = true;
        }
    }

    fn demand(&mut self, value: Value<'c, 'a>, kernel: usize, place: u32) {
        if let Some(node) = self.node_of(value) {
            self.nodes[node].demand.entry(kernel).or_default().insert(place);
        }
    }

    /// The place of an operand of `node` that is not where the result is.
    fn place(&mut self, kernel: usize, place: u32, node: usize, operand: usize, evaluations: f64) -> u32 {
        let kernel = &mut self.kernels[kernel];
        let next = kernel.evaluations.len() as u32;
        let found = *kernel.places.entry((place, node, operand)).or_insert(next);
        if found == next {
            kernel.evaluations.push(evaluations);
        }
        found
    }

    fn decide(&mut self, node: usize) {
        let class = self.nodes[node].class;
        let op = self.nodes[node].op;
        let wanted = self.nodes[node].needed || !self.nodes[node].demand.is_empty();
        match class {
            Class::Terminator => op.operands().for_each(|operand| self.need(operand)),
            Class::Control => {
                self.nodes[node].stored = true;
                op.operands().for_each(|operand| self.need(operand));
            }
            Class::Root(_) | Class::Table if !wanted => {}
            Class::Table => self.nodes[node].stored = true,
            Class::Root(kind) => {
                let kernel = self.new_kernel(node, kind);
                self.feed_root(node, kernel, kind);
            }
            Class::Constant | Class::Iota => {
                // Kernels make it themselves, whether somebody else needs it in memory or not.
                if self.nodes[node].needed {
                    self.new_kernel(node, "map");
                }
            }
            Class::View => {
                if self.nodes[node].needed || self.is_too_much(node) {
                    self.nodes[node].stored = true;
                    op.operands().for_each(|operand| self.need(operand));
                } else {
                    self.inline(node);
                }
            }
            _ => {
                if self.nodes[node].needed || wanted && self.is_better_stored(node) {
                    let kernel = self.new_kernel(node, "map");
                    self.feed(node, kernel, 0);
                } else if wanted {
                    self.inline(node);
                }
            }
        }
    }

    /// Evaluates operands wherever the result is.
    fn inline(&mut self, node: usize) {
        let demand = std::mem::take(&mut self.nodes[node].demand);
        for (&kernel, places) in &demand {
            self.kernels[kernel].size += places.len();
            for &place in places {
                self.feed(node, kernel, place);
            }
        }
        self.nodes[node].demand = demand;
    }

    /// Evaluates the operands of an op that is computed on the fly at a place.
    fn feed(&mut self, node: usize, kernel: usize, place: u32) {
        let (class, elements) = (self.nodes[node].class, self.nodes[node].elements.max(1) as f64);
        let evaluations = self.kernels[kernel].evaluations[place as usize];
        for (index, operand) in self.operands(node).into_iter().enumerate() {
            let (count, _) = size_of(operand);
            let share = count as f64 / elements;
            let same = class == Class::Pointwise && count as f64 == elements;
            let place = match class {
                _ if same => place,
                Class::Pad | Class::Join if count > 1 => {
                    self.place(kernel, place, node, index, evaluations * share.min(1.0))
                }
                Class::Gather if index == 1 => {
                    // One place for each component of an index vector: neighbours in memory, mostly.
                    self.place(kernel, place, node, index, evaluations)
                }
                _ => self.place(kernel, place, node, index, evaluations),
            };
            self.demand(operand, kernel, place);
        }
    }

    fn feed_root(&mut self, node: usize, kernel: usize, kind: &'static str) {
        let op = self.nodes[node].op;
        for (index, operand) in self.operands(node).into_iter().enumerate() {
            if is_plain_operand(op, kind, index) {
                self.need(operand);
            } else {
                let often = evaluations(op, kind, index);
                let place = self.place(kernel, 0, node, index, often);
                self.demand(operand, kernel, place);
            }
        }
    }

    /// Whether a kernel would become too large.
    fn is_too_much(&self, node: usize) -> bool {
        self.nodes[node].demand.iter().any(|(&kernel, places)| {
            places.len() > MOST_PLACES || self.kernels[kernel].size + places.len() > LARGEST
        })
    }

    fn is_better_stored(&mut self, node: usize) -> bool {
        if self.is_too_much(node) {
            return true;
        }
        let Node { elements, bytes, .. } = self.nodes[node];
        let kernels = self.nodes[node].demand.len();
        let often: f64 = self.nodes[node]
            .demand
            .iter()
            .map(|(&kernel, places)| {
                let evaluations = &self.kernels[kernel].evaluations;
                places.iter().map(|&place| evaluations[place as usize]).sum::<f64>()
            })
            .sum();
        let updates = !self.updates.is_empty();
        if often <= elements as f64 && kernels == 1 && !updates {
            return false;
        }
        let cost = self.cost(node);
        if updates && self.is_overwritten(node, &cost) {
            return true;
        }
        if often <= elements as f64 && kernels == 1 {
            return false;
        }
        let size = bytes as f64 / elements.max(1) as f64;
        let one = cost.bytes + cost.flops / FLOPS_PER_BYTE;
        let penalty = if kernels > 1 && cost.held > bytes { 0.0 } else { STORED };
        let (again, once) =
            (often * one, elements as f64 * (one + (1.0 + penalty) * size) + often * size + LAUNCH);
        again > once
    }

    /// What one element of a node costs. Stops where it is known to be much.
    fn cost(&self, node: usize) -> Cost {
        let mut cost = Cost { flops: 0.0, bytes: 0.0, held: 0, bases: HashSet::new() };
        let mut seen = HashSet::from([node]);
        let mut pending = vec![node];
        while let Some(next) = pending.pop() {
            if seen.len() > FARTHEST {
                cost.flops += 1e6;
                break;
            }
            let class = self.nodes[next].class;
            let op = self.nodes[next].op;
            cost.flops += match class {
                Class::Pointwise => {
                    let local = op_name(op).split_once('.').map_or("", |(_, local)| local);
                    f64::from(flops_of(local).unwrap_or(1))
                }
                Class::Constant | Class::Iota => 0.0,
                Class::Gather => 4.0,
                // A constant in an address, whose other parts are what they would be without it.
                _ if op_name(op) == "stablehlo.slice" => 0.0,
                _ => 1.0,
            };
            for (index, operand) in self.operands(next).into_iter().enumerate() {
                let inner = self.node_of(operand);
                if let Some(inner) = inner
                    && self.nodes[inner].class.is_on_the_fly()
                    && !self.nodes[inner].needed
                    && !self.nodes[inner].stored
                {
                    if seen.insert(inner) {
                        pending.push(inner);
                    }
                    continue;
                }
                let base = self.base(operand);
                if let Some(inner) = inner
                    && matches!(self.nodes[inner].class, Class::Constant | Class::Iota)
                {
                    continue;
                }
                if !cost.bases.insert(key(base)) {
                    continue;
                }
                let (elements, bytes) = size_of(base);
                if !self.read_only.contains(&key(base)) {
                    cost.held = cost.held.saturating_add(bytes);
                }
                let width = bytes as f64 / elements.max(1) as f64;
                cost.bytes += match (class, index) {
                    // What is small stays near.
                    _ if bytes < 1 << 16 => width / 4.0,
                    // Far apart, and not near either.
                    (Class::Gather, 0) if bytes > 1 << 25 => width.max(32.0),
                    (Class::Gather, 1) => width * 3.0,
                    _ => width,
                };
            }
        }
        cost
    }

    /// Whether a kernel reads a stored value only where its own results are.
    pub fn is_read_in_place(&self, node: usize, kernel: usize) -> bool {
        self.nodes[node].demand.get(&kernel).is_some_and(|places| places.iter().all(|&place| place == 0))
    }

    /// Makes one kernel of two. The result of the first is not stored any more, if `only_second`.
    pub fn join(&mut self, first: usize, second: usize, only_second: bool) {
        let (nodes, given) = self.body(second);
        let read = given.into_iter().filter_map(|value| self.node_of(value)).collect::<Vec<_>>();
        for node in nodes.into_iter().chain(read) {
            if let Some(places) = self.nodes[node].demand.remove(&second) {
                // Places of two kernels cannot be told apart any more, but for the results' own.
                let places = places.into_iter().map(|place| if place == 0 { 0 } else { u32::MAX - place });
                self.nodes[node].demand.entry(first).or_default().extend(places);
            }
        }
        let roots = std::mem::take(&mut self.kernels[second].roots);
        if only_second {
            for root in std::mem::take(&mut self.kernels[first].roots) {
                self.nodes[root].stored = false;
                self.kernels[first].base = Some(root);
            }
        }
        for root in roots {
            self.kernels[first].roots.push(root);
        }
    }

    /// Forgets kernels that have become part of others.
    pub fn drop_kernels(&mut self, joined: &[bool]) {
        let mut at = 0;
        self.kernels.retain(|_| {
            at += 1;
            !joined[at - 1]
        });
    }

    /// The op that a kernel's kind is about.
    pub fn base_of(&self, kernel: usize) -> usize {
        let kernel = &self.kernels[kernel];
        kernel.base.unwrap_or(kernel.roots[0])
    }

    /// Whether a kernel that evaluates `node` would read what has been written over by then, so that the update would have to
    /// happen in a copy: storing the node is the smaller evil.
    fn is_overwritten(&mut self, node: usize, cost: &Cost) -> bool {
        let kernels: Vec<usize> = self.nodes[node].demand.keys().copied().collect();
        let bases: Vec<usize> =
            cost.bases.iter().copied().filter(|base| self.updates.contains_key(base)).collect();
        let bytes = self.nodes[node].bytes;
        for base in bases {
            // The last one to update is the one that can do so in place.
            let updates = self.updates[&base].clone();
            let Some(&update) = updates.iter().max() else { continue };
            let size = self.nodes[update].bytes;
            let late = kernels.iter().any(|&kernel| {
                let root = self.kernels[kernel].roots[0];
                if root == update {
                    let (readers, _) = self.direct_readers(node, base);
                    !self.is_apart(&readers, update, base)
                } else {
                    self.depends(root, update)
                }
            });
            if !late {
                continue;
            }
            let (readers, read) = self.direct_readers(node, base);
            let deeper = !readers.contains(&node) && read < bytes;
            if !deeper && bytes <= size {
                return true;
            }
        }
        false
    }

    /// Ops that `node` is computed with on the fly and that read a value themselves, and the bytes of their results.
    fn direct_readers(&self, node: usize, base: usize) -> (HashSet<usize>, u64) {
        let mut seen = HashSet::from([node]);
        let mut pending = vec![node];
        let mut readers = HashSet::new();
        let mut bytes = 0u64;
        while let Some(next) = pending.pop() {
            for operand in self.operands(next) {
                if key(self.base(operand)) == base && readers.insert(next) {
                    bytes = bytes.saturating_add(self.nodes[next].bytes);
                }
                if let Some(inner) = self.node_of(operand)
                    && self.nodes[inner].class.is_on_the_fly()
                    && seen.len() < FARTHEST
                    && seen.insert(inner)
                {
                    pending.push(inner);
                }
            }
        }
        (readers, bytes)
    }

    /// Whether what `readers` read of a value while `update` writes to it is never what is written, or exactly what the same
    /// thread writes.
    fn is_apart(&self, readers: &HashSet<usize>, update: usize, base: usize) -> bool {
        let op = self.nodes[update].op;
        if self.nodes[update].class != Class::Root("update") {
            return false;
        }
        let operands: Vec<_> = op.operands().collect();
        let (Some(shape), Some(sizes)) = (ffi::shape(operands[0].r#type()), ffi::shape(operands[1].r#type()))
        else {
            return false;
        };
        let starts = &operands[2..];
        let written: Vec<Option<(i64, i64)>> = starts
            .iter()
            .zip(shape.iter().zip(sizes))
            .map(|(start, (&dim, &size))| {
                let start = ir::window_start(Some(*start), size, dim)?;
                Some((start, start + size))
            })
            .collect();
        readers.iter().all(|&reader| {
            let op = self.nodes[reader].op;
            // The value itself, not another shape of it.
            if op.operands().enumerate().any(|(index, operand)| {
                key(self.base(operand)) == base && (index != 0 || key(operand) != base)
            }) {
                return false;
            }
            match op_name(op) {
                "stablehlo.slice" => {
                    let (Some(start), Some(limit)) =
                        (ir::i64_array(op, "start_indices"), ir::i64_array(op, "limit_indices"))
                    else {
                        return false;
                    };
                    let apart =
                        written.iter().zip(start.iter().zip(limit)).any(|(written, (&start, &limit))| {
                            written.is_some_and(|(from, to)| limit <= from || to <= start)
                        });
                    let same = ir::i64_array(op, "strides")
                        .is_some_and(|strides| strides.iter().all(|&stride| stride == 1))
                        && written
                            .iter()
                            .zip(start.iter().zip(limit))
                            .all(|(written, (&start, &limit))| *written == Some((start, limit)));
                    apart || same && self.is_pointwise_path(reader, update)
                }
                "stablehlo.dynamic_slice" => {
                    let same =
                        op.operands().skip(1).zip(starts).all(|(left, right)| key(left) == key(*right))
                            && ir::i64_array(op, "slice_sizes") == Some(sizes);
                    same && self.is_pointwise_path(reader, update)
                }
                _ => false,
            }
        })
    }

    /// Whether all that lies between the update of `update` and `reader` is elementwise. Places tell: `reader` is evaluated at
    /// the same place as the update is, and at no other.
    fn is_pointwise_path(&self, reader: usize, update: usize) -> bool {
        let mut seen = HashSet::new();
        let mut pending: Vec<usize> =
            self.nodes[update].op.operands().skip(1).filter_map(|operand| self.node_of(operand)).collect();
        // From the update down: a path through anything else that ends at the reader is one too many.
        let mut through = HashSet::new();
        while let Some(next) = pending.pop() {
            if next == reader || !self.nodes[next].class.is_on_the_fly() || !seen.insert(next) {
                continue;
            }
            if seen.len() > FARTHEST {
                return false;
            }
            if self.nodes[next].class != Class::Pointwise {
                through.insert(next);
            }
            pending.extend(self.operands(next).into_iter().filter_map(|operand| self.node_of(operand)));
        }
        through.into_iter().all(|other| !self.reaches(other, reader))
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = HashSet::from([from]);
        let mut pending = vec![from];
        while let Some(next) = pending.pop() {
            if next == to || seen.len() > FARTHEST {
                return true;
            }
            for operand in self.operands(next) {
                if let Some(inner) = self.node_of(operand)
                    && inner >= to
                    && self.nodes[inner].class.is_on_the_fly()
                    && seen.insert(inner)
                {
                    pending.push(inner);
                }
            }
        }
        false
    }

    /// Whether `node` needs the result of `update`, directly or not. Where finding out takes too long, whether it comes
    /// later.
    fn depends(&mut self, node: usize, update: usize) -> bool {
        if node < update {
            return false;
        }
        if !self.dependents.contains_key(&update) {
            let mut found = HashSet::new();
            let mut pending = vec![update];
            while let Some(next) = pending.pop() {
                let parent = self.nodes[next].parent;
                for &user in self.users[next].iter().chain(&parent) {
                    if found.insert(user) {
                        pending.push(user);
                    }
                }
                if found.len() > self.budget {
                    break;
                }
            }
            self.budget = self.budget.saturating_sub(found.len());
            self.dependents.insert(update, found);
        }
        if self.budget == 0 {
            return true;
        }
        let dependents = &self.dependents[&update];
        let mut current = Some(node);
        while let Some(node) = current {
            if dependents.contains(&node) {
                return true;
            }
            current = self.nodes[node].parent;
        }
        false
    }

    /// The nodes a kernel computes, in order, and the values it is given.
    pub fn body(&self, kernel: usize) -> (Vec<usize>, Vec<Value<'c, 'a>>) {
        let roots = &self.kernels[kernel].roots;
        let mut nodes: BTreeSet<usize> = roots.iter().copied().collect();
        let mut pending: Vec<usize> = roots.clone();
        let mut given: Vec<Value<'c, 'a>> = Vec::new();
        let mut seen = HashSet::new();
        while let Some(next) = pending.pop() {
            let node = &self.nodes[next];
            let plain = |index: usize| match node.class {
                Class::Root(kind) => {
                    index < node.op.operand_count() && is_plain_operand(node.op, kind, index)
                }
                _ => false,
            };
            for (index, operand) in self.operands(next).into_iter().enumerate() {
                let producer = self.node_of(operand);
                let inside = producer.filter(|&producer| {
                    let node = &self.nodes[producer];
                    !plain(index)
                        && (!node.stored
                            || roots.contains(&producer)
                            || matches!(node.class, Class::Constant | Class::Iota))
                });
                match inside {
                    Some(producer) => {
                        if nodes.insert(producer) {
                            pending.push(producer);
                        }
                    }
                    None => {
                        if seen.insert(key(operand)) {
                            given.push(operand);
                        }
                    }
                }
            }
        }
        // In the order of the program, whatever the search did.
        given.sort_by_key(|value| self.order_of(*value));
        (nodes.into_iter().collect(), given)
    }

    /// Whether a kernel rooted at an update must be given a value that it changes once more, because it reads it where it may
    /// have been changed already.
    pub fn reads_what_it_writes(&self, kernel: usize, nodes: &[usize], value: Value<'c, 'a>) -> bool {
        let root = self.kernels[kernel].roots[0];
        let Class::Root(kind) = self.nodes[root].class else { return false };
        let op = self.nodes[root].op;
        let is_read = |node: &usize| {
            self.operands(*node).into_iter().enumerate().any(|(index, operand)| {
                key(operand) == key(value)
                    && !(*node == root && index < op.operand_count() && is_plain_operand(op, kind, index))
            })
        };
        let readers: HashSet<usize> = nodes.iter().copied().filter(is_read).collect();
        !readers.is_empty() && (readers.contains(&root) || !self.is_apart(&readers, root, key(value)))
    }

    fn order_of(&self, value: Value<'c, 'a>) -> (usize, usize) {
        match (ffi::as_result(value), self.node_of(value)) {
            (Some(_), Some(node)) => {
                let index = self.nodes[node].op.results().position(|result| key(result.into()) == key(value));
                (node + 1, index.unwrap_or(0))
            }
            _ => (0, ffi::as_block_argument(value).map_or(0, |argument| argument.argument_number())),
        }
    }
}
