// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Cumulative `reduce_window`s: windows along one dimension that reach from its one end to where the result is.
//!
//! They are scans, linear instead of quadratic. A thread scans a row; rows that are long and few are cut into chunks: a first
//! launch reduces each chunk, a second one scans what they came to, a third one scans each chunk from there. Other windows are
//! left to one thread per result.

use super::reducer::Reducer;
use super::serial::{flat, operand_tensor, result_tensor, unflat};
use super::window::{self, Names};
use super::{Launch, Result, map, scratch_count, store_results};
use crate::gpu::emit::code::Scalar;
use crate::gpu::emit::element::{Kernel, count_of};
use crate::ir;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};

/// Rows from which on a row is not cut, and elements up to which it is not.
const ROWS: i64 = 4096;
const SHORT: i64 = 2048;

#[derive(Clone, Debug)]
struct Scan<'c> {
    shape: &'c [i64],
    dim: usize,
    /// Whether the window reaches to the end instead of from the beginning.
    backwards: bool,
    /// Elements of a chunk, and chunks of a row.
    chunk: i64,
    chunks: i64,
}

/// The scan that a windowed reduction is.
fn scan<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Option<Scan<'c>>> {
    let (shape, places) = (operand_tensor(op, 0)?.shape, result_tensor(op, 0)?.shape);
    let sizes = ir::i64_array(op, "window_dimensions").unwrap_or_default();
    let dims = window::read(op, sizes, &Names::Reduce);
    let plain = dims.iter().all(|dim| dim.stride == 1 && dim.dilation == 1 && dim.base_dilation == 1);
    let mut long = dims.iter().enumerate().filter(|(_, dim)| dim.size > 1 || dim.low != 0);
    let (Some((dim, window)), None) = (long.next(), long.next()) else { return Ok(None) };
    let n = shape[dim];
    if !plain || shape != places || window.size < n || n < 2 {
        return Ok(None);
    }
    let backwards = match window.low {
        0 => true,
        low if low == window.size - 1 => false,
        _ => return Ok(None),
    };
    let rows = count_of(shape) / n;
    let chunk = if rows >= ROWS || n <= SHORT { n } else { (n as f64).sqrt().ceil() as i64 };
    Ok(Some(Scan { shape, dim, backwards, chunk, chunks: (n + chunk - 1) / chunk }))
}

/// Bytes of what the chunks come to, for each operand.
pub fn scratch<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<u64>> {
    let Some(scan) = scan(op)?.filter(|scan| scan.chunks > 1) else { return Ok(vec![]) };
    let count = (count_of(scan.shape) / scan.shape[scan.dim] * scan.chunks) as u64;
    Ok(Reducer::of(op)?.accumulator_bytes().iter().map(|bytes| bytes * count).collect())
}

/// The scan with the scratch memory that its kernel has.
fn scan_in_kernel<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Option<Scan<'c>>> {
    let mut scan = scan(op)?;
    if let Some(scan) = &mut scan
        && scratch_count(op) < op.result_count()
    {
        (scan.chunk, scan.chunks) = (scan.shape[scan.dim], 1);
    }
    Ok(scan)
}

/// The launches; none for what is no scan.
pub fn launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<Launch<'c>>> {
    let Some(scan) = scan_in_kernel(op)? else { return Ok(vec![]) };
    let rows = count_of(scan.shape) / scan.shape[scan.dim];
    let chunks = Launch::of_threads(rows * scan.chunks);
    Ok(if scan.chunks == 1 { vec![chunks] } else { vec![chunks.clone(), Launch::of_threads(rows), chunks] })
}

/// Writes one launch.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>, launch: usize) -> Result<'c, ()> {
    let Some(scan) = scan_in_kernel(op)? else { return map(kernel) };
    let reducer = Reducer::of(op)?;
    match launch {
        0 if scan.chunks > 1 => totals(kernel, &reducer, &scan),
        1 => starts(kernel, &reducer, &scan),
        _ => chunks(kernel, op, &reducer, &scan),
    }
}

impl Scan<'_> {
    /// The shape of all rows.
    fn rows(&self) -> Vec<i64> {
        let mut rows = self.shape.to_vec();
        rows.remove(self.dim);
        rows
    }

    /// The index of the element that a scan of a row comes to after `at` others.
    fn index<'c: 'a, 'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        row: &[Value<'c, 'a>],
        at: Value<'c, 'a>,
    ) -> Vec<Value<'c, 'a>> {
        let code = &kernel.code;
        let last = code.index(self.shape[self.dim] - 1);
        let mut index = row.to_vec();
        index.insert(self.dim, if self.backwards { code.sub(last, at) } else { at });
        index
    }

    /// The elements of a chunk: the first one, and the one after the last.
    fn bounds<'c: 'a, 'a>(&self, kernel: &Kernel<'c, 'a>, chunk: Value<'c, 'a>) -> [Value<'c, 'a>; 2] {
        let code = &kernel.code;
        let n = self.shape[self.dim];
        if self.chunks == 1 {
            return [code.index(0), code.index(n)];
        }
        let from = code.mul(chunk, code.index(self.chunk));
        [from, code.binary("arith.minui", code.add(from, code.index(self.chunk)), code.index(n))]
    }

    /// What came before and one more element, in the order of the row.
    fn merge<'c: 'a, 'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        reducer: &Reducer<'c, 'a>,
        before: &[Scalar<'c, 'a>],
        next: &[Scalar<'c, 'a>],
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        if self.backwards { reducer.merge(kernel, next, before) } else { reducer.merge(kernel, before, next) }
    }
}

/// Reduces each chunk, without the initial value.
fn totals<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, reducer: &Reducer<'c, 'a>, scan: &Scan<'c>) -> Result<'c, ()> {
    let code = &kernel.code;
    let rows = scan.rows();
    kernel.grid_stride(count_of(&rows) * scan.chunks, |task| {
        // Rows that follow each other go to threads that do.
        let row = kernel.indices(&rows, code.rem(task, count_of(&rows)));
        let [from, to] = scan.bounds(kernel, code.div(task, count_of(&rows)));
        let first = reducer.inputs(kernel, &scan.index(kernel, &row, from))?;
        let next = code.add(from, code.index(1));
        let parts = code.for_loop(next, to, code.index(1), &flat(&first), |at, parts| {
            let element = reducer.inputs(kernel, &scan.index(kernel, &row, at))?;
            Ok(flat(&scan.merge(kernel, reducer, &unflat(&first, parts), &element)?))
        })?;
        let sums = unflat(&first, &parts);
        for (number, (sum, ty)) in sums.iter().zip(reducer.accumulators(kernel)).enumerate() {
            kernel.store(kernel.scratch_pointer(number), ty, task, *sum)?;
        }
        Ok(())
    })
}

/// Replaces what each chunk comes to by what comes before it.
fn starts<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, reducer: &Reducer<'c, 'a>, scan: &Scan<'c>) -> Result<'c, ()> {
    let code = &kernel.code;
    let rows = count_of(&scan.rows());
    let types = reducer.accumulators(kernel);
    kernel.grid_stride(rows, |row| {
        let initial = reducer.start(kernel)?;
        let (from, to, step) = (code.index(0), code.index(scan.chunks), code.index(1));
        code.for_loop(from, to, step, &flat(&initial), |chunk, parts| {
            let before = unflat(&initial, parts);
            let place = code.add(code.mul(chunk, code.index(rows)), row);
            let mut total = Vec::new();
            for (number, ty) in types.iter().enumerate() {
                total.push(kernel.load(kernel.scratch_pointer(number), *ty, place)?);
                kernel.store(kernel.scratch_pointer(number), *ty, place, before[number])?;
            }
            Ok(flat(&scan.merge(kernel, reducer, &before, &total)?))
        })?;
        Ok(())
    })
}

/// Scans each chunk from what comes before it.
fn chunks<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    reducer: &Reducer<'c, 'a>,
    scan: &Scan<'c>,
) -> Result<'c, ()> {
    let code = &kernel.code;
    let rows = scan.rows();
    let types = reducer.accumulators(kernel);
    kernel.grid_stride(count_of(&rows) * scan.chunks, |task| {
        let row = kernel.indices(&rows, code.rem(task, count_of(&rows)));
        let [from, to] = scan.bounds(kernel, code.div(task, count_of(&rows)));
        let start = if scan.chunks == 1 {
            reducer.start(kernel)?
        } else {
            let parts = types.iter().enumerate();
            parts
                .map(|(number, ty)| kernel.load(kernel.scratch_pointer(number), *ty, task))
                .collect::<Result<_>>()?
        };
        code.for_loop(from, to, code.index(1), &flat(&start), |at, parts| {
            let index = scan.index(kernel, &row, at);
            let element = reducer.inputs(kernel, &index)?;
            let sums = scan.merge(kernel, reducer, &unflat(&start, parts), &element)?;
            let results = reducer.finish(kernel, &sums)?;
            store_results(kernel, op, kernel.linear(scan.shape, &index), &results)?;
            Ok(flat(&sums))
        })?;
        Ok(())
    })
}
