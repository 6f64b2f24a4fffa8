// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Rules about pads and what computes with them.

use crate::coalesce_pads::region::{Region, region};
use crate::ir;
use crate::ops::class;
use crate::rewrite::{defining_op, has_one_use, uses};
use crate::simplify::number::{
    fold_float_scalar, holds_all_of, is_float_zero, is_neutral, is_power_of_two, reducer, zero_bytes,
};
use crate::simplify::shape::concatenated;
use crate::simplify::site::{Pad, Site, is_kept_argument, plain, producer};
use crate::splat::Splat;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::quant::Number;
use slimhlo_dialect::types::Tensor;

const PAD: &str = "stablehlo.pad";

/// The pad that makes `value`, if it goes away when `site` no longer uses it.
fn own_pad<'c, 'a>(site: &Site<'c, 'a>, value: Value<'c, 'a>) -> Option<Pad<'c, 'a>> {
    let op = producer(value, PAD)?;
    (has_one_use(value) && op.block() == site.op.block() && ir::op_key(op) != ir::op_key(site.op))
        .then(|| Pad::new(op))?
}

/// Like [`own_pad`], of a pad that cuts nothing off and makes something larger.
fn own_growing_pad<'c, 'a>(site: &Site<'c, 'a>, value: Value<'c, 'a>) -> Option<Pad<'c, 'a>> {
    own_pad(site, value).filter(|pad| pad.only_adds() && pad.shape.iter().all(|&size| size > 0))
}

/// A pad of a pad with the same value is one pad.
pub fn pad_of_pad<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let outer = Pad::new(site.op)?;
    let inner = own_pad(site, outer.operand)?;
    (Splat::of(outer.padding)? == Splat::of(inner.padding)?).then_some(())?;
    let (mut low, mut high, mut interior) = (Vec::new(), Vec::new(), Vec::new());
    for d in 0..outer.low.len() {
        // What the inner pad cuts off must not come back.
        let returns = |cut: i64, edge: i64| cut < 0 && edge > 0;
        let step = outer.interior[d].checked_add(1)?;
        let spread = outer.interior[d] > 0 && (inner.low[d] < 0 || inner.high[d] < 0);
        if returns(inner.low[d], outer.low[d]) || returns(inner.high[d], outer.high[d]) || spread {
            return None;
        }
        low.push(outer.low[d].checked_add(inner.low[d].checked_mul(step)?)?);
        high.push(outer.high[d].checked_add(inner.high[d].checked_mul(step)?)?);
        interior.push(step.checked_mul(inner.interior[d].checked_add(1)?)? - 1);
        // An operand of no elements has no gaps between them.
        if inner.shape[d] == 0 {
            return None;
        }
    }
    let ty = site.result.ty;
    Some(site.build.pad(inner.operand, outer.padding, [&low, &high, &interior], ty, site.location))
}

//===----------------------------------------------------------------------===//
// Concatenates
//===----------------------------------------------------------------------===//

/// What is side by side in a concatenate.
enum Part<'c, 'a> {
    Fill(Splat<'c, 'a>, i64),
    Value(Value<'c, 'a>),
}

/// Splats side by side become one, and one value between splats of one scalar becomes a pad.
pub fn concatenate_of_splats<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (dim, sizes) = concatenated(site.op)?;
    let mut parts: Vec<Part<'c, 'a>> = Vec::with_capacity(sizes.len());
    let mut put = |part: Part<'c, 'a>| match (part, parts.last_mut()) {
        (Part::Fill(_, 0), _) => {}
        (Part::Fill(scalar, size), Some(Part::Fill(before, sum))) if *before == scalar => *sum += size,
        (part, _) => parts.push(part),
    };
    for (operand, &size) in site.op.operands().zip(&sizes) {
        if size == 0 {
            continue;
        }
        if let Some(scalar) = Splat::of(operand) {
            put(Part::Fill(scalar, size));
            continue;
        }
        let padded = own_growing_pad(site, operand).filter(|pad| {
            pad.has_no_interior()
                && (0..pad.low.len()).all(|d| d == dim || (pad.low[d], pad.high[d]) == (0, 0))
        });
        match padded.and_then(|pad| Some((Splat::of(pad.padding)?, pad))) {
            Some((scalar, pad)) => {
                put(Part::Fill(scalar.clone(), pad.low[dim]));
                put(Part::Value(pad.operand));
                put(Part::Fill(scalar, pad.high[dim]));
            }
            None => put(Part::Value(operand)),
        }
    }
    let rank = site.result.rank();
    let along = |amount: i64| {
        let mut edges = vec![0; rank];
        edges[dim] = amount;
        edges
    };
    let as_pad = |value: Value<'c, 'a>, scalar: &Splat<'c, 'a>, low: i64, high: i64| {
        let padding = scalar.materialize(&site.build, site.location);
        let (ty, none) = (site.result.ty, vec![0; rank]);
        Some(site.build.pad(value, padding, [&along(low), &along(high), &none], ty, site.location))
    };
    // A lone element is copied as fast as any, while a pad would have to decide for each element of the result.
    let across = site.result.shape.iter().enumerate().all(|(d, &size)| d == dim || size == 1);
    let fills = |scalar: &Splat<'c, 'a>, size: i64| scalar.is_constant() || size > 1 || !across;
    match &parts[..] {
        [Part::Fill(scalar, _)] => Some(site.splat(scalar, site.result.shape)),
        [Part::Fill(scalar, low), Part::Value(value)] if fills(scalar, *low) => {
            as_pad(*value, scalar, *low, 0)
        }
        [Part::Value(value), Part::Fill(scalar, high)] if fills(scalar, *high) => {
            as_pad(*value, scalar, 0, *high)
        }
        [Part::Fill(scalar, low), Part::Value(value), Part::Fill(same, high)] if scalar == same => {
            as_pad(*value, scalar, *low, *high)
        }
        parts if parts.len() < sizes.len() && parts.len() > 1 => {
            let values: Vec<Value> = parts
                .iter()
                .map(|part| match part {
                    Part::Value(value) => *value,
                    Part::Fill(scalar, size) => {
                        let mut shape = site.result.shape.to_vec();
                        shape[dim] = *size;
                        site.splat(scalar, &shape)
                    }
                })
                .collect();
            Some(site.build.concatenate(&values, dim, site.location))
        }
        _ => None,
    }
}

/// A concatenate of values padded alike along the other dimensions is a pad of a concatenate.
pub fn concatenate_of_pads<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (dim, _) = concatenated(site.op)?;
    let pads: Vec<Pad> =
        site.op.operands().map(|operand| own_growing_pad(site, operand)).collect::<Option<_>>()?;
    let [first, rest @ ..] = &pads[..] else { return None };
    let scalar = Splat::of(first.padding)?;
    let untouched = |pad: &Pad| pad.low[dim] == 0 && pad.high[dim] == 0 && pad.interior[dim] == 0;
    let alike = |pad: &Pad| {
        (0..pad.low.len()).all(|d| {
            d == dim
                || (pad.shape[d], pad.low[d], pad.high[d], pad.interior[d])
                    == (first.shape[d], first.low[d], first.high[d], first.interior[d])
        })
    };
    let same = rest
        .iter()
        .all(|pad| untouched(pad) && alike(pad) && Splat::of(pad.padding).as_ref() == Some(&scalar));
    if rest.is_empty() || !untouched(first) || !same {
        return None;
    }
    let values: Vec<Value> = pads.iter().map(|pad| pad.operand).collect();
    let joined = site.build.concatenate(&values, dim, site.location);
    let (low, high, interior) = (first.low, first.high, first.interior);
    Some(site.build.pad(joined, first.padding, [low, high, interior], site.result.ty, site.location))
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

/// Whether a scalar and an element of an array come out alike, and alike wherever a back end computes them.
///
/// No approximation is involved, an operation is rounded once, and the op does not meet another that back ends contract
/// it with, on this side of the pad or on the other: a product and a sum may become one operation, and narrow floats may
/// keep the precision of wider ones from one op to the next.
fn is_exact<'c, 'a>(site: &Site<'c, 'a>, padded: &[Value<'c, 'a>]) -> bool {
    let number = |element| Number::of(element);
    let narrow = |element| matches!(number(element), Number::Float { width } if width < 32);
    let from = padded.first().and_then(|value| plain(*value)).map(|tensor| tensor.element);
    let (Some(from), to) = (from, site.result.element) else { return false };
    let float = matches!(number(to), Number::Float { .. });
    let complex = matches!(number(from), Number::Complex { .. });
    match op_name(site.op).strip_prefix("stablehlo.").unwrap_or_default() {
        "add" | "subtract" => {
            !complex && !(float && (narrow(to) || padded.iter().any(|value| is_product(*value))))
        }
        "multiply" if complex => false,
        "multiply" if float => {
            !narrow(to) && (is_scaled_by_power_of_two(site.op) || !is_used_in_sums(site.op))
        }
        "abs" | "sign" => !complex,
        "convert" if matches!(number(from), Number::Integer { .. }) => {
            matches!(number(to), Number::Integer { .. }) || holds_all_of(to, from)
        }
        "convert" => holds_all_of(to, from) && padded.iter().all(|value| !narrow(from) || is_stored(*value)),
        "and"
        | "ceil"
        | "compare"
        | "complex"
        | "count_leading_zeros"
        | "floor"
        | "imag"
        | "is_finite"
        | "maximum"
        | "minimum"
        | "multiply"
        | "negate"
        | "not"
        | "or"
        | "popcnt"
        | "real"
        | "round_nearest_afz"
        | "round_nearest_even"
        | "select"
        | "shift_left"
        | "shift_right_arithmetic"
        | "shift_right_logical"
        | "xor" => true,
        _ => false,
    }
}

/// Ops that only move elements are looked through this far.
const MOVES: usize = 8;

/// The op that computes what `value` holds, or `None` if it was not computed, or too far up.
fn computed_by<'c: 'a, 'a>(value: Value<'c, 'a>) -> Result<Option<OperationRef<'c, 'a>>, ()> {
    let mut value = value;
    for _ in 0..MOVES {
        let Some(op) = defining_op(value) else { return Ok(None) };
        match op_name(op).strip_prefix("stablehlo.").unwrap_or_default() {
            "constant" | "iota" => return Ok(None),
            "broadcast" | "broadcast_in_dim" | "negate" | "reshape" | "reverse" | "slice" | "transpose" => {
                value = op.operand(0).map_err(|_| ())?;
            }
            _ => return Ok(Some(op)),
        }
    }
    Err(())
}

/// Whether `value` may be a product that was rounded, or is joined from what may be.
fn is_product(value: Value<'_, '_>) -> bool {
    match computed_by(value) {
        Ok(None) => false,
        Ok(Some(op)) => match op_name(op).strip_prefix("stablehlo.").unwrap_or_default() {
            "multiply" => !is_scaled_by_power_of_two(op),
            "concatenate" | "pad" | "select" | "convert" | "clamp" => true,
            _ => false,
        },
        Err(()) => true,
    }
}

/// Whether `value` is in memory before the program starts, but for the order of its elements.
fn is_stored(value: Value<'_, '_>) -> bool {
    matches!(computed_by(value), Ok(None))
}

/// Whether a compiler may come to know that `value` is zero everywhere, or in a part that it treats on its own: true but
/// for arguments and what is taken from them.
fn may_be_zeros(value: Value<'_, '_>) -> bool {
    let source = match defining_op(value) {
        None => return false,
        Some(op)
            if matches!(op_name(op), "stablehlo.slice" | "stablehlo.reshape" | "stablehlo.transpose") =>
        {
            op.operands().next()
        }
        Some(_) => return true,
    };
    source.is_none_or(|source| defining_op(source).is_some())
}

/// Whether one factor is a constant power of two, so that the product is not rounded.
fn is_scaled_by_power_of_two(op: OperationRef<'_, '_>) -> bool {
    op.operands().any(|operand| {
        let element = plain(operand).map(|tensor| tensor.element);
        let bytes = Splat::of(operand).and_then(|splat| splat.bytes());
        element.zip(bytes).is_some_and(|(element, bytes)| is_power_of_two(element, &bytes))
    })
}

/// Whether a product may come to be added to something.
fn is_used_in_sums(op: OperationRef<'_, '_>) -> bool {
    const MOST: usize = 16;
    let Ok(result) = op.result(0) else { return true };
    let mut count = 0;
    !uses(result.into()).all(|used| {
        count += 1;
        count <= MOST
            && matches!(
                op_name(used.user),
                "func.return"
                    | "stablehlo.return"
                    | "stablehlo.compare"
                    | "stablehlo.maximum"
                    | "stablehlo.minimum"
            )
    })
}

/// One operand of an elementwise op, within the padded part and outside.
enum Operand<'c, 'a> {
    Padded(Pad<'c, 'a>),
    Splat(Splat<'c, 'a>, Tensor<'c>),
}

/// Operands within the padded part, which has this shape, and scalars for outside of it.
fn sides<'c, 'a>(
    site: &Site<'c, 'a>,
    operands: &[Operand<'c, 'a>],
    shape: &[i64],
) -> (Vec<Value<'c, 'a>>, Vec<Value<'c, 'a>>) {
    let (build, location) = (&site.build, site.location);
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for operand in operands {
        match operand {
            Operand::Padded(pad) => {
                inside.push(pad.operand);
                outside.push(pad.padding);
            }
            Operand::Splat(scalar, tensor) => {
                let one = scalar.materialize(build, location);
                outside.push(one);
                // The predicate of a select and the limits of a clamp may be scalars.
                inside.push(if tensor.rank() == 0 {
                    one
                } else {
                    let ty = Tensor::get(shape, tensor.element, None);
                    build.broadcast_scalar(one, ty, location)
                });
            }
        }
    }
    (inside, outside)
}

/// An elementwise op on pads alike, and splats, is a pad of that op on what they pad.
///
/// The op on the scalars gives the padding. Fewer elements are computed; what was fused into the op still is, the pad
/// being a map of indices.
pub fn elementwise_of_pads<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    if !site.is_bare() {
        return None;
    }
    let mut operands = Vec::with_capacity(site.op.operand_count());
    let mut first: Option<usize> = None;
    for (index, value) in site.op.operands().enumerate() {
        // One pad used twice has two uses.
        let Some(pad) = own_growing_pad(site, value) else {
            operands.push(Operand::Splat(Splat::of(value)?, plain(value)?));
            continue;
        };
        match first.map(|first| &operands[first]) {
            Some(Operand::Padded(before)) if !before.is_like(&pad) => return None,
            Some(_) => {}
            None => first = Some(index),
        }
        operands.push(Operand::Padded(pad));
    }
    let Operand::Padded(like) = &operands[first?] else { return None };
    let inner = like.shape.iter().fold(1i64, |count, &size| count.saturating_mul(size));
    let padded: Vec<Value> = operands
        .iter()
        .filter_map(|operand| match operand {
            Operand::Padded(pad) => Some(pad.operand),
            Operand::Splat(..) => None,
        })
        .collect();
    if inner >= site.result.element_count()? || !is_exact(site, &padded) {
        return None;
    }
    let element = site.result.element;
    let scalars = operands.iter().map(|operand| match operand {
        Operand::Padded(pad) => Splat::of(pad.padding)?.bytes(),
        Operand::Splat(scalar, _) => scalar.bytes(),
    });
    let scalars = scalars.collect::<Option<Vec<_>>>();
    // Which of 0.0 and -0.0 is the larger is not the same everywhere.
    let extreme = matches!(op_name(site.op), "stablehlo.maximum" | "stablehlo.minimum");
    if let Some(scalars) = &scalars
        && extreme
        && scalars.iter().all(|scalar| is_float_zero(element, scalar, true))
        && scalars.windows(2).any(|pair| pair[0] != pair[1])
    {
        return None;
    }
    let folded = scalars.and_then(|scalars| fold_float_scalar(op_name(site.op), element, &scalars));
    // Of x + 0.0 compilers make x, which is wrong for -0.0 but so in every place. A zero that was not seen as one while it
    // was part of a pad stays there.
    let float = matches!(Number::of(element), Number::Float { .. });
    let sum = matches!(op_name(site.op), "stablehlo.add" | "stablehlo.subtract");
    let adds_zero = operands.iter().any(|operand| match operand {
        Operand::Splat(scalar, _) => scalar.bytes().is_some_and(|bytes| is_float_zero(element, &bytes, true)),
        Operand::Padded(_) => false,
    });
    if float
        && sum
        && (adds_zero
            || folded.is_none()
            || padded.len() > 1 && padded.iter().any(|value| may_be_zeros(*value)))
    {
        return None;
    }
    let (build, location) = (&site.build, site.location);
    let (inside, outside) = sides(site, &operands, like.shape);
    let compute = |operands: &[Value<'c, 'a>], shape: &[i64]| {
        let copy = build.copy_with(site.op, operands, &[], &[Tensor::get(shape, element, None)]);
        copy.result(0).ok().map(Value::from)
    };
    let inside = compute(&inside, like.shape)?;
    let folded =
        folded.and_then(|bytes| build.splat_of_bytes(&bytes, Tensor::get(&[], element, None), location));
    let outside = match folded {
        Some(folded) => folded,
        None => compute(&outside, &[])?,
    };
    Some(build.pad(inside, outside, [like.low, like.high, like.interior], site.result.ty, location))
}

/// Two values padded with what is neutral, next to each other, combine to their concatenate padded once.
///
/// Neutral bit by bit: 0 for integers, but -0.0 for floats.
pub fn disjoint_sum<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let pads = [own_growing_pad(site, site.operand(0)?)?, own_growing_pad(site, site.operand(1)?)?];
    let scalar = Splat::of(pads[0].padding)?;
    let alike = scalar == Splat::of(pads[1].padding)?;
    let whole = pads.iter().all(Pad::has_no_interior);
    if !alike || !whole || !is_neutral(op_name(site.op), site.result.element, &scalar.bytes()?) {
        return None;
    }
    // What cannot be had on the fly would have to be kept until the other is there.
    if pads.iter().any(|pad| !is_on_the_fly(pad.operand)) {
        return None;
    }
    let mut differing = (0..pads[0].low.len())
        .filter(|&d| (pads[0].low[d], pads[0].shape[d]) != (pads[1].low[d], pads[1].shape[d]));
    let dim = differing.next()?;
    if differing.next().is_some() {
        return None;
    }
    let end = |pad: &Pad| pad.low[dim] + pad.shape[dim];
    let (left, right) = if end(&pads[0]) == pads[1].low[dim] {
        (&pads[0], &pads[1])
    } else if end(&pads[1]) == pads[0].low[dim] {
        (&pads[1], &pads[0])
    } else {
        return None;
    };
    let joined = site.build.concatenate(&[left.operand, right.operand], dim, site.location);
    let mut high = left.high.to_vec();
    high[dim] = right.high[dim];
    let none = vec![0; high.len()];
    if left.low.iter().chain(&high).all(|&edge| edge == 0) {
        return Some(joined);
    }
    let padding = scalar.materialize(&site.build, site.location);
    Some(site.build.pad(joined, padding, [left.low, &high, &none], site.result.ty, site.location))
}

/// Whether a value is had from arguments that stay and from constants by ops that back ends fuse.
fn is_on_the_fly(value: Value<'_, '_>) -> bool {
    const BUDGET: usize = 16;
    let mut pending = vec![value];
    for _ in 0..BUDGET {
        let Some(value) = pending.pop() else { return true };
        match defining_op(value) {
            Some(op) if class::is_fusible(op_name(op)) => pending.extend(op.operands()),
            None if is_kept_argument(value) => {}
            _ => return false,
        }
    }
    pending.is_empty()
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// A choice between a value within a box and one scalar outside is a pad of a slice.
///
/// Only of values had on the fly: the choice could be made in the memory of any other.
pub fn select_of_box<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let mask = site.operand(0)?;
    if plain(mask)?.shape != site.result.shape {
        return None;
    }
    let Region { low, high, inside } = region(mask)?;
    let (within, outside) = if inside { (1, 2) } else { (2, 1) };
    let value = site.operand(within)?;
    let scalar = Splat::of(site.operand(outside)?)?;
    let shape = site.result.shape;
    let rank = shape.len();
    if (0..rank).any(|d| low[d] >= high[d]) {
        return site.forward(site.operand(outside)?);
    }
    let count: Vec<i64> = (0..rank).map(|d| high[d] - low[d]).collect();
    if count == shape {
        return site.forward(value);
    }
    let filled = Splat::of(value);
    if filled.is_none() && !is_on_the_fly(value) {
        return None;
    }
    let part = match filled {
        Some(filled) => site.splat(&filled, &count),
        None => {
            let ty = Tensor::get(&count, site.result.element, None);
            site.build.slice(value, &low, ty, site.location)
        }
    };
    let padding = scalar.materialize(&site.build, site.location);
    let above: Vec<i64> = (0..rank).map(|d| shape[d] - high[d]).collect();
    let none = vec![0; rank];
    Some(site.build.pad(part, padding, [&low, &above, &none], site.result.ty, site.location))
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// A reduction does not change when what is neutral to it goes.
///
/// So does what it starts from: any other start may be used once, more often, or not at all. +0.0 is neutral to a sum of
/// floats that starts from +0.0: no sum that it is part of is -0.0.
pub fn reduce_of_pad<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    if site.op.operand_count() != 2 {
        return None;
    }
    let pad = own_growing_pad(site, site.operand(0)?)?;
    let initial = site.operand(1)?;
    let element = plain(pad.operand)?.element;
    if element != site.result.element || plain(initial)?.element != element {
        return None;
    }
    let combine = reducer(site.op)?;
    let value = Splat::of(pad.padding)?.bytes()?;
    let start = Splat::of(initial)?.bytes()?;
    let dims = ir::i64_array(site.op, "dimensions")?;
    let sizes = dims.iter().filter_map(|&dim| pad.shape.get(usize::try_from(dim).ok()?));
    let reduced = sizes.fold(1i64, |count, &size| count.saturating_mul(size));
    let neutral = is_neutral(combine, element, &value) && is_neutral(combine, element, &start);
    // +0.0 turns a sum of -0.0 to +0.0; so it should where the sum starts from that, but for a single element back ends
    // may not add at all.
    let zero = combine == "stablehlo.add"
        && is_float_zero(element, &value, true)
        && is_float_zero(element, &start, false)
        && reduced >= 2;
    if !neutral && !zero {
        return None;
    }
    let rank = pad.shape.len();
    let kept: Vec<usize> = (0..rank).filter(|&d| !dims.contains(&(d as i64))).collect();
    let pick = |all: &[i64]| kept.iter().map(|&d| all[d]).collect::<Vec<_>>();
    let ty = Tensor::get(&pick(pad.shape), element, None);
    let outer = kept.iter().any(|&d| (pad.low[d], pad.high[d], pad.interior[d]) != (0, 0, 0));
    if outer && !site.is_bare() {
        return None;
    }
    let reduced = site.build.copy_with(site.op, &[pad.operand, initial], &[], &[ty]).result(0).ok()?.into();
    if !outer {
        return Some(reduced);
    }
    let (low, high, interior) = (pick(pad.low), pick(pad.high), pick(pad.interior));
    Some(site.build.pad(reduced, initial, [&low, &high, &interior], site.result.ty, site.location))
}

/// A product of integer matrices both padded with zeros along what is summed over needs none of them.
///
/// Padding of only one of them is left, and so are floats: zero times an infinity is none, and where all products are
/// -0.0 the padding decides on the sign of their sum.
pub fn dot_of_pads<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let pads = [own_growing_pad(site, site.operand(0)?)?, own_growing_pad(site, site.operand(1)?)?];
    let numbers = crate::ops::products::dot_numbers(site.op)?;
    let summed = [numbers.lhs_contracting_dimensions(), numbers.rhs_contracting_dimensions()];
    for (&left, &right) in summed[0].iter().zip(summed[1]) {
        let (left, right) = (usize::try_from(left).ok()?, usize::try_from(right).ok()?);
        let along = |pad: &Pad, d: usize| (pad.shape[d], pad.low[d], pad.high[d], pad.interior[d]);
        if along(&pads[0], left) != along(&pads[1], right) {
            return None;
        }
    }
    for (pad, summed) in pads.iter().zip(summed) {
        let element = plain(pad.operand)?.element;
        let value = Splat::of(pad.padding)?.bytes()?;
        let zero = zero_bytes(element).as_ref() == Some(&value);
        let elsewhere = (0..pad.shape.len())
            .filter(|&d| !summed.contains(&(d as i64)))
            .any(|d| (pad.low[d], pad.high[d], pad.interior[d]) != (0, 0, 0));
        if !zero || elsewhere {
            return None;
        }
    }
    let operands = [pads[0].operand, pads[1].operand];
    let copy = site.build.copy_with(site.op, &operands, &[], &[site.result.ty]);
    copy.result(0).ok().map(Value::from)
}
