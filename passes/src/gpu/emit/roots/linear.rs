// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `cholesky` and `triangular_solve`.
//!
//! A Cholesky decomposition is a block's task: it scales a column, takes what it makes up from the columns after it, and goes
//! on to the next one, in the result's buffer. The triangle that is not asked for is zero. Triangular systems are a thread's
//! task for each right hand side, by substitution.

use super::arithmetic::{Arithmetic, convert};
use super::group::{Group, Size};
use super::serial::{nest, operand_tensor};
use super::{Launch, Result, result_buffers};
use crate::framework::PassError;
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::{Kernel, count_of};
use melior::ir::attribute::BoolAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi;
use slimhlo_dialect::stablehlo::attrs::Transpose;
use slimhlo_dialect::types::Tensor;

fn flag(op: OperationRef<'_, '_>, name: &str) -> bool {
    ffi::attribute_of(op, name)
        .and_then(|flag| BoolAttribute::try_from(flag).ok())
        .is_some_and(|flag| flag.value())
}

/// The dimensions before the last two, and the last two.
fn split<'c>(tensor: &Tensor<'c>) -> (&'c [i64], [i64; 2]) {
    let (batch, matrix) = tensor.shape.split_at(tensor.rank() - 2);
    (batch, [matrix[0], matrix[1]])
}

/// An element of a matrix in a buffer, in the arithmetic it is computed with.
struct Matrix<'k, 'c, 'a> {
    kernel: &'k Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    arithmetic: Arithmetic<'c>,
    tensor: Tensor<'c>,
    buffer: Value<'c, 'a>,
    batch: Vec<Value<'c, 'a>>,
    /// Whether rows are columns, and elements conjugates.
    turned: bool,
}

impl<'c: 'a, 'a> Matrix<'_, 'c, 'a> {
    fn position(&self, row: Value<'c, 'a>, column: Value<'c, 'a>) -> Value<'c, 'a> {
        let last = if self.turned { [column, row] } else { [row, column] };
        self.kernel.linear(self.tensor.shape, &[&self.batch[..], &last].concat())
    }

    fn load(&self, row: Value<'c, 'a>, column: Value<'c, 'a>) -> Result<'c, Scalar<'c, 'a>> {
        let at = self.position(row, column);
        let value = self.kernel.load(self.buffer, self.tensor.element, at)?;
        let value = self.arithmetic.lift(self.kernel, self.op, value, self.tensor.element)?;
        Ok(if self.turned { self.arithmetic.conjugate(self.kernel, value) } else { value })
    }

    fn store(&self, row: Value<'c, 'a>, column: Value<'c, 'a>, value: Scalar<'c, 'a>) -> Result<'c, ()> {
        let value = if self.turned { self.arithmetic.conjugate(self.kernel, value) } else { value };
        let value = self.arithmetic.lower(self.kernel, self.op, value, self.tensor.element)?;
        self.kernel.store(self.buffer, self.tensor.element, self.position(row, column), value)
    }
}

/// The launch of `cholesky`.
pub fn cholesky_launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<Launch<'c>>> {
    let operand = operand_tensor(op, 0)?;
    Ok(vec![Launch::of_blocks(count_of(split(&operand).0))])
}

/// Writes `cholesky`.
pub fn cholesky<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<'c, ()> {
    let code = &kernel.code;
    let operand = operand_tensor(op, 0)?;
    let (batches, [n, _]) = split(&operand);
    if count_of(operand.shape) == 0 {
        return Ok(());
    }
    let lower = flag(op, "lower");
    let buffer = result_buffers(kernel, op)?[0];
    let arithmetic = Arithmetic::of(kernel, operand.element);
    let group = Group::new(code, Size::Block);
    let (size, one) = (code.index(n), code.index(1));
    group.tasks(code, count_of(batches), |task| {
        let batch = kernel.indices(batches, task);
        let matrix =
            Matrix { kernel, op, arithmetic, tensor: operand, buffer, batch: batch.clone(), turned: !lower };
        let each = |from: Value<'c, 'a>,
                    to: Value<'c, 'a>,
                    body: &dyn Fn(Value<'c, 'a>) -> Result<'c, ()>|
         -> Result<'c, ()> {
            code.for_loop(code.add(from, group.lane), to, group.threads, &[], |at, _| {
                body(at)?;
                Ok(vec![])
            })?;
            code.effect("gpu.barrier", &[]);
            Ok(())
        };
        each(code.index(0), code.index(n * n), &|at| {
            let (row, column) = (code.div(at, n), code.rem(at, n));
            let last = if lower { [row, column] } else { [column, row] };
            let value = kernel.element(op.operand(0)?, &[&batch[..], &last].concat())?;
            let value = arithmetic.lift(kernel, op, value, operand.element)?;
            let value = if lower { value } else { arithmetic.conjugate(kernel, value) };
            let inside = code.compare(Int::Ule, column, row);
            matrix.store(row, column, code.select_scalar(inside, value, arithmetic.zero(kernel)))
        })?;
        code.for_loop(code.index(0), size, one, &[], |pivot, _| {
            group.leader(code, || {
                let diagonal = matrix.load(pivot, pivot)?;
                let root = code.unary("math.sqrt", diagonal.real());
                matrix.store(pivot, pivot, arithmetic.of_real(kernel, root))
            })?;
            code.effect("gpu.barrier", &[]);
            let after = code.add(pivot, one);
            each(after, size, &|row| {
                let diagonal = matrix.load(pivot, pivot)?.real();
                let parts = matrix.load(row, pivot)?.parts();
                let parts: Vec<_> =
                    parts.into_iter().map(|part| code.binary("arith.divf", part, diagonal)).collect();
                matrix.store(row, pivot, Scalar::from_parts(&parts))
            })?;
            // The lower triangle of what is left, a row of the square at a time.
            let rest = code.sub(size, after);
            each(code.index(0), code.binary("arith.muli", rest, size), &|at| {
                let (row, column) = (code.add(after, code.div(at, n)), code.rem(at, n));
                let inside = code.compare(Int::Uge, column, after);
                let inside = code.binary("arith.andi", inside, code.compare(Int::Ule, column, row));
                code.if_then(inside, || {
                    let right = arithmetic.conjugate(kernel, matrix.load(column, pivot)?);
                    let left = arithmetic.negate(kernel, matrix.load(row, pivot)?);
                    let old = matrix.load(row, column)?;
                    matrix.store(row, column, arithmetic.multiply_add(kernel, left, right, old))
                })
            })?;
            Ok(vec![])
        })?;
        Ok(())
    })
}

/// The launch of `triangular_solve`.
pub fn solve_launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<Launch<'c>>> {
    let (a, b) = (operand_tensor(op, 0)?, operand_tensor(op, 1)?);
    let size = split(&a).1[0].max(1);
    Ok(vec![Launch::of_threads(count_of(b.shape) / size)])
}

/// Writes `triangular_solve`.
pub fn solve<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<'c, ()> {
    let code = &kernel.code;
    let (a, b) = (operand_tensor(op, 0)?, operand_tensor(op, 1)?);
    let (batches, [n, _]) = split(&a);
    if count_of(b.shape) == 0 {
        return Ok(());
    }
    let transpose = ffi::attribute_of(op, "transpose_a")
        .and_then(|transpose| Transpose::try_from(transpose).ok())
        .unwrap_or(Transpose::NoTranspose);
    let (left, lower, unit) = (flag(op, "left_side"), flag(op, "lower"), flag(op, "unit_diagonal"));
    let transposed = matches!(transpose, Transpose::Transpose | Transpose::Adjoint);
    let columns = split(&b).1[usize::from(left)];
    let buffer = result_buffers(kernel, op)?[0];
    let arithmetic = Arithmetic::of(kernel, b.element);
    // Unknowns are a column of the result, or a row: then the system is the transposed one.
    let swapped = transposed == left;
    let downwards = lower != swapped;
    kernel.grid_stride(count_of(batches) * columns, |task| {
        let batch = kernel.indices(batches, code.div(task, columns));
        let column = code.rem(task, columns);
        let at = |row: Value<'c, 'a>| {
            let last = if left { [row, column] } else { [column, row] };
            [&batch[..], &last].concat()
        };
        let coefficient = |row: Value<'c, 'a>, unknown: Value<'c, 'a>| -> Result<'c, Scalar<'c, 'a>> {
            let last = if swapped { [unknown, row] } else { [row, unknown] };
            let value = kernel.element(op.operand(0)?, &[&batch[..], &last].concat())?;
            let value = convert(kernel, op, value, a.element, arithmetic.accumulator)?;
            let adjoint = transpose == Transpose::Adjoint;
            Ok(if adjoint { arithmetic.conjugate(kernel, value) } else { value })
        };
        nest(kernel, &[n], vec![], &mut |step, carried| {
            let row = |step: Value<'c, 'a>| {
                if downwards { step } else { code.sub(code.index(n - 1), step) }
            };
            let this = row(step[0]);
            let right = kernel.element(op.operand(1)?, &at(this))?;
            let right = arithmetic.lift(kernel, op, right, b.element)?;
            let parts =
                code.for_loop(code.index(0), step[0], code.index(1), &right.parts(), |before, parts| {
                    let before = row(before);
                    let known = kernel.load(buffer, b.element, kernel.linear(b.shape, &at(before)))?;
                    let known = arithmetic.lift(kernel, op, known, b.element)?;
                    let factor = arithmetic.negate(kernel, coefficient(this, before)?);
                    let sum = Scalar::from_parts(parts);
                    Ok(arithmetic.multiply_add(kernel, factor, known, sum).parts())
                })?;
            let mut value = Scalar::from_parts(&parts);
            if !unit {
                value = arithmetic.divide(kernel, value, coefficient(this, this)?);
            }
            let value = arithmetic.lower(kernel, op, value, b.element)?;
            kernel.store(buffer, b.element, kernel.linear(b.shape, &at(this)), value)?;
            Ok(carried)
        })?;
        Ok(())
    })
}

/// Refuses what has fewer than two dimensions.
pub fn check<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, ()> {
    let ranks = (0..op.operand_count()).map(|operand| operand_tensor(op, operand));
    for tensor in ranks {
        if tensor?.rank() < 2 {
            return Err(PassError::at(op, "has an operand that is no matrix"));
        }
    }
    Ok(())
}
