// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Loops that carry arrays which do not come out even: they carry them with what is beyond their ends.
//!
//! A computation in a loop takes what is carried padded, and gives it with something beyond the ends that nobody reads.
//! Cut off and padded again in each turn, the array is written anew each time, where else it is updated in place:
//!
//! ```text
//! while %x = %field                       while %x = pad %field
//!   %r = computation(pad %x)        ->      %r = computation(%x)
//!   return slice %r                         return %r
//! ```

use super::layout::Known;
use super::mesh::Layout;
use super::moves::{is_bare, is_elementwise, plain};
use super::{Rewrite, uneven};
use crate::ir;
use crate::rewrite::{defining_op, is_unused, ops_named, uses};
use crate::splat::Splat;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::ffi;
use slimhlo_dialect::types::Tensor;

/// How many ops before what a loop hands on are looked at, one after the other.
const DEPTH: usize = 8;

/// An array that a loop carries, as it is and as it comes out even.
struct Carried<'c> {
    index: usize,
    layout: Layout,
    own: Type<'c>,
    even: Type<'c>,
}

impl<'c: 'a, 'a> Rewrite<'c, 'a, '_> {
    /// Has loops carry arrays as computations in them give them. What is padded and cut off for it is settled with
    /// all else.
    pub(super) fn carry_whole(&mut self, root: OperationRef<'c, 'a>) {
        for op in ops_named(root, "stablehlo.while") {
            let all: Vec<_> = (0..op.result_count()).filter_map(|index| self.carried(op, index)).collect();
            for carried in all {
                self.carry_one_whole(op, &carried);
            }
        }
    }

    /// What a loop carries at an index, if that does not come out even and a computation in the loop gives it.
    fn carried(&self, op: OperationRef<'c, 'a>, index: usize) -> Option<Carried<'c>> {
        (self.known.by_op && is_bare(op)).then_some(())?;
        let result: Value<'c, 'a> = op.results().nth(index)?.into();
        let tensor = plain(result)?;
        let layout = self.known.layout(result)?.clone();
        let even =
            layout.even_shape(tensor.shape, &self.known.mesh.grid).filter(|even| even != tensor.shape)?;
        let body = blocks(op).pop()?;
        let taken: Value<'c, 'a> = body.argument(index).ok()?.into();
        let given = body.terminator()?.operands().nth(index)?;
        (is_laid_out(&self.known, taken, &layout) && is_laid_out(&self.known, given, &layout))
            .then_some(())?;
        self.is_made_whole(given, (taken, &layout), DEPTH).then_some(())?;
        let even = Tensor::get(&even, tensor.element, None);
        Some(Carried { index, layout, own: result.r#type(), even })
    }

    /// Whether a value is what is left of a computation's result, or is computed of such, element by element, and of what is
    /// carried: it is then had with what is beyond its ends, and need not be padded.
    fn is_made_whole(
        &self,
        value: Value<'c, 'a>,
        (taken, layout): (Value<'c, 'a>, &Layout),
        depth: usize,
    ) -> bool {
        let Some(op) = defining_op(value).filter(|op| is_bare(*op)) else { return false };
        if self.known.layout(value) != Some(layout) || depth == 0 {
            return false;
        }
        if uneven::trimmed_from(value).is_some() {
            return self.fresh.contains(&ir::op_key(op));
        }
        let is_scalar = |value: Value<'c, 'a>| ir::is_rank_zero(value) || Splat::of(value).is_some();
        let is_whole = |operand: Value<'c, 'a>| {
            operand == taken || self.is_made_whole(operand, (taken, layout), depth - 1)
        };
        is_elementwise(op)
            && op.operands().all(|operand| is_scalar(operand) || is_whole(operand))
            && op.operands().any(|operand| operand != taken && !is_scalar(operand))
    }

    fn carry_one_whole(&mut self, op: OperationRef<'c, 'a>, carried: &Carried<'c>) -> Option<()> {
        self.pad_operand(op, carried)?;
        for block in blocks(op) {
            let argument: Value<'c, 'a> = block.argument(carried.index).ok()?.into();
            self.trimmed_before(block.first_operation()?, argument, carried);
        }
        let end = blocks(op).pop()?.terminator()?;
        self.pad_operand(end, carried)?;
        self.trimmed_before(op.next_in_block()?, op.results().nth(carried.index)?.into(), carried);
        self.changed = true;
        Some(())
    }

    /// Has an op take padded what it takes.
    fn pad_operand(&mut self, op: OperationRef<'c, 'a>, carried: &Carried<'c>) -> Option<()> {
        let value = op.operands().nth(carried.index)?;
        let mut made = Vec::new();
        self.build.set_insertion_point_before(op);
        let input = (value, carried.layout.clone());
        let whole = uneven::padded(&self.build, &self.known, &input, &mut made, op.location())?;
        self.fresh.extend(made.iter().filter_map(|value| defining_op(*value)).map(ir::op_key));
        self.known.set(whole, carried.layout.clone());
        self.build.set_operand(op, carried.index, whole);
        // What was cut off only to be padded.
        if let Some(trim) =
            defining_op(value).filter(|trim| self.fresh.contains(&ir::op_key(*trim)) && is_unused(*trim))
        {
            self.erase(trim);
        }
        Some(())
    }

    /// Gives a value the type that comes out even; what read it reads what is cut off of it before an op.
    fn trimmed_before(&mut self, op: OperationRef<'c, 'a>, value: Value<'c, 'a>, carried: &Carried<'c>) {
        let readers: Vec<_> = uses(value).map(|used| (used.user, used.operand)).collect();
        self.build.set_type(value, carried.even);
        self.known.set(value, carried.layout.clone());
        if readers.is_empty() {
            return;
        }
        self.build.set_insertion_point_before(op);
        let whole = (value, &carried.layout);
        let left = uneven::trimmed(&self.build, &self.known.mesh, whole, carried.own, op.location());
        self.known.set(left, carried.layout.clone());
        self.fresh.extend(defining_op(left).map(ir::op_key));
        readers.into_iter().for_each(|(user, index)| self.build.set_operand(user, index, left));
    }
}

/// The blocks of a loop: its condition, and what it does.
fn blocks<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<BlockRef<'c, 'a>> {
    (0..op.region_count()).filter_map(|index| op.region(index).ok()?.first_block()).collect()
}

fn is_laid_out<'c: 'a, 'a>(known: &Known<'c>, value: Value<'c, 'a>, layout: &Layout) -> bool {
    ffi::shape(value.r#type()).is_some() && known.layout(value) == Some(layout)
}
