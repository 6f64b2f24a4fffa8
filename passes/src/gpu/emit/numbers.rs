// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Elements: how they lie in memory and in registers, and what elementwise ops compute, as arith, math and scf ops.
//!
//! Floats of 16 bits and fewer are computed as f32 and rounded after each op. Functions that neither libm nor libdevice
//! has are written out here (`special`), over those that both have.
//!
//! # How far from XLA for CPU
//!
//! Integers, booleans, conversions, comparisons, sums, products, quotients, roots and roundings have XLA's bits, but that
//! denormal numbers are numbers here, and zero there. The largest differences that test/oracle/elementwise.py has seen, in
//! units in the last place, kernels run on the CPU with its libm:
//!
//! | | f32 | f64 |
//! |---|---|---|
//! | sine, cosine, tan, atan, atan2, cbrt, power | 0 | 0 |
//! | log, exponential, `exponential_minus_one`, asin, acos, logistic, rsqrt, asinh, acosh | 2 | 4 |
//! | tanh, erf | 4 | 7 |
//! | `log_plus_one`, atanh | 2 | 126 (XLA's: libm has the right digits) |
//! | sinh, cosh, far out | 24 | 495 (XLA's) |
//! | erfc, far out | 40 | 259 (XLA's) |
//! | `erf_inv` | 4 | 19 (XLA's) |
//! | `bessel_i1e` | 9 | 7 |
//! | lgamma, digamma (units of 1 where smaller) | 32 | 32 |
//! | zeta, from order 1 to 12 | 64 | 64 |
//! | polygamma, the same | 128 | 128 |
//! | complex, in units of the larger part: quotient, exp, log, sqrt, tan, inverse functions | 4 | 4; 98 for log (XLA's) |
//! | complex tanh, sinh, cosh | 22 | 16; 249 far out (XLA's) |
//! | complex power | 64 | 128 |
//!
//! Functions of f16 and bf16 differ by at most 2 units, since XLA rounds on the way. Where XLA is not followed: integers
//! to a power see all bits of the exponent (XLA the low six), bits of i2 and i4 are counted in two and four places.

mod complex;
mod convert;
mod floats;
mod integers;
mod narrow;
mod num;
pub(crate) mod special;

pub use convert::convert;
pub use num::{Num, Truth};

use crate::framework::PassError;
use crate::gpu::emit::code::{Code, Float, Int, Scalar};
use crate::ir;
use melior::ir::attribute::{ArrayAttribute, FloatAttribute, IntegerAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, Type, TypeLike, Value, ValueLike};
use narrow::Narrow;
use slimhlo_dialect::dense;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::quant::{self, complex_part};
use slimhlo_dialect::stablehlo::attrs::{ComparisonDirection, ComparisonType};

/// What an element type is to code.
#[derive(Clone, Copy, PartialEq)]
enum Kind<'c> {
    /// An integer or boolean.
    Integer { bits: u32, signed: bool },
    /// f64, f32, f16 or bf16.
    Float { bits: u32 },
    /// Four to eight bits.
    Narrow(Narrow),
    /// Two floats.
    Complex(Type<'c>),
}

impl<'c> Kind<'c> {
    fn of(element: Type<'c>) -> Option<Self> {
        if let Some(narrow) = Narrow::of(element) {
            return Some(Self::Narrow(narrow));
        }
        match quant::Number::of(element) {
            quant::Number::Integer { width: 0 | 65.., .. } => None,
            quant::Number::Integer { width, unsigned } => {
                Some(Self::Integer { bits: width, signed: !unsigned && width > 1 })
            }
            quant::Number::Float { width }
                if element.is_f64() || element.is_f32() || element.is_f16() || element.is_bf16() =>
            {
                Some(Self::Float { bits: width })
            }
            quant::Number::Complex { part } if part.is_f32() || part.is_f64() => Some(Self::Complex(part)),
            _ => None,
        }
    }
}

/// The type of a register for an element, or for each part of a complex one; `None` for elements that code cannot be
/// written for (quantized ones, say).
pub fn register_type<'c>(code: &Code<'c, '_>, element: Type<'c>) -> Option<Type<'c>> {
    match Kind::of(element)? {
        Kind::Integer { bits, .. } => Some(code.int(bits)),
        Kind::Float { .. } => Some(element),
        Kind::Narrow(_) => Some(code.int(8)),
        Kind::Complex(part) => Some(part),
    }
}

/// The types of the registers for an element: one, or two for a complex one.
pub fn register_types<'c>(code: &Code<'c, '_>, element: Type<'c>) -> Option<Vec<Type<'c>>> {
    Some(vec![register_type(code, element)?; part_count(element)])
}

/// How many values an element is made of.
pub fn part_count(element: Type<'_>) -> usize {
    if complex_part(element).is_some() { 2 } else { 1 }
}

/// Bytes that an element takes in memory, both parts of a complex one.
pub fn storage_bytes(element: Type<'_>) -> Option<usize> {
    Some(match Kind::of(element)? {
        Kind::Integer { bits, .. } => bits.div_ceil(8).next_power_of_two() as usize,
        Kind::Float { bits } => bits as usize / 8,
        Kind::Narrow(_) => 1,
        Kind::Complex(part) => 2 * storage_bytes(part)?,
    })
}

/// The type in memory of an element, or of each part of a complex one.
pub fn storage_type<'c>(code: &Code<'c, '_>, element: Type<'c>) -> Option<Type<'c>> {
    match Kind::of(element)? {
        Kind::Integer { .. } => Some(code.int(8 * storage_bytes(element)? as u32)),
        _ => register_type(code, element),
    }
}

/// An element as it lies in memory: integers of less than a byte fill one.
pub fn to_storage<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    scalar: Scalar<'c, 'a>,
    element: Type<'c>,
) -> Scalar<'c, 'a> {
    match (Kind::of(element), storage_type(code, element), scalar) {
        (Some(Kind::Integer { .. }), Some(ty), Scalar::Real(value)) => {
            Scalar::Real(code.resize(value, ty, false))
        }
        _ => scalar,
    }
}

/// An element from what lies in memory.
pub fn from_storage<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    scalar: Scalar<'c, 'a>,
    element: Type<'c>,
) -> Scalar<'c, 'a> {
    match (Kind::of(element), scalar) {
        (Some(Kind::Integer { bits: 1, .. }), Scalar::Real(value)) => {
            Scalar::Real(code.compare(Int::Ne, value, code.integer(0, value.r#type())))
        }
        (Some(Kind::Integer { bits, signed }), Scalar::Real(value)) => {
            Scalar::Real(code.resize(value, code.int(bits), signed))
        }
        _ => scalar,
    }
}

/// A constant from the attribute of one element.
///
/// # Errors
/// The attribute is none of a number of that type, or kernels cannot compute with the type.
pub fn constant<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    attribute: Attribute<'c>,
    element: Type<'c>,
) -> Result<Scalar<'c, 'a>, PassError<'c>> {
    let other = || PassError::new(format!("no constant of type {element} can be made of {attribute}"));
    let real = |attribute: Attribute<'c>, ty| {
        let value = code.op_with("arith.constant", &[], &[("value", attribute)], ty);
        Ok::<_, PassError<'c>>(value)
    };
    match Kind::of(element).ok_or_else(other)? {
        Kind::Integer { bits, .. } => {
            let value = IntegerAttribute::try_from(attribute).map_err(|_| other())?;
            Ok(Scalar::Real(code.integer(ffi::integer_value(value), code.int(bits))))
        }
        Kind::Float { .. } => Ok(Scalar::Real(real(attribute, element)?)),
        Kind::Narrow(narrow) => {
            let value = FloatAttribute::try_from(attribute).map_err(|_| other())?.value();
            // The number is one of the format's, so that nothing is rounded.
            let wide = Num::new(code, code.float(value, Type::float32(code.context())));
            Ok(Scalar::Real(narrow.narrow(wide)))
        }
        Kind::Complex(part) => {
            let parts = ArrayAttribute::try_from(attribute).map_err(|_| other())?;
            let part_of = |index| parts.element(index).map_err(|_| other());
            Ok(Scalar::Complex(real(part_of(0)?, part)?, real(part_of(1)?, part)?))
        }
    }
}

/// A constant from the bytes of one element, as [`dense::Dense`] hands them out; every bit is kept.
///
/// # Errors
/// Kernels cannot compute with such elements.
pub fn constant_of_bytes<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    bytes: &[u8],
    element: Type<'c>,
) -> Result<Scalar<'c, 'a>, PassError<'c>> {
    let other = || PassError::new(format!("elements of type {element} are not supported"));
    let kind = Kind::of(element).ok_or_else(other)?;
    if let Kind::Complex(part) = kind {
        let (real, imaginary) = bytes.split_at(bytes.len() / 2);
        let real = constant_of_bytes(code, real, part)?;
        let imaginary = constant_of_bytes(code, imaginary, part)?;
        return Ok(Scalar::Complex(real.real(), imaginary.real()));
    }
    let bits = dense::bits(bytes).ok_or_else(other)?;
    let width = 8 * bytes.len() as u32;
    Ok(Scalar::Real(match kind {
        Kind::Integer { bits: 1, .. } => code.integer(i64::from(bits != 0), code.int(1)),
        Kind::Integer { bits: width, .. } => code.integer(dense::sign_extend(bits, width), code.int(width)),
        Kind::Narrow(_) => code.integer(dense::sign_extend(bits, 8), code.int(8)),
        _ => {
            let value = if width == 64 {
                Some(f64::from_bits(bits))
            } else if width == 32 {
                Some(f64::from(f32::from_bits(bits as u32)))
            } else {
                None
            };
            match value {
                Some(value) if !value.is_nan() => code.float(value, element),
                // Payloads, and formats that the machine has no type for.
                _ => {
                    let bits = code.integer(dense::sign_extend(bits, width), code.int(width));
                    code.op("arith.bitcast", &[bits], element)
                }
            }
        }
    }))
}

/// A register of a real float type as f32 or f64, whichever is computed with.
fn widen<'k, 'c: 'a, 'a>(
    code: &'k Code<'c, 'a>,
    value: Value<'c, 'a>,
    element: Type<'c>,
) -> Option<Num<'k, 'c, 'a>> {
    match Kind::of(element)? {
        Kind::Float { bits: 16 } => {
            Some(Num::new(code, code.op("arith.extf", &[value], Type::float32(code.context()))))
        }
        Kind::Float { .. } => Some(Num::new(code, value)),
        Kind::Narrow(narrow) => Some(narrow.widen(code, value)),
        _ => None,
    }
}

/// A register of a real float type, of an f32 or f64 that was computed.
fn round_to<'c: 'a, 'a>(x: Num<'_, 'c, 'a>, element: Type<'c>) -> Value<'c, 'a> {
    match Kind::of(element) {
        Some(Kind::Float { bits: 16 }) => x.code.op("arith.truncf", &[x.value], element),
        Some(Kind::Narrow(narrow)) => narrow.narrow(x),
        _ => x.value,
    }
}

/// Every elementwise op, without its dialect; those on broadcast operands included.
const OPS: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "add",
    "and",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i1e",
    "bitcast_convert",
    "cbrt",
    "ceil",
    "clamp",
    "compare",
    "complex",
    "conj",
    "constant_like",
    "convert",
    "cosh",
    "cosine",
    "count_leading_zeros",
    "digamma",
    "divide",
    "erf",
    "erf_inv",
    "erfc",
    "exponential",
    "exponential_minus_one",
    "floor",
    "imag",
    "is_finite",
    "is_inf",
    "is_neg_inf",
    "is_pos_inf",
    "lgamma",
    "log",
    "log_plus_one",
    "logistic",
    "maximum",
    "minimum",
    "mulhi",
    "multiply",
    "negate",
    "next_after",
    "not",
    "or",
    "polygamma",
    "popcnt",
    "power",
    "real",
    "reduce_precision",
    "remainder",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "select",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sine",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "xor",
    "zeta",
];

/// The name of an elementwise op without its dialect (and without `broadcast_`); `None` for any other op, and for
/// `bitcast_convert` between types of unequal width.
fn elementwise_name<'c>(op: OperationRef<'c, '_>) -> Option<&'c str> {
    let name = op_name(op);
    let name = match name.strip_prefix("stablehlo.") {
        Some(name) => name,
        None => {
            let name = name.strip_prefix("chlo.")?;
            name.strip_prefix("broadcast_").unwrap_or(name)
        }
    };
    let width = |ty| quant::Number::of(ir::element_of(ty)).width();
    let keeps_width = || {
        let from = width(op.operands().next()?.r#type())?;
        (from == width(result_type(op)?)?).then_some(())
    };
    (OPS.contains(&name) && (name != "bitcast_convert" || keeps_width().is_some())).then_some(name)
}

fn result_type<'c>(op: OperationRef<'c, '_>) -> Option<Type<'c>> {
    op.results().next().map(|result| result.r#type())
}

/// Whether an op computes each element of its result from those at the same place of its operands.
pub fn is_elementwise(op: OperationRef<'_, '_>) -> bool {
    elementwise_name(op).is_some()
}

/// One element of the result of an elementwise op, from those of its operands. `None` if the op is not elementwise; an
/// error if there is no code for its types.
///
/// # Errors
/// There is no code for the op's types, which it names.
pub fn elementwise<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    op: OperationRef<'c, 'a>,
    operands: &[Scalar<'c, 'a>],
) -> Result<Option<Vec<Scalar<'c, 'a>>>, PassError<'c>> {
    let Some(name) = elementwise_name(op) else { return Ok(None) };
    let elements: Vec<Type<'c>> = op.operands().map(|operand| ir::element_of(operand.r#type())).collect();
    let result = result_type(op).map(ir::element_of);
    let scalar = match result {
        Some(result) if elements.len() == operands.len() => {
            compute(code, op, name, operands, &elements, result)?
        }
        _ => None,
    };
    match scalar {
        Some(scalar) => Ok(Some(vec![scalar])),
        None => {
            let types: Vec<String> = elements.iter().map(Type::to_string).collect();
            Err(PassError::at(op, format!("no code for elements of type {}", types.join(", "))))
        }
    }
}

fn compute<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    op: OperationRef<'c, 'a>,
    name: &str,
    operands: &[Scalar<'c, 'a>],
    elements: &[Type<'c>],
    result: Type<'c>,
) -> Result<Option<Scalar<'c, 'a>>, PassError<'c>> {
    let Some(kind) = elements.first().and_then(|element| Kind::of(*element)) else { return Ok(None) };
    let number = |name: &str| ir::constant_attribute(op, name);
    let scalar = match (name, operands) {
        ("select", [condition, on_true, on_false]) => {
            Some(code.select_scalar(condition.real(), *on_true, *on_false))
        }
        ("convert", [operand]) => convert(code, *operand, elements[0], result),
        ("bitcast_convert", [operand]) => bitcast(code, *operand, result),
        ("constant_like", _) => match ffi::attribute_of(op, "value") {
            Some(value) => Some(constant(code, value, result)?),
            None => None,
        },
        ("complex", [real, imaginary]) => Some(Scalar::Complex(real.real(), imaginary.real())),
        ("real", [operand]) => Some(Scalar::Real(operand.real())),
        ("imag", [Scalar::Complex(_, imaginary)]) => Some(Scalar::Real(*imaginary)),
        ("imag", [Scalar::Real(_)]) => {
            let single = Type::float32(code.context());
            convert(code, Scalar::Real(code.float(0.0, single)), single, result)
        }
        ("compare", [left, right]) => compare(code, op, *left, *right, kind, elements[0]),
        ("clamp", [low, operand, high]) => {
            let raised = match binary(code, "maximum", *operand, *low, kind, result) {
                Some(raised) => raised,
                None => return Ok(None),
            };
            binary(code, "minimum", raised, *high, kind, result)
        }
        ("reduce_precision", [operand]) => match (number("exponent_bits"), number("mantissa_bits")) {
            (Some(exponent), Some(mantissa)) => {
                convert::reduce_precision(code, *operand, elements[0], exponent, mantissa)
            }
            _ => None,
        },
        (_, [operand]) => unary(code, name, *operand, kind, elements[0]),
        (_, [left, right]) => binary(code, name, *left, *right, kind, elements[0]),
        _ => None,
    };
    Ok(scalar)
}

/// The same bits as an element of another type of the same width.
fn bitcast<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    operand: Scalar<'c, 'a>,
    result: Type<'c>,
) -> Option<Scalar<'c, 'a>> {
    let ty = register_type(code, result)?;
    let cast = |value: Value<'c, 'a>| {
        if value.r#type() == ty { value } else { code.op("arith.bitcast", &[value], ty) }
    };
    let width = |ty| quant::Number::of(ty).width();
    match (operand, complex_part(result)) {
        (Scalar::Complex(real, imaginary), Some(_)) => Some(Scalar::Complex(cast(real), cast(imaginary))),
        (Scalar::Real(value), None) if width(value.r#type()) == width(ty) => Some(Scalar::Real(cast(value))),
        // Four and six bits in a byte, and integers of as many.
        (Scalar::Real(value), None) => Some(Scalar::Real(code.resize(value, ty, false))),
        (Scalar::Complex(real, imaginary), None) => {
            let half = code.int(width(real.r#type())?);
            let whole = code.int(64);
            let bits = |value| code.resize(code.op("arith.bitcast", &[value], half), whole, false);
            let high = code.binary("arith.shli", bits(imaginary), code.integer(32, whole));
            let all = code.binary("arith.ori", bits(real), high);
            Some(Scalar::Real(if ty == whole { all } else { code.op("arith.bitcast", &[all], ty) }))
        }
        (Scalar::Real(value), Some(part)) => {
            let whole = code.int(64);
            let half = code.int(32);
            let bits =
                if value.r#type() == whole { value } else { code.op("arith.bitcast", &[value], whole) };
            let high = code.binary("arith.shrui", bits, code.integer(32, whole));
            let cast = |bits| code.op("arith.bitcast", &[code.resize(bits, half, false)], part);
            Some(Scalar::Complex(cast(bits), cast(high)))
        }
    }
}

fn unary<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    name: &str,
    operand: Scalar<'c, 'a>,
    kind: Kind<'c>,
    element: Type<'c>,
) -> Option<Scalar<'c, 'a>> {
    match (kind, operand) {
        (Kind::Integer { signed, .. }, Scalar::Real(value)) => {
            integers::unary(code, name, value, signed).map(Scalar::Real)
        }
        (Kind::Complex(_), Scalar::Complex(real, imaginary)) => {
            complex::unary(name, Num::new(code, real), Num::new(code, imaginary))
        }
        (_, Scalar::Real(value)) => {
            let x = widen(code, value, element)?;
            if let Some(truth) = floats::predicate(name, x) {
                return Some(Scalar::Real(truth.value));
            }
            let y = floats::unary(name, x).or_else(|| special::unary(name, x))?;
            Some(Scalar::Real(round_to(y, element)))
        }
        _ => None,
    }
}

fn binary<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    name: &str,
    left: Scalar<'c, 'a>,
    right: Scalar<'c, 'a>,
    kind: Kind<'c>,
    element: Type<'c>,
) -> Option<Scalar<'c, 'a>> {
    match (kind, left, right) {
        (Kind::Integer { signed, .. }, Scalar::Real(left), Scalar::Real(right)) => {
            integers::binary(code, name, left, right, signed).map(Scalar::Real)
        }
        (Kind::Complex(_), Scalar::Complex(..), Scalar::Complex(..)) => {
            complex::binary(code, name, left, right)
        }
        (_, Scalar::Real(left), Scalar::Real(right)) => {
            if name == "next_after" {
                return special::next_after(code, left, right, element).map(Scalar::Real);
            }
            let (x, y) = (widen(code, left, element)?, widen(code, right, element)?);
            let z = floats::binary(name, x, y).or_else(|| special::binary(name, x, y))?;
            Some(Scalar::Real(round_to(z, element)))
        }
        _ => None,
    }
}

fn compare<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    op: OperationRef<'c, 'a>,
    left: Scalar<'c, 'a>,
    right: Scalar<'c, 'a>,
    kind: Kind<'c>,
    element: Type<'c>,
) -> Option<Scalar<'c, 'a>> {
    let (direction, order) = comparison(op)?;
    let integers = |signed| match (direction, signed) {
        (ComparisonDirection::Eq, _) => Int::Eq,
        (ComparisonDirection::Ne, _) => Int::Ne,
        (ComparisonDirection::Ge, true) => Int::Sge,
        (ComparisonDirection::Ge, false) => Int::Uge,
        (ComparisonDirection::Gt, true) => Int::Sgt,
        (ComparisonDirection::Gt, false) => Int::Ugt,
        (ComparisonDirection::Le, true) => Int::Sle,
        (ComparisonDirection::Le, false) => Int::Ule,
        (ComparisonDirection::Lt, true) => Int::Slt,
        (ComparisonDirection::Lt, false) => Int::Ult,
    };
    let floats = match direction {
        ComparisonDirection::Eq => Float::Oeq,
        ComparisonDirection::Ne => Float::Une,
        ComparisonDirection::Ge => Float::Oge,
        ComparisonDirection::Gt => Float::Ogt,
        ComparisonDirection::Le => Float::Ole,
        ComparisonDirection::Lt => Float::Olt,
    };
    let result = match (kind, left, right) {
        (Kind::Integer { signed, .. }, Scalar::Real(left), Scalar::Real(right)) => {
            code.compare(integers(signed), left, right)
        }
        (
            Kind::Complex(_),
            Scalar::Complex(real, imaginary),
            Scalar::Complex(other_real, other_imaginary),
        ) => {
            let both = match direction {
                ComparisonDirection::Eq => "arith.andi",
                ComparisonDirection::Ne => "arith.ori",
                _ => return None,
            };
            let reals = code.compare_floats(floats, real, other_real);
            code.binary(both, reals, code.compare_floats(floats, imaginary, other_imaginary))
        }
        (_, Scalar::Real(left), Scalar::Real(right)) if order == Some(ComparisonType::TotalOrder) => {
            // Negative numbers' magnitudes are counted from the other end.
            let key = |value| {
                let bits = widen(code, value, element)?.bits();
                let width = quant::Number::of(bits.r#type()).width()?;
                let sign =
                    code.binary("arith.shrsi", bits, code.integer(i64::from(width) - 1, bits.r#type()));
                let flips = code.binary("arith.shrui", sign, code.integer(1, bits.r#type()));
                Some(code.binary("arith.xori", bits, flips))
            };
            code.compare(integers(true), key(left)?, key(right)?)
        }
        (_, Scalar::Real(left), Scalar::Real(right)) => {
            code.compare_floats(floats, widen(code, left, element)?.value, widen(code, right, element)?.value)
        }
        _ => return None,
    };
    Some(Scalar::Real(result))
}

/// What a comparison of either dialect asks.
fn comparison(op: OperationRef<'_, '_>) -> Option<(ComparisonDirection, Option<ComparisonType>)> {
    let direction = ffi::attribute_of(op, "comparison_direction")?;
    let order = ffi::attribute_of(op, "compare_type");
    if op_name(op).starts_with("chlo.") {
        use slimhlo_dialect::chlo::attrs as chlo;
        // Both dialects have the same cases under the same numbers.
        let direction = chlo::ComparisonDirection::view(direction)? as usize;
        let direction = ComparisonDirection::ALL.iter().copied().find(|case| *case as usize == direction)?;
        let total = order.and_then(chlo::ComparisonType::view) == Some(chlo::ComparisonType::TotalOrder);
        return Some((direction, total.then_some(ComparisonType::TotalOrder)));
    }
    let order = order.and_then(|order| ComparisonType::try_from(order).ok());
    Some((ComparisonDirection::try_from(direction).ok()?, order))
}
