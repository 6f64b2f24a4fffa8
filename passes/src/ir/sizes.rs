// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What tensors take, in bytes.

use super::element_of;
use melior::ir::r#type::IntegerType;
use melior::ir::{Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::dense;
use slimhlo_dialect::types::Tensor;

/// The tensor a value is, if chunks of it can be spoken of: static, no encoding, plain numbers, which may be complex.
pub fn plain<'c>(value: Value<'c, '_>) -> Option<Tensor<'c>> {
    let tensor = Tensor::new(value.r#type())?;
    (tensor.is_static() && tensor.encoding().is_none() && element_bytes(tensor.element).is_some())
        .then_some(tensor)
}

/// The same, of numbers that are not complex.
pub fn real<'c>(value: Value<'c, '_>) -> Option<Tensor<'c>> {
    plain(value).filter(|tensor| !tensor.element.is_complex())
}

/// Bytes of one element; `None` for what is no plain number.
pub fn element_bytes(element: Type<'_>) -> Option<i64> {
    // Asked first, because a conversion that fails prints the type into its error.
    if element.is_integer()
        && let Ok(integer) = IntegerType::try_from(element)
    {
        return Some(i64::from(integer.width().div_ceil(8)));
    }
    if element.is_complex() {
        return i64::try_from(dense::element_bytes(element)?).ok();
    }
    if !element.is_float() {
        return None;
    }
    // It has neither a zero nor a sign.
    if element.is_float8e8m0fnu() {
        return None;
    }
    match element.float_width() {
        width @ (8 | 16 | 32 | 64) => Some(i64::from(width / 8)),
        _ => None,
    }
}

/// The greatest number that divides both.
pub fn gcd(mut left: i64, mut right: i64) -> i64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

/// Bytes of a value, as far as they can be counted.
pub fn bytes(value: Value<'_, '_>) -> i64 {
    type_bytes(value.r#type())
}

/// Bytes of a tensor of this type, as far as they can be counted.
pub fn type_bytes(ty: Type<'_>) -> i64 {
    Tensor::new(ty).map_or(UNKNOWN, tensor_bytes)
}

/// What stands for bytes that cannot be counted.
const UNKNOWN: i64 = i64::MAX / 4;

/// Bytes of a tensor, as far as they can be counted.
pub fn tensor_bytes(tensor: Tensor<'_>) -> i64 {
    let bytes = || tensor.element_count()?.checked_mul(element_bytes(tensor.element)?);
    bytes().unwrap_or(UNKNOWN)
}

/// Whether a value's elements are floats of less than 32 bits.
pub fn is_narrow(value: Value<'_, '_>) -> bool {
    let element = element_of(value.r#type());
    element.is_float() && element_bytes(element).is_some_and(|size| size < 4)
}
