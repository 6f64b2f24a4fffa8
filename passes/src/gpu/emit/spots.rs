// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Places of elements that are only moved: of a concatenation of slices, say, or of an update of one. The place is
//! chosen, in memory or in the one value that all are of, and the element loaded or computed once, where each source
//! would be otherwise, or be a branch of its own.

use super::code::Int;
use super::element::{Kernel, Spot, count_of, tensor};
use super::shape::{MOVES, moved, number, operand, put};
use crate::framework::PassError;
use crate::ir;
use crate::rewrite::defining_op;
use melior::ir::operation::OperationLike;
use melior::ir::{Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};

/// Buffers between which the place of an element is chosen, at most: each costs a comparison.
const MOST: usize = 16;

/// The place in memory of an element of a value that is moved, put together and updated from buffers alone.
///
/// # Errors
/// An index cannot be computed, or an attribute is missing; at the op.
pub fn spot<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    value: Value<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Result<Option<Spot<'c, 'a>>, PassError<'c>> {
    let mut left = MOST;
    if is_in_memory(kernel, value, &mut left) { spot_of(kernel, value, index) } else { Ok(None) }
}

/// Whether all that a value is made of is in buffers, of which no more than are `left` are needed.
fn is_in_memory<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, value: Value<'c, 'a>, left: &mut usize) -> bool {
    if kernel.buffer_of(value).is_some() {
        return left.checked_sub(1).inspect(|&fewer| *left = fewer).is_some();
    }
    let Some(op) = defining_op(value).filter(|_| !kernel.is_bound(value)) else { return false };
    let name = op_name(op).strip_prefix("stablehlo.").unwrap_or_default();
    let sources = match name {
        "concatenate" => op.operand_count(),
        "dynamic_update_slice" => 2,
        _ if MOVES.contains(&name) => 1,
        _ => return false,
    };
    op.operands().take(sources).all(|operand| {
        let is_empty = ffi::shape(operand.r#type()).is_none_or(|shape| count_of(shape) == 0);
        !is_empty && is_in_memory(kernel, operand, left)
    })
}

/// The place of an element of a value that [`is_in_memory`].
fn spot_of<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    value: Value<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Result<Option<Spot<'c, 'a>>, PassError<'c>> {
    let Some(op) = defining_op(value) else { return kernel.spot(value, index) };
    match op_name(op) {
        "stablehlo.concatenate" => {
            let dim = number(op, "dimension")? as usize;
            let mut parts = Vec::new();
            let mut end = 0;
            for part in op.operands() {
                parts.push((part, end));
                end += tensor(part)?.shape[dim];
            }
            spot_of_parts(kernel, &parts, dim, index)
        }
        "stablehlo.dynamic_update_slice" => {
            let (inside, at) = put(kernel, op, index)?;
            let Some(new) = spot_of(kernel, operand(op, 1)?, &at)? else { return Ok(None) };
            let Some(inside) = inside else { return Ok(Some(new)) };
            let old = spot_of(kernel, operand(op, 0)?, index)?;
            Ok(old.map(|old| kernel.either_spot(inside, new, old)))
        }
        _ => spot_of(kernel, operand(op, 0)?, &moved(kernel, op, value, index)?),
    }
}

/// The place of an element of a concatenation of parts, each with where it starts.
fn spot_of_parts<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    parts: &[(Value<'c, 'a>, i64)],
    dim: usize,
    index: &[Value<'c, 'a>],
) -> Result<Option<Spot<'c, 'a>>, PassError<'c>> {
    let code = &kernel.code;
    if let [(only, start)] = parts {
        let mut at = index.to_vec();
        at[dim] = code.sub(index[dim], code.index(*start));
        return spot_of(kernel, *only, &at);
    }
    let (left, right) = parts.split_at(parts.len() / 2);
    let is_left = code.compare(Int::Slt, index[dim], code.index(right[0].1));
    let (Some(left), Some(right)) =
        (spot_of_parts(kernel, left, dim, index)?, spot_of_parts(kernel, right, dim, index)?)
    else {
        return Ok(None);
    };
    Ok(Some(kernel.either_spot(is_left, left, right)))
}

/// Where in the one value that all parts of a concatenation are slices of an element is, as in what was rolled; `None`
/// if there is no such value. Parts come with where they start.
pub fn of_one<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    parts: &[(Value<'c, 'a>, i64)],
    dim: usize,
    index: &[Value<'c, 'a>],
) -> Option<(Value<'c, 'a>, Vec<Value<'c, 'a>>)> {
    let code = &kernel.code;
    let sliced: Vec<_> = parts.iter().map(|(part, _)| slice_along(*part, dim)).collect::<Option<_>>()?;
    let (source, _) = *sliced.first()?;
    if parts.len() < 2 || sliced.iter().any(|(other, _)| *other != source) {
        return None;
    }
    let moved = |number: usize| code.add(index[dim], code.index(sliced[number].1 - parts[number].1));
    let last = parts.len() - 1;
    let place = (0..last).rev().fold(moved(last), |after, number| {
        let is_before = code.compare(Int::Slt, index[dim], code.index(parts[number + 1].1));
        code.select(is_before, moved(number), after)
    });
    let mut at = index.to_vec();
    at[dim] = place;
    Some((source, at))
}

/// What a value is a slice of along one dimension, next elements of it, and where it begins there.
fn slice_along<'c: 'a, 'a>(value: Value<'c, 'a>, dim: usize) -> Option<(Value<'c, 'a>, i64)> {
    let op = defining_op(value).filter(|op| op_name(*op) == "stablehlo.slice")?;
    let array = |name: &str| ir::i64_array(op, name);
    let (starts, strides) = (array("start_indices")?, array("strides")?);
    let source = op.operands().next()?;
    let (from, to) = (ffi::shape(source.r#type())?, ffi::shape(value.r#type())?);
    let is_along =
        (0..to.len()).all(|other| strides[other] == 1 && (other == dim || from[other] == to[other]));
    is_along.then(|| (source, starts[dim]))
}
