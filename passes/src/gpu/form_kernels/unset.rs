// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is filled before a loop writes over all of it.
//!
//! # What it matches
//!
//! A constant that a loop carries, of which the loop does nothing but put slices into it, along one dimension, at places that
//! follow from what it counts, and whose slices cover all of it; or all but what further updates right behind the loop cover.
//!
//! ```mlir
//! %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
//! %n:2 = stablehlo.while(%i = %zero, %a = %zeros) attributes {slimhlo.counts = array<i64: 0, 0, 2>, slimhlo.turns = 4 : i64}
//! // ... %b = stablehlo.dynamic_update_slice %a, %slice, %i, %zero : (tensor<8x4xf32>, tensor<2x4xf32>, ...)
//! ```
//!
//! # What becomes of it
//!
//! The loop starts with a constant of its own that says `slimhlo.unset`. The kernel that would make it says so, too, and is not launched:
//! its memory holds whatever it does.
//!
//! # Why it is right
//!
//! No element of the start is in what the loop leaves, nor read for anything but the elements that are not put in yet.
//!
//! # What it costs
//!
//! Nothing: a launch, and a store of each byte, are gone.
//!
//! # When it does not
//!
//! Somebody else reads the value within the loop, or turns leave gaps. What is no constant stays, too: an argument that is
//! donated is memory that the loop can work in.

use super::turns::{Counts, TURNS};
use crate::counted;
use crate::ir::{self, Builder, key};
use crate::ops::updates::plain;
use crate::rewrite::{context_of, defining_op, has_one_use, ops_named, set_discardable_attribute, uses};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;
use std::ops::Range;

/// What says of a constant, and of the kernel that would make it, that nobody needs its elements.
pub const UNSET: &str = "slimhlo.unset";

/// Updates that are followed behind a loop.
const MOST_BEHIND: usize = 8;

/// Marks what need not be filled before the loops of a function. Turns have been noted before.
pub fn mark<'c: 'a, 'a>(module: OperationRef<'c, 'a>, main: OperationRef<'c, 'a>) {
    let builder = Builder::new(module);
    for op in ops_named(main, "stablehlo.while") {
        for index in 0..op.operand_count() {
            let Ok(start) = op.operand(index) else { continue };
            if ir::splat_constant(start).is_none() || is_covered(op, index).is_none() {
                continue;
            }
            let Some(constant) = defining_op(start) else { continue };
            builder.set_insertion_point_before(op);
            let copy = builder.copy_with(constant, &[], &[], &[start.r#type()]);
            set_discardable_attribute(copy, UNSET, Attribute::unit(context_of(module)));
            if let Ok(result) = copy.result(0) {
                builder.set_operand(op, index, result.into());
            }
        }
    }
}

/// The slices of an array that updates set: along which dimension, and from where to where.
struct Covered {
    dim: usize,
    span: Range<i64>,
}

/// Whether the loop `op`, and updates behind it, put slices over all that it carries as `index`.
fn is_covered(op: OperationRef<'_, '_>, index: usize) -> Option<()> {
    let counts = Counts::of(op)?;
    let turns = ir::constant_attribute(op, TURNS)?;
    let body = counted::blocks(op)?.1;
    let (array, counter): (Value, Value) =
        (body.argument(index).ok()?.into(), body.argument(counts.number).ok()?.into());
    let update = only_update(array)?;
    let put: Value = update.result(0).ok()?.into();
    let end = body.terminator()?;
    let returned = ir::operand(end, index)?;
    if turns < 1 || !has_one_use(put) || key(returned) != key(put) {
        return None;
    }
    let (dim, size, extent) = slice_of(update)?;
    let at = Affine::of(ir::operand(update, 2 + dim)?, counter)?;
    let stride = at.times.checked_mul(counts.step)?;
    let first = at.times.checked_mul(counts.start)?.checked_add(at.plus)?;
    let last = stride.checked_mul(turns - 1)?.checked_add(first)?;
    // No wrap on the way, in what has 32 bits at least.
    let is_small = |at: i64| (0..=i64::from(i32::MAX)).contains(&at);
    if stride.abs() > size || !is_small(first) || !is_small(last) {
        return None;
    }
    let inside = |at: i64| at.clamp(0, extent - size);
    let mut covered = Covered { dim, span: inside(first.min(last))..inside(first.max(last)) + size };
    let mut left: Value = op.result(index).ok()?.into();
    for _ in 0..MOST_BEHIND {
        if covered.span == (0..extent) {
            return Some(());
        }
        let update = only_update(left)?;
        covered.add(update)?;
        left = update.result(0).ok()?.into();
    }
    None
}

impl Covered {
    /// Adds what an update at a known place sets, if that meets the rest.
    fn add(&mut self, update: OperationRef<'_, '_>) -> Option<()> {
        let (dim, size, extent) = slice_of(update)?;
        let at = ir::window_start(ir::operand(update, 2 + dim), size, extent)?;
        let meets = at <= self.span.end && self.span.start <= at + size;
        (dim == self.dim && meets).then_some(())?;
        self.span = self.span.start.min(at)..self.span.end.max(at + size);
        Some(())
    }
}

/// The update that is all that a value is used for, as what slices are put into.
fn only_update<'c: 'a, 'a>(array: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let mut all = uses(array);
    let only = all.next()?;
    (all.next().is_none() && only.operand == 0 && op_name(only.user) == "stablehlo.dynamic_update_slice")
        .then_some(only.user)
}

/// Along which dimension an update has but a part, how long that is, and how long the whole: all that it has of the others.
fn slice_of(update: OperationRef<'_, '_>) -> Option<(usize, i64, i64)> {
    let (array, slice) = (plain(ir::operand(update, 0)?)?, plain(ir::operand(update, 1)?)?);
    let mut parts = (0..array.rank()).filter(|&dim| slice.shape[dim] != array.shape[dim]);
    let dim = parts.next()?;
    parts.next().is_none().then(|| (dim, slice.shape[dim], array.shape[dim]))
}

/// A number that is `times` the counter plus `plus`.
struct Affine {
    times: i64,
    plus: i64,
}

impl Affine {
    fn of(value: Value<'_, '_>, counter: Value<'_, '_>) -> Option<Self> {
        const DEEPEST: usize = 8;
        Self::within(value, counter, DEEPEST)
    }

    fn within(value: Value<'_, '_>, counter: Value<'_, '_>, depth: usize) -> Option<Self> {
        let element = Tensor::new(value.r#type())?.element.to_string();
        if !matches!(element.as_str(), "i32" | "i64" | "ui32" | "ui64") || depth == 0 {
            return None;
        }
        if key(value) == key(counter) {
            return Some(Self { times: 1, plus: 0 });
        }
        if let Some(plus) = ir::constant_integer(value) {
            return Some(Self { times: 0, plus: i64::try_from(plus).ok()? });
        }
        let op = defining_op(value)?;
        let operand = |index| Self::within(ir::operand(op, index)?, counter, depth - 1);
        match op_name(op) {
            "stablehlo.convert" | "stablehlo.reshape" => operand(0),
            "stablehlo.add" => operand(0)?.plus(&operand(1)?, 1),
            "stablehlo.subtract" => operand(0)?.plus(&operand(1)?, -1),
            "stablehlo.multiply" => match (operand(0)?, operand(1)?) {
                (Self { times: 0, plus: by }, other) | (other, Self { times: 0, plus: by }) => {
                    Self { times: 0, plus: 0 }.plus(&other, by)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// This and so many times another.
    fn plus(&self, other: &Self, by: i64) -> Option<Self> {
        let sum = |left: i64, right: i64| right.checked_mul(by)?.checked_add(left);
        Some(Self { times: sum(self.times, other.times)?, plus: sum(self.plus, other.plus)? })
    }
}
