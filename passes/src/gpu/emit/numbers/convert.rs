// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Elements of one type as those of another, as XLA converts them.

use super::num::Num;
use super::{Kind, round_to, widen};
use crate::gpu::emit::code::{Code, Int, Scalar};
use melior::ir::{Type, TypeLike, Value, ValueLike};

/// An element as one of another type. Floats round to nearest even; they become integers towards zero, the nearest one
/// where they are out of range, and 0 if they are NaNs; anything but zero becomes true; an imaginary part is dropped.
pub fn convert<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    scalar: Scalar<'c, 'a>,
    from: Type<'c>,
    to: Type<'c>,
) -> Option<Scalar<'c, 'a>> {
    if from == to { Some(scalar) } else { convert_other(code, scalar, from, to) }
}

fn convert_other<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    scalar: Scalar<'c, 'a>,
    from: Type<'c>,
    to: Type<'c>,
) -> Option<Scalar<'c, 'a>> {
    let single = Type::float32(code.context());
    let double = Type::float64(code.context());
    let (source, target) = (Kind::of(from)?, Kind::of(to)?);
    Some(match (source, target, scalar) {
        (Kind::Complex(part), Kind::Complex(other), Scalar::Complex(real, imaginary)) => {
            let convert = |value| convert_other(code, Scalar::Real(value), part, other).map(Scalar::real);
            Scalar::Complex(convert(real)?, convert(imaginary)?)
        }
        (Kind::Complex(part), _, Scalar::Complex(real, _)) => {
            return if part == to {
                Some(Scalar::Real(real))
            } else {
                convert_other(code, Scalar::Real(real), part, to)
            };
        }
        (_, Kind::Complex(part), Scalar::Real(_)) => {
            let real = if from == part { scalar } else { convert_other(code, scalar, from, part)? };
            Scalar::Complex(real.real(), code.float(0.0, part))
        }
        (Kind::Integer { .. }, Kind::Integer { bits: 1, .. }, Scalar::Real(value)) => {
            Scalar::Real(code.compare(Int::Ne, value, code.integer(0, value.r#type())))
        }
        (Kind::Integer { signed, .. }, Kind::Integer { bits, .. }, Scalar::Real(value)) => {
            Scalar::Real(code.resize(value, code.int(bits), signed))
        }
        (Kind::Integer { signed, .. }, _, Scalar::Real(value)) => {
            let op = if signed { "arith.sitofp" } else { "arith.uitofp" };
            let wide = match target {
                Kind::Float { bits: 64 } => double,
                _ => single,
            };
            Scalar::Real(round_to(Num::new(code, code.op(op, &[value], wide)), to))
        }
        (_, Kind::Integer { bits: 1, .. }, Scalar::Real(value)) => {
            Scalar::Real(widen(code, value, from)?.ne(0.0).value)
        }
        (_, Kind::Integer { bits, signed }, Scalar::Real(value)) => {
            Scalar::Real(to_integer(widen(code, value, from)?, bits, signed))
        }
        (_, _, Scalar::Real(value)) => {
            let wide = widen(code, value, from)?;
            Scalar::Real(match (wide.is_double(), target) {
                (false, Kind::Float { bits: 64 }) => code.op("arith.extf", &[wide.value], double),
                (true, Kind::Float { bits: 32 }) => code.op("arith.truncf", &[wide.value], single),
                // In two steps, as XLA does. (An f16, too, where XLA for CPU has no instruction for it; a GPU has.)
                (true, _) if to.is_float8e8m0fnu() => {
                    round_to(Num::new(code, code.op("arith.truncf", &[wide.value], single)), to)
                }
                (true, _) => round_to(to_odd(wide), to),
                (false, _) => round_to(wide, to),
            })
        }
        _ => return None,
    })
}

/// Towards zero; the nearest integer of the type if there is none; 0 for a NaN.
fn to_integer<'c: 'a, 'a>(x: Num<'_, 'c, 'a>, bits: u32, signed: bool) -> Value<'c, 'a> {
    let code = x.code;
    let ty = code.int(bits);
    let magnitude = if signed { bits - 1 } else { bits };
    // Both are exact in f32: powers of two.
    let above = 2f64.powi(magnitude as i32);
    let below = if signed { -above } else { 0.0 };
    let within = x.ge(below) & x.lt(above);
    let safe = within.pick(x, 0.0);
    let integer = code.op(if signed { "arith.fptosi" } else { "arith.fptoui" }, &[safe.value], ty);
    let (smallest, largest) =
        if signed { (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)) } else { (0, -1) };
    let low = code.select(x.lt(below).value, code.integer(smallest, ty), integer);
    code.select(x.ge(above).value, code.integer(largest, ty), low)
}

/// An f64 as an f32 whose last bit is set if anything was cut off, so that rounding it to a format of at most 22 bits of
/// fraction is the same as rounding the f64 itself.
fn to_odd<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let code = x.code;
    let single = Type::float32(code.context());
    let double = Type::float64(code.context());
    let nearest = Num::new(code, code.op("arith.truncf", &[x.value], single));
    let back = Num::new(code, code.op("arith.extf", &[nearest.value], double));
    let bits = nearest.bits();
    let one = code.integer(1, bits.r#type());
    let zero = code.integer(0, bits.r#type());
    // One back towards zero if that was away from it; then the last bit is set unless nothing was cut off.
    let away = back.abs().gt(x.abs()).value;
    let truncated = code.binary("arith.subi", bits, code.select(away, one, zero));
    let inexact = (back.ne(x)).value;
    let odd = code.binary("arith.ori", truncated, code.select(inexact, one, zero));
    let is_nan = x.is_nan();
    is_nan.pick(nearest, nearest.of_bits(odd))
}

/// An element rounded to a format of so many bits of exponent and mantissa, and back.
pub fn reduce_precision<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    scalar: Scalar<'c, 'a>,
    element: Type<'c>,
    exponent_bits: i64,
    mantissa_bits: i64,
) -> Option<Scalar<'c, 'a>> {
    let Scalar::Real(value) = scalar else { return None };
    let x = widen(code, value, element)?;
    let (own_exponent, own_mantissa) = if x.is_double() { (11, 52) } else { (8, 23) };
    let ty = x.bits_type();
    let constant = |value| code.integer(value, ty);
    let op = |name: &str, left, right| code.binary(name, left, right);
    let mut bits = x.bits();
    let exponent_mask = ((1i64 << own_exponent) - 1) << own_mantissa;
    if mantissa_bits < own_mantissa {
        let dropped = own_mantissa - mantissa_bits;
        let odd = op("arith.andi", op("arith.shrui", bits, constant(dropped)), constant(1));
        let bias = op("arith.addi", odd, constant((1 << (dropped - 1)) - 1));
        bits = op("arith.andi", op("arith.addi", bits, bias), constant(!((1 << dropped) - 1)));
    }
    if exponent_bits < own_exponent {
        let bias = (1i64 << (own_exponent - 1)) - 1;
        let reduced_bias = (1i64 << (exponent_bits - 1)) - 1;
        let exponent = op("arith.andi", bits, constant(exponent_mask));
        let overflows = code.compare(Int::Ugt, exponent, constant((bias + reduced_bias) << own_mantissa));
        let underflows = code.compare(Int::Ule, exponent, constant((bias - reduced_bias) << own_mantissa));
        let sign_mask = if x.is_double() { i64::MIN } else { i64::from(i32::MIN) };
        let sign = op("arith.andi", bits, constant(sign_mask));
        bits = code.select(overflows, op("arith.ori", sign, constant(exponent_mask)), bits);
        bits = code.select(underflows, sign, bits);
    }
    let rounded = x.of_bits(bits);
    Some(Scalar::Real(round_to(x.is_nan().pick(x, rounded), element)))
}
