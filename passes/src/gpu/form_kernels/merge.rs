// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Joins kernels: several results in one, and what is computed of a reduction's or a product's result with that.
//!
//! A kernel is joined with an earlier one where that can wait: nobody between the two needs what it stores, nor
//! changes what it reads. Two that compute as many elements each, and read the same (or the later one reads what the
//! earlier one stores, at the same place), read it once if they are one, and each result can take over an operand's
//! memory. Elementwise ops on a reduction's result need no launch, and no memory, of their own. Whatever is computed
//! at the place of a product's element is done by the thread that has its sum: activations, residuals, sums that a
//! loop adds to, and writing it into a slice of a larger value. The product itself is stored if others need it.

use super::ops::{Class, size_of};
use super::partition::Partition;
use crate::ir::key;
use melior::ir::Value;
use melior::ir::operation::OperationLike;
use std::collections::{HashMap, HashSet};

/// Ops in a joined kernel.
const LARGEST: usize = 400;
/// Results of a joined kernel.
const MOST_ROOTS: usize = 16;
/// Earlier kernels that one is compared with.
const MOST_TRIED: usize = 8;

struct Body<'c, 'a> {
    nodes: Vec<usize>,
    given: Vec<Value<'c, 'a>>,
}

/// Joins kernels of a partition. `apart` leaves alone what reads a result of an earlier kernel that others read, too:
/// whoever comes last may write over it then.
pub fn merge<'c: 'a, 'a>(partition: &mut Partition<'c, 'a>, apart: bool) {
    let mut merge = Merge::new(partition, apart);
    // In the order of the program.
    let mut order: Vec<usize> = (0..merge.bodies.len()).collect();
    order.sort_by_key(|&kernel| merge.position[kernel]);
    for kernel in order {
        match merge.find(kernel) {
            Some(other) => merge.join(other, kernel),
            None => merge.open(kernel),
        }
    }
    let joined = merge.joined;
    partition.drop_kernels(&joined);
}

struct Merge<'p, 'c, 'a> {
    partition: &'p mut Partition<'c, 'a>,
    apart: bool,
    bodies: Vec<Body<'c, 'a>>,
    /// By value in memory: nodes that need it, as roots of kernels or as what the host runs,
    readers: HashMap<usize, Vec<usize>>,
    /// and those that change it.
    changed: HashMap<usize, Vec<usize>>,
    /// Where a kernel runs: with its last root.
    position: Vec<usize>,
    joined: Vec<bool>,
    /// Kernels that may be joined, by block, elements and what they read or store.
    open: HashMap<(usize, u64, usize), Vec<usize>>,
}

/// Whether a kernel of this kind is a product, after which ops can follow at the place of each element.
fn is_product(kind: &str) -> bool {
    matches!(kind, "dot" | "convolution")
}

impl<'p, 'c: 'a, 'a> Merge<'p, 'c, 'a> {
    fn new(partition: &'p mut Partition<'c, 'a>, apart: bool) -> Self {
        let count = partition.kernels.len();
        let bodies: Vec<Body<'c, 'a>> = (0..count)
            .map(|kernel| {
                let (nodes, given) = partition.body(kernel);
                Body { nodes, given }
            })
            .collect();
        let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut changed: HashMap<usize, Vec<usize>> = HashMap::new();
        for (kernel, body) in bodies.iter().enumerate() {
            let made = &partition.kernels[kernel];
            let at = made.roots[0];
            for value in &body.given {
                readers.entry(key(*value)).or_default().push(at);
                if matches!(made.kind, "update" | "scatter") {
                    changed.entry(key(*value)).or_default().push(at);
                }
            }
        }
        for (at, node) in partition.nodes.iter().enumerate() {
            let host = matches!(node.class, Class::Control | Class::Terminator)
                || node.class == Class::View && node.stored;
            if host {
                for operand in node.op.operands() {
                    readers.entry(key(operand)).or_default().push(at);
                    if node.class == Class::Control {
                        changed.entry(key(operand)).or_default().push(at);
                    }
                }
            }
        }
        let position = (0..count).map(|kernel| partition.kernels[kernel].roots[0]).collect();
        let joined = vec![false; count];
        Self { partition, apart, bodies, readers, changed, position, joined, open: HashMap::new() }
    }

    /// The block that a kernel runs in.
    fn block(&self, kernel: usize) -> usize {
        self.partition.nodes[self.partition.kernels[kernel].roots[0]].block
    }

    /// What a kernel stores.
    fn stored(&self, kernel: usize) -> Vec<usize> {
        let roots = self.partition.kernels[kernel].roots.iter();
        roots
            .flat_map(|&root| self.partition.nodes[root].op.results())
            .map(|result| key(result.into()))
            .collect()
    }

    /// An earlier kernel that one can be joined with.
    fn find(&self, kernel: usize) -> Option<usize> {
        let made = &self.partition.kernels[kernel];
        let elements = match made.kind {
            "map" => made.elements,
            // Those that are written.
            "update" => size_of(self.partition.nodes[made.roots[0]].op.operand(1).ok()?).0,
            _ => 0,
        };
        if elements <= 1 {
            return None;
        }
        let block = self.block(kernel);
        let mut tried: Vec<usize> = Vec::new();
        for value in &self.bodies[kernel].given {
            if let Some(found) = self.open.get(&(block, elements, key(*value))) {
                tried.extend(found.iter().rev().take(MOST_TRIED).filter(|&&other| !self.joined[other]));
            }
        }
        tried.sort_unstable();
        tried.dedup();
        tried.into_iter().rev().find(|&other| self.can_join(other, kernel))
    }

    fn can_join(&self, other: usize, kernel: usize) -> bool {
        let at = self.position[kernel];
        let (first, made) = (&self.partition.kernels[other], &self.partition.kernels[kernel]);
        let size = self.bodies[other].nodes.len() + self.bodies[kernel].nodes.len();
        if size > LARGEST || first.roots.len() + made.roots.len() > MOST_ROOTS {
            return false;
        }
        let results = self.stored(other);
        let given = self.bodies[kernel].given.iter().copied();
        let reads: Vec<Value> = given.filter(|value| results.contains(&key(*value))).collect();
        let same_place = reads.iter().all(|value| {
            let node = self.partition.node_of(*value);
            node.is_some_and(|node| self.partition.is_read_in_place(node, kernel))
        });
        let is_read = |result: &usize, elsewhere: bool| {
            let readers = self.readers.get(result).map_or(&[][..], Vec::as_slice);
            readers.iter().any(|&reader| (reader != at) == elsewhere)
        };
        if self.apart && reads.iter().any(|value| is_read(&key(*value), true)) {
            return false;
        }
        let alone = results.iter().all(|result| is_read(result, false) && !is_read(result, true));
        let kinds = match (first.kind, made.kind) {
            ("map", "map") => true,
            ("reduce", "map") => alone && !reads.is_empty() && self.is_elementwise_after(other, kernel),
            (kind, "map") if is_product(kind) => !reads.is_empty() && !self.grows(other, kernel),
            (kind, "update") if is_product(kind) => {
                !reads.is_empty() && !self.reads_what_is_written(other, kernel)
            }
            _ => false,
        };
        same_place && kinds && self.can_wait(other, at, &results)
    }

    /// Whether kernels are left apart where one stores more than the other.
    fn grows(&self, other: usize, kernel: usize) -> bool {
        let bytes = |kernel: usize| -> u64 {
            let roots = self.partition.kernels[kernel].roots.iter();
            roots.map(|&root| self.partition.nodes[root].bytes).sum()
        };
        self.apart && bytes(kernel) > bytes(other)
    }

    /// Whether a kernel reads what an update writes over.
    fn reads_what_is_written(&self, other: usize, update: usize) -> bool {
        let op = self.partition.nodes[self.partition.kernels[update].roots[0]].op;
        let Some(target) = op.operands().next().map(|target| key(self.partition.base(target))) else {
            return true;
        };
        self.bodies[other].given.iter().any(|value| key(self.partition.base(*value)) == target)
    }

    /// Whether a kernel that stores `results` may as well run with what is at `at`: nobody in between reads them, nor
    /// changes what it reads.
    fn can_wait(&self, kernel: usize, at: usize, results: &[usize]) -> bool {
        let is_read_later =
            |result| self.readers.get(result).is_none_or(|all| all.iter().all(|&reader| reader >= at));
        let position = self.position[kernel];
        let is_kept = |value: &Value<'c, 'a>| {
            let changes = self.changed.get(&key(*value));
            changes.is_none_or(|all| all.iter().all(|&change| change < position || change >= at))
        };
        results.iter().all(is_read_later) && self.bodies[kernel].given.iter().all(is_kept)
    }

    /// Whether a kernel is elementwise on the one result of another.
    fn is_elementwise_after(&self, other: usize, kernel: usize) -> bool {
        let elements = self.partition.kernels[kernel].elements;
        let body = &self.bodies[kernel];
        self.partition.kernels[other].roots.len() == 1
            && body.nodes.iter().all(|&node| {
                let node = &self.partition.nodes[node];
                match node.class {
                    Class::Pointwise | Class::View => node.elements == elements,
                    Class::Constant | Class::Iota => true,
                    _ => false,
                }
            })
            && body.given.iter().all(|value| size_of(*value).0 == elements)
    }

    /// Makes a kernel one with an earlier one.
    fn join(&mut self, first: usize, second: usize) {
        let at = self.partition.kernels[second].roots[0];
        let mut results = self.stored(first).into_iter();
        // What others need of a product is stored beside what is made of it.
        let only_second = self.partition.kernels[first].kind != "map"
            && results.all(|result| {
                self.readers.get(&result).is_some_and(|all| all.iter().all(|&reader| reader == at))
            });
        self.partition.join(first, second, only_second);
        // The reader is part of the kernel now.
        for root in self.partition.kernels[first].roots.clone() {
            for result in self.partition.nodes[root].op.results() {
                if let Some(all) = self.readers.get_mut(&key(result.into())) {
                    all.retain(|&reader| reader != at);
                }
            }
        }
        let (nodes, given) = self.partition.body(first);
        let mut seen = HashSet::new();
        self.bodies[first] =
            Body { nodes, given: given.into_iter().filter(|value| seen.insert(key(*value))).collect() };
        self.bodies[second] = Body { nodes: Vec::new(), given: Vec::new() };
        self.joined[second] = true;
        self.position[first] = self.position[second];
        let given: Vec<usize> = self.bodies[first].given.iter().map(|value| key(*value)).collect();
        for &value in &given {
            self.readers.entry(value).or_default().push(self.position[first]);
        }
        match self.partition.kernels[first].kind {
            "map" => self.offer(first, [given, self.stored(first)].concat()),
            kind if is_product(kind) && self.partition.kernels[second].kind == "map" => {
                self.offer(first, self.stored(first));
            }
            _ => {}
        }
    }

    /// Lets later kernels be joined with one that has not been itself.
    fn open(&mut self, kernel: usize) {
        let made = &self.partition.kernels[kernel];
        let elements = made.elements;
        if !(matches!(made.kind, "map" | "reduce") || is_product(made.kind)) || elements <= 1 {
            return;
        }
        let mut values = self.stored(kernel);
        if made.kind == "map" {
            let large = self.bodies[kernel].given.iter().filter(|value| size_of(**value).0 >= elements);
            values.extend(large.map(|value| key(*value)));
        }
        self.offer(kernel, values);
    }

    fn offer(&mut self, kernel: usize, values: Vec<usize>) {
        let (block, elements) = (self.block(kernel), self.partition.kernels[kernel].elements);
        for value in values {
            let all = self.open.entry((block, elements, value)).or_default();
            if !all.contains(&kernel) {
                all.push(kernel);
            }
        }
    }
}
