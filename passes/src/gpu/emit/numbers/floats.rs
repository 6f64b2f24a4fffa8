// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Real f32 and f64; narrower floats are computed as f32 and rounded after each op.

use super::num::{Num, Truth};

/// The larger or smaller of two; a NaN if either is one. Of two zeros any may be taken, as by XLA.
pub fn extremum<'k, 'c: 'a, 'a>(
    name: &str,
    left: Num<'k, 'c, 'a>,
    right: Num<'k, 'c, 'a>,
) -> Num<'k, 'c, 'a> {
    left.call2(if name == "maximum" { "arith.maximumf" } else { "arith.minimumf" }, right)
}

/// -1, 0 or 1; zeros and NaNs stay.
fn sign<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let same = x.eq(0.0) | x.is_nan();
    same.pick(x, x.constant(1.0).copysign(x))
}

/// Rounded to nearest, halves away from zero.
fn round<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let magnitude = x.abs();
    let down = magnitude.floor();
    let up = (magnitude - down).ge(0.5);
    up.pick(down + 1.0, down).copysign(x)
}

/// An op of one operand; `None` if there is no such op.
pub fn unary<'k, 'c: 'a, 'a>(name: &str, x: Num<'k, 'c, 'a>) -> Option<Num<'k, 'c, 'a>> {
    Some(match name {
        "abs" => x.abs(),
        "negate" => -x,
        "sign" => sign(x),
        "cbrt" => x.call("math.cbrt"),
        "ceil" => x.call("llvm.intr.ceil"),
        "floor" => x.floor(),
        "cosine" => x.cos(),
        "sine" => x.sin(),
        "tan" => x.call("math.tan"),
        "tanh" => x.call("math.tanh"),
        "exponential" => x.exp(),
        "exponential_minus_one" => x.expm1(),
        "log" => x.log(),
        "log_plus_one" => x.log1p(),
        "logistic" => 1.0 / (1.0 + (-x).exp()),
        "round_nearest_afz" => round(x),
        "round_nearest_even" => x.call("llvm.intr.roundeven"),
        "sqrt" => x.sqrt(),
        "rsqrt" => 1.0 / x.sqrt(),
        "square" => x * x,
        _ => return None,
    })
}

/// An op of two operands; `None` if there is no such op.
pub fn binary<'k, 'c: 'a, 'a>(name: &str, x: Num<'k, 'c, 'a>, y: Num<'k, 'c, 'a>) -> Option<Num<'k, 'c, 'a>> {
    Some(match name {
        "add" => x + y,
        "subtract" => x - y,
        "multiply" => x * y,
        "divide" => x / y,
        "remainder" => x.remainder(y),
        "maximum" | "minimum" => extremum(name, x, y),
        "atan2" => x.atan2(y),
        "power" => x.pow(y),
        _ => return None,
    })
}

/// A predicate; `None` if there is no such op.
pub fn predicate<'k, 'c: 'a, 'a>(name: &str, x: Num<'k, 'c, 'a>) -> Option<Truth<'k, 'c, 'a>> {
    Some(match name {
        "is_finite" => x.is_finite(),
        "is_inf" => x.is_infinite(),
        "is_pos_inf" => x.eq(f64::INFINITY),
        "is_neg_inf" => x.eq(f64::NEG_INFINITY),
        _ => return None,
    })
}
