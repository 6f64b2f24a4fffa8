// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Calls, loops and branches: what their regions compute, and what they take from outside.

use super::super::lists::Ids;
use super::{Class, DEEPEST_CALLS, Graph, Id, Import, MOST_NODES, Scope, body, is_splat, prune};
use crate::ir::key;
use crate::rewrite::walk;
use melior::ir::attribute::FlatSymbolRefAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, RegionLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::attribute_of;
use smallvec::smallvec as ids;

impl<'c: 'a, 'a> Import<'c, 'a> {
    pub(super) fn call(
        &mut self,
        scope: &mut Scope<'c, 'a>,
        op: OperationRef<'c, 'a>,
        attribute: &str,
    ) -> bool {
        let callee = attribute_of(op, attribute)
            .and_then(|attribute| FlatSymbolRefAttribute::try_from(attribute).ok())
            .and_then(|symbol| self.by_name().get(symbol.value()).copied());
        let Some(block) = callee.and_then(|callee| body(callee, 0)) else { return false };
        if self.made > MOST_NODES || self.depth >= DEEPEST_CALLS {
            return false;
        }
        self.depth += 1;
        let operands = scope.operands(op);
        scope.bind(block, &operands);
        let results = self.block(scope, block);
        self.depth -= 1;
        scope.forward(op, &results);
        true
    }

    pub(super) fn control(&mut self, scope: &mut Scope<'c, 'a>, op: OperationRef<'c, 'a>, name: &str) {
        let mut operands = scope.operands(op);
        let mut regions = Vec::new();
        // What a loop hands through is what it was given.
        let mut through: Vec<bool> = Vec::new();
        let mut filters = Ids::new();
        for index in 0..op.region_count() {
            let Some(block) = body(op, index) else { continue };
            let mut inner = self.scope();
            inner.add_parameters(block);
            inner.capture(scope, op, index);
            inner.graph.results = self.block(&mut inner, block);
            if name == "while" && index == 1 {
                let carried = inner.graph.results.iter().zip(&inner.graph.parameters);
                through = carried.map(|(result, parameter)| result == parameter).collect();
                filters = scope.order_filters(op, &mut inner, &through);
            }
            let mut graph = inner.graph;
            prune(&mut graph);
            operands.extend_from_slice(&graph.captures);
            regions.push(graph);
        }
        let class = if name == "while" { Class::Loop } else { Class::Branch };
        let given = operands.clone();
        operands.extend(filters);
        // Slices of 16-bit floats are read as 32-bit ones; of what does not change, all of it is converted before.
        if let ("while", Some(body)) = (name, regions.get(1)) {
            let sliced = sliced(body, &through);
            for at in 0..through.len() {
                if through[at] && sliced.contains(&body.parameters[at]) {
                    let wide = scope.widen(op, given[at]);
                    if wide != given[at] {
                        operands.push(wide);
                    }
                }
            }
        }
        let node = scope.add(class, op, operands, false);
        scope.graph.nodes[node as usize].regions = regions;
        let results: Vec<Id> = scope.graph.results_of(node).collect();
        let values: Vec<Id> = results
            .iter()
            .enumerate()
            .map(|(at, &result)| {
                if through.get(at) == Some(&true) {
                    scope.graph.values[result as usize].bytes = 0;
                    given[at]
                } else {
                    result
                }
            })
            .collect();
        scope.forward(op, &values);
    }
}

impl<'c: 'a, 'a> Scope<'c, 'a> {
    /// Brings filters that a loop does not change into order before it, as back ends do that give what a loop carries
    /// the order in which its body reads it; what they are then.
    fn order_filters(&mut self, op: OperationRef<'c, 'a>, body: &mut Scope<'c, 'a>, through: &[bool]) -> Ids {
        let graph = &mut body.graph;
        let mut ordered = Ids::new();
        let mut same: FxHashMap<Id, Id> = FxHashMap::default();
        let mut copies: Vec<(usize, Id)> =
            body.filters.iter().map(|(&filter, &copy)| (filter, copy)).collect();
        copies.sort_unstable_by_key(|&(_, copy)| copy);
        for (filter, copy) in copies {
            let node = &graph.nodes[graph.values[copy as usize].node as usize];
            let (Some(convolution), [taken]) = (node.op, &node.operands[..]) else { continue };
            let Some(at) = graph.parameters.iter().position(|parameter| parameter == taken) else { continue };
            let (outside, given) = match at.checked_sub(op.operand_count()) {
                // A value from outside, which is the same value of the IR.
                Some(at) => (filter, graph.captures[at]),
                None if through.get(at) == Some(&true) => {
                    let Ok(operand) = op.operand(at) else { continue };
                    (key(operand), self.operand(operand))
                }
                None => continue,
            };
            let before = match self.filters.get(&outside) {
                Some(&known) => known,
                None => self.in_order(convolution, given),
            };
            self.filters.insert(outside, before);
            ordered.push(before);
            same.insert(copy, *taken);
        }
        for operand in graph.nodes.iter_mut().flat_map(|node| node.operands.iter_mut()) {
            *operand = same.get(operand).copied().unwrap_or(*operand);
        }
        ordered
    }

    /// Values of `outer` that a region of `op` reads become parameters; scalar constants and what repeats them are
    /// made again inside.
    fn capture(&mut self, outer: &Scope<'c, 'a>, op: OperationRef<'c, 'a>, region: usize) {
        let mut block = op.region(region).ok().and_then(|region| region.first_block());
        while let Some(current) = block {
            let mut next = current.first_operation();
            while let Some(child) = next {
                walk(child, |nested| {
                    for operand in nested.operands() {
                        let Some(&id) = outer.known.get(&key(operand)) else { continue };
                        if self.known.contains_key(&key(operand)) {
                            continue;
                        }
                        let content = outer.graph.values[id as usize];
                        let node = &outer.graph.nodes[content.node as usize];
                        let inner = match node.class {
                            Class::Constant => self.push(Class::Constant, node.op, Ids::new(), &[content.ty]),
                            Class::Broadcast if is_splat(&outer.graph, node) => {
                                let scalar = self.push(Class::Constant, node.op, Ids::new(), &[content.ty]);
                                let scalar = self.graph.nodes[scalar as usize].first;
                                self.push(Class::Broadcast, node.op, ids![scalar], &[content.ty])
                            }
                            _ => {
                                let inner = self.push(Class::Parameter, node.op, Ids::new(), &[content.ty]);
                                self.graph.parameters.push(self.graph.nodes[inner as usize].first);
                                self.graph.captures.push(id);
                                inner
                            }
                        };
                        self.known.insert(key(operand), self.graph.nodes[inner as usize].first);
                    }
                    WalkResult::Advance
                });
                next = child.next_in_block();
            }
            block = current.next_in_region();
        }
    }
}

/// Values of which a `dynamic_slice` in a loop's body reads a part, with no barrier between. A barrier on nothing but
/// what is handed `through` is none: it is moved out of the loop itself.
fn sliced(body: &Graph<'_, '_>, through: &[bool]) -> FxHashSet<Id> {
    let unchanging: FxHashSet<Id> =
        body.parameters.iter().zip(through).filter(|(_, through)| **through).map(|(&id, _)| id).collect();
    let barriers = body.barred.iter().filter(|values| values.iter().any(|value| !unchanging.contains(value)));
    let barred: FxHashSet<Id> = barriers.flatten().copied().collect();
    let reads = body.nodes.iter().filter(|node| node.live && node.class == Class::Read);
    reads.filter_map(|node| node.operands.first().copied()).filter(|value| !barred.contains(value)).collect()
}
