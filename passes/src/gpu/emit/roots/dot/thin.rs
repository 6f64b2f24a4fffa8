// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Products of which one operand has few rows or columns: reductions of the other one, the matrix, each element of
//! which is read once.
//!
//! A task is a row of the matrix and a part of what is contracted, and comes to a sum for each of the few. Where rows
//! are in one piece in memory, a warp or a block has a task; else threads that follow each other have rows that do
//! (`Size::Column`).

use super::super::group::{Group, Size};
use super::super::serial::{flat, unflat};
use super::super::{Launch, Result};
use super::{Cut, Product, Writer};
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::{BLOCK, Grids};
use melior::Context;
use melior::ir::Value;
use melior::ir::operation::OperationLike;

/// How much is contracted at least: one thread for each result does less else.
const SHORT: i64 = 32;
/// Up to which length a warp is enough for a row.
const WARPS: i64 = 256;
/// Least elements of a thread in a part: two rounds of what it has in flight.
const LEAST: i64 = 8;
/// Bytes of the widest load.
const WIDEST: i64 = 16;
/// Elements that a thread has in flight where neighbours are no one load, and loads where they are.
const TOGETHER: i64 = 4;
const TOGETHER_NEIGHBOURS: i64 = 2;
/// Cost of an element up to which a thread takes several at once.
const LIGHT: u64 = 200;

/// How a product with few rows or columns is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thin {
    /// The operand that is the matrix, and its rows; those of the other one; and how often there are both.
    matrix: usize,
    rows: i64,
    few: i64,
    batches: i64,
    contracted: i64,
    size: Size,
    /// Elements of the matrix in one load.
    neighbours: i64,
    grids: Grids,
}

impl Thin {
    /// `None` where so little is contracted that one thread for each result is as good.
    pub fn new(product: &Product<'_>) -> Option<Self> {
        let [batches, rows, columns, contracted] = product.counts();
        if contracted < SHORT {
            return None;
        }
        let (matrix, rows, few) = if rows < columns { (1, columns, rows) } else { (0, rows, columns) };
        let along = product.runs_along(matrix);
        let size = if !along {
            Size::columns(rows)
        } else if contracted < WARPS || batches * rows * 32 >= product.grids.threads() {
            Size::Warp
        } else {
            Size::Block
        };
        let bytes =
            slimhlo_dialect::dense::element_bytes(product.operands[matrix].element).unwrap_or(16) as i64;
        let last = product.operands[matrix].shape.last().copied().unwrap_or(1);
        let mut neighbours = if along && product.is_dot() { (WIDEST / bytes.max(2)).max(1) } else { 1 };
        while neighbours > 1 && (last % neighbours != 0 || contracted % neighbours != 0) {
            neighbours /= 2;
        }
        Some(Self { matrix, rows, few, batches, contracted, size, neighbours, grids: product.grids })
    }

    /// What is contracted in parts, so that all of the device is busy; at most so many.
    pub fn cut(&self, most: i64) -> Cut {
        let blocks = self.blocks(Cut { parts: 1, length: self.contracted });
        Cut::new(self.contracted, [self.grids.busy() / blocks, most], self.size.threads() * LEAST, BLOCK)
    }

    /// Blocks that there is work for.
    pub fn blocks(&self, cut: Cut) -> i64 {
        (self.batches * self.rows * cut.parts * self.size.threads() + BLOCK - 1) / BLOCK
    }

    /// The launch; sums are of so many 32-bit words.
    pub fn launch<'c>(&self, cut: Cut, context: &'c Context, words: i64) -> Launch<'c> {
        Launch::of_groups(self.size, self.batches * self.rows * cut.parts, context, words * self.few)
    }

    /// Writes that launch.
    pub fn write<'c: 'a, 'a>(&self, writer: &Writer<'_, 'c, 'a>, cut: Cut) -> Result<'c, ()> {
        let (kernel, code) = (writer.kernel, &writer.kernel.code);
        let group = Group::new(code, self.size);
        let shared = (self.size.shared_words(1) > 0).then(|| kernel.shared(0));
        group.tasks(code, self.batches * self.rows * cut.parts, |task| {
            let (row, rest) = (code.rem(task, self.rows), code.div(task, self.rows));
            let (number, part) = (code.rem(rest, self.batches), code.div(rest, self.batches));
            let [from, to] = cut.bounds(code, part, self.contracted);
            let sums = self.sums(writer, &group, [number, row], [from, to])?;
            let merge = |left: &[Scalar<'c, 'a>], right: &[Scalar<'c, 'a>]| {
                let both = left.iter().zip(right);
                Ok(both.map(|(left, right)| writer.arithmetic.add(kernel, *left, *right)).collect())
            };
            let sums = group.combine(kernel, sums, group.threads, shared, &merge)?;
            group.leader(code, || {
                for (few, sum) in sums.into_iter().enumerate() {
                    let few = code.index(few as i64);
                    let place = if self.matrix == 0 { [number, row, few] } else { [number, few, row] };
                    writer.store(part, place, sum)?;
                }
                Ok(())
            })
        })
    }

    /// The running thread's share of the sums of a row and each of the few, between two places of what is contracted.
    fn sums<'c: 'a, 'a>(
        &self,
        writer: &Writer<'_, 'c, 'a>,
        group: &Group<'c, 'a>,
        [batch, row]: [Value<'c, 'a>; 2],
        [from, to]: [Value<'c, 'a>; 2],
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let (kernel, code) = (writer.kernel, &writer.kernel.code);
        let batch = kernel.indices(&writer.product.batch, batch);
        let cost = kernel.cost(writer.op.operand(0)?).saturating_add(kernel.cost(writer.op.operand(1)?));
        let (neighbours, loads) = match self.neighbours {
            _ if cost > LIGHT => (1, 1),
            1 => (1, TOGETHER),
            several => (several, TOGETHER_NEIGHBOURS),
        };
        // From here on counted in neighbours.
        let [from, to] = [from, to].map(|place| code.div(place, neighbours));
        let zeros = vec![writer.arithmetic.zero(kernel); self.few as usize];
        let add = |numbers: &[Value<'c, 'a>], sums: Vec<Scalar<'c, 'a>>| -> Result<'c, Vec<Scalar<'c, 'a>>> {
            let places: Vec<_> = numbers
                .iter()
                .flat_map(|number| {
                    let first = code.mul(*number, code.index(neighbours));
                    (0..neighbours).map(move |place| code.add(first, code.index(place)))
                })
                .collect();
            for place in &places {
                let (index, exists) = writer.index(self.matrix, &batch, row, *place);
                if exists.is_none() {
                    kernel.prepare(writer.op.operand(self.matrix)?, &index)?;
                }
            }
            // All of the matrix's before what is computed with the first.
            let elements: Vec<_> = places
                .iter()
                .map(|place| writer.element(self.matrix, &batch, row, *place))
                .collect::<Result<_>>()?;
            places.iter().zip(elements).try_fold(sums, |sums, (place, (element, exists))| {
                let element = writer.or_zero(element, exists);
                let next = sums.into_iter().enumerate().map(|(few, sum)| {
                    let few = code.index(few as i64);
                    let (other, other_exists) = writer.element(1 - self.matrix, &batch, few, *place)?;
                    let other = writer.or_zero(other, other_exists);
                    let [left, right] = if self.matrix == 0 { [element, other] } else { [other, element] };
                    Ok(writer.arithmetic.multiply_add(kernel, left, right, sum))
                });
                next.collect()
            })
        };
        let first = code.add(from, group.lane);
        let merge_all = |carried: &[Value<'c, 'a>], count: i64| -> Result<'c, Vec<Value<'c, 'a>>> {
            let numbers: Vec<_> = (0..count)
                .map(|number| code.add(carried[0], code.mul(group.threads, code.index(number))))
                .collect();
            Ok(flat(&add(&numbers, unflat(&zeros, &carried[1..]))?))
        };
        let mut carried = [vec![first], flat(&zeros)].concat();
        if loads > 1 {
            let beyond = code.mul(group.threads, code.index(loads - 1));
            let step = code.mul(group.threads, code.index(loads));
            carried = code.while_loop(
                &carried,
                |carried| {
                    let last = code.add(carried[0], beyond);
                    Ok(code.compare(Int::Slt, last, to))
                },
                |carried| Ok([vec![code.add(carried[0], step)], merge_all(carried, loads)?].concat()),
            )?;
        }
        let sums = code.for_loop(carried[0], to, group.threads, &carried[1..], |at, sums| {
            merge_all(&[&[at], sums].concat(), 1)
        })?;
        Ok(unflat(&zeros, &sums))
    }
}
