// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is done before and after: layouts that neighbours agree on, and arrays that do not come out even between computations.

use super::layout::reordered;
use super::mesh::Layout;
use super::moves::{self, is_bare, is_move, is_update};
use super::{Rewrite, uneven};
use crate::ir::{self, Builder};
use crate::rewrite::{carry_attributes, defining_op, is_unused, ops_named, users, walk};
use crate::splat::Splat;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};

impl<'c: 'a, 'a> Rewrite<'c, 'a, '_> {
    /// Lays what an op makes out like what it is made of, if all that reads it is laid out like that as well, or
    /// would have to gather less of it: what it says of itself would only have it gathered and cut again.
    pub(super) fn agree(&mut self, root: OperationRef<'c, 'a>) {
        walk(root, |op| {
            if op_name(op) == "sdy.manual_computation" {
                return WalkResult::Skip;
            }
            if let Some((value, layout)) = self.like_neighbours(op).or_else(|| self.still_cut(op))
                && uneven::annotate(&self.build, &self.known.mesh, value, &layout).is_some()
            {
                self.known.set(value, layout);
                self.changed = true;
            }
            WalkResult::Advance
        });
    }

    /// The result of an op that says another layout than all around it, and that layout.
    fn like_neighbours(&self, op: OperationRef<'c, 'a>) -> Option<(Value<'c, 'a>, Layout)> {
        let result =
            ir::first_result(op).filter(|_| is_bare(op) && (is_move(op) || moves::is_elementwise(op)))?;
        let layout = self.known.layout(op.operands().next()?)?;
        let own = self.known.layout(result).filter(|own| *own != layout && own.0.len() == layout.0.len())?;
        let agrees = |user: OperationRef<'c, 'a>| {
            (is_move(user) || moves::is_elementwise(user))
                && ir::first_result(user).is_some_and(|result| self.known.layout(result) == Some(layout))
                || self.known.is_returned_as(user, result, layout)
        };
        let all = op_name(op) != "sdy.sharding_constraint" && !is_unused(op) && users(result).all(agrees);
        // Only what is less cut: more of it would have to be sent otherwise.
        let parts = |layout: &Layout| -> i64 {
            layout.0.iter().map(|axes| self.known.mesh.grid.parts(axes)).product()
        };
        (all && parts(own) <= parts(layout)).then(|| (result, layout.clone()))
    }

    /// The result of an op that would have each device gather more than a device has of what the op is made of, and
    /// the layout in which it need not: whoever reads it, as moves and elementwise ops do, says for itself what it
    /// has to have.
    fn still_cut(&self, op: OperationRef<'c, 'a>) -> Option<(Value<'c, 'a>, Layout)> {
        let result = ir::first_result(op).filter(|_| is_bare(op) && !is_unused(op))?;
        let own = self.known.layout(result)?;
        let name = op_name(op);
        let layout = if is_move(op) || moves::is_elementwise(op) && name != "sdy.sharding_constraint" {
            // All that is as large, in one layout; scalars that are repeated may be laid out in any.
            let arrays = if is_update(op) || name == "stablehlo.pad" { 1 } else { op.operand_count() };
            let mut layouts = op
                .operands()
                .take(arrays)
                .filter(|operand| !ir::is_rank_zero(*operand) && Splat::of(*operand).is_none())
                .map(|operand| self.known.layout(operand));
            let first = layouts.next()??.clone();
            layouts.all(|layout| layout == Some(&first)).then_some(first)?
        } else {
            reordered(op, name, self.known.layout(op.operands().next()?)?)?
        };
        own.is_coarser_than(&layout).then_some(())?;
        // Where all that reads it gathers it in any case, gathering less comes first.
        let gathers = |user: OperationRef<'c, 'a>| {
            let read = ir::first_result(user).and_then(|result| self.known.layout(result));
            read.is_none_or(|read| read.is_coarser_than(&layout))
        };
        (!is_larger(op) || !users(result).all(gathers)).then_some(())?;
        // On each device there is some of it.
        let grid = &self.known.mesh.grid;
        let shape = moves::plain(result)?.shape;
        let extents = layout.extents(shape, grid)?;
        extents.iter().all(|extent| extent.iter().all(|&size| size > 0)).then_some(())?;
        let asks = |user: OperationRef<'c, 'a>| {
            is_bare(user)
                && (is_move(user)
                    || moves::is_elementwise(user)
                    || matches!(op_name(user), "stablehlo.reshape" | "stablehlo.transpose"))
                && ir::first_result(user).is_some_and(|result| self.known.layout(result).is_some())
        };
        users(result).all(asks).then_some((result, layout))
    }

    /// Takes back pads of what is cut off, and cuts off as late as can be: what is between computations then has even parts, too.
    pub(super) fn settle(&mut self, root: OperationRef<'c, 'a>) {
        self.carry_whole(root);
        let mut ops = Vec::new();
        walk(root, |op| match op_name(op) {
            "sdy.manual_computation" => WalkResult::Skip,
            _ => {
                ops.push(op);
                WalkResult::Advance
            }
        });
        let mut trims = Vec::new();
        for op in ops {
            let is_pad = op_name(op) == "stablehlo.pad" && self.fresh.contains(&ir::op_key(op));
            let (Some(operand), Some(result)) = (op.operands().next(), ir::first_result(op)) else {
                continue;
            };
            if is_pad {
                let whole = uneven::trimmed_from(operand).filter(|whole| {
                    whole.r#type() == result.r#type()
                        && self.known.layout(*whole) == self.known.layout(result)
                });
                let Some(whole) = whole else { continue };
                trims.extend(defining_op(operand));
                trims.extend(op.operands().nth(1).and_then(defining_op));
                self.build.replace_all_uses_with(result, whole);
            } else {
                let made = uneven::computed_whole(&self.build, &self.known, op)
                    .or_else(|| uneven::reordered_whole(&self.build, &self.known, op));
                let Some((whole, left, layout)) = made else { continue };
                let cut = op.operands().filter_map(|operand| {
                    defining_op(operand).filter(|_| uneven::trimmed_from(operand).is_some())
                });
                trims.extend(cut);
                self.fresh.extend(defining_op(left).map(ir::op_key));
                self.known.set(whole, layout.clone());
                self.known.set(left, layout);
                self.build.replace_all_uses_with(result, left);
                self.changed = true;
            }
            self.fresh.remove(&ir::op_key(op));
            self.build.erase(op);
        }
        for op in trims {
            // Several may have read one.
            if self.fresh.contains(&ir::op_key(op)) && is_unused(op) {
                self.fresh.remove(&ir::op_key(op));
                self.build.erase(op);
            }
        }
    }
}

/// Whether a result has more elements than all that it is made of but repeated scalars.
fn is_larger<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    let count = |value: Value<'c, 'a>| moves::plain(value).and_then(|tensor| tensor.element_count());
    let mut arrays: Vec<Value<'c, 'a>> = Vec::new();
    for operand in op.operands() {
        if Splat::of(operand).is_none() && !arrays.contains(&operand) {
            arrays.push(operand);
        }
    }
    let taken: i64 = arrays.into_iter().filter_map(count).sum();
    ir::first_result(op).and_then(count).is_some_and(|made| made > taken)
}

/// Makes constants of the `sdy` dialect, which are others' but for their name, ordinary ones; says whether there are any.
pub(super) fn with_plain_constants<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> bool {
    let constants = ops_named(root, "sdy.constant");
    let build = Builder::new(root);
    for op in &constants {
        let (Some(result), Some(value)) = (ir::first_result(*op), ffi::attribute_of(*op, "value")) else {
            continue;
        };
        build.set_insertion_point_before(*op);
        let value =
            build.insert("stablehlo.constant", &[], &[("value", value)], result.r#type(), op.location());
        if let Some(made) = defining_op(value) {
            carry_attributes(*op, made, &[]);
        }
        build.replace_all_uses_with(result, value);
        build.erase(*op);
    }
    !constants.is_empty()
}
