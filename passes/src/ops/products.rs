// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Products: what a `dot_general` batches over and contracts, and how much work it is.

use crate::ir;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, OperationRef, Type, TypeLike, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{ConvDimensionNumbers, DotAlgorithm, DotDimensionNumbers};
use slimhlo_dialect::types::Tensor;

/// Contracted elements up to which a dot is computed as easily as what follows it.
const THIN: i64 = 32;

/// Which dimensions a `dot_general` batches over and which it sums over; `None` for other ops.
pub fn dot_numbers<'c>(op: OperationRef<'c, '_>) -> Option<DotDimensionNumbers<'c>> {
    ffi::attribute_of(op, "dot_dimension_numbers")?.try_into().ok()
}

/// Whether a convolution makes the gradient of a filter, which contracts the images: JAX and others write it so that these, the first
/// dimension of what the layer read, are its features.
pub fn makes_filter(numbers: &ConvDimensionNumbers<'_>) -> bool {
    numbers.input_feature_dimension() == 0
}

/// Whether a product is one of matrices, batch by batch, for a library that reduces on its way to it: either operand has
/// dimensions of its own with more than one element, and none of them, be it of one element, before those of the batch.
pub fn is_matrix_product(op: OperationRef<'_, '_>) -> bool {
    let numbers = dot_numbers(op);
    (0..2).all(|index| {
        let Some(tensor) = op.operands().nth(index).and_then(|operand| Tensor::new(operand.r#type())) else {
            return false;
        };
        let Some(numbers) = numbers else { return tensor.rank() == 2 };
        let (batch, contracted) = if index == 0 {
            (numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions())
        } else {
            (numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions())
        };
        let mut free =
            (0..tensor.rank() as i64).filter(|dim| !batch.contains(dim) && !contracted.contains(dim));
        let last_of_batch = batch.iter().max().copied().unwrap_or(-1);
        let before = free.clone().any(|dim| dim < last_of_batch && tensor.shape[dim as usize] == 1);
        !before && free.any(|dim| tensor.shape[dim as usize] > 1)
    })
}

/// Whether an op sums products of elements: of two arrays, or of an array and a filter that goes over it.
pub fn is_product(op: OperationRef<'_, '_>) -> bool {
    matches!(op_name(op), "stablehlo.dot_general" | "stablehlo.convolution")
}

/// Whether an op is a product of matrices of complex numbers, which XLA for GPUs leaves to a library.
pub fn is_complex_product(op: OperationRef<'_, '_>) -> bool {
    op_name(op) == "stablehlo.dot_general"
        && op.results().any(|result| ir::element_of(result.r#type()).is_complex())
}

/// The dimensions of a `dot_general`'s result that those of an operand become, in the operand's order, without those that are contracted: what
/// is batched over comes first, then what is the left one's own, then what is the right one's.
pub fn places(op: OperationRef<'_, '_>, index: usize) -> Option<Vec<i64>> {
    let numbers = dot_numbers(op)?;
    let rank = |index: usize| Some(Tensor::new(op.operands().nth(index)?.r#type())?.rank());
    let (batch, contracted) = match index {
        0 => (numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions()),
        _ => (numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions()),
    };
    let first = if index == 0 { batch.len() } else { rank(0)? - contracted.len() };
    let mut own = first as i64..;
    let kept = (0..rank(index)? as i64).filter(|dim| !contracted.contains(dim));
    let place = |dim: i64| match batch.iter().position(|each| *each == dim) {
        Some(place) => Some(place as i64),
        None => own.next(),
    };
    kept.map(place).collect()
}

/// Whether a `dot_general` multiplies numbers as `multiply` does: no truth values, and none that an algorithm would have rounded first.
pub fn multiplies_as_it_is(op: OperationRef<'_, '_>) -> bool {
    let element = op.results().next().map(|result| ir::element_of(result.r#type()));
    let counts = |element: Type<'_>| {
        element.is_float() || IntegerType::try_from(element).is_ok_and(|integer| integer.width() > 1)
    };
    element.is_some_and(counts) && ffi::attribute_of(op, "algorithm").is_none()
}

/// How many products a `dot_general` sums up for each element; `None` for other ops.
pub fn contracted(op: OperationRef<'_, '_>) -> Option<i64> {
    let left = Tensor::new(op.operands().next()?.r#type())?;
    let dims = dot_numbers(op)?.lhs_contracting_dimensions();
    Some(dims.iter().map(|&dim| left.shape[dim as usize]).fold(1, i64::saturating_mul))
}

/// Multiplications of a dot; none for other ops, and for one that contracts next to nothing.
pub fn multiplications(op: OperationRef<'_, '_>) -> i64 {
    let count = || {
        let contracted = contracted(op)?;
        let results = Tensor::new(op.result(0).ok()?.r#type())?.element_count()?;
        (contracted > THIN).then(|| contracted.saturating_mul(results))
    };
    count().unwrap_or(0)
}

/// Whether a dot's algorithm adds up products in this type.
pub fn accumulates_in<'c>(algorithm: Attribute<'c>, element: Type<'c>) -> bool {
    DotAlgorithm::try_from(algorithm).is_ok_and(|algorithm| algorithm.accumulation_type() == Some(element))
}
