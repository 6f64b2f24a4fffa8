// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Joins kernels: several results in one, and what is computed of a reduction's result with the reduction.
//!
//! A kernel is joined with an earlier one where that can wait: nobody between the two needs what it stores, nor changes what it
//! reads. Two that compute as many elements each, and read the same (or the later one reads what the earlier one stores, at the
//! same place), read it once if they are one, and each result can take over an operand's memory. Elementwise ops on a reduction's
//! result need no launch, and no memory, of their own.

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

/// Joins kernels of a partition.
pub fn merge<'c: 'a, 'a>(partition: &mut Partition<'c, 'a>) {
    let count = partition.kernels.len();
    let mut bodies: Vec<Body<'c, 'a>> = (0..count)
        .map(|kernel| {
            let (nodes, given) = partition.body(kernel);
            Body { nodes, given }
        })
        .collect();
    // By value in memory: nodes that need it, as roots of kernels or as what the host runs.
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
    // In the order of the program.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&kernel| partition.kernels[kernel].roots[0]);
    // Where a kernel runs: with its last root.
    let mut position: Vec<usize> = (0..count).map(|kernel| partition.kernels[kernel].roots[0]).collect();
    let mut joined: Vec<bool> = vec![false; count];
    // Kernels that may be joined, by block, elements and what they read or store.
    let mut open: HashMap<(usize, u64, usize), Vec<usize>> = HashMap::new();
    for kernel in order {
        let made = &partition.kernels[kernel];
        let (block, elements) = (partition.nodes[made.roots[0]].block, made.elements);
        let stored = |partition: &Partition<'c, 'a>, kernel: usize| -> Vec<usize> {
            partition.kernels[kernel]
                .roots
                .iter()
                .flat_map(|&root| partition.nodes[root].op.results())
                .map(|result| key(result.into()))
                .collect()
        };
        if made.kind == "map" && elements > 1 {
            let mut tried: Vec<usize> = Vec::new();
            for value in &bodies[kernel].given {
                if let Some(found) = open.get(&(block, elements, key(*value))) {
                    tried.extend(found.iter().rev().take(MOST_TRIED).filter(|&&other| !joined[other]));
                }
            }
            tried.sort_unstable();
            tried.dedup();
            let at = position[kernel];
            let found = tried.into_iter().rev().find(|&other| {
                let first = &partition.kernels[other];
                let results = stored(partition, other);
                let reads: Vec<Value> = bodies[kernel]
                    .given
                    .iter()
                    .copied()
                    .filter(|value| results.contains(&key(*value)))
                    .collect();
                let size = bodies[other].nodes.len() + bodies[kernel].nodes.len();
                if size > LARGEST || first.roots.len() + made.roots.len() > MOST_ROOTS {
                    return false;
                }
                // It has to be able to wait until the later one runs.
                let waits = results.iter().all(|result| {
                    readers.get(result).is_none_or(|all| all.iter().all(|&reader| reader >= at))
                }) && bodies[other].given.iter().all(|value| {
                    changed
                        .get(&key(*value))
                        .is_none_or(|all| all.iter().all(|&change| change < position[other] || change >= at))
                });
                let same_place = reads.iter().all(|value| {
                    partition.node_of(*value).is_some_and(|node| partition.is_read_in_place(node, kernel))
                });
                let kinds = if first.kind == "map" {
                    true
                } else {
                    // Nobody else needs what is reduced, and all is done element by element.
                    first.kind == "reduce"
                        && first.roots.len() == 1
                        && !reads.is_empty()
                        && results.iter().all(|result| {
                            readers.get(result).is_some_and(|all| all.iter().all(|&reader| reader == at))
                        })
                        && bodies[kernel].nodes.iter().all(|&node| {
                            let node = &partition.nodes[node];
                            match node.class {
                                Class::Pointwise | Class::View => node.elements == elements,
                                Class::Constant | Class::Iota => true,
                                _ => false,
                            }
                        })
                        && bodies[kernel].given.iter().all(|value| size_of(*value).0 == elements)
                };
                waits && same_place && kinds
            });
            if let Some(other) = found {
                join(partition, &mut bodies, other, kernel, &mut readers);
                joined[kernel] = true;
                let root = position[kernel];
                position[other] = root;
                for value in &bodies[other].given {
                    let all = readers.entry(key(*value)).or_default();
                    all.push(root);
                }
                if partition.kernels[other].kind == "map" {
                    for value in
                        bodies[other].given.iter().map(|value| key(*value)).chain(stored(partition, other))
                    {
                        let all = open.entry((block, elements, value)).or_default();
                        if !all.contains(&other) {
                            all.push(other);
                        }
                    }
                }
                continue;
            }
        }
        if matches!(partition.kernels[kernel].kind, "map" | "reduce") && elements > 1 {
            let mut values = stored(partition, kernel);
            if partition.kernels[kernel].kind == "map" {
                let large = bodies[kernel].given.iter().filter(|value| size_of(**value).0 >= elements);
                values.extend(large.map(|value| key(*value)));
            }
            for value in values {
                open.entry((block, elements, value)).or_default().push(kernel);
            }
        }
    }
    partition.drop_kernels(&joined);
}

fn join<'c: 'a, 'a>(
    partition: &mut Partition<'c, 'a>,
    bodies: &mut [Body<'c, 'a>],
    first: usize,
    second: usize,
    readers: &mut HashMap<usize, Vec<usize>>,
) {
    let at = partition.kernels[second].roots[0];
    let only_second = partition.kernels[first].kind != "map";
    partition.join(first, second, only_second);
    // The reader is part of the kernel now.
    for root in partition.kernels[first].roots.clone() {
        for result in partition.nodes[root].op.results() {
            if let Some(all) = readers.get_mut(&key(result.into())) {
                all.retain(|&reader| reader != at);
            }
        }
    }
    let (nodes, given) = partition.body(first);
    let mut seen = HashSet::new();
    bodies[first] =
        Body { nodes, given: given.into_iter().filter(|value| seen.insert(key(*value))).collect() };
    bodies[second] = Body { nodes: Vec::new(), given: Vec::new() };
}
