// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Products with rows that are put beside others, taken apart: forward, and both gradients.
//!
//! ```mlir
//! %edges = stablehlo.concatenate %edge, %from, %to, dim = 1       // gathered: %from, %to
//! %r = stablehlo.dot_general %edges, %w, contracting_dims = [1] x [0]
//! ...
//! %dw = stablehlo.dot_general %dr, %edges, contracting_dims = [0] x [0]
//! %dedges = stablehlo.dot_general %dr, %w, contracting_dims = [1] x [1]
//! %dfrom = stablehlo.slice %dedges [0:300000, 128:256]            // and others for %edge and %to
//! ```
//!
//! becomes
//!
//! ```mlir
//! %r = ... sum of dot_general of %edge, %from, %to with their rows of %w
//! ...
//! %dw = stablehlo.concatenate of dot_general of %dr with %edge, %from, %to
//! %dfrom = stablehlo.dot_general %dr, (rows 128 to 256 of %w), contracting_dims = [1] x [1]
//! ```
//!
//! So what is put together is stored neither as it is nor as its gradient: for 300,000 edges of 128 numbers beside those of two nodes these
//! are 439 MiB each. Elements of both gradients are sums of the same terms as before, in one piece.

use super::{Rows, is_bare};
use crate::ir::{self, Builder, constant_attribute, i64_array, plain};
use crate::ops::products::dot_numbers;
use crate::rewrite::{defining_op, is_unused, ops_named, users};
use crate::shards::is_partitioned;
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// How many parts a factor is put together of, at most.
const MOST_PARTS: usize = 4;

/// Takes all products apart that there are to be taken, and `gradients` as well; all that there are then, and whether it changed anything.
pub fn take_apart<'c: 'a, 'a>(
    root: OperationRef<'c, 'a>,
    gradients: bool,
    build: &Builder<'c, 'a>,
) -> (Vec<OperationRef<'c, 'a>>, bool) {
    let (mut products, mut others, mut changed) = (Vec::new(), Vec::new(), false);
    for product in ops_named(root, "stablehlo.dot_general") {
        match (0..2).find_map(|side| sum_of_parts(product, side, build)) {
            Some(parts) => {
                products.extend(parts);
                changed = true;
            }
            None => others.push(product),
        }
    }
    // What a factor's parts have met is known now.
    for product in others {
        let take = |side| side_by_side(product, side, build).or_else(|| cut(product, side, build));
        let apart = if gradients { (0..2).find_map(take) } else { None };
        changed |= apart.is_some();
        products.extend(apart.unwrap_or_else(|| vec![product]));
    }
    (products, changed)
}

/// Whether rows are gathered to be put beside others for a product, in a program that is not for several partitions.
pub fn joins_rows(root: OperationRef<'_, '_>) -> bool {
    let of_parts = |product| (0..2).any(|side| parts_of(product, side).is_some());
    !is_partitioned(root) && ops_named(root, "stablehlo.dot_general").into_iter().any(of_parts)
}

/// What an operand of a product is put together of, and along which dimension, if rows are gathered for one of them.
fn parts_of<'c: 'a, 'a>(
    product: OperationRef<'c, 'a>,
    side: usize,
) -> Option<(OperationRef<'c, 'a>, i64, Vec<Value<'c, 'a>>)> {
    let join =
        defining_op(product.operands().nth(side)?).filter(|op| op_name(*op) == "stablehlo.concatenate")?;
    let along = constant_attribute(join, "dimension")?;
    let parts: Vec<Value> = join.operands().collect();
    let fits = is_bare(product)
        && is_bare(join)
        && (2..=MOST_PARTS).contains(&parts.len())
        && parts.iter().any(|part| Rows::of(*part).is_some());
    fits.then_some((join, along, parts))
}

/// Part of a value: `size` elements of one of its dimensions.
fn part<'c: 'a, 'a>(
    value: Value<'c, 'a>,
    dim: usize,
    (begin, size): (i64, i64),
    location: Location<'c>,
    build: &Builder<'c, 'a>,
) -> Option<Value<'c, 'a>> {
    let tensor = plain(value)?;
    let (mut start, mut shape) = (vec![0; tensor.rank()], tensor.shape.to_vec());
    (start[dim], shape[dim]) = (begin, size);
    Some(build.slice(value, &start, Tensor::get(&shape, tensor.element, None), location))
}

/// Writes a product with what is put together along a contracted dimension, rows that are gathered among it, as a sum
/// of products: says which.
fn sum_of_parts<'c: 'a, 'a>(
    product: OperationRef<'c, 'a>,
    side: usize,
    build: &Builder<'c, 'a>,
) -> Option<Vec<OperationRef<'c, 'a>>> {
    let (join, along, parts) = parts_of(product, side)?;
    let operands: Vec<Value> = product.operands().collect();
    let numbers = dot_numbers(product)?;
    let contracted = [numbers.lhs_contracting_dimensions(), numbers.rhs_contracting_dimensions()];
    let place = contracted[side].iter().position(|&dim| dim == along)?;
    let across = contracted[1 - side][place] as usize;
    let result: Value = product.result(0).ok()?.into();
    // Narrower sums would be rounded once more.
    let is_wide = |element: Type<'_>| element.is_f32() || element.is_f64();
    if !is_wide(plain(result)?.element) {
        return None;
    }
    let location = product.location();
    build.set_insertion_point_before(product);
    let mut made: Vec<OperationRef> = Vec::new();
    let mut begin = 0;
    for with in parts {
        let size = plain(with)?.shape[along as usize];
        let slice = part(operands[1 - side], across, (begin, size), location, build)?;
        begin += size;
        let mut given = [with, slice];
        given.rotate_left(side);
        made.push(build.copy_with(product, &given, &[], &[result.r#type()]));
    }
    let sum = made.iter().filter_map(|op| op.result(0).ok().map(Value::from));
    let sum = sum.reduce(|sum, next| build.binary("stablehlo.add", sum, next, location))?;
    build.replace_all_uses_with(result, sum);
    build.erase_with_dead_producers(product, |_| {});
    if is_unused(join) {
        build.erase_with_dead_producers(join, |_| {});
    }
    Some(made)
}

/// The place of an operand's dimension among those of a product's result, if it is neither contracted nor a batch's.
fn free_place(product: OperationRef<'_, '_>, side: usize, dim: i64) -> Option<usize> {
    let numbers = dot_numbers(product)?;
    let taken = [
        [numbers.lhs_contracting_dimensions(), numbers.lhs_batching_dimensions()],
        [numbers.rhs_contracting_dimensions(), numbers.rhs_batching_dimensions()],
    ];
    let free = |side: usize| -> Option<Vec<i64>> {
        let rank = plain(product.operands().nth(side)?)?.rank() as i64;
        Some((0..rank).filter(|dim| taken[side].iter().all(|taken| !taken.contains(dim))).collect())
    };
    let before = numbers.lhs_batching_dimensions().len() + if side == 1 { free(0)?.len() } else { 0 };
    free(side)?.iter().position(|&other| other == dim).map(|place| before + place)
}

/// Puts a small product with what is put together, rows that are gathered among it, together of the parts' products:
/// says which.
fn side_by_side<'c: 'a, 'a>(
    product: OperationRef<'c, 'a>,
    side: usize,
    build: &Builder<'c, 'a>,
) -> Option<Vec<OperationRef<'c, 'a>>> {
    /// How many times as large as the product the factor is: what is put together has to be worth it. Not measured against others.
    const LARGER: i64 = 4;
    let (join, along, parts) = parts_of(product, side)?;
    let place = free_place(product, side, along)?;
    let result: Value = product.result(0).ok()?.into();
    let tensor = plain(result)?;
    (ir::bytes(result).saturating_mul(LARGER) <= ir::bytes(join.result(0).ok()?.into())).then_some(())?;
    build.set_insertion_point_before(product);
    let mut made: Vec<OperationRef> = Vec::new();
    for with in parts {
        let mut operands: Vec<Value> = product.operands().collect();
        operands[side] = with;
        let mut shape = tensor.shape.to_vec();
        shape[place] = plain(with)?.shape[along as usize];
        made.push(build.copy_with(product, &operands, &[], &[Tensor::get(&shape, tensor.element, None)]));
    }
    let all: Vec<Value> = made.iter().filter_map(|op| op.result(0).ok().map(Value::from)).collect();
    build.replace_all_uses_with(result, build.concatenate(&all, place, product.location()));
    build.erase_with_dead_producers(product, |_| {});
    if is_unused(join) {
        build.erase_with_dead_producers(join, |_| {});
    }
    Some(made)
}

/// What a slice has of one dimension: where it begins, and how much, if it has all of the others.
fn range_of<'c: 'a, 'a>(cut: OperationRef<'c, 'a>, place: usize) -> Option<(i64, i64)> {
    let of = |name| i64_array(cut, name);
    let whole =
        plain(cut.operands().next().filter(|_| op_name(cut) == "stablehlo.slice" && is_bare(cut))?)?.shape;
    let (starts, limits, strides) = (of("start_indices")?, of("limit_indices")?, of("strides")?);
    let is_all = |dim: usize| dim == place || starts[dim] == 0 && limits[dim] == whole[dim];
    ((0..whole.len()).all(is_all) && strides.iter().all(|&stride| stride == 1))
        .then_some((starts[place], limits[place] - starts[place]))
}

/// Makes a product of which nothing but parts is read, along a dimension of a factor that has been taken apart in the same way
/// ([`sum_of_parts`]), part by part: says which.
fn cut<'c: 'a, 'a>(
    product: OperationRef<'c, 'a>,
    side: usize,
    build: &Builder<'c, 'a>,
) -> Option<Vec<OperationRef<'c, 'a>>> {
    let factor = product.operands().nth(side)?;
    let result: Value = product.result(0).ok()?.into();
    let rank = plain(factor)?.rank() as i64;
    let cuts: Vec<OperationRef> = users(result).collect();
    let (dim, ranges) = (0..rank).find_map(|dim| {
        let place = free_place(product, side, dim)?;
        let ranges: Vec<_> = cuts.iter().map(|cut| range_of(*cut, place)).collect::<Option<_>>()?;
        let parts: Vec<_> = users(factor).filter_map(|user| range_of(user, dim as usize)).collect();
        ranges.iter().all(|range| parts.contains(range)).then_some((dim as usize, ranges))
    })?;
    if !is_bare(product) || !(2..=MOST_PARTS).contains(&cuts.len()) {
        return None;
    }
    let mut cuts: Vec<_> = cuts.into_iter().zip(ranges).collect();
    cuts.sort_by_key(|(_, range)| *range);
    build.set_insertion_point_before(product);
    let mut made: Vec<OperationRef> = Vec::new();
    for (cut, range) in cuts {
        let mut operands: Vec<Value> = product.operands().collect();
        operands[side] = part(factor, dim, range, product.location(), build)?;
        let of: Value = cut.result(0).ok()?.into();
        let product = build.copy_with(product, &operands, &[], &[of.r#type()]);
        build.replace_all_uses_with(of, product.result(0).ok()?.into());
        build.erase(cut);
        made.push(product);
    }
    build.erase_with_dead_producers(product, |_| {});
    Some(made)
}
