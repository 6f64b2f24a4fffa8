// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops whose results are their operands under other names, to a compiler.

use super::products::order_of;
use super::{CONVERT, Class, Scope};
use crate::ir::{self, constant_attribute, i64_array, is_dense};
use crate::rewrite::defining_op;
use crate::splat::Splat;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

impl<'c: 'a, 'a> Scope<'c, 'a> {
    /// Whether the op leaves the bytes of its first operand as they are.
    pub(super) fn is_bitcast(&self, op: OperationRef<'c, 'a>, name: &str) -> bool {
        let (Ok(operand), Ok(result)) = (op.operand(0), op.result(0)) else { return false };
        let (from, to) = (operand.r#type(), result.r#type());
        let (Some(source), Some(target)) = (Tensor::new(from), Tensor::new(to)) else { return false };
        if source.element != target.element || !source.is_static() || !target.is_static() {
            return false;
        }
        match name {
            "convert" | "reduce_precision" | "copy" => name != "reduce_precision",
            "slice" => source.shape == target.shape && is_dense(op),
            "pad" => {
                source.shape == target.shape
                    && i64_array(op, "edge_padding_low").is_some_and(|low| low.iter().all(|&low| low == 0))
            }
            "broadcast_in_dim" => {
                source.element_count() == target.element_count()
                    && i64_array(op, "broadcast_dimensions")
                        .is_some_and(|dims| keeps_order(dims.iter().map(|&d| d as usize), target.shape))
            }
            "transpose" => i64_array(op, "permutation").is_some_and(|permutation| {
                let order = permutation.iter().map(|&d| d as usize);
                keeps_order(order, source.shape)
            }),
            _ => false,
        }
    }

    /// A product of 16-bit floats that is wanted in 32 bits has them already.
    pub(super) fn undoes_convert(&mut self, op: OperationRef<'c, 'a>) -> bool {
        let Some(&operand) = self.operands(op).first() else { return false };
        let node = self.node_of(operand);
        if node.class != Class::Map(CONVERT) {
            return false;
        }
        let source = node.operands[0];
        let same = op.result(0).is_ok_and(|result| result.r#type() == self.graph.values[source as usize].ty);
        if same && matches!(self.node_of(source).class, Class::Dot { .. }) {
            self.forward(op, &[source]);
            return true;
        }
        false
    }

    /// A slice that takes one operand of a concatenation, and all of it, is that operand.
    pub(super) fn is_part(&mut self, op: OperationRef<'c, 'a>) -> bool {
        let Some(&joined) = self.operands(op).first() else { return false };
        let node = self.node_of(joined);
        // What a barrier holds between the two is not looked through.
        let join = op.operands().next().and_then(defining_op).filter(|join| node.op == Some(*join));
        let part = join.and_then(|join| part_of(op, join)).and_then(|at| node.operands.get(at).copied());
        let Some(part) = part else { return false };
        self.forward(op, &[part]);
        true
    }

    /// Whether a transpose brings what a product that sums nothing has scaled back into the order in which it lies.
    pub(super) fn is_order_of_scaled(&mut self, op: OperationRef<'c, 'a>) -> bool {
        let Some(&operand) = self.operands(op).first() else { return false };
        let node = self.node_of(operand);
        let scaled = node
            .op
            .filter(|op| matches!(node.class, Class::Map(_)) && op_name(*op) == "stablehlo.dot_general");
        let order = scaled.and_then(order_of).zip(i64_array(op, "permutation"));
        order.is_some_and(|(order, back)| {
            let now = back.iter().map(|&dim| order.get(dim as usize).copied());
            now.eq((0..order.len() as i64).map(Some))
        })
    }

    /// A transposed product is the product of the other way round.
    pub(super) fn is_transposed_product(&mut self, op: OperationRef<'c, 'a>) -> bool {
        let Some(&operand) = self.operands(op).first() else { return false };
        let rank = op
            .operands()
            .nth(0)
            .and_then(|operand| Tensor::new(operand.r#type()))
            .map(|tensor| tensor.rank());
        rank == Some(2)
            && matches!(self.node_of(operand).class, Class::Dot { .. })
            && op.operand(0).is_ok_and(crate::rewrite::has_one_use)
    }
}

/// Whether dimensions in this order, those of size 1 left out, go up.
fn keeps_order(dims: impl Iterator<Item = usize>, shape: &[i64]) -> bool {
    let mut last = None;
    for dim in dims {
        if shape.get(dim).is_none_or(|&size| size == 1) {
            continue;
        }
        if last.is_some_and(|last| last >= dim) {
            return false;
        }
        last = Some(dim);
    }
    true
}

/// What zero is added to or taken from. We keep such an op of floats for the sake of -0.0; compilers drop it.
pub(super) fn added_to_nothing<'c: 'a, 'a>(op: OperationRef<'c, 'a>, local: &str) -> Option<Value<'c, 'a>> {
    let [left, right] = [ir::operand(op, 0)?, ir::operand(op, 1)?];
    if Splat::is_zero(right) { Some(left) } else { (local == "add" && Splat::is_zero(left)).then_some(right) }
}

/// Which operand of a concatenation a slice takes, if it takes one and all of it.
fn part_of(slice: OperationRef<'_, '_>, join: OperationRef<'_, '_>) -> Option<usize> {
    // Of more each slice would look at all.
    const MOST: usize = 64;
    if op_name(join) != "stablehlo.concatenate" || join.operand_count() > MOST {
        return None;
    }
    let along = usize::try_from(constant_attribute(join, "dimension")?).ok()?;
    let start = *i64_array(slice, "start_indices")?.get(along)?;
    let taken = slice.results().next()?.r#type();
    let mut first = 0;
    for (at, operand) in join.operands().enumerate() {
        if first == start {
            let steps = i64_array(slice, "strides")?.iter().any(|&by| by != 1);
            return (operand.r#type() == taken && !steps).then_some(at);
        }
        first += Tensor::new(operand.r#type())?.shape.get(along)?;
    }
    None
}
