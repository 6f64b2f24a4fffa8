// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Complex numbers.

use super::num::Num;
use crate::gpu::emit::code::{Code, Scalar};

/// A complex number in registers.
#[derive(Clone, Copy)]
struct Complex<'k, 'c, 'a> {
    re: Num<'k, 'c, 'a>,
    im: Num<'k, 'c, 'a>,
}

fn complex<'k, 'c: 'a, 'a>(re: Num<'k, 'c, 'a>, im: Num<'k, 'c, 'a>) -> Complex<'k, 'c, 'a> {
    Complex { re, im }
}

/// An op of one operand; `None` if there is no such op.
pub fn unary<'k, 'c: 'a, 'a>(name: &str, re: Num<'k, 'c, 'a>, im: Num<'k, 'c, 'a>) -> Option<Scalar<'c, 'a>> {
    let result = match name {
        "negate" => complex(-re, -im),
        "conj" => complex(re, -im),
        _ => return None,
    };
    Some(Scalar::Complex(result.re.value, result.im.value))
}

/// An op of two operands; `None` if there is no such op.
pub fn binary<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    name: &str,
    left: Scalar<'c, 'a>,
    right: Scalar<'c, 'a>,
) -> Option<Scalar<'c, 'a>> {
    let (Scalar::Complex(a, b), Scalar::Complex(c, d)) = (left, right) else { return None };
    let num = |value| Num::new(code, value);
    let (x, y) = (complex(num(a), num(b)), complex(num(c), num(d)));
    let result = match name {
        "add" => complex(x.re + y.re, x.im + y.im),
        "subtract" => complex(x.re - y.re, x.im - y.im),
        "multiply" => complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re),
        _ => return None,
    };
    Some(Scalar::Complex(result.re.value, result.im.value))
}
