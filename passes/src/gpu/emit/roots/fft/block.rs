// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Transforms whose lines a block of threads holds in its own memory: one launch for each dimension, and no scratch
//! memory but for the complex numbers that several dimensions hand on to a real result.
//!
//! A block loads some lines, each element to the place that the digits of its number have in reverse order,
//! transforms them in place factor by factor, and stores them. After factors whose product is `l`, each run of `l`
//! places is a transform of length `l`; a factor `r` makes runs of `l r` of `r` of them, each thread `r` elements at
//! a time. A line is read whole before any of it is written, so that a dimension is transformed where it lies, and
//! the first one may be where the operand is.
//!
//! Lines along another dimension than the last are taken side by side, so that what is read together lies together;
//! so are rows of a transposed operand. Places are spread by one for each 32, lest reversed digits meet in one bank.

use super::super::arithmetic::fused;
use super::super::group::{Group, Size, load, store};
use super::super::reducer::bytes_of;
use super::super::{Launch, Result, result_buffers};
use super::{Dim, Plan, factors, root_of_unity};
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::{Kernel, count_of};
use crate::gpu::emit::tile;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value};
use slimhlo_dialect::quant::Number;
use std::f64::consts::PI;

/// Bytes of a block's memory.
const MOST_BYTES: i64 = 48 << 10;
/// The largest factor whose elements a thread holds.
const LARGEST: i64 = 13;
/// Lines that a block takes side by side, and elements of them that are enough for its threads.
const MOST_LINES: i64 = 16;
const ENOUGH: i64 = 2048;
/// Places to each of which one is added.
const BANKS: i64 = 32;

/// Places that a line of `n` takes.
fn spread(n: i64) -> i64 {
    n + n / BANKS + 1
}

/// Lines that a block holds of a dimension; none if not even one fits.
fn lines(dim: &Dim, part: Type<'_>) -> i64 {
    let bytes = 2 * bytes_of(part) as i64;
    let fit = MOST_BYTES / spread(dim.n).saturating_mul(bytes).max(1);
    let wanted = (ENOUGH / dim.n.max(1)).clamp(4, MOST_LINES).min(fit);
    let count = wanted.min(dim.lines()).max(i64::from(fit > 0));
    // A power of two.
    if count == 0 { 0 } else { 1 << count.ilog2() }
}

/// Whether all lines of a transform fit.
pub fn fits(plan: &Plan<'_>) -> bool {
    plan.dims
        .iter()
        .all(|dim| lines(dim, plan.part) > 0 && factors(dim.n).into_iter().all(|factor| factor <= LARGEST))
}

/// Bytes of scratch memory.
pub fn scratch(plan: &Plan<'_>) -> Vec<u64> {
    let between = plan.dims.first().map_or(0, |dim| count_of(&dim.to) as u64);
    if plan.is_complex() || plan.dims.len() < 2 {
        return vec![];
    }
    vec![between.saturating_mul(2 * bytes_of(plan.part)).max(1)]
}

/// The launches.
pub fn launches<'c>(plan: &Plan<'c>) -> Vec<Launch<'c>> {
    let launch = |dim: &Dim| {
        let lines = lines(dim, plan.part);
        let memory = lines * spread(dim.n);
        let tasks = (dim.lines() + lines - 1) / lines;
        Launch::of_blocks(tasks).with(plan.part, memory).with(plan.part, memory)
    };
    plan.dims.iter().map(launch).collect()
}

/// Writes the launch of one dimension.
pub fn emit<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    plan: &Plan<'c>,
    launch: usize,
) -> Result<'c, ()> {
    let dim = &plan.dims[launch];
    let lines = lines(dim, plan.part);
    let group = Group::new(&kernel.code, Size::Block);
    let result = result_buffers(kernel, op)?[0];
    let is_alone = plan.is_complex() || plan.dims.len() < 2;
    let between = if is_alone { result } else { kernel.scratch_pointer(0) };
    let block = Block { kernel, op, plan, dim, lines, group, between, result, launch };
    let tasks = (dim.lines() + lines - 1) / lines;
    let code = &kernel.code;
    block.group.tasks(code, tasks, |task| {
        let first = code.mul(task, code.index(lines));
        block.read(first)?;
        code.effect("gpu.barrier", &[]);
        let mut before = 1;
        for factor in factors(dim.n).into_iter().filter(|factor| *factor > 1) {
            block.pass(before, factor)?;
            code.effect("gpu.barrier", &[]);
            before *= factor;
        }
        block.write(first)?;
        // The next lines take the place of these.
        code.effect("gpu.barrier", &[]);
        Ok(())
    })
}

/// A launch being written.
struct Block<'k, 'c, 'a> {
    kernel: &'k Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    plan: &'k Plan<'c>,
    dim: &'k Dim,
    lines: i64,
    group: Group<'c, 'a>,
    /// Where complex numbers lie between two dimensions.
    between: Value<'c, 'a>,
    result: Value<'c, 'a>,
    launch: usize,
}

impl<'c: 'a, 'a> Block<'_, 'c, 'a> {
    /// Does something for each line of the block and each of `count` numbers along it: neighbours in memory by
    /// neighbouring threads.
    fn each(
        &self,
        count: i64,
        along: bool,
        body: impl FnOnce(Value<'c, 'a>, Value<'c, 'a>) -> Result<'c, ()>,
    ) -> Result<'c, ()> {
        let code = &self.kernel.code;
        let all = code.index(count * self.lines);
        code.for_loop(self.group.lane, all, self.group.threads, &[], |at, _| {
            if along {
                body(code.div(at, count), code.rem(at, count))?;
            } else {
                body(code.rem(at, self.lines), code.div(at, self.lines))?;
            }
            Ok(vec![])
        })
        .map(|_| ())
    }

    /// An element's index by its line and its number along it.
    fn index(&self, line: Value<'c, 'a>, at: Value<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let mut others = self.dim.from.clone();
        others.remove(self.dim.dim);
        let mut index = self.kernel.indices(&others, line);
        index.insert(self.dim.dim, at);
        index
    }

    /// Where a place of a line of the block is in its memory.
    fn place(&self, line: Value<'c, 'a>, at: Value<'c, 'a>) -> Value<'c, 'a> {
        let code = &self.kernel.code;
        let start = code.mul(line, code.index(spread(self.dim.n)));
        code.add(start, code.add(at, code.div(at, BANKS)))
    }

    fn load(&self, at: Value<'c, 'a>) -> [Value<'c, 'a>; 2] {
        [0, 1].map(|part| load(&self.kernel.code, self.kernel.shared(part), at, self.plan.part))
    }

    fn store(&self, at: Value<'c, 'a>, [real, imaginary]: [Value<'c, 'a>; 2]) {
        store(&self.kernel.code, self.kernel.shared(0), at, real);
        store(&self.kernel.code, self.kernel.shared(1), at, imaginary);
    }

    /// Loads the lines from `first` on; what is after the last one is read again.
    fn read(&self, first: Value<'c, 'a>) -> Result<'c, ()> {
        let (kernel, dim) = (self.kernel, self.dim);
        let code = &kernel.code;
        let is_last = dim.dim + 1 == dim.from.len();
        let along = match self.launch {
            0 => is_last && tile::lies_along(self.op.operand(0)?, dim.dim),
            _ => is_last,
        };
        self.each(dim.n, along, |number, at| {
            let mut line = code.add(first, number);
            if dim.lines() % self.lines != 0 {
                line = code.binary("arith.minui", line, code.index(dim.lines() - 1));
            }
            // The upper half is the conjugate of the lower one, from its end.
            let upper = dim.is_half.then(|| code.compare(Int::Ugt, at, code.index(dim.n / 2)));
            let from = match upper {
                Some(upper) => code.select(upper, code.sub(code.index(dim.n), at), at),
                None => at,
            };
            let index = self.index(line, from);
            let [real, mut imaginary] = self.element(&index)?;
            if let Some(upper) = upper {
                imaginary = code.select(upper, code.unary("arith.negf", imaginary), imaginary);
            }
            let (mut rest, mut reversed, mut before) = (at, code.index(0), dim.n);
            for factor in factors(dim.n).into_iter().rev() {
                before /= factor;
                reversed = code.add(reversed, code.mul(code.rem(rest, factor), code.index(before)));
                rest = code.div(rest, factor);
            }
            self.store(self.place(number, reversed), [real, imaginary]);
            Ok(())
        })
    }

    fn element(&self, index: &[Value<'c, 'a>]) -> Result<'c, [Value<'c, 'a>; 2]> {
        let (kernel, part) = (self.kernel, self.plan.part);
        let code = &kernel.code;
        if self.launch == 0 {
            return Ok(match kernel.element(self.op.operand(0)?, index)? {
                Scalar::Real(real) => [real, code.float(0.0, part)],
                Scalar::Complex(real, imaginary) => [real, imaginary],
            });
        }
        let position = code.mul(kernel.linear(&self.dim.from, index), code.index(2));
        let real = kernel.load(self.between, part, position)?.real();
        let imaginary = kernel.load(self.between, part, code.add(position, code.index(1)))?.real();
        Ok([real, imaginary])
    }

    /// Makes transforms of `before * factor` elements of those of `before`.
    fn pass(&self, before: i64, factor: i64) -> Result<'c, ()> {
        let code = &self.kernel.code;
        let length = before * factor;
        self.each(self.dim.n / factor, true, |line, number| {
            let frequency = code.rem(number, before);
            let start = code.mul(code.div(number, before), code.index(length));
            let start = code.add(start, frequency);
            let places: Vec<_> = (0..factor)
                .map(|number| self.place(line, code.add(start, code.index(number * before))))
                .collect();
            let mut elements: Vec<_> = places.iter().map(|place| self.load(*place)).collect();
            for (number, element) in elements.iter_mut().enumerate().skip(1).filter(|_| before > 1) {
                let turn = code.mul(frequency, code.index(number as i64));
                let turn = root_of_unity(self.kernel, turn, length, self.plan.part, self.plan.inverse);
                *element = self.times(*element, [turn.0, turn.1]);
            }
            for (place, element) in places.iter().zip(self.transform(&elements)) {
                self.store(*place, element);
            }
            Ok(())
        })
    }

    /// The transform of a few elements: halves of even numbers of them by themselves.
    fn transform(&self, elements: &[[Value<'c, 'a>; 2]]) -> Vec<[Value<'c, 'a>; 2]> {
        let code = &self.kernel.code;
        let count = elements.len();
        let number = |value: f64| code.float(value, self.plan.part);
        let direction = if self.plan.inverse { 2.0 } else { -2.0 };
        let turn = |turn: usize| direction * PI * (turn % count) as f64 / count as f64;
        let both = |name: &str, left: [Value<'c, 'a>; 2], right: [Value<'c, 'a>; 2]| {
            [fused(code, name, left[0], right[0]), fused(code, name, left[1], right[1])]
        };
        if count == 1 {
            return elements.to_vec();
        }
        if count.is_multiple_of(2) {
            let half = |odd: usize| -> Vec<_> { elements.iter().copied().skip(odd).step_by(2).collect() };
            let (even, odd) = (self.transform(&half(0)), self.transform(&half(1)));
            let turned: Vec<_> = odd
                .into_iter()
                .enumerate()
                .map(|(at, element)| {
                    let negative = |value| code.unary("arith.negf", value);
                    // A quarter of the circle changes real and imaginary parts.
                    match (at, 4 * at == count) {
                        (0, _) => element,
                        (_, true) if self.plan.inverse => [negative(element[1]), element[0]],
                        (_, true) => [element[1], negative(element[0])],
                        _ => self.times(element, [number(turn(at).cos()), number(turn(at).sin())]),
                    }
                })
                .collect();
            let sums = even.iter().zip(&turned).map(|(even, odd)| both("arith.addf", *even, *odd));
            let differences = even.iter().zip(&turned).map(|(even, odd)| both("arith.subf", *even, *odd));
            return sums.chain(differences).collect();
        }
        let sum = |frequency: usize| {
            let terms = elements.iter().enumerate().skip(1).map(|(at, element)| {
                let angle = turn(at * frequency);
                if frequency == 0 {
                    *element
                } else {
                    self.times(*element, [angle.cos(), angle.sin()].map(number))
                }
            });
            terms.fold(elements[0], |sum, term| both("arith.addf", sum, term))
        };
        (0..count).map(sum).collect()
    }

    fn times(&self, [a, b]: [Value<'c, 'a>; 2], [c, d]: [Value<'c, 'a>; 2]) -> [Value<'c, 'a>; 2] {
        let code = &self.kernel.code;
        let product = |left, right| fused(code, "arith.mulf", left, right);
        let real = fused(code, "arith.subf", product(a, c), product(b, d));
        [real, fused(code, "arith.addf", product(a, d), product(b, c))]
    }

    /// Stores the lines from `first` on.
    fn write(&self, first: Value<'c, 'a>) -> Result<'c, ()> {
        let (kernel, plan, dim) = (self.kernel, self.plan, self.dim);
        let code = &kernel.code;
        let is_final = self.launch + 1 == plan.dims.len();
        let along = dim.dim + 1 == dim.from.len();
        self.each(dim.to[dim.dim], along, |number, at| {
            let line = code.add(first, number);
            let store = || {
                let [mut real, mut imaginary] = self.load(self.place(number, at));
                if plan.inverse {
                    let scale = code.float(dim.n as f64, plan.part);
                    [real, imaginary] = [real, imaginary].map(|part| code.binary("arith.divf", part, scale));
                }
                let position = kernel.linear(&dim.to, &self.index(line, at));
                if is_final {
                    let value = match Number::of(plan.result.element) {
                        Number::Complex { .. } => Scalar::Complex(real, imaginary),
                        _ => Scalar::Real(real),
                    };
                    return kernel.store(self.result, plan.result.element, position, value);
                }
                let position = code.mul(position, code.index(2));
                kernel.store(self.between, plan.part, position, Scalar::Real(real))?;
                let position = code.add(position, code.index(1));
                kernel.store(self.between, plan.part, position, Scalar::Real(imaginary))
            };
            if dim.lines() % self.lines == 0 {
                return store();
            }
            code.if_then(code.compare(Int::Ult, line, code.index(dim.lines())), store)
        })
    }
}
