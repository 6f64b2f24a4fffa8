// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which kernels read what an update in place writes over.

use super::{Cost, FARTHEST, Partition};
use crate::gpu::form_kernels::ops::{Class, is_plain_operand};
use crate::ir::{self, key};
use melior::ir::operation::OperationLike;
use melior::ir::{Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use std::collections::HashSet;

impl<'c: 'a, 'a> Partition<'c, 'a> {
    /// Whether a kernel that evaluates `node` would read what has been written over by then, so that the update would have to
    /// happen in a copy: storing the node is the smaller evil.
    pub(super) fn is_overwritten(&mut self, node: usize, cost: &Cost) -> bool {
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
                    let same = ir::is_dense(op)
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
}
