// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A plan that was found worth its loop, and which of two is the better.

use super::super::consumer::{Consumer, SMALL};
use super::super::plan::Plan;
use super::{SLACK, THIN};
use crate::ir;
use crate::tables::Keys;

/// A plan that was found worth its loop.
pub(super) struct Found<'c, 'a> {
    pub plan: Plan<'c, 'a>,
    pub group: Vec<(usize, Consumer<'c, 'a>)>,
    pub chunk: i64,
    /// Units of one that is no larger for the sake of a sum.
    pub least_chunk: i64,
    /// Bytes of temporaries of one unit.
    pub unit_bytes: i64,
    /// Bytes that need not be stored any more.
    pub saved: i64,
    /// Bytes that the loop stores besides its chunk.
    pub cost: i64,
    /// Whether it stores nothing besides its chunk.
    pub apart: bool,
    /// Whether dots are computed again whose results are needed elsewhere.
    pub again: bool,
    /// Whether a chunk takes about as much as it may.
    pub fits: bool,
    /// Whether its dots have too few rows to be fast.
    pub thin: bool,
    /// Whether it is arithmetic on chunks that do not lie in one piece.
    pub strided: bool,
    /// Whether a sum is done without what is made of it, for another one to be done with it.
    pub split: bool,
    /// Bytes of one unit of what is sliced and of the results.
    pub around: i64,
    /// Seconds that its turns take for themselves, where the target has rates: to start kernels, and to read again what each takes whole.
    pub turns: f64,
    /// The first consumer's index and dimension.
    pub first: (usize, usize),
}

impl<'c: 'a, 'a> Found<'c, 'a> {
    /// Bytes the loop stores if its chunks are no larger than they have to be.
    pub fn leaves(&self) -> i64 {
        self.cost.saturating_add(self.unit_bytes.saturating_mul(self.chunk.min(self.least_chunk)))
    }

    /// Bytes of the largest value that another computes in chunks and it does not, but for arithmetic: that would be there whole.
    pub fn leaves_whole(&self, other: &Self) -> i64 {
        let mut known = Keys::default();
        for chunk in self.plan.chunks.iter().filter(|chunk| chunk.source.is_op()) {
            known.insert(ir::key(chunk.value));
        }
        let mut most = 0;
        for chunk in other.plan.chunks.iter().filter(|chunk| chunk.source.is_op()) {
            if !chunk.kind.fusible && !known.contains(&ir::key(chunk.value)) {
                most = most.max(chunk.size);
            }
        }
        most
    }

    /// Whether it is better than another.
    pub fn beats(&self, other: &Self, chunk_bytes: i64, spare: i64) -> bool {
        let net = |found: &Self| {
            let net = found.saved.saturating_sub(found.leaves());
            // To compute dots again takes longer than thin ones do.
            if found.thin && self.again == other.again { net / THIN } else { net }
        };
        // Less than a chunk's difference is no difference: the first way and dimension is the natural one.
        let margin = match (self.again, other.again) {
            (true, false) => (other.leaves() / 2).max(spare).max(chunk_bytes),
            (false, true) => -(self.leaves() / 2).max(spare),
            _ => chunk_bytes,
        };
        let more = net(self).saturating_sub(net(other));
        if self.turns > 0.0 && self.again == other.again && more.abs() <= margin.max(net(other) / SMALL) {
            // As a rule each other's columns are added up then, which XLA for a GPU computes from what it would store for rows: of pairs'
            // forces (`test/stream/held.mlir`) 0.1 MiB for 6.9 under XLA for an H100 (`test/oracle/referee.py`).
            return self.turns < other.turns || self.turns == other.turns && other.split && !self.split;
        }
        if other.strided && !self.strided && self.again == other.again {
            more >= -margin.max(net(other) / SLACK)
        } else {
            more > margin
        }
    }
}
