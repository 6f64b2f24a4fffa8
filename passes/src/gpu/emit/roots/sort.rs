// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Sorts along a dimension, by merging.
//!
//! First each thread sorts [`CHUNK`] elements that follow each other, in registers; each step after that merges pairs
//! of sorted runs, each thread [`STEP`] elements of the merged one: it finds by bisection how many of them come from
//! either run. Equal elements keep their order in each step, so the sort is stable. Every element of the result is
//! written whatever the comparator says. It takes `n log(n)^2 / STEP + n log(n)` comparisons.
//!
//! Where the elements are between the steps ([`Way`]):
//!
//! * A line of which two copies fit into a block's memory is sorted there, in one launch and without scratch memory.
//! * Longer ones go from the result's buffer to scratch memory and back, a launch for each step.
//! * Where elements are wide, or come with others (arg-sorts, pairs), only their places are sorted, of 32 bits: from
//!   scratch memory to where a result will be, and back. What is compared is computed by its place, from the
//!   operands; a last launch writes the results. That reads a sector for each key, but the bytes that other compilers
//!   take for it are a copy of everything.
//!
//! In the first two ways each element of an operand is read once, before anybody writes where it may lie. In the
//! first, no more of a line is stored than is asked of it, if that is its beginning ([`firsts`]).

use super::group::{self, Group, Size};
use super::reducer::bytes_of;
use super::serial::{flat, nest, only_if, unflat};
use super::{Launch, Result, copy_operands, returned_as, scratch_count};
use crate::framework::PassError;
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::{Kernel, count_of, tensor};
use crate::gpu::emit::numbers;
use crate::ir;
use crate::rewrite::uses;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};

/// Elements that a thread sorts in registers.
const CHUNK: i64 = 4;
/// Elements that a thread merges.
const STEP: i64 = 8;
/// Bytes of a block's memory.
const MOST_BYTES: u64 = 48 << 10;
/// Bytes of elements beyond which places are sorted.
const WIDE: u64 = 4;
/// Elements of a line that have places of 32 bits.
const MOST_PLACES: i64 = 1 << 31;

/// Where elements are between the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// In a block's memory.
    Block,
    /// In result and scratch memory, by turns.
    Carry,
    /// Nowhere: places are, in scratch memory and a result's.
    Places,
    /// In the result, one thread for each line: for kernels without scratch memory.
    Insertion,
}

/// Elements of all operands at one place, and the place, if that is what is moved.
#[derive(Clone)]
struct Item<'c, 'a> {
    place: Option<Value<'c, 'a>>,
    elements: Vec<Scalar<'c, 'a>>,
}

/// What a step reads from or writes to.
enum Memory<'c, 'a> {
    /// Buffers of elements by their row-major position, by operand; none for what nobody needs.
    Buffers(Vec<Option<Value<'c, 'a>>>),
    /// A block's memory from its number on, by the place in the line.
    Block(usize),
    /// A buffer of places, by their row-major position.
    Places(Value<'c, 'a>),
}

struct Sort<'c, 'a> {
    op: OperationRef<'c, 'a>,
    comparator: BlockRef<'c, 'a>,
    shape: &'c [i64],
    dim: usize,
    elements: Vec<Type<'c>>,
    /// How many elements of each line are stored.
    kept: i64,
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
        let mut this = Self { op, comparator, shape, dim, elements, kept: 0 };
        this.kept = this.firsts().first().map_or(this.length(), |slice| this.kept_by(*slice));
        Ok(this)
    }

    /// All slices that are asked of it, where these are the beginnings of lines, at most one of each result; else none.
    fn beginnings(&self) -> Vec<OperationRef<'c, 'a>> {
        let mut found: Vec<OperationRef<'c, 'a>> = Vec::new();
        for result in self.op.results() {
            let mut users = uses(result.into());
            let Some(user) = users.next() else { continue };
            let same = found.first().is_none_or(|first| self.kept_by(*first) == self.kept_by(user.user));
            if users.next().is_some() || !self.is_first(user.user) || !same {
                return Vec::new();
            }
            found.push(user.user);
        }
        found
    }

    /// The same, if a kernel can store them instead of the results.
    fn firsts(&self) -> Vec<OperationRef<'c, 'a>> {
        let is_short = self.merges() == 0 || self.way() == Way::Block;
        if is_short { self.beginnings() } else { Vec::new() }
    }

    fn kept_by(&self, slice: OperationRef<'c, 'a>) -> i64 {
        let shape = slice.result(0).ok().and_then(|result| ffi::shape(result.r#type()));
        shape.and_then(|shape| shape.get(self.dim).copied()).unwrap_or_default()
    }

    /// Whether an op is a slice of the beginning of each line, beside the sort.
    fn is_first(&self, op: OperationRef<'c, 'a>) -> bool {
        let starts = ir::i64_array(op, "start_indices").unwrap_or(&[1]);
        let strides = ir::i64_array(op, "strides").unwrap_or(&[2]);
        let limits = ir::i64_array(op, "limit_indices").unwrap_or_default();
        op_name(op) == "stablehlo.slice"
            && op.block() == self.op.block()
            && starts.iter().all(|start| *start == 0)
            && strides.iter().all(|stride| *stride == 1)
            && limits.len() == self.shape.len()
            && (0..limits.len()).all(|dim| dim == self.dim || limits[dim] == self.shape[dim])
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

    /// Bytes of one element of each operand.
    fn bytes(&self) -> u64 {
        self.elements.iter().map(|element| bytes_of(*element)).sum()
    }

    /// Where elements are to be between the steps; none of them is if there is no step.
    fn way(&self) -> Way {
        let length = self.length().unsigned_abs();
        if self.merges() == 0 {
            return Way::Carry;
        }
        if 2 * self.bytes().saturating_mul(length) <= MOST_BYTES {
            return Way::Block;
        }
        let places = self.bytes() > WIDE && self.length() < MOST_PLACES;
        if places { Way::Places } else { Way::Carry }
    }

    /// The same, in a kernel that may lack memory for it.
    fn way_of_kernel(&self) -> Result<'c, Way> {
        let short = scratch_count(self.op) < scratch(self.op)?.len();
        Ok(if short { Way::Insertion } else { self.way() })
    }

    /// The first result of the kernel that places fit into.
    fn lender(&self) -> Option<usize> {
        let wide = self.elements.iter().map(|element| bytes_of(*element) >= 4);
        returned_as(self.op).into_iter().zip(wide).find_map(|(number, wide)| number.filter(|_| wide))
    }

    fn load(
        &self,
        kernel: &Kernel<'c, 'a>,
        memory: &Memory<'c, 'a>,
        row: &Row<'c, 'a>,
        at: Value<'c, 'a>,
    ) -> Result<'c, Item<'c, 'a>> {
        let code = &kernel.code;
        let position = || kernel.linear(self.shape, &self.index(row, at));
        Ok(match memory {
            Memory::Buffers(buffers) => {
                let loads = buffers.iter().zip(&self.elements).map(|(buffer, element)| {
                    let buffer = buffer.ok_or_else(|| {
                        PassError::at(self.op, "has a result that its kernel does not return")
                    })?;
                    kernel.load(buffer, *element, position())
                });
                Item { place: None, elements: loads.collect::<Result<_>>()? }
            }
            Memory::Block(first) => {
                let mut next = *first;
                let loads = self.elements.iter().map(|element| {
                    let ty = self.stored(kernel, *element)?;
                    let parts = next..next + numbers::part_count(*element);
                    next = parts.end;
                    let parts: Vec<_> =
                        parts.map(|part| group::load(code, kernel.shared(part), at, ty)).collect();
                    Ok(numbers::from_storage(code, Scalar::from_parts(&parts), *element))
                });
                Item { place: None, elements: loads.collect::<Result<_>>()? }
            }
            Memory::Places(buffer) => {
                let place = kernel.load(*buffer, code.int(32), position())?.real();
                self.item_at(kernel, row, place)?
            }
        })
    }

    /// The type that elements, or parts of them, have in a block's memory.
    fn stored(&self, kernel: &Kernel<'c, 'a>, element: Type<'c>) -> Result<'c, Type<'c>> {
        numbers::storage_type(&kernel.code, element)
            .ok_or_else(|| PassError::at(self.op, format!("has elements of type {element}")))
    }

    /// What the operands have at an index of a row.
    fn elements_at(
        &self,
        kernel: &Kernel<'c, 'a>,
        row: &Row<'c, 'a>,
        at: Value<'c, 'a>,
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let index = self.index(row, at);
        self.op.operands().map(|operand| kernel.element(operand, &index)).collect()
    }

    /// What the operands have at a place, and the place.
    fn item_at(
        &self,
        kernel: &Kernel<'c, 'a>,
        row: &Row<'c, 'a>,
        place: Value<'c, 'a>,
    ) -> Result<'c, Item<'c, 'a>> {
        let at = kernel.code.resize(place, kernel.code.index_type(), false);
        Ok(Item { place: Some(place), elements: self.elements_at(kernel, row, at)? })
    }

    fn store(
        &self,
        kernel: &Kernel<'c, 'a>,
        memory: &Memory<'c, 'a>,
        row: &Row<'c, 'a>,
        at: Value<'c, 'a>,
        item: &Item<'c, 'a>,
    ) -> Result<'c, ()> {
        let code = &kernel.code;
        let position = || kernel.linear(self.shape, &self.index(row, at));
        let elements = self.elements.iter().zip(&item.elements);
        match (memory, item.place) {
            (Memory::Buffers(buffers), _) => {
                let mut shape = self.shape.to_vec();
                shape[self.dim] = self.kept;
                let store = || {
                    let position = kernel.linear(&shape, &self.index(row, at));
                    for (buffer, (element, value)) in buffers.iter().zip(elements) {
                        if let Some(buffer) = buffer {
                            kernel.store(*buffer, *element, position, *value)?;
                        }
                    }
                    Ok(())
                };
                if self.kept == self.length() {
                    store()?;
                } else {
                    code.if_then(code.compare(Int::Ult, at, code.index(self.kept)), store)?;
                }
            }
            (Memory::Block(first), _) => {
                let parts =
                    elements.flat_map(|(element, value)| numbers::to_storage(code, *value, *element).parts());
                for (number, part) in parts.enumerate() {
                    group::store(code, kernel.shared(first + number), at, part);
                }
            }
            (Memory::Places(buffer), Some(place)) => {
                kernel.store(*buffer, code.int(32), position(), Scalar::Real(place))?;
            }
            (Memory::Places(_), None) => return Err(PassError::at(self.op, "has an element of no place")),
        }
        Ok(())
    }

    /// One of two items.
    fn pick(
        &self,
        kernel: &Kernel<'c, 'a>,
        condition: Value<'c, 'a>,
        yes: &Item<'c, 'a>,
        no: &Item<'c, 'a>,
    ) -> Item<'c, 'a> {
        let code = &kernel.code;
        let both = yes.elements.iter().zip(&no.elements);
        Item {
            place: yes.place.zip(no.place).map(|(yes, no)| code.select(condition, yes, no)),
            elements: both.map(|(yes, no)| code.select_scalar(condition, *yes, *no)).collect(),
        }
    }

    /// Whether `left` comes before `right`.
    fn is_less(
        &self,
        kernel: &Kernel<'c, 'a>,
        left: &Item<'c, 'a>,
        right: &Item<'c, 'a>,
    ) -> Result<'c, Value<'c, 'a>> {
        let both = left.elements.iter().zip(&right.elements);
        let arguments: Vec<Scalar> = both.flat_map(|(left, right)| [*left, *right]).collect();
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

    /// Hands pieces of `size` elements of one row to the threads of a block.
    fn pieces_of_row(
        &self,
        kernel: &Kernel<'c, 'a>,
        group: &Group<'c, 'a>,
        size: i64,
        body: impl FnOnce(Value<'c, 'a>) -> Result<'c, ()>,
    ) -> Result<'c, ()> {
        let code = &kernel.code;
        let count = code.index((self.length() + size - 1) / size);
        code.for_loop(group.lane, count, group.threads, &[], |piece, _| {
            body(code.mul(piece, code.index(size)))?;
            Ok(vec![])
        })?;
        Ok(())
    }

    /// Sorts the [`CHUNK`] elements from `first` on into `to`.
    fn chunk(
        &self,
        kernel: &Kernel<'c, 'a>,
        to: &Memory<'c, 'a>,
        row: &Row<'c, 'a>,
        first: Value<'c, 'a>,
    ) -> Result<'c, ()> {
        let code = &kernel.code;
        let length = self.length();
        let count = CHUNK.min(length);
        let mut items = Vec::new();
        let mut valid = Vec::new();
        for number in 0..count {
            let at = code.add(first, code.index(number));
            // Elements after the last are read again and never moved.
            let partial = length % CHUNK != 0;
            let read = if partial { code.binary("arith.minui", at, code.index(length - 1)) } else { at };
            let item = match to {
                Memory::Places(_) => self.item_at(kernel, row, code.resize(read, code.int(32), false))?,
                _ => Item { place: None, elements: self.elements_at(kernel, row, read)? },
            };
            items.push(item);
            valid.push((at, partial.then(|| code.compare(Int::Ult, at, code.index(length)))));
        }
        // Neighbours change places where they are out of order, as often as any order could need.
        for round in 0..count as usize {
            for left in (round % 2..(count as usize).saturating_sub(1)).step_by(2) {
                let mut swap = self.is_less(kernel, &items[left + 1], &items[left])?;
                if let Some(valid) = valid[left + 1].1 {
                    swap = code.binary("arith.andi", swap, valid);
                }
                let low = self.pick(kernel, swap, &items[left + 1], &items[left]);
                let high = self.pick(kernel, swap, &items[left], &items[left + 1]);
                (items[left], items[left + 1]) = (low, high);
            }
        }
        for (item, (at, valid)) in items.iter().zip(valid) {
            let store = || self.store(kernel, to, row, at, item);
            match valid {
                Some(valid) => code.if_then(valid, store)?,
                None => store()?,
            }
        }
        Ok(())
    }

    /// Merges, of pairs of runs of `run` elements, the [`STEP`] elements from `first` on.
    fn merge(
        &self,
        kernel: &Kernel<'c, 'a>,
        run: i64,
        [from, to]: [&Memory<'c, 'a>; 2],
        row: &Row<'c, 'a>,
        first: Value<'c, 'a>,
    ) -> Result<'c, ()> {
        let code = &kernel.code;
        let length = self.length();
        let end = code.index(length);
        let begin = code.mul(code.div(first, 2 * run), code.index(2 * run));
        let middle = code.binary("arith.minui", code.add(begin, code.index(run)), end);
        let last = code.binary("arith.minui", code.add(begin, code.index(2 * run)), end);
        let (left_count, right_count) = (code.sub(middle, begin), code.sub(last, middle));
        let before = code.sub(first, begin);
        // How many of the elements before this thread's are of the left run.
        let least = code.binary("arith.maxsi", code.sub(before, right_count), code.index(0));
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
                let taken = self.pick(kernel, takes_right, &theirs, &ours);
                self.store(kernel, to, row, at, &taken)?;
                let next = |place: Value<'c, 'a>| code.add(place, code.index(1));
                let left = code.select(takes_right, left, next(left));
                let right = code.select(takes_right, next(right), right);
                Ok(vec![Scalar::Real(left), Scalar::Real(right)])
            })
        })?;
        Ok(())
    }

    /// Sorts each row in the memory of a block.
    fn in_block(&self, kernel: &Kernel<'c, 'a>, results: Memory<'c, 'a>) -> Result<'c, ()> {
        let code = &kernel.code;
        let group = Group::new(code, Size::Block);
        let rows = self.rows();
        let parts: usize = self.elements.iter().map(|element| numbers::part_count(*element)).sum();
        for element in self.elements.iter().chain(&self.elements) {
            for _ in 0..numbers::part_count(*element) {
                kernel.add_shared(self.stored(kernel, *element)?, self.length())?;
            }
        }
        let half = |number: u32| Memory::Block(if number.is_multiple_of(2) { 0 } else { parts });
        group.tasks(code, count_of(&rows), |row| {
            let row = kernel.indices(&rows, row);
            self.pieces_of_row(kernel, &group, CHUNK, |first| self.chunk(kernel, &half(0), &row, first))?;
            code.effect("gpu.barrier", &[]);
            for number in 1..=self.merges() {
                let (from, to) = (half(number - 1), half(number));
                let to = if number == self.merges() { &results } else { &to };
                self.pieces_of_row(kernel, &group, STEP, |first| {
                    self.merge(kernel, CHUNK << (number - 1), [&from, to], &row, first)
                })?;
                // After the last one the next row takes the place of this one.
                code.effect("gpu.barrier", &[]);
            }
            Ok(())
        })
    }

    /// Writes the results that places have been found for.
    fn gather(&self, kernel: &Kernel<'c, 'a>, places: Value<'c, 'a>) -> Result<'c, ()> {
        let code = &kernel.code;
        let results = self.results(kernel);
        kernel.grid_stride(count_of(self.shape), |position| {
            let mut row = kernel.indices(self.shape, position);
            row.remove(self.dim);
            let place = kernel.load(places, code.int(32), position)?.real();
            let item = self.item_at(kernel, &row, place)?;
            let each = results.iter().zip(&self.elements).zip(&item.elements);
            for ((buffer, element), value) in each {
                if let Some(buffer) = buffer {
                    kernel.store(*buffer, *element, position, *value)?;
                }
            }
            Ok(())
        })
    }

    /// The buffers of the results, by operand.
    fn results(&self, kernel: &Kernel<'c, 'a>) -> Vec<Option<Value<'c, 'a>>> {
        let numbers = returned_as(self.op).into_iter();
        numbers.map(|number| number.map(|number| kernel.result_pointer(number))).collect()
    }

    /// Sorts each row by one thread, in the result's buffers: for kernels without scratch memory.
    fn insertion(&self, kernel: &Kernel<'c, 'a>, to: &Memory<'c, 'a>) -> Result<'c, ()> {
        let code = &kernel.code;
        let rows = self.rows();
        kernel.grid_stride(count_of(&rows), |row| {
            let row = kernel.indices(&rows, row);
            nest(kernel, &[self.length()], vec![], &mut |at, carried| {
                let values = Item { place: None, elements: self.elements_at(kernel, &row, at[0])? };
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

/// Whether each element of the operands is read once, before anything is written where it may lie.
pub fn reads_once<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    Sort::of(op).is_ok_and(|sort| sort.way() != Way::Places)
}

/// Whether results that nobody needs need not be there.
pub fn drops_results<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    Sort::of(op).is_ok_and(|sort| matches!(sort.way(), Way::Places | Way::Block))
}

/// The slices that a kernel of the sort stores instead of its results, if it does: the beginnings of all lines, one
/// of each result that anybody needs.
pub fn firsts<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    Sort::of(op).map_or_else(|_| Vec::new(), |sort| sort.firsts())
}

/// The slices that are all that is asked of a sort, at most one of each result, if they are the beginnings of its
/// lines.
pub fn beginnings<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    Sort::of(op).map_or_else(|_| Vec::new(), |sort| sort.beginnings())
}

/// The longest line of elements of so many bytes that is sorted in the memory of a block: a power of two.
pub fn longest_in_block(bytes: u64) -> i64 {
    let most = (MOST_BYTES / 2 / bytes.max(1)).max(1);
    1 << most.ilog2()
}

/// How often elements of an operand are computed, in all.
pub fn evaluations<'c: 'a, 'a>(op: OperationRef<'c, 'a>, operand: usize) -> f64 {
    let Ok(sort) = Sort::of(op) else { return 0.0 };
    let count = count_of(sort.shape) as f64;
    let is_compared = (2 * operand..2 * operand + 2).any(|number| {
        sort.comparator.argument(number).is_ok_and(|argument| uses(argument.into()).next().is_some())
    });
    match sort.way() {
        // Two for each element of a step, and those that are looked at in between.
        Way::Places if is_compared => count * f64::from(3 * sort.merges() + 2),
        _ => count,
    }
}

/// Bytes of scratch memory: for all operands, or for places.
pub fn scratch<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<u64>> {
    let sort = Sort::of(op)?;
    let count = count_of(sort.shape) as u64;
    Ok(match sort.way() {
        _ if sort.merges() == 0 => vec![],
        Way::Places if sort.lender().is_some() => vec![count.saturating_mul(4)],
        Way::Places => vec![count.saturating_mul(4); 2],
        Way::Carry => sort.elements.iter().map(|element| count.saturating_mul(bytes_of(*element))).collect(),
        Way::Block | Way::Insertion => vec![],
    })
}

/// The launches: one for chunks, one for each merge, and one to write results by their places; or one for all in
/// blocks.
pub fn launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<Launch<'c>>> {
    let sort = Sort::of(op)?;
    if sort.shape.is_empty() || count_of(sort.shape) == 0 {
        return Ok(vec![Launch::of_threads(1)]);
    }
    let rows = count_of(&sort.rows());
    let launch = |size: i64| Launch::of_threads(rows.saturating_mul((sort.length() + size - 1) / size));
    let merges = || (0..sort.merges()).map(|_| launch(STEP));
    Ok(match sort.way_of_kernel()? {
        Way::Insertion => vec![Launch::of_threads(rows)],
        Way::Block => vec![Launch::of_blocks(rows)],
        Way::Carry => [launch(CHUNK)].into_iter().chain(merges()).collect(),
        Way::Places => [launch(CHUNK)].into_iter().chain(merges()).chain([launch(1)]).collect(),
    })
}

/// Writes one launch.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>, launch: usize) -> Result<'c, ()> {
    let sort = Sort::of(op)?;
    if sort.shape.is_empty() || count_of(sort.shape) == 0 {
        return copy_operands(kernel, op);
    }
    let merges = sort.merges();
    let way = sort.way_of_kernel()?;
    // The last step must write the results, or places that are in none of them.
    let memory = |step: u32| -> Memory<'c, 'a> {
        let is_last = (merges - step).is_multiple_of(2);
        let scratch = |number| kernel.scratch_pointer(number);
        match way {
            Way::Places if is_last => Memory::Places(scratch(0)),
            Way::Places => Memory::Places(
                sort.lender().map_or_else(|| scratch(1), |number| kernel.result_pointer(number)),
            ),
            _ if is_last => Memory::Buffers(sort.results(kernel)),
            _ => Memory::Buffers((0..sort.elements.len()).map(|number| Some(scratch(number))).collect()),
        }
    };
    match (way, launch as u32) {
        (Way::Insertion, _) => sort.insertion(kernel, &Memory::Buffers(sort.results(kernel))),
        (Way::Block, _) => sort.in_block(kernel, Memory::Buffers(sort.results(kernel))),
        (_, 0) => sort.pieces(kernel, CHUNK, |row, first| sort.chunk(kernel, &memory(0), row, first)),
        (Way::Places, step) if step > merges => sort.gather(kernel, kernel.scratch_pointer(0)),
        (_, step) => sort.pieces(kernel, STEP, |row, first| {
            let (from, to) = (memory(step - 1), memory(step));
            sort.merge(kernel, CHUNK << (step - 1), [&from, &to], row, first)
        }),
    }
}
