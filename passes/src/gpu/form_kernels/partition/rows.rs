// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Reductions of rows that become part of the kernel that needs them: softmax, normalizations, and their gradients.
//!
//! One of dimensions that have one element each computes each element for itself, wherever it is needed (gradients have them,
//! where something was broadcast along such a dimension).
//!
//! A kernel that computes elements of rows, each of what the row itself is reduced to, is of kind `rows`: a row is read once,
//! reduced as often as need be, and stored (`emit/roots/rows.rs`). A reduction joins it where
//!
//! * the kernel is the first that needs what it comes to, and does so for the elements of the very row that is reduced;
//! * the kernel reads what is reduced anyway, so that nothing is kept for longer, and nothing of it is updated in place;
//! * rows fit (`roots::rows::fit`).

use super::{Class, Partition};
use crate::gpu::emit::roots;
use crate::gpu::form_kernels::ops::size_of;
use crate::ir::{self, key};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::{op_name, shape};
use std::collections::HashSet;

/// Which of a value's elements a kernel needs for one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// The one at its place, of as many.
    Own,
    /// The one of its row, of one for each row.
    OfRow,
    /// Any.
    Any,
}

impl<'c: 'a, 'a> Partition<'c, 'a> {
    /// Whether a reduction makes one element of each.
    pub(super) fn reduces_nothing(&self, node: usize) -> bool {
        let entry = &self.nodes[node];
        entry.class == Class::Root("reduce")
            && entry.op.result_count() == 1
            && entry.op.operands().next().is_some_and(|operand| size_of(operand).0 == entry.elements)
    }

    /// The kernel that a reduction becomes part of.
    pub(super) fn kernel_of_row(&mut self, node: usize) -> Option<usize> {
        let op = self.nodes[node].op;
        let (count, length) =
            roots::rows::shape_of(op).filter(|&(rows, length)| roots::rows::fit(rows, length, self.grids))?;
        // What it comes to is stored if others need it, too: after the first of those that do.
        let kernels = self.nodes[node].demand.keys();
        let &kernel = kernels.min_by_key(|&&kernel| self.kernels[kernel].roots[0])?;
        let made = &self.kernels[kernel];
        let root = *made.roots.first()?;
        let elements = (count * length) as u64;
        let is_alike = match made.kind {
            "map" | "rows" if made.elements == elements => true,
            "reduce" | "rows" => roots::rows::shape_of(self.nodes[root].op) == Some((count, length)),
            _ => false,
        };
        if !is_alike
            || !self.can_wait(node, root)
            || self.nodes[root].block != self.nodes[node].block
            || self.is_too_much(node)
            || !self.is_of_row(kernel, node, (count, length))
            || !self.is_read_anyway(kernel, node)
        {
            return None;
        }
        let cost = self.cost(node);
        cost.bases.iter().all(|base| !self.updates.contains_key(base)).then_some(kernel)
    }

    /// Whether all that the host needs a node for comes after another one.
    fn can_wait(&self, node: usize, other: usize) -> bool {
        let by_host = |user: &usize| match self.nodes[*user].class {
            Class::Control | Class::Terminator => true,
            Class::View => self.nodes[*user].stored,
            _ => false,
        };
        self.users[node].iter().filter(|user| by_host(user)).all(|&user| user > other)
    }

    /// Makes a reduction part of a kernel of rows.
    pub(super) fn join_rows(&mut self, node: usize, kernel: usize) {
        let place = self.own_place(kernel);
        self.kernels[kernel].kind = "rows";
        self.kernels[kernel].size += 1;
        if self.nodes[node].needed || self.nodes[node].demand.len() > 1 {
            self.nodes[node].stored = true;
            self.kernels[kernel].roots.push(node);
        }
        let reduced = self.nodes[node].op.result_count();
        for (index, operand) in self.operands(node).into_iter().enumerate() {
            let place = if index < reduced { place } else { self.place(kernel, place, node, index, 1.0) };
            self.demand(operand, kernel, place);
        }
    }

    /// The place of the elements of rows in a kernel: of its results, or of what they are reduced from.
    fn own_place(&self, kernel: usize) -> u32 {
        let made = &self.kernels[kernel];
        match self.nodes[made.roots[0]].class {
            Class::Root("reduce") => made.places.get(&(0, made.roots[0], 0)).copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// Whether a kernel needs what a reduction of so many rows of that length comes to for elements of the very row alone.
    fn is_of_row(&self, kernel: usize, node: usize, (count, length): (i64, i64)) -> bool {
        let (rows, elements) = (count as u64, (count * length) as u64);
        let roots = &self.kernels[kernel].roots;
        let of_result = |root: &usize| {
            (*root, if self.nodes[*root].elements == elements { Part::Own } else { Part::OfRow })
        };
        let mut pending: Vec<_> = roots.iter().map(of_result).collect();
        let mut seen: HashSet<(usize, Part)> = pending.iter().copied().collect();
        while let Some((next, part)) = pending.pop() {
            // What is computed before the reduction does not need it.
            if next <= node {
                if next == node && part != Part::OfRow {
                    return false;
                }
                continue;
            }
            let entry = &self.nodes[next];
            if entry.stored && !roots.contains(&next) {
                continue;
            }
            let operands = self.operands(next);
            let reduced = operands.len() / 2;
            for (index, operand) in operands.into_iter().enumerate() {
                let same = size_of(operand).0 == entry.elements;
                let asked = match (entry.class, part) {
                    (Class::Pointwise | Class::View | Class::Root("reduce"), part) if same => part,
                    (Class::Root("reduce"), Part::OfRow) if index < reduced => Part::Own,
                    (Class::Move, Part::Own)
                        if goes_along_rows(entry.op, length) && size_of(operand).0 == rows =>
                    {
                        Part::OfRow
                    }
                    (Class::Move, part) if same && goes_along_rows(entry.op, 1) => part,
                    // The only row there is.
                    _ if rows == 1 && size_of(operand).0 == 1 => Part::OfRow,
                    // Threads that follow each other would read far apart.
                    (Class::Move, Part::Own) if op_name(entry.op) == "stablehlo.transpose" => return false,
                    _ => Part::Any,
                };
                if let Some(inner) = self.node_of(operand)
                    && seen.insert((inner, asked))
                {
                    pending.push((inner, asked));
                }
            }
        }
        true
    }

    /// Whether all large arrays that a reduction is computed of are read at the same places by a kernel.
    fn is_read_anyway(&self, kernel: usize, node: usize) -> bool {
        let place = self.own_place(kernel);
        let op = self.nodes[node].op;
        let elements = op.operands().next().map_or(0, |operand| size_of(operand).0);
        let mut pending: Vec<Value<'c, 'a>> = op.operands().take(op.result_count()).collect();
        let mut seen: HashSet<usize> = pending.iter().map(|value| key(*value)).collect();
        while let Some(value) = pending.pop() {
            let is_read = self.reads.contains(&(key(self.base(value)), kernel, place));
            if is_read || size_of(value).0 < elements {
                continue;
            }
            let Some(inner) = self.node_of(value) else { return false };
            match self.nodes[inner].class {
                Class::Constant | Class::Iota => {}
                Class::Pointwise | Class::View if !self.nodes[inner].needed => {
                    let more = self.operands(inner).into_iter();
                    pending.extend(more.filter(|value| seen.insert(key(*value))));
                }
                Class::Move if op_name(self.nodes[inner].op) == "stablehlo.broadcast_in_dim" => {
                    let more = self.operands(inner).into_iter();
                    pending.extend(more.filter(|value| seen.insert(key(*value))));
                }
                _ => return false,
            }
        }
        true
    }
}

/// Whether a broadcast repeats each element of its operand `length` times, one after another, in row-major order.
fn goes_along_rows(op: OperationRef<'_, '_>, length: i64) -> bool {
    if op_name(op) != "stablehlo.broadcast_in_dim" {
        return false;
    }
    let dims = ir::i64_array(op, "broadcast_dimensions").unwrap_or_default();
    let (Ok(operand), Ok(result)) = (op.operand(0), op.result(0)) else { return false };
    let (Some(from), Some(to)) = (shape(operand.r#type()), shape(result.r#type())) else { return false };
    if !dims.is_sorted() {
        return false;
    }
    let is_kept = |dim: usize| dims.iter().zip(from).any(|(&at, &size)| at == dim as i64 && size == to[dim]);
    let large = (0..to.len()).filter(|&dim| to[dim] != 1);
    let repeated: Vec<usize> = large.skip_while(|&dim| is_kept(dim)).collect();
    repeated.iter().all(|&dim| !is_kept(dim))
        && repeated.iter().map(|&dim| to[dim]).product::<i64>() == length
}
