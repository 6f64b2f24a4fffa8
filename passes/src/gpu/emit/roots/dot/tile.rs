// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Products of matrices, a square tile of results per block and part of what is contracted: [`DEEP`] columns of the
//! left and rows of the right operand at a time go through workgroup memory, and each thread has a small square of
//! results in registers, a sixteenth of the tile's rows by a sixteenth of its columns. Blocks of other than [`BLOCK`]
//! threads (on the CPU: of one) compute the same small squares from the operands themselves.

use super::super::arithmetic::register;
use super::super::group::{Group, Size, load, store};
use super::super::{Launch, Result, window};
use super::{Cut, Product, Writer};
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::BLOCK;
use melior::ir::{Type, Value};

/// Rows and columns of a block's results, where there are many; else half as many.
pub const TILE: i64 = 64;
/// Small squares along a tile: one for each thread of a block.
const SQUARES: i64 = 16;
/// How much of the contracted dimension is in workgroup memory.
pub const DEEP: i64 = 16;
/// How much of it a part has at least: a block has then more to compute than to start and to store.
pub const LEAST: i64 = 8 * DEEP;

/// Distance of columns in workgroup memory: not a power of two, so that they lie in different banks.
fn stride(tile: i64) -> i64 {
    tile + 4
}

/// The launch of a product in tiles; `element` is the register type of sums.
pub fn launch<'c>(product: &Product<'c>, tile: i64, cut: Cut, element: Type<'c>) -> Launch<'c> {
    let count = DEEP * stride(tile);
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
    /// Rows and columns of a tile, and of a thread's square.
    tile: i64,
    own: i64,
    batches: i64,
    /// How many rows and columns there are, and how many contracted.
    sizes: [i64; 2],
    contracted: i64,
    cut: Cut,
}

impl Tiles {
    fn new(product: &Product<'_>, tile: i64, cut: Cut) -> Self {
        let [batches, rows, columns, contracted] = product.counts();
        Self { tile, own: tile / SQUARES, batches, sizes: [rows, columns], contracted, cut }
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
            let row = code.add(row, code.index(number / self.own));
            let column = code.add(column, code.index(number % self.own));
            let mut within = None;
            for (value, count) in [row, column].into_iter().zip(self.sizes) {
                if count % self.tile != 0 {
                    let inside = code.compare(Int::Ult, value, code.index(count));
                    within = window::both(code, within, Some(inside));
                }
            }
            let write = || writer.store(part, [batch, row, column], Scalar::Real(*sum));
            match within {
                Some(within) => code.if_then(within, write)?,
                None => write()?,
            }
        }
        Ok(())
    }

    fn add_products<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        left: &[Value<'c, 'a>],
        right: &[Value<'c, 'a>],
        sums: &[Value<'c, 'a>],
    ) -> Vec<Value<'c, 'a>> {
        let own = self.own as usize;
        let next = sums.iter().enumerate().map(|(number, sum)| {
            let [left, right, sum] = [left[number / own], right[number % own], *sum].map(Scalar::Real);
            writer.arithmetic.multiply_add(writer.kernel, left, right, sum).real()
        });
        next.collect()
    }

    fn zeros<'c: 'a, 'a>(&self, writer: &Writer<'_, 'c, 'a>) -> Vec<Value<'c, 'a>> {
        vec![writer.arithmetic.zero(writer.kernel).real(); (self.own * self.own) as usize]
    }

    /// An element of an operand for workgroup memory; zero past the ends.
    fn element<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        side: usize,
        batch: &[Value<'c, 'a>],
        [free, contracted]: [Value<'c, 'a>; 2],
    ) -> Result<'c, Scalar<'c, 'a>> {
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
        let contracted = held(contracted, self.contracted, DEEP);
        let (value, exists) = writer.element(side, batch, free, contracted)?;
        Ok(writer.or_zero(value, window::both(code, within, exists)))
    }

    /// Each block a tile at a time.
    fn in_blocks<'c: 'a, 'a>(&self, writer: &Writer<'_, 'c, 'a>) -> Result<'c, ()> {
        let (kernel, code) = (writer.kernel, &writer.kernel.code);
        let group = Group::new(code, Size::Block);
        let element = register(code, writer.arithmetic.accumulator);
        let mut places = [code.div(group.lane, SQUARES), code.rem(group.lane, SQUARES)];
        if writer.product.is_down() {
            places.reverse();
        }
        let own = places.map(|place| code.mul(place, code.index(self.own)));
        group.tasks(code, self.count(), |task| {
            let [part, number, row, column] = self.task(writer, task, self.tile);
            let batch = kernel.indices(&writer.product.batch, number);
            let [from, to] = self.cut.bounds(code, part, self.contracted);
            let step = code.index(DEEP);
            let sums = code.for_loop(from, to, step, &self.zeros(writer), |start, sums| {
                code.assume_multiple(start, DEEP);
                // What a thread takes is in one piece where memory is: one load or two, all before the first is used.
                let each = self.tile * DEEP / BLOCK;
                let mut found = Vec::new();
                for (side, first) in [row, column].into_iter().enumerate() {
                    for number in 0..each {
                        let place = code.add(code.mul(group.lane, code.index(each)), code.index(number));
                        // Threads that follow each other read what does.
                        let (free, deep) = if writer.product.runs_along(side) {
                            (code.div(place, DEEP), code.rem(place, DEEP))
                        } else {
                            (code.rem(place, self.tile), code.div(place, self.tile))
                        };
                        let places = [code.add(first, free), code.add(start, deep)];
                        let value = self.element(writer, side, &batch, places)?;
                        let at = code.add(code.mul(deep, code.index(stride(self.tile))), free);
                        found.push((side, at, value.real()));
                    }
                }
                for (side, at, value) in found {
                    store(code, kernel.shared(side), at, value);
                }
                code.effect("gpu.barrier", &[]);
                let sums = code.for_loop(code.index(0), step, code.index(1), sums, |deep, sums| {
                    let column = code.mul(deep, code.index(stride(self.tile)));
                    let read = |side: usize| -> Vec<Value<'c, 'a>> {
                        let first = code.add(column, own[side]);
                        (0..self.own)
                            .map(|number| {
                                let at = code.add(first, code.index(number));
                                load(code, kernel.shared(side), at, element)
                            })
                            .collect()
                    };
                    Ok(self.add_products(writer, &read(0), &read(1), sums))
                })?;
                code.effect("gpu.barrier", &[]);
                Ok(sums)
            })?;
            self.finish(writer, [part, number, code.add(row, own[0]), code.add(column, own[1])], &sums)
        })
    }

    /// Each thread its small squares, from the operands themselves.
    fn in_threads<'c: 'a, 'a>(&self, writer: &Writer<'_, 'c, 'a>) -> Result<'c, ()> {
        let (kernel, code) = (writer.kernel, &writer.kernel.code);
        let [down, across] = self.along(self.own);
        Group::new(code, Size::Thread).tasks(code, self.batches * down * across * self.cut.parts, |task| {
            let place = self.task(writer, task, self.own);
            let [part, number, row, column] = place;
            let batch = kernel.indices(&writer.product.batch, number);
            let [from, to] = self.cut.bounds(code, part, self.contracted);
            let sums = code.for_loop(from, to, code.index(1), &self.zeros(writer), |deep, sums| {
                let read = |side: usize, first: Value<'c, 'a>| -> Result<'c, Vec<Value<'c, 'a>>> {
                    let count = self.sizes[side];
                    (0..self.own)
                        .map(|number| {
                            let at = code.add(first, code.index(number));
                            // Rows past the last are never stored.
                            let at = if count % self.own == 0 {
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
