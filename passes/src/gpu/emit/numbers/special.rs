// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Functions of CHLO, over what both libm and libdevice have.
//!
//! The numerics of those that neither has are from textbook expansions, whose coefficients are computed here when code is
//! written: Taylor series (`lgamma` about 2, the modified Bessel function about 0), Stirling's and Hankel's asymptotic
//! series, the Euler-Maclaurin formula (Hurwitz' `zeta`), reflection and recurrence; `erf_inv` starts from Winitzki's
//! closed form and improves it by Halley's method.

use super::num::{Num, Truth};
use super::{Kind, round_to, widen};
use crate::gpu::emit::code::{Code, Int};
use melior::ir::{Type, Value};
use std::f64::consts::PI;

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

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
        "erf_inv" => erf_inv(x),
        "lgamma" => lgamma(x),
        "digamma" => digamma(x),
        "bessel_i1e" => bessel_i1e(x),
        _ => return None,
    })
}

/// An op of two operands; `None` if there is no such op.
pub fn binary<'k, 'c: 'a, 'a>(name: &str, x: Num<'k, 'c, 'a>, y: Num<'k, 'c, 'a>) -> Option<Num<'k, 'c, 'a>> {
    Some(match name {
        "zeta" => zeta(x, y),
        "polygamma" => polygamma(x, y),
        _ => return None,
    })
}

/// Bernoulli numbers of even index from 2 on, each as zeta(2k) gives it: 2 (2k)! zeta(2k) / (2 pi)^2k, of alternating sign.
pub fn bernoulli(count: usize) -> Vec<f64> {
    let mut numbers = Vec::new();
    let mut scale = 2.0;
    for k in 1..=count {
        let n = 2.0 * k as f64;
        scale *= n * (n - 1.0) / (4.0 * PI * PI);
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        numbers.push(sign * scale * (1.0 + riemann_zeta_minus_one(2 * k as i32)));
    }
    numbers
}

/// zeta(k) - 1 for whole k from 2 on: the first terms, and the rest by the Euler-Maclaurin formula.
pub fn riemann_zeta_minus_one(k: i32) -> f64 {
    const TERMS: i32 = 64;
    let end = f64::from(TERMS);
    let order = f64::from(k);
    let power = end.powi(-k);
    let rest = power * end / (order - 1.0) + power / 2.0 + order * power / (12.0 * end)
        - order * (order + 1.0) * (order + 2.0) * power / (720.0 * end.powi(3))
        + order * (order + 1.0) * (order + 2.0) * (order + 3.0) * (order + 4.0) * power
            / (30240.0 * end.powi(5));
    // The smallest first.
    rest + (2..TERMS).rev().map(|n| f64::from(n).powi(-k)).sum::<f64>()
}

/// Whether a number is whole.
fn is_whole<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>) -> Truth<'k, 'c, 'a> {
    x.floor().eq(x)
}

/// How far |x| is from the nearest whole number, and whether that is below it.
fn distance<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>) -> (Num<'k, 'c, 'a>, Truth<'k, 'c, 'a>) {
    let magnitude = x.abs();
    let fraction = magnitude - magnitude.floor();
    let below = fraction.le(0.5);
    (below.pick(fraction, 1.0 - fraction), below)
}

/// The logarithm of the magnitude of the gamma function.
///
/// About 2, its Taylor series; from there to 1 and to 8 by the recurrence; Stirling's series beyond; reflection for
/// negative numbers.
fn lgamma<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let reflected = x.lt(0.0);
    // Exact enough: where the difference is rounded, what it is subtracted from is larger by far.
    let y = reflected.pick(1.0 - x, x);

    // log gamma(2 + t) = (1 - EULER) t + sum of (-1)^k (zeta(k) - 1) t^k / k over k from 2 on, |t| <= 1/2.
    let terms = if x.is_double() { 26 } else { 13 };
    let mut series: Vec<f64> = (2..=terms)
        .rev()
        .map(|k| (if k % 2 == 0 { 1.0 } else { -1.0 }) * riemann_zeta_minus_one(k) / f64::from(k))
        .collect();
    series.push(1.0 - EULER);
    let shifts = if x.is_double() { 6 } else { 4 };
    let stirling_from = 2.5 + f64::from(shifts) - 0.5;
    // From above: (y - 1) (y - 2) ... down to 2 + t.
    let mut t = y - 2.0;
    let mut product = y.constant(1.0);
    for _ in 0..shifts {
        let above = t.gt(0.5);
        product = above.pick(product * (t + 1.0), product);
        t = above.pick(t - 1.0, t);
    }
    // From below: log gamma(y) = log gamma(y + 1) - log y, once or twice.
    let small = y.lt(0.5);
    let low = y.lt(1.5);
    let factor = small.pick(y * (1.0 + y), low.pick(y, product));
    let t = small.pick(y, low.pick(y - 1.0, t));
    let large = y.ge(stirling_from);
    let logarithm = large.pick(y, factor).log();
    let near = t * t.polynomial(&series) + low.pick(-logarithm, logarithm);

    // (y - 1/2) (log y - 1) + (log(2 pi) - 1) / 2 + sum of B_2k / (2k (2k - 1) y^(2k - 1)).
    let inverse = 1.0 / y;
    let stirling: Vec<f64> = bernoulli(if x.is_double() { 9 } else { 5 })
        .iter()
        .enumerate()
        .map(|(place, number)| {
            let n = 2.0 * (place + 1) as f64;
            number / (n * (n - 1.0))
        })
        .rev()
        .collect();
    let rest = (inverse * inverse).polynomial(&stirling) * inverse + ((2.0 * PI).ln() - 1.0) / 2.0;
    let far = (y - 0.5) * (logarithm - 1.0) + rest;
    let positive = large.pick(far, near);

    // gamma(x) gamma(1 - x) = pi / sin(pi x).
    let (fraction, _) = distance(x);
    let sine = (fraction * PI).sin();
    let negative = PI.ln() - sine.log() - positive;
    let pole = x.le(0.0) & is_whole(x);
    let infinite = pole | x.is_infinite();
    infinite.pick(f64::INFINITY, reflected.pick(negative, positive))
}

/// The derivative of the logarithm of the gamma function: the recurrence up to where its asymptotic series holds, and
/// reflection for negative numbers. A NaN at 0 and at negative whole numbers.
fn digamma<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let reflected = x.lt(0.0);
    let mut y = reflected.pick(1.0 - x, x);
    let (steps, terms) = if x.is_double() { (10, 8) } else { (6, 4) };
    let mut sum = y.constant(0.0);
    for _ in 0..steps {
        let small = y.lt(f64::from(steps));
        sum = small.pick(sum - 1.0 / y, sum);
        y = small.pick(y + 1.0, y);
    }
    // log y - 1 / 2y - sum of B_2k / (2k y^2k).
    let series: Vec<f64> = bernoulli(terms)
        .iter()
        .enumerate()
        .map(|(place, number)| number / (2.0 * (place + 1) as f64))
        .rev()
        .collect();
    let inverse = 1.0 / y;
    let square = inverse * inverse;
    let tail = square * square.polynomial(&series);
    let positive = y.log() - 0.5 * inverse - tail + sum;
    // psi(1 - x) - psi(x) = pi cot(pi x).
    let (fraction, below) = distance(x);
    let angle = fraction * PI;
    let cotangent = angle.cos() / angle.sin() * PI;
    // pi cot(pi x) is odd and has period 1.
    let negative = positive + below.pick(cotangent, -cotangent);
    let pole = x.le(0.0) & is_whole(x);
    pole.pick(f64::NAN, reflected.pick(negative, positive))
}

/// exp(-|x|) I1(x): the Taylor series, whose terms all have one sign, up to where Hankel's asymptotic series holds.
fn bessel_i1e<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let (border, terms, far_terms) = if x.is_double() { (20.0, 44, 34) } else { (12.0, 22, 14) };
    let magnitude = x.abs();
    let far = magnitude.gt(border);
    // (x/2) * sum of (x/2)^2k / (k! (k + 1)!).
    let mut coefficient = 1.0;
    let mut series = vec![coefficient];
    for k in 1..terms {
        coefficient /= f64::from(k) * f64::from(k + 1);
        series.push(coefficient);
    }
    series.reverse();
    let half = 0.5 * far.pick(1.0, magnitude);
    let near = half * (half * half).polynomial(&series) * (-(half + half)).exp();
    // 1 / sqrt(2 pi x) * sum of (-1)^k (4 - 1) (4 - 9) ... (4 - (2k - 1)^2) / (k! (8x)^k).
    let mut coefficient = 1.0;
    let mut series = vec![coefficient];
    for k in 1..far_terms {
        let odd = 2.0 * f64::from(k) - 1.0;
        coefficient *= -(4.0 - odd * odd) / (8.0 * f64::from(k));
        series.push(coefficient);
    }
    series.reverse();
    let y = far.pick(magnitude, border);
    let distant = (1.0 / y).polynomial(&series) / (y.sqrt() * (2.0 * PI).sqrt());
    let result = far.pick(distant, near);
    x.is_nan().pick(x, result.copysign(x))
}

/// The inverse of the error function: NaN outside of [-1, 1], infinities at its ends.
fn erf_inv<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let magnitude = x.abs();
    // Winitzki: erf(y)^2 is about 1 - exp(-y^2 (4 / pi + a y^2) / (1 + a y^2)), which can be solved for y.
    const A: f64 = 0.147;
    let complement = 1.0 - magnitude;
    let logarithm = (complement * (1.0 + magnitude)).log();
    let half = 0.5 * logarithm + 2.0 / (PI * A);
    let root = (half * half - logarithm * (1.0 / A)).sqrt();
    // The smaller of two nearly equal numbers' difference, as a quotient.
    let first = (-logarithm * (1.0 / A) / (root + half)).abs().sqrt();
    let large = (root - half).abs().sqrt();
    let first = half.gt(0.0).pick(first, large);
    let tiny = magnitude.lt(0.01);
    let line = magnitude * (PI.sqrt() / 2.0) * (1.0 + magnitude * magnitude * (PI / 12.0));
    let mut y = tiny.pick(line, first);
    let upper = magnitude.gt(0.5);
    for _ in 0..if x.is_double() { 3 } else { 2 } {
        // By how much erf(y) is too large; from its complement where that is the smaller.
        let excess = upper.pick(complement - y.call("math.erfc"), y.call("math.erf") - magnitude);
        let newton = excess * (y * y).exp() * (PI.sqrt() / 2.0);
        y = y - newton / (1.0 + y * newton);
    }
    let y = magnitude.eq(1.0).pick(f64::INFINITY, y);
    let y = magnitude.gt(1.0).pick(f64::NAN, y);
    y.copysign(x)
}

/// Hurwitz' zeta function, the sum of (q + n)^-x over n from 0 on, by the Euler-Maclaurin formula. Infinite at x = 1 and
/// where a term is, to an even power; a NaN for x < 1, and where a negative number is raised to what is not whole.
fn zeta<'k, 'c: 'a, 'a>(x: Num<'k, 'c, 'a>, q: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let (steps, terms) = if x.is_double() { (12, 10) } else { (9, 6) };
    let mut sum = x.constant(0.0);
    let mut base = q;
    for _ in 0..steps {
        sum = sum + base.pow(-x);
        base = base + 1.0;
    }
    let power = base.pow(-x);
    let mut tail = power * base / (x - 1.0) + 0.5 * power;
    // B_2k / (2k)! * x (x + 1) ... (x + 2k - 2) * base^(-x - 2k + 1).
    let inverse = 1.0 / base;
    let mut rising = x * power * inverse;
    let mut factorial = 1.0;
    for (place, number) in bernoulli(terms).iter().enumerate() {
        let n = 2.0 * (place + 1) as f64;
        factorial *= n * (n - 1.0);
        tail = tail + rising * (number / factorial);
        rising = rising * ((x + (n - 1.0)) * inverse) * ((x + n) * inverse);
    }
    // What has vanished or cannot be computed beside terms so small adds nothing.
    let negligible = power.eq(0.0) | tail.is_nan();
    let result = negligible.pick(sum, sum + tail);
    let nonpositive = q.le(0.0);
    let pole = nonpositive & is_whole(q);
    let undefined = x.lt(1.0) | (nonpositive & !is_whole(x)) | x.is_nan() | q.is_nan();
    let half = x * 0.5;
    let even = half.floor().eq(half);
    // Terms of an odd power have both signs about a pole.
    let at_pole = even.pick(x.constant(f64::INFINITY), f64::NAN);
    let result = pole.pick(at_pole, result);
    let result = undefined.pick(f64::NAN, result);
    x.eq(1.0).pick(f64::INFINITY, result)
}

/// The derivative of order n of `digamma`: (-1)^(n + 1) n! zeta(n + 1, x). A NaN unless n is whole and not negative.
fn polygamma<'k, 'c: 'a, 'a>(n: Num<'k, 'c, 'a>, x: Num<'k, 'c, 'a>) -> Num<'k, 'c, 'a> {
    let next = n + 1.0;
    let magnitude = lgamma(next).exp() * zeta(next, x);
    let half = n * 0.5;
    let even = half.floor().eq(half);
    let higher = even.pick(-magnitude, magnitude);
    let result = n.eq(0.0).pick(digamma(x), higher);
    (n.lt(0.0) | !is_whole(n)).pick(f64::NAN, result)
}

/// The number next to `from` in the direction of `to`: its bits as an integer, one up or down.
pub fn next_after<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    from: Value<'c, 'a>,
    to: Value<'c, 'a>,
    element: Type<'c>,
) -> Option<Value<'c, 'a>> {
    let Kind::Float { bits } = Kind::of(element)? else { return None };
    let (x, y) = (widen(code, from, element)?, widen(code, to, element)?);
    let ty = code.int(bits);
    let constant = |value| code.integer(value, ty);
    let own = code.op("arith.bitcast", &[from], ty);
    let away = code.binary("arith.xori", x.lt(y).value, code.compare(Int::Slt, own, constant(0)));
    let step = code.select(away, constant(1), constant(-1));
    let stepped = code.binary("arith.addi", own, step);
    // From either zero to the smallest number of the other's sign.
    let sign_mask = i64::MIN >> (64 - bits);
    let direction = code.op("arith.bitcast", &[to], ty);
    let smallest =
        code.binary("arith.ori", code.binary("arith.andi", direction, constant(sign_mask)), constant(1));
    let result = code.select(x.eq(0.0).value, smallest, stepped);
    let result = code.op("arith.bitcast", &[result], element);
    let result = code.select(x.eq(y).value, to, result);
    let nan = round_to(x.constant(f64::NAN), element);
    Some(code.select((x.is_nan() | y.is_nan()).value, nan, result))
}
