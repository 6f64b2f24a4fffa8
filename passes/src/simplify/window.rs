// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Gathers of one window are slices: JAX writes `x[i]` so, and `vmap` a slice of what it maps over at a place that it does not.

use super::number::LOOKED_AT;
use super::site::{Site, plain, producer};
use crate::ir::{self, Builder};
use crate::rewrite::defining_op;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Location, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::dense::{Dense, element_bytes};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::GatherDimensionNumbers;
use slimhlo_dialect::types::Tensor;

/// A `gather` of one slice.
struct Window<'c, 'a> {
    operand: Value<'c, 'a>,
    indices: Value<'c, 'a>,
    /// The dimension of the operand that each number of the index vector is for.
    dims: &'c [i64],
    /// How far the slice may start at most, and its size, per dimension of the operand.
    last: Vec<i64>,
    size: &'c [i64],
}

impl<'c: 'a, 'a> Window<'c, 'a> {
    fn new(site: &Site<'c, 'a>) -> Option<Self> {
        let (operand, indices) = (site.operand(0)?, site.operand(1)?);
        let numbers =
            GatherDimensionNumbers::try_from(ffi::attribute_of(site.op, "dimension_numbers")?).ok()?;
        let size = ir::i64_array(site.op, "slice_sizes")?;
        let shape = plain(operand)?.shape;
        let dims = numbers.start_index_map();
        if plain(indices)?.element_count() != Some(dims.len() as i64)
            || !numbers.operand_batching_dims().is_empty()
            || size.iter().try_fold(1i64, |count, &size| count.checked_mul(size))
                != site.result.element_count()
        {
            return None;
        }
        // Result dimensions of size 1 stand for the one index, the others are those of the slice, in order.
        let kept: Vec<i64> = (0..)
            .zip(size)
            .filter(|(d, _)| !numbers.collapsed_slice_dims().contains(d))
            .map(|(_, &n)| n)
            .collect();
        let offsets = numbers.offset_dims();
        if offsets.len() != kept.len()
            || offsets
                .iter()
                .zip(&kept)
                .any(|(&dim, &size)| site.result.shape.get(dim as usize) != Some(&size))
        {
            return None;
        }
        let last = shape.iter().zip(size).map(|(all, size)| all - size).collect();
        Some(Self { operand, indices, dims, last, size })
    }

    /// The slice with all its dimensions, and the result without those that are collapsed.
    fn result(&self, site: &Site<'c, 'a>, slice: impl Fn(Type<'c>) -> Value<'c, 'a>) -> Value<'c, 'a> {
        let ty = Tensor::get(self.size, site.result.element, None);
        let part = slice(ty);
        if ty == site.result.ty { part } else { site.build.reshape(part, site.result.ty, site.location) }
    }
}

/// A `gather` of one slice at a constant index is a `slice`, without the dimensions that are collapsed.
pub fn constant_gather<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let window = Window::new(site)?;
    let index = Dense::small(
        ffi::attribute_of(producer(window.indices, "stablehlo.constant")?, "value")?,
        LOOKED_AT,
    )?;
    let mut start = vec![0; window.size.len()];
    for (place, &dim) in window.dims.iter().enumerate() {
        let dim = usize::try_from(dim).ok()?;
        start[dim] = index.integer(place)?.clamp(0, window.last[dim]);
    }
    Some(window.result(site, |ty| site.build.slice(window.operand, &start, ty, site.location)))
}

/// The same for what is cut into shards. Slices of narrow floats are left to partitioners as gathers: nothing that is made of their
/// exchanges is in place, and several of them beside each other take more than the one row that a gather sends to all.
pub fn constant_gather_of_shards<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let is_narrow = site.result.element.is_float() && element_bytes(site.result.element)? < 4;
    if is_narrow { None } else { constant_gather(site) }
}

/// A `gather` of one slice is a `dynamic_slice`, without the dimensions that are collapsed: both start where the slice is within
/// bounds still.
pub fn gather_of_one_window<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let window = Window::new(site)?;
    let element = plain(window.indices)?.element;
    IntegerType::try_from(element).ok().filter(|ty| ty.width() > 1)?;
    let mut start = vec![None; window.size.len()];
    for (place, &dim) in window.dims.iter().enumerate() {
        start[usize::try_from(dim).ok()?] = Some(place);
    }
    let zero = site.build.zeros(Tensor::get(&[], element, None), site.location);
    let starts: Vec<Value> = start
        .into_iter()
        .zip(&window.last)
        .map(|(place, &last)| match place {
            // Where there is but one place to start, that is it.
            Some(place) if last > 0 => number_at(&site.build, window.indices, place, site.location),
            _ => zero,
        })
        .collect();
    Some(window.result(site, |ty| site.build.dynamic_slice(window.operand, &starts, ty, site.location)))
}

/// How far a number of an index vector is followed.
const LONGEST: usize = 64;

/// Where number `index` of a small array comes from, in row-major order: another one, and the number within that. Reshapes, joined parts
/// and the same number everywhere are looked through.
pub fn followed<'c: 'a, 'a>(value: Value<'c, 'a>, index: usize) -> (Value<'c, 'a>, usize) {
    let (mut value, mut index) = (value, index);
    for _ in 0..LONGEST {
        let Some(next) = step(value, index) else { break };
        (value, index) = next;
    }
    (value, index)
}

fn step<'c: 'a, 'a>(value: Value<'c, 'a>, index: usize) -> Option<(Value<'c, 'a>, usize)> {
    let op = defining_op(value)?;
    let first = op.operands().next()?;
    match op_name(op) {
        "stablehlo.reshape" => Some((first, index)),
        "stablehlo.broadcast_in_dim" | "stablehlo.broadcast" => {
            (plain(first)?.element_count() == Some(1)).then_some((first, 0))
        }
        // The units of one vector of numbers: where others are joined, other dimensions come between them.
        "stablehlo.concatenate" if plain(value)?.shape.iter().filter(|&&size| size > 1).count() <= 1 => {
            let mut rest = index;
            for part in op.operands() {
                let units = usize::try_from(plain(part)?.element_count()?).ok()?;
                match rest.checked_sub(units) {
                    Some(after) => rest = after,
                    None => return Some((part, rest)),
                }
            }
            None
        }
        _ => None,
    }
}

/// Number `index` of a small array of integers, if it is a constant.
pub fn constant_at(value: Value<'_, '_>, index: usize) -> Option<i64> {
    let (value, index) = followed(value, index);
    if let Some(number) = ir::constant_integer(value) {
        return i64::try_from(number).ok();
    }
    let constant = defining_op(value).filter(|op| op_name(*op) == "stablehlo.constant")?;
    Dense::small(ffi::attribute_of(constant, "value")?, LOOKED_AT)
        .filter(|dense| index < dense.len())?
        .integer(index)
}

/// Number `index` of a small array as a scalar.
pub fn number_at<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    value: Value<'c, 'a>,
    index: usize,
    location: Location<'c>,
) -> Value<'c, 'a> {
    let (value, index) = followed(value, index);
    let element = ir::element_of(value.r#type());
    let scalar = Tensor::get(&[], element, None);
    if value.r#type() == scalar {
        return value;
    }
    let count = plain(value).and_then(|tensor| tensor.element_count()).unwrap_or(1);
    if count == 1 {
        return build.reshape(value, scalar, location);
    }
    let flat = Tensor::get(&[count], element, None);
    let vector = if value.r#type() == flat { value } else { build.reshape(value, flat, location) };
    let one = build.slice(vector, &[index as i64], Tensor::get(&[1], element, None), location);
    build.reshape(one, scalar, location)
}
