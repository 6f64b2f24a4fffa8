// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Rows: what is made of each row of arrays and of reductions of that very row (softmax, normalizations, and their
//! gradients), by one kernel that reads each row once.
//!
//! A warp has a row, or a block where rows are long. Each thread computes its elements of the row once and keeps them
//! in registers, from one reduction to the next and to what is stored: they are written out one by one, and what has been
//! computed of one is remembered ([`Kernel::element`]). All threads come to what a reduction comes to, and what the row
//! is made into is computed of that and stored by who has the elements.
//!
//! That takes as many threads as the code was written for. With any other number threads go over the row again for each
//! reduction, in loops, and so they do where keeping all would be too much code.

use super::Result;
use super::group::{Group, Size};
use super::reduce::thread_sums;
use super::reducer::{Reducer, bytes_of};
use super::serial::operand_tensor;
use crate::framework::PassError;
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::cost::own_cost;
use crate::gpu::emit::element::{BLOCK, GRID, Grids, Kernel, body_of, count_of, tensor};
use crate::ir;
use crate::target::LONGEST_ROW;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::op_name;

/// Elements of the rows that are worth it, and fit: a warp has at least one for each of its 32 threads, and the largest block keeps
/// twice [`KEPT`] in each of 1024.
const SHORTEST: i64 = 32;
const LONGEST: i64 = LONGEST_ROW;
/// Elements of a row up to which a warp has it: in any case, and where there are rows enough.
const OF_A_WARP: i64 = 256;
const OF_ONE_OF_MANY: i64 = 512;
/// Threads of a block that has a row.
const SMALLEST_BLOCK: i64 = 128;
const LARGEST_BLOCK: i64 = 1024;
/// Elements that a thread keeps, where more threads can be had: half of the 32 registers that each of the 2048 threads of a
/// multiprocessor has. The largest block, of which there are two then at most or one, keeps twice as many.
const KEPT: i64 = 16;
/// Cost of all that a thread keeps, as of [`own_cost`]: beyond, the code is not worth what it saves.
const MOST_KEPT: u64 = 2000;
/// Bytes of the widest load, and most neighbours in one.
const WIDEST: i64 = 16;
const MOST_NEIGHBOURS: i64 = 8;
/// Elements of a block's share that are few: with less to do it is no loss if it is the only one.
const FEW: i64 = 2048;

/// How many rows a reduction reduces, and how long they are; `None` if what it reduces is not the end of each row-major
/// stretch of its operands.
pub fn shape_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<(i64, i64)> {
    let shape = operand_tensor(op, 0).ok()?.shape;
    let dims = ir::i64_array(op, "dimensions")?;
    let is_reduced = |dim: usize| dims.contains(&(dim as i64));
    let sizes = |reduced: bool| {
        let chosen = shape.iter().enumerate().filter(move |(dim, _)| is_reduced(*dim) == reduced);
        chosen.fold(1_i64, |count, (_, size)| count.saturating_mul(*size))
    };
    let mut large = (0..shape.len()).filter(|&dim| shape[dim] != 1).skip_while(|&dim| !is_reduced(dim));
    large.all(is_reduced).then(|| (sizes(false), sizes(true)))
}

/// Whether rows are kept by one kernel: they are neither too short nor too long, and enough to busy the chip, unless there is
/// little to do anyway.
pub fn fit(rows: i64, length: i64, grids: Grids) -> bool {
    let full = grids.full();
    (SHORTEST..=LONGEST).contains(&length)
        && (rows >= full || rows.saturating_mul(length) <= full * FEW)
        && rows > 0
}

/// The reductions of a kernel's rows, and how they are spread over threads.
struct Rows<'c, 'a> {
    reductions: Vec<OperationRef<'c, 'a>>,
    count: i64,
    length: i64,
    /// Who has a row.
    size: Size,
    /// Threads that have it, and of a block.
    threads: i64,
    block: i64,
    /// Elements next to each other that a thread has.
    neighbours: i64,
    /// Runs of them.
    rounds: i64,
    /// Whether all that a thread computes is kept.
    kept: bool,
}

/// What decides how rows are spread: bytes of their widest elements, what one takes, and for how many blocks there is room.
struct Spread {
    widest: i64,
    cost: u64,
    grids: Grids,
}

/// Elements of a thread: places in the row that follow each other, and whether they are in the row at all; `None` if they
/// always are.
struct Run<'c, 'a> {
    places: Vec<Value<'c, 'a>>,
    valid: Option<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Rows<'c, 'a> {
    fn of(kernel: &Kernel<'c, 'a>) -> Result<'c, Self> {
        let first = body_of(kernel.function).and_then(|block| block.first_operation());
        let ops: Vec<_> = std::iter::successors(first, |op| op.next_in_block()).collect();
        let reductions = ops.iter().filter(|op| op_name(**op) == "stablehlo.reduce");
        let found = reductions.filter_map(|op| Some((*op, shape_of(*op)?)));
        // Those of dimensions of one element each are computed where they are needed.
        let found: Vec<_> = found.filter(|(_, (_, length))| *length > 1).collect();
        let Some(&(_, (count, length))) = found.last() else {
            return Err(PassError::at(kernel.function, "is a kernel of rows without a reduction of rows"));
        };
        let same = found.into_iter().filter(|(_, shape)| *shape == (count, length));
        let reductions: Vec<_> = same.map(|(op, _)| op).collect();
        let mut widest = 1;
        for &result in kernel.returned() {
            let ty = tensor(result)?;
            let elements = count_of(ty.shape);
            if elements != count && elements != count.saturating_mul(length) {
                let message = format!(
                    "returns {elements} elements, neither one nor {length} for each of {count} rows of {length}"
                );
                return Err(PassError::at(kernel.function, message));
            }
            widest = widest.max(bytes_of(ty.element) as i64);
        }
        for op in &reductions {
            for operand in op.operands().take(op.result_count()) {
                widest = widest.max(bytes_of(tensor(operand)?.element) as i64);
            }
        }
        // Each op once for each element of a row, but reductions, which are done together.
        let is_reduction = |op: &OperationRef<'c, 'a>| reductions.iter().any(|other| other == op);
        let costs = ops.iter().filter(|op| !is_reduction(op)).map(|op| own_cost(*op));
        let cost = costs.fold(1, u64::saturating_add);
        let spread = Spread { widest, cost, grids: Grids::around(kernel.function) };
        Ok(Self::spread(reductions, (count, length), spread))
    }

    /// Spreads rows over threads.
    fn spread(
        reductions: Vec<OperationRef<'c, 'a>>,
        (count, length): (i64, i64),
        Spread { widest, cost, grids }: Spread,
    ) -> Self {
        let mut neighbours = (WIDEST / widest.clamp(1, WIDEST)).min(MOST_NEIGHBOURS);
        while length % neighbours != 0 {
            neighbours /= 2;
        }
        let warps = BLOCK / Size::Warp.threads();
        let is_many = count >= warps.saturating_mul(grids.full());
        let (size, threads, block) = if length <= OF_A_WARP || length <= OF_ONE_OF_MANY && is_many {
            // Of few rows smaller blocks have some for each multiprocessor.
            (Size::Warp, Size::Warp.threads(), if is_many { BLOCK } else { SMALLEST_BLOCK })
        } else {
            let mut threads = SMALLEST_BLOCK;
            let is_much = |threads: i64| {
                length > KEPT * threads || cost.saturating_mul((length / threads) as u64) > MOST_KEPT
            };
            while threads < LARGEST_BLOCK && 2 * threads <= length && is_much(threads) {
                threads *= 2;
            }
            (Size::Block, threads, threads)
        };
        while neighbours > 1 && threads * neighbours > length {
            neighbours /= 2;
        }
        let rounds = (length + threads * neighbours - 1) / (threads * neighbours);
        let each = (rounds * neighbours).unsigned_abs();
        let kept = cost.saturating_mul(each) <= MOST_KEPT && each <= 2 * KEPT.unsigned_abs();
        Self { reductions, count, length, size, threads, block, neighbours, rounds, kept }
    }

    /// The index, in an array of that shape, of a place in a row; of the row itself where the array has one element for each.
    fn index(
        &self,
        kernel: &Kernel<'c, 'a>,
        shape: &[i64],
        row: Value<'c, 'a>,
        place: Value<'c, 'a>,
    ) -> Vec<Value<'c, 'a>> {
        let rest = |first: usize| count_of(&shape[first..]);
        match (0..shape.len()).find(|&first| rest(first) == self.length) {
            Some(first) => {
                [kernel.indices(&shape[..first], row), kernel.indices(&shape[first..], place)].concat()
            }
            None => {
                let code = &kernel.code;
                kernel.indices(shape, code.add(code.mul(row, code.index(self.length)), place))
            }
        }
    }

    /// What the running thread has of a row.
    fn runs(&self, kernel: &Kernel<'c, 'a>, group: &Group<'c, 'a>) -> Vec<Run<'c, 'a>> {
        let code = &kernel.code;
        let run = |round: i64| {
            let number = code.add(group.lane, code.index(round * self.threads));
            let mut first = code.mul(number, code.index(self.neighbours));
            let mut valid = None;
            if (round + 1) * self.threads * self.neighbours > self.length {
                valid = Some(code.compare(Int::Ult, first, code.index(self.length)));
                first = code.binary("arith.minui", first, code.index(self.length - self.neighbours));
                code.assume_multiple(first, self.neighbours);
            }
            let places = (0..self.neighbours).map(|place| code.add(first, code.index(place))).collect();
            Run { places, valid }
        };
        (0..self.rounds).map(run).collect()
    }

    /// A row whose elements are kept by the threads that have them.
    fn keep(
        &self,
        kernel: &Kernel<'c, 'a>,
        group: &Group<'c, 'a>,
        shared: Option<Value<'c, 'a>>,
        row: Value<'c, 'a>,
    ) -> Result<'c, ()> {
        let code = &kernel.code;
        let runs = self.runs(kernel, group);
        for &op in &self.reductions {
            let reducer = Reducer::of(op)?;
            let shape = operand_tensor(op, 0)?.shape;
            let merge =
                |left: &[Scalar<'c, 'a>], right: &[Scalar<'c, 'a>]| reducer.merge(kernel, left, right);
            for place in runs.iter().flat_map(|run| &run.places) {
                for operand in op.operands().take(op.result_count()) {
                    kernel.prepare(operand, &self.index(kernel, shape, row, *place))?;
                }
            }
            let mut sums: Option<Vec<Scalar<'c, 'a>>> = None;
            for run in &runs {
                let mut found: Option<Vec<Scalar<'c, 'a>>> = None;
                for place in &run.places {
                    let element = reducer.inputs(kernel, &self.index(kernel, shape, row, *place))?;
                    found = Some(match found {
                        Some(found) => merge(&found, &element)?,
                        None => element,
                    });
                }
                let found = found.unwrap_or_default();
                sums = Some(match (sums, run.valid) {
                    (None, _) => found,
                    (Some(sums), None) => merge(&sums, &found)?,
                    (Some(sums), Some(valid)) => {
                        let merged = merge(&sums, &found)?.into_iter().zip(sums);
                        merged.map(|(merged, sum)| code.select_scalar(valid, merged, sum)).collect()
                    }
                });
            }
            let live = code.index(self.threads.min(self.length / self.neighbours));
            let sums = group.combine(kernel, sums.unwrap_or_default(), live, shared, &merge)?;
            let sums = merge(&reducer.start(kernel)?, &group.hand_out(kernel, sums)?)?;
            bind(kernel, op, &reducer.finish(kernel, &sums)?);
        }
        self.store_row(kernel, group, row)?;
        // All elements are computed before the first is stored, which may lie where another is read from.
        let results = self.results(kernel, self.length)?;
        let mut found = Vec::new();
        for run in &runs {
            let mut elements = Vec::new();
            for &(number, shape) in &results {
                for place in &run.places {
                    let index = self.index(kernel, shape, row, *place);
                    let element = kernel.element(kernel.result_value(number), &index)?;
                    elements.push((number, kernel.linear(shape, &index), element));
                }
            }
            found.push(elements);
        }
        for (run, elements) in runs.iter().zip(found) {
            let store = || {
                for (number, position, element) in elements {
                    self.store(kernel, number, position, element)?;
                }
                Ok(())
            };
            match run.valid {
                Some(valid) => code.if_then(valid, store)?,
                None => store()?,
            }
        }
        Ok(())
    }

    /// A row that each reduction reads for itself.
    fn go_over(
        &self,
        kernel: &Kernel<'c, 'a>,
        group: &Group<'c, 'a>,
        shared: Option<Value<'c, 'a>>,
        row: Value<'c, 'a>,
    ) -> Result<'c, ()> {
        let code = &kernel.code;
        let bounds = [group.lane, code.index(self.length), group.threads];
        for &op in &self.reductions {
            let reducer = Reducer::of(op)?;
            let shape = operand_tensor(op, 0)?.shape;
            let merge =
                |left: &[Scalar<'c, 'a>], right: &[Scalar<'c, 'a>]| reducer.merge(kernel, left, right);
            let inputs = |places: &[Value<'c, 'a>]| -> Result<'c, Vec<Vec<Scalar<'c, 'a>>>> {
                let index = |place: &Value<'c, 'a>| self.index(kernel, shape, row, *place);
                places.iter().map(|place| reducer.inputs(kernel, &index(place))).collect()
            };
            let initial = reducer.start(kernel)?;
            let sums = thread_sums(kernel, (initial, &merge), group, None, bounds, 1, &inputs)?;
            let live = code.binary("arith.minui", group.threads, code.index(self.length));
            let sums = group.combine(kernel, sums, live, shared, &merge)?;
            let sums = group.hand_out(kernel, sums)?;
            bind(kernel, op, &reducer.finish(kernel, &sums)?);
        }
        self.store_row(kernel, group, row)?;
        let results = self.results(kernel, self.length)?;
        if results.is_empty() {
            return Ok(());
        }
        let [from, to, step] = bounds;
        code.for_loop(from, to, step, &[], |place, _| {
            let mut elements = Vec::new();
            for &(number, shape) in &results {
                let index = self.index(kernel, shape, row, place);
                let element = kernel.element(kernel.result_value(number), &index)?;
                elements.push((number, kernel.linear(shape, &index), element));
            }
            for (number, position, element) in elements {
                self.store(kernel, number, position, element)?;
            }
            Ok(vec![])
        })?;
        Ok(())
    }

    /// Numbers and shapes of the results that have so many elements for each row.
    fn results(&self, kernel: &Kernel<'c, 'a>, each: i64) -> Result<'c, Vec<(usize, &'c [i64])>> {
        let mut found = Vec::new();
        for (number, &value) in kernel.returned().iter().enumerate() {
            let shape = tensor(value)?.shape;
            if count_of(shape) == self.count * each {
                found.push((number, shape));
            }
        }
        Ok(found)
    }

    /// Stores what has one element for the row.
    fn store_row(
        &self,
        kernel: &Kernel<'c, 'a>,
        group: &Group<'c, 'a>,
        row: Value<'c, 'a>,
    ) -> Result<'c, ()> {
        let results = self.results(kernel, 1)?;
        if results.is_empty() {
            return Ok(());
        }
        group.leader(&kernel.code, || {
            for (number, shape) in results {
                let element = kernel.element(kernel.result_value(number), &kernel.indices(shape, row))?;
                self.store(kernel, number, row, element)?;
            }
            Ok(())
        })
    }

    fn store(
        &self,
        kernel: &Kernel<'c, 'a>,
        number: usize,
        position: Value<'c, 'a>,
        element: Scalar<'c, 'a>,
    ) -> Result<'c, ()> {
        let ty = tensor(kernel.result_value(number))?.element;
        kernel.store(kernel.result_pointer(number), ty, position, element)
    }
}

/// Lets every element of a reduction's results be what the row's comes to.
fn bind<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>, results: &[Scalar<'c, 'a>]) {
    for (result, element) in op.results().zip(results) {
        kernel.bind(result.into(), *element);
    }
}

/// Writes a kernel of rows.
///
/// # Errors
/// The kernel has no reduction of rows, returns what is of another shape, or elements that there is no code for.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>) -> Result<'c, ()> {
    let rows = Rows::of(kernel)?;
    let code = &kernel.code;
    let words = rows.reductions.iter().map(|op| super::words_of_results(*op)).max().unwrap_or(1);
    let shared = rows.size.shared_words(words);
    if shared > 0 {
        kernel.add_shared(IntegerType::new(code.context(), 32).into(), shared)?;
    }
    let per_block = rows.block / rows.threads;
    kernel.launch(rows.block, ((rows.count + per_block - 1) / per_block).clamp(1, GRID));
    let shared = (shared > 0).then(|| kernel.shared(0));
    let group = Group::new(code, rows.size);
    let go_over = || group.tasks(code, rows.count, |row| rows.go_over(kernel, &group, shared, row));
    if !rows.kept {
        return go_over();
    }
    let as_many = code.compare(Int::Eq, group.threads, code.index(rows.threads));
    let keep = || group.tasks(code, rows.count, |row| rows.keep(kernel, &group, shared, row));
    code.if_else(as_many, &[], || keep().map(|()| vec![]), || go_over().map(|()| vec![])).map(|_| ())
}
