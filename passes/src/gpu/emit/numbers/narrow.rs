// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Floats of four to eight bits, which live in registers as their bits: to and from f32 by integer arithmetic.

use super::num::Num;
use crate::gpu::emit::code::{Code, Int};
use melior::ir::{Type, TypeLike, Value};

/// What the codes beyond the finite numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    /// The largest exponent is for infinities and NaNs.
    Ieee,
    /// No infinities; a NaN is all ones but for the sign.
    Finite,
    /// No infinities; the one NaN is what would be the negative zero.
    Unsigned,
    /// Neither infinities nor NaNs: what is too large is the largest number.
    None,
}

/// A format of a sign, an exponent and a fraction, or of an exponent alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrow {
    exponent: u32,
    fraction: u32,
    bias: i64,
    special: Special,
}

impl Narrow {
    /// The format of an element type; `None` for any other.
    pub fn of(ty: Type<'_>) -> Option<Self> {
        let (exponent, fraction, bias, special) = if ty.is_float8e5m2() {
            (5, 2, 15, Special::Ieee)
        } else if ty.is_float8e4m3() {
            (4, 3, 7, Special::Ieee)
        } else if ty.is_float8e3m4() {
            (3, 4, 3, Special::Ieee)
        } else if ty.is_float8e4m3fn() {
            (4, 3, 7, Special::Finite)
        } else if ty.is_float8e4m3fnuz() {
            (4, 3, 8, Special::Unsigned)
        } else if ty.is_float8e5m2fnuz() {
            (5, 2, 16, Special::Unsigned)
        } else if ty.is_float8e4m3_b_11_fnuz() {
            (4, 3, 11, Special::Unsigned)
        } else if ty.is_float8e8m0fnu() {
            (8, 0, 127, Special::Finite)
        } else if ty.is_float_4_e_2_m_1_fn() {
            (2, 1, 1, Special::None)
        } else if ty.is_float_6_e_2_m_3_fn() {
            (2, 3, 1, Special::None)
        } else if ty.is_float_6_e_3_m_2_fn() {
            (3, 2, 3, Special::None)
        } else {
            return None;
        };
        Some(Self { exponent, fraction, bias, special })
    }

    /// Whether there is no sign and no zero: powers of two only.
    fn is_scale(self) -> bool {
        self.fraction == 0
    }

    /// Bits but for the sign.
    const fn magnitude_bits(self) -> u32 {
        self.exponent + self.fraction
    }

    /// The largest code of a finite number, without the sign.
    const fn largest(self) -> i64 {
        let all = (1 << self.magnitude_bits()) - 1;
        match self.special {
            Special::Ieee => (((1 << self.exponent) - 1) << self.fraction) - 1,
            Special::Finite => all - 1,
            Special::Unsigned | Special::None => all,
        }
    }

    /// The f32 that the low bits of an i8 stand for.
    pub fn widen<'k, 'c: 'a, 'a>(self, code: &'k Code<'c, 'a>, bits: Value<'c, 'a>) -> Num<'k, 'c, 'a> {
        let word = code.int(32);
        let constant = |value| code.integer(value, word);
        let op = |name: &str, left, right| code.binary(name, left, right);
        let bits = code.resize(bits, word, false);
        let float = |bits| Num::new(code, code.op("arith.bitcast", &[bits], Type::float32(code.context())));
        let nan = constant(0x7fc0_0000);
        if self.is_scale() {
            let power = op("arith.shli", bits, constant(23));
            let smallest = code.compare(Int::Eq, bits, constant(0));
            let is_nan = code.compare(Int::Eq, bits, constant(0xff));
            let power = code.select(smallest, constant(1 << 22), power);
            return float(code.select(is_nan, nan, power));
        }
        let magnitude = op("arith.andi", bits, constant((1 << self.magnitude_bits()) - 1));
        let exponent = op("arith.shrui", magnitude, constant(self.fraction.into()));
        let fraction = op("arith.andi", magnitude, constant((1 << self.fraction) - 1));
        let normal = code.compare(Int::Ne, exponent, constant(0));
        let hidden = code.select(normal, constant(1 << self.fraction), constant(0));
        let exponent = op("arith.maxui", exponent, constant(1));
        // All formats' numbers are normal numbers of f32, as whole numbers times a power of two.
        let integer = Num::new(
            code,
            code.op("arith.uitofp", &[op("arith.ori", fraction, hidden)], Type::float32(code.context())),
        );
        let power = op("arith.addi", exponent, constant(127 - self.bias - i64::from(self.fraction)));
        let value = (integer * float(op("arith.shli", power, constant(23)))).bits();
        let sign = op("arith.andi", bits, constant(1 << self.magnitude_bits()));
        let sign = op("arith.shli", sign, constant(31 - i64::from(self.magnitude_bits())));
        let value = match self.special {
            Special::None => value,
            Special::Ieee => {
                let infinite = code.compare(Int::Eq, magnitude, constant(self.largest() + 1));
                let beyond = code.compare(Int::Ugt, magnitude, constant(self.largest() + 1));
                code.select(beyond, nan, code.select(infinite, constant(0x7f80_0000), value))
            }
            Special::Finite => {
                let is_nan = code.compare(Int::Ugt, magnitude, constant(self.largest()));
                code.select(is_nan, nan, value)
            }
            Special::Unsigned => {
                let all = op("arith.andi", bits, constant((2 << self.magnitude_bits()) - 1));
                let is_nan = code.compare(Int::Eq, all, constant(1 << self.magnitude_bits()));
                code.select(is_nan, nan, value)
            }
        };
        float(op("arith.ori", value, sign))
    }

    /// The code nearest to an f32, ties to even, as an i8.
    pub fn narrow<'c: 'a, 'a>(self, x: Num<'_, 'c, 'a>) -> Value<'c, 'a> {
        let code = x.code;
        let word = code.int(32);
        let constant = |value| code.integer(value, word);
        let op = |name: &str, left, right| code.binary(name, left, right);
        let bits = x.bits();
        let magnitude = op("arith.andi", bits, constant(0x7fff_ffff));
        if self.is_scale() {
            return self.narrow_scale(x, magnitude);
        }
        let dropped = 23 - i64::from(self.fraction);
        // Numbers that are normal in the format: half of what is dropped is added, less one where the rest is even.
        let odd = op("arith.andi", op("arith.shrui", magnitude, constant(dropped)), constant(1));
        let rounded = op("arith.addi", magnitude, op("arith.addi", odd, constant((1 << (dropped - 1)) - 1)));
        let rounded = op("arith.shrui", rounded, constant(dropped));
        let normal = op("arith.subi", rounded, constant((127 - self.bias) << self.fraction));
        // Others: the adder rounds, beside a number whose last bit has the weight of theirs.
        let weight = 2f64.powi((24 - self.bias - i64::from(self.fraction)) as i32);
        let sum = (x.abs() + weight).bits();
        let denormal = op("arith.subi", sum, x.constant(weight).bits());
        let is_normal = code.compare(Int::Uge, magnitude, constant((128 - self.bias) << 23));
        let result = code.select(is_normal, normal, denormal);
        let largest = constant(self.largest());
        let too_large = code.compare(Int::Sgt, result, largest);
        let result = match self.special {
            Special::None => code.select(too_large, largest, result),
            Special::Ieee | Special::Finite => code.select(too_large, constant(self.largest() + 1), result),
            Special::Unsigned => result,
        };
        let is_nan = x.is_nan().value;
        let result = match self.special {
            Special::Ieee => {
                code.select(is_nan, constant(self.largest() + 1 + (1 << (self.fraction - 1))), result)
            }
            Special::Finite => code.select(is_nan, constant(self.largest() + 1), result),
            Special::None | Special::Unsigned => result,
        };
        let sign = op("arith.shrui", bits, constant(31));
        let sign = op("arith.shli", sign, constant(self.magnitude_bits().into()));
        let signed = op("arith.ori", result, sign);
        let signed = match self.special {
            Special::Unsigned => {
                let zero = code.compare(Int::Eq, result, constant(0));
                let finite = code.select(zero, constant(0), signed);
                let no_number = code.binary("arith.ori", too_large, is_nan);
                code.select(no_number, constant(1 << self.magnitude_bits()), finite)
            }
            Special::None => code.select(is_nan, constant(1 << self.magnitude_bits()), signed),
            _ => signed,
        };
        code.resize(signed, code.int(8), false)
    }

    /// The nearest power of two; zero, negative numbers and what is too large become NaNs.
    fn narrow_scale<'c: 'a, 'a>(self, x: Num<'_, 'c, 'a>, magnitude: Value<'c, 'a>) -> Value<'c, 'a> {
        let code = x.code;
        let word = code.int(32);
        let constant = |value| code.integer(value, word);
        let op = |name: &str, left, right| code.binary(name, left, right);
        // Halfway between two powers, the larger one.
        let rounded = op("arith.addi", magnitude, constant(1 << 22));
        let rounded = op("arith.shrui", rounded, constant(23));
        let valid = x.gt(0.0);
        let result = code.select(valid.value, op("arith.minui", rounded, constant(0xff)), constant(0xff));
        code.resize(result, code.int(8), false)
    }
}
