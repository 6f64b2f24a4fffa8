// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Concatenates: nested ones, empty operands, and slices that belong together.

use super::shape::concatenated;
use super::site::{Site, Slice, is_always_there, plain, producer};
use crate::ir;
use crate::ops::joined::whole_of_slices;
use crate::rewrite::{has_one_use, users};
use melior::ir::Value;
use melior::ir::operation::OperationLike;
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// Operands one concatenate may come to have.
const MOST_OPERANDS: usize = 1024;

/// Operands that are empty add nothing.
pub fn without_empty_operands<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (dim, sizes) = concatenated(site.op)?;
    let filled: Vec<Value> =
        site.op.operands().zip(&sizes).filter(|(_, size)| **size != 0).map(|(v, _)| v).collect();
    match filled.len() {
        count if count == sizes.len() => None,
        0 => site.forward(site.operand(0)?),
        1 => site.forward(filled[0]),
        _ => Some(site.build.concatenate(&filled, dim, site.location)),
    }
}

/// A concatenate of concatenates along the same dimension is one.
///
/// Done once for all of a nest, from outside. An inner one that something else needs stays, and is copied as it is.
pub fn concatenate_of_concatenate<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let dim = ir::constant_attribute(site.op, "dimension")?;
    let within = |value: Value<'c, 'a>| {
        producer(value, "stablehlo.concatenate").filter(|inner| {
            has_one_use(value)
                && inner.block() == site.op.block()
                && ir::op_key(*inner) != ir::op_key(site.op)
                && ir::constant_attribute(*inner, "dimension") == Some(dim)
        })
    };
    let result: Value<'c, 'a> = site.op.result(0).ok()?.into();
    let is_part = users(result).next().is_some_and(|user| {
        op_name(user) == "stablehlo.concatenate"
            && user.block() == site.op.block()
            && ir::constant_attribute(user, "dimension") == Some(dim)
    });
    if is_part && has_one_use(result) && site.is_bare() {
        return None;
    }
    // What is still to be looked at, the next one last.
    let mut pending: Vec<Value<'c, 'a>> = site.op.operands().collect();
    let mut total = pending.len();
    let mut parts = Vec::with_capacity(total);
    pending.reverse();
    let mut flattened = false;
    while let Some(value) = pending.pop() {
        match within(value).filter(|inner| total + inner.operand_count() - 1 <= MOST_OPERANDS) {
            Some(inner) => {
                flattened = true;
                total += inner.operand_count() - 1;
                let at = pending.len();
                pending.extend(inner.operands());
                pending[at..].reverse();
            }
            None => parts.push(value),
        }
    }
    let dim = usize::try_from(dim).ok()?;
    (flattened && parts.iter().all(|part| plain(*part).is_some()))
        .then(|| site.build.concatenate(&parts, dim, site.location))
}

/// All slices of one value, side by side again, are that value.
pub fn concatenate_of_all_slices<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let slices = site.op.operands().map(|part| {
        let slice = producer(part, "stablehlo.slice")?;
        Some((slice, ir::operand(slice, 0)?))
    });
    // Parts that have all elements along one dimension, and make up an array of the same type, are whole along the others.
    whole_of_slices(site.op, slices).and_then(|whole| site.forward(whole))
}

/// Neighbouring slices of one value, side by side again, are one slice.
pub fn concatenate_of_slices<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    /// A run of neighbouring slices, or any other operand.
    enum Part<'c, 'a> {
        Other(Value<'c, 'a>),
        Run { slice: Slice<'c, 'a>, value: Value<'c, 'a>, limit: i64, count: usize },
    }
    let (dim, sizes) = concatenated(site.op)?;
    let mut parts: Vec<Part<'c, 'a>> = Vec::with_capacity(sizes.len());
    for value in site.op.operands() {
        let slice = producer(value, "stablehlo.slice").and_then(Slice::new).filter(|slice| {
            slice.has_unit_strides() && (has_one_use(value) || is_always_there(slice.operand))
        });
        let Some(slice) = slice else {
            parts.push(Part::Other(value));
            continue;
        };
        if let Some(Part::Run { slice: first, limit, count, .. }) = parts.last_mut()
            && first.operand == slice.operand
            && *limit == slice.start[dim]
            && (0..slice.start.len())
                .all(|d| d == dim || (first.start[d], first.limit[d]) == (slice.start[d], slice.limit[d]))
        {
            *limit = slice.limit[dim];
            *count += 1;
        } else {
            let limit = slice.limit[dim];
            parts.push(Part::Run { slice, value, limit, count: 1 });
        }
    }
    if parts.len() == sizes.len() {
        return None;
    }
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        values.push(match part {
            Part::Other(value) | Part::Run { value, count: 1, .. } => value,
            Part::Run { slice, limit, .. } => {
                let mut limits = slice.limit.to_vec();
                limits[dim] = limit;
                let mut shape = plain(slice.operand)?.shape.to_vec();
                for (d, size) in shape.iter_mut().enumerate() {
                    *size = limits[d] - slice.start[d];
                }
                let ty = Tensor::get(&shape, site.result.element, None);
                site.build.strided_slice(slice.operand, slice.start, &limits, slice.stride, ty, site.location)
            }
        });
    }
    match values[..] {
        [only] => Some(only),
        _ => Some(site.build.concatenate(&values, dim, site.location)),
    }
}
