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
//! It is done where fewer bytes are transposed then, those of the result included; not where precisions are given by operand, nor for
//! dots of narrow floats with wider results: XLA for CPU turns a transposed product of matrices around once more, after it has chosen who
//! computes it, and then has nobody for some of them, see `wide.rs`.
//!
//! What accumulates over chunks is transposed once at the end otherwise, by one more copy of all of it: before there are loops, dots of
//! which only the transposed result is wanted (JAX's gradients of weights) compute that, unless the above would undo it.

use crate::ir::{self, Builder, discardable_attributes};
use crate::ops::products::dot_numbers;
use crate::rewrite::{ops_named, users};
use melior::ir::attribute::ArrayAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::DotDimensionNumbers;
use slimhlo_dialect::types::Tensor;

/// Reorders the dots in an op; whether there were any to reorder.
pub fn run<'c: 'a, 'a>(root: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> bool {
    ops_named(root, "stablehlo.dot_general").into_iter().filter(|op| swap(*op, build).is_some()).count() > 0
}

/// Lets dots whose transposed result alone is wanted, and that take at least so many bytes, compute that instead; whether there were
/// any. It is the reverse of what [`run`] does, and done where that would not be.
pub fn fold<'c: 'a, 'a>(root: OperationRef<'c, 'a>, build: &Builder<'c, 'a>, least: i64) -> bool {
    let mut changed = false;
    for op in ops_named(root, "stablehlo.dot_general") {
        let large = op.operands().any(|operand| ir::bytes(operand) > least);
        if large && turn(op, build).is_some() {
            changed = true;
        }
    }
    changed
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
        if lies || one_only { 0 } else { ir::bytes(self.value) }
    }
}

/// A dot whose operands may change places.
struct Dot<'c, 'a> {
    left: Side<'c, 'a>,
    right: Side<'c, 'a>,
    result: Value<'c, 'a>,
    element: Type<'c>,
}

impl<'c: 'a, 'a> Dot<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>) -> Option<Self> {
        // An algorithm may read its operands in different types.
        let alike = ffi::attribute_of(op, "algorithm").is_none()
            && ffi::attribute_of(op, "precision_config").is_none_or(is_of_equals);
        if !alike || !discardable_attributes(op).is_empty() {
            return None;
        }
        let numbers = dot_numbers(op)?;
        let side = |index: usize, batch: &'c [i64], contracted: &'c [i64]| {
            let value = op.operands().nth(index)?;
            Some(Side { value, tensor: ir::plain(value)?, batch, contracted })
        };
        let left = side(0, numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions())?;
        let right = side(1, numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions())?;
        let result: Value = op.result(0).ok()?.into();
        let element = ir::plain(result)?.element;
        Some(Self { left, right, result, element })
    }

    /// Bytes to be moved before it, as its operands are and with them in the other order.
    fn turned(&self) -> (i64, i64) {
        let Self { left, right, .. } = self;
        (
            left.turned(true).saturating_add(right.turned(false)),
            left.turned(false).saturating_add(right.turned(true)),
        )
    }

    /// The result of the other order.
    fn swapped(&self, op: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<Value<'c, 'a>> {
        let Self { left, right, .. } = self;
        let numbers = DotDimensionNumbers::new(
            build.context(),
            right.batch,
            left.batch,
            right.contracted,
            left.contracted,
        );
        let attributes = [("dot_dimension_numbers", numbers.into())];
        build.set_insertion_point_before(op);
        let sizes = |side: &Side<'c, 'a>, dims: &mut dyn Iterator<Item = i64>| -> Vec<i64> {
            dims.map(|dim| side.tensor.shape[dim as usize]).collect()
        };
        let batch = sizes(left, &mut left.batch.iter().copied());
        let (lefts, rights) = (sizes(left, &mut left.free()), sizes(right, &mut right.free()));
        let ty = Tensor::get(&[&batch[..], &rights, &lefts].concat(), self.element, None);
        let turned = build.copy_with(op, &[right.value, left.value], &attributes, &[ty]);
        turned.result(0).ok().map(Value::from)
    }

    /// Which dimension of the other order's result each of this one's is.
    fn back(&self) -> Vec<i64> {
        let batch = self.left.batch.len() as i64;
        let (lefts, rights) = (self.left.free().count() as i64, self.right.free().count() as i64);
        (0..batch).chain(batch + rights..batch + rights + lefts).chain(batch..batch + rights).collect()
    }

    /// Which dimension of this one's result each of the other order's is.
    fn forth(&self) -> Vec<i64> {
        let batch = self.left.batch.len() as i64;
        let (lefts, rights) = (self.left.free().count() as i64, self.right.free().count() as i64);
        (0..batch).chain(batch + lefts..batch + lefts + rights).chain(batch..batch + lefts).collect()
    }
}

fn swap<'c: 'a, 'a>(op: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<()> {
    let dot = Dot::of(op)?;
    if dot.left.tensor.element != dot.element {
        return None;
    }
    let (now, then) = dot.turned();
    if now <= then.saturating_add(ir::bytes(dot.result)) {
        return None;
    }
    let turned = dot.swapped(op, build)?;
    let back = build.transpose(turned, &dot.back(), dot.result.r#type(), op.location());
    build.replace_all_uses_with(dot.result, back);
    build.erase(op);
    Some(())
}

fn turn<'c: 'a, 'a>(op: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<()> {
    let dot = Dot::of(op)?;
    let mut users = users(dot.result);
    let (user, None) = (users.next()?, users.next()) else { return None };
    let (now, then) = dot.turned();
    let wanted = op_name(user) == "stablehlo.transpose"
        && discardable_attributes(user).is_empty()
        && ir::i64_array(user, "permutation").is_some_and(|dims| *dims == *dot.forth());
    if !wanted || then > now.saturating_add(ir::bytes(dot.result)) {
        return None;
    }
    let result: Value = user.result(0).ok()?.into();
    let turned = dot.swapped(op, build)?;
    build.replace_all_uses_with(result, turned);
    build.erase(user);
    build.erase(op);
    Some(())
}

/// Whether all elements of an array are the same.
fn is_of_equals(array: Attribute<'_>) -> bool {
    let Ok(array) = ArrayAttribute::try_from(array) else { return false };
    (1..array.len()).all(|index| array.element(index).ok() == array.element(0).ok())
}
