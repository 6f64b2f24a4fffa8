// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is made of each row of an array and of a sum or extreme of that row, as one kernel.

use super::super::blocks::moves_last;
use super::super::graph::{Class, Id, Reduce};
use super::Fusion;
use super::collect::scatters;
use crate::ir::{self, i64_array};
use melior::ir::{OperationRef, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

impl Fusion<'_, '_, '_> {
    /// Marks reductions of rows whose results one op combines with what the rows are made of, and what is between.
    pub(super) fn find_rows(&mut self) {
        for node in 0..self.graph.nodes.len() as Id {
            if self.graph.nodes[node as usize].live && self.class(node) == Class::Reduce(Reduce::Kernel) {
                for part in self.back_to_row(node).unwrap_or_default() {
                    self.along_rows[part as usize] = true;
                }
            }
        }
    }

    /// Those of these reductions that are not stored.
    pub(super) fn in_rows(&self) -> Vec<Id> {
        let is_reduction = |node: Id| matches!(self.class(node), Class::Reduce(_));
        let is_in = |node: Id| self.along_rows[node as usize] && !self.stored[node as usize];
        (0..self.graph.nodes.len() as Id).filter(|&node| is_in(node) && is_reduction(node)).collect()
    }

    /// From a reduction of rows to the broadcast that gives all elements of a row what came of it.
    fn back_to_row(&self, reduction: Id) -> Option<Vec<Id>> {
        let node = &self.graph.nodes[reduction as usize];
        let row = node.op.and_then(last_dimension_reduced).filter(|&row| row <= self.storage.longest_row)?;
        let of = *node.operands.first().filter(|_| node.count == 1)?;
        let made_of = self.made_of(self.node_of(of));
        // Rows that do not lie as such in memory.
        if made_of.iter().any(|&node| self.is_scattered(node) || self.lies_across(node)) {
            return None;
        }
        let (mut parts, mut is_spread) = (vec![reduction], false);
        loop {
            let last = *parts.last()?;
            let users = self.users.of(last);
            let &user = users.first().filter(|&&user| users.iter().all(|&other| other == user))?;
            match self.class(user) {
                Class::Map(_) if is_spread => {
                    let operands = &self.graph.nodes[user as usize].operands;
                    let others = operands.iter().map(|&operand| self.node_of(operand));
                    let mut others = others.filter(|&other| other != last).peekable();
                    if others.peek().is_some() {
                        let meets = |other| self.made_of(other).iter().any(|node| made_of.contains(node));
                        return others.any(meets).then_some(parts);
                    }
                    parts.push(user);
                }
                Class::Map(_) if self.elements(user) == self.elements(last) => parts.push(user),
                Class::Broadcast
                    if !is_spread && self.elements(user) == self.elements(reduction).saturating_mul(row) =>
                {
                    parts.push(user);
                    is_spread = true;
                }
                // In another shape.
                Class::Broadcast if self.elements(user) == self.elements(last) => parts.push(user),
                _ => return None,
            }
        }
    }

    /// Whether a node is a transpose that reads element by element, for a back end that takes time for that.
    pub(super) fn is_scattered(&self, node: Id) -> bool {
        let node = self.graph.nodes.get(node as usize).filter(|_| self.storage.rereads.is_some());
        node.and_then(|node| node.op).is_some_and(scatters)
    }

    /// Whether a node is a transpose of a product whose last dimension is another one, which XLA for GPUs computes in the product's order.
    fn lies_across(&self, node: Id) -> bool {
        let Some(node) = self.graph.nodes.get(node as usize).filter(|_| self.storage.rereads.is_some())
        else {
            return false;
        };
        let of_product = node
            .operands
            .first()
            .is_some_and(|&of| matches!(self.class(self.node_of(of)), Class::Dot { .. }));
        of_product && node.op.is_some_and(moves_last)
    }

    /// What a node is made of by elementwise ops, as far as that is near.
    fn made_of(&self, node: Id) -> Vec<Id> {
        const NEAR: usize = 24;
        let mut found = vec![node];
        let mut next = 0;
        while let Some(&node) = found.get(next) {
            next += 1;
            if !matches!(self.class(node), Class::Map(_)) {
                continue;
            }
            for &operand in &self.graph.nodes[node as usize].operands {
                let before = self.node_of(operand);
                if found.len() < NEAR && !self.is_free(before) && !found.contains(&before) {
                    found.push(before);
                }
            }
        }
        found
    }

    /// Whether all that a reduction is needed for is an elementwise op of its size, which is done before it is stored; for some back ends
    /// that may only be a conversion.
    pub(super) fn is_made_into(&self, reduction: Id, user: Id) -> bool {
        let converts =
            || self.graph.nodes[user as usize].op.is_some_and(|op| op_name(op) == "stablehlo.convert");
        matches!(self.class(user), Class::Map(_))
            && (self.storage.goes_on_after_sums || converts())
            && self.users.of(reduction).iter().all(|&other| other == user)
            && self.elements(reduction) == self.elements(user)
    }
}

/// How long the rows are that a reduction makes one number of, if rows are of its operand's last dimension.
fn last_dimension_reduced(op: OperationRef<'_, '_>) -> Option<u64> {
    let dims = i64_array(op, "dimensions")?;
    let shape = Tensor::new(ir::operand(op, 0)?.r#type())?.shape;
    (*dims == [shape.len() as i64 - 1]).then(|| *shape.last().unwrap_or(&1) as u64)
}
