// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Numbers in registers with operators, so that formulas read as formulas.

use crate::gpu::emit::code::{Code, Float, Int};
use melior::ir::{Type, TypeLike, Value, ValueLike};
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

/// An f32 or f64 in a register; operators write code.
#[derive(Clone, Copy)]
pub struct Num<'k, 'c, 'a> {
    /// Where the code goes.
    pub code: &'k Code<'c, 'a>,
    /// The register.
    pub value: Value<'c, 'a>,
}

/// A condition (i1) in a register.
#[derive(Clone, Copy)]
pub struct Truth<'k, 'c, 'a> {
    /// Where the code goes.
    pub code: &'k Code<'c, 'a>,
    /// The register.
    pub value: Value<'c, 'a>,
}

impl<'k, 'c: 'a, 'a> Num<'k, 'c, 'a> {
    /// A register as a number.
    pub fn new(code: &'k Code<'c, 'a>, value: Value<'c, 'a>) -> Self {
        Self { code, value }
    }

    /// Its float type.
    pub fn ty(self) -> Type<'c> {
        self.value.r#type()
    }

    /// Whether it is an f64, an f32 otherwise.
    pub fn is_double(self) -> bool {
        self.ty().is_f64()
    }

    /// A constant of the same type.
    pub fn constant(self, value: f64) -> Self {
        self.with(self.code.float(value, self.ty()))
    }

    /// One of two constants: for f32 and for f64.
    pub fn constants(self, single: f64, double: f64) -> Self {
        self.constant(if self.is_double() { double } else { single })
    }

    fn with(self, value: Value<'c, 'a>) -> Self {
        Self { code: self.code, value }
    }

    /// A function of one argument: `math.exp` and the like.
    pub fn call(self, name: &str) -> Self {
        self.with(self.code.unary(name, self.value))
    }

    /// A function of two arguments.
    pub fn call2(self, name: &str, other: Self) -> Self {
        self.with(self.code.binary(name, self.value, other.value))
    }

    /// Magnitude.
    pub fn abs(self) -> Self {
        self.call("llvm.intr.fabs")
    }

    /// Square root.
    pub fn sqrt(self) -> Self {
        self.call("llvm.intr.sqrt")
    }

    /// Exponential function.
    pub fn exp(self) -> Self {
        self.call("math.exp")
    }

    /// Natural logarithm.
    pub fn log(self) -> Self {
        self.call("math.log")
    }

    /// Natural logarithm of one plus this.
    pub fn log1p(self) -> Self {
        self.call("math.log1p")
    }

    /// Exponential function minus one.
    pub fn expm1(self) -> Self {
        self.call("math.expm1")
    }

    /// Sine.
    pub fn sin(self) -> Self {
        self.call("math.sin")
    }

    /// Cosine.
    pub fn cos(self) -> Self {
        self.call("math.cos")
    }

    /// Rounded down.
    pub fn floor(self) -> Self {
        self.call("llvm.intr.floor")
    }

    /// This to a power.
    pub fn pow(self, exponent: Self) -> Self {
        self.call2("math.powf", exponent)
    }

    /// The angle of the point (x, this).
    pub fn atan2(self, x: Self) -> Self {
        self.call2("math.atan2", x)
    }

    /// This with the sign of `sign`.
    pub fn copysign(self, sign: Self) -> Self {
        self.call2("llvm.intr.copysign", sign)
    }

    /// What a division leaves, with the sign of this.
    pub fn remainder(self, other: Self) -> Self {
        self.call2("arith.remf", other)
    }

    /// The smaller one, any of them if one is a NaN.
    pub fn min(self, other: Self) -> Self {
        self.lt(other).pick(self, other)
    }

    /// The larger one, any of them if one is a NaN.
    pub fn max(self, other: Self) -> Self {
        self.gt(other).pick(self, other)
    }

    fn compare(self, predicate: Float, other: Self) -> Truth<'k, 'c, 'a> {
        Truth { code: self.code, value: self.code.compare_floats(predicate, self.value, other.value) }
    }

    /// Less.
    pub fn lt(self, other: impl Operand<'k, 'c, 'a>) -> Truth<'k, 'c, 'a> {
        self.compare(Float::Olt, other.beside(self))
    }

    /// Less or equal.
    pub fn le(self, other: impl Operand<'k, 'c, 'a>) -> Truth<'k, 'c, 'a> {
        self.compare(Float::Ole, other.beside(self))
    }

    /// Greater.
    pub fn gt(self, other: impl Operand<'k, 'c, 'a>) -> Truth<'k, 'c, 'a> {
        self.compare(Float::Ogt, other.beside(self))
    }

    /// Greater or equal.
    pub fn ge(self, other: impl Operand<'k, 'c, 'a>) -> Truth<'k, 'c, 'a> {
        self.compare(Float::Oge, other.beside(self))
    }

    /// Equal.
    pub fn eq(self, other: impl Operand<'k, 'c, 'a>) -> Truth<'k, 'c, 'a> {
        self.compare(Float::Oeq, other.beside(self))
    }

    /// Not equal, or a NaN.
    pub fn ne(self, other: impl Operand<'k, 'c, 'a>) -> Truth<'k, 'c, 'a> {
        self.compare(Float::Une, other.beside(self))
    }

    /// Whether it is a NaN.
    pub fn is_nan(self) -> Truth<'k, 'c, 'a> {
        self.compare(Float::Uno, self)
    }

    /// Whether it is an infinity.
    pub fn is_infinite(self) -> Truth<'k, 'c, 'a> {
        self.abs().eq(f64::INFINITY)
    }

    /// Whether it is neither a NaN nor an infinity.
    pub fn is_finite(self) -> Truth<'k, 'c, 'a> {
        self.abs().lt(f64::INFINITY)
    }

    /// The polynomial with these coefficients, that of the highest power first.
    pub fn polynomial(self, coefficients: &[f64]) -> Self {
        let Some((first, rest)) = coefficients.split_first() else { return self.constant(0.0) };
        rest.iter().fold(self.constant(*first), |sum, &coefficient| sum * self + coefficient)
    }

    /// Its bits, as an integer of its width.
    pub fn bits(self) -> Value<'c, 'a> {
        self.code.op("arith.bitcast", &[self.value], self.bits_type())
    }

    /// The integer type of its width.
    pub fn bits_type(self) -> Type<'c> {
        self.code.int(if self.is_double() { 64 } else { 32 })
    }

    /// The number of this type that has those bits.
    pub fn of_bits(self, bits: Value<'c, 'a>) -> Self {
        self.with(self.code.op("arith.bitcast", &[bits], self.ty()))
    }

    /// Whether the sign bit is set.
    pub fn is_signed(self) -> Truth<'k, 'c, 'a> {
        let bits = self.bits();
        let zero = self.code.integer(0, bits.r#type());
        Truth { code: self.code, value: self.code.compare(Int::Slt, bits, zero) }
    }
}

impl<'k, 'c: 'a, 'a> Truth<'k, 'c, 'a> {
    /// One of two numbers.
    pub fn pick(
        self,
        on_true: impl Operand<'k, 'c, 'a>,
        on_false: impl Operand<'k, 'c, 'a>,
    ) -> Num<'k, 'c, 'a> {
        let like = on_true.number().or(on_false.number()).expect("one of both is a number");
        let (on_true, on_false) = (on_true.beside(like), on_false.beside(like));
        like.with(self.code.select(self.value, on_true.value, on_false.value))
    }
}

/// What may stand beside a number: another one or a constant.
pub trait Operand<'k, 'c, 'a>: Copy {
    /// As a number of the type of `other`.
    fn beside(self, other: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a>;
    /// Itself if it is no constant.
    fn number(self) -> Option<Num<'k, 'c, 'a>>;
}

impl<'k, 'c: 'a, 'a> Operand<'k, 'c, 'a> for Num<'k, 'c, 'a> {
    fn beside(self, _: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
        self
    }

    fn number(self) -> Option<Num<'k, 'c, 'a>> {
        Some(self)
    }
}

impl<'k, 'c: 'a, 'a> Operand<'k, 'c, 'a> for f64 {
    fn beside(self, other: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
        other.constant(self)
    }

    fn number(self) -> Option<Num<'k, 'c, 'a>> {
        None
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $op:literal) => {
        impl<'k, 'c: 'a, 'a, O: Operand<'k, 'c, 'a>> $trait<O> for Num<'k, 'c, 'a> {
            type Output = Self;
            fn $method(self, other: O) -> Self {
                self.call2($op, other.beside(self))
            }
        }

        impl<'k, 'c: 'a, 'a> $trait<Num<'k, 'c, 'a>> for f64 {
            type Output = Num<'k, 'c, 'a>;
            fn $method(self, other: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
                other.constant(self).call2($op, other)
            }
        }
    };
}
operator!(Add, add, "arith.addf");
operator!(Sub, sub, "arith.subf");
operator!(Mul, mul, "arith.mulf");
operator!(Div, div, "arith.divf");

impl<'c: 'a, 'a> Neg for Num<'_, 'c, 'a> {
    type Output = Self;
    fn neg(self) -> Self {
        self.call("arith.negf")
    }
}

impl<'c: 'a, 'a> BitAnd for Truth<'_, 'c, 'a> {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self { code: self.code, value: self.code.binary("arith.andi", self.value, other.value) }
    }
}

impl<'c: 'a, 'a> BitOr for Truth<'_, 'c, 'a> {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self { code: self.code, value: self.code.binary("arith.ori", self.value, other.value) }
    }
}

impl<'c: 'a, 'a> Not for Truth<'_, 'c, 'a> {
    type Output = Self;
    fn not(self) -> Self {
        let one = self.code.integer(1, self.code.int(1));
        Self { code: self.code, value: self.code.binary("arith.xori", self.value, one) }
    }
}
