// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Sums of products, as dot products and convolutions need them.

use crate::framework::PassError;
use crate::gpu::emit::code::{Code, Scalar};
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
    _op: OperationRef<'c, 'a>,
    value: Scalar<'c, 'a>,
    from: Type<'c>,
    to: Type<'c>,
) -> Result<Scalar<'c, 'a>, PassError<'c>> {
    if from == to { Ok(value) } else { numbers::convert(&kernel.code, value, from, to) }
}

/// The type of registers for elements of a type that is not complex.
pub fn register<'c: 'a, 'a>(code: &Code<'c, 'a>, element: Type<'c>) -> Type<'c> {
    numbers::register_type(code, element).unwrap_or(element)
}
