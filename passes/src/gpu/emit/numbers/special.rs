// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Functions of CHLO.

use super::num::Num;
use crate::gpu::emit::code::Code;
use melior::ir::{Type, Value};

/// An op of one operand; `None` if there is no such op.
pub fn unary<'k, 'c: 'a, 'a>(name: &str, x: Num<'k, 'c, 'a>) -> Option<Num<'k, 'c, 'a>> {
    Some(match name {
        "conj" => x,
        "acos" => x.call("math.acos"),
        "acosh" => x.call("math.acosh"),
        "asin" => x.call("math.asin"),
        "asinh" => x.call("math.asinh"),
        "atan" => x.call("math.atan"),
        "atanh" => x.call("math.atanh"),
        "cosh" => x.call("math.cosh"),
        "sinh" => x.call("math.sinh"),
        "erf" => x.call("math.erf"),
        "erfc" => x.call("math.erfc"),
        _ => return None,
    })
}

/// An op of two operands; `None` if there is no such op.
pub fn binary<'k, 'c: 'a, 'a>(
    _name: &str,
    _x: Num<'k, 'c, 'a>,
    _y: Num<'k, 'c, 'a>,
) -> Option<Num<'k, 'c, 'a>> {
    None
}

/// The number next to `from` in the direction of `to`.
pub fn next_after<'c: 'a, 'a>(
    _code: &Code<'c, 'a>,
    _from: Value<'c, 'a>,
    _to: Value<'c, 'a>,
    _element: Type<'c>,
) -> Option<Value<'c, 'a>> {
    None
}
