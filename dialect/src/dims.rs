// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is known of the dimensions of tensors, and how the knowledge of several tensors combines.

use crate::ffi;
use crate::require;
use crate::types::{DYNAMIC, Tensor, is_static};
use crate::view::OpError;
use melior::ir::Type;
use std::fmt;

/// What is known of one dimension: its size and, where that is dynamic, its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Size, or [`DYNAMIC`].
    pub size: i64,
    /// Upper bound of a dynamic size, or [`DYNAMIC`].
    pub bound: i64,
}

impl Dim {
    /// A dimension nothing is known about.
    pub const UNKNOWN: Self = Self { size: DYNAMIC, bound: DYNAMIC };

    /// A dimension of this size, which may be [`DYNAMIC`].
    pub const fn of(size: i64) -> Self {
        Self { size, bound: DYNAMIC }
    }

    /// A dynamic dimension with this bound, which may be [`DYNAMIC`] too.
    pub const fn bounded(bound: i64) -> Self {
        Self { size: DYNAMIC, bound }
    }

    /// Whether the size is known.
    pub const fn is_static(&self) -> bool {
        is_static(self.size)
    }

    /// Whether a bound of a dynamic size is known.
    pub const fn is_bounded(&self) -> bool {
        !is_static(self.size) && is_static(self.bound)
    }

    /// What is known of a dimension that `self` and `other` both describe: a size before a bound, the smaller bound
    /// before the larger. The error says how the two contradict each other.
    ///
    /// # Errors
    /// How the two contradict each other.
    pub fn meet(self, other: Self) -> Result<Self, String> {
        match (self.is_static(), other.is_static()) {
            (true, true) if self.size != other.size => {
                Err(format!("size {} differs from size {}", self.size, other.size))
            }
            (true, true) => Ok(self),
            (true, false) => self.within(other.bound),
            (false, true) => other.within(self.bound),
            (false, false) if self.is_bounded() && other.is_bounded() => {
                Ok(Self::bounded(self.bound.min(other.bound)))
            }
            (false, false) => Ok(if self.is_bounded() { self } else { other }),
        }
    }

    /// What is known of a dimension that is `self` in one execution and `other` in another: the size if both agree, else
    /// the larger limit if both have one.
    pub fn join(self, other: Self) -> Self {
        if self.is_static() && self == other {
            return self;
        }
        let limit = |dim: Self| if dim.is_static() { dim.size } else { dim.bound };
        match (limit(self), limit(other)) {
            (left, right) if is_static(left) && is_static(right) => Self::bounded(left.max(right)),
            _ => Self::UNKNOWN,
        }
    }

    fn within(self, bound: i64) -> Result<Self, String> {
        if is_static(bound) && self.size > bound {
            return Err(format!("size {} exceeds bound {bound}", self.size));
        }
        Ok(self)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Self { size, .. } if is_static(size) => write!(formatter, "{size}"),
            Self { bound, .. } if is_static(bound) => write!(formatter, "? (at most {bound})"),
            _ => formatter.write_str("?"),
        }
    }
}

impl<'c> Tensor<'c> {
    /// Size and bound of each dimension.
    pub fn dims(&self) -> Vec<Dim> {
        let bounds = self.bounds().unwrap_or_default();
        let bound = |index: usize| bounds.get(index).copied().unwrap_or(DYNAMIC);
        let dim = |(index, &size): (usize, &i64)| {
            if is_static(size) { Dim::of(size) } else { Dim::bounded(bound(index)) }
        };
        self.shape.iter().enumerate().map(dim).collect()
    }

    /// The same shape and encoding with another element type.
    pub fn with_element(&self, element: Type<'c>) -> Type<'c> {
        ffi::ranked_tensor(self.shape, element, self.encoding())
    }

    /// A tensor of these dimensions with the same element type, bounded only if this one has bounds.
    fn like(&self, dims: &[Dim]) -> Type<'c> {
        if self.bounds().is_some() {
            return Self::of_dims(dims, self.element);
        }
        let sizes: Vec<i64> = dims.iter().map(|dim| dim.size).collect();
        Self::get(&sizes, self.element, None)
    }

    /// Builds a ranked tensor type; bounds of dynamic dimensions become `#stablehlo.bounds`.
    pub fn of_dims(dims: &[Dim], element: Type<'c>) -> Type<'c> {
        let sizes: Vec<i64> = dims.iter().map(|dim| dim.size).collect();
        let bounds: Vec<i64> = dims.iter().map(|dim| dim.bound).collect();
        Self::get(&sizes, element, Some(&bounds))
    }

    /// Builds a ranked tensor type of computed dimensions, which must not have overflowed.
    ///
    /// # Errors
    /// A size or a bound has overflowed; which one.
    pub fn try_of_dims(dims: &[Dim], element: Type<'c>) -> Result<Type<'c>, OpError> {
        for (index, dim) in dims.iter().enumerate() {
            for size in [dim.size, dim.bound] {
                require!(
                    size >= 0 || !is_static(size),
                    "dimension {index} of the result would have the impossible size {size}"
                );
            }
        }
        Ok(Self::of_dims(dims, element))
    }
}

/// The least specific type of tensors of which one is there in some executions and another in others. `tensors` have
/// compatible shapes; element type and kind of encoding are those of the first.
///
/// # Errors
/// There is no tensor, or their shapes are not compatible.
pub fn least_specific<'c>(tensors: &[Tensor<'c>]) -> Result<Type<'c>, String> {
    let Some((first, rest)) = tensors.split_first() else { return Err("there are no values".into()) };
    if rest.iter().all(|tensor| tensor.ty == first.ty) {
        return Ok(first.ty);
    }
    let mut dims = first.dims();
    for tensor in rest {
        if tensor.rank() != dims.len() {
            return Err(format!("ranks {} and {} differ", dims.len(), tensor.rank()));
        }
        for (dim, other) in dims.iter_mut().zip(tensor.dims()) {
            *dim = dim.join(other);
        }
    }
    Ok(first.like(&dims))
}

/// The most specific type of tensors that have the same shape at run time: every size and bound that any of them knows,
/// and the element type and kind of encoding of the first.
///
/// # Errors
/// There is no tensor, or two of them contradict each other in a dimension, which is named.
pub fn most_specific<'c>(tensors: &[Tensor<'c>]) -> Result<Type<'c>, String> {
    let Some((first, rest)) = tensors.split_first() else { return Err("there are no operands".into()) };
    if rest.iter().all(|tensor| tensor.ty == first.ty) {
        return Ok(first.ty);
    }
    let mut dims = first.dims();
    for (number, tensor) in (1..).zip(rest) {
        if tensor.rank() != dims.len() {
            return Err(format!("operand #{number} has rank {}, not {}", tensor.rank(), dims.len()));
        }
        for (index, (dim, other)) in dims.iter_mut().zip(tensor.dims()).enumerate() {
            *dim = dim
                .meet(other)
                .map_err(|why| format!("dimension {index} of operand #{number} does not fit: {why}"))?;
        }
    }
    Ok(first.like(&dims))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meet_keeps_the_more_specific_side() {
        assert_eq!(Dim::of(3).meet(Dim::UNKNOWN), Ok(Dim::of(3)));
        assert_eq!(Dim::of(3).meet(Dim::bounded(3)), Ok(Dim::of(3)));
        assert_eq!(Dim::bounded(5).meet(Dim::bounded(3)), Ok(Dim::bounded(3)));
        assert_eq!(Dim::UNKNOWN.meet(Dim::bounded(3)), Ok(Dim::bounded(3)));
        assert!(Dim::bounded(3).meet(Dim::of(4)).is_err());
        assert!(Dim::of(3).meet(Dim::of(4)).is_err());
    }

    #[test]
    fn join_keeps_what_both_sides_know() {
        assert_eq!(Dim::of(3).join(Dim::of(3)), Dim::of(3));
        assert_eq!(Dim::of(3).join(Dim::of(4)), Dim::bounded(4));
        assert_eq!(Dim::of(3).join(Dim::bounded(5)), Dim::bounded(5));
        assert_eq!(Dim::bounded(5).join(Dim::bounded(8)), Dim::bounded(8));
        assert_eq!(Dim::bounded(5).join(Dim::UNKNOWN), Dim::UNKNOWN);
    }
}
