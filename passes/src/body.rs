// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A block's ops by their places, for passes that ask what comes before what.

use crate::ir;
use crate::rewrite::{defining_op, in_block, ops_in};
use crate::tables::Table;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, Value};

/// The block of a function or of a region: its ops in order.
pub struct Body<'c, 'a> {
    /// The block.
    pub block: BlockRef<'c, 'a>,
    /// All but the one that ends it.
    pub ops: Vec<OperationRef<'c, 'a>>,
    /// The one that ends it.
    pub end: OperationRef<'c, 'a>,
    places: Table<usize, usize>,
}

impl<'c: 'a, 'a> Body<'c, 'a> {
    /// None of a block that nothing ends.
    pub fn of(block: BlockRef<'c, 'a>) -> Option<Self> {
        let end = block.terminator()?;
        let ops = ops_in(block).filter(|op| *op != end).collect();
        let mut body = Self { block, ops: Vec::new(), end, places: Table::default() };
        body.put(ops);
        Some(body)
    }

    /// Has the ops come in another order, here; the block stays as it is.
    pub fn put(&mut self, ops: Vec<OperationRef<'c, 'a>>) {
        self.places = ops.iter().enumerate().map(|(place, op)| (ir::op_key(*op), place)).collect();
        self.ops = ops;
    }

    /// Whether an op is one of the block's.
    pub fn has(&self, op: OperationRef<'c, 'a>) -> bool {
        op.block() == Some(self.block)
    }

    /// The place of an op, if it is one of the block's and does not end it.
    pub fn own(&self, op: OperationRef<'c, 'a>) -> Option<usize> {
        self.places.get(&ir::op_key(op)).copied()
    }

    /// The place of the block's op that is, or has inside, an op; none for the one that ends it.
    pub fn place(&self, op: OperationRef<'c, 'a>) -> Option<usize> {
        self.own(in_block(op, Some(self.block))?)
    }

    /// The place of the op that makes a value, if that is one of the block's.
    pub fn maker(&self, value: Value<'c, 'a>) -> Option<usize> {
        defining_op(value).and_then(|op| self.own(op))
    }
}
