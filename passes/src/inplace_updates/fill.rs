// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Halos written down as a concatenation.
//!
//! ```mlir
//! %west = stablehlo.slice %x [0:64, 240:248]
//! %own = stablehlo.slice %x [0:64, 8:248]
//! %east = stablehlo.slice %x [0:64, 8:16]
//! %r = stablehlo.concatenate %west, %own, %east, dim = 1      // tensor<64x256xf32>, as %x
//! ```
//!
//! is `%x` but for its edges, and where nothing else is in the way it is `%x`, updated:
//!
//! ```mlir
//! %0 = stablehlo.dynamic_update_slice %x, %west, %c0, %c0
//! %r = stablehlo.dynamic_update_slice %0, %east, %c0, %c248
//! ```
//!
//! A back end that knows no more than the concatenation makes a second array, and mostly a third of what is joined.

use super::chain::is_donated;
use crate::ir::{self, Builder};
use crate::ir::{bytes, plain};
use crate::rewrite::{defining_op, is_unused, ops_named, users};
use crate::simplify::shape::concatenated;
use crate::simplify::site::Slice;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};

/// What is joined to an array's own part takes at most this part of it.
const EDGES: i64 = 4;

/// What makes values that are not updated.
const NOT_UPDATED: [&str; 5] = [
    "stablehlo.constant",
    "stablehlo.dynamic_slice",
    "stablehlo.iota",
    "stablehlo.optimization_barrier",
    "stablehlo.slice",
];

/// Makes updates of such concatenations; says of how many.
pub fn run<'c: 'a, 'a>(root: OperationRef<'c, 'a>, build: &Builder<'c, 'a>, min_bytes: i64) -> usize {
    let mut count = 0;
    for op in ops_named(root, "stablehlo.concatenate") {
        if let Some(fill) = Fill::of(op, min_bytes) {
            fill.apply(build);
            count += 1;
        }
    }
    count
}

struct Fill<'c, 'a> {
    op: OperationRef<'c, 'a>,
    /// The array of which most stays where it is.
    array: Value<'c, 'a>,
    dim: usize,
    /// Which operands are put into it, and where.
    edges: Vec<(usize, i64)>,
}

impl<'c: 'a, 'a> Fill<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>, min_bytes: i64) -> Option<Self> {
        let result = ir::first_result(op)?;
        let tensor = plain(result)?;
        // Back ends widen narrow floats for an update; complex numbers are nothing that fields of models are made of.
        let other = !tensor.element.is_f32() && !tensor.element.is_f64() && !tensor.element.is_integer();
        if bytes(result) < min_bytes || other || !ir::discardable_attributes(op).is_empty() {
            return None;
        }
        let (dim, sizes) = concatenated(op)?;
        let mut at = 0;
        let mut found = None;
        let mut edges = Vec::new();
        for (index, (operand, size)) in op.operands().zip(&sizes).enumerate() {
            match own_part(operand, dim, at).filter(|array| array.r#type() == result.r#type()) {
                Some(array) if found.is_none() => found = Some((array, *size)),
                _ => edges.push((index, at)),
            }
            at += size;
        }
        let (array, kept) = found?;
        let fill = Self { op, array, dim, edges };
        ((at - kept).saturating_mul(EDGES) <= at && fill.is_free()).then_some(fill)
    }

    /// Whether nothing but parts of the array is needed once it has been updated.
    fn is_free(&self) -> bool {
        let limit = bytes(self.array) / EDGES;
        let overwritten = match ffi::as_block_argument(self.array) {
            Some(argument) => {
                let owner: BlockRef = argument.owner();
                self.op.block() == Some(owner)
                    && owner.parent_operation().is_some_and(|parent| match op_name(parent) {
                        "func.func" => is_donated(parent, argument.argument_number()),
                        // The body of a loop, not its condition.
                        "stablehlo.while" => parent
                            .region(1)
                            .ok()
                            .and_then(|region| region.first_block())
                            .is_some_and(|body| body == owner),
                        "sdy.manual_computation" => true,
                        _ => false,
                    })
            }
            // What is part of another array, or staged behind a barrier, is a row or two that chains of updates are made of.
            None => {
                let mut maker = defining_op(self.array);
                while let Some(op) = maker.filter(|op| op_name(*op) == "stablehlo.reshape") {
                    maker = ir::operand(op, 0).and_then(defining_op);
                }
                maker.is_some_and(|op| op.block() == self.op.block() && !NOT_UPDATED.contains(&op_name(op)))
            }
        };
        let is_part = |user: OperationRef<'c, 'a>| {
            let slices = matches!(op_name(user), "stablehlo.slice" | "stablehlo.dynamic_slice");
            // The part that stays is not needed any more if only this takes it.
            let small = || ir::first_result(user).is_some_and(|part| bytes(part) <= limit);
            let own = || {
                op_name(user) == "stablehlo.slice"
                    && ir::first_result(user).is_some_and(|part| {
                        users(part).all(|other| {
                            let parts = || ir::first_result(other).is_some_and(|part| bytes(part) <= limit);
                            ir::op_key(other) == ir::op_key(self.op) || is_bare_slice(other) && parts()
                        })
                    })
            };
            slices && (small() || own())
        };
        overwritten && users(self.array).all(is_part)
    }

    fn apply(&self, build: &Builder<'c, 'a>) {
        let location = self.op.location();
        // Parts of the part that stays are parts of the array.
        for part in users(self.array).filter(|user| is_bare_slice(*user)).collect::<Vec<_>>() {
            let Some(outer) = Slice::new(part) else { continue };
            let inner = ir::first_result(part).expect("slices have one result");
            for user in users(inner).filter(|user| is_bare_slice(*user)).collect::<Vec<_>>() {
                let (Some(slice), Some(result)) = (Slice::new(user), ir::first_result(user)) else {
                    continue;
                };
                if !(outer.has_unit_strides() && slice.has_unit_strides()) {
                    continue;
                }
                build.set_insertion_point_before(user);
                let starts: Vec<i64> =
                    slice.start.iter().zip(outer.start).map(|(one, other)| one + other).collect();
                let read = build.slice(self.array, &starts, result.r#type(), user.location());
                build.replace_all_uses_with(result, read);
                build.erase(user);
            }
        }
        build.set_insertion_point_before(self.op);
        let rank = ffi::shape(self.array.r#type()).map_or(0, <[i64]>::len);
        let mut array = self.array;
        for (index, at) in &self.edges {
            let value = self.op.operand(*index).expect("asked before");
            let starts: Vec<_> = (0..rank)
                .map(|dim| build.i64_constant(if dim == self.dim { *at } else { 0 }, location))
                .collect();
            array = build.dynamic_update_slice(array, value, &starts, location);
        }
        build.replace_all_uses_with(ir::first_result(self.op).expect("asked before"), array);
        let mut operands: Vec<_> = self.op.operands().filter_map(defining_op).collect();
        operands.sort_by_key(|op| ir::op_key(*op));
        operands.dedup_by_key(|op| ir::op_key(*op));
        build.erase(self.op);
        for op in operands.into_iter().filter(|op| op_name(*op) == "stablehlo.slice" && is_unused(*op)) {
            build.erase(op);
        }
    }
}

fn is_bare_slice(op: OperationRef<'_, '_>) -> bool {
    op_name(op) == "stablehlo.slice" && ir::discardable_attributes(op).is_empty()
}

/// The array of which a value is the part from `at` on along a dimension, and all of it along the others.
fn own_part<'c: 'a, 'a>(value: Value<'c, 'a>, dim: usize, at: i64) -> Option<Value<'c, 'a>> {
    let op = defining_op(value).filter(|op| is_bare_slice(*op))?;
    let slice = Slice::new(op)?;
    let starts = slice.start.iter().enumerate();
    let there = starts.clone().all(|(at_dim, &start)| start == if at_dim == dim { at } else { 0 });
    (slice.has_unit_strides() && there).then_some(slice.operand)
}
