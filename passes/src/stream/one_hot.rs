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
//!
//! Rows may be counted by the indices themselves, as `logits[arange(n), labels]` does: their first or second column is then an
//! iota, from any row on. Such a gather is made one whose rows are paired with the indices' (so that it can be had in chunks of
//! rows), and such a scatter a comparison, whose rows without an index are left as they are.
//!
//! ```mlir
//! %at = stablehlo.concatenate %iota, %labels, dim = 1
//! %picked = "stablehlo.gather"(%logits, %at) <{collapsed_slice_dims = [0, 1], start_index_map = [0, 1], ...}>
//! // becomes
//! %picked = "stablehlo.gather"(%logits, %labels) <{collapsed_slice_dims = [1], operand_batching_dims = [0], ...}>
//! ```

use crate::ir::{self, Builder, discardable_attributes};
use crate::ops::access;
use crate::ops::reducers::{combiner, scatter_numbers};
use crate::rewrite::{defining_op, ops_named};
use crate::splat::Splats;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Location, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{ComparisonDirection, GatherDimensionNumbers};
use slimhlo_dialect::types::Tensor;

/// Rewrites all whose results take more than `least` bytes; says whether there were any.
pub fn run<'c: 'a, 'a>(root: OperationRef<'c, 'a>, build: &Builder<'c, 'a>, least: i64) -> bool {
    let mut changed = false;
    for op in ops_named(root, "stablehlo.scatter") {
        let large = op.result(0).is_ok_and(|result| ir::bytes(result.into()) > least);
        if large && (rewrite(op, build).is_some() || rewrite_counted(op, build).is_some()) {
            changed = true;
        }
    }
    for op in ops_named(root, "stablehlo.gather") {
        let large = op.operand(0).is_ok_and(|operand| ir::bytes(operand) > least);
        if large && pair_rows(op, build).is_some() {
            changed = true;
        }
    }
    changed
}

/// Two columns of indices of which one counts rows of a matrix.
struct Counted<'c, 'a> {
    /// The dimension whose rows are counted, 0 or 1.
    row: usize,
    /// The first of them.
    first: i64,
    /// How many there are.
    count: i64,
    /// The other column: one dimension of `count`, and one of 1.
    other: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Counted<'c, 'a> {
    /// `map` says which dimension of the matrix each column is for.
    fn of(indices: Value<'c, 'a>, map: &[i64], matrix: &Tensor<'c>) -> Option<Self> {
        let index = ir::plain(indices)?;
        let joined = defining_op(indices).filter(|op| op_name(*op) == "stablehlo.concatenate")?;
        if matrix.rank() != 2
            || !matches!(map, [0, 1] | [1, 0])
            || index.rank() != 2
            || index.shape[1] != 2
            || joined.operand_count() != 2
            || ir::constant_attribute(joined, "dimension") != Some(1)
        {
            return None;
        }
        let columns = [joined.operands().next()?, joined.operands().nth(1)?];
        (0..2).find_map(|column| {
            let first = first_of_count(columns[column])?;
            let row = usize::try_from(map[column]).ok()?;
            let count = index.shape[0];
            (first.checked_add(count)? <= matrix.shape[row]).then(|| Self {
                row,
                first,
                count,
                other: columns[1 - column],
            })
        })
    }
}

/// What a column that counts up by one from row to row starts with.
fn first_of_count(column: Value<'_, '_>) -> Option<i64> {
    const LONGEST: usize = 8;
    // From the column to the iota: what is added, to give elements of which type.
    let mut steps = Vec::new();
    let mut value = column;
    let count = loop {
        let op = defining_op(value)?;
        let tensor = ir::plain(value)?;
        let count = *tensor.shape.first()?;
        if tensor.element_count()? != count || steps.len() == LONGEST {
            return None;
        }
        let element = IntegerType::try_from(tensor.element).ok()?;
        let (by, from) = match op_name(op) {
            "stablehlo.iota" if access::iota_dimension(op) == Some(0) => {
                steps.push((0, element));
                break count;
            }
            "stablehlo.convert" | "stablehlo.reshape" => (0, ir::operand(op, 0)?),
            "stablehlo.broadcast_in_dim"
                if ir::i64_array(op, "broadcast_dimensions")?.first() == Some(&0) =>
            {
                (0, ir::operand(op, 0)?)
            }
            "stablehlo.add" => {
                let (left, right) = (ir::operand(op, 0)?, ir::operand(op, 1)?);
                match ir::constant_integer(right) {
                    Some(by) => (i64::try_from(by).ok()?, left),
                    None => (i64::try_from(ir::constant_integer(left)?).ok()?, right),
                }
            }
            _ => return None,
        };
        let source = ir::plain(from)?;
        if source.shape.first() != Some(&count) || !source.element.is_integer() {
            return None;
        }
        steps.push((by, element));
        value = from;
    };
    let mut first = 0i64;
    for (by, element) in steps.into_iter().rev() {
        first = first.checked_add(by)?;
        // None of the types wraps around.
        let fits = first >= 0 && first.checked_add(count - 1)? <= largest(element)?;
        if !fits {
            return None;
        }
    }
    Some(first)
}

/// The largest number of an integer type.
fn largest(element: IntegerType<'_>) -> Option<i64> {
    let bits = element.width() - u32::from(!element.is_unsigned());
    (element.width() > 1).then(|| i64::MAX >> (63 - bits.min(63)))
}

/// Whether an integer type has the first `count` numbers from 0 on.
fn counts(element: IntegerType<'_>, count: i64) -> bool {
    let bits = element.width() - u32::from(!element.is_unsigned());
    bits >= 63 || count <= 1 << bits
}

/// Where two arrays of an integer type are equal.
fn are_equal<'c: 'a, 'a>(
    left: Value<'c, 'a>,
    right: Value<'c, 'a>,
    element: IntegerType<'c>,
    build: &Builder<'c, 'a>,
    location: Location<'c>,
) -> Value<'c, 'a> {
    if element.is_unsigned() {
        build.compare_unsigned(ComparisonDirection::Eq, left, right, location)
    } else {
        build.compare(ComparisonDirection::Eq, left, right, location)
    }
}

/// A gather of one element per row, whose rows its indices count.
fn pair_rows<'c: 'a, 'a>(op: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<()> {
    if !discardable_attributes(op).is_empty() {
        return None;
    }
    let (operand, indices) = (op.operands().next()?, op.operands().nth(1)?);
    let matrix = ir::plain(operand)?;
    let numbers = GatherDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
    if !numbers.offset_dims().is_empty()
        || *numbers.collapsed_slice_dims() != [0, 1]
        || numbers.index_vector_dim() != 1
    {
        return None;
    }
    let Counted { row, first, count, other } = Counted::of(indices, numbers.start_index_map(), &matrix)?;
    build.set_insertion_point_before(op);
    let location = op.location();
    let rows = if count == matrix.shape[row] {
        operand
    } else {
        let (mut starts, mut shape) = ([0, 0], [matrix.shape[0], matrix.shape[1]]);
        (starts[row], shape[row]) = (first, count);
        build.slice(operand, &starts, Tensor::get(&shape, matrix.element, None), location)
    };
    let (row, along) = (row as i64, 1 - row as i64);
    let paired = GatherDimensionNumbers::new(build.context(), &[], &[along], &[row], &[0], &[along], 1);
    let types = [op.result(0).ok()?.r#type()];
    let picked = build.copy_with(op, &[rows, other], &[("dimension_numbers", paired.into())], &types);
    build.replace_all_uses_with(op.result(0).ok()?.into(), picked.result(0).ok()?.into());
    build.erase_with_dead_producers(op, |_| {});
    Some(())
}

/// A scatter of one element into some rows of a matrix that repeats one element, whose rows its indices count.
fn rewrite_counted<'c: 'a, 'a>(op: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<()> {
    if op.operand_count() != 3 || op.result_count() != 1 || !discardable_attributes(op).is_empty() {
        return None;
    }
    let (input, indices, updates) = (op.operands().next()?, op.operands().nth(1)?, op.operands().nth(2)?);
    let (matrix, update) = (ir::plain(input)?, ir::plain(updates)?);
    let numbers = scatter_numbers(op)?;
    if !numbers.update_window_dims().is_empty()
        || *numbers.inserted_window_dims() != [0, 1]
        || numbers.index_vector_dim() != 1
    {
        return None;
    }
    let map = numbers.scatter_dims_to_operand_dims();
    let Counted { row, first, count, other } = Counted::of(indices, map, &matrix)?;
    let along = 1 - row;
    let index = ir::plain(other)?;
    let element = IntegerType::try_from(index.element).ok()?;
    // Positions have to be numbers of the index's type, and one more, which is no position.
    if !counts(element, matrix.shape[along].checked_add(1)?) {
        return None;
    }
    let joins = joins(op)?;
    Splats::default().of(input)?;

    build.set_insertion_point_before(op);
    let location = op.location();
    let full = |element: Type<'c>| Tensor::get(matrix.shape, element, None);
    // Rows without an index have one that is no position.
    let in_rows = |value: Value<'c, 'a>, element: Type<'c>, none: f64| {
        let mut value = build.reshape(value, Tensor::get(&[count], element, None), location);
        if count != matrix.shape[row] {
            let none = build.number(none, element, location);
            let after = matrix.shape[row] - first - count;
            let all = Tensor::get(&[matrix.shape[row]], element, None);
            value = build.pad(value, none, [&[first], &[after], &[0]], all, location);
        }
        build.broadcast(value, &[row], full(element), location)
    };
    let wanted = in_rows(other, index.element, matrix.shape[along] as f64);
    let positions = build.iota(full(index.element), along, location);
    let here = are_equal(positions, wanted, element, build, location);
    let given = in_rows(updates, update.element, 0.0);
    let joined = match joins {
        Some(name) => build.binary(name, input, given, location),
        None => given,
    };
    let result = build.select(here, joined, input, location);
    build.replace_all_uses_with(op.result(0).ok()?.into(), result);
    build.erase_with_dead_producers(op, |_| {});
    Some(())
}

fn rewrite<'c: 'a, 'a>(op: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<()> {
    if op.operand_count() != 3 || op.result_count() != 1 || !discardable_attributes(op).is_empty() {
        return None;
    }
    let (input, indices, updates) = (op.operands().next()?, op.operands().nth(1)?, op.operands().nth(2)?);
    let (whole, index, update) = (ir::plain(input)?, ir::plain(indices)?, ir::plain(updates)?);
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
    if !counts(element, whole.shape[along]) {
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
    let here = are_equal(positions, wanted, element, build, location);
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
