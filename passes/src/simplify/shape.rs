// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops that move elements: slices, reshapes, transposes, broadcasts, pads.

use super::site::{
    Pad, Site, Slice, broadcast, broadcast_dims, byte_count, is_always_there, plain, producer,
};
use crate::ir;
use crate::rewrite::{has_one_use, users, uses};
use crate::splat::Splat;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

const SLICE: &str = "stablehlo.slice";
/// Operands of a concatenate that are looked through for one slice of it.
const MOST_OPERANDS: usize = 256;

/// What one device holds is laid out in one way.
pub fn idle_constraint<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    site.forward(site.operand(0)?)
}

/// A slice of a slice is one slice.
///
/// Made where the inner one was, so that what that was taken from is let go as early as before.
pub fn slice_of_slice<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let outer = Slice::new(site.op)?;
    let inner_op = site.producer(0, SLICE)?;
    let inner = Slice::new(inner_op)?;
    if has_one_use(outer.operand) {
        site.build.set_insertion_point_before(inner_op);
    } else if !is_always_there(inner.operand) {
        return None;
    }
    let rank = outer.start.len();
    let shape = site.result.shape;
    let start: Vec<i64> = (0..rank).map(|d| inner.start[d] + outer.start[d] * inner.stride[d]).collect();
    let stride: Vec<i64> =
        (0..rank).map(|d| inner.stride[d].checked_mul(outer.stride[d])).collect::<Option<_>>()?;
    Some(strided(site, inner.operand, &start, &stride, shape))
}

/// `count` elements of `operand` from `start` on along each dimension; the operand itself if that is all of it.
fn strided<'c, 'a>(
    site: &Site<'c, 'a>,
    operand: Value<'c, 'a>,
    start: &[i64],
    stride: &[i64],
    count: &[i64],
) -> Value<'c, 'a> {
    // Nothing is taken from the beginning, and a stride over one element is none.
    let start: Vec<i64> = start.iter().zip(count).map(|(&s, &n)| if n == 0 { 0 } else { s }).collect();
    let stride: Vec<i64> = stride.iter().zip(count).map(|(&s, &n)| if n <= 1 { 1 } else { s }).collect();
    let limit: Vec<i64> = (0..start.len())
        .map(|d| if count[d] == 0 { start[d] } else { start[d] + (count[d] - 1) * stride[d] + 1 })
        .collect();
    let ty = Tensor::get(count, ir::element_of(operand.r#type()), None);
    site.build.strided_slice(operand, &start, &limit, &stride, ty, site.location)
}

/// Sizes along the concatenated dimension, and that dimension.
pub fn concatenated(op: OperationRef<'_, '_>) -> Option<(usize, Vec<i64>)> {
    let dim = usize::try_from(ir::constant_attribute(op, "dimension")?).ok()?;
    let sizes =
        op.operands().map(|operand| plain(operand)?.shape.get(dim).copied()).collect::<Option<_>>()?;
    Some((dim, sizes))
}

/// A slice of what one operand of a concatenate contributes is a slice of that operand, and one of several whole
/// operands is their concatenate.
///
/// Only where the concatenate goes away with it: while it is there, its operands would be kept besides.
pub fn slice_of_concatenate<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let outer = Slice::new(site.op)?;
    let inner = site.producer(0, "stablehlo.concatenate")?;
    if inner.block() != site.op.block() || inner.operand_count() > MOST_OPERANDS {
        return None;
    }
    let (dim, sizes) = concatenated(inner)?;
    let (start, limit) = (outer.start[dim], outer.limit[dim]);
    if start >= limit {
        return None;
    }
    let mut offset = 0;
    let mut ends = Vec::with_capacity(sizes.len());
    for size in &sizes {
        offset += size;
        ends.push(offset);
    }
    let first = ends.partition_point(|&end| end <= start);
    let last = ends.partition_point(|&end| end < limit);
    let from = ends[first] - sizes[first];
    if first == last {
        let operand = inner.operands().nth(first)?;
        let dies = has_one_use(outer.operand) || only_sliced_within(outer.operand, dim, &ends);
        if !dies && !is_always_there(operand) {
            return None;
        }
        if dies {
            site.build.set_insertion_point_before(inner);
        }
        let mut start = outer.start.to_vec();
        start[dim] -= from;
        return Some(strided(site, operand, &start, outer.stride, site.result.shape));
    }
    // Several operands: worth it only if others are left out and none is cut.
    let whole = start == from && limit == ends[last] && outer.stride[dim] == 1;
    if !whole || !has_one_use(outer.operand) || last - first + 1 == sizes.len() {
        return None;
    }
    site.build.set_insertion_point_before(inner);
    let parts: Vec<Value> =
        (first..=last).map(|index| inner.operand(index)).collect::<Result<_, _>>().ok()?;
    let joined = site.build.concatenate(&parts, dim, site.location);
    let mut at = outer.start.to_vec();
    at[dim] = 0;
    Some(strided(site, joined, &at, outer.stride, site.result.shape))
}

/// Whether all users of a concatenate are slices within one operand each, as far as a short look tells.
fn only_sliced_within(value: Value<'_, '_>, dim: usize, ends: &[i64]) -> bool {
    const MOST: usize = 16;
    let mut count = 0;
    uses(value).all(|used| {
        count += 1;
        count <= MOST
            && op_name(used.user) == SLICE
            && ir::discardable_attributes(used.user).is_empty()
            && Slice::new(used.user).is_some_and(|slice| {
                let (start, limit) = (slice.start[dim], slice.limit[dim]);
                let part = ends.partition_point(|&end| end <= start);
                start < limit && ends.get(part).is_some_and(|&end| limit <= end)
            })
    })
}

/// A slice of a broadcast is a broadcast of a slice.
pub fn slice_of_broadcast<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let outer = Slice::new(site.op)?;
    let (inner, dims) = broadcast(site, 0)?;
    let source = inner.operands().next()?;
    let tensor = plain(source)?;
    let whole = plain(outer.operand)?;
    let one_use = has_one_use(outer.operand);
    let small = byte_count(&tensor)? <= byte_count(&site.result)?;
    if !one_use && !small && !is_always_there(source) {
        return None;
    }
    if one_use {
        site.build.set_insertion_point_before(inner);
    }
    let (mut start, mut stride, mut count) = (Vec::new(), Vec::new(), Vec::new());
    for (place, &dim) in dims.iter().enumerate() {
        let dim = usize::try_from(dim).ok()?;
        // A dimension that is spread out has one element to take, if any.
        if tensor.shape[place] == 1 && whole.shape[dim] != 1 {
            start.push(0);
            stride.push(1);
            count.push(1);
        } else {
            start.push(outer.start[dim]);
            stride.push(outer.stride[dim]);
            count.push(site.result.shape[dim]);
        }
    }
    let part = if count == tensor.shape { source } else { strided(site, source, &start, &stride, &count) };
    // Of an empty part nothing can be repeated but nothing: the result is empty as well.
    Some(site.build.broadcast_in_dim(part, &dims, site.result.ty, site.location))
}

/// What a slice along one dimension of a pad takes.
struct Taken {
    /// First element of the operand, distance to the next, and how many.
    start: i64,
    stride: i64,
    count: i64,
    /// Padding around them.
    low: i64,
    high: i64,
    interior: i64,
}

impl Taken {
    /// `count` elements of the result, `stride` apart from `start` on, of `size` elements padded by `low` and put
    /// `step` apart. `None` where strides and interior padding fall into each other's gaps.
    fn new(size: i64, low: i64, step: i64, start: i64, stride: i64, count: i64) -> Option<Self> {
        let nothing = Self { start: 0, stride: 1, count: 0, low: count, high: 0, interior: 0 };
        if size == 0 || count == 0 {
            return Some(nothing);
        }
        // The elements taken are `first + k * stride` of the operand for the results `low + k * apart`.
        let taken = if step == 1 || stride == step {
            if (start - low) % step != 0 {
                return Some(nothing);
            }
            let (offset, stride) = ((start - low) / step, if step == 1 { stride } else { 1 });
            let first = div_ceil((-offset).max(0), stride);
            let end = count.min((size - 1 - offset).div_euclid(stride) + 1);
            let taken = (end - first).max(0);
            Self {
                start: offset + first * stride,
                stride,
                count: taken,
                low: first,
                high: count - end,
                interior: 0,
            }
        } else if stride == 1 {
            let first = div_ceil((start - low).max(0), step);
            let end = size.min((count - 1 + start - low).div_euclid(step) + 1);
            let taken = (end - first).max(0);
            let at = low + first * step - start;
            Self {
                start: first,
                stride: 1,
                count: taken,
                low: at,
                high: count - 1 - (at + (taken - 1) * step),
                interior: if taken > 1 { step - 1 } else { 0 },
            }
        } else {
            return None;
        };
        Some(if taken.count == 0 { nothing } else { taken })
    }
}

fn div_ceil(value: i64, by: i64) -> i64 {
    (value + by - 1).div_euclid(by)
}

/// A slice of a pad is a pad of a slice, a slice, or padding only.
pub fn slice_of_pad<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let outer = Slice::new(site.op)?;
    let inner = site.producer(0, "stablehlo.pad")?;
    let pad = Pad::new(inner)?;
    let shape = site.result.shape;
    let taken = (0..shape.len())
        .map(|d| {
            Taken::new(
                pad.shape[d],
                pad.low[d],
                pad.interior[d] + 1,
                outer.start[d],
                outer.stride[d],
                shape[d],
            )
        })
        .collect::<Option<Vec<_>>>()?;
    let one_use = has_one_use(outer.operand) && inner.block() == site.op.block();
    if taken.iter().any(|taken| taken.count == 0) {
        return Some(site.build.broadcast_in_dim(pad.padding, &[], site.result.ty, site.location));
    }
    if !one_use && !is_always_there(pad.operand) {
        return None;
    }
    let pick = |part: fn(&Taken) -> i64| taken.iter().map(part).collect::<Vec<_>>();
    let (low, high, interior) = (pick(|t| t.low), pick(|t| t.high), pick(|t| t.interior));
    let count = pick(|t| t.count);
    let no_padding = low.iter().chain(&high).chain(&interior).all(|&edge| edge == 0);
    let all = count == pad.shape;
    if all && no_padding {
        return site.forward(pad.operand);
    }
    if one_use {
        site.build.set_insertion_point_before(inner);
    }
    let part = if all {
        pad.operand
    } else {
        strided(site, pad.operand, &pick(|t| t.start), &pick(|t| t.stride), &count)
    };
    if no_padding {
        return Some(part);
    }
    Some(site.build.pad(part, pad.padding, [&low, &high, &interior], site.result.ty, site.location))
}

/// A slice of an updated array is a slice of the update, or of the array before, if it lies within one of them.
///
/// Only where the update goes away with it: to read what was there before an update, while the update happens as well,
/// takes a copy of the array.
pub fn slice_of_update<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let outer = Slice::new(site.op)?;
    let inner = site.producer(0, "stablehlo.dynamic_update_slice")?;
    if !has_one_use(outer.operand) || inner.block() != site.op.block() {
        return None;
    }
    let (array, update) = (inner.operands().next()?, inner.operands().nth(1)?);
    let (whole, part) = (plain(array)?, plain(update)?);
    let low = ir::window_starts(inner, 2, part.shape, whole.shape)?;
    let rank = low.len();
    let within = (0..rank).all(|d| low[d] <= outer.start[d] && outer.limit[d] <= low[d] + part.shape[d]);
    let apart = (0..rank).any(|d| outer.limit[d] <= low[d] || low[d] + part.shape[d] <= outer.start[d]);
    site.build.set_insertion_point_before(inner);
    if apart {
        Some(strided(site, array, outer.start, outer.stride, site.result.shape))
    } else if within {
        let start: Vec<i64> = (0..rank).map(|d| outer.start[d] - low[d]).collect();
        Some(strided(site, update, &start, outer.stride, site.result.shape))
    } else {
        None
    }
}

/// Whether nothing but slices is made of a value: taken before it is moved, they are of what it is made of.
fn is_only_sliced(value: Value<'_, '_>) -> bool {
    /// Users that are asked.
    const MOST: usize = 64;
    users(value).take(MOST + 1).enumerate().all(|(index, user)| index < MOST && op_name(user) == SLICE)
}

/// A slice of a transpose is a transpose of a slice, if nothing else is made of the transpose.
pub fn slice_of_transpose<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let outer = Slice::new(site.op)?;
    let inner = site.producer(0, "stablehlo.transpose")?;
    let permutation = ir::i64_array(inner, "permutation")?;
    if inner.block() != site.op.block() || !is_only_sliced(outer.operand) {
        return None;
    }
    let rank = permutation.len();
    let (mut start, mut stride, mut count) = (vec![0; rank], vec![1; rank], vec![0; rank]);
    for (to, &from) in permutation.iter().enumerate() {
        let from = usize::try_from(from).ok()?;
        (start[from], stride[from], count[from]) = (outer.start[to], outer.stride[to], site.result.shape[to]);
    }
    site.build.set_insertion_point_before(inner);
    let part = strided(site, inner.operands().next()?, &start, &stride, &count);
    Some(site.build.transpose(part, permutation, site.result.ty, site.location))
}

/// A slice of a reshape that adds or drops dimensions of size 1 is such a reshape of a slice, if nothing else is made
/// of the reshape.
pub fn slice_of_reshape<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let outer = Slice::new(site.op)?;
    let inner = site.producer(0, "stablehlo.reshape")?;
    let source = inner.operands().next()?;
    if inner.block() != site.op.block() || !(is_only_sliced(outer.operand) || is_always_there(source)) {
        return None;
    }
    let (from, to) = (plain(source)?, plain(outer.operand)?);
    // Of dimensions of size 1 nothing may be cut off.
    let cut = |dim: usize| to.shape[dim] == 1 && site.result.shape[dim] != 1;
    if from.rank() == to.rank() || (0..to.rank()).any(cut) {
        return None;
    }
    let mut places = (0..to.rank()).filter(|&dim| to.shape[dim] != 1);
    let rank = from.rank();
    let (mut start, mut stride, mut count) = (vec![0; rank], vec![1; rank], vec![1; rank]);
    for dim in (0..rank).filter(|&dim| from.shape[dim] != 1) {
        let place = places.next().filter(|&place| to.shape[place] == from.shape[dim])?;
        (start[dim], stride[dim]) = (outer.start[place], outer.stride[place]);
        count[dim] = site.result.shape[place];
    }
    places.next().is_none().then_some(())?;
    site.build.set_insertion_point_before(inner);
    let part = strided(site, source, &start, &stride, &count);
    Some(site.build.reshape(part, site.result.ty, site.location))
}

/// A slice of an iota that keeps its beginning, or does not cut the counted dimension, is a smaller iota.
pub fn slice_of_iota<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let outer = Slice::new(site.op)?;
    let inner = site.producer(0, "stablehlo.iota")?;
    let dim = usize::try_from(ir::constant_attribute(inner, "iota_dimension")?).ok()?;
    (outer.start[dim] == 0 && outer.stride[dim] == 1)
        .then(|| site.build.iota(site.result.ty, dim, site.location))
}

/// A reshape of a reshape is one reshape.
pub fn reshape_of_reshape<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let source = site.producer(0, "stablehlo.reshape")?.operands().next()?;
    if source.r#type() == site.result.ty {
        return site.forward(source);
    }
    Some(site.build.reshape(source, site.result.ty, site.location))
}

/// A reshape of one scalar everywhere is that scalar everywhere.
pub fn move_of_splat<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (inner, _) = broadcast(site, 0)?;
    let source = inner.operands().next()?;
    let tensor = plain(source)?;
    (tensor.element_count() == Some(1)).then_some(())?;
    let (scalar, dims) = if tensor.rank() == 0 {
        (source, vec![])
    } else if tensor.rank() <= site.result.rank() {
        (source, (0..tensor.rank() as i64).collect())
    } else {
        let ty = Tensor::get(&[], tensor.element, None);
        (site.build.reshape(source, ty, site.location), vec![])
    };
    Some(site.build.broadcast_in_dim(scalar, &dims, site.result.ty, site.location))
}

/// A transpose of a transpose is one transpose.
pub fn transpose_of_transpose<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let inner = site.producer(0, "stablehlo.transpose")?;
    let source = inner.operands().next()?;
    let (outer, within) = (ir::i64_array(site.op, "permutation")?, ir::i64_array(inner, "permutation")?);
    let permutation: Vec<i64> =
        outer.iter().map(|&to| within.get(usize::try_from(to).ok()?).copied()).collect::<Option<_>>()?;
    if !site.may_skip(inner, source) {
        return None;
    }
    if (0..).zip(&permutation).all(|(place, &to)| place == to) {
        return site.forward(source);
    }
    Some(site.build.transpose(source, &permutation, site.result.ty, site.location))
}

/// A transpose of a broadcast that keeps the order of what is spread out is another broadcast.
pub fn transpose_of_broadcast<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (inner, dims) = broadcast(site, 0)?;
    let permutation = ir::i64_array(site.op, "permutation")?;
    let source = inner.operands().next()?;
    let small = byte_count(&plain(source)?)?.saturating_mul(2) <= byte_count(&site.result)?;
    let dims: Vec<i64> = dims
        .iter()
        .map(|dim| permutation.iter().position(|from| from == dim).map(|place| place as i64))
        .collect::<Option<_>>()?;
    // Out of order, the broadcast would have a transpose inside.
    if !dims.is_sorted() || !(small || site.may_skip(inner, source)) {
        return None;
    }
    Some(site.build.broadcast_in_dim(source, &dims, site.result.ty, site.location))
}

/// A broadcast of a broadcast is one broadcast, of what is there first.
pub fn broadcast_of_broadcast<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (inner, within) = broadcast(site, 0)?;
    let outer = broadcast_dims(site.op)?;
    let source = inner.operands().next()?;
    let smaller = byte_count(&plain(source)?)?.saturating_mul(2) <= byte_count(&plain(site.operand(0)?)?)?;
    if !smaller && !site.may_skip(inner, source) {
        return None;
    }
    let dims: Vec<i64> =
        within.iter().map(|&dim| outer.get(usize::try_from(dim).ok()?).copied()).collect::<Option<_>>()?;
    Some(site.build.broadcast_in_dim(source, &dims, site.result.ty, site.location))
}

/// A broadcast of a reshape that only adds or drops dimensions of size 1 needs no reshape.
pub fn broadcast_of_reshape<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let inner = site.producer(0, "stablehlo.reshape")?;
    let source = inner.operands().next()?;
    let (from, to) = (plain(source)?, plain(site.operand(0)?)?);
    let outer = broadcast_dims(site.op)?;
    // Sizes other than 1 in order, each with where the broadcast puts it.
    let mut places = to.shape.iter().zip(&outer).filter(|(size, _)| **size != 1);
    let mut dims = Vec::with_capacity(from.rank());
    for &size in from.shape {
        if size == 1 {
            return None;
        }
        let (_, &dim) = places.next().filter(|(found, _)| **found == size)?;
        dims.push(dim);
    }
    places.next().is_none().then_some(())?;
    if from.rank() == to.rank() {
        return None;
    }
    Some(site.build.broadcast_in_dim(source, &dims, site.result.ty, site.location))
}

/// One scalar everywhere stays so when turned around; so does what is spread out along the turned dimensions.
pub fn reverse_of_broadcast<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (inner, dims) = broadcast(site, 0)?;
    let tensor = plain(inner.operands().next()?)?;
    let turned = ir::i64_array(site.op, "dimensions")?;
    turned
        .iter()
        .all(|dim| dims.iter().position(|to| to == dim).is_none_or(|place| tensor.shape[place] == 1))
        .then(|| site.forward(site.operand(0)?))?
}

/// A pad of what is the padding already is that everywhere.
pub fn pad_of_splat<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let pad = Pad::new(site.op)?;
    if !pad.shape.contains(&0) {
        // Something that is not there holds any scalar.
        (Splat::of(pad.operand)? == Splat::of(pad.padding)?).then_some(())?;
    }
    Some(site.build.broadcast_in_dim(pad.padding, &[], site.result.ty, site.location))
}

/// A pad that only cuts is a slice, and one that cuts what a slice has left cuts in the slice.
pub fn pad_that_cuts<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let pad = Pad::new(site.op)?;
    if pad.only_adds() || !pad.has_no_interior() {
        return None;
    }
    let edges = pad.low.iter().chain(pad.high);
    let only_cuts = edges.clone().all(|&edge| edge <= 0);
    let rank = pad.low.len();
    let start: Vec<i64> = pad.low.iter().map(|&low| (-low).max(0)).collect();
    let count: Vec<i64> = (0..rank).map(|d| pad.shape[d] - start[d] - (-pad.high[d]).max(0)).collect();
    // Cuts from both sides may meet in the middle.
    if count.iter().any(|&count| count < 0) {
        return None;
    }
    let ones = vec![1; rank];
    if only_cuts {
        return Some(strided(site, pad.operand, &start, &ones, site.result.shape));
    }
    let inner = producer(pad.operand, SLICE).filter(|inner| site.may_skip(*inner, pad.operand))?;
    has_one_use(inner.result(0).ok()?.into()).then_some(())?;
    let part = strided(site, pad.operand, &start, &ones, &count);
    let low: Vec<i64> = pad.low.iter().map(|&low| low.max(0)).collect();
    let high: Vec<i64> = pad.high.iter().map(|&high| high.max(0)).collect();
    Some(site.build.pad(part, pad.padding, [&low, &high, &vec![0; rank]], site.result.ty, site.location))
}
