// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops that bring their operands to one shape.
//!
//! Whether shapes fit is known at run time only, once a size is dynamic; other producers of these ops leave it to that
//! even where all sizes are known. So shapes that do not fit are no error here: the result's shape is then unknown.

use crate::quant::{complex_of, is_float, signless};
use crate::rules::{Rules, Table};
use crate::types::{DYNAMIC, Tensor, compatible_element, compatible_shape, display_shape, is_static};
use crate::view::{Inferred, OpError, OpView, Verdict};
use crate::{ffi, reject, require};
use melior::ir::Type;

/// Operands and result have one element type.
const SAME_ELEMENT: Rules = Rules::NONE.verify(verify_elements).infer(infer_same_element);

/// Rules of the broadcasting ops.
pub const TABLE: Table = &[
    ("chlo.broadcast_add", SAME_ELEMENT),
    ("chlo.broadcast_and", SAME_ELEMENT),
    ("chlo.broadcast_atan2", SAME_ELEMENT),
    ("chlo.broadcast_compare", Rules::NONE.verify(verify_operand_elements).infer(infer_compare)),
    ("chlo.broadcast_complex", Rules::NONE.verify(verify_operand_elements).infer(infer_complex)),
    ("chlo.broadcast_divide", SAME_ELEMENT),
    ("chlo.broadcast_maximum", SAME_ELEMENT),
    ("chlo.broadcast_minimum", SAME_ELEMENT),
    ("chlo.broadcast_multiply", SAME_ELEMENT),
    ("chlo.broadcast_next_after", SAME_ELEMENT),
    ("chlo.broadcast_or", SAME_ELEMENT),
    ("chlo.broadcast_polygamma", SAME_ELEMENT),
    ("chlo.broadcast_power", SAME_ELEMENT),
    ("chlo.broadcast_remainder", SAME_ELEMENT),
    ("chlo.broadcast_select", Rules::NONE.verify(verify_select)),
    ("chlo.broadcast_shift_left", SAME_ELEMENT),
    ("chlo.broadcast_shift_right_arithmetic", SAME_ELEMENT),
    ("chlo.broadcast_shift_right_logical", SAME_ELEMENT),
    ("chlo.broadcast_subtract", SAME_ELEMENT),
    ("chlo.broadcast_xor", SAME_ELEMENT),
    ("chlo.broadcast_zeta", SAME_ELEMENT),
];

fn element<'c>(ty: Type<'c>, what: &str) -> Result<Type<'c>, OpError> {
    ffi::element_type(ty).ok_or_else(|| OpError(format!("{what} must be a tensor, but is of type {ty}")))
}

fn verify_operand_elements(op: &OpView<'_, '_>) -> Verdict {
    let (lhs, rhs) = (element(op.operand_type(0)?, "lhs")?, element(op.operand_type(1)?, "rhs")?);
    require!(compatible_element(lhs, rhs), "lhs has element type {lhs}, but rhs has {rhs}");
    Ok(())
}

fn verify_elements(op: &OpView<'_, '_>) -> Verdict {
    verify_operand_elements(op)?;
    let (lhs, result) = (element(op.operand_type(0)?, "lhs")?, element(op.result_type(0)?, "result")?);
    require!(compatible_element(lhs, result), "lhs has element type {lhs}, but result has {result}");
    Ok(())
}

/// One size of what two dimensions are brought to; `None` if they cannot be.
fn broadcast_size(left: i64, right: i64) -> Option<i64> {
    match (left, right) {
        _ if left == right => Some(left),
        (1, other) | (other, 1) => Some(other),
        // A size that is not known may be 1, so that the other one decides only if it is more than that.
        (DYNAMIC, other) | (other, DYNAMIC) => Some(if other > 1 { other } else { DYNAMIC }),
        _ => None,
    }
}

/// A shape, with the bounds of its dynamic sizes.
struct Shape<'c> {
    sizes: Vec<i64>,
    bounds: Option<&'c [i64]>,
}

/// The shape that both operands are brought to; `None` if it is not known.
fn broadcast_shape<'c>(op: &OpView<'c, '_>) -> Result<Option<Shape<'c>>, OpError> {
    let (Some(lhs), Some(rhs)) = (Tensor::new(op.operand_type(0)?), Tensor::new(op.operand_type(1)?)) else {
        return Ok(None);
    };
    let (small, large) = if lhs.rank() <= rhs.rank() { (lhs, rhs) } else { (rhs, lhs) };
    let trailing: Vec<i64> = (0..).skip(large.rank() - small.rank()).take(small.rank()).collect();
    let dims = op.optional_i64_array("broadcast_dimensions")?.unwrap_or(&trailing);
    // A bound of one of two shapes of the same rank says nothing of what both are brought to.
    if small.rank() == large.rank() && small.bounds() != large.bounds() {
        return Ok(None);
    }
    if dims.len() != small.rank() {
        return Ok(None);
    }
    let mut sizes = large.shape.to_vec();
    for (&size, &dim) in small.shape.iter().zip(dims) {
        let Some(index) = usize::try_from(dim).ok().filter(|&index| index < sizes.len()) else {
            return Ok(None);
        };
        let Some(size) = broadcast_size(size, large.shape[index]) else { return Ok(None) };
        sizes[index] = size;
    }
    let keeps_bounds = sizes.iter().zip(large.shape).all(|(&new, &old)| is_static(new) == is_static(old));
    Ok(Some(Shape { sizes, bounds: large.bounds().filter(|_| keeps_bounds) }))
}

/// What both operands are brought to, with the given element type.
fn infer<'c>(op: &OpView<'c, '_>, element: Type<'c>) -> Inferred<'c> {
    let Some(unranked) = ffi::unranked_tensor(element) else {
        reject!("a tensor cannot hold elements of type {element}")
    };
    let known = broadcast_shape(op)?;
    Ok(vec![known.map_or(unranked, |shape| Tensor::get(&shape.sizes, element, shape.bounds))])
}

fn infer_same_element<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    infer(op, element(op.operand_type(0)?, "lhs")?)
}

fn infer_compare<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    infer(op, signless(op.context(), 1))
}

fn infer_complex<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let part = element(op.operand_type(0)?, "lhs")?;
    require!(is_float(part), "lhs must have real elements, but has {part}");
    infer(op, complex_of(part))
}

/// Brings shapes together at their last dimension; `None` if they cannot be.
fn broadcast_trailing(left: &[i64], right: &[i64]) -> Option<Vec<i64>> {
    let (small, large) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    let mut shape = large.to_vec();
    let offset = large.len() - small.len();
    for (size, &other) in shape[offset..].iter_mut().zip(small) {
        *size = broadcast_size(*size, other)?;
    }
    Some(shape)
}

/// The result's element type is not looked at, as other tools do not.
fn verify_select(op: &OpView<'_, '_>) -> Verdict {
    let (on_true, on_false) = (op.operand_type(1)?, op.operand_type(2)?);
    let elements = (element(on_true, "on_true")?, element(on_false, "on_false")?);
    if elements.0 != elements.1 {
        reject!("on_true has element type {}, but on_false has {}", elements.0, elements.1);
    }
    let (Some(pred), Some(on_true), Some(on_false), Some(result)) = (
        Tensor::new(op.operand_type(0)?),
        Tensor::new(on_true),
        Tensor::new(on_false),
        Tensor::new(op.result_type(0)?),
    ) else {
        return Ok(());
    };
    let both = broadcast_trailing(on_true.shape, on_false.shape);
    let Some(shape) = both.and_then(|shape| broadcast_trailing(pred.shape, &shape)) else { return Ok(()) };
    require!(
        compatible_shape(&shape, result.shape),
        "result has shape [{}], but the operands are brought to [{}]",
        display_shape(result.shape),
        display_shape(&shape)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_meet_at_the_one_that_is_not_1() {
        assert_eq!(broadcast_size(4, 1), Some(4));
        assert_eq!(broadcast_size(1, 0), Some(0));
        assert_eq!(broadcast_size(DYNAMIC, 4), Some(4));
        assert_eq!(broadcast_size(DYNAMIC, 1), Some(DYNAMIC));
        assert_eq!(broadcast_size(DYNAMIC, 0), Some(DYNAMIC));
        assert_eq!(broadcast_size(3, 4), None);
    }

    #[test]
    fn shapes_line_up_at_their_last_dimension() {
        assert_eq!(broadcast_trailing(&[2, 1], &[3, 1, 4]), Some(vec![3, 2, 4]));
        assert_eq!(broadcast_trailing(&[], &[3]), Some(vec![3]));
        assert_eq!(broadcast_trailing(&[2], &[3]), None);
    }
}
