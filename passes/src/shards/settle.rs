// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is done before and after: layouts that neighbours agree on, and arrays that do not come out even between computations.

use super::layout::{Known, only_returned, reordered};
use super::mesh::Layout;
use super::moves::{self, is_bare, is_move, is_update};
use super::{Rewrite, uneven};
use crate::ir::{self, Builder};
use crate::rewrite::{
    carry_attributes, defining_op, has_one_use, is_unused, ops_named, set_attribute, users, walk,
};
use crate::splat::Splat;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;

impl<'c: 'a, 'a> Rewrite<'c, 'a, '_> {
    /// Lays what an op makes out like what it is made of, if all that reads it is laid out like that as well, or
    /// would have to gather less of it: what it says of itself would only have it gathered and cut again.
    pub(super) fn agree(&mut self, root: OperationRef<'c, 'a>) {
        walk(root, |op| {
            if op_name(op) == "sdy.manual_computation" {
                return WalkResult::Skip;
            }
            let other =
                self.like_neighbours(op).or_else(|| self.still_cut(op)).or_else(|| self.as_returned(op));
            if let Some((value, layout)) = other
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

    /// The result of an op that only goes out of the program, of which less is wanted there than the op would have each
    /// device make, and the layout in which that is.
    fn as_returned(&self, op: OperationRef<'c, 'a>) -> Option<(Value<'c, 'a>, Layout)> {
        let is_known = is_bare(op) && (is_move(op) || moves::is_elementwise(op));
        let result = ir::first_result(op)
            .filter(|result| is_known && only_returned(*result) && has_one_use(*result))?;
        let (own, wanted) = (self.known.layout(result)?, self.known.returned_as(result)?);
        own.is_coarser_than(wanted).then(|| (result, wanted.clone()))
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

/// Has pads that only put a constant beyond the ends of an array which was updated, and then reordered or given
/// dimensions of one element, put it there before that: it is one more update then. Says whether there are any.
pub(super) fn with_pads_behind_updates<'c: 'a, 'a>(
    root: OperationRef<'c, 'a>,
    known: &mut Known<'c>,
) -> bool {
    let build = Builder::new(root);
    let mut pads = Vec::new();
    walk(root, |op| match op_name(op) {
        "sdy.manual_computation" => WalkResult::Skip,
        name => {
            pads.extend((name == "stablehlo.pad").then_some(op));
            WalkResult::Advance
        }
    });
    let mut any = false;
    for pad in pads {
        let mut next = Some(pad);
        while let Some(pad) = next {
            next = behind_update(&build, known, pad);
            any |= next.is_some();
        }
    }
    any
}

/// Whether there may be slices of arrays that are joined for nothing but slices, and of which a slice takes just of one: where ops say how they
/// are laid out, and functions, if there are several, have not become one yet.
pub fn has_slices_of_joined<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> bool {
    let (mut is_told, mut is_joined, mut is_called, mut is_found) = (false, false, false, false);
    walk(root, |op| {
        is_told =
            is_told || op_name(op).starts_with("stablehlo.") && !ir::discardable_attributes(op).is_empty();
        match op_name(op) {
            "sdy.manual_computation" => return WalkResult::Skip,
            "func.call" => is_called = true,
            "stablehlo.concatenate" => is_joined = true,
            "stablehlo.slice" => {
                let joined = op.operands().next().and_then(defining_op);
                let joined = joined.filter(|join| op_name(*join) == "stablehlo.concatenate");
                is_found |= joined.is_some_and(|join| part_of(join, op).is_some());
            }
            _ => {}
        }
        WalkResult::Advance
    });
    is_told && is_joined && (is_found || is_called)
}

/// Has slices of padded arrays that take nothing of what is padded be slices of the arrays, and so those of joined ones if `joined`; says whether
/// there are any.
pub(super) fn with_slices_of_parts<'c: 'a, 'a>(
    root: OperationRef<'c, 'a>,
    known: &mut Known<'c>,
    joined: bool,
) -> bool {
    let build = Builder::new(root);
    let of_parts =
        slices_in(root).into_iter().filter(|slice| of_part(&build, known, *slice, joined).is_some());
    of_parts.count() > 0
}

/// Slices outside of manual computations.
fn slices_in<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    let mut slices = Vec::new();
    walk(root, |op| match op_name(op) {
        "sdy.manual_computation" => WalkResult::Skip,
        name => {
            slices.extend((name == "stablehlo.slice").then_some(op));
            WalkResult::Advance
        }
    });
    slices
}

/// Makes a slice of a padded array one of the array, if it takes just of that, and so one of arrays that are joined for slices if `joined`.
fn of_part<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    known: &mut Known<'c>,
    slice: OperationRef<'c, 'a>,
    joined: bool,
) -> Option<()> {
    let whole = slice.operands().next()?;
    let maker = defining_op(whole)?;
    let (array, low) = match op_name(maker) {
        "stablehlo.pad" => {
            let is_dense = ir::i64_array(maker, "interior_padding")?.iter().all(|&inner| inner == 0);
            is_dense
                .then_some((maker.operands().next()?, ir::i64_array(maker, "edge_padding_low")?.to_vec()))?
        }
        "stablehlo.concatenate" if joined => {
            part_of(maker, slice).filter(|(part, _)| known.layout(*part) == known.layout(whole))?
        }
        _ => return None,
    };
    let moved = |name| -> Option<Vec<i64>> {
        Some(ir::i64_array(slice, name)?.iter().zip(&low).map(|(at, low)| at - low).collect())
    };
    let (starts, limits) = (moved("start_indices")?, moved("limit_indices")?);
    let is_within = starts.iter().all(|&start| start >= 0)
        && limits.iter().zip(moves::plain(array)?.shape).all(|(limit, size)| limit <= size);
    is_within.then_some(())?;
    set_attribute(slice, "start_indices", build.i64_array(&starts));
    set_attribute(slice, "limit_indices", build.i64_array(&limits));
    build.set_operand(slice, 0, array);
    if is_unused(maker) {
        known.forget(whole);
        build.erase(maker);
    }
    Some(())
}

/// The operand of a concatenate of which a slice takes its elements, all of them, and where in the result it begins, if only slices read that.
fn part_of<'c: 'a, 'a>(
    join: OperationRef<'c, 'a>,
    slice: OperationRef<'c, 'a>,
) -> Option<(Value<'c, 'a>, Vec<i64>)> {
    let whole = ir::first_result(join)?;
    users(whole).all(|user| op_name(user) == "stablehlo.slice").then_some(())?;
    let dim = usize::try_from(ir::constant_attribute(join, "dimension")?).ok()?;
    let end = |name| ir::i64_array(slice, name)?.get(dim).copied();
    let (from, to) = (end("start_indices")?, end("limit_indices")?);
    let mut begins = vec![0; moves::plain(whole)?.shape.len()];
    for operand in join.operands() {
        let size = *moves::plain(operand)?.shape.get(dim)?;
        if from < begins[dim] + size {
            return (to <= begins[dim] + size).then_some((operand, begins));
        }
        begins[dim] += size;
    }
    None
}

/// Puts a pad before what reorders the array that it pads; gives it as it then is.
fn behind_update<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    known: &mut Known<'c>,
    pad: OperationRef<'c, 'a>,
) -> Option<OperationRef<'c, 'a>> {
    let (array, scalar) = (pad.operands().next()?, pad.operands().nth(1)?);
    let result = ir::first_result(pad).filter(|_| is_bare(pad))?;
    let high = ends_of(pad).filter(|_| Splat::of(scalar).is_some_and(|splat| splat.is_constant()))?;
    let layout = known.layout(array).filter(|layout| known.layout(result) == Some(layout))?.clone();
    let shapes = (moves::plain(array)?.shape, moves::plain(result)?.shape);
    (known.tile(&layout, shapes.0)? == known.tile(&layout, shapes.1)?).then_some(())?;
    let order = reordering(known, array)?;
    let from = order.operands().next()?;
    // Down to an update, whatever is in between.
    let mut bottom = from;
    while let Some(op) = reordering(known, bottom) {
        bottom = op.operands().next()?;
    }
    defining_op(bottom).filter(|op| is_update(*op) && op.block() == pad.block() && has_one_use(bottom))?;
    let shape = moves::plain(from)?.shape;
    let ends = match op_name(order) {
        "stablehlo.transpose" => {
            let mut ends = vec![0; shape.len()];
            for (end, &dim) in high.iter().zip(ir::i64_array(order, "permutation")?) {
                *ends.get_mut(usize::try_from(dim).ok()?)? = *end;
            }
            ends
        }
        _ => {
            let is_one = |(size, end): (&i64, &i64)| *size != 1 || *end == 0;
            shapes.0.iter().zip(high).all(is_one).then_some(())?;
            let mut ends = shapes.0.iter().zip(high).filter(|(size, _)| **size != 1).map(|(_, end)| *end);
            shape.iter().map(|&size| if size == 1 { Some(0) } else { ends.next() }).collect::<Option<_>>()?
        }
    };
    let own = known.layout(from)?.clone();
    let element = ir::element_of(result.r#type());
    let wide: Vec<i64> = shape.iter().zip(&ends).map(|(size, end)| size + end).collect();
    let none = vec![0; wide.len()];
    build.set_insertion_point_before(pad);
    let wide = Tensor::get(&wide, element, None);
    let padded = build.pad(from, scalar, [&none, &ends, &none], wide, pad.location());
    uneven::annotate(build, &known.mesh, padded, &own)?;
    let whole = ir::first_result(build.copy_with(order, &[padded], &[], &[result.r#type()]))?;
    known.set(padded, own);
    known.set(whole, layout);
    build.replace_all_uses_with(result, whole);
    for op in [pad, order] {
        op.results().for_each(|result| known.forget(result.into()));
        build.erase(op);
    }
    defining_op(padded)
}

/// What makes a value by giving the dimensions of an array another order, or some of one element, on each device, if
/// that is all that the array is for.
fn reordering<'c: 'a, 'a>(known: &Known<'c>, value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let op = defining_op(value).filter(|op| is_bare(*op) && has_one_use(value))?;
    let from = op.operands().next()?;
    let layout = reordered(op, op_name(op), known.layout(from)?)?;
    (known.layout(value) == Some(&layout)).then_some(op)
}

/// How much a pad puts at the high ends, if that is all it does.
fn ends_of<'c>(pad: OperationRef<'c, '_>) -> Option<&'c [i64]> {
    let is_none =
        |name: &str| ir::i64_array(pad, name).is_some_and(|sizes| sizes.iter().all(|&size| size == 0));
    (is_none("edge_padding_low") && is_none("interior_padding")).then_some(())?;
    ir::i64_array(pad, "edge_padding_high").filter(|high| high.iter().all(|&end| end >= 0))
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
