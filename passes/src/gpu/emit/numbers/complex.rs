// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Complex numbers, two f32 or f64 each.
//!
//! Formulas avoid overflow and cancellation where the result has neither: Smith's quotient; Kahan's square root, hyperbolic
//! and inverse hyperbolic tangent ("Branch cuts for complex elementary functions", 1987); inverse sine and cosine after
//! Hull, Fairgrieve and Tang (1997).

use super::num::{Num, Truth};
use crate::gpu::emit::code::{Code, Scalar};
use std::f64::consts::{FRAC_PI_2, LN_2};

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
    let z = complex(re, im);
    // tan z = -i tanh(iz), and the like.
    let turned = complex(-im, re);
    let back = |w: Complex<'k, 'c, 'a>| complex(w.im, -w.re);
    let result = match name {
        "abs" => return Some(Scalar::Real(modulus(re, im).value)),
        "negate" => complex(-re, -im),
        "conj" => complex(re, -im),
        "square" => complex((re - im) * (re + im), 2.0 * re * im),
        "sign" => sign(z),
        "exponential" => exp(z),
        "exponential_minus_one" => expm1(z),
        "log" => log(z),
        "log_plus_one" => log1p(z),
        "logistic" => {
            let power = exp(complex(-re, -im));
            divide(complex(re.constant(1.0), re.constant(0.0)), complex(1.0 + power.re, power.im))
        }
        "sqrt" => {
            let root = sqrt(z);
            complex(root.re, signed(root.im.abs(), im))
        }
        "rsqrt" => divide(complex(re.constant(1.0), re.constant(0.0)), sqrt(z)),
        "cbrt" => {
            let radius = modulus(re, im).call("math.cbrt");
            let angle = im.atan2(re) * (1.0 / 3.0);
            complex(radius * angle.cos(), radius * angle.sin())
        }
        "sinh" => complex(times_sinh(im.cos(), re), times_cosh(im.sin(), re)),
        "cosh" => complex(times_cosh(im.cos(), re), times_sinh(im.sin(), re)),
        "sine" => complex(times_cosh(re.sin(), im), times_sinh(re.cos(), im)),
        "cosine" => complex(times_cosh(re.cos(), im), -times_sinh(re.sin(), im)),
        "tanh" => tanh(z),
        "tan" => back(tanh(turned)),
        "asin" => {
            let (opposite, imaginary) = inverse_sine(re.abs(), im.abs());
            complex(re.atan2(opposite), signed(imaginary, im))
        }
        "acos" => {
            let (opposite, imaginary) = inverse_sine(re.abs(), im.abs());
            complex(opposite.atan2(re), -signed(imaginary, im))
        }
        "acosh" => {
            let (opposite, imaginary) = inverse_sine(re.abs(), im.abs());
            complex(imaginary, signed(opposite.atan2(re), im))
        }
        "asinh" => {
            let (opposite, imaginary) = inverse_sine(im.abs(), re.abs());
            complex(signed(imaginary, re), im.atan2(opposite))
        }
        "atanh" => {
            let (parallel, angle) = inverse_tangent(re.abs(), im);
            complex(signed(parallel, re), angle)
        }
        // i atan z = atanh(iz)
        "atan" => {
            let (parallel, angle) = inverse_tangent(im.abs(), re);
            complex(angle, signed(parallel, im))
        }
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
        "multiply" => multiply(x, y),
        "divide" => divide(x, y),
        "power" => power(x, y),
        // By imaginary parts where real ones are equal, as the specification has it; XLA does not look at them.
        "maximum" => pick(x.re.gt(y.re) | (x.re.eq(y.re) & x.im.gt(y.im)), x, y),
        "minimum" => pick(x.re.lt(y.re) | (x.re.eq(y.re) & x.im.lt(y.im)), x, y),
        "atan2" => {
            // -i log((y + ix) / sqrt(x^2 + y^2))
            let (xx, yy) = (multiply(x, x), multiply(y, y));
            let radius = sqrt(complex(xx.re + yy.re, xx.im + yy.im));
            let angle = log(divide(complex(y.re - x.im, y.im + x.re), radius));
            complex(angle.im, -angle.re)
        }
        _ => return None,
    };
    Some(Scalar::Complex(result.re.value, result.im.value))
}

/// A number that is not negative, with the sign of another. On a branch cut either zero means the upper side, as to XLA.
fn signed<'k, 'c: 'a, 'a>(magnitude: Num<'k, 'c, 'a>, sign: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    sign.lt(0.0).pick(-magnitude, magnitude)
}

fn pick<'k, 'c: 'a, 'a>(
    condition: Truth<'k, 'c, 'a>,
    x: Complex<'k, 'c, 'a>,
    y: Complex<'k, 'c, 'a>,
) -> Complex<'k, 'c, 'a> {
    complex(condition.pick(x.re, y.re), condition.pick(x.im, y.im))
}

fn multiply<'k, 'c: 'a, 'a>(x: Complex<'k, 'c, 'a>, y: Complex<'k, 'c, 'a>) -> Complex<'k, 'c, 'a> {
    complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)
}

/// The larger and the smaller of two magnitudes, in any order if one is a NaN.
fn ordered<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>, y: Num<'k, 'c, 'a>) -> (Num<'k, 'c, 'a>, Num<'k, 'c, 'a>) {
    let (x, y) = (x.abs(), y.abs());
    let swap = x.lt(y);
    (swap.pick(y, x), swap.pick(x, y))
}

/// sqrt(x^2 + y^2); infinite if either is, but not beside a NaN.
fn modulus<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>, y: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let (large, small) = ordered(x, y);
    let ratio = small / large;
    let result = large * (1.0 + ratio * ratio).sqrt();
    let result = large.eq(0.0).pick(small, result);
    large.is_infinite().pick(large + small, result)
}

/// A number of modulus 1 of the same direction; zero stays.
fn sign<'k, 'c: 'a, 'a>(z: Complex<'k, 'c, 'a>) -> Complex<'k, 'c, 'a> {
    let radius = modulus(z.re, z.im);
    let zero = radius.eq(0.0);
    complex(zero.pick(z.re, z.re / radius), zero.pick(z.im, z.im / radius))
}

/// factor * cosh(x), where only the product need be within range.
fn times_cosh<'k, 'c: 'a, 'a>(factor: Num<'k, 'c, 'a>, x: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let large = x.abs().gt(x.constants(80.0, 700.0));
    let half = (x.abs() * 0.5).exp();
    large.pick(factor * 0.5 * half * half, factor * x.call("math.cosh"))
}

/// factor * sinh(x), where only the product need be within range.
fn times_sinh<'k, 'c: 'a, 'a>(factor: Num<'k, 'c, 'a>, x: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let large = x.abs().gt(x.constants(80.0, 700.0));
    let half = (x.abs() * 0.5).exp();
    let far = factor * x.constant(0.5).copysign(x) * half * half;
    large.pick(far, factor * x.call("math.sinh"))
}

fn exp<'k, 'c: 'a, 'a>(z: Complex<'k, 'c, 'a>) -> Complex<'k, 'c, 'a> {
    // Twice the half, where only the products are within range.
    let large = z.re.abs().gt(z.re.constants(80.0, 700.0));
    let first = large.pick(z.re * 0.5, z.re).exp();
    let second = large.pick(first, 1.0);
    let real = z.im.eq(0.0);
    let im = z.im.sin() * first * second;
    complex(z.im.cos() * first * second, real.pick(z.im, im))
}

fn expm1<'k, 'c: 'a, 'a>(z: Complex<'k, 'c, 'a>) -> Complex<'k, 'c, 'a> {
    let half = (z.im * 0.5).sin();
    let re = z.re.expm1() * z.im.cos() - 2.0 * half * half;
    let power = exp(z);
    let far = z.re.gt(z.re.constants(80.0, 700.0));
    complex(far.pick(power.re, z.im.eq(0.0).pick(z.re.expm1(), re)), power.im)
}

/// log sqrt(x^2 + y^2)
fn log_modulus<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>, y: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let (large, small) = ordered(x, y);
    let ratio = large.eq(0.0).pick(0.0, small / large);
    let apart = large.log() + 0.5 * (ratio * ratio).log1p();
    // Near 1 the sum would cancel.
    let close = 0.5 * ((large - 1.0) * (large + 1.0) + small * small).log1p();
    let is_close = large.gt(0.5) & large.lt(2.0);
    let result = is_close.pick(close, apart);
    large.is_infinite().pick(large + small, result)
}

fn log<'k, 'c: 'a, 'a>(z: Complex<'k, 'c, 'a>) -> Complex<'k, 'c, 'a> {
    complex(log_modulus(z.re, z.im), z.im.atan2(z.re))
}

fn log1p<'k, 'c: 'a, 'a>(z: Complex<'k, 'c, 'a>) -> Complex<'k, 'c, 'a> {
    let next = z.re + 1.0;
    let (large, _) = ordered(z.re, z.im);
    let close = 0.5 * (z.re * (z.re + 2.0) + z.im * z.im).log1p();
    let re = large.lt(0.5).pick(close, log_modulus(next, z.im));
    complex(re, z.im.atan2(next))
}

fn divide<'k, 'c: 'a, 'a>(x: Complex<'k, 'c, 'a>, y: Complex<'k, 'c, 'a>) -> Complex<'k, 'c, 'a> {
    // The larger part of the divisor is divided by; the other way round, both numbers are turned by a right angle.
    let turn = y.re.abs().lt(y.im.abs());
    let (large, small) = (turn.pick(y.im, y.re), turn.pick(-y.re, y.im));
    let (re, im) = (turn.pick(x.im, x.re), turn.pick(-x.re, x.im));
    let ratio = small / large;
    let scale = large + small * ratio;
    let quotient = complex((re + im * ratio) / scale, (im - re * ratio) / scale);
    // Division by zero, of an infinity, and by one, where that has come to a NaN.
    let lost = quotient.re.is_nan() & quotient.im.is_nan();
    let zero = y.re.eq(0.0) & y.im.eq(0.0) & !(x.re.is_nan() & x.im.is_nan());
    let infinity = y.re.constant(f64::INFINITY).copysign(y.re);
    let by_zero = complex(infinity * x.re, infinity * x.im);
    let infinite = x.re.is_infinite() | x.im.is_infinite();
    let infinite_divisor = y.re.is_infinite() | y.im.is_infinite();
    let finite = x.re.is_finite() & x.im.is_finite();
    let finite_divisor = y.re.is_finite() & y.im.is_finite();
    let unit = |n: Num<'k, 'c, 'a>| n.is_infinite().pick(1.0, n.constant(0.0)).copysign(n);
    let (a, b) = (unit(x.re), unit(x.im));
    let of_infinity = complex((a * y.re + b * y.im) * f64::INFINITY, (b * y.re - a * y.im) * f64::INFINITY);
    let (c, d) = (unit(y.re), unit(y.im));
    let by_infinity = complex((x.re * c + x.im * d) * 0.0, (x.im * c - x.re * d) * 0.0);
    let choose = |quotient: Num<'k, 'c, 'a>, zeros, infinities, by_infinities| {
        let other = (infinite_divisor & finite).pick(by_infinities, quotient);
        let other = (infinite & finite_divisor).pick(infinities, other);
        lost.pick(zero.pick(zeros, other), quotient)
    };
    complex(
        choose(quotient.re, by_zero.re, of_infinity.re, by_infinity.re),
        choose(quotient.im, by_zero.im, of_infinity.im, by_infinity.im),
    )
}

fn sqrt<'k, 'c: 'a, 'a>(z: Complex<'k, 'c, 'a>) -> Complex<'k, 'c, 'a> {
    let (x, y) = (z.re.abs(), z.im.abs());
    let (large, _) = ordered(x, y);
    // Scaled by a power of four, so that neither squares nor the sum leave the range.
    let (bound, tiny) =
        if x.is_double() { (2f64.powi(1000), 2f64.powi(-960)) } else { (2f64.powi(120), 2f64.powi(-100)) };
    let (shrink, grow) = (2f64.powi(-8), if x.is_double() { 2f64.powi(200) } else { 2f64.powi(40) });
    let is_large = large.gt(bound);
    let is_tiny = large.lt(tiny);
    let scale = is_large.pick(x.constant(shrink), is_tiny.pick(grow, x.constant(1.0)));
    let unscale =
        is_large.pick(x.constant(1.0 / shrink.sqrt()), is_tiny.pick(1.0 / grow.sqrt(), x.constant(1.0)));
    let (x, y) = (x * scale, y * scale);
    let root = ((x + modulus(x, y)) * 0.5).sqrt();
    let other = root.eq(0.0).pick(root, y / (root * 2.0));
    let right = z.re.ge(0.0);
    let re = right.pick(root, other) * unscale;
    let im = right.pick(other, root) * unscale;
    let infinite = z.im.is_infinite();
    let re_infinite = z.re.is_infinite();
    let zero_beside = re_infinite & !infinite & !z.im.is_nan();
    let re = (zero_beside & z.re.lt(0.0)).pick(0.0, re);
    let im = (zero_beside & z.re.gt(0.0)).pick(0.0, im);
    complex(infinite.pick(f64::INFINITY, re), infinite.pick(z.im, im.copysign(z.im)))
}

fn tanh<'k, 'c: 'a, 'a>(z: Complex<'k, 'c, 'a>) -> Complex<'k, 'c, 'a> {
    let far = z.re.abs().gt(z.re.constants(10.0, 20.0));
    // |tanh| is 1 to all digits, and the imaginary part as good as 2 sin(2y) exp(-2x).
    let decay = (z.re.abs() * -1.0).exp();
    let distant = complex(z.re.constant(1.0).copysign(z.re), 4.0 * z.im.sin() * z.im.cos() * decay * decay);
    let x = far.pick(0.0, z.re);
    let tangent = z.im.call("math.tan");
    let beta = 1.0 + tangent * tangent;
    let sinh = x.call("math.sinh");
    let rho = (1.0 + sinh * sinh).sqrt();
    let below = 1.0 + beta * sinh * sinh;
    let near = complex(beta * rho * sinh / below, tangent / below);
    let im = z.im.eq(0.0).pick(z.im, far.pick(distant.im, near.im));
    let infinite = z.re.is_infinite();
    let no_angle = infinite & !z.im.is_finite();
    complex(far.pick(distant.re, near.re), no_angle.pick(0.0, im))
}

/// For x and y not negative: the side that makes asin(x + iy).re = atan2(x, side) and acos(x + iy).re = atan2(side, x), and
/// asin(x + iy).im.
fn inverse_sine<'k, 'c: 'a, 'a>(
    x: Num<'k, 'c, 'a>,
    y: Num<'k, 'c, 'a>,
) -> (Num<'k, 'c, 'a>, Num<'k, 'c, 'a>) {
    // Far from all of 1, -1 and 0 the function is a logarithm.
    let huge = if x.is_double() { 2f64.powi(500) } else { 2f64.powi(60) };
    let (large, small) = ordered(x, y);
    let far = large.gt(huge);
    let ratio = (large.is_infinite() & small.is_finite()).pick(0.0, large.eq(small).pick(1.0, small / large));
    let distant = large.log() + LN_2 + 0.5 * (ratio * ratio).log1p();
    let (nx, ny) = (far.pick(1.0, x), far.pick(1.0, y));

    let r = modulus(nx + 1.0, ny);
    let s = modulus(nx - 1.0, ny);
    let a = (r + s) * 0.5;
    let inside = nx.le(1.0);
    let square = ny * ny;
    let first = square / (r + (nx + 1.0));
    // s - |x - 1|, without cancelling.
    let gap = inside.pick(1.0 - nx, nx - 1.0);
    let sum = s + gap;
    let rest = sum.eq(0.0).pick(0.0, square / sum);
    let side_inside = (0.5 * (a + nx) * (first + sum)).sqrt();
    let side_outside = ny * (0.5 * ((a + nx) / (r + (nx + 1.0)) + (a + nx) / sum)).sqrt();
    let side = inside.pick(side_inside, side_outside);
    let a_minus_one = 0.5 * (first + inside.pick(rest, sum));
    let near = (a_minus_one + (a_minus_one * (a + 1.0)).sqrt()).log1p();
    // Where y^2 is too small for the sums to feel it.
    let flat = ny.lt(gap * if x.is_double() { 2f64.powi(-54) } else { 2f64.powi(-25) }) & inside;
    let near = flat.pick(ny / ((1.0 - nx) * (1.0 + nx)).sqrt(), near);
    let at_one = gap.eq(0.0) & ny.lt(if x.is_double() { 2f64.powi(-500) } else { 2f64.powi(-50) });
    let near = at_one.pick(ny.sqrt(), near);
    let side = at_one.pick(ny.sqrt(), side);
    (far.pick(y, side), far.pick(distant, near))
}

/// Both parts of atanh(x + iy), for x not negative.
fn inverse_tangent<'k, 'c: 'a, 'a>(
    x: Num<'k, 'c, 'a>,
    y: Num<'k, 'c, 'a>,
) -> (Num<'k, 'c, 'a>, Num<'k, 'c, 'a>) {
    let (large, _) = ordered(x, y);
    let far = large.gt(x.constants(2f64.powi(30), 2f64.powi(60)));
    // 1/z, beside an angle of a right one.
    let radius = modulus(x, y);
    let distant = (large.is_infinite() | y.is_infinite()).pick(0.0, x / radius / radius);
    let below = 1.0 - x;
    let square = y * y;
    let near = 0.25 * (4.0 * x / (below * below + square)).log1p();
    // At 1, where y^2 vanishes.
    let tiny = y.abs().lt(x.constants(2f64.powi(-50), 2f64.powi(-500)));
    let at_one = x.eq(1.0) & tiny & y.ne(0.0);
    let near = at_one.pick(0.5 * (LN_2 - y.abs().log()), near);
    let angle = 0.5 * (2.0 * y).atan2(below * (1.0 + x) - square);
    let right = signed(y.constant(FRAC_PI_2), y);
    let angle = (far & !y.is_nan()).pick(right, angle);
    (far.pick(distant, near), angle)
}

/// x to the power y = c + id: |x|^c exp(-d arg x), turned by c arg x + d log |x|. Zero to a power that is not real is a NaN.
fn power<'k, 'c: 'a, 'a>(x: Complex<'k, 'c, 'a>, y: Complex<'k, 'c, 'a>) -> Complex<'k, 'c, 'a> {
    let radius = modulus(x.re, x.im);
    let angle = x.im.atan2(x.re);
    let real = y.im.eq(0.0);
    let length = radius.pow(y.re) * real.pick(1.0, (-(y.im * angle)).exp());
    let turn = y.re * angle + real.pick(0.0, y.im * log_modulus(x.re, x.im));
    complex(length * turn.cos(), length * turn.sin())
}
