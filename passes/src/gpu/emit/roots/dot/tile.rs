// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Products of matrices, a square tile of results per block and part of what is contracted. Each thread has a small
//! square of a tile in registers. Where that are more threads than a tile has squares, they are several groups, which
//! have the same squares and contract a share each; their sums are added up in workgroup memory, which costs a block
//! nothing that other blocks would wait for.
//!
//! A stage of columns of the left and rows of the right operand at a time goes through workgroup memory. What the next
//! stage needs is loaded before the products of this one are computed, so that memory answers meanwhile: blocks are
//! often so few that nobody else has something to do then.
//!
//! Blocks of other than [`BLOCK`] threads (on the CPU: of one) compute the same small squares from the operands
//! themselves.

use super::super::arithmetic::register;
use super::super::group::{Group, Size, load, store};
use super::super::{Launch, Result, window};
use super::{Cut, Product, Writer};
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::BLOCK;
use melior::ir::operation::OperationLike;
use melior::ir::{Type, Value, ValueLike};
use slimhlo_dialect::dense::element_bytes;

/// Rows and columns of a block's results, where there are many; else half as many.
pub const TILE: i64 = 64;
/// Rows and columns of a thread's square: with fewer, elements are read from workgroup memory for too few products.
const OWN: i64 = 4;
/// How much of what is contracted a group has of a stage, at most and at least.
const DEEP: i64 = 16;
const SHALLOW: i64 = 4;
/// How much of it a part has at least: a block has then more to compute than to start and to store.
const LEAST: i64 = 8 * DEEP;
/// Elements that a thread loads in one piece.
const PIECE: i64 = 4;
/// Bytes that memory hands out at once.
const SECTOR: i64 = 32;

/// Distance of columns in workgroup memory: not a power of two, so that they lie in different banks.
fn stride(tile: i64) -> i64 {
    tile + 4
}

/// How many groups of threads a block has that each have all squares of a tile.
fn groups(tile: i64) -> i64 {
    BLOCK / (tile / OWN) / (tile / OWN)
}

/// How much of what is contracted, of so many elements, is in workgroup memory at a time.
pub fn stage(tile: i64, contracted: i64) -> i64 {
    let groups = groups(tile);
    let mut deep = DEEP;
    while deep > SHALLOW && groups * deep / 2 >= contracted {
        deep /= 2;
    }
    groups * deep
}

/// How what is contracted is cut into as many parts as are wanted, and at most so many.
pub fn cut(tile: i64, contracted: i64, parts: [i64; 2]) -> Cut {
    Cut::new(contracted, parts, LEAST, stage(tile, contracted))
}

/// The launch of a product in tiles; `element` is the register type of sums.
pub fn launch<'c>(product: &Product<'c>, tile: i64, cut: Cut, element: Type<'c>) -> Launch<'c> {
    // In the end it has the sums of half of the groups.
    let count = (stage(tile, product.counts()[3]) * stride(tile)).max(groups(tile) / 2 * tile * tile);
    Launch::of_blocks(Tiles::new(product, tile, cut).count()).with(element, count).with(element, count)
}

/// Writes that launch.
pub fn write<'c: 'a, 'a>(writer: &Writer<'_, 'c, 'a>, tile: i64, cut: Cut) -> Result<'c, ()> {
    let code = &writer.kernel.code;
    let tiles = Tiles::new(&writer.product, tile, cut);
    let whole = code.compare(Int::Eq, code.gpu("gpu.block_dim"), code.index(BLOCK));
    code.if_else(
        whole,
        &[],
        || tiles.in_blocks(writer).map(|()| vec![]),
        || tiles.in_threads(writer).map(|()| vec![]),
    )?;
    Ok(())
}

/// The tiles of a product.
struct Tiles {
    /// Rows and columns of a tile.
    tile: i64,
    /// How much of what is contracted is in workgroup memory at a time.
    stage: i64,
    batches: i64,
    /// How many rows and columns there are, and how many contracted.
    sizes: [i64; 2],
    contracted: i64,
    cut: Cut,
}

impl Tiles {
    fn new(product: &Product<'_>, tile: i64, cut: Cut) -> Self {
        let [batches, rows, columns, contracted] = product.counts();
        Self { tile, stage: stage(tile, contracted), batches, sizes: [rows, columns], contracted, cut }
    }

    /// How many squares of so many rows and columns there are down and across.
    fn along(&self, square: i64) -> [i64; 2] {
        self.sizes.map(|size| (size + square - 1) / square)
    }

    fn count(&self) -> i64 {
        let [down, across] = self.along(self.tile);
        self.batches * down * across * self.cut.parts
    }

    /// The part, the batch, and the square's first row and column.
    fn task<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        task: Value<'c, 'a>,
        square: i64,
    ) -> [Value<'c, 'a>; 4] {
        let code = &writer.kernel.code;
        let [down, across] = self.along(square);
        let (number, place) = (code.div(task, down * across), code.rem(task, down * across));
        let (part, batch) = (code.div(number, self.batches), code.rem(number, self.batches));
        let row = code.mul(code.div(place, across), code.index(square));
        [part, batch, row, code.mul(code.rem(place, across), code.index(square))]
    }

    /// Stores a thread's square of sums.
    fn finish<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        [part, batch, row, column]: [Value<'c, 'a>; 4],
        sums: &[Value<'c, 'a>],
    ) -> Result<'c, ()> {
        let code = &writer.kernel.code;
        for (number, sum) in sums.iter().enumerate() {
            let number = number as i64;
            let row = code.add(row, code.index(number / OWN));
            let column = code.add(column, code.index(number % OWN));
            self.store(writer, [part, batch, row, column], *sum)?;
        }
        Ok(())
    }

    /// Stores a sum, if its place is one of the result.
    fn store<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        [part, batch, row, column]: [Value<'c, 'a>; 4],
        sum: Value<'c, 'a>,
    ) -> Result<'c, ()> {
        let code = &writer.kernel.code;
        let mut within = None;
        for (value, count) in [row, column].into_iter().zip(self.sizes) {
            if count % self.tile != 0 {
                let inside = code.compare(Int::Ult, value, code.index(count));
                within = window::both(code, within, Some(inside));
            }
        }
        let write = || writer.store(part, [batch, row, column], Scalar::Real(sum));
        match within {
            Some(within) => code.if_then(within, write),
            None => write(),
        }
    }

    fn add_products<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        left: &[Value<'c, 'a>],
        right: &[Value<'c, 'a>],
        sums: &[Value<'c, 'a>],
    ) -> Vec<Value<'c, 'a>> {
        let next = sums.iter().enumerate().map(|(number, sum)| {
            let (row, column) = (number / OWN as usize, number % OWN as usize);
            let [left, right, sum] = [left[row], right[column], *sum].map(Scalar::Real);
            writer.arithmetic.multiply_add(writer.kernel, left, right, sum).real()
        });
        next.collect()
    }

    fn zeros<'c: 'a, 'a>(&self, writer: &Writer<'_, 'c, 'a>) -> Vec<Value<'c, 'a>> {
        vec![writer.arithmetic.zero(writer.kernel).real(); (OWN * OWN) as usize]
    }

    /// Where an element for workgroup memory is in its operand, and whether it is there; past the ends none is.
    fn place<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        side: usize,
        batch: &[Value<'c, 'a>],
        [free, contracted]: [Value<'c, 'a>; 2],
    ) -> (Vec<Value<'c, 'a>>, Option<Value<'c, 'a>>) {
        let code = &writer.kernel.code;
        let mut within = None;
        let mut held = |value: Value<'c, 'a>, count: i64, size: i64| {
            if count % size == 0 {
                return value;
            }
            let inside = code.compare(Int::Ult, value, code.index(count));
            within = window::both(code, within, Some(inside));
            code.binary("arith.minui", value, code.index(count - 1))
        };
        let free = held(free, self.sizes[side], self.tile);
        let contracted = held(contracted, self.contracted, self.stage);
        let (index, exists) = writer.index(side, batch, free, contracted);
        (index, window::both(code, within, exists))
    }

    /// What the running thread loads of each stage: the side, and how far down and into the stage an element is. What
    /// is next to each other in memory is loaded by a thread in one piece, a sector of it by threads that follow each
    /// other; such a sector's pieces go to different banks of workgroup memory, and so do those of next rows.
    fn share<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        thread: Value<'c, 'a>,
    ) -> Vec<(usize, [Value<'c, 'a>; 2])> {
        let code = &writer.kernel.code;
        let each = self.tile * self.stage / BLOCK;
        let piece = each.min(PIECE);
        let mut found = Vec::new();
        for side in 0..2 {
            let bytes = element_bytes(writer.product.operands[side].element).unwrap_or(1).max(1) as i64;
            let together = (SECTOR / bytes / piece).clamp(1, BLOCK / self.tile);
            for number in 0..each {
                let place = code.add(thread, code.index(number / piece * BLOCK));
                let at = code.index(number % piece);
                let piece = code.index(piece);
                let (free, deep) = if writer.product.runs_along(side) {
                    let row = code.div(place, together);
                    let before = code.mul(code.div(row, self.tile), code.index(together));
                    let inside = code.add(before, code.rem(place, together));
                    (code.rem(row, self.tile), code.add(code.mul(inside, piece), at))
                } else {
                    let across = self.tile / each.min(PIECE);
                    (code.add(code.mul(code.rem(place, across), piece), at), code.div(place, across))
                };
                found.push((side, [free, deep]));
            }
        }
        found
    }

    /// Loads what a thread has of the stage that begins at a place, if there is such a stage: each element as it is in
    /// its operand, and whether it counts.
    fn fetch<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        share: &[(usize, [Value<'c, 'a>; 2])],
        (batch, first): (&[Value<'c, 'a>], [Value<'c, 'a>; 2]),
        (start, is_one): (Value<'c, 'a>, Value<'c, 'a>),
    ) -> Result<'c, Vec<(Scalar<'c, 'a>, Option<Value<'c, 'a>>)>> {
        let (kernel, code) = (writer.kernel, &writer.kernel.code);
        let places: Vec<_> = share
            .iter()
            .map(|&(side, [free, deep])| {
                let place = [code.add(first[side], free), code.add(start, deep)];
                self.place(writer, side, batch, place)
            })
            .collect();
        let zeros: Vec<_> = share
            .iter()
            .map(|&(side, _)| Ok(kernel.zero(writer.product.operands[side].element)?.real()))
            .collect::<Result<_>>()?;
        let types: Vec<Type<'c>> = zeros.iter().map(|zero| zero.r#type()).collect();
        let load = || {
            let elements = share.iter().zip(&places).map(|(&(side, _), (index, exists))| {
                let operand = writer.op.operand(side)?;
                let element = match exists {
                    Some(_) => kernel.speculative_element(operand, index)?,
                    None => kernel.element(operand, index)?,
                };
                Ok(element.real())
            });
            elements.collect()
        };
        let found = code.if_else(is_one, &types, load, || Ok(zeros.clone()))?;
        Ok(found.into_iter().map(Scalar::Real).zip(places.into_iter().map(|(_, exists)| exists)).collect())
    }

    /// The products of a stage that a thread's group has, from workgroup memory; `own` are its squares' first row and
    /// column.
    fn multiply<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        group: Value<'c, 'a>,
        own: [Value<'c, 'a>; 2],
        sums: &[Value<'c, 'a>],
    ) -> Vec<Value<'c, 'a>> {
        let (kernel, code) = (writer.kernel, &writer.kernel.code);
        let element = register(code, writer.arithmetic.accumulator);
        let deep = self.stage / groups(self.tile);
        let first = code.mul(group, code.index(deep * stride(self.tile)));
        (0..deep).fold(sums.to_vec(), |sums, number| {
            let column = code.add(first, code.index(number * stride(self.tile)));
            let [left, right] = [0, 1].map(|side| -> Vec<Value<'c, 'a>> {
                let first = code.add(column, own[side]);
                let place = |number: i64| code.add(first, code.index(number));
                (0..OWN).map(|number| load(code, kernel.shared(side), place(number), element)).collect()
            });
            self.add_products(writer, &left, &right, &sums)
        })
    }

    /// Each block a tile at a time.
    fn in_blocks<'c: 'a, 'a>(&self, writer: &Writer<'_, 'c, 'a>) -> Result<'c, ()> {
        let (kernel, code) = (writer.kernel, &writer.kernel.code);
        let block = Group::new(code, Size::Block);
        let across = self.tile / OWN;
        let (group, square) = (code.div(block.lane, across * across), code.rem(block.lane, across * across));
        let mut places = [code.div(square, across), code.rem(square, across)];
        if writer.product.is_down() {
            places.reverse();
        }
        let own = places.map(|place| code.mul(place, code.index(OWN)));
        let share = self.share(writer, block.lane);
        block.tasks(code, self.count(), |task| {
            let [part, number, row, column] = self.task(writer, task, self.tile);
            let batch = kernel.indices(&writer.product.batch, number);
            let [from, to] = self.cut.bounds(code, part, self.contracted);
            let step = code.index(self.stage);
            // One turn more than there are stages: each loads one, and computes the one before.
            let sums =
                code.for_loop(from, code.add(to, step), step, &self.zeros(writer), |start, sums| {
                    code.assume_multiple(start, self.stage);
                    let is_one = code.compare(Int::Ult, start, to);
                    let elements = self.fetch(writer, &share, (&batch, [row, column]), (start, is_one))?;
                    let types: Vec<Type<'c>> = sums.iter().map(|sum| sum.r#type()).collect();
                    let is_after_one = code.compare(Int::Ugt, start, from);
                    let multiply = || {
                        let sums = self.multiply(writer, group, own, sums);
                        code.effect("gpu.barrier", &[]);
                        Ok(sums)
                    };
                    let sums = code.if_else(is_after_one, &types, multiply, || Ok(sums.to_vec()))?;
                    code.if_then(is_one, || {
                        for ((value, exists), &(side, [free, deep])) in elements.into_iter().zip(&share) {
                            let from = writer.product.operands[side].element;
                            let value = writer.arithmetic.lift(kernel, writer.op, value, from)?;
                            let at = code.add(code.mul(deep, code.index(stride(self.tile))), free);
                            store(code, kernel.shared(side), at, writer.or_zero(value, exists).real());
                        }
                        code.effect("gpu.barrier", &[]);
                        Ok(())
                    })?;
                    Ok(sums)
                })?;
            if groups(self.tile) == 1 {
                return self.finish(
                    writer,
                    [part, number, code.add(row, own[0]), code.add(column, own[1])],
                    &sums,
                );
            }
            self.finish_groups(writer, (block.lane, group, own), [part, number, row, column], &sums)
        })
    }

    /// Adds up the sums of all groups in workgroup memory, and stores them: what threads that follow each other have
    /// then does so in memory, too.
    fn finish_groups<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        (thread, group, own): (Value<'c, 'a>, Value<'c, 'a>, [Value<'c, 'a>; 2]),
        [part, batch, row, column]: [Value<'c, 'a>; 4],
        sums: &[Value<'c, 'a>],
    ) -> Result<'c, ()> {
        let (kernel, code) = (writer.kernel, &writer.kernel.code);
        let element = register(code, writer.arithmetic.accumulator);
        let all = self.tile * self.tile;
        // Half of the groups have one operand's memory, the others the other one's.
        let half = groups(self.tile) / 2;
        let in_first = code.compare(Int::Ult, group, code.index(half));
        let first = code.mul(code.rem(group, half), code.index(all));
        let down = writer.product.is_down();
        // Rows of workgroup memory are what is next to each other in the result.
        let at = |[row, column]: [Value<'c, 'a>; 2]| {
            let [slow, fast] = if down { [column, row] } else { [row, column] };
            code.add(code.mul(slow, code.index(self.tile)), fast)
        };
        let write = |side: usize| {
            for (number, sum) in sums.iter().enumerate() {
                let number = number as i64;
                let place =
                    [code.add(own[0], code.index(number / OWN)), code.add(own[1], code.index(number % OWN))];
                store(code, kernel.shared(side), code.add(first, at(place)), *sum);
            }
            Ok(vec![])
        };
        code.if_else(in_first, &[], || write(0), || write(1))?;
        code.effect("gpu.barrier", &[]);
        let each = all / BLOCK;
        let mine = code.mul(thread, code.index(each));
        let mut totals = Vec::new();
        for number in 0..each {
            let place = code.add(mine, code.index(number));
            let others = (0..groups(self.tile)).map(|group| {
                let at = code.add(place, code.index(group % half * all));
                load(code, kernel.shared((group / half) as usize), at, element)
            });
            let sum =
                others.map(Scalar::Real).reduce(|left, right| writer.arithmetic.add(kernel, left, right));
            totals.extend(sum.map(|sum| (place, sum.real())));
        }
        code.effect("gpu.barrier", &[]);
        for (place, sum) in totals {
            let [slow, fast] = [code.div(place, self.tile), code.rem(place, self.tile)];
            let [down, right] = if down { [fast, slow] } else { [slow, fast] };
            self.store(writer, [part, batch, code.add(row, down), code.add(column, right)], sum)?;
        }
        Ok(())
    }

    /// Each thread its small squares, from the operands themselves.
    fn in_threads<'c: 'a, 'a>(&self, writer: &Writer<'_, 'c, 'a>) -> Result<'c, ()> {
        let (kernel, code) = (writer.kernel, &writer.kernel.code);
        let [down, across] = self.along(OWN);
        Group::new(code, Size::Thread).tasks(code, self.batches * down * across * self.cut.parts, |task| {
            let place = self.task(writer, task, OWN);
            let [part, number, row, column] = place;
            let batch = kernel.indices(&writer.product.batch, number);
            let [from, to] = self.cut.bounds(code, part, self.contracted);
            let sums = code.for_loop(from, to, code.index(1), &self.zeros(writer), |deep, sums| {
                let read = |side: usize, first: Value<'c, 'a>| -> Result<'c, Vec<Value<'c, 'a>>> {
                    let count = self.sizes[side];
                    (0..OWN)
                        .map(|number| {
                            let at = code.add(first, code.index(number));
                            // Rows past the last are never stored.
                            let at = if count % OWN == 0 {
                                at
                            } else {
                                code.binary("arith.minui", at, code.index(count - 1))
                            };
                            let (value, exists) = writer.element(side, &batch, at, deep)?;
                            Ok(writer.or_zero(value, exists).real())
                        })
                        .collect()
                };
                Ok(self.add_products(writer, &read(0, row)?, &read(1, column)?, sums))
            })?;
            self.finish(writer, place, &sums)
        })
    }
}
