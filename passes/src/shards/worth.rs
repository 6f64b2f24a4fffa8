// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Whether a computation is better than what a partitioner would make of the same ops.

use super::classes::Class;
use super::mesh::Layout;
use super::moves::{self, Index, Moves, Piece, is_move, is_update, plain, unconstrained, update_of};
use super::{Rewrite, Target, Update, bottom};
use crate::ir::{self, is_narrow};
use crate::rewrite::{defining_op, users};
use crate::splat::Splat;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;

impl<'c: 'a, 'a> Rewrite<'c, 'a, '_> {
    /// Whether an update repeats one index along a dimension on some devices only: a partitioner sends such a row with a
    /// cheap reduction over all devices, and it needs no array gathered.
    pub(super) fn is_row_of_few(&self, update: &Update<'c, 'a>, classes: &[Class]) -> bool {
        let devices = self.known.mesh.grid.devices();
        // Scatters are gathered whole.
        op_name(update.op) == "stablehlo.dynamic_update_slice"
            && classes.iter().any(|class| {
                let mut expr = update.pieces[class.piece].1.clone();
                let mut is_row = false;
                expr.for_each_read(&mut |_, index| {
                    is_row |= index.iter().any(|at| matches!(at, Index::At(_)));
                });
                is_row && class.devices.count() < devices
            })
    }

    /// Whether devices differ in what they do with what they have, or have to talk.
    pub(super) fn is_worth_it(
        &self,
        classes: &[Class],
        pieces: &[Piece<'c, 'a>],
        inputs: &[(Value<'c, 'a>, Layout)],
        target: &Target<'c, 'a>,
    ) -> bool {
        let devices = self.known.mesh.grid.devices();
        let mut reads = classes.iter().flat_map(|class| &class.reads);
        // What partitioners replicate they may find another way to.
        let is_near = |(value, layout): &(Value<'c, 'a>, Layout)| {
            layout.is_cut_like(&target.layout) || value.is_block_argument()
        };
        target.at_boundary
            || reads.any(|read| !read.is_local())
            || (!self.known.by_op || !self.is_of_each(target, pieces) && inputs.iter().all(is_near))
                && classes.iter().any(|class| {
                    let is_filled = self.known.by_op && is_update(target.op);
                    (is_filled || !class.reads.is_empty()) && class.devices.count() < devices
                })
    }

    /// Whether an op other than an update moves nothing along dimensions that are cut, but for what it adds or leaves away at an array's
    /// ends: partitioners do that on each device, in whatever reads the result.
    pub(super) fn is_of_each(&self, target: &Target<'c, 'a>, pieces: &[Piece<'c, 'a>]) -> bool {
        let stays = |index: &[Index], dim: usize| index.contains(&Index::Plus { dim, offset: 0 });
        let cut: Vec<usize> =
            (0..target.shape.len()).filter(|&dim| !target.layout.0[dim].is_empty()).collect();
        !is_update(target.op)
            && !joins_along(target.op, &cut)
            && pieces.iter().all(|(_, expr)| {
                let mut reads = Vec::new();
                expr.reads(&mut reads);
                reads.iter().all(|(_, index)| cut.iter().all(|&dim| stays(index, dim)))
            })
    }

    /// Whether devices differ in what they fill with scalars, and all of what that is joined with comes into one computation with it.
    pub(super) fn is_worth_filling(
        &mut self,
        classes: &[Class],
        pieces: &[Piece<'c, 'a>],
        target: &Target<'c, 'a>,
    ) -> bool {
        let devices = self.known.mesh.grid.devices();
        !(self.known.by_op && self.is_of_each(target, pieces))
            && classes.iter().any(|class| class.devices.count() < devices && pieces[class.piece].1.has_fill())
            && self.is_joined_with_made(target)
    }

    /// Whether the moves that a result is joined with, element by element, are made here as well. If one is left to the partitioner
    /// (the padded sum of an edge's halo), a computation would end before it, and what one kernel computed would be stored.
    pub(super) fn is_joined_with_made(&mut self, target: &Target<'c, 'a>) -> bool {
        let Ok(result) = target.root.result(0) else { return false };
        if is_narrow(result.into()) {
            return false;
        }
        let mut is_made = |operand: Value<'c, 'a>| {
            let Some(op) = defining_op(unconstrained(operand)).filter(|op| is_move(*op)) else { return true };
            let mut moves = Moves::new(&self.known, &mut self.splats);
            moves.of_op(op).is_some()
                && moves.inputs.iter().all(|(input, _)| self.known.layout(*input).is_some())
        };
        users(result.into()).all(|user| !moves::is_elementwise(user) || user.operands().all(&mut is_made))
    }
}

/// Whether an op joins arrays along one of some dimensions: partitioners have each of them sent to where another dimension is cut.
fn joins_along(op: OperationRef<'_, '_>, dims: &[usize]) -> bool {
    let dim = ir::constant_attribute(op, "dimension").and_then(|dim| usize::try_from(dim).ok());
    op_name(op) == "stablehlo.concatenate" && dim.is_some_and(|dim| dims.contains(&dim))
}

/// Whether an update writes most of an array, of what is computed element by element: a stencil on all but the edges.
pub(super) fn is_computed_anew(target: &Target<'_, '_>) -> bool {
    let Some(update) = update_of(target.op) else { return false };
    let Some(tensor) = plain(update) else { return false };
    let (all, some): (i64, i64) = (target.shape.iter().product(), tensor.shape.iter().product());
    some > all / 2 && defining_op(update).is_some_and(moves::is_elementwise)
}

/// Whether an update puts a scalar into what is computed element by element: the edges of a gradient that goes back through a fill of
/// halos. A select does it in the kernel that computes the rest, where an update would want all of it stored.
pub(super) fn is_fill_of_computed(target: &Target<'_, '_>) -> bool {
    let Some(update) = update_of(target.op).filter(|update| !is_narrow(*update)) else { return false };
    let base = target.op.operands().next().map(bottom);
    Splat::of(update).is_some() && base.and_then(defining_op).is_some_and(moves::is_elementwise)
}
