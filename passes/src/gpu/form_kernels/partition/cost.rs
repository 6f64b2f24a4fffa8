// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a value costs where it is computed on the fly, and where it is stored.

use super::{Class, FARTHEST, Partition};
use crate::gpu::form_kernels::ops::{flops_of, flops_per_byte, size_of};
use crate::ir::key;
use melior::ir::operation::OperationLike;
use slimhlo_dialect::ffi::op_name;
use std::collections::{HashMap, HashSet};

/// Launches that one is weighed as against traffic: until all blocks are at work, and the last ones done, little is moved.
const LAUNCHES: f64 = 1.4;
/// The share of the second cache above which what is gathered from is not found there: not all of it is that array's.
const OF_CACHE: f64 = 2.0 / 3.0;
/// The longest reduction that one thread does, within a reduction of what it comes to.
const LONGEST_ON_THE_FLY: u64 = 256;
/// Bytes that are worth it: a launch's.
const LEAST_ON_THE_FLY: u64 = 4 << 20;

/// What one element of a value costs, if all that can be computed on the fly is.
pub(super) struct Cost {
    flops: f64,
    bytes: f64,
    /// Bytes of what has to stay in memory for it, arguments of the function left out.
    held: u64,
    /// The same with them.
    read: u64,
    /// Bases that are read, by value.
    pub(super) bases: HashSet<usize>,
    /// Of those that are read just where the element is: bytes of an element.
    here: HashMap<usize, f64>,
}

impl<'c: 'a, 'a> Partition<'c, 'a> {
    pub(super) fn is_better_stored(&mut self, node: usize) -> bool {
        if self.is_too_much(node) {
            return true;
        }
        let (elements, bytes) = (self.nodes[node].elements, self.nodes[node].bytes);
        let kernels = self.nodes[node].demand.len();
        let often: f64 = self.evaluations(node).map(|(_, _, often)| often).sum();
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
        let one = cost.bytes + cost.flops / flops_per_byte(self.rates);
        // What somebody else has read at the same place is there already.
        let saved: f64 = self
            .evaluations(node)
            .map(|(kernel, place, often)| {
                let here = cost.here.iter().filter(|(base, _)| self.reads.contains(&(**base, kernel, place)));
                often * here.map(|(_, bytes)| bytes).sum::<f64>()
            })
            .sum();
        let penalty = if kernels > 1 && cost.held > bytes { 0.0 } else { self.choices.stored_byte };
        let (again, once) = (
            often * one - saved,
            elements as f64 * (one + (1.0 + penalty) * size) + often * size + self.launch_bytes(),
        );
        again > once
    }

    /// Traffic that a launch is worth, in bytes.
    fn launch_bytes(&self) -> f64 {
        LAUNCHES * self.rates.launch * self.rates.bytes
    }

    /// The kernels and places that evaluate a node, and how often.
    fn evaluations(&self, node: usize) -> impl Iterator<Item = (usize, u32, f64)> {
        self.nodes[node].demand.iter().flat_map(|(&kernel, places)| {
            let evaluations = &self.kernels[kernel].evaluations;
            places.iter().map(move |&place| (kernel, place, evaluations[place as usize]))
        })
    }

    /// Whether each element of a reduction is best made by the thread that reduces it further: it is asked for once, and larger than all
    /// that it is made of.
    pub(super) fn is_reduced_on_the_fly(&self, node: usize) -> bool {
        let Self { nodes, kernels, .. } = self;
        let Some((&kernel, places)) = nodes[node].demand.iter().next() else { return false };
        let op = nodes[node].op;
        let (count, _) = op.operands().next().map_or((0, 0), size_of);
        let (elements, bytes) = (nodes[node].elements, nodes[node].bytes);
        let is_asked_once = places.len() == 1
            && places.iter().all(|&place| kernels[kernel].evaluations[place as usize] <= elements as f64);
        if nodes[node].needed
            || nodes[node].demand.len() > 1
            || !is_asked_once
            || op.result_count() != 1
            || kernels[kernel].kind != "reduce"
            || nodes[kernels[kernel].roots[0]].block != nodes[node].block
            || bytes < LEAST_ON_THE_FLY
            || count / elements.max(1) > LONGEST_ON_THE_FLY
            || self.is_too_much(node)
        {
            return false;
        }
        let cost = self.cost(node);
        cost.read < bytes && cost.bases.iter().all(|base| !self.updates.contains_key(base))
    }

    /// What one element of a node costs. Stops where it is known to be much.
    pub(super) fn cost(&self, node: usize) -> Cost {
        let mut cost =
            Cost { flops: 0.0, bytes: 0.0, held: 0, read: 0, bases: HashSet::new(), here: HashMap::new() };
        let count = self.nodes[node].elements;
        let near = OF_CACHE * self.rates.cache as f64;
        let mut seen = HashSet::from([node]);
        // With whether it is evaluated just where the node is.
        let mut pending = vec![(node, true)];
        while let Some((next, here)) = pending.pop() {
            if seen.len() > FARTHEST {
                cost.flops += 1e6;
                break;
            }
            let class = self.nodes[next].class;
            let here = here && class == Class::Pointwise && self.nodes[next].elements == count;
            // What is the same for all elements is computed once by a thread.
            if count == 1 || self.nodes[next].elements > 1 {
                cost.flops += self.flops(next);
            }
            for (index, operand) in self.operands(next).into_iter().enumerate() {
                let inner = self.node_of(operand);
                if let Some(inner) = inner
                    && self.nodes[inner].class.is_on_the_fly()
                    && !self.nodes[inner].needed
                    && !self.nodes[inner].stored
                {
                    if seen.insert(inner) {
                        pending.push((inner, here));
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
                cost.read = cost.read.saturating_add(bytes);
                if !self.read_only.contains(&key(base)) {
                    cost.held = cost.held.saturating_add(bytes);
                }
                let width = bytes as f64 / elements.max(1) as f64;
                let moved = match (class, index) {
                    _ if elements == 1 && count > 1 => 0.0,
                    // What is small stays near.
                    _ if bytes < 1 << 16 => width / 4.0,
                    // Far apart, and not near either.
                    (Class::Gather, 0) if bytes as f64 > near => width.max(32.0),
                    (Class::Gather, 1) => width * 3.0,
                    _ => width,
                };
                cost.bytes += moved;
                if here && size_of(operand).0 == count {
                    cost.here.insert(key(base), moved);
                }
            }
        }
        cost
    }

    /// Operations for one element of a node, without those of its operands.
    fn flops(&self, node: usize) -> f64 {
        let name = op_name(self.nodes[node].op);
        match self.nodes[node].class {
            Class::Pointwise => {
                let local = name.split_once('.').map_or("", |(_, local)| local);
                f64::from(flops_of(local).unwrap_or(1))
            }
            Class::Constant | Class::Iota => 0.0,
            Class::Gather => 4.0,
            // An offset in an address, whose other parts are what they would be without it.
            _ if matches!(name, "stablehlo.slice" | "stablehlo.dynamic_slice") => 0.0,
            _ => 1.0,
        }
    }
}
