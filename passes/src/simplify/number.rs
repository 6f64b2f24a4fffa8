// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Arithmetic that changes nothing, comparisons that are settled, and indices known at compile time.

use super::site::{Site, plain, producer};
use crate::ir;
use crate::rewrite::{defining_op, has_one_use, users};
use crate::splat::Splat;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, OperationRef, RegionLike, Type, TypeLike, Value};
use slimhlo_dialect::dense::{Dense, bits, bytes, element_bytes};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::quant::Number;
use slimhlo_dialect::stablehlo::attrs::{ComparisonDirection, ComparisonType};
use slimhlo_dialect::types::Tensor;

//===----------------------------------------------------------------------===//
// Neutral elements
//===----------------------------------------------------------------------===//

/// Widths of exponent and fraction of a float type with infinities.
fn float_format(element: Type<'_>) -> Option<(u32, u32)> {
    if element.is_f64() {
        Some((11, 52))
    } else if element.is_f32() {
        Some((8, 23))
    } else if element.is_bf16() {
        Some((8, 7))
    } else if element.is_f16() {
        Some((5, 10))
    } else {
        None
    }
}

/// Whether `op(x, neutral)` and `op(neutral, x)` are `x`, bit for bit but for what a NaN carries.
///
/// Zero is not neutral in a sum of floats, only -0.0 is: `-0.0 + 0.0` is `0.0`.
pub fn is_neutral(op: &str, element: Type<'_>, value: &[u8]) -> bool {
    let Some(value) = bits(value) else { return false };
    let op = op.strip_prefix("stablehlo.").unwrap_or(op);
    if let Number::Integer { width, unsigned } = Number::of(element)
        && (1..=64).contains(&width)
    {
        let ones = u64::MAX >> (64 - width);
        let value = value & ones;
        let unsigned = unsigned || width == 1;
        let (least, largest) = if unsigned { (0, ones) } else { (1 << (width - 1), ones >> 1) };
        return match op {
            // What the sum of two true bools is depends on whom one asks; false changes neither.
            "add" | "or" | "xor" => value == 0,
            "multiply" => value == 1,
            "and" => value == ones,
            "maximum" => value == least,
            "minimum" => value == largest,
            _ => false,
        };
    }
    let Some((exponent, fraction)) = float_format(element) else { return false };
    let sign = 1 << (exponent + fraction);
    let infinity = ((1 << exponent) - 1) << fraction;
    match op {
        "add" => value == sign,
        "multiply" => value == ((1 << (exponent - 1)) - 1) << fraction,
        "maximum" => value == sign | infinity,
        "minimum" => value == infinity,
        _ => false,
    }
}

/// Whether these are the bytes of a power of two of a float type, of either sign and normal.
pub fn is_power_of_two(element: Type<'_>, value: &[u8]) -> bool {
    let (Some((exponent, fraction)), Some(value)) = (float_format(element), bits(value)) else {
        return false;
    };
    let scale = value >> fraction & ((1 << exponent) - 1);
    value & ((1 << fraction) - 1) == 0 && scale != 0 && scale != (1 << exponent) - 1
}

/// Whether these are the bytes of a zero of a float type, of either sign, or of +0.0 only.
pub fn is_float_zero(element: Type<'_>, value: &[u8], either_sign: bool) -> bool {
    let Some((exponent, fraction)) = float_format(element) else { return false };
    bits(value).is_some_and(|value| value == 0 || either_sign && value == 1 << (exponent + fraction))
}

/// A float operand that changes nothing: `x * 1`, `x + -0.0`, `x - 0.0`, `x / 1`.
pub fn neutral_operand<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    float_format(site.result.element)?;
    let (left, right) = (site.operand(0)?, site.operand(1)?);
    let splat = |value| Splat::of(value).and_then(|splat| splat.bytes());
    let name = op_name(site.op);
    let element = site.result.element;
    if let Some(value) = splat(right) {
        let neutral = match name {
            "stablehlo.subtract" => is_float_zero(element, &value, false),
            "stablehlo.divide" => is_neutral("multiply", element, &value),
            _ => is_neutral(name, element, &value),
        };
        if neutral {
            return site.forward(left);
        }
    }
    if matches!(name, "stablehlo.subtract" | "stablehlo.divide") {
        return None;
    }
    splat(left).filter(|value| is_neutral(name, element, value)).and_then(|_| site.forward(right))
}

/// Arithmetic of f32 and f64 that are the same everywhere, where IEEE 754 leaves no choice: what a gradient of constants begins with.
/// It is a constant of its own, whose shards are any device's.
pub fn splat_arithmetic<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let splats = site.op.operands().map(|operand| Splat::of(operand)?.bytes());
    let value =
        fold_float_scalar(op_name(site.op), site.result.element, &splats.collect::<Option<Vec<_>>>()?)?;
    site.build.splat_of_bytes(&value, site.result.ty, site.location)
}

/// The one op that a reducer's body applies to accumulator and element, in either order.
pub fn reducer<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<&'c str> {
    let block = op.region(0).ok()?.first_block()?;
    if block.argument_count() != 2 {
        return None;
    }
    let body = block.first_operation()?;
    let end = body.next_in_block()?;
    if op_name(end) != "stablehlo.return" || end.operand_count() != 1 || body.result_count() != 1 {
        return None;
    }
    if end.operands().next()? != Value::from(body.result(0).ok()?) || body.operand_count() != 2 {
        return None;
    }
    let arguments: [Value; 2] = [block.argument(0).ok()?.into(), block.argument(1).ok()?.into()];
    let operands = [body.operands().next()?, body.operands().nth(1)?];
    let name = op_name(body);
    let commutes = matches!(
        name.strip_prefix("stablehlo.")?,
        "add" | "multiply" | "maximum" | "minimum" | "and" | "or" | "xor"
    );
    (commutes && (operands == arguments || operands == [arguments[1], arguments[0]])).then_some(name)
}

/// Whether a value is a sum of floats that starts from zero, but for shape and precision: none of its elements is -0.0, to which
/// adding 0.0 would make a difference. (What is so small that another precision makes -0.0 of it XLA does not add 0.0 to either.)
fn is_sum<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> bool {
    const LONGEST: usize = 8;
    for _ in 0..LONGEST {
        let Some(op) = defining_op(value) else { return false };
        match op_name(op) {
            "stablehlo.reshape"
            | "stablehlo.transpose"
            | "stablehlo.broadcast_in_dim"
            | "stablehlo.convert" => {
                let Ok(operand) = op.operand(0) else { return false };
                value = operand;
            }
            "stablehlo.reduce" => {
                let zero = || {
                    let initial = ir::operand(op, 1)?;
                    let bytes = Splat::of(initial)?.bytes()?;
                    Some(is_float_zero(plain(initial)?.element, &bytes, false))
                };
                return op.operand_count() == 2
                    && reducer(op) == Some("stablehlo.add")
                    && zero() == Some(true);
            }
            _ => return false,
        }
    }
    false
}

/// A reduction over single elements from a neutral initial value only drops dimensions.
pub fn trivial_reduce<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    if site.op.operand_count() != 2 {
        return None;
    }
    let operand = site.operand(0)?;
    let tensor = plain(operand)?;
    let dims = ir::i64_array(site.op, "dimensions")?;
    if tensor.element != site.result.element || dims.iter().any(|&dim| tensor.shape[dim as usize] != 1) {
        return None;
    }
    let initial = Splat::of(site.operand(1)?)?.bytes()?;
    let reducer = reducer(site.op)?;
    let of_sum =
        || reducer == "stablehlo.add" && is_float_zero(tensor.element, &initial, false) && is_sum(operand);
    (is_neutral(reducer, tensor.element, &initial) || of_sum()).then_some(())?;
    match site.forward(operand) {
        Some(operand) => Some(operand),
        None => Some(site.build.reshape(operand, site.result.ty, site.location)),
    }
}

/// A reduction of one element everywhere that starts from the same is that, if it does not matter how often it is taken: masks
/// that let everything through.
pub fn reduce_of_splat<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    if site.op.operand_count() != 2 {
        return None;
    }
    let (operand, initial) = (site.operand(0)?, site.operand(1)?);
    if plain(operand)?.element != site.result.element
        || !matches!(Number::of(site.result.element), Number::Integer { .. })
    {
        return None;
    }
    let same = || Some(Splat::of(operand)?.bytes()? == Splat::of(initial)?.bytes()?);
    let idempotent = |name: &str| {
        matches!(name, "stablehlo.and" | "stablehlo.or" | "stablehlo.maximum" | "stablehlo.minimum")
    };
    (same()? && idempotent(reducer(site.op)?))
        .then(|| site.build.broadcast_scalar(initial, site.result.ty, site.location))
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Whether every number of one type is one of the other.
pub fn holds_all_of(to: Type<'_>, from: Type<'_>) -> bool {
    let integer = |ty| match Number::of(ty) {
        Number::Integer { width, unsigned } => Some((width, unsigned || width == 1)),
        _ => None,
    };
    match (integer(from), integer(to)) {
        (Some((_, _)), Some((1, _))) => from == to,
        (Some((width, unsigned)), Some((wider, to_unsigned))) => {
            if unsigned == to_unsigned {
                wider >= width
            } else {
                unsigned && wider > width
            }
        }
        (Some((width, unsigned)), None) => {
            let Some((exponent, fraction)) = float_format(to) else { return false };
            let digits = if unsigned { width } else { width - 1 };
            digits <= fraction + 1 && u64::from(digits) < 1 << (exponent - 1)
        }
        (None, Some(_)) => false,
        (None, None) => match (float_format(from), float_format(to)) {
            (Some((exponent, fraction)), Some((wider, longer))) => wider >= exponent && longer >= fraction,
            _ => false,
        },
    }
}

/// A conversion of a conversion that lost nothing is one conversion.
///
/// From integers to floats that have to round it is left but for f32: there a back end may round in other steps.
pub fn convert_of_convert<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let inner = site.producer(0, "stablehlo.convert")?;
    let source = inner.operands().next()?;
    let (from, through, to) = (plain(source)?.element, plain(site.operand(0)?)?.element, site.result.element);
    let is_integer = |ty| matches!(Number::of(ty), Number::Integer { .. });
    let rounds_alike = holds_all_of(to, from)
        || is_integer(from) == is_integer(through)
            && (is_integer(from) == is_integer(to) || to.is_f32() || !is_integer(from));
    if !holds_all_of(through, from) || !rounds_alike {
        return None;
    }
    // While something else needs what is in between, it has to be worth keeping the source as well.
    if !site.may_skip(inner, source) && element_bytes(from)? * 2 > element_bytes(through)? {
        return None;
    }
    if from == to {
        return site.forward(source);
    }
    Some(site.build.convert(source, site.result.ty, site.location))
}

//===----------------------------------------------------------------------===//
// Ranges of integers
//===----------------------------------------------------------------------===//

type Range = (i128, i128);

/// All values of an integer type; a bool is 0 or 1.
fn range_of_type(element: Type<'_>) -> Option<Range> {
    match Number::of(element) {
        Number::Integer { width: 1, .. } => Some((0, 1)),
        Number::Integer { width, unsigned: true } if width <= 64 => Some((0, (1 << width) - 1)),
        Number::Integer { width, .. } if width <= 64 => Some((-(1 << (width - 1)), (1 << (width - 1)) - 1)),
        _ => None,
    }
}

/// Elements of a constant that are looked at.
pub(super) const LOOKED_AT: usize = 64;
/// Ops that are looked through for one range.
const RANGE_OPS: usize = 24;

/// Between which two integers all elements of `value` are, as far as a short look tells.
pub fn range(value: Value<'_, '_>) -> Option<Range> {
    range_within(value, &mut { RANGE_OPS })
}

fn range_within<'c: 'a, 'a>(value: Value<'c, 'a>, budget: &mut usize) -> Option<Range> {
    let tensor = plain(value)?;
    let all = range_of_type(tensor.element)?;
    let known = defining_op(value).and_then(|op| {
        *budget = budget.checked_sub(1)?;
        range_of_op(op, &tensor, budget)
    });
    // What wraps around may be anything.
    Some(known.filter(|&(low, high)| all.0 <= low && low <= high && high <= all.1).unwrap_or(all))
}

fn range_of_op<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    tensor: &Tensor<'c>,
    budget: &mut usize,
) -> Option<Range> {
    let mut of = |index: usize| {
        (index < op.operand_count())
            .then(|| op.operands().nth(index))?
            .and_then(|value| range_within(value, budget))
    };
    match op_name(op).strip_prefix("stablehlo.")? {
        "constant" => {
            let dense = Dense::small(ffi::attribute_of(op, "value")?, LOOKED_AT)?;
            let unsigned = matches!(Number::of(tensor.element), Number::Integer { unsigned: true, .. });
            let count = if dense.is_splat() { 1 } else { dense.len() };
            let values = (0..count).map(|index| {
                if unsigned {
                    dense.bits(index).map(i128::from)
                } else {
                    dense.integer(index).map(i128::from)
                }
            });
            let values: Vec<i128> = values.collect::<Option<_>>()?;
            Some((*values.iter().min()?, *values.iter().max()?))
        }
        "iota" => {
            let dim = usize::try_from(ir::constant_attribute(op, "iota_dimension")?).ok()?;
            Some((0, i128::from(*tensor.shape.get(dim)?) - 1))
        }
        "broadcast" | "broadcast_in_dim" | "reshape" | "transpose" | "slice" | "reverse"
        | "dynamic_slice" | "convert" => of(0),
        "add" if !is_bool(tensor) => of(0).zip(of(1)).map(|(x, y)| (x.0 + y.0, x.1 + y.1)),
        "subtract" if !is_bool(tensor) => of(0).zip(of(1)).map(|(x, y)| (x.0 - y.1, x.1 - y.0)),
        "multiply" => {
            let (x, y) = of(0).zip(of(1))?;
            let products =
                [x.0.checked_mul(y.0)?, x.0.checked_mul(y.1)?, x.1.checked_mul(y.0)?, x.1.checked_mul(y.1)?];
            Some((*products.iter().min()?, *products.iter().max()?))
        }
        "maximum" => of(0).zip(of(1)).map(|(x, y)| (x.0.max(y.0), x.1.max(y.1))),
        "minimum" => of(0).zip(of(1)).map(|(x, y)| (x.0.min(y.0), x.1.min(y.1))),
        "clamp" => {
            let (low, (x, high)) = of(0).zip(of(1).zip(of(2)))?;
            Some((low.0.max(x.0).min(high.0), low.1.max(x.1).min(high.1)))
        }
        "select" => of(1).zip(of(2)).map(|(x, y)| (x.0.min(y.0), x.1.max(y.1))),
        "remainder" => {
            let (x, y) = of(0).zip(of(1))?;
            // By zero a remainder is whatever the device says.
            (y.0 > 0).then(|| {
                (if x.0 < 0 { (1 - y.1).max(x.0) } else { 0 }, if x.1 > 0 { (y.1 - 1).min(x.1) } else { 0 })
            })
        }
        "divide" => {
            let (x, y) = of(0).zip(of(1))?;
            (y.0 > 0 && x.0 >= 0).then(|| (x.0 / y.1, x.1 / y.0))
        }
        _ => None,
    }
}

fn is_bool(tensor: &Tensor<'_>) -> bool {
    Number::of(tensor.element).is_integer_of_width(1)
}

/// A comparison that comes out the same for all that its operands may be.
pub fn settled_compare<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (left, right) = (site.operand(0)?, site.operand(1)?);
    let Number::Integer { width, unsigned } = Number::of(plain(left)?.element) else { return None };
    // A comparison that reads the elements as another type is left to those who know what it means.
    let expected = if unsigned || width == 1 { ComparisonType::Unsigned } else { ComparisonType::Signed };
    if let Some(kind) = ffi::attribute_of(site.op, "compare_type") {
        let kind = ComparisonType::try_from(kind).ok()?;
        (kind == expected || kind == ComparisonType::NoType).then_some(())?;
    }
    let direction =
        ComparisonDirection::try_from(ffi::attribute_of(site.op, "comparison_direction")?).ok()?;
    let (x, y) = (range(left)?, range(right)?);
    let (less, less_or_equal) = (x.1 < y.0, x.1 <= y.0);
    let (greater, greater_or_equal) = (x.0 > y.1, x.0 >= y.1);
    let equal = x.0 == x.1 && x == y;
    let settle = |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) };
    let holds = match direction {
        ComparisonDirection::Lt => settle(less, greater_or_equal),
        ComparisonDirection::Le => settle(less_or_equal, greater),
        ComparisonDirection::Gt => settle(greater, less_or_equal),
        ComparisonDirection::Ge => settle(greater_or_equal, less),
        ComparisonDirection::Eq => settle(equal, less || greater),
        ComparisonDirection::Ne => settle(less || greater, equal),
    }?;
    site.build.splat_of_bytes(&[u8::from(holds)], site.result.ty, site.location)
}

/// What is above a limit is told by what is left of it above that limit.
///
/// `x > c` is `max(x, c) > c`: a gradient then reads what the next layer does, and neither `x` nor its mask is kept beside that.
/// So is `x < c` by the minimum. Where `x` is NaN neither holds, whether the limit lets it through (as the spec has it) or not.
pub fn compare_of_limited<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let operands = [site.operand(0)?, site.operand(1)?];
    let element = plain(operands[0])?.element;
    (float_format(element).is_some() || matches!(Number::of(element), Number::Integer { .. }))
        .then_some(())?;
    if let Some(kind) = ffi::attribute_of(site.op, "compare_type") {
        (ComparisonType::try_from(kind).ok()? != ComparisonType::TotalOrder).then_some(())?;
    }
    let direction =
        ComparisonDirection::try_from(ffi::attribute_of(site.op, "comparison_direction")?).ok()?;
    let at = operands.iter().position(|&operand| Splat::of(operand).is_none())?;
    Splat::of(operands[1 - at])?;
    let name = match (direction, at) {
        (ComparisonDirection::Gt, 0) | (ComparisonDirection::Lt, 1) => "stablehlo.maximum",
        (ComparisonDirection::Lt, 0) | (ComparisonDirection::Gt, 1) => "stablehlo.minimum",
        _ => return None,
    };
    // Of many users the first few are asked.
    const LOOKED_AT: usize = 8;
    let limited = users(operands[at]).take(LOOKED_AT).find_map(|user| {
        let value = user.result(0).ok().map(Value::from)?;
        let op = producer(value, name)?;
        let is_there = op.block() == site.op.block() && ir::is_before(op, site.op);
        (is_there && op.operands().any(|operand| operand == operands[1 - at])).then_some(value)
    })?;
    let mut with = operands;
    with[at] = limited;
    let copy = site.build.copy_with(site.op, &with, &[], &[site.result.ty]);
    copy.result(0).ok().map(Value::from)
}

/// A choice among what the same mask has chosen already: the lower triangle of a lower triangle, say.
pub fn select_of_select<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let operands = [site.operand(0)?, site.operand(1)?, site.operand(2)?];
    [1, 2].into_iter().find_map(|at| {
        let inner = site.producer(at, "stablehlo.select")?;
        let chosen: Vec<Value> = inner.operands().collect();
        (chosen[0] == operands[0]).then_some(())?;
        let other = 3 - at;
        if chosen[other] == operands[other] {
            return site.forward(operands[at]);
        }
        // What it chose from would be kept beside what it made for others.
        site.may_skip(inner, chosen[at]).then_some(())?;
        let mut with = operands;
        with[at] = chosen[at];
        let copy = site.build.copy_with(site.op, &with, &[], &[site.result.ty]);
        copy.result(0).ok().map(Value::from)
    })
}

/// A limit that is always kept.
pub fn idle_limit<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (x, y) = (site.operand(0)?, site.operand(1)?);
    match op_name(site.op) {
        "stablehlo.clamp" => {
            let (low, value, high) = (range(x)?, range(y)?, range(site.operand(2)?)?);
            (low.1 <= value.0 && value.1 <= high.0).then(|| site.forward(y))?
        }
        name => {
            let ((a, b), maximum) = ((range(x)?, range(y)?), name == "stablehlo.maximum");
            if a.1 <= b.0 {
                site.forward(if maximum { y } else { x })
            } else if b.1 <= a.0 {
                site.forward(if maximum { x } else { y })
            } else {
                None
            }
        }
    }
}

//===----------------------------------------------------------------------===//
// Known indices
//===----------------------------------------------------------------------===//

/// A `dynamic_slice` at constant starts is a `slice`.
pub fn constant_dynamic_slice<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let operand = site.operand(0)?;
    let (from, to) = (plain(operand)?.shape, site.result.shape);
    let start = ir::window_starts(site.op, 1, to, from)?;
    Some(site.build.slice(operand, &start, site.result.ty, site.location))
}

/// A start of a `dynamic_slice` that is clamped more loosely than the op itself clamps need not be.
///
/// As for any start, what is out of bounds is clamped to the nearest start within.
pub fn clamped_start<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let update = op_name(site.op) == "stablehlo.dynamic_update_slice";
    let from = plain(site.operand(0)?)?.shape;
    let to = if update { plain(site.operand(1)?)?.shape } else { site.result.shape };
    let first = if update { 2 } else { 1 };
    let mut operands: Vec<Value> = site.op.operands().collect();
    let mut changed = false;
    for d in 0..from.len() {
        let last = i128::from(from[d] - to[d]);
        let Some(clamp) = producer(operands[first + d], "stablehlo.clamp") else { continue };
        let (low, high) = (range(clamp.operands().next()?)?, range(clamp.operands().nth(2)?)?);
        if low.1 <= 0 && high.0 >= last && has_one_use(operands[first + d]) {
            operands[first + d] = clamp.operands().nth(1)?;
            changed = true;
        }
    }
    changed.then_some(())?;
    // The starts are all of one type, and a clamp has that of what it clamps.
    let copy = site.build.copy_with(site.op, &operands, &[], &[site.result.ty]);
    copy.result(0).ok().map(Value::from)
}

/// The bytes of a scalar that is zero in any integer type.
pub fn zero_bytes(element: Type<'_>) -> Option<Vec<u8>> {
    matches!(Number::of(element), Number::Integer { .. }).then(|| Some(bytes(0, element_bytes(element)?)))?
}

/// What an op makes of f32 or f64 scalars, where IEEE 754 leaves no choice: neither NaNs nor denormal numbers are in it.
pub fn fold_float_scalar(op: &str, element: Type<'_>, operands: &[Vec<u8>]) -> Option<Vec<u8>> {
    let usual = |value: &f64| value.is_normal() || *value == 0.0 || value.is_infinite();
    let single = element.is_f32();
    if !single && !element.is_f64() {
        return None;
    }
    let read = |bytes: &Vec<u8>| {
        let bits = bits(bytes)?;
        let value = if single {
            let value = f32::from_bits(u32::try_from(bits).ok()?);
            (value.is_normal() || value == 0.0 || value.is_infinite()).then(|| f64::from(value))?
        } else {
            f64::from_bits(bits)
        };
        Some(value).filter(usual)
    };
    let values: Vec<f64> = operands.iter().map(read).collect::<Option<_>>()?;
    // Twice the digits and two more: rounding a sum or product of f32 to f64 first does not change how it ends.
    let value = match (op.strip_prefix("stablehlo.")?, &values[..]) {
        ("add", [x, y]) => x + y,
        ("subtract", [x, y]) => x - y,
        ("multiply", [x, y]) => x * y,
        ("negate", [x]) => -x,
        ("abs", [x]) => x.abs(),
        _ => return None,
    };
    if single {
        let value = value as f32;
        usual(&f64::from(value)).then_some(())?;
        (value.is_normal() || value == 0.0 || value.is_infinite())
            .then(|| bytes(u64::from(value.to_bits()), 4))
    } else {
        Some(value).filter(usual).map(|value| bytes(value.to_bits(), 8))
    }
}
