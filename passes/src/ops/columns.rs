// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Reductions of columns: what a back end's blocks of threads are divided among, and in how many parts there are enough of them.

use super::reducers::combiner;
use crate::ir::{self, element_bytes, first_result, i64_array, plain};
use crate::target::{Rates, Storage};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike};
use slimhlo_dialect::ffi::op_name;

/// Says of a function that its sums of columns are going to be written in [parts](Columns::parts).
pub const SPLIT: &str = "slimhlo.split_sums";

/// A reduction of one array along dimensions side by side of which the last dimension is none, by an op that is associative and commutative.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The op that combines two elements.
    pub combine: &'static str,
    /// The first dimension that is reduced,
    pub from: usize,
    /// and the one behind the last.
    pub to: usize,
    /// Elements that are reduced for one.
    pub rows: i64,
    /// Elements that are made.
    pub made: i64,
    /// Elements of the first dimension that is reduced, of more than one element.
    first: i64,
    /// Bytes of an element.
    width: i64,
}

impl Columns {
    /// Of an op; `None` if it is no such reduction.
    pub fn of(op: OperationRef<'_, '_>) -> Option<Self> {
        if op_name(op) != "stablehlo.reduce" || op.operand_count() != 2 {
            return None;
        }
        let operand = plain(ir::operand(op, 0)?)?;
        let (shape, dims) = (operand.shape, i64_array(op, "dimensions")?);
        let (&least, &most) = (dims.iter().min()?, dims.iter().max()?);
        let (from, to) = (usize::try_from(least).ok()?, usize::try_from(most).ok()? + 1);
        let is_number = operand.element.is_float() || operand.element.is_integer();
        let width = element_bytes(operand.element).filter(|_| is_number)?;
        let last = shape.iter().rposition(|&size| size != 1)?;
        let made = plain(first_result(op)?)?.element_count()?;
        let rows = shape[from..to].iter().product();
        let is_one = to - from == dims.len() && to <= last;
        let first = shape[from..to].iter().copied().find(|&size| size != 1).unwrap_or(1);
        let combine = combiner(op)?;
        is_one.then_some(Self { combine, from, to, rows, made, first, width })
    }

    /// Into how many parts of as many rows it is divided so that the chip's memory is busy; `None` if it is as it stands, if the back end divides
    /// it itself, or if it takes no longer than to start one more kernel.
    pub fn parts(&self, storage: &Storage, rates: &Rates) -> Option<i64> {
        let (columns, each) = rates.columns.zip(storage.column_blocks)?;
        let (rows, made) = (self.rows as f64, self.made as f64);
        let bytes = rows * made * self.width as f64;
        let blocks = each.count(made * self.width as f64);
        let is_near = bytes < NEAR_SHARE * rates.cache as f64;
        let (block, all) = if is_near { (columns.near, rates.cached) } else { (columns.far, rates.bytes) };
        let (now, then) = (bytes / (block * blocks), bytes / all);
        let least = all / block / blocks;
        if least <= 1.0 || now - then <= rates.launch || self.rows.unsigned_abs() > storage.longest_column {
            return None;
        }
        // A batch is a dimension of its own: sums of its members are what is reduced as it lies.
        let is_enough = |parts: i64| parts as f64 >= least && self.rows / parts >= FEWEST_ROWS;
        let is_batch = self.first < self.rows && (self.first as f64) < MOST * least && is_enough(self.first);
        if is_batch {
            return Some(self.first);
        }
        let most = (MOST * least) as i64;
        (least.ceil() as i64..=most).find(|&parts| self.rows % parts == 0 && is_enough(parts))
    }
}

/// What takes less than this share of the cache is taken to be there still when it is summed up: it was made just before, but what it was made of has been
/// read since, and what else was made of that. A guess: no command measures it.
const NEAR_SHARE: f64 = 0.125;
/// Rows of a part, at least: XLA for GPUs computes reductions of fewer than a warp's threads element by element.
const FEWEST_ROWS: i64 = 32;
/// How many times as many parts as would be enough, at most: enough for each batch of a power of two, and so few that the second step stays small. No
/// other was tried.
const MOST: f64 = 4.0;
