// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Dot products and convolutions with many results.
//!
//! Products of matrices (of any batching, free and contracting dimensions) are computed a tile of [`TILE`] by [`TILE`] results
//! per block: [`DEEP`] columns of the left and rows of the right operand at a time go through workgroup memory, and each
//! thread has [`OWN`] by [`OWN`] results in registers. Blocks of other than [`BLOCK`] threads (on the CPU: of one) compute the
//! same small squares from the operands themselves. Products of a matrix and a vector have a warp per result where the
//! matrix is read along its last dimension. Convolutions are such products as well (`convolution`). Everything else is left to
//! one thread per result.
//!
//! Sums are kept in f32 where results are narrower floats.

use super::arithmetic::{Arithmetic, register};
use super::convolution::Convolution;
use super::group::{Group, Size, load, store};
use super::serial::{Dot, operand_tensor, result_tensor};
use super::{Launch, Result, store_results};
use crate::gpu::emit::code::{Code, Int, Scalar};
use crate::gpu::emit::element::{BLOCK, Kernel, count_of};
use crate::rewrite::context_of;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::quant::Number;
use slimhlo_dialect::types::Tensor;

/// Rows and columns of a block's results.
pub const TILE: i64 = 64;
/// Rows and columns of a thread's results.
const OWN: i64 = 4;
/// How much of the contracted dimension is in workgroup memory.
const DEEP: i64 = 16;
/// Distance of columns in workgroup memory: not a power of two, so that they lie in different banks.
const STRIDE: i64 = TILE + 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// A thread for each result.
    Serial,
    /// A warp for each result.
    Warp,
    Tile,
}

/// A product of matrices: rows, columns and what is contracted, each of several dimensions.
struct Product<'c> {
    kind: Kind<'c>,
    operands: [Tensor<'c>; 2],
    result: Tensor<'c>,
    batch: Vec<i64>,
    rows: Vec<i64>,
    columns: Vec<i64>,
    contracted: Vec<i64>,
}

enum Kind<'c> {
    Dot(Dot<'c>),
    Convolution(Box<Convolution<'c>>),
}

impl<'c> Product<'c> {
    fn of<'a>(op: OperationRef<'c, 'a>) -> Result<'c, Self>
    where
        'c: 'a,
    {
        let operands = [operand_tensor(op, 0)?, operand_tensor(op, 1)?];
        let result = result_tensor(op, 0)?;
        if op_name(op) == "stablehlo.convolution" {
            let convolution = Convolution::of(op)?;
            let [batch, rows, columns, contracted] = convolution.sizes();
            let kind = Kind::Convolution(Box::new(convolution));
            return Ok(Self { kind, operands, result, batch, rows, columns, contracted });
        }
        let dot = Dot::of(op)?;
        let sizes = |side: usize, dims: &[i64]| -> Vec<i64> {
            dims.iter().map(|dim| operands[side].shape[*dim as usize]).collect()
        };
        let (batch, contracted) = (sizes(0, dot.batching[0]), sizes(0, dot.contracting[0]));
        let (rows, columns) = (sizes(0, &dot.free[0]), sizes(1, &dot.free[1]));
        Ok(Self { kind: Kind::Dot(dot), operands, result, batch, rows, columns, contracted })
    }

    fn counts(&self) -> [i64; 4] {
        [count_of(&self.batch), count_of(&self.rows), count_of(&self.columns), count_of(&self.contracted)]
    }

    /// Whether an operand's last dimension is contracted.
    fn runs_along(&self, side: usize) -> bool {
        match &self.kind {
            Kind::Dot(dot) => dot.contracting[side].contains(&(self.operands[side].rank() as i64 - 1)),
            Kind::Convolution(convolution) => convolution.runs_along(side),
        }
    }

    /// Whether rows of the result are next to each other in memory, rather than columns.
    fn is_down(&self) -> bool {
        matches!(&self.kind, Kind::Convolution(convolution) if convolution.is_down())
    }

    /// The index of an element of a matrix in its operand, and whether there is one (`None`: always).
    fn operand_index<'a>(
        &self,
        code: &Code<'c, 'a>,
        side: usize,
        batch: &[Value<'c, 'a>],
        free: &[Value<'c, 'a>],
        contracted: &[Value<'c, 'a>],
    ) -> (Vec<Value<'c, 'a>>, Option<Value<'c, 'a>>)
    where
        'c: 'a,
    {
        match &self.kind {
            Kind::Dot(dot) => {
                let mut index = batch.to_vec();
                if side == 1 {
                    // The other side's free dimensions come before this one's.
                    index.extend(vec![code.index(0); self.rows.len()]);
                }
                index.extend(free);
                (dot.operand_index(side, &index, contracted), None)
            }
            Kind::Convolution(convolution) => {
                convolution.operand_index(code, side, batch[0], free, contracted)
            }
        }
    }

    /// Row-major position of an element of the result.
    fn position<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        batch: Value<'c, 'a>,
        row: Value<'c, 'a>,
        column: Value<'c, 'a>,
    ) -> Value<'c, 'a>
    where
        'c: 'a,
    {
        let code = &kernel.code;
        let [_, rows, columns, _] = self.counts();
        match &self.kind {
            Kind::Dot(_) => {
                let position = code.add(code.mul(batch, code.index(rows)), row);
                code.add(code.mul(position, code.index(columns)), column)
            }
            Kind::Convolution(convolution) => convolution.position(kernel, batch, row, column),
        }
    }

    fn plan(&self) -> Plan {
        let [_, rows, columns, contracted] = self.counts();
        let complex = matches!(Number::of(self.result.element), Number::Complex { .. });
        if complex || count_of(self.result.shape) == 0 {
            return Plan::Serial;
        }
        if rows < 16 || columns < 16 {
            let larger = usize::from(rows < columns);
            let is_dot = matches!(self.kind, Kind::Dot(_));
            let warp = is_dot && contracted >= 64 && self.runs_along(larger);
            return if warp { Plan::Warp } else { Plan::Serial };
        }
        if contracted >= 8 { Plan::Tile } else { Plan::Serial }
    }
}

/// The launches; none for what is best left to one thread per result.
pub fn launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<Launch<'c>>> {
    let product = Product::of(op)?;
    let [batches, rows, columns, _] = product.counts();
    Ok(match product.plan() {
        Plan::Serial => vec![],
        Plan::Warp => vec![Launch::of_threads(count_of(product.result.shape).saturating_mul(32))],
        Plan::Tile => {
            let tiles = batches * ((rows + TILE - 1) / TILE) * ((columns + TILE - 1) / TILE);
            let element = accumulator_register(op, product.result.element);
            vec![Launch::of_blocks(tiles).with(element, DEEP * STRIDE).with(element, DEEP * STRIDE)]
        }
    })
}

/// The register type of sums for results of this type.
fn accumulator_register<'c: 'a, 'a>(op: OperationRef<'c, 'a>, element: Type<'c>) -> Type<'c> {
    let context = context_of(op);
    match Number::of(element) {
        Number::Integer { width, .. } => melior::ir::r#type::IntegerType::new(context, width).into(),
        Number::Float { width } if width < 32 => Type::float32(context),
        _ => element,
    }
}

/// Writes the launch.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<'c, ()> {
    let product = Product::of(op)?;
    let arithmetic = Arithmetic::of(kernel, product.result.element);
    let writer = Writer { kernel, op, product, arithmetic };
    match writer.product.plan() {
        Plan::Serial => super::map(kernel),
        Plan::Warp => writer.warps(),
        Plan::Tile => {
            let code = &kernel.code;
            let whole = code.compare(Int::Eq, code.gpu("gpu.block_dim"), code.index(BLOCK));
            code.if_else(
                whole,
                &[],
                || writer.tiles().map(|()| vec![]),
                || writer.squares().map(|()| vec![]),
            )?;
            Ok(())
        }
    }
}

struct Writer<'k, 'c, 'a> {
    kernel: &'k Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    product: Product<'c>,
    arithmetic: Arithmetic<'c>,
}

impl<'c: 'a, 'a> Writer<'_, 'c, 'a> {
    /// Element of an operand (0 left, 1 right) at a batch, a row or column, and a place of what is contracted, in the type of
    /// sums. Places past the end have no part in sums: zero.
    fn element(
        &self,
        side: usize,
        batch: &[Value<'c, 'a>],
        free: Value<'c, 'a>,
        contracted: Value<'c, 'a>,
        checked: bool,
    ) -> Result<'c, Scalar<'c, 'a>> {
        let (kernel, code) = (self.kernel, &self.kernel.code);
        let [_, rows, columns, length] = self.product.counts();
        let count = [rows, columns][side];
        let mut within = None;
        let mut held = |value: Value<'c, 'a>, count: i64, size: i64| {
            if !checked || count % size == 0 {
                return value;
            }
            let inside = code.compare(Int::Ult, value, code.index(count));
            within = super::window::both(code, within, Some(inside));
            code.binary("arith.minui", value, code.index(count - 1))
        };
        let free = held(free, count, TILE);
        let contracted = held(contracted, length, DEEP);
        let sizes = [&self.product.rows, &self.product.columns][side];
        let free = kernel.indices(sizes, free);
        let inside = kernel.indices(&self.product.contracted, contracted);
        let (index, exists) = self.product.operand_index(code, side, batch, &free, &inside);
        let operand = self.op.operand(side)?;
        let value = match exists {
            Some(_) => kernel.speculative_element(operand, &index)?,
            None => kernel.element(operand, &index)?,
        };
        let value = self.arithmetic.lift(kernel, self.op, value, self.product.operands[side].element)?;
        Ok(match super::window::both(code, within, exists) {
            Some(within) => code.select_scalar(within, value, self.arithmetic.zero(kernel)),
            None => value,
        })
    }

    /// Stores a thread's square of sums.
    fn finish(
        &self,
        batch: Value<'c, 'a>,
        [row, column]: [Value<'c, 'a>; 2],
        sums: &[Value<'c, 'a>],
    ) -> Result<'c, ()> {
        let (kernel, code) = (self.kernel, &self.kernel.code);
        let [_, rows, columns, _] = self.product.counts();
        for (number, sum) in sums.iter().enumerate() {
            let number = number as i64;
            let row = code.add(row, code.index(number / OWN));
            let column = code.add(column, code.index(number % OWN));
            let mut within = None;
            for (value, count) in [(row, rows), (column, columns)] {
                if count % TILE != 0 {
                    let inside = code.compare(Int::Ult, value, code.index(count));
                    within = super::window::both(code, within, Some(inside));
                }
            }
            let write = || {
                let position = self.product.position(kernel, batch, row, column);
                let sum = Scalar::Real(*sum);
                let result = self.arithmetic.lower(kernel, self.op, sum, self.product.result.element)?;
                store_results(kernel, self.op, position, &[result])
            };
            match within {
                Some(within) => code.if_then(within, write)?,
                None => write()?,
            }
        }
        Ok(())
    }

    fn add_products(
        &self,
        left: &[Value<'c, 'a>],
        right: &[Value<'c, 'a>],
        sums: &[Value<'c, 'a>],
    ) -> Vec<Value<'c, 'a>> {
        let mut next = Vec::with_capacity(sums.len());
        for (number, sum) in sums.iter().enumerate() {
            let (left, right) = (left[number / OWN as usize], right[number % OWN as usize]);
            let [left, right, sum] = [left, right, *sum].map(Scalar::Real);
            next.push(self.arithmetic.multiply_add(self.kernel, left, right, sum).real());
        }
        next
    }

    fn zeros(&self) -> Vec<Value<'c, 'a>> {
        vec![self.arithmetic.zero(self.kernel).real(); (OWN * OWN) as usize]
    }

    fn tiles(&self) -> Result<'c, ()> {
        let (kernel, code) = (self.kernel, &self.kernel.code);
        let [batches, rows, columns, length] = self.product.counts();
        let across = (columns + TILE - 1) / TILE;
        let down = (rows + TILE - 1) / TILE;
        let group = Group::new(code, Size::Block);
        let element = register(code, self.arithmetic.accumulator);
        group.tasks(code, batches * across * down, |task| {
            let number = code.div(task, across * down);
            let batch = kernel.indices(&self.product.batch, number);
            let tile = code.rem(task, across * down);
            let first = [
                code.mul(code.div(tile, across), code.index(TILE)),
                code.mul(code.rem(tile, across), code.index(TILE)),
            ];
            let (across_own, own) = (TILE / OWN, code.index(OWN));
            let mut places = [code.div(group.lane, across_own), code.rem(group.lane, across_own)];
            if self.product.is_down() {
                places.reverse();
            }
            let [own_row, own_column] = places.map(|place| code.mul(place, own));
            let step = code.index(DEEP);
            let sums =
                code.for_loop(code.index(0), code.index(length), step, &self.zeros(), |start, sums| {
                    code.assume_multiple(start, DEEP);
                    for side in [0, 1] {
                        for part in 0..TILE * DEEP / BLOCK {
                            let place = code.add(group.lane, code.index(part * BLOCK));
                            // Threads that follow each other read what does.
                            let (free, deep) = if self.product.runs_along(side) {
                                (code.div(place, DEEP), code.rem(place, DEEP))
                            } else {
                                (code.rem(place, TILE), code.div(place, TILE))
                            };
                            let value = self.element(
                                side,
                                &batch,
                                code.add(first[side], free),
                                code.add(start, deep),
                                true,
                            )?;
                            let at = code.add(code.mul(deep, code.index(STRIDE)), free);
                            store(code, kernel.shared(side), at, value.real());
                        }
                    }
                    code.effect("gpu.barrier", &[]);
                    let sums = code.for_loop(code.index(0), step, code.index(1), sums, |deep, sums| {
                        let column = code.mul(deep, code.index(STRIDE));
                        let read = |side: usize, own: Value<'c, 'a>| -> Vec<Value<'c, 'a>> {
                            (0..OWN)
                                .map(|number| {
                                    let at = code.add(code.add(column, own), code.index(number));
                                    load(code, kernel.shared(side), at, element)
                                })
                                .collect()
                        };
                        Ok(self.add_products(&read(0, own_row), &read(1, own_column), sums))
                    })?;
                    code.effect("gpu.barrier", &[]);
                    Ok(sums)
                })?;
            self.finish(number, [code.add(first[0], own_row), code.add(first[1], own_column)], &sums)
        })
    }

    /// Each thread its small squares, from the operands themselves.
    fn squares(&self) -> Result<'c, ()> {
        let (kernel, code) = (self.kernel, &self.kernel.code);
        let [batches, rows, columns, length] = self.product.counts();
        let across = (columns + OWN - 1) / OWN;
        let down = (rows + OWN - 1) / OWN;
        Group::new(code, Size::Thread).tasks(code, batches * across * down, |task| {
            let number = code.div(task, across * down);
            let batch = kernel.indices(&self.product.batch, number);
            let tile = code.rem(task, across * down);
            let row = code.mul(code.div(tile, across), code.index(OWN));
            let column = code.mul(code.rem(tile, across), code.index(OWN));
            let (from, to, step) = (code.index(0), code.index(length), code.index(1));
            let sums = code.for_loop(from, to, step, &self.zeros(), |deep, sums| {
                let read = |side: usize, first: Value<'c, 'a>| -> Result<'c, Vec<Value<'c, 'a>>> {
                    let count = [rows, columns][side];
                    (0..OWN)
                        .map(|number| {
                            let at = code.add(first, code.index(number));
                            // Rows past the last are never stored.
                            let at = if count % OWN == 0 {
                                at
                            } else {
                                code.binary("arith.minui", at, code.index(count - 1))
                            };
                            Ok(self.element(side, &batch, at, deep, false)?.real())
                        })
                        .collect()
                };
                Ok(self.add_products(&read(0, row)?, &read(1, column)?, sums))
            })?;
            self.finish(number, [row, column], &sums)
        })
    }

    fn warps(&self) -> Result<'c, ()> {
        let (kernel, code) = (self.kernel, &self.kernel.code);
        let [_, rows, columns, length] = self.product.counts();
        let group = Group::new(code, Size::Warp);
        group.tasks(code, count_of(self.product.result.shape), |position| {
            let number = code.div(position, rows * columns);
            let batch = kernel.indices(&self.product.batch, number);
            let place = code.rem(position, rows * columns);
            let (row, column) = (code.div(place, columns), code.rem(place, columns));
            let zero = self.arithmetic.zero(kernel).real();
            let to = code.index(length);
            let sums = code.for_loop(group.lane, to, group.threads, &[zero], |deep, sums| {
                let left = self.element(0, &batch, row, deep, false)?;
                let right = self.element(1, &batch, column, deep, false)?;
                let sum = Scalar::Real(sums[0]);
                Ok(vec![self.arithmetic.multiply_add(kernel, left, right, sum).real()])
            })?;
            let merge = |left: &[Scalar<'c, 'a>], right: &[Scalar<'c, 'a>]| {
                Ok(vec![self.arithmetic.add(kernel, left[0], right[0])])
            };
            let sums = group.combine(kernel, vec![Scalar::Real(sums[0])], group.threads, None, &merge)?;
            group.leader(code, || {
                let result = self.arithmetic.lower(kernel, self.op, sums[0], self.product.result.element)?;
                store_results(kernel, self.op, position, &[result])
            })
        })
    }
}
