// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What reductions and scatters do with two elements, and what they start from.

use crate::ir::{self, discardable_attributes, plain};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, Type, TypeLike, Value};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ScatterDimensionNumbers;
use std::collections::BTreeSet;

/// The op that a reducer is, if it is just one that is associative and commutative.
pub fn combiner(op: OperationRef<'_, '_>) -> Option<&'static str> {
    const KNOWN: [&str; 6] = [
        "stablehlo.add",
        "stablehlo.multiply",
        "stablehlo.maximum",
        "stablehlo.minimum",
        "stablehlo.and",
        "stablehlo.or",
    ];
    let block = op.region(0).ok()?.first_block()?;
    let inner = block.first_operation()?;
    let name = KNOWN.into_iter().find(|name| *name == op_name(inner))?;
    let arguments: BTreeSet<usize> =
        [0, 1].iter().filter_map(|&index| block.argument(index).ok()).map(|a| ir::key(a.into())).collect();
    let operands: BTreeSet<usize> = inner.operands().map(ir::key).collect();
    let end = inner.next_in_block()?;
    let returned = end.operands().next()?;
    (block.argument_count() == 2
        && arguments == operands
        && discardable_attributes(inner).is_empty()
        && end.operand_count() == 1
        && end.next_in_block().is_none()
        && inner.result(0).is_ok_and(|result| Value::from(result) == returned))
    .then_some(name)
}

/// Whether a scatter's region hands on one of its arguments as it is, so that the type it does so in is no matter.
pub fn keeps_one(op: OperationRef<'_, '_>, combiner: Option<&str>) -> bool {
    let block = || op.region(0).ok()?.first_block()?.first_operation();
    matches!(combiner, Some("stablehlo.maximum" | "stablehlo.minimum"))
        || block().is_some_and(|first| op_name(first) == "stablehlo.return")
}

/// What chunks of a reduction start from so that its initial value counts once: nothing special if the value may count
/// any number of times, otherwise the identity; `None` if that is not known.
pub fn fresh_identity(op: OperationRef<'_, '_>, combine: &str, element: Type<'_>) -> Option<Option<f64>> {
    fresh_identity_of(op, 1, combine, element)
}

/// The same where the initial value is another operand.
pub fn fresh_identity_of(
    op: OperationRef<'_, '_>,
    init: usize,
    combine: &str,
    element: Type<'_>,
) -> Option<Option<f64>> {
    let float = element.is_float();
    let (identity, same): (f64, &[&str]) = match combine {
        "stablehlo.add" if element.is_complex() => (-0.0, &[]),
        // By one is no identity where parts are infinite or no numbers, and pairs have no order that all back ends keep.
        _ if element.is_complex() => return None,
        "stablehlo.add" if float => (-0.0, &["-0.000000e+00", "0.000000e+00"]),
        "stablehlo.add" => (0.0, &["0", "false"]),
        "stablehlo.multiply" if float => (1.0, &["1.000000e+00"]),
        "stablehlo.multiply" => (1.0, &["1", "true"]),
        _ => return Some(None),
    };
    let init = op.operands().nth(init)?;
    let text = ir::splat_constant(init).map(|element| element.to_string());
    let known = text.is_some_and(|text| same.contains(&text.split(" : ").next().unwrap_or_default().trim()));
    if known {
        return Some(None);
    }
    // What adding booleans means with another initial value is not for us to say.
    let boolean = element == Type::from(IntegerType::new(crate::rewrite::context_of(op), 1));
    (ir::element_bytes(element)? > 0 && !boolean).then_some(Some(identity))
}

/// Which dimensions a `scatter` goes by; `None` for other ops.
pub fn scatter_numbers<'c>(op: OperationRef<'c, '_>) -> Option<ScatterDimensionNumbers<'c>> {
    ffi::attribute_of(op, "scatter_dimension_numbers")?.try_into().ok()
}

/// The dimension of the scatter indices that belongs to a dimension of the updates that is no window dimension.
pub fn indices_dim(numbers: ScatterDimensionNumbers<'_>, dim: usize) -> usize {
    let batch = (0..dim).filter(|&dim| !numbers.update_window_dims().contains(&(dim as i64))).count();
    batch + usize::from(batch as i64 >= numbers.index_vector_dim())
}

/// The dimensions of a scatter's updates that may be taken in chunks.
pub fn scatter_dims(op: OperationRef<'_, '_>, commutes: bool) -> Option<Vec<usize>> {
    if op.operand_count() != 3 {
        return None;
    }
    let numbers = scatter_numbers(op)?;
    let updates = plain(op.operands().nth(2)?)?;
    let mut dims = Vec::new();
    for dim in (0..updates.rank()).filter(|&dim| !numbers.update_window_dims().contains(&(dim as i64))) {
        // A dimension paired with one of the input does not accumulate: each chunk would have its own part.
        if !numbers.scatter_indices_batching_dims().contains(&(indices_dim(numbers, dim) as i64)) {
            dims.push(dim);
        }
        if !commutes && updates.shape[dim] > 1 {
            break;
        }
    }
    Some(dims)
}
