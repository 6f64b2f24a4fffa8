// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Sums of products, as dot products and convolutions need them.

use crate::framework::PassError;
use crate::gpu::emit::code::{Code, Float, Scalar};
use crate::gpu::emit::element::Kernel;
use crate::gpu::emit::numbers;
use melior::ir::{Attribute, OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::quant::Number;

/// The arithmetic of sums whose result has some element type.
#[derive(Clone, Copy)]
pub struct Arithmetic<'c> {
    /// The element type that sums are kept in.
    pub accumulator: Type<'c>,
    kind: Kind<'c>,
}

#[derive(Clone, Copy)]
enum Kind<'c> {
    /// "And" for the product, "or" for the sum.
    Boolean,
    Integer,
    Float,
    /// Pairs of this float type.
    Complex(Type<'c>),
}

impl<'c> Arithmetic<'c> {
    /// The arithmetic for results of this element type: f32 for narrower floats, else the type itself.
    pub fn of<'a>(kernel: &Kernel<'c, 'a>, result: Type<'c>) -> Self
    where
        'c: 'a,
    {
        let (accumulator, kind) = match Number::of(result) {
            Number::Integer { width: 1, .. } => (result, Kind::Boolean),
            Number::Float { width } if width < 32 => (Type::float32(kernel.code.context()), Kind::Float),
            Number::Float { .. } => (result, Kind::Float),
            Number::Complex { part } => (result, Kind::Complex(part)),
            _ => (result, Kind::Integer),
        };
        Self { accumulator, kind }
    }

    /// The sum of nothing.
    pub fn zero<'a>(&self, kernel: &Kernel<'c, 'a>) -> Scalar<'c, 'a>
    where
        'c: 'a,
    {
        let code = &kernel.code;
        match self.kind {
            Kind::Boolean => Scalar::Real(code.integer(0, code.int(1))),
            Kind::Integer => Scalar::Real(code.integer(0, register(code, self.accumulator))),
            Kind::Float => Scalar::Real(code.float(0.0, self.accumulator)),
            Kind::Complex(part) => Scalar::Complex(code.float(0.0, part), code.float(0.0, part)),
        }
    }

    /// A real number as an accumulator.
    pub fn of_real<'a>(&self, kernel: &Kernel<'c, 'a>, value: Value<'c, 'a>) -> Scalar<'c, 'a>
    where
        'c: 'a,
    {
        match self.kind {
            Kind::Complex(part) => Scalar::Complex(value, kernel.code.float(0.0, part)),
            _ => Scalar::Real(value),
        }
    }

    /// The conjugate of a float.
    pub fn conjugate<'a>(&self, kernel: &Kernel<'c, 'a>, value: Scalar<'c, 'a>) -> Scalar<'c, 'a>
    where
        'c: 'a,
    {
        match value {
            Scalar::Complex(real, imaginary) => {
                Scalar::Complex(real, kernel.code.unary("arith.negf", imaginary))
            }
            real => real,
        }
    }

    /// The negative of a float.
    pub fn negate<'a>(&self, kernel: &Kernel<'c, 'a>, value: Scalar<'c, 'a>) -> Scalar<'c, 'a>
    where
        'c: 'a,
    {
        let parts: Vec<_> =
            value.parts().into_iter().map(|part| kernel.code.unary("arith.negf", part)).collect();
        Scalar::from_parts(&parts)
    }

    /// The quotient of floats. Complex ones are scaled by the larger part of the divisor.
    pub fn divide<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        left: Scalar<'c, 'a>,
        right: Scalar<'c, 'a>,
    ) -> Scalar<'c, 'a>
    where
        'c: 'a,
    {
        let code = &kernel.code;
        let (Scalar::Complex(a, b), Scalar::Complex(c, d)) = (left, right) else {
            return Scalar::Real(code.binary("arith.divf", left.real(), right.real()));
        };
        let op = |name: &str, left, right| code.binary(name, left, right);
        let swap = {
            let (c, d) = (code.unary("math.absf", c), code.unary("math.absf", d));
            code.compare_floats(Float::Olt, c, d)
        };
        // Of a divisor whose imaginary part is larger, both numbers are turned by -i first, which changes nothing.
        let turn = |real, imaginary| {
            let negative = code.unary("arith.negf", real);
            (code.select(swap, imaginary, real), code.select(swap, negative, imaginary))
        };
        let ((a, b), (c, d)) = (turn(a, b), turn(c, d));
        let ratio = op("arith.divf", d, c);
        let scale = op("arith.addf", c, op("arith.mulf", d, ratio));
        let real = op("arith.divf", op("arith.addf", a, op("arith.mulf", b, ratio)), scale);
        let imaginary = op("arith.divf", op("arith.subf", b, op("arith.mulf", a, ratio)), scale);
        Scalar::Complex(real, imaginary)
    }

    /// An element of type `from` as the accumulator's.
    pub fn lift<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        op: OperationRef<'c, 'a>,
        value: Scalar<'c, 'a>,
        from: Type<'c>,
    ) -> Result<Scalar<'c, 'a>, PassError<'c>>
    where
        'c: 'a,
    {
        convert(kernel, op, value, from, self.accumulator)
    }

    /// A sum as an element of type `to`.
    pub fn lower<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        op: OperationRef<'c, 'a>,
        value: Scalar<'c, 'a>,
        to: Type<'c>,
    ) -> Result<Scalar<'c, 'a>, PassError<'c>>
    where
        'c: 'a,
    {
        convert(kernel, op, value, self.accumulator, to)
    }

    /// The sum of two sums.
    pub fn add<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        left: Scalar<'c, 'a>,
        right: Scalar<'c, 'a>,
    ) -> Scalar<'c, 'a>
    where
        'c: 'a,
    {
        let name = match self.kind {
            Kind::Boolean => "arith.ori",
            Kind::Integer => "arith.addi",
            Kind::Float | Kind::Complex(_) => "arith.addf",
        };
        let parts: Vec<_> = left
            .parts()
            .into_iter()
            .zip(right.parts())
            .map(|(left, right)| kernel.code.binary(name, left, right))
            .collect();
        Scalar::from_parts(&parts)
    }

    /// `left * right + sum`; floats may be rounded once only.
    pub fn multiply_add<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        left: Scalar<'c, 'a>,
        right: Scalar<'c, 'a>,
        sum: Scalar<'c, 'a>,
    ) -> Scalar<'c, 'a>
    where
        'c: 'a,
    {
        let code = &kernel.code;
        match (self.kind, left, right, sum) {
            (Kind::Complex(_), Scalar::Complex(a, b), Scalar::Complex(c, d), Scalar::Complex(re, im)) => {
                let re = fused(code, "arith.addf", re, fused(code, "arith.mulf", a, c));
                let re = fused(code, "arith.subf", re, fused(code, "arith.mulf", b, d));
                let im = fused(code, "arith.addf", im, fused(code, "arith.mulf", a, d));
                let im = fused(code, "arith.addf", im, fused(code, "arith.mulf", b, c));
                Scalar::Complex(re, im)
            }
            (Kind::Boolean, ..) => {
                let product = code.binary("arith.andi", left.real(), right.real());
                Scalar::Real(code.binary("arith.ori", sum.real(), product))
            }
            (Kind::Float, ..) => {
                let product = fused(code, "arith.mulf", left.real(), right.real());
                Scalar::Real(fused(code, "arith.addf", sum.real(), product))
            }
            _ => {
                let product = code.binary("arith.muli", left.real(), right.real());
                Scalar::Real(code.binary("arith.addi", sum.real(), product))
            }
        }
    }
}

/// An op on floats that may be contracted with its neighbours into a fused one.
pub fn fused<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    name: &str,
    left: Value<'c, 'a>,
    right: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let contract = Attribute::parse(code.context(), "#arith.fastmath<contract>").expect("arith is loaded");
    code.op_with(name, &[left, right], &[("fastmath", contract)], left.r#type())
}

/// An element of one type as one of another.
pub fn convert<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    value: Scalar<'c, 'a>,
    from: Type<'c>,
    to: Type<'c>,
) -> Result<Scalar<'c, 'a>, PassError<'c>> {
    numbers::convert(&kernel.code, value, from, to)
        .ok_or_else(|| PassError::at(op, format!("needs {from} as {to}, which there is no code for")))
}

/// The type of registers for elements of a type that is not complex.
pub fn register<'c: 'a, 'a>(code: &Code<'c, 'a>, element: Type<'c>) -> Type<'c> {
    numbers::register_type(code, element).unwrap_or(element)
}
