// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What one device has of a value, and what devices exchange for an op, in programs that a partitioner has yet to cut.

use super::super::shards::{Exchange, local_type};
use super::{Class, Id, Scope, Types};
use crate::ir::key;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::types::Tensor;
use smallvec::{SmallVec, smallvec as ids};

impl<'c: 'a, 'a> Scope<'c, 'a> {
    /// The type of the part of a value that one device has.
    pub(super) fn local(&self, value: Value<'c, 'a>) -> Type<'c> {
        let ty = value.r#type();
        if let Some((of, ty)) = self.partial
            && of == key(value)
        {
            return ty;
        }
        self.shards.of(value).map_or(ty, |pieces| local_type(ty, pieces))
    }

    /// Has an op read what devices gather for it. What they have of these operands is handed back, by their keys.
    pub(super) fn gather(&mut self, op: OperationRef<'c, 'a>, exchange: &Exchange) -> Vec<(usize, Id)> {
        let operands: SmallVec<[Value<'c, 'a>; 4]> = op.operands().collect();
        let mut own = Vec::new();
        for (number, pieces) in &exchange.gathered {
            let value = operands[*number];
            let id = self.operand(value);
            let ty = local_type(value.r#type(), pieces);
            // What comes out of a barrier is gathered by itself, though it is the same in memory.
            let gathered = (key(value), ty.to_raw().ptr as usize);
            let known = self.gathered.get(&gathered).copied();
            let whole = known.unwrap_or_else(|| {
                let whole = self.one(Class::Exchange { summands: 1 }, op, ids![id], ty);
                self.gathered.insert(gathered, whole);
                whole
            });
            own.push((key(value), id));
            self.known.insert(key(value), whole);
        }
        if exchange.summands > 1
            && let Ok(result) = op.result(0)
        {
            let result: Value = result.into();
            self.partial = Some((key(result), local_type(result.r#type(), &exchange.before)));
        }
        own
    }

    /// Adds up the sums of which each device has made a part.
    pub(super) fn add_up(&mut self, op: OperationRef<'c, 'a>, exchange: &Exchange) {
        if self.partial.take().is_some()
            && let Ok(result) = op.result(0)
        {
            let part = self.operand(result.into());
            let ty = self.local(result.into());
            let class = Class::Exchange { summands: exchange.summands as u32 };
            let sum = self.one(class, op, ids![part], ty);
            self.forward(op, &[sum]);
        }
    }

    /// What pieces do not divide is handed out whole along that dimension.
    pub(super) fn even_results(&mut self, block: BlockRef<'c, 'a>) {
        let Some(last) = block.terminator() else { return };
        for (at, value) in last.operands().enumerate().take(self.graph.results.len()) {
            let (local, whole) = (Tensor::new(self.local(value)), Tensor::new(value.r#type()));
            let (Some(local), Some(whole)) = (local, whole) else { continue };
            if !(0..whole.rank()).any(|dim| self.shards.is_uneven(value, dim)) {
                continue;
            }
            let shape: Vec<i64> = (0..whole.rank())
                .map(
                    |dim| if self.shards.is_uneven(value, dim) { whole.shape[dim] } else { local.shape[dim] },
                )
                .collect();
            let ty = Tensor::get(&shape, whole.element, None);
            let result = self.graph.results[at];
            let gathered = self.push(Class::Opaque, Some(last), ids![result], &[ty]);
            self.graph.results[at] = self.graph.nodes[gathered as usize].first;
        }
    }

    pub(super) fn local_types(&self, op: OperationRef<'c, 'a>) -> Types<'c> {
        op.results().map(|result| self.local(result.into())).collect()
    }
}
