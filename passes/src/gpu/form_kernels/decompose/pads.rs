// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Sums of floats padded with zeros side by side are concatenations: the gradient of what was rolled, or taken apart.
//!
//! ```mlir
//! %a = stablehlo.pad %x, %zero, low = [0], high = [4], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<10xf32>
//! %b = stablehlo.pad %y, %zero, low = [6], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<10xf32>
//! %r = stablehlo.add %a, %b : tensor<10xf32>
//! // becomes
//! %c = stablehlo.concatenate %x, %y, dim = 0 : (tensor<6xf32>, tensor<4xf32>) -> tensor<10xf32>
//! %r = stablehlo.add %c, %zeros : tensor<10xf32>
//! ```
//!
//! Each element still has a zero added to it, which is what makes 0.0 of -0.0: the bits are the same. Of one element
//! just one part is computed, and where both are slices of one value, that is at one place (`emit/spots.rs`). It costs
//! nothing. It must not fire where the pads overlap, or leave some of the result to neither. Other back ends are left
//! with the pads: they fuse these, but may store what they join.

use crate::ir::{self, Builder};
use crate::rewrite::defining_op;
use crate::splat::Splat;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// Joins what is padded, if an op is such a sum.
pub fn joined<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) {
    let pads: Vec<_> = op.operands().filter_map(Padded::of).collect();
    let ([one, other], Some(result)) = (&pads[..], op.results().next().map(Value::from)) else { return };
    let Some(tensor) = Tensor::new(result.r#type()).filter(|tensor| tensor.element.is_float()) else {
        return;
    };
    let Some((dim, is_first)) = one.beside(other, tensor.shape) else { return };
    builder.set_insertion_point_before(op);
    let parts = if is_first { [one.value, other.value] } else { [other.value, one.value] };
    let whole = builder.concatenate(&parts, dim, op.location());
    let zeros = builder.zeros(result.r#type(), op.location());
    let sum = builder.binary("stablehlo.add", whole, zeros, op.location());
    builder.replace_all_uses_with(result, sum);
    builder.erase_with_dead_producers(op, |_| {});
}

/// What is padded with zeros, and where it begins.
struct Padded<'c, 'a> {
    value: Value<'c, 'a>,
    low: &'c [i64],
    shape: &'c [i64],
}

impl<'c: 'a, 'a> Padded<'c, 'a> {
    fn of(value: Value<'c, 'a>) -> Option<Self> {
        let pad = defining_op(value).filter(|op| op_name(*op) == "stablehlo.pad")?;
        let operands: Vec<_> = pad.operands().take(2).collect();
        let [value, padding] = operands[..] else { return None };
        let low = ir::i64_array(pad, "edge_padding_low")?;
        let between = ir::i64_array(pad, "interior_padding")?;
        let is_plain = low.iter().all(|&low| low >= 0) && between.iter().all(|&between| between == 0);
        let shape = ir::plain(value)?.shape;
        (is_plain && Splat::is_zero(padding)).then_some(Self { value, low, shape })
    }

    /// The dimension along which two make up an array of this shape, and whether this one is the first of them.
    fn beside(&self, other: &Self, shape: &[i64]) -> Option<(usize, bool)> {
        let is_whole = |dim: &usize| self.shape[*dim] == shape[*dim] && other.shape[*dim] == shape[*dim];
        let mut parted = (0..shape.len()).filter(|dim| !is_whole(dim));
        let (Some(dim), None) = (parted.next(), parted.next()) else { return None };
        let ends = |one: &Self, other: &Self| {
            one.low[dim] == 0
                && other.low[dim] == one.shape[dim]
                && one.shape[dim] + other.shape[dim] == shape[dim]
        };
        if ends(self, other) { Some((dim, true)) } else { ends(other, self).then_some((dim, false)) }
    }
}
