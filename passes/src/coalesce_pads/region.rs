// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Masks that hold within one box, or outside of one.

use crate::ir;
use crate::rewrite::defining_op;
use crate::simplify::site::{Pad, broadcast_dims, plain};
use crate::splat::Splat;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::quant::Number;
use slimhlo_dialect::stablehlo::attrs::{ComparisonDirection, ComparisonType};

/// A box of an array: `low` inclusive, `high` exclusive per dimension; empty if they cross.
pub struct Region {
    pub low: Vec<i64>,
    pub high: Vec<i64>,
    /// Whether the mask is true inside, and false outside, or the other way around.
    pub inside: bool,
}

/// Ops that are looked at for one mask.
const OPS: usize = 16;
/// Elements of a constant that are looked at; larger ones are not folded from other ops.
const LOOKED_AT: usize = 64;

/// The box of a mask, as far as a short look tells.
pub fn region(mask: Value<'_, '_>) -> Option<Region> {
    region_within(mask, &mut { OPS })
}

fn region_within<'c: 'a, 'a>(mask: Value<'c, 'a>, budget: &mut usize) -> Option<Region> {
    *budget = budget.checked_sub(1)?;
    let tensor = plain(mask)?;
    let op = defining_op(mask)?;
    match op_name(op).strip_prefix("stablehlo.")? {
        "pad" => {
            let pad = Pad::new(op)?;
            let truth = |value| Some(Splat::of(value)?.bytes()? != [0]);
            let (within, without) = (truth(pad.operand)?, truth(pad.padding)?);
            if within == without || !pad.has_no_interior() {
                return None;
            }
            let low = pad.low.iter().map(|&low| low.max(0)).collect();
            let high = (0..pad.low.len()).map(|d| (pad.low[d] + pad.shape[d]).min(tensor.shape[d])).collect();
            Some(Region { low, high, inside: within })
        }
        "not" => {
            let region = region_within(op.operands().next()?, budget)?;
            Some(Region { inside: !region.inside, ..region })
        }
        // Boxes intersect to a box; by De Morgan so does what is outside of them.
        name @ ("and" | "or") => {
            let mut left = region_within(op.operands().next()?, budget)?;
            let right = region_within(op.operands().nth(1)?, budget)?;
            if left.inside != right.inside || left.inside != (name == "and") {
                return None;
            }
            for d in 0..left.low.len() {
                left.low[d] = left.low[d].max(right.low[d]);
                left.high[d] = left.high[d].min(right.high[d]);
            }
            Some(left)
        }
        "broadcast_in_dim" | "broadcast" => {
            let source = op.operands().next()?;
            let from = plain(source)?;
            let region = region_within(source, budget)?;
            let (mut low, mut high) = (vec![0; tensor.rank()], tensor.shape.to_vec());
            for (place, &dim) in broadcast_dims(op)?.iter().enumerate() {
                let dim = usize::try_from(dim).ok()?;
                if from.shape[place] == tensor.shape[dim] {
                    (low[dim], high[dim]) = (region.low[place], region.high[place]);
                } else if region.low[place] >= region.high[place] {
                    high[dim] = 0;
                }
            }
            Some(Region { low, high, inside: region.inside })
        }
        "compare" => compared(op, tensor.shape),
        "constant" => {
            constant_region(&Dense::small(ffi::attribute_of(op, "value")?, LOOKED_AT)?, tensor.shape)
        }
        _ => None,
    }
}

/// The box of a small constant.
fn constant_region(mask: &Dense<'_>, shape: &[i64]) -> Option<Region> {
    let truth = |place: usize| mask.element(place) != [0];
    if mask.is_empty() || mask.is_splat() || shape.is_empty() {
        return None;
    }
    let index_of = |mut place: usize| {
        let mut index = vec![0; shape.len()];
        for d in (0..shape.len()).rev() {
            let size = shape[d] as usize;
            index[d] = (place % size) as i64;
            place /= size;
        }
        index
    };
    // True within, or false within.
    [true, false].into_iter().find_map(|inside| {
        let (mut low, mut high) = (shape.to_vec(), vec![0; shape.len()]);
        let mut count = 0;
        for place in (0..mask.len()).filter(|&place| truth(place) == inside) {
            count += 1;
            for (d, at) in index_of(place).into_iter().enumerate() {
                low[d] = low[d].min(at);
                high[d] = high[d].max(at + 1);
            }
        }
        let volume: i64 = low.iter().zip(&high).map(|(low, high)| (high - low).max(0)).product();
        (count > 0 && volume == count).then_some(Region { low, high, inside })
    })
}

/// The box of an iota compared with a constant.
fn compared<'c: 'a, 'a>(op: OperationRef<'c, 'a>, shape: &[i64]) -> Option<Region> {
    let (left, right) = (op.operands().next()?, op.operands().nth(1)?);
    let Number::Integer { width, unsigned } = Number::of(plain(left)?.element) else { return None };
    let expected = if unsigned { ComparisonType::Unsigned } else { ComparisonType::Signed };
    if let Some(kind) = ffi::attribute_of(op, "compare_type") {
        let kind = ComparisonType::try_from(kind).ok()?;
        (kind == expected || kind == ComparisonType::NoType).then_some(())?;
    }
    let direction = ComparisonDirection::try_from(ffi::attribute_of(op, "comparison_direction")?).ok()?;
    let counted = |value| counted_dimension(value);
    let (dim, limit, direction) = match (counted(left), counted(right)) {
        (Some(dim), None) => (dim, ir::constant_integer(right)?, direction),
        (None, Some(dim)) => (dim, ir::constant_integer(left)?, turned(direction)),
        _ => return None,
    };
    let size = i128::from(shape[dim]);
    // An iota that wraps around counts from somewhere else again.
    let largest =
        if !(2..=64).contains(&width) { return None } else { (1i128 << (width - u32::from(!unsigned))) - 1 };
    if size - 1 > largest {
        return None;
    }
    // Elements are 0, 1, ... size - 1; those that the comparison selects start at 0 or go to the end.
    let (low, high, inside) = match direction {
        ComparisonDirection::Lt => (0, limit, true),
        ComparisonDirection::Le => (0, limit + 1, true),
        ComparisonDirection::Ge => (limit, size, true),
        ComparisonDirection::Gt => (limit + 1, size, true),
        ComparisonDirection::Eq => (limit, limit + 1, true),
        ComparisonDirection::Ne => (limit, limit + 1, false),
    };
    let (mut lows, mut highs) = (vec![0; shape.len()], shape.to_vec());
    lows[dim] = i64::try_from(low.clamp(0, size)).ok()?;
    highs[dim] = i64::try_from(high.clamp(0, size)).ok()?;
    Some(Region { low: lows, high: highs, inside })
}

/// The dimension along which `value` is 0, 1, 2, ...
fn counted_dimension<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<usize> {
    const LONGEST: usize = 4;
    // From the value inwards: which dimension of what is looked at becomes which of the value.
    let mut value = value;
    let mut maps: Vec<Vec<i64>> = Vec::new();
    for _ in 0..LONGEST {
        let op = defining_op(value)?;
        match op_name(op) {
            "stablehlo.iota" => {
                let mut dim = usize::try_from(ir::constant_attribute(op, "iota_dimension")?).ok()?;
                for map in maps.iter().rev() {
                    dim = usize::try_from(*map.get(dim)?).ok()?;
                }
                return Some(dim);
            }
            "stablehlo.broadcast_in_dim" | "stablehlo.broadcast" => {
                let source = op.operands().next()?;
                let (from, to) = (plain(source)?, plain(value)?);
                let map = broadcast_dims(op)?;
                // A single element that is spread out does not count.
                if map.iter().zip(from.shape).any(|(&dim, &size)| to.shape[dim as usize] != size) {
                    return None;
                }
                maps.push(map);
                value = source;
            }
            _ => return None,
        }
    }
    None
}

/// The same comparison with its operands swapped.
fn turned(direction: ComparisonDirection) -> ComparisonDirection {
    match direction {
        ComparisonDirection::Lt => ComparisonDirection::Gt,
        ComparisonDirection::Le => ComparisonDirection::Ge,
        ComparisonDirection::Gt => ComparisonDirection::Lt,
        ComparisonDirection::Ge => ComparisonDirection::Le,
        same => same,
    }
}
