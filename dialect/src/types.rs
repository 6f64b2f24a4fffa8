// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Views of tensor types: shapes with dynamic and bounded sizes, and what an element type is.

use crate::ffi;
use crate::quant::Quantized;
use crate::view::OpView;
use melior::ir::{Attribute, Type, TypeLike};
use std::fmt;

/// How MLIR spells a size that is not known until run time.
pub const DYNAMIC: i64 = i64::MIN;

/// Whether `size` is known at compile time.
pub const fn is_static(size: i64) -> bool {
    size != DYNAMIC
}

/// A ranked tensor type. Copies are cheap: shape and bounds are borrowed from the context.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tensor<'c> {
    /// The type itself.
    pub ty: Type<'c>,
    /// Element type, quantized ones included.
    pub element: Type<'c>,
    /// Sizes in elements; [`DYNAMIC`] where unknown.
    pub shape: &'c [i64],
}

impl<'c> Tensor<'c> {
    /// Views a ranked tensor type; `None` for any other type.
    pub fn new(ty: Type<'c>) -> Option<Self> {
        let (shape, element) = ffi::ranked_tensor_parts(ty)?;
        Some(Self { ty, element, shape })
    }

    /// Builds a ranked tensor type. `bounds` (one per dimension, [`DYNAMIC`] for none) become `#stablehlo.bounds`
    /// unless none is given.
    pub fn get(shape: &[i64], element: Type<'c>, bounds: Option<&[i64]>) -> Type<'c> {
        let encoding = bounds
            .filter(|bounds| bounds.iter().any(|&bound| is_static(bound)))
            .map(|bounds| ffi::bounds_attribute(element.context(), bounds));
        ffi::ranked_tensor(shape, element, encoding)
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Whether every size is known.
    pub fn is_static(&self) -> bool {
        self.shape.iter().all(|&size| is_static(size))
    }

    /// The encoding attribute, if any.
    pub fn encoding(&self) -> Option<Attribute<'c>> {
        ffi::tensor_encoding(self.ty)
    }

    /// Whether it is stored otherwise than element by element (`#sparse_tensor.encoding`): then nobody knows how many
    /// bytes it takes.
    pub fn is_sparse(&self) -> bool {
        self.encoding().is_some_and(|encoding| ffi::dialect_of(encoding) == "sparse_tensor")
    }

    /// Upper bounds of dynamic sizes (`#stablehlo.bounds`), one per dimension, [`DYNAMIC`] where there is none.
    pub fn bounds(&self) -> Option<&'c [i64]> {
        ffi::bounds(self.encoding()?)
    }

    /// Number of elements, or `None` if a size is dynamic or the product overflows.
    pub fn element_count(&self) -> Option<i64> {
        self.shape
            .iter()
            .try_fold(1i64, |count, &size| if is_static(size) { count.checked_mul(size) } else { None })
    }
}

impl fmt::Display for Tensor<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.ty.fmt(formatter)
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.ty.fmt(formatter)
    }
}

/// Prints sizes as MLIR does: `2x?x4`.
pub fn display_shape(shape: &[i64]) -> String {
    let sizes: Vec<String> =
        shape.iter().map(|&size| if is_static(size) { size.to_string() } else { "?".into() }).collect();
    sizes.join("x")
}

/// Whether two sizes may be the same at run time: equal, or one of them dynamic.
pub fn compatible_size(left: i64, right: i64) -> bool {
    left == right || !is_static(left) || !is_static(right)
}

/// Whether two shapes may be the same at run time.
pub fn compatible_shape(left: &[i64], right: &[i64]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(&left, &right)| compatible_size(left, right))
}

/// Whether a size (with its bound, if it is dynamic) and another may be the same at run time: a known size must not
/// exceed the other's bound.
pub fn compatible_bounded_size(left: i64, left_bound: i64, right: i64, right_bound: i64) -> bool {
    match (is_static(left), is_static(right)) {
        (true, true) => left == right,
        (true, false) => !is_static(right_bound) || left <= right_bound,
        (false, true) => !is_static(left_bound) || right <= left_bound,
        (false, false) => true,
    }
}

/// Whether the shapes of two tensors may be the same at run time, bounds of dynamic sizes considered.
pub fn compatible_bounded_shape(left: &Tensor<'_>, right: &Tensor<'_>) -> bool {
    let bound = |tensor: &Tensor<'_>, index: usize| {
        tensor.bounds().and_then(|bounds| bounds.get(index).copied()).unwrap_or(DYNAMIC)
    };
    left.rank() == right.rank()
        && left.shape.iter().zip(right.shape).enumerate().all(|(index, (&left_size, &right_size))| {
            compatible_bounded_size(left_size, bound(left, index), right_size, bound(right, index))
        })
}

/// Whether two element types are the same but for the scales and zero points of quantized ones.
pub fn compatible_element(left: Type<'_>, right: Type<'_>) -> bool {
    match (Quantized::new(left), Quantized::new(right)) {
        (Some(left), Some(right)) => left.same_but_for_parameters(&right),
        _ => left == right,
    }
}

/// Whether a result of type `actual` may stand where `inferred` was computed: the same but for what only one of the two
/// knows (sizes, bounds, encodings) and for the scales of quantized elements. Tuples must be equal.
pub fn compatible_result(inferred: Type<'_>, actual: Type<'_>) -> bool {
    if inferred == actual {
        return true;
    }
    if inferred.is_unranked_tensor() || actual.is_unranked_tensor() {
        let elements = (ffi::element_type(inferred), ffi::element_type(actual));
        let both_tensors = inferred.is_tensor() && actual.is_tensor();
        return both_tensors
            && matches!(elements, (Some(left), Some(right)) if compatible_element(left, right));
    }
    let (Some(inferred), Some(actual)) = (Tensor::new(inferred), Tensor::new(actual)) else { return false };
    compatible_element(inferred.element, actual.element) && compatible_bounded_shape(&inferred, &actual)
}

/// Whether all operands and results of an op have static shapes, so that no size can be wrong at run time.
pub fn all_shapes_static(op: &OpView<'_, '_>) -> bool {
    let statically_shaped = |ty: Type<'_>| Tensor::new(ty).is_none_or(|tensor| tensor.is_static());
    op.operand_types().into_iter().all(statically_shaped)
        && (0..op.result_count()).all(|index| op.result_type(index).is_ok_and(statically_shaped))
}
