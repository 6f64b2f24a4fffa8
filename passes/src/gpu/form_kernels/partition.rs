// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which values are stored, and which kernels compute what on the fly. See [the pass](super) for the cost model.

mod cost;
mod overwritten;
mod rows;

use super::ops::{Class, evaluations, is_plain_operand, size_of};
use crate::framework::PassError;
use crate::gpu::emit::element::Grids;
use crate::gpu::emit::roots;
use crate::gpu::target_around;
use crate::ir::{key, op_key};
use crate::rewrite::captures;
use crate::target::Rates;
use cost::Cost;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Value};
use slimhlo_dialect::ffi;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Ops in one kernel, counted once for each place at which they are evaluated.
const LARGEST: usize = 1500;
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
    /// The reduction, product or sort, if its result is not stored.
    base: Option<usize>,
    /// Elements of each result.
    pub elements: u64,
    size: usize,
    /// Places that values are evaluated at: of which op's operand, at which place of it.
    places: HashMap<(u32, usize, usize), u32>,
    /// How often a place is evaluated.
    evaluations: Vec<f64>,
}

impl Kernel {
    /// The root in whose place the kernel is called: the last, before which nobody needs the others. Slices of a sort may
    /// stand between each other's users, so it is called for the first of them; all that it reads is there by then.
    pub fn called_at(&self) -> Option<usize> {
        if self.kind == "sort" { self.roots.iter().min().copied() } else { self.roots.iter().max().copied() }
    }
}

/// What is weighed, and how.
#[derive(Clone, Copy, Debug)]
pub struct Choices {
    /// Traffic that a stored byte is worth, in bytes.
    pub stored_byte: f64,
    /// Places at which one value is evaluated in one kernel, at most.
    pub most_places: usize,
    /// What [`merge`](super::merge::merge) says of it.
    pub apart: bool,
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
    /// What kernels read, and at which places, by the value whose memory that is.
    reads: HashSet<(usize, usize, u32)>,
    /// Arguments of the function that may not be written to, by value.
    read_only: HashSet<usize>,
    choices: Choices,
    /// The chip's grids.
    grids: Grids,
    /// And its rates.
    rates: &'static Rates,
    blocks: usize,
}

impl<'c: 'a, 'a> Partition<'c, 'a> {
    /// Decides for a function. `read_only` are arguments that belong to the caller.
    pub fn new(
        function: OperationRef<'c, 'a>,
        read_only: HashSet<usize>,
        choices: Choices,
    ) -> Result<Self, PassError<'c>> {
        let rates = target_around(function)
            .rates()
            .ok_or_else(|| PassError::at(function, "is for a chip without rates"))?;
        let mut this = Self {
            nodes: Vec::new(),
            kernels: Vec::new(),
            defined: HashMap::new(),
            updates: HashMap::new(),
            dependents: HashMap::new(),
            budget: 20_000_000,
            users: Vec::new(),
            reads: HashSet::new(),
            read_only,
            choices,
            grids: Grids::around(function),
            rates,
            blocks: 0,
        };
        if let Some(block) = function.region(0).ok().and_then(|region| region.first_block()) {
            this.add_block(block, None)?;
        }
        this.link();
        for node in (0..this.nodes.len()).rev() {
            this.decide(node);
        }
        super::merge::merge(&mut this, choices.apart);
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
    pub fn base(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
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
        self.reads.insert((key(self.base(value)), kernel, place));
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
            Class::Root("sort") if !wanted => self.store_firsts(node),
            Class::Root(_) | Class::Table if !wanted => {}
            Class::Table => self.nodes[node].stored = true,
            Class::Root("reduce") if self.is_reduced_on_the_fly(node) => self.inline(node),
            Class::Root(_) if self.reduces_nothing(node) && self.can_be_inlined(node) => self.inline(node),
            Class::Move if self.is_first_of_sort(node) => self.nodes[node].stored = wanted,
            Class::Root(kind) => match self.kernel_of_row(node).filter(|_| kind == "reduce") {
                Some(kernel) => self.join_rows(node, kernel),
                None => {
                    let kernel = self.new_kernel(node, kind);
                    self.feed_root(node, kernel, kind);
                }
            },
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

    /// Whether an op is one of the slices of a sort's results that its kernel stores instead of them.
    fn is_first_of_sort(&self, node: usize) -> bool {
        let op = self.nodes[node].op;
        let sort = op.operands().next().and_then(|operand| self.node_of(operand));
        sort.is_some_and(|sort| {
            roots::firsts_of_sort(self.nodes[sort].op).iter().any(|slice| op_key(*slice) == op_key(op))
        })
    }

    /// Makes the kernel of a sort of whose results only slices are stored.
    fn store_firsts(&mut self, node: usize) {
        let slices = roots::firsts_of_sort(self.nodes[node].op);
        let slices = slices.into_iter().filter_map(|slice| self.node_of(slice.result(0).ok()?.into()));
        let mut slices: Vec<_> = slices.filter(|slice| self.nodes[*slice].stored).collect();
        slices.sort_unstable();
        let Some(&first) = slices.first() else { return };
        let kernel = self.new_kernel(first, "sort");
        self.kernels[kernel].base = Some(node);
        self.kernels[kernel].roots = slices;
        self.feed_root(node, kernel, "sort");
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
            // A view has its elements at the same positions.
            let is_alike = matches!(class, Class::Pointwise | Class::View) || self.reduces_nothing(node);
            let same = is_alike && count as f64 == elements;
            let place = match class {
                _ if same => place,
                Class::Put if index == 0 => place,
                Class::Pad | Class::Join | Class::Put if count > 1 => {
                    self.place(kernel, place, node, index, evaluations * share.min(1.0))
                }
                Class::Root(_) if count > 1 => {
                    // Each operand of a reduction as often as it has elements for one result.
                    self.place(kernel, place, node, index, evaluations * share.max(1.0))
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

    /// Whether nobody needs a node in memory, and no kernel would become too large with it.
    fn can_be_inlined(&self, node: usize) -> bool {
        !self.nodes[node].needed && !self.is_too_much(node)
    }

    /// Whether a kernel would become too large.
    fn is_too_much(&self, node: usize) -> bool {
        self.nodes[node].demand.iter().any(|(&kernel, places)| {
            places.len() > self.choices.most_places || self.kernels[kernel].size + places.len() > LARGEST
        })
    }

    /// Whether a kernel reads a stored value only where its own results are; one that updates a slice, where that is.
    pub fn is_read_in_place(&self, node: usize, kernel: usize) -> bool {
        let made = &self.kernels[kernel];
        let own = match made.kind {
            "update" => made.places.get(&(0, made.roots[0], 1)).copied(),
            _ => Some(0),
        };
        self.nodes[node]
            .demand
            .get(&kernel)
            .is_some_and(|places| places.iter().all(|&place| Some(place) == own))
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
