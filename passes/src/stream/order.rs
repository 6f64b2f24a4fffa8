// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Dots in the loops made, with their operands in the order in which the large one is taken as it lies.
//!
//! ```mlir
//! %seen = stablehlo.dot_general %value, %weights, contracting_dims = [0] x [1]
//!   : (tensor<512x64xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %turned = stablehlo.dot_general %weights, %value, contracting_dims = [1] x [0] : ... -> tensor<512x64xf32>
//! %seen = stablehlo.transpose %turned, dims = [1, 0] : ... -> tensor<64x512xf32>
//! ```
//!
//! A product of matrices contracts the last dimension of its left operand with the first of its right one. What lies otherwise is
//! transposed, by a copy in each turn of the loop, or taken by a slower kernel. JAX's `einsum` puts first whichever operand's
//! dimensions come first in the result; of softmax's weights and the values it is often the weights, a chunk of which is as
//! large as all else in a turn, that would be transposed. Products commute, and are added up along the same dimension. The
//! transposed result is small, and mostly transposed once more by what follows.
//!
//! It is done where fewer bytes are transposed then, those of the result included; not where precisions are given by operand.

use super::{dot_numbers, plan};
use crate::ir::{Builder, discardable_attributes};
use crate::rewrite::ops_named;
use melior::ir::attribute::ArrayAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi;
use slimhlo_dialect::stablehlo::attrs::DotDimensionNumbers;
use slimhlo_dialect::types::Tensor;

/// Reorders the dots in an op.
pub fn run<'c: 'a, 'a>(root: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) {
    for op in ops_named(root, "stablehlo.dot_general") {
        swap(op, build);
    }
}

/// One operand of a dot.
struct Side<'c, 'a> {
    value: Value<'c, 'a>,
    tensor: Tensor<'c>,
    batch: &'c [i64],
    contracted: &'c [i64],
}

impl<'c: 'a, 'a> Side<'c, 'a> {
    fn free(&self) -> impl DoubleEndedIterator<Item = i64> {
        let (batch, contracted) = (self.batch, self.contracted);
        (0..self.tensor.rank() as i64).filter(move |dim| !batch.contains(dim) && !contracted.contains(dim))
    }

    /// Bytes to be moved if what is contracted has to come after what is not, or before.
    fn turned(&self, contracted_last: bool) -> i64 {
        let long = |dim: &i64| self.tensor.shape[*dim as usize] > 1;
        let contracted = || self.contracted.iter().copied().filter(long);
        let lies = if contracted_last {
            self.free().filter(long).max() < contracted().min()
        } else {
            contracted().max() < self.free().find(long)
        };
        let one_only = contracted().next().is_none() || !self.free().any(|dim| long(&dim));
        if lies || one_only { 0 } else { plan::bytes(self.value) }
    }
}

fn swap<'c: 'a, 'a>(op: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<()> {
    // An algorithm may read its operands in different types.
    let alike = ffi::attribute_of(op, "algorithm").is_none()
        && ffi::attribute_of(op, "precision_config").is_none_or(is_of_equals);
    if !alike || !discardable_attributes(op).is_empty() {
        return None;
    }
    let numbers = dot_numbers(op)?;
    let side = |index: usize, batch: &'c [i64], contracted: &'c [i64]| {
        let value = op.operands().nth(index)?;
        Some(Side { value, tensor: plan::plain(value)?, batch, contracted })
    };
    let left = side(0, numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions())?;
    let right = side(1, numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions())?;
    let result: Value = op.result(0).ok()?.into();
    let element = plan::plain(result)?.element;
    let saved = left.turned(true).saturating_add(right.turned(false));
    let cost = left.turned(false).saturating_add(right.turned(true)).saturating_add(plan::bytes(result));
    if saved <= cost {
        return None;
    }
    let swapped =
        DotDimensionNumbers::new(build.context(), right.batch, left.batch, right.contracted, left.contracted);
    let attributes = [("dot_dimension_numbers", swapped.into())];
    build.set_insertion_point_before(op);
    let sizes = |side: &Side<'c, 'a>, dims: &mut dyn Iterator<Item = i64>| -> Vec<i64> {
        dims.map(|dim| side.tensor.shape[dim as usize]).collect()
    };
    let batch = sizes(&left, &mut left.batch.iter().copied());
    let (lefts, rights) = (sizes(&left, &mut left.free()), sizes(&right, &mut right.free()));
    let ty = Tensor::get(&[&batch[..], &rights, &lefts].concat(), element, None);
    let turned = build.copy_with(op, &[right.value, left.value], &attributes, &[ty]);
    let (batch, lefts, rights) = (batch.len() as i64, lefts.len() as i64, rights.len() as i64);
    let back: Vec<i64> =
        (0..batch).chain(batch + rights..batch + rights + lefts).chain(batch..batch + rights).collect();
    let back = build.transpose(turned.result(0).ok()?.into(), &back, result.r#type(), op.location());
    build.replace_all_uses_with(result, back);
    build.erase(op);
    Some(())
}

/// Whether all elements of an array are the same.
fn is_of_equals(array: Attribute<'_>) -> bool {
    let Ok(array) = ArrayAttribute::try_from(array) else { return false };
    (1..array.len()).all(|index| array.element(index).ok() == array.element(0).ok())
}
