// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Dot products and convolutions.
//!
//! Products of matrices (of any batching, free and contracting dimensions) are computed a square tile of results per
//! block (`tile`), those of a few rows or columns like reductions of the other matrix (`thin`). Convolutions are such
//! products as well (`convolution`). Where results are too few to busy the device, what is contracted is cut into
//! parts: each comes to a sum of its own in scratch memory, and a second launch adds these up (`parts`). Everything
//! else is left to one thread per result.
//!
//! Sums are kept in f32 where results are narrower floats.

mod thin;
mod tile;

use super::arithmetic::Arithmetic;
use super::convolution::Convolution;
use super::group::word_count;
use super::parts::{self, Parts};
use super::reducer::bytes_of;
use super::serial::{Dot, operand_tensor, result_tensor};
use super::{Launch, Result, scratch_count, store_results};
use crate::gpu::emit::code::{Code, Scalar};
use crate::gpu::emit::element::{BLOCK, Grids, Kernel, count_of};
use crate::rewrite::context_of;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, Type, Value};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::quant::Number;
use slimhlo_dialect::types::Tensor;
use thin::Thin;
use tile::TILE;

/// Rows or columns from which on a product has tiles.
const FEW: i64 = 16;
/// Share of the operands' bytes that the sums of parts may take: memory is what slimhlo is for.
const MOST_SCRATCH: u64 = 16;
/// The same of products whose tiles leave some multiprocessors without any all the same, and that have [`ENOUGH`] to read.
const MOST_SCRATCH_OF_FEW: u64 = 2;
/// Bytes of operands for each block of a grid that busies the chip, from which on it is worth to be cut: what a block of 256 threads has
/// in flight, four times 16 bytes each. With less, starts of blocks are what takes time (`cargo xtask bench code` calls those small).
const ENOUGH: u64 = 16 << 10;
/// How many times as long the same product takes in small tiles: each element is then brought to workgroup memory for half
/// as many products, which is an eighth of a block's instructions more, and sums of its groups are added up.
const SMALL: f64 = 1.25;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// A thread for each result.
    Serial,
    Thin(Thin, Cut),
    /// Tiles of so many rows and columns.
    Tile(i64, Cut),
}

/// What is contracted, cut into parts of the same length, but for the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    parts: i64,
    length: i64,
}

impl Cut {
    /// Into as many parts as are wanted, or some more, but at most so many, of at least so many elements each, a multiple
    /// of `multiple`. None of them is empty.
    fn new(contracted: i64, [wanted, most]: [i64; 2], least: i64, multiple: i64) -> Self {
        let parts = wanted.min(most).min(contracted / least).max(1);
        if parts == 1 {
            return Self { parts, length: contracted };
        }
        let of_length = |length: i64| Self { parts: (contracted + length - 1) / length, length };
        let length = (contracted + parts - 1) / parts;
        let longer = of_length((length + multiple - 1) / multiple * multiple);
        let shorter = length / multiple * multiple;
        if longer.parts < parts && shorter >= least && of_length(shorter).parts <= most {
            return of_length(shorter);
        }
        longer
    }

    /// The elements of a part: the first one, and the one after the last.
    fn bounds<'c: 'a, 'a>(&self, code: &Code<'c, 'a>, part: Value<'c, 'a>, whole: i64) -> [Value<'c, 'a>; 2] {
        if self.parts == 1 {
            return [code.index(0), code.index(whole)];
        }
        let from = code.mul(part, code.index(self.length));
        let to = code.add(from, code.index(self.length));
        [from, code.binary("arith.minui", to, code.index(whole))]
    }
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
    grids: Grids,
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
        let grids = Grids::around(op);
        let result = result_tensor(op, 0)?;
        if op_name(op) == "stablehlo.convolution" {
            let convolution = Convolution::of(op)?;
            let [batch, rows, columns, contracted] = convolution.sizes();
            let kind = Kind::Convolution(Box::new(convolution));
            return Ok(Self { kind, operands, result, batch, rows, columns, contracted, grids });
        }
        let dot = Dot::of(op)?;
        let sizes = |side: usize, dims: &[i64]| -> Vec<i64> {
            dims.iter().map(|dim| operands[side].shape[*dim as usize]).collect()
        };
        let (batch, contracted) = (sizes(0, dot.batching[0]), sizes(0, dot.contracting[0]));
        let (rows, columns) = (sizes(0, &dot.free[0]), sizes(1, &dot.free[1]));
        Ok(Self { kind: Kind::Dot(dot), operands, result, batch, rows, columns, contracted, grids })
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

    fn is_dot(&self) -> bool {
        matches!(self.kind, Kind::Dot(_))
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

    /// Element type of sums.
    fn accumulator(&self, op: OperationRef<'c, '_>) -> Type<'c> {
        match Number::of(self.result.element) {
            Number::Float { width } if width < 32 => Type::float32(context_of(op)),
            _ => self.result.element,
        }
    }

    /// Bytes of both operands.
    fn operand_bytes(&self) -> u64 {
        let bytes = |ty: &Tensor<'c>| count_of(ty.shape).unsigned_abs().saturating_mul(bytes_of(ty.element));
        self.operands.iter().map(bytes).sum()
    }

    /// Most parts whose sums take no more than a `share`-th of the operands.
    fn most_parts(&self, op: OperationRef<'c, '_>, share: u64) -> i64 {
        let sums = count_of(self.result.shape).unsigned_abs().saturating_mul(bytes_of(self.accumulator(op)));
        i64::try_from(self.operand_bytes() / share / sums.max(1)).unwrap_or(i64::MAX)
    }

    fn plan(&self, op: OperationRef<'c, '_>) -> Plan {
        let [_, rows, columns, contracted] = self.counts();
        if count_of(self.result.shape) == 0 {
            return Plan::Serial;
        }
        let most = self.most_parts(op, MOST_SCRATCH);
        if rows < FEW || columns < FEW {
            return match Thin::new(self) {
                Some(thin) => Plan::Thin(thin, thin.cut(most)),
                None => Plan::Serial,
            };
        }
        if contracted < 8 || matches!(Number::of(self.result.element), Number::Complex { .. }) {
            return Plan::Serial;
        }
        let plan = self.plan_tiles(contracted, most);
        let full = self.grids.full();
        if self.blocks(plan) < full / 2 && self.operand_bytes() / ENOUGH >= full.unsigned_abs() {
            return self.plan_tiles(contracted, self.most_parts(op, MOST_SCRATCH_OF_FEW));
        }
        plan
    }

    /// Large tiles, unless so few of them, cut into at most so many parts, leave more of the chip idle than small ones lose.
    fn plan_tiles(&self, contracted: i64, most: i64) -> Plan {
        let cut = |tile: i64| {
            let tiles = self.tiles(tile);
            let wanted = (self.grids.full() + tiles - 1) / tiles;
            Plan::Tile(tile, tile::cut(tile, contracted, [wanted, most]))
        };
        let (large, small) = (cut(TILE), cut(TILE / 2));
        if self.slowness(large) <= self.slowness(small) { large } else { small }
    }

    /// Blocks of a plan.
    fn blocks(&self, plan: Plan) -> i64 {
        match plan {
            Plan::Serial => count_of(self.result.shape) / BLOCK,
            Plan::Thin(thin, cut) => thin.blocks(cut),
            Plan::Tile(tile, cut) => self.tiles(tile) * cut.parts,
        }
    }

    /// How many square tiles the result has.
    fn tiles(&self, tile: i64) -> i64 {
        let [batches, rows, columns, _] = self.counts();
        batches * ((rows + tile - 1) / tile) * ((columns + tile - 1) / tile)
    }

    /// How many times as long a plan takes as one in large tiles that busies the whole chip.
    fn slowness(&self, plan: Plan) -> f64 {
        let idle = (self.grids.full() as f64 / self.blocks(plan).max(1) as f64).max(1.0);
        match plan {
            Plan::Serial | Plan::Thin(..) => idle,
            Plan::Tile(tile, _) => {
                let [batches, rows, columns, _] = self.counts();
                // Where rows or columns are few, much of a tile is beyond them.
                let wasted =
                    (self.tiles(tile) * tile * tile) as f64 / (batches * rows * columns).max(1) as f64;
                idle * wasted * if tile < TILE { SMALL } else { 1.0 }
            }
        }
    }

    /// The plan with the scratch memory that the kernel has.
    fn plan_in_kernel(&self, op: OperationRef<'c, '_>) -> Plan {
        let whole = Cut { parts: 1, length: self.counts()[3] };
        match self.plan(op) {
            Plan::Thin(thin, _) if scratch_count(op) == 0 => Plan::Thin(thin, whole),
            Plan::Tile(tile, _) if scratch_count(op) == 0 => Plan::Tile(tile, whole),
            plan => plan,
        }
    }
}

impl Plan {
    fn parts(self) -> i64 {
        match self {
            Self::Serial => 1,
            Self::Thin(_, cut) | Self::Tile(_, cut) => cut.parts,
        }
    }
}

/// Bytes of the sums of parts.
pub fn scratch<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<u64>> {
    let product = Product::of(op)?;
    let parts = product.plan(op).parts();
    if parts == 1 {
        return Ok(vec![]);
    }
    let sums = (parts * count_of(product.result.shape)) as u64;
    Ok(vec![sums * bytes_of(product.accumulator(op))])
}

/// How many times as long a product takes as one that busies the whole chip, in the kernel that it would get.
pub fn slowness<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, f64> {
    let product = Product::of(op)?;
    Ok(product.slowness(product.plan(op)))
}

/// Rows and columns of a product's tiles, in the kernel that it would get; those of large ones if it has none.
pub fn tile<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> i64 {
    match Product::of(op).map(|product| product.plan(op)) {
        Ok(Plan::Tile(tile, _)) => tile,
        _ => TILE,
    }
}

/// The same as [`slowness`] in the kernel that it has, with the scratch memory of that.
pub fn slowness_in_kernel<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, f64> {
    let product = Product::of(op)?;
    Ok(product.slowness(product.plan_in_kernel(op)))
}

/// The launches; none for what is best left to one thread per result.
pub fn launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<Launch<'c>>> {
    let product = Product::of(op)?;
    let plan = product.plan_in_kernel(op);
    let words = words_of(op, product.accumulator(op));
    let mut launches = match plan {
        Plan::Serial => return Ok(vec![]),
        Plan::Thin(thin, cut) => vec![thin.launch(cut, context_of(op), words)],
        Plan::Tile(tile, cut) => {
            let element = accumulator_register(op, product.result.element);
            vec![tile::launch(&product, tile, cut, element)]
        }
    };
    if plan.parts() > 1 {
        let results = count_of(product.result.shape);
        launches.push(Launch::of_groups(parts::size(results), results, context_of(op), words));
    }
    Ok(launches)
}

/// 32-bit words of a sum.
fn words_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>, accumulator: Type<'c>) -> i64 {
    match Number::of(accumulator) {
        Number::Complex { part } => 2 * word_count(part),
        _ => word_count(accumulator_register(op, accumulator)),
    }
}

/// The register type of sums for results of this type.
fn accumulator_register<'c: 'a, 'a>(op: OperationRef<'c, 'a>, element: Type<'c>) -> Type<'c> {
    let context = context_of(op);
    match Number::of(element) {
        Number::Integer { width, .. } => IntegerType::new(context, width).into(),
        Number::Float { width } if width < 32 => Type::float32(context),
        _ => element,
    }
}

/// Writes one launch.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>, launch: usize) -> Result<'c, ()> {
    let product = Product::of(op)?;
    let arithmetic = Arithmetic::of(kernel, product.result.element);
    let plan = product.plan_in_kernel(op);
    let writer = Writer { kernel, op, product, arithmetic, is_whole: plan.parts() == 1 };
    match plan {
        _ if launch > 0 => writer.add_parts(plan.parts()),
        Plan::Serial => super::map(kernel),
        Plan::Thin(thin, cut) => thin.write(&writer, cut),
        Plan::Tile(tile, cut) => tile::write(&writer, tile, cut),
    }
}

struct Writer<'k, 'c, 'a> {
    kernel: &'k Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    product: Product<'c>,
    arithmetic: Arithmetic<'c>,
    /// Whether sums are results; else they are those of parts.
    is_whole: bool,
}

impl<'c: 'a, 'a> Writer<'_, 'c, 'a> {
    /// Element of an operand (0 left, 1 right) at a batch, a row or column, and a place of what is contracted, in the
    /// type of sums, and whether there is one (`None`: always).
    fn element(
        &self,
        side: usize,
        batch: &[Value<'c, 'a>],
        free: Value<'c, 'a>,
        contracted: Value<'c, 'a>,
    ) -> Result<'c, (Scalar<'c, 'a>, Option<Value<'c, 'a>>)> {
        let (index, exists) = self.index(side, batch, free, contracted);
        let operand = self.op.operand(side)?;
        let value = match exists {
            Some(_) => self.kernel.speculative_element(operand, &index)?,
            None => self.kernel.element(operand, &index)?,
        };
        let value = self.arithmetic.lift(self.kernel, self.op, value, self.product.operands[side].element)?;
        Ok((value, exists))
    }

    /// Where in its operand that element is, and whether it is there.
    fn index(
        &self,
        side: usize,
        batch: &[Value<'c, 'a>],
        free: Value<'c, 'a>,
        contracted: Value<'c, 'a>,
    ) -> (Vec<Value<'c, 'a>>, Option<Value<'c, 'a>>) {
        let (kernel, code) = (self.kernel, &self.kernel.code);
        let free = kernel.indices([&self.product.rows, &self.product.columns][side], free);
        let inside = kernel.indices(&self.product.contracted, contracted);
        self.product.operand_index(code, side, batch, &free, &inside)
    }

    /// The element where there is one, else zero.
    fn or_zero(&self, value: Scalar<'c, 'a>, exists: Option<Value<'c, 'a>>) -> Scalar<'c, 'a> {
        match exists {
            Some(exists) => self.kernel.code.select_scalar(exists, value, self.arithmetic.zero(self.kernel)),
            None => value,
        }
    }

    /// Stores the sum of a part of a row and a column of a batch; that of the whole, and what follows from it, if
    /// there are no parts.
    fn store(&self, part: Value<'c, 'a>, place: [Value<'c, 'a>; 3], sum: Scalar<'c, 'a>) -> Result<'c, ()> {
        let (kernel, code) = (self.kernel, &self.kernel.code);
        let [batch, row, column] = place;
        let position = self.product.position(kernel, batch, row, column);
        if self.is_whole {
            return self.finish(position, sum);
        }
        let results = code.index(count_of(self.product.result.shape));
        let place = code.add(code.mul(part, results), position);
        kernel.store(kernel.scratch_pointer(0), self.arithmetic.accumulator, place, sum)
    }

    fn finish(&self, position: Value<'c, 'a>, sum: Scalar<'c, 'a>) -> Result<'c, ()> {
        let result = self.arithmetic.lower(self.kernel, self.op, sum, self.product.result.element)?;
        store_results(self.kernel, self.op, position, &[result])
    }

    /// The second launch: adds up the sums of parts.
    fn add_parts(&self, count: i64) -> Result<'c, ()> {
        let results = count_of(self.product.result.shape);
        let parts = Parts { count, results, types: vec![self.arithmetic.accumulator] };
        let merge = |left: &[Scalar<'c, 'a>], right: &[Scalar<'c, 'a>]| {
            Ok(vec![self.arithmetic.add(self.kernel, left[0], right[0])])
        };
        parts.combine(self.kernel, &merge, &|position, sums| self.finish(position, sums[0]))
    }
}
