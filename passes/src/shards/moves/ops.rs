// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which ops only move elements, and what is asked of them.

use super::super::layout::SHARDING;
use super::DEPTH;
use crate::ir::{self, discardable_attributes};
use crate::ops::class;
use crate::rewrite::{defining_op, users};
use crate::splat::Splat;
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ScatterDimensionNumbers;
use slimhlo_dialect::types::Tensor;

/// Whether an op computes each element of its result from the elements in the same place, or from scalars.
pub fn is_elementwise(op: OperationRef<'_, '_>) -> bool {
    const OTHERS: &[&str] = &[
        "bitcast_convert",
        "broadcast",
        "broadcast_in_dim",
        "constant",
        "dynamic_slice",
        "iota",
        "pad",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    ];
    let name = op_name(op);
    if !class::is_fusible(name)
        || name.strip_prefix("stablehlo.").is_none_or(|name| OTHERS.binary_search(&name).is_ok())
        || op.result_count() != 1
        || op.operand_count() == 0
    {
        return false;
    }
    let Some(shape) = op.results().next().and_then(|result| ffi::shape(result.r#type())) else {
        return false;
    };
    op.operands()
        .all(|operand| ffi::shape(operand.r#type()).is_some_and(|other| other == shape || other.is_empty()))
}

/// Whether an op only moves elements, or puts a scalar where none come from.
pub fn is_move(op: OperationRef<'_, '_>) -> bool {
    matches!(
        op_name(op),
        "stablehlo.slice"
            | "stablehlo.pad"
            | "stablehlo.dynamic_update_slice"
            | "stablehlo.concatenate"
            | "stablehlo.reverse"
    ) || is_update(op)
}

/// Whether an op puts one array into another, as far as the op itself tells: a `dynamic_update_slice`, or a `scatter` of a
/// single window that sets.
pub fn is_update(op: OperationRef<'_, '_>) -> bool {
    match op_name(op) {
        "stablehlo.dynamic_update_slice" => true,
        "stablehlo.scatter" => sets_one_window(op).is_some(),
        _ => false,
    }
}

/// The array that an update puts into another.
pub fn update_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<Value<'c, 'a>> {
    op.operand(if op_name(op) == "stablehlo.scatter" { 2 } else { 1 }).ok()
}

/// The dimension that each number of the only index vector of a scatter is about, if it sets a window as deep as the array.
fn sets_one_window<'c>(op: OperationRef<'c, '_>) -> Option<&'c [i64]> {
    let numbers = ffi::attribute_of(op, "scatter_dimension_numbers")?;
    let numbers = ScatterDimensionNumbers::try_from(numbers).ok()?;
    (op.operand_count() == 3 && op.result_count() == 1).then_some(())?;
    let indices = plain(op.operands().nth(1)?)?;
    let update = plain(op.operands().nth(2)?)?;
    let body = op.region(0).ok()?.first_block()?;
    let end = body.first_operation()?;
    let second: Value = body.argument(1).ok()?.into();
    let sets = op_name(end) == "stablehlo.return" && end.operands().next()? == second;
    let dims = numbers.scatter_dims_to_operand_dims();
    (sets
        && indices.shape == [dims.len() as i64]
        && numbers.index_vector_dim() == 0
        && numbers.update_window_dims().len() == update.rank()
        && numbers.inserted_window_dims().is_empty()
        && numbers.input_batching_dims().is_empty())
    .then_some(dims)
}

/// The numbers of a list that is known at compile time.
fn constant_integers(value: Value<'_, '_>) -> Option<Vec<i64>> {
    let count = usize::try_from(*plain(value)?.shape.first()?).ok()?;
    if let Some(all) = ir::constant_integer(value) {
        return Some(vec![i64::try_from(all).ok()?; count]);
    }
    let op = defining_op(value)?;
    match op_name(op) {
        "stablehlo.constant" => {
            let dense = DenseElementsAttribute::try_from(ffi::attribute_of(op, "value")?).ok()?;
            let element = IntegerType::try_from(ir::element_of(value.r#type())).ok()?;
            (0..count)
                .map(|index| match (element.width(), element.is_unsigned()) {
                    (32, false) => dense.i32_element(index).ok().map(i64::from),
                    (64, false) => dense.i64_element(index).ok(),
                    _ => None,
                })
                .collect()
        }
        "stablehlo.concatenate" => {
            let parts = op.operands().map(|part| {
                (plain(part)?.element_count() == Some(1)).then_some(())?;
                i64::try_from(ir::constant_integer(part)?).ok()
            });
            parts.collect()
        }
        _ => None,
    }
}

/// A static tensor whose elements mean the same in every place, and that has some.
pub fn plain<'c>(value: Value<'c, '_>) -> Option<Tensor<'c>> {
    let tensor = Tensor::new(value.r#type())?;
    let element = tensor.element;
    (tensor.is_static()
        && tensor.encoding().is_none()
        && (element.is_float() || element.is_integer() || element.is_complex())
        && tensor.element_count().is_some_and(|count| count > 0))
    .then_some(tensor)
}

/// Bytes that an element takes at most.
pub(super) fn element_bytes(element: Type<'_>) -> i64 {
    match IntegerType::try_from(element) {
        Ok(integer) => i64::from(integer.width().div_ceil(8)),
        Err(_) => 16,
    }
}

/// Whether nothing but shardings hangs on an op, and those are about this program's mesh or an older one's.
pub fn is_bare(op: OperationRef<'_, '_>) -> bool {
    discardable_attributes(op).iter().all(|(name, _)| name.as_string_ref().as_str() == Ok(SHARDING))
}

/// Where an update goes, if that is known: its starts, clamped.
pub fn starts_of(op: OperationRef<'_, '_>) -> Option<Vec<i64>> {
    let array = plain(op.operands().next()?)?;
    let update = plain(update_of(op)?)?;
    if op_name(op) == "stablehlo.scatter" {
        let mut starts = vec![0; array.rank()];
        for (&dim, at) in sets_one_window(op)?.iter().zip(constant_integers(op.operands().nth(1)?)?) {
            *starts.get_mut(usize::try_from(dim).ok()?)? = at;
        }
        // What is out of bounds does not happen.
        let inside = |dim: usize| 0 <= starts[dim] && starts[dim] <= array.shape[dim] - update.shape[dim];
        return (0..array.rank()).all(inside).then_some(starts);
    }
    ir::window_starts(op, 2, update.shape, array.shape)
}

/// The value under sharding constraints.
pub fn unconstrained<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> Value<'c, 'a> {
    for _ in 0..DEPTH {
        match defining_op(value).filter(|op| op_name(*op) == "sdy.sharding_constraint") {
            Some(op) => match op.operand(0) {
                Ok(operand) => value = operand,
                Err(_) => break,
            },
            None => break,
        }
    }
    value
}

/// Whether a splat repeats a constant or a scalar that is one by itself, rather than an element of an array: that is an
/// array like another, on some device.
pub(super) fn repeats_scalar<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> bool {
    for _ in 0..DEPTH {
        let Some(op) = defining_op(value) else { break };
        match op_name(op) {
            "stablehlo.constant" => return true,
            "stablehlo.broadcast_in_dim"
            | "stablehlo.broadcast"
            | "stablehlo.reshape"
            | "stablehlo.transpose"
            | "stablehlo.convert" => match op.operand(0) {
                Ok(operand) => value = operand,
                Err(_) => return false,
            },
            _ => break,
        }
    }
    ir::is_rank_zero(value)
}

/// Whether several ops read a value, constraints of it counted as one with it.
pub(super) fn is_shared<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    is_shared_through(value, |op, _| op_name(op) == "sdy.sharding_constraint")
}

/// Whether an op computes its result, element by element, of this array alone: in the place of that, where several arrays would be
/// stored for one if each of them were.
fn is_of_one<'c: 'a, 'a>(op: OperationRef<'c, 'a>, array: Value<'c, 'a>) -> bool {
    let is_scalar = |value: Value<'c, 'a>| ir::is_rank_zero(value) || Splat::of(value).is_some();
    is_elementwise(op) && op.operands().all(|operand| operand == array || is_scalar(operand))
}

/// Whether several ops read a value, or what is computed from it alone, element by element: it is stored, or else computed
/// once for each. A manual computation reads its operands as often as it needs them.
pub fn is_computed_on_shared<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    let is_constraint = |op: OperationRef<'c, 'a>| op_name(op) == "sdy.sharding_constraint";
    let constrained = users(value).filter(|user| is_constraint(*user)).filter_map(ir::first_result);
    let all = std::iter::once(value).chain(constrained);
    all.flat_map(users).any(|user| op_name(user) == "sdy.manual_computation")
        || is_shared_through(value, |op, array| is_constraint(op) || is_of_one(op, array))
}

/// Whether a manual computation reads a value, or what others make of it alone, element by element or in another shape, or several do.
pub fn is_read_by_made<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> bool {
    for _ in 0..DEPTH {
        let mut all = users(value);
        let Some(first) = all.next() else { return false };
        if op_name(first) == "sdy.manual_computation" || all.any(|other| other != first) {
            return true;
        }
        let goes_on = is_of_one(first, value)
            || matches!(
                op_name(first),
                "sdy.sharding_constraint" | "stablehlo.pad" | "stablehlo.reshape" | "stablehlo.transpose"
            );
        match ir::first_result(first) {
            Some(result) if goes_on => value = result,
            _ => return false,
        }
    }
    false
}

fn is_shared_through<'c: 'a, 'a>(
    mut value: Value<'c, 'a>,
    is_one: impl Fn(OperationRef<'c, 'a>, Value<'c, 'a>) -> bool,
) -> bool {
    for _ in 0..DEPTH {
        let mut all = users(value);
        let Some(first) = all.next() else { return false };
        if all.any(|other| other != first) {
            return true;
        }
        match ir::first_result(first) {
            Some(result) if is_one(first, value) => value = result,
            _ => return false,
        }
    }
    false
}
