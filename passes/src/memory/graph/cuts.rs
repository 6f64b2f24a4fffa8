// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Slices of slices, and of what is joined: XLA makes them of what these are made of (`AlgebraicSimplifier` in openxla/xla). Of what is
//! joined a slice takes the parts that it has elements of, joined without the others: two slices of a field with its halos may so
//! read two joined arrays where the program has one. Only where kernels are merged by priority: by that alone passes would choose worse for the
//! public ocean model (docs/design.md).

use super::{Class, Id, Scope};
use crate::ir::i64_array;
use crate::ops::joined;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// What is taken of a value along each of its dimensions, every element.
pub(super) type Cut = SmallVec<[(i64, i64); 4]>;

/// What a slice is taken of.
struct Source {
    value: Id,
    /// As an array of another shape.
    is_reshaped: bool,
}

impl<'c: 'a, 'a> Scope<'c, 'a> {
    /// Adds a slice of what its operand is made of, if that is another one or joined; whether it has.
    pub(super) fn cut(&mut self, op: OperationRef<'c, 'a>) -> bool {
        // What a barrier holds is there as it is.
        if self.storage.priorities.is_none() || self.after.is_some() {
            return false;
        }
        let Some(mut cut) = cut_of(op) else { return false };
        let Some(operand) = op.operands().next() else { return false };
        let of = self.operand(operand);
        // One that is reshaped, or that devices have parts of, is another array here.
        if self.graph.values[of as usize].ty != operand.r#type() {
            return false;
        }
        let mut value = of;
        let mut is_reshaped = false;
        while let Some((next, within)) = self.cut_through(value, &cut).filter(|_| !is_reshaped) {
            (value, cut) = (next.value, within);
            is_reshaped = next.is_reshaped;
        }
        if !is_reshaped
            && cut.iter().zip(self.shape(value)).all(|(&(from, to), &size)| from == 0 && to == size)
        {
            self.forward(op, &[value]);
            return true;
        }
        let node = match self.cuts_of.get(&(value, cut.clone())) {
            Some(&node) => node,
            None => {
                let node = self.add(Class::Move, op, smallvec![value], false);
                self.cuts_of.insert((value, cut.clone()), node);
                self.cuts.insert(node, (value, cut));
                node
            }
        };
        self.forward(op, &[self.graph.nodes[node as usize].first]);
        true
    }

    /// Whether a slice takes of its node's operand what its attributes say.
    pub(super) fn takes_as_written(&self, node: Id, op: OperationRef<'c, 'a>) -> bool {
        self.cuts.get(&node).is_none_or(|(_, cut)| cut_of(op).as_ref() == Some(cut))
    }

    fn shape(&self, value: Id) -> &'c [i64] {
        Tensor::new(self.graph.values[value as usize].ty).map_or(&[], |tensor| tensor.shape)
    }

    /// What `cut` takes of a value, of what that is made of.
    fn cut_through(&mut self, value: Id, cut: &Cut) -> Option<(Source, Cut)> {
        let node = self.graph.values[value as usize].node;
        if let Some((of, inner)) = self.cuts.get(&node) {
            let within = cut.iter().zip(inner).map(|(&(from, to), &(first, _))| (from + first, to + first));
            return Some((Source { value: *of, is_reshaped: false }, within.collect()));
        }
        let (op, operands) = match &self.graph.nodes[node as usize] {
            own if matches!(own.class, Class::Join { .. }) => (own.op?, own.operands.clone()),
            _ => return None,
        };
        let whole = self.shape(value);
        let (dim, all) = joined::sizes(op)?;
        let sizes = self.sizes_of.get(&node).cloned().unwrap_or(all);
        if sizes.len() != operands.len() {
            return None;
        }
        let mut at = 0;
        let mut parts: SmallVec<[Range<i64>; 8]> = SmallVec::new();
        for size in &sizes {
            parts.push(at..at + size);
            at += size;
        }
        let &(from, to) = cut.get(dim).filter(|&&(from, to)| at == whole[dim] && from < to)?;
        let first = parts.iter().position(|part| from < part.end)?;
        let last = parts.iter().rposition(|part| part.start < to)?;
        let start = parts[first].start;
        let mut within = cut.clone();
        within[dim] = (from - start, to - start);
        if first == last {
            let (value, own) = (operands[first], self.shape(operands[first]));
            let size = |at: usize| if at == dim { sizes[first] } else { whole[at] };
            let is_reshaped = !own.iter().copied().eq((0..whole.len()).map(size));
            return Some((Source { value, is_reshaped }, within));
        }
        if last + 1 - first == operands.len() {
            return None;
        }
        let key = (value, first as u32, last as u32);
        if let Some(&narrow) = self.narrowed.get(&key) {
            return Some((Source { value: narrow, is_reshaped: false }, within));
        }
        let mut shape = whole.to_vec();
        shape[dim] = parts[last].end - start;
        let ty = Tensor::new(self.graph.values[value as usize].ty)?;
        let ty = Tensor::get(&shape, ty.element, None);
        let class = self.graph.nodes[node as usize].class;
        let narrow = self.one(class, op, operands[first..=last].iter().copied().collect(), ty);
        self.narrowed.insert(key, narrow);
        let node = self.graph.values[narrow as usize].node;
        self.sizes_of.insert(node, sizes[first..=last].iter().copied().collect());
        Some((Source { value: narrow, is_reshaped: false }, within))
    }
}

/// What a slice takes, if it takes every element between two places.
fn cut_of(op: OperationRef<'_, '_>) -> Option<Cut> {
    if op_name(op) != "stablehlo.slice" || !i64_array(op, "strides")?.iter().all(|&by| by == 1) {
        return None;
    }
    let (from, to) = (i64_array(op, "start_indices")?, i64_array(op, "limit_indices")?);
    Some(from.iter().copied().zip(to.iter().copied()).collect())
}
