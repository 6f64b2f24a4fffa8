// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is verified of an op before MLIR's own traits and constraints are.
//!
//! MLIR says "requires one result" or "requires the same type for all operands and results", and leaves to the reader
//! which operand it was, and what was found. What is asked here is never more than what MLIR asks behind it, so that the verdict is
//! MLIR's: only the diagnostic is ours.

use crate::rules::rules;
use crate::types::compatible_shape;
use crate::view::{OpView, Verdict};
use crate::{ffi, require};
use melior::ir::{BlockLike, RegionLike, RegionRef, Type};
use std::iter;

/// An op, an integer attribute of it that ODS confines, and the least value.
pub type Least = (&'static str, &'static str, i64);

/// All that there are.
pub const LEAST: &[Least] = &[
    ("chlo.scan", "dimension", 0),
    ("chlo.scan", "scan_dim_size", 0),
    ("stablehlo.all_gather", "all_gather_dim", 0),
    ("stablehlo.all_to_all", "concat_dimension", 0),
    ("stablehlo.all_to_all", "split_count", 1),
    ("stablehlo.all_to_all", "split_dimension", 0),
    ("stablehlo.batch_norm_grad", "feature_index", 0),
    ("stablehlo.batch_norm_inference", "feature_index", 0),
    ("stablehlo.batch_norm_training", "feature_index", 0),
    ("stablehlo.concatenate", "dimension", 0),
    ("stablehlo.convolution", "batch_group_count", 1),
    ("stablehlo.convolution", "feature_group_count", 1),
    ("stablehlo.dynamic_conv", "batch_group_count", 1),
    ("stablehlo.dynamic_conv", "feature_group_count", 1),
    ("stablehlo.dynamic_iota", "iota_dimension", 0),
    ("stablehlo.get_dimension_size", "dimension", 0),
    ("stablehlo.get_tuple_element", "index", 0),
    ("stablehlo.iota", "iota_dimension", 0),
    ("stablehlo.reduce_precision", "exponent_bits", 1),
    ("stablehlo.reduce_precision", "mantissa_bits", 0),
    ("stablehlo.reduce_scatter", "scatter_dimension", 0),
    ("stablehlo.set_dimension_size", "dimension", 0),
];

/// The one op whose regions may have any number of blocks, by ODS; all others' have one.
const ANY_BLOCKS: &str = "stablehlo.composite";

/// Verifies an op as far as no more is known than that it is there; `counts` is how many operands, results and regions its traits
/// ask for, negative where they do not say.
///
/// # Errors
/// What is wrong, with the number that was found and the one that was expected.
pub fn verify(op: &OpView<'_, '_>, counts: [isize; 3]) -> Verdict {
    let found = [op.operand_count(), op.result_count(), op.region_count()];
    for ((expected, found), what) in counts.into_iter().zip(found).zip(["operand", "result", "region"]) {
        let Ok(expected) = usize::try_from(expected) else { continue };
        let plural = if expected == 1 { "" } else { "s" };
        require!(found == expected, "must have {expected} {what}{plural}, but has {found}");
    }
    let name = op.name();
    if name != ANY_BLOCKS {
        for index in 0..op.region_count() {
            let blocks = block_count(op.region(index)?);
            require!(blocks == 1, "region #{index} must have 1 block, but has {blocks}");
        }
    }
    let rules = rules(name);
    for &(_, attribute, least) in rules.least {
        // One of another kind is ODS's to reject.
        let Ok(Some(value)) = op.optional_integer(attribute) else { continue };
        require!(value >= least, "{attribute} = {value}, but must be at least {least}");
    }
    rules.verify_first.map_or(Ok(()), |rule| rule(op))
}

fn block_count(region: RegionRef<'_, '_>) -> usize {
    iter::successors(region.first_block(), |block| block.next_in_region()).count()
}

/// Operands have the type of the result, but for what only one of them knows of its shape.
///
/// # Errors
/// The first operand that has another, and both types.
pub fn same_types(op: &OpView<'_, '_>) -> Verdict {
    let result = op.result_type(0)?;
    for (index, operand) in op.operand_types().into_iter().enumerate() {
        require!(
            may_be_same(operand, result),
            "operand #{index} is of type {operand}, but the result of type {result}"
        );
    }
    Ok(())
}

fn may_be_same(operand: Type<'_>, result: Type<'_>) -> bool {
    let element = |ty| ffi::element_type(ty).unwrap_or(ty);
    let shapes = ffi::shape(operand).zip(ffi::shape(result));
    let encodings_agree =
        ffi::tensor_encoding(result).is_none_or(|encoding| ffi::tensor_encoding(operand) == Some(encoding));
    element(operand) == element(result)
        && shapes.is_none_or(|(operand, result)| compatible_shape(operand, result))
        && encodings_agree
}

#[cfg(test)]
mod tests {
    use super::LEAST;

    #[test]
    fn those_of_one_op_are_side_by_side() {
        assert!(LEAST.is_sorted());
    }
}
