// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The transpose of a product as the product of its operands the other way round.
//!
//! ```mlir
//! %0 = stablehlo.dot_general %d, %x, contracting_dims = [0] x [0] : (...) -> tensor<8x16xf32>
//! %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %1 = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (...) -> tensor<16x8xf32>
//! ```
//!
//! Gradients of weights come like this. The transpose costs a kernel or is computed on the fly, and what is read
//! transposed cannot be written over where it lies: an update of weights needs memory for the gradient besides its
//! results. Each element is the sum of the same products in the same order. It must not fire where somebody reads the
//! product itself, nor where operands have an algorithm of their own.

use crate::framework::PassError;
use crate::ir::{self, Builder};
use crate::ops::products;
use crate::rewrite::{defining_op, uses};
use melior::ir::attribute::ArrayAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use slimhlo_dialect::stablehlo::attrs::DotDimensionNumbers;

/// Replaces a transpose of a product that nobody else reads.
pub fn turned_dot<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    transpose: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let product = transpose.operand(0)?;
    let Some(dot) = defining_op(product).filter(|op| op_name(*op) == "stablehlo.dot_general") else {
        return Ok(());
    };
    let (Some(numbers), Some(permutation)) =
        (products::dot_numbers(dot), ir::i64_array(transpose, "permutation"))
    else {
        return Ok(());
    };
    let (left, right) = (dot.operand(0)?, dot.operand(1)?);
    let batch = numbers.lhs_batching_dimensions().len();
    let rank = |value: Value<'c, 'a>| slimhlo_dialect::ffi::shape(value.r#type()).map_or(0, <[i64]>::len);
    let contracted = numbers.lhs_contracting_dimensions().len();
    let free = rank(left).saturating_sub(batch + contracted);
    let all = permutation.len();
    let turned = (0..batch).chain(batch + free..all).chain(batch..batch + free);
    let is_turned = free > 0 && batch + free < all && turned.eq(permutation.iter().map(|&dim| dim as usize));
    if !is_turned || uses(product).nth(1).is_some() || attribute_of(dot, "algorithm").is_some() {
        return Ok(());
    }
    let context = builder.context();
    let around = DotDimensionNumbers::new(
        context,
        numbers.rhs_batching_dimensions(),
        numbers.lhs_batching_dimensions(),
        numbers.rhs_contracting_dimensions(),
        numbers.lhs_contracting_dimensions(),
    );
    let mut attributes: Vec<(&str, Attribute)> = vec![("dot_dimension_numbers", around.into())];
    let precision =
        attribute_of(dot, "precision_config").and_then(|each| ArrayAttribute::try_from(each).ok());
    if let Some(each) = precision
        && let (Ok(first), Ok(second)) = (each.element(0), each.element(1))
    {
        attributes.push(("precision_config", ArrayAttribute::new(context, &[second, first]).into()));
    }
    builder.set_insertion_point_before(dot);
    let ty = transpose.result(0)?.r#type();
    let made = builder.copy_with(dot, &[right, left], &attributes, &[ty]);
    super::replace(builder, transpose, &[made.result(0)?.into()]);
    builder.erase(dot);
    Ok(())
}
