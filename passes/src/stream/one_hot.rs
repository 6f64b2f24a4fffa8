// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A scatter of one element per row into a splat, as a comparison: so that it is elementwise, and can be had in chunks of any
//! dimension.
//!
//! ```mlir
//! %hot = "stablehlo.scatter"(%zeros, %indices, %updates) ...  // tensor<16384x64000xf32>, one update in each row
//! ```
//!
//! becomes
//!
//! ```mlir
//! %at = stablehlo.iota dim = 1
//! %here = stablehlo.compare EQ, %at, %indices in each row
//! %hot = stablehlo.select %here, %zeros + %updates in each row, %zeros
//! ```
//!
//! An index that is out of bounds equals no position, as the scatter leaves it out. What it adds (or takes the maximum of, or
//! sets) is computed by the scatter's own op from the same two elements. The gradient of picking one logit per row is such a
//! scatter.

use super::{combiner, plan, scatter_numbers};
use crate::ir::{Builder, discardable_attributes};
use crate::rewrite::ops_named;
use crate::splat::Splats;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, Type, Value};
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;
use slimhlo_dialect::types::Tensor;

/// Rewrites all whose results take more than `least` bytes; says whether there were any.
pub fn run<'c: 'a, 'a>(root: OperationRef<'c, 'a>, build: &Builder<'c, 'a>, least: i64) -> bool {
    let mut changed = false;
    for op in ops_named(root, "stablehlo.scatter") {
        let large = op.result(0).is_ok_and(|result| plan::bytes(result.into()) > least);
        if large && rewrite(op, build).is_some() {
            changed = true;
        }
    }
    changed
}

fn rewrite<'c: 'a, 'a>(op: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<()> {
    if op.operand_count() != 3 || op.result_count() != 1 || !discardable_attributes(op).is_empty() {
        return None;
    }
    let (input, indices, updates) = (op.operands().next()?, op.operands().nth(1)?, op.operands().nth(2)?);
    let (whole, index, update) = (plan::plain(input)?, plan::plain(indices)?, plan::plain(updates)?);
    let numbers = scatter_numbers(op)?;
    let &[along] = numbers.inserted_window_dims() else { return None };
    let along = along as usize;
    let dims: Vec<usize> = numbers.input_batching_dims().iter().map(|&dim| dim as usize).collect();
    let paired: Vec<usize> =
        numbers.scatter_indices_batching_dims().iter().map(|&dim| dim as usize).collect();
    let vector = numbers.index_vector_dim() as usize;
    // Each row has its own index, and but one.
    if !numbers.update_window_dims().is_empty()
        || *numbers.scatter_dims_to_operand_dims() != [along as i64]
        || dims.len() + 1 != whole.rank()
        || !dims.is_sorted()
        || !paired.is_sorted()
        || index.element_count()? != update.element_count()?
        || update.element_count()?.checked_mul(whole.shape[along])? != whole.element_count()?
        || (vector < index.rank() && index.shape[vector] != 1)
        || paired.iter().zip(&dims).any(|(&from, &to)| index.shape[from] != whole.shape[to])
    {
        return None;
    }
    let joins = joins(op)?;
    let element = IntegerType::try_from(index.element).ok()?;
    // Positions have to be numbers of the index's type.
    let most = if element.is_unsigned() { element.width() } else { element.width() - 1 };
    if most < 63 && whole.shape[along] > 1 << most {
        return None;
    }
    Splats::default().of(input)?;

    build.set_insertion_point_before(op);
    let location = op.location();
    let full = |element: Type<'c>| Tensor::get(whole.shape, element, None);
    let rows: Vec<i64> = dims.iter().map(|&dim| whole.shape[dim]).collect();
    let in_rows = |value: Value<'c, 'a>, element: Type<'c>| {
        let value = build.reshape(value, Tensor::get(&rows, element, None), location);
        build.broadcast(value, &dims, full(element), location)
    };
    let wanted = in_rows(indices, index.element);
    let positions = build.iota(full(index.element), along, location);
    let here = if element.is_unsigned() {
        build.compare_unsigned(ComparisonDirection::Eq, positions, wanted, location)
    } else {
        build.compare(ComparisonDirection::Eq, positions, wanted, location)
    };
    let given = in_rows(updates, update.element);
    let joined = match joins {
        Some(name) => build.binary(name, input, given, location),
        None => given,
    };
    let result = build.select(here, joined, input, location);
    build.replace_all_uses_with(op.result(0).ok()?.into(), result);
    build.erase_with_dead_producers(op, |_| {});
    Some(())
}

/// The op that joins an element with its update, or none if the update takes its place.
fn joins(op: OperationRef<'_, '_>) -> Option<Option<&'static str>> {
    if let Some(name) = combiner(op) {
        return Some(Some(name));
    }
    let block = op.region(0).ok()?.first_block()?;
    let end = block.first_operation()?;
    let update: Value = block.argument(1).ok()?.into();
    (end.operand_count() == 1 && end.next_in_block().is_none() && end.operands().next()? == update)
        .then_some(None)
}
