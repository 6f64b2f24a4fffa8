// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Integers and booleans.
//!
//! What StableHLO leaves open is what XLA computes: a quotient by zero is all ones, a remainder by zero the dividend; the
//! smallest number divided by -1 is itself; a shift by the width or more leaves zeros, or copies of the sign.

use crate::gpu::emit::code::{Code, Int};
use melior::ir::attribute::IntegerAttribute;
use melior::ir::r#type::IntegerType;
use melior::ir::{Value, ValueLike};

fn width(value: Value<'_, '_>) -> u32 {
    IntegerType::try_from(value.r#type()).map_or(64, |ty| ty.width())
}

/// The smallest number of a signed type.
fn smallest(bits: u32) -> i64 {
    i64::MIN >> (64 - bits)
}

/// An op of one operand; `None` if integers have no such op.
pub fn unary<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    name: &str,
    value: Value<'c, 'a>,
    signed: bool,
) -> Option<Value<'c, 'a>> {
    let ty = value.r#type();
    let constant = |number| code.integer(number, ty);
    Some(match name {
        "abs" if !signed => value,
        "abs" => {
            let negative = code.compare(Int::Slt, value, constant(0));
            code.select(negative, code.binary("arith.subi", constant(0), value), value)
        }
        "negate" => code.binary("arith.subi", constant(0), value),
        "not" => code.binary("arith.xori", value, constant(-1)),
        "popcnt" => code.unary("llvm.intr.ctpop", value),
        "count_leading_zeros" => {
            let defined = IntegerAttribute::new(code.int(1), 0).into();
            code.op_with("llvm.intr.ctlz", &[value], &[("is_zero_poison", defined)], ty)
        }
        "sign" if !signed => {
            let some = code.compare(Int::Ne, value, constant(0));
            code.resize(some, ty, false)
        }
        "sign" => {
            let last = constant(i64::from(width(value)) - 1);
            let negative = code.binary("arith.shrsi", value, last);
            let some = code.resize(code.compare(Int::Ne, value, constant(0)), ty, false);
            code.binary("arith.ori", negative, some)
        }
        "square" => code.binary("arith.muli", value, value),
        _ => return None,
    })
}

/// An op of two operands; `None` if integers have no such op.
pub fn binary<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    name: &str,
    left: Value<'c, 'a>,
    right: Value<'c, 'a>,
    signed: bool,
) -> Option<Value<'c, 'a>> {
    let bits = width(left);
    if bits == 1 {
        return boolean(code, name, left, right);
    }
    let ty = left.r#type();
    let constant = |number| code.integer(number, ty);
    let simple = |op: &str| code.binary(op, left, right);
    Some(match name {
        "add" => simple("arith.addi"),
        "subtract" => simple("arith.subi"),
        "multiply" => simple("arith.muli"),
        "and" => simple("arith.andi"),
        "or" => simple("arith.ori"),
        "xor" => simple("arith.xori"),
        "maximum" => simple(if signed { "arith.maxsi" } else { "arith.maxui" }),
        "minimum" => simple(if signed { "arith.minsi" } else { "arith.minui" }),
        "divide" | "remainder" => {
            let zero = code.compare(Int::Eq, right, constant(0));
            let special = if signed {
                let lowest = code.compare(Int::Eq, left, constant(smallest(bits)));
                let minus_one = code.compare(Int::Eq, right, constant(-1));
                code.binary("arith.ori", zero, code.binary("arith.andi", lowest, minus_one))
            } else {
                zero
            };
            let safe = code.select(special, constant(1), right);
            let quotient = name == "divide";
            let op = match (quotient, signed) {
                (true, true) => "arith.divsi",
                (true, false) => "arith.divui",
                (false, true) => "arith.remsi",
                (false, false) => "arith.remui",
            };
            let result = code.binary(op, left, safe);
            // Divided by one, the smallest number and what is left of it are what they should be.
            code.select(zero, if quotient { constant(-1) } else { left }, result)
        }
        "shift_left" | "shift_right_logical" | "shift_right_arithmetic" => {
            let op = match name {
                "shift_left" => "arith.shli",
                "shift_right_logical" => "arith.shrui",
                _ => "arith.shrsi",
            };
            let last = constant(i64::from(bits) - 1);
            let within = code.compare(Int::Ule, right, last);
            let amount = code.select(within, right, last);
            let shifted = code.binary(op, left, amount);
            if name == "shift_right_arithmetic" { shifted } else { code.select(within, shifted, constant(0)) }
        }
        "mulhi" => {
            let wide = code.int(2 * bits);
            let extend = |value| code.resize(value, wide, signed);
            let product = code.binary("arith.muli", extend(left), extend(right));
            let high = code.binary("arith.shrui", product, code.integer(i64::from(bits), wide));
            code.resize(high, ty, false)
        }
        "power" => power(code, left, right, signed),
        _ => return None,
    })
}

fn boolean<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    name: &str,
    left: Value<'c, 'a>,
    right: Value<'c, 'a>,
) -> Option<Value<'c, 'a>> {
    Some(match name {
        "add" | "or" | "maximum" => code.binary("arith.ori", left, right),
        "multiply" | "and" | "minimum" => code.binary("arith.andi", left, right),
        "xor" | "subtract" => code.binary("arith.xori", left, right),
        _ => return None,
    })
}

/// Squares and multiplies once per bit of the exponent. To a negative power, 1 is 1, -1 is 1 or -1, and anything else 0.
fn power<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    base: Value<'c, 'a>,
    exponent: Value<'c, 'a>,
    signed: bool,
) -> Value<'c, 'a> {
    let ty = base.r#type();
    let constant = |number| code.integer(number, ty);
    let zero = constant(0);
    let one = constant(1);
    let odd = |value| code.compare(Int::Ne, code.binary("arith.andi", value, one), zero);
    let carried = code
        .while_loop(
            &[constant(1), base, exponent],
            |carried| {
                // A negative exponent leaves its loop at once.
                Ok(code.compare(if signed { Int::Sgt } else { Int::Ne }, carried[2], zero))
            },
            |carried| {
                let [result, square, left] = *carried else { unreachable!("three are carried") };
                let next = code.select(odd(left), code.binary("arith.muli", result, square), result);
                let square = code.binary("arith.muli", square, square);
                Ok(vec![next, square, code.binary("arith.shrui", left, one)])
            },
        )
        .expect("neither closure fails");
    if !signed {
        return carried[0];
    }
    let negative = code.compare(Int::Slt, exponent, zero);
    let minus_one = code.compare(Int::Eq, base, constant(-1));
    let alternating = code.select(odd(exponent), constant(-1), one);
    let is_one = code.compare(Int::Eq, base, one);
    let inverse = code.select(minus_one, alternating, code.select(is_one, one, zero));
    code.select(negative, inverse, carried[0])
}
