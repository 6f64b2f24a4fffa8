// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Fourier transforms of one to three dimensions, one dimension after the other. Lines that fit into the memory of a
//! block of threads are transformed there (`fft/block.rs`), longer ones in two launches of such lines, where there is
//! one dimension of them and its factors are small (`fft/stages.rs`); others by passes of a self-sorting Cooley-Tukey
//! scheme for any factors.
//!
//! After passes whose factors multiply to `l`, position `k * (n / l) + p` of a row of `n` has the transform of length `l`, at
//! frequency `k`, of the elements `p, p + n / l, p + 2 n / l, ...`. A pass of factor `r` sums, for each element of its
//! output, `r` elements of its input times roots of unity. A dimension costs `n` times the sum of its factors: 8, 4, 2 and
//! the odd primes of its size. Each pass is a launch. The last one writes the result, the one before it scratch memory, and so on by turns where
//! what is between fits into the result; else there is a second buffer of scratch memory.
//!
//! A real input gives the first half of frequencies only; of a complex one with a real result the other half is the
//! conjugate of the first. Inverses divide by the number of elements transformed.

mod arithmetic;
mod block;
mod stages;

use self::stages::{Layout, Step, steps};
use super::arithmetic::fused;
use super::reducer::bytes_of;
use super::serial::nest;
use super::{Launch, Result, result_buffers, scratch_count};
use crate::framework::PassError;
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::{Kernel, count_of, tensor};
use crate::ir;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value};
use slimhlo_dialect::ffi;
use slimhlo_dialect::quant::Number;
use slimhlo_dialect::stablehlo::attrs::FftType;
use slimhlo_dialect::types::Tensor;

/// One launch.
#[derive(Clone, Debug)]
struct Pass {
    dim: usize,
    /// Size of the transform, the product of the factors before this one, and this one.
    n: i64,
    before: i64,
    factor: i64,
    /// Shape of what is read and of what is written.
    from: Vec<i64>,
    to: Vec<i64>,
    /// Whether the upper half of frequencies is to be made of the lower one.
    is_half: bool,
    last_of_dim: bool,
}

/// A dimension that is transformed.
#[derive(Clone, Debug)]
struct Dim {
    dim: usize,
    /// Size of the transform.
    n: i64,
    /// Shape of what is read and of what is written.
    from: Vec<i64>,
    to: Vec<i64>,
    /// Whether the upper half of frequencies is to be made of the lower one.
    is_half: bool,
}

struct Plan<'c> {
    kind: FftType,
    result: Tensor<'c>,
    /// Type of a real number.
    part: Type<'c>,
    inverse: bool,
    dims: Vec<Dim>,
    passes: Vec<Pass>,
}

/// Where a pass writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Result,
    Scratch(usize),
}

impl Plan<'_> {
    /// Whether the result is of complex numbers.
    fn is_complex(&self) -> bool {
        matches!(Number::of(self.result.element), Number::Complex { .. })
    }

    /// Whether the operand is, too.
    fn is_of_complex(&self) -> bool {
        matches!(self.kind, FftType::Fft | FftType::Ifft)
    }

    /// Bytes of the most that is between two passes.
    fn between(&self) -> u64 {
        let between = &self.passes[..self.passes.len().saturating_sub(1)];
        let most = between.iter().map(|pass| count_of(&pass.to) as u64).max().unwrap_or(0);
        most.saturating_mul(2 * bytes_of(self.part)).max(1)
    }

    /// Where the pass of a launch writes to: the last one to the result, others by turns, so that none writes what it reads.
    fn place(&self, launch: usize) -> Place {
        let result = (count_of(self.result.shape) as u64).saturating_mul(bytes_of(self.result.element));
        match (self.passes.len() - 1).saturating_sub(launch) {
            0 => Place::Result,
            left if left % 2 == 1 => Place::Scratch(0),
            _ if self.between() <= result => Place::Result,
            _ => Place::Scratch(1),
        }
    }

    /// How many buffers of scratch memory that takes.
    fn scratch(&self) -> usize {
        let number = |launch| match self.place(launch) {
            Place::Result => 0,
            Place::Scratch(number) => number + 1,
        };
        (0..self.passes.len()).map(number).max().unwrap_or(0)
    }
}

/// Factors of a size; 1 for 1.
fn factors(mut n: i64) -> Vec<i64> {
    let mut found = Vec::new();
    for factor in [8, 4, 2] {
        while n % factor == 0 && n > 0 {
            found.push(factor);
            n /= factor;
        }
    }
    let mut factor = 3;
    while n > 1 {
        if factor * factor > n {
            factor = n;
        }
        while n % factor == 0 {
            found.push(factor);
            n /= factor;
        }
        factor += 2;
    }
    if found.is_empty() {
        found.push(1);
    }
    found
}

fn plan<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Plan<'c>> {
    let kind = ffi::attribute_of(op, "fft_type")
        .and_then(|kind| FftType::try_from(kind).ok())
        .ok_or_else(|| PassError::at(op, "has no type of transform"))?;
    let lengths = ir::i64_array(op, "fft_length").unwrap_or_default();
    let (input, result) = (tensor(op.operand(0)?)?, super::serial::result_tensor(op, 0)?);
    let part = |ty: Type<'c>| match Number::of(ty) {
        Number::Complex { part } => part,
        _ => ty,
    };
    let rank = input.rank();
    let first = rank.saturating_sub(lengths.len());
    let mut dims: Vec<usize> = (first..rank).rev().collect();
    if kind == FftType::Irfft {
        // The one that becomes real comes last.
        dims.rotate_left(1);
    }
    let (mut passes, mut whole) = (Vec::new(), Vec::new());
    let mut shape = input.shape.to_vec();
    for dim in dims {
        let n = lengths[dim - first];
        let is_last = dim + 1 == rank;
        let mut to = shape.clone();
        to[dim] = if is_last { result.shape[dim] } else { n };
        let is_half = kind == FftType::Irfft && is_last;
        whole.push(Dim { dim, n, from: shape.clone(), to, is_half });
        let factors = factors(n);
        let mut before = 1;
        for (number, &factor) in factors.iter().enumerate() {
            let last_of_dim = number + 1 == factors.len();
            let mut to = shape.clone();
            to[dim] = if last_of_dim && is_last { result.shape[dim] } else { n };
            passes.push(Pass {
                dim,
                n,
                before,
                factor,
                from: shape.clone(),
                to: to.clone(),
                is_half: is_half && number == 0,
                last_of_dim,
            });
            before *= factor;
            shape = to;
        }
    }
    let inverse = matches!(kind, FftType::Ifft | FftType::Irfft);
    Ok(Plan { kind, result, part: part(input.element), inverse, dims: whole, passes })
}

/// Whether each element of the operand is read once, by who writes the line that it is in: it may be computed on the
/// fly, and lie where the result does.
pub fn reads_once<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    let is_once = |step: &Step| matches!(step, Step::Lines(stage) if !stage.exchanges);
    plan(op).is_ok_and(|plan| steps(&plan).is_some_and(|steps| steps.iter().all(is_once)))
}

/// Bytes of scratch memory: what launches hand to each other, where that does not lie in the result.
pub fn scratch<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<u64>> {
    let plan = plan(op)?;
    if steps(&plan).is_some() {
        return Ok(Layout::of(&plan).scratch(plan.part));
    }
    Ok(vec![plan.between(); plan.scratch()])
}

/// The launches.
pub fn launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<Launch<'c>>> {
    let plan = plan(op)?;
    if let Some(steps) = steps(&plan) {
        return Ok(block::launches(&plan, &steps));
    }
    Ok(plan.passes.iter().map(|pass| Launch::of_threads(count_of(&pass.to))).collect())
}

/// Writes one launch.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>, launch: usize) -> Result<'c, ()> {
    let plan = plan(op)?;
    if scratch_count(op) < scratch(op)?.len() {
        return Err(PassError::at(op, "lacks scratch memory"));
    }
    if let Some(steps) = steps(&plan) {
        return block::emit(kernel, op, &plan, &steps, launch);
    }
    let code = &kernel.code;
    let last = plan.passes.len() - 1;
    let pass = &plan.passes[launch];
    let result = result_buffers(kernel, op)?[0];
    let buffer = |launch: usize| match plan.place(launch) {
        Place::Result => result,
        Place::Scratch(number) => kernel.scratch_pointer(number),
    };
    // Every second number in a buffer is the imaginary part.
    let read_part = |buffer: Value<'c, 'a>, position: Value<'c, 'a>, part: i64| {
        let at = code.add(code.mul(position, code.index(2)), code.index(part));
        kernel.load(buffer, plan.part, at)
    };
    let read = |index: &[Value<'c, 'a>]| -> Result<'c, Scalar<'c, 'a>> {
        if launch > 0 {
            let buffer = buffer(launch - 1);
            let position = kernel.linear(&pass.from, index);
            let real = read_part(buffer, position, 0)?.real();
            return Ok(Scalar::Complex(real, read_part(buffer, position, 1)?.real()));
        }
        Ok(match kernel.element(op.operand(0)?, index)? {
            Scalar::Real(real) => Scalar::Complex(real, code.float(0.0, plan.part)),
            complex => complex,
        })
    };
    let (n, l, r) = (pass.n, pass.before, pass.factor);
    let rest = n / (l * r).max(1);
    kernel.grid_stride(count_of(&pass.to), |position| {
        let index = kernel.indices(&pass.to, position);
        let at = index[pass.dim];
        let (frequency, offset) = (code.div(at, rest), code.rem(at, rest));
        let row = code.add(code.mul(code.rem(frequency, l), code.index(n / l)), offset);
        let term = |number: Value<'c, 'a>| -> Result<'c, Scalar<'c, 'a>> {
            let from = code.add(row, code.mul(number, code.index(rest)));
            let mut index = index.clone();
            if !pass.is_half {
                index[pass.dim] = from;
                return read(&index);
            }
            // The upper half is the conjugate of the lower one, from its end.
            let upper = code.compare(Int::Ugt, from, code.index(n / 2));
            index[pass.dim] = code.select(upper, code.sub(code.index(n), from), from);
            let Scalar::Complex(real, imaginary) = read(&index)? else {
                return Err(PassError::at(op, "has an operand that is not complex"));
            };
            let negative = code.unary("arith.negf", imaginary);
            Ok(Scalar::Complex(real, code.select(upper, negative, imaginary)))
        };
        let sum = vec![term(code.index(0))?];
        let sum = nest(kernel, &[r - 1], sum, &mut |number, sum| {
            let number = code.add(number[0], code.index(1));
            let Scalar::Complex(a, b) = term(number)? else { return Ok(sum) };
            let turn = if r.saturating_mul(l * r) < i64::from(i32::MAX) {
                code.rem(code.mul(number, frequency), l * r)
            } else {
                // Large prime factors: the product needs more than 32 bits.
                let wide = code.int(64);
                let [number, frequency] = [number, frequency].map(|value| code.resize(value, wide, false));
                let product = code.binary("arith.muli", number, frequency);
                let rest = code.binary("arith.remui", product, code.integer(l * r, wide));
                code.resize(rest, code.index_type(), false)
            };
            let (c, d) = root_of_unity(kernel, turn, l * r, plan.part, plan.inverse);
            let Scalar::Complex(real, imaginary) = sum[0] else { return Ok(sum) };
            let real = fused(code, "arith.addf", real, fused(code, "arith.mulf", a, c));
            let real = fused(code, "arith.subf", real, fused(code, "arith.mulf", b, d));
            let imaginary = fused(code, "arith.addf", imaginary, fused(code, "arith.mulf", a, d));
            let imaginary = fused(code, "arith.addf", imaginary, fused(code, "arith.mulf", b, c));
            Ok(vec![Scalar::Complex(real, imaginary)])
        })?;
        let Scalar::Complex(mut real, mut imaginary) = sum[0] else { return Ok(()) };
        if plan.inverse && pass.last_of_dim {
            let scale = code.float(n as f64, plan.part);
            (real, imaginary) =
                (code.binary("arith.divf", real, scale), code.binary("arith.divf", imaginary, scale));
        }
        if launch == last {
            let whole = matches!(Number::of(plan.result.element), Number::Complex { .. });
            let value = if whole { Scalar::Complex(real, imaginary) } else { Scalar::Real(real) };
            return kernel.store(result, plan.result.element, position, value);
        }
        let buffer = buffer(launch);
        for (part, value) in [(0, real), (1, imaginary)] {
            let at = code.add(code.mul(position, code.index(2)), code.index(part));
            kernel.store(buffer, plan.part, at, Scalar::Real(value))?;
        }
        Ok(())
    })
}

/// Cosine and sine of `turn / of` of the circle, clockwise unless `inverse`.
fn root_of_unity<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    turn: Value<'c, 'a>,
    of: i64,
    part: Type<'c>,
    inverse: bool,
) -> (Value<'c, 'a>, Value<'c, 'a>) {
    let code = &kernel.code;
    let direction = if inverse { 1.0 } else { -1.0 };
    // The nearer way round, so that the angle is small and exact to its last bit.
    let past = code.compare(Int::Ugt, turn, code.index(of / 2));
    let signed = code.select(past, code.sub(turn, code.index(of)), turn);
    let turns = code.op("arith.sitofp", &[signed], part);
    let angle = code.float(direction * 2.0 * std::f64::consts::PI / of as f64, part);
    let angle = code.binary("arith.mulf", turns, angle);
    (code.unary("math.cos", angle), code.unary("math.sin", angle))
}
