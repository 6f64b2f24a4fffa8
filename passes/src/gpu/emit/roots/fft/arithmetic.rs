// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is done with complex numbers, and transforms of a few of them.

use super::super::arithmetic::fused;
use crate::gpu::emit::code::Code;
use melior::ir::{Type, Value};
use std::f64::consts::PI;

/// A real and an imaginary part.
pub type Parts<'c, 'a> = [Value<'c, 'a>; 2];

pub struct Arithmetic<'k, 'c, 'a> {
    pub code: &'k Code<'c, 'a>,
    /// Type of a real number.
    pub part: Type<'c>,
    pub inverse: bool,
}

impl<'c: 'a, 'a> Arithmetic<'_, 'c, 'a> {
    fn number(&self, value: f64) -> Value<'c, 'a> {
        self.code.float(value, self.part)
    }

    pub fn add(&self, left: Parts<'c, 'a>, right: Parts<'c, 'a>) -> Parts<'c, 'a> {
        [0, 1].map(|part| fused(self.code, "arith.addf", left[part], right[part]))
    }

    pub fn subtract(&self, left: Parts<'c, 'a>, right: Parts<'c, 'a>) -> Parts<'c, 'a> {
        [0, 1].map(|part| fused(self.code, "arith.subf", left[part], right[part]))
    }

    pub fn times(&self, [a, b]: Parts<'c, 'a>, [c, d]: Parts<'c, 'a>) -> Parts<'c, 'a> {
        let product = |left, right| fused(self.code, "arith.mulf", left, right);
        let real = fused(self.code, "arith.subf", product(a, c), product(b, d));
        [real, fused(self.code, "arith.addf", product(a, d), product(b, c))]
    }

    fn scaled(&self, [a, b]: Parts<'c, 'a>, by: f64) -> Parts<'c, 'a> {
        [a, b].map(|part| fused(self.code, "arith.mulf", part, self.number(by)))
    }

    pub fn conjugate(&self, [a, b]: Parts<'c, 'a>) -> Parts<'c, 'a> {
        [a, self.code.unary("arith.negf", b)]
    }

    /// A quarter of the circle further, or back.
    pub fn quarter(&self, [a, b]: Parts<'c, 'a>, further: bool) -> Parts<'c, 'a> {
        let negative = |value| self.code.unary("arith.negf", value);
        if further { [negative(b), a] } else { [b, negative(a)] }
    }

    /// Half of the sum and of the difference of one number and the conjugate of another one.
    pub fn even_and_odd(&self, one: Parts<'c, 'a>, other: Parts<'c, 'a>) -> [Parts<'c, 'a>; 2] {
        let other = self.conjugate(other);
        [self.add(one, other), self.subtract(one, other)].map(|both| self.scaled(both, 0.5))
    }

    /// The transform of a few elements.
    pub fn transform(&self, elements: &[Parts<'c, 'a>]) -> Vec<Parts<'c, 'a>> {
        match elements.len() {
            1 => elements.to_vec(),
            count if count.is_multiple_of(2) => self.transform_even(elements),
            _ => self.transform_odd(elements),
        }
    }

    /// Halves of an even number of elements by themselves.
    fn transform_even(&self, elements: &[Parts<'c, 'a>]) -> Vec<Parts<'c, 'a>> {
        let count = elements.len();
        let direction = if self.inverse { 2.0 } else { -2.0 };
        let half = |odd: usize| -> Vec<_> { elements.iter().copied().skip(odd).step_by(2).collect() };
        let (even, odd) = (self.transform(&half(0)), self.transform(&half(1)));
        let turned = odd.into_iter().enumerate().map(|(at, element)| match at {
            0 => element,
            _ if 4 * at == count => self.quarter(element, self.inverse),
            _ => {
                let angle = direction * PI * at as f64 / count as f64;
                self.times(element, [angle.cos(), angle.sin()].map(|number| self.number(number)))
            }
        });
        let turned: Vec<_> = turned.collect();
        let sums = even.iter().zip(&turned).map(|(even, odd)| self.add(*even, *odd));
        let differences = even.iter().zip(&turned).map(|(even, odd)| self.subtract(*even, *odd));
        sums.chain(differences).collect()
    }

    /// Elements as far from the beginning and from the end are turned by as much, in opposite directions: their sums
    /// meet cosines alone, their differences sines, and the same ones for two frequencies.
    fn transform_odd(&self, elements: &[Parts<'c, 'a>]) -> Vec<Parts<'c, 'a>> {
        let count = elements.len();
        let pairs: Vec<_> = (1..=count / 2)
            .map(|at| (elements[at], elements[count - at]))
            .map(|(one, other)| (self.add(one, other), self.subtract(one, other)))
            .collect();
        let mut made = vec![pairs.iter().fold(elements[0], |sum, pair| self.add(sum, pair.0)); count];
        for frequency in 1..=count / 2 {
            let mut cosines = elements[0];
            let mut sines: Option<Parts<'c, 'a>> = None;
            for (at, (sum, difference)) in pairs.iter().enumerate() {
                let turn = (at + 1) * frequency % count;
                let angle = 2.0 * PI * turn as f64 / count as f64;
                cosines = self.add(cosines, self.scaled(*sum, angle.cos()));
                let more = self.scaled(*difference, angle.sin());
                sines = Some(sines.map_or(more, |sines| self.add(sines, more)));
            }
            let Some(sines) = sines.map(|sines| self.quarter(sines, self.inverse)) else { continue };
            made[frequency] = self.add(cosines, sines);
            made[count - frequency] = self.subtract(cosines, sines);
        }
        made
    }
}
