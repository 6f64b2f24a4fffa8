// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Updates: what puts one array into another, and where.

use crate::ir;
use crate::rewrite::defining_op;
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ScatterDimensionNumbers;
use slimhlo_dialect::types::Tensor;

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
    ir::operand(op, if op_name(op) == "stablehlo.scatter" { 2 } else { 1 })
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
