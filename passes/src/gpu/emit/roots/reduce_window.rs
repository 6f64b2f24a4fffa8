// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Cumulative `reduce_window`s: windows along one dimension that reach from its one end to where the result is.
//!
//! They are scans, linear instead of quadratic. Rows whose elements are next to each other in memory are scanned by
//! the threads of a block together (`scan`), others by a thread each, next to threads with the rows next to it. Rows
//! that are too few to busy the device are cut into chunks: a first launch reduces each chunk, a second one scans
//! what they came to, a third one scans each chunk from there. Other windows are left to one thread per result.

use super::group::{Group, Size};
use super::parts;
use super::reducer::{Reducer, bytes_of};
use super::scan::Line;
use super::serial::{flat, operand_tensor, result_tensor, unflat};
use super::window::{self, Names};
use super::{Launch, Result, map, scratch_count, store_results};
use crate::gpu::emit::code::Scalar;
use crate::gpu::emit::element::{BLOCK, Grids, Kernel, count_of};
use crate::ir;
use crate::rewrite::context_of;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};

/// Elements from which on a row is worth a block.
const LONG: i64 = 128;
/// Rows next to each other that threads next to each other read at once.
const BESIDE: i64 = 32;
/// Least elements of a thread of a chunk: two rounds of a block, and where a thread has a chunk, so many that what
/// chunks come to is less than a hundredth of what they are made of.
const LEAST: i64 = 2;
const LEAST_ALONE: i64 = 128;
/// Bytes of the widest load.
const WIDEST: i64 = 16;
/// Elements of a thread at a time, at most.
const MOST_EACH: i64 = 4;

#[derive(Clone, Debug)]
struct Scan<'c> {
    shape: &'c [i64],
    dim: usize,
    /// Whether the window reaches to the end instead of from the beginning.
    backwards: bool,
    /// Elements of a chunk, and chunks of a row.
    chunk: i64,
    chunks: i64,
    /// Whether the threads of a block scan a chunk together, each so many elements at a time; else a thread alone does.
    each: Option<i64>,
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
    // Rows are next to each other if they differ in dimensions after the scanned one.
    let beside = count_of(&shape[dim + 1..]);
    let together = if beside == 1 && !backwards {
        (WIDEST / bytes_of(operand_tensor(op, 0)?.element) as i64).clamp(1, MOST_EACH)
    } else {
        1
    };
    let fitting = (0..=together.ilog2()).rev().map(|power| 1 << power).find(|each| n % each == 0);
    let each = fitting.filter(|_| n >= LONG && beside < BESIDE);
    let grids = Grids::around(op);
    let most = match each {
        Some(each) => (grids.busy() / rows.max(1)).min(n / (BLOCK * each * LEAST)),
        None => (grids.threads() / rows.max(1)).min(n / LEAST_ALONE),
    };
    let chunk = (n + most.max(1) - 1) / most.max(1);
    let tile = each.map_or(1, |each| BLOCK * each);
    let chunk = if most > 1 { (chunk + tile - 1) / tile * tile } else { n };
    Ok(Some(Scan { shape, dim, backwards, chunk, chunks: (n + chunk - 1) / chunk, each }))
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
    let words = super::words_of_results(op);
    let blocks = |tasks: i64| Launch::of_groups(Size::Block, tasks, context_of(op), words);
    let chunks = match scan.each {
        Some(_) => blocks(rows * scan.chunks),
        None => Launch::of_threads(rows * scan.chunks),
    };
    Ok(if scan.chunks == 1 { vec![chunks] } else { vec![chunks.clone(), blocks(rows), chunks] })
}

/// Writes one launch.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>, launch: usize) -> Result<'c, ()> {
    let Some(scan) = scan_in_kernel(op)? else { return map(kernel) };
    let reducer = Reducer::of(op)?;
    match launch {
        0 if scan.chunks > 1 && scan.each.is_some() => totals_by_blocks(kernel, &reducer, &scan),
        0 if scan.chunks > 1 => totals(kernel, &reducer, &scan),
        1 => starts(kernel, &reducer, &scan),
        _ => match scan.each {
            Some(each) => chunks_by_blocks(kernel, op, &reducer, &scan, each),
            None => chunks(kernel, op, &reducer, &scan),
        },
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

    /// The row that a task is of, by its index, and the bounds of its chunk. Rows that follow each other go to threads that do.
    fn place<'c: 'a, 'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        rows: &[i64],
        task: Value<'c, 'a>,
    ) -> (Vec<Value<'c, 'a>>, [Value<'c, 'a>; 2]) {
        let (code, count) = (&kernel.code, count_of(rows));
        let row = kernel.indices(rows, code.rem(task, count));
        (row, self.bounds(kernel, code.div(task, count)))
    }

    /// What comes before a chunk, of all rows' chunks.
    fn start<'c: 'a, 'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        reducer: &Reducer<'c, 'a>,
        task: Value<'c, 'a>,
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        if self.chunks == 1 {
            return reducer.start(kernel);
        }
        let types = reducer.accumulators(kernel).into_iter().enumerate();
        types.map(|(number, ty)| kernel.load(kernel.scratch_pointer(number), ty, task)).collect()
    }

    /// What came before and what comes next, in the order of the row.
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
        let (row, [from, to]) = scan.place(kernel, &rows, task);
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

/// The same by all threads of a block.
fn totals_by_blocks<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    reducer: &Reducer<'c, 'a>,
    scan: &Scan<'c>,
) -> Result<'c, ()> {
    let code = &kernel.code;
    let rows = scan.rows();
    let group = Group::new(code, Size::Block);
    let merge = |left: &[Scalar<'c, 'a>], right: &[Scalar<'c, 'a>]| scan.merge(kernel, reducer, left, right);
    group.tasks(code, count_of(&rows) * scan.chunks, |task| {
        let (row, [from, to]) = scan.place(kernel, &rows, task);
        let input = |at: Value<'c, 'a>| reducer.inputs(kernel, &scan.index(kernel, &row, at));
        let inputs = |places: &[Value<'c, 'a>]| places.iter().map(|at| input(*at)).collect();
        // Threads for which there is no element have the last one, which nobody takes from them.
        let first = code.add(from, group.lane);
        let start = input(code.binary("arith.minui", first, code.sub(to, code.index(1))))?;
        let next = code.add(first, group.threads);
        let sums =
            parts::thread_loop(kernel, &merge, start, [next, to, group.threads], parts::TOGETHER, &inputs)?;
        let live = code.binary("arith.minui", group.threads, code.sub(to, from));
        let sums = group.combine(kernel, sums, live, Some(kernel.shared(0)), &merge)?;
        group.leader(code, || {
            for (number, (sum, ty)) in sums.iter().zip(reducer.accumulators(kernel)).enumerate() {
                kernel.store(kernel.scratch_pointer(number), ty, task, *sum)?;
            }
            Ok(())
        })
    })
}

/// Replaces what each chunk comes to by what comes before it, a block for each row.
fn starts<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, reducer: &Reducer<'c, 'a>, scan: &Scan<'c>) -> Result<'c, ()> {
    let code = &kernel.code;
    let rows = count_of(&scan.rows());
    let types = reducer.accumulators(kernel);
    let group = Group::new(code, Size::Block);
    let merge = |left: &[Scalar<'c, 'a>], right: &[Scalar<'c, 'a>]| scan.merge(kernel, reducer, left, right);
    group.tasks(code, rows, |row| {
        let place = |chunk: Value<'c, 'a>| code.add(code.mul(chunk, code.index(rows)), row);
        let input = |chunk: Value<'c, 'a>| {
            let buffers = types.iter().enumerate();
            buffers
                .map(|(number, ty)| kernel.load(kernel.scratch_pointer(number), *ty, place(chunk)))
                .collect()
        };
        let output = |chunk: Value<'c, 'a>, before: &[Scalar<'c, 'a>], _: &[Scalar<'c, 'a>]| {
            for (number, (ty, value)) in types.iter().zip(before).enumerate() {
                kernel.store(kernel.scratch_pointer(number), *ty, place(chunk), *value)?;
            }
            Ok(())
        };
        let bounds = [code.index(0), code.index(scan.chunks)];
        let line = Line { group: &group, shared: kernel.shared(0), bounds, each: 1, merge: &merge };
        line.scan(kernel, &reducer.start(kernel)?, &input, &output)
    })
}

/// Scans each chunk from what comes before it, by all threads of a block.
fn chunks_by_blocks<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    reducer: &Reducer<'c, 'a>,
    scan: &Scan<'c>,
    each: i64,
) -> Result<'c, ()> {
    let code = &kernel.code;
    let rows = scan.rows();
    let group = Group::new(code, Size::Block);
    let merge = |left: &[Scalar<'c, 'a>], right: &[Scalar<'c, 'a>]| scan.merge(kernel, reducer, left, right);
    group.tasks(code, count_of(&rows) * scan.chunks, |task| {
        let (row, bounds) = scan.place(kernel, &rows, task);
        let input = |at: Value<'c, 'a>| reducer.inputs(kernel, &scan.index(kernel, &row, at));
        let output = |at: Value<'c, 'a>, _: &[Scalar<'c, 'a>], sums: &[Scalar<'c, 'a>]| {
            let results = reducer.finish(kernel, sums)?;
            store_results(kernel, op, kernel.linear(scan.shape, &scan.index(kernel, &row, at)), &results)
        };
        let start = scan.start(kernel, reducer, task)?;
        let line = Line { group: &group, shared: kernel.shared(0), bounds, each, merge: &merge };
        line.scan(kernel, &start, &input, &output)
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
    kernel.grid_stride(count_of(&rows) * scan.chunks, |task| {
        let (row, [from, to]) = scan.place(kernel, &rows, task);
        let start = scan.start(kernel, reducer, task)?;
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
