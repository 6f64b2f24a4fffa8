// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Sorts along a dimension, by merging.
//!
//! The first launch has each thread sort [`CHUNK`] elements that follow each other, in registers; each launch after it
//! merges pairs of sorted runs, each thread [`STEP`] elements of the merged one: it finds by bisection how many of them come
//! from either run. Elements go from the result's buffer to scratch memory and back. Equal elements keep their order in each
//! step, so the sort is stable. Every element of the result is written whatever the comparator says. It takes
//! `n log(n)^2 / STEP + n log(n)` comparisons and `log(n / CHUNK)` passes over the data.

use super::reducer::bytes_of;
use super::serial::{flat, nest, only_if, unflat};
use super::{Launch, Result, copy_operands, result_buffers, scratch_count};
use crate::framework::PassError;
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::{Kernel, count_of, tensor};
use crate::ir;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Type, Value};

/// Elements that a thread sorts in registers.
const CHUNK: i64 = 4;
/// Elements that a thread merges.
const STEP: i64 = 8;

struct Sort<'c, 'a> {
    op: OperationRef<'c, 'a>,
    comparator: BlockRef<'c, 'a>,
    shape: &'c [i64],
    dim: usize,
    elements: Vec<Type<'c>>,
}

type Row<'c, 'a> = [Value<'c, 'a>];

impl<'c: 'a, 'a> Sort<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>) -> Result<'c, Self> {
        let comparator = op
            .region(0)
            .ok()
            .and_then(|region| region.first_block())
            .ok_or_else(|| PassError::at(op, "has no comparator"))?;
        let elements = op.operands().map(|operand| Ok(tensor(operand)?.element)).collect::<Result<_>>()?;
        let shape = tensor(op.operand(0)?)?.shape;
        let dim = ir::constant_attribute(op, "dimension").unwrap_or(-1);
        let dim = if dim < 0 { dim + shape.len() as i64 } else { dim } as usize;
        Ok(Self { op, comparator, shape, dim, elements })
    }

    fn length(&self) -> i64 {
        self.shape.get(self.dim).copied().unwrap_or(1)
    }

    /// The shape of all rows: the other dimensions.
    fn rows(&self) -> Vec<i64> {
        let mut rows = self.shape.to_vec();
        rows.remove(self.dim);
        rows
    }

    /// How many passes merge.
    fn merges(&self) -> u32 {
        let mut merges = 0;
        let mut run = CHUNK;
        while run < self.length() {
            run *= 2;
            merges += 1;
        }
        merges
    }

    fn index(&self, row: &Row<'c, 'a>, at: Value<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let mut index = row.to_vec();
        index.insert(self.dim, at);
        index
    }

    fn load(
        &self,
        kernel: &Kernel<'c, 'a>,
        buffers: &[Value<'c, 'a>],
        row: &Row<'c, 'a>,
        at: Value<'c, 'a>,
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let position = kernel.linear(self.shape, &self.index(row, at));
        let loads = buffers.iter().zip(&self.elements);
        loads.map(|(buffer, element)| kernel.load(*buffer, *element, position)).collect()
    }

    fn store(
        &self,
        kernel: &Kernel<'c, 'a>,
        buffers: &[Value<'c, 'a>],
        row: &Row<'c, 'a>,
        at: Value<'c, 'a>,
        values: &[Scalar<'c, 'a>],
    ) -> Result<'c, ()> {
        let position = kernel.linear(self.shape, &self.index(row, at));
        for ((buffer, element), value) in buffers.iter().zip(&self.elements).zip(values) {
            kernel.store(*buffer, *element, position, *value)?;
        }
        Ok(())
    }

    /// Whether `left` comes before `right`.
    fn is_less(
        &self,
        kernel: &Kernel<'c, 'a>,
        left: &[Scalar<'c, 'a>],
        right: &[Scalar<'c, 'a>],
    ) -> Result<'c, Value<'c, 'a>> {
        let arguments: Vec<Scalar> =
            left.iter().zip(right).flat_map(|(left, right)| [*left, *right]).collect();
        let results = kernel.call_region(self.comparator, &arguments)?;
        results
            .first()
            .map(|result| result.real())
            .ok_or_else(|| PassError::at(self.op, "has a comparator without results"))
    }

    /// Hands pieces of `size` elements of all rows to threads: the row and the first element.
    fn pieces(
        &self,
        kernel: &Kernel<'c, 'a>,
        size: i64,
        body: impl FnOnce(&Row<'c, 'a>, Value<'c, 'a>) -> Result<'c, ()>,
    ) -> Result<'c, ()> {
        let code = &kernel.code;
        let (rows, length) = (self.rows(), self.length());
        let per_row = (length + size - 1) / size;
        let count = count_of(&rows).saturating_mul(per_row);
        kernel.grid_stride(count, |task| {
            // Neighbours in memory go to neighbouring threads.
            let (row, piece) = if self.dim + 1 == self.shape.len() {
                (code.div(task, per_row), code.rem(task, per_row))
            } else {
                (code.rem(task, count_of(&rows)), code.div(task, count_of(&rows)))
            };
            let row = kernel.indices(&rows, row);
            body(&row, code.mul(piece, code.index(size)))
        })
    }

    /// Sorts pieces of [`CHUNK`] elements into `to`.
    fn chunks(&self, kernel: &Kernel<'c, 'a>, to: &[Value<'c, 'a>]) -> Result<'c, ()> {
        let code = &kernel.code;
        let length = self.length();
        self.pieces(kernel, CHUNK, |row, first| {
            let count = CHUNK.min(length);
            let mut elements = Vec::new();
            let mut valid = Vec::new();
            for number in 0..count {
                let at = code.add(first, code.index(number));
                // Elements after the last are read again and never moved.
                let partial = length % CHUNK != 0;
                let read = if partial { code.binary("arith.minui", at, code.index(length - 1)) } else { at };
                let index = self.index(row, read);
                let values: Vec<Scalar> = self
                    .op
                    .operands()
                    .map(|operand| kernel.element(operand, &index))
                    .collect::<Result<_>>()?;
                elements.push(values);
                valid.push((at, partial.then(|| code.compare(Int::Ult, at, code.index(length)))));
            }
            // Neighbours change places where they are out of order, as often as any order could need.
            for round in 0..count as usize {
                for left in (round % 2..(count as usize).saturating_sub(1)).step_by(2) {
                    let mut swap = self.is_less(kernel, &elements[left + 1], &elements[left])?;
                    if let Some(valid) = valid[left + 1].1 {
                        swap = code.binary("arith.andi", swap, valid);
                    }
                    let pick = |yes: &[Scalar<'c, 'a>], no: &[Scalar<'c, 'a>]| -> Vec<Scalar<'c, 'a>> {
                        yes.iter().zip(no).map(|(yes, no)| code.select_scalar(swap, *yes, *no)).collect()
                    };
                    let low = pick(&elements[left + 1], &elements[left]);
                    let high = pick(&elements[left], &elements[left + 1]);
                    (elements[left], elements[left + 1]) = (low, high);
                }
            }
            for (values, (at, valid)) in elements.iter().zip(valid) {
                let store = || self.store(kernel, to, row, at, values);
                match valid {
                    Some(valid) => code.if_then(valid, store)?,
                    None => store()?,
                }
            }
            Ok(())
        })
    }

    /// Merges pairs of runs of `run` elements.
    fn merge(
        &self,
        kernel: &Kernel<'c, 'a>,
        run: i64,
        from: &[Value<'c, 'a>],
        to: &[Value<'c, 'a>],
    ) -> Result<'c, ()> {
        let code = &kernel.code;
        let length = self.length();
        let end = code.index(length);
        self.pieces(kernel, STEP, |row, first| {
            let begin = code.mul(code.div(first, 2 * run), code.index(2 * run));
            let middle = code.binary("arith.minui", code.add(begin, code.index(run)), end);
            let last = code.binary("arith.minui", code.add(begin, code.index(2 * run)), end);
            let (left_count, right_count) = (code.sub(middle, begin), code.sub(last, middle));
            let before = code.sub(first, begin);
            // How many of the elements before this thread's are of the left run.
            let zero = code.index(0);
            let least = code.binary("arith.maxsi", code.sub(before, right_count), zero);
            let most = code.binary("arith.minui", before, left_count);
            let found = code.while_loop(
                &[least, most],
                |bounds| Ok(code.compare(Int::Ult, bounds[0], bounds[1])),
                |bounds| {
                    let guess = code.div(code.add(bounds[0], bounds[1]), 2);
                    let next = code.add(guess, code.index(1));
                    let left = self.load(kernel, from, row, code.add(begin, guess))?;
                    let right = code.add(middle, code.sub(before, next));
                    let right = self.load(kernel, from, row, right)?;
                    let less = self.is_less(kernel, &right, &left)?;
                    Ok(vec![code.select(less, bounds[0], next), code.select(less, guess, bounds[1])])
                },
            )?;
            let left = code.add(begin, found[0]);
            let right = code.add(middle, code.sub(before, found[0]));
            let start = vec![Scalar::Real(left), Scalar::Real(right)];
            nest(kernel, &[STEP], start, &mut |number, places| {
                let at = code.add(first, number[0]);
                let within = code.compare(Int::Ult, at, end);
                only_if(kernel, Some(within), places, |places| {
                    let (left, right) = (places[0].real(), places[1].real());
                    let final_place = code.index(length - 1);
                    let read = |place: Value<'c, 'a>| {
                        self.load(kernel, from, row, code.binary("arith.minui", place, final_place))
                    };
                    let (ours, theirs) = (read(left)?, read(right)?);
                    let less = self.is_less(kernel, &theirs, &ours)?;
                    // Right where the left run is at its end, or the right one is not and has less.
                    let left_ends = code.compare(Int::Uge, left, middle);
                    let right_goes_on = code.compare(Int::Ult, right, last);
                    let takes_right = code.binary("arith.andi", less, right_goes_on);
                    let takes_right = code.binary("arith.ori", takes_right, left_ends);
                    let taken: Vec<Scalar> = theirs
                        .iter()
                        .zip(&ours)
                        .map(|(theirs, ours)| code.select_scalar(takes_right, *theirs, *ours))
                        .collect();
                    self.store(kernel, to, row, at, &taken)?;
                    let next = |place: Value<'c, 'a>| code.add(place, code.index(1));
                    let left = code.select(takes_right, left, next(left));
                    let right = code.select(takes_right, next(right), right);
                    Ok(vec![Scalar::Real(left), Scalar::Real(right)])
                })
            })?;
            Ok(())
        })
    }

    /// Sorts each row by one thread, in the result's buffers: for kernels without scratch memory.
    fn insertion(&self, kernel: &Kernel<'c, 'a>, to: &[Value<'c, 'a>]) -> Result<'c, ()> {
        let code = &kernel.code;
        let rows = self.rows();
        kernel.grid_stride(count_of(&rows), |row| {
            let row = kernel.indices(&rows, row);
            nest(kernel, &[self.length()], vec![], &mut |at, carried| {
                let index = self.index(&row, at[0]);
                let values: Vec<Scalar> = self
                    .op
                    .operands()
                    .map(|operand| kernel.element(operand, &index))
                    .collect::<Result<_>>()?;
                let goes_on = code.integer(1, code.int(1));
                let parts = [vec![Scalar::Real(at[0]), Scalar::Real(goes_on)]].concat();
                let place = code.while_loop(
                    &flat(&parts),
                    |carried| {
                        let some = code.compare(Int::Ugt, carried[0], code.index(0));
                        Ok(code.binary("arith.andi", some, carried[1]))
                    },
                    |carried| {
                        let before = code.sub(carried[0], code.index(1));
                        let theirs = self.load(kernel, to, &row, before)?;
                        let less = self.is_less(kernel, &values, &theirs)?;
                        code.if_then(less, || self.store(kernel, to, &row, carried[0], &theirs))?;
                        Ok(vec![code.select(less, before, carried[0]), less])
                    },
                )?;
                let place = unflat(&parts, &place)[0].real();
                self.store(kernel, to, &row, place, &values)?;
                Ok(carried)
            })?;
            Ok(())
        })
    }
}

/// Bytes of scratch memory: as much as the operands.
pub fn scratch<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<u64>> {
    let sort = Sort::of(op)?;
    if sort.merges() == 0 {
        return Ok(vec![]);
    }
    let count = count_of(sort.shape) as u64;
    Ok(sort.elements.iter().map(|element| count * bytes_of(*element)).collect())
}

/// The launches: one for chunks, one for each merge.
pub fn launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<Launch<'c>>> {
    let sort = Sort::of(op)?;
    if sort.shape.is_empty() || count_of(sort.shape) == 0 {
        return Ok(vec![Launch::of_threads(1)]);
    }
    let rows = count_of(&sort.rows());
    if sort.merges() > 0 && scratch_count(op) < sort.elements.len() {
        return Ok(vec![Launch::of_threads(rows)]);
    }
    let launch = |size: i64| Launch::of_threads(rows.saturating_mul((sort.length() + size - 1) / size));
    let mut launches = vec![launch(CHUNK)];
    launches.extend((0..sort.merges()).map(|_| launch(STEP)));
    Ok(launches)
}

/// Writes one launch.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>, launch: usize) -> Result<'c, ()> {
    let sort = Sort::of(op)?;
    if sort.shape.is_empty() || count_of(sort.shape) == 0 {
        return copy_operands(kernel, op);
    }
    let merges = sort.merges();
    let results = result_buffers(kernel, op)?;
    if merges > 0 && scratch_count(op) < sort.elements.len() {
        return sort.insertion(kernel, &results);
    }
    // The last launch must write the results.
    let buffers = |launch: u32| -> Vec<Value<'c, 'a>> {
        if (merges - launch).is_multiple_of(2) {
            return results.clone();
        }
        (0..sort.elements.len()).map(|number| kernel.scratch_pointer(number)).collect()
    };
    match launch as u32 {
        0 => sort.chunks(kernel, &buffers(0)),
        launch => sort.merge(kernel, CHUNK << (launch - 1), &buffers(launch - 1), &buffers(launch)),
    }
}
