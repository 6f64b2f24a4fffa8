// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Transforms whose lines a block of threads holds in its own memory: `stages.rs` says in which launches.
//!
//! A block loads some lines, each element to the place that the digits of its number have in reverse order,
//! transforms them in place factor by factor, and stores them. After factors whose product is `l`, each run of `l`
//! places is a transform of length `l`; a factor `r` makes runs of `l r` of `r` of them, each thread `r` elements at
//! a time. A line is read whole before any of it is written, so that a dimension is transformed where it lies, and
//! the first one may be where the operand is.
//!
//! Lines along another dimension than the last are taken side by side, so that what is read together lies together;
//! so are rows of a transposed operand. Places are spread by one for each 32, lest reversed digits meet in one bank.

use super::super::group::{Group, Size, load, store};
use super::super::{Launch, Result, result_buffers};
use super::arithmetic::{Arithmetic, Parts};
use super::stages::{BANKS, Layout, Stage, Step, spread};
use super::{Plan, factors, root_of_unity};
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::{Kernel, count_of};
use crate::gpu::emit::tile;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::quant::Number;

/// The launches.
pub fn launches<'c>(plan: &Plan<'c>, steps: &[Step]) -> Vec<Launch<'c>> {
    let launch = |step: &Step| match step {
        Step::Lines(stage) => {
            let memory = stage.together * spread(stage.n);
            Launch::of_blocks(stage.tasks()).with(plan.part, memory).with(plan.part, memory)
        }
        Step::Halves { .. } => Launch::of_threads(count_of(&halves(plan))),
    };
    steps.iter().map(launch).collect()
}

/// Writes one of the launches.
pub fn emit<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    plan: &Plan<'c>,
    steps: &[Step],
    launch: usize,
) -> Result<'c, ()> {
    let code = &kernel.code;
    let result = result_buffers(kernel, op)?[0];
    let arithmetic = Arithmetic { code, part: plan.part, inverse: plan.inverse };
    let (is_first, is_final) = (launch == 0, launch + 1 == steps.len());
    let numbers = Numbers { kernel, plan, layout: Layout::of(plan), result };
    let stage = match &steps[launch] {
        Step::Lines(stage) => stage,
        Step::Halves { n } => return join_halves(&numbers, &arithmetic, *n),
    };
    let group = Group::new(code, Size::Block);
    let block = Block { numbers, op, stage, arithmetic, group, is_first, is_final };
    block.group.tasks(code, stage.tasks(), |task| {
        let first = code.mul(task, code.index(stage.together));
        block.read(first)?;
        code.effect("gpu.barrier", &[]);
        let mut before = 1;
        for factor in factors(stage.n).into_iter().filter(|factor| *factor > 1) {
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

/// For each thread of [`Step::Halves`] a place: of each row, those up to the middle of the frequencies.
fn halves(plan: &Plan<'_>) -> Vec<i64> {
    let mut shape = plan.result.shape.to_vec();
    if let Some(last) = shape.last_mut() {
        *last = (*last - 1) / 2 + 1;
    }
    shape
}

/// [`Step::Halves`], for each two frequencies of a row that are as far from its beginning and from its end.
fn join_halves<'c: 'a, 'a>(
    numbers: &Numbers<'_, 'c, 'a>,
    arithmetic: &Arithmetic<'_, 'c, 'a>,
    n: i64,
) -> Result<'c, ()> {
    let (kernel, part) = (numbers.kernel, numbers.plan.part);
    let code = &kernel.code;
    let shape = halves(numbers.plan);
    kernel.grid_stride(count_of(&shape), |position| {
        let index = kernel.indices(&shape, position);
        let Some((&at, row)) = index.split_last() else { return Ok(()) };
        let place = |at: Value<'c, 'a>| [row, &[at]].concat();
        let from_end = code.sub(code.index(n / 2), at);
        // The first is its own counterpart.
        let is_first = code.compare(Int::Eq, at, code.index(0));
        let other = numbers.load(&place(code.select(is_first, at, from_end)))?;
        let [even, odd] = arithmetic.even_and_odd(numbers.load(&place(at))?, other);
        let (cosine, sine) = root_of_unity(kernel, at, n, part, false);
        let odd = arithmetic.times(arithmetic.quarter(odd, false), [cosine, sine]);
        numbers.store(&place(at), arithmetic.add(even, odd))?;
        numbers.store(&place(from_end), arithmetic.conjugate(arithmetic.subtract(even, odd)))
    })
}

/// Complex numbers between launches.
struct Numbers<'k, 'c, 'a> {
    kernel: &'k Kernel<'c, 'a>,
    plan: &'k Plan<'c>,
    layout: Layout,
    result: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Numbers<'_, 'c, 'a> {
    /// Where the real part of a number is: a buffer, and a place among reals. The imaginary one follows it.
    fn place(&self, index: &[Value<'c, 'a>]) -> (Value<'c, 'a>, Value<'c, 'a>) {
        let code = &self.kernel.code;
        let twice = |value| code.mul(value, code.index(2));
        match (&self.layout, index.split_last()) {
            (Layout::Apart { shape, row }, Some((&at, rows))) => {
                let number = self.kernel.linear(&shape[..rows.len()], rows);
                let is_last = code.compare(Int::Eq, at, code.index(shape[rows.len()] - 1));
                let inside = code.add(code.mul(number, code.index(*row)), twice(at));
                (
                    code.select(is_last, self.kernel.scratch_pointer(0), self.result),
                    code.select(is_last, twice(number), inside),
                )
            }
            (Layout::Result(shape) | Layout::Apart { shape, .. }, _) => {
                (self.result, twice(self.kernel.linear(shape, index)))
            }
        }
    }

    fn load(&self, index: &[Value<'c, 'a>]) -> Result<'c, Parts<'c, 'a>> {
        let code = &self.kernel.code;
        let (buffer, place) = self.place(index);
        let real = self.kernel.load(buffer, self.plan.part, place)?.real();
        let imaginary = self.kernel.load(buffer, self.plan.part, code.add(place, code.index(1)))?.real();
        Ok([real, imaginary])
    }

    fn store(&self, index: &[Value<'c, 'a>], [real, imaginary]: Parts<'c, 'a>) -> Result<'c, ()> {
        let code = &self.kernel.code;
        let (buffer, place) = self.place(index);
        self.kernel.store(buffer, self.plan.part, place, Scalar::Real(real))?;
        self.kernel.store(buffer, self.plan.part, code.add(place, code.index(1)), Scalar::Real(imaginary))
    }
}

/// A launch being written.
struct Block<'k, 'c, 'a> {
    numbers: Numbers<'k, 'c, 'a>,
    op: OperationRef<'c, 'a>,
    stage: &'k Stage,
    arithmetic: Arithmetic<'k, 'c, 'a>,
    group: Group<'c, 'a>,
    is_first: bool,
    is_final: bool,
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
        let code = &self.numbers.kernel.code;
        let all = code.index(count * self.stage.together);
        code.for_loop(self.group.lane, all, self.group.threads, &[], |at, _| {
            if along {
                body(code.div(at, count), code.rem(at, count))?;
            } else {
                body(code.rem(at, self.stage.together), code.div(at, self.stage.together))?;
            }
            Ok(vec![])
        })
        .map(|_| ())
    }

    /// An element's index by its line and its number along it.
    fn index(&self, line: Value<'c, 'a>, at: Value<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let mut others = self.stage.from.clone();
        others.remove(self.stage.dim);
        let mut index = self.numbers.kernel.indices(&others, line);
        index.insert(self.stage.dim, at);
        index
    }

    /// Where a place of a line of the block is in its memory.
    fn place(&self, line: Value<'c, 'a>, at: Value<'c, 'a>) -> Value<'c, 'a> {
        let code = &self.numbers.kernel.code;
        let start = code.mul(line, code.index(spread(self.stage.n)));
        code.add(start, code.add(at, code.div(at, BANKS)))
    }

    fn load(&self, at: Value<'c, 'a>) -> Parts<'c, 'a> {
        let Numbers { kernel, plan, .. } = self.numbers;
        [0, 1].map(|part| load(&kernel.code, kernel.shared(part), at, plan.part))
    }

    fn store(&self, at: Value<'c, 'a>, [real, imaginary]: Parts<'c, 'a>) {
        let kernel = self.numbers.kernel;
        store(&kernel.code, kernel.shared(0), at, real);
        store(&kernel.code, kernel.shared(1), at, imaginary);
    }

    /// Loads the lines from `first` on; what is after the last one is read again.
    fn read(&self, first: Value<'c, 'a>) -> Result<'c, ()> {
        let stage = self.stage;
        let code = &self.numbers.kernel.code;
        let is_last = stage.dim + 1 == stage.from.len();
        let along =
            if self.is_first && is_last { tile::lies_along(self.op.operand(0)?, stage.dim) } else { is_last };
        self.each(stage.n, along, |number, at| {
            let mut line = code.add(first, number);
            if stage.lines() % stage.together != 0 {
                line = code.binary("arith.minui", line, code.index(stage.lines() - 1));
            }
            let element = self.element(line, at)?;
            let (mut rest, mut reversed, mut before) = (at, code.index(0), stage.n);
            for factor in factors(stage.n).into_iter().rev() {
                before /= factor;
                reversed = code.add(reversed, code.mul(code.rem(rest, factor), code.index(before)));
                rest = code.div(rest, factor);
            }
            self.store(self.place(number, reversed), element);
            Ok(())
        })
    }

    /// An element of a line as it is read.
    fn element(&self, line: Value<'c, 'a>, at: Value<'c, 'a>) -> Result<'c, Parts<'c, 'a>> {
        let (stage, code) = (self.stage, &self.numbers.kernel.code);
        if stage.is_packed {
            return self.packed(&self.joined(&stage.from, self.index(line, at)));
        }
        if !stage.is_half {
            return self.number(&self.joined(&stage.from, self.index(line, at)));
        }
        // The upper half is the conjugate of the lower one, from its end.
        let upper = code.compare(Int::Ugt, at, code.index(stage.n / 2));
        let from = code.select(upper, code.sub(code.index(stage.n), at), at);
        let [real, imaginary] = self.number(&self.index(line, from))?;
        Ok([real, code.select(upper, code.unary("arith.negf", imaginary), imaginary)])
    }

    /// A number that is read: of the operand, or where the launch before has left it.
    fn number(&self, index: &[Value<'c, 'a>]) -> Result<'c, Parts<'c, 'a>> {
        let Numbers { kernel, plan, .. } = self.numbers;
        if !self.is_first {
            return self.numbers.load(index);
        }
        Ok(match kernel.element(self.op.operand(0)?, index)? {
            Scalar::Real(real) => [real, kernel.code.float(0.0, plan.part)],
            Scalar::Complex(real, imaginary) => [real, imaginary],
        })
    }

    /// One of half as many complex numbers as there are reals: two neighbours of those that are read; or, of their
    /// frequencies, what they have in common with the ones as far from the end, and what sets them apart, turned back.
    fn packed(&self, index: &[Value<'c, 'a>]) -> Result<'c, Parts<'c, 'a>> {
        let Numbers { kernel, plan, .. } = self.numbers;
        let (code, arithmetic) = (&kernel.code, &self.arithmetic);
        let Some((&at, row)) = index.split_last() else { return self.number(index) };
        let number = |at: Value<'c, 'a>| self.number(&[row, &[at]].concat());
        if plan.is_complex() {
            let first = code.mul(at, code.index(2));
            return Ok([number(first)?[0], number(code.add(first, code.index(1)))?[0]]);
        }
        let n = plan.dims[0].n;
        let zero = code.float(0.0, plan.part);
        // Those of the first and the last have no imaginary part, whatever is there.
        let is_first = code.compare(Int::Eq, at, code.index(0));
        let [one, other] = [number(at)?, number(code.sub(code.index(n / 2), at))?]
            .map(|[real, imaginary]| [real, code.select(is_first, zero, imaginary)]);
        let [even, odd] = arithmetic.even_and_odd(one, other);
        let (cosine, sine) = root_of_unity(kernel, at, n, plan.part, true);
        Ok(arithmetic.add(even, arithmetic.quarter(arithmetic.times(odd, [cosine, sine]), true)))
    }

    /// An index by the dimensions that the operand and the result have.
    fn joined(&self, shape: &[i64], mut index: Vec<Value<'c, 'a>>) -> Vec<Value<'c, 'a>> {
        let code = &self.numbers.kernel.code;
        if let Some(dim) = self.stage.split {
            let inner = index.remove(dim + 1);
            index[dim] = code.add(code.mul(index[dim], code.index(shape[dim + 1])), inner);
        }
        index
    }

    /// Makes transforms of `before * factor` elements of those of `before`.
    fn pass(&self, before: i64, factor: i64) -> Result<'c, ()> {
        let Numbers { kernel, plan, .. } = self.numbers;
        let code = &kernel.code;
        let length = before * factor;
        self.each(self.stage.n / factor, true, |line, number| {
            let frequency = code.rem(number, before);
            let start = code.mul(code.div(number, before), code.index(length));
            let start = code.add(start, frequency);
            let places: Vec<_> = (0..factor)
                .map(|number| self.place(line, code.add(start, code.index(number * before))))
                .collect();
            let mut elements: Vec<_> = places.iter().map(|place| self.load(*place)).collect();
            for (number, element) in elements.iter_mut().enumerate().skip(1).filter(|_| before > 1) {
                let turn = code.mul(frequency, code.index(number as i64));
                let (cosine, sine) = root_of_unity(kernel, turn, length, plan.part, plan.inverse);
                *element = self.arithmetic.times(*element, [cosine, sine]);
            }
            for (place, element) in places.iter().zip(self.arithmetic.transform(&elements)) {
                self.store(*place, element);
            }
            Ok(())
        })
    }

    /// Stores the lines from `first` on.
    fn write(&self, first: Value<'c, 'a>) -> Result<'c, ()> {
        let stage = self.stage;
        let code = &self.numbers.kernel.code;
        // What is exchanged with the last dimension becomes the last one.
        let along = stage.dim + 1 + usize::from(stage.exchanges) == stage.to.len();
        let count = if stage.split.is_some() { stage.n } else { stage.to[stage.dim] };
        self.each(count, along, |number, at| {
            let line = code.add(first, number);
            let put = || self.put(line, at, self.load(self.place(number, at)));
            if stage.lines() % stage.together == 0 {
                return put();
            }
            code.if_then(code.compare(Int::Ult, line, code.index(stage.lines())), put)
        })
    }

    /// Stores an element of a line.
    fn put(&self, line: Value<'c, 'a>, at: Value<'c, 'a>, mut number: Parts<'c, 'a>) -> Result<'c, ()> {
        let Numbers { kernel, plan, result, .. } = self.numbers;
        let (code, stage) = (&kernel.code, self.stage);
        if plan.inverse {
            let scale = code.float(stage.n as f64, plan.part);
            number = number.map(|part| code.binary("arith.divf", part, scale));
        }
        let mut index = self.index(line, at);
        if stage.exchanges {
            let turn = code.mul(index[stage.dim], index[stage.dim + 1]);
            let of = stage.from[stage.dim] * stage.from[stage.dim + 1];
            let (cosine, sine) = root_of_unity(kernel, turn, of, plan.part, plan.inverse);
            number = self.arithmetic.times(number, [cosine, sine]);
            index.swap(stage.dim, stage.dim + 1);
        }
        let index = self.joined(&stage.to, index);
        match Number::of(plan.result.element) {
            Number::Complex { .. } => {
                let [real, imaginary] = number;
                let position = kernel.linear(plan.result.shape, &index);
                kernel.store(result, plan.result.element, position, Scalar::Complex(real, imaginary))
            }
            // Two neighbours of a real result are one of the numbers.
            _ if !self.is_final || stage.split.is_some() => self.numbers.store(&index, number),
            _ => {
                let position = kernel.linear(plan.result.shape, &index);
                kernel.store(result, plan.result.element, position, Scalar::Real(number[0]))
            }
        }
    }
}
