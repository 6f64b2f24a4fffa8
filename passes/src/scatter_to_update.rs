// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-scatter-to-update`: a scatter that sets one window at a constant place becomes a `dynamic_update_slice`.
//!
//! # What it matches
//!
//! JAX writes `x.at[:, 8:16].set(u)` as a scatter of one window:
//!
//! ```mlir
//! %at = stablehlo.constant dense<8> : tensor<1xi32>
//! %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1],
//!     scatter_dims_to_operand_dims = [1]>}> ({
//!   ^bb0(%old: tensor<f32>, %new: tensor<f32>):
//!     stablehlo.return %new : tensor<f32>
//! }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %r = stablehlo.dynamic_update_slice %x, %u, %zero, %eight
//! ```
//!
//! There is one input, one index vector (every other dimension of the indices has size 1), and the body returns the update.
//! The numbers of the index vector are constants, seen through broadcast, reshape, convert, slice-free concatenates of them.
//! Dimensions of window size 1 that the updates lack, and dimensions of size 1 for the one index vector, go by a reshape.
//!
//! # Why it is right
//!
//! A scatter skips a window that is out of bounds, where the update clamps it: so only windows that are known to be within
//! bounds are taken. Each element of such a window is written once, by the same bits.
//!
//! # Why it pays
//!
//! An update is in place in every back end; a scatter is a loop, or a kernel of its own, for most. And passes after this one
//! (pads, halos) need to know only one op for both.
//!
//! # What it costs
//!
//! Constant time per scatter.
//!
//! # When it must not fire
//!
//! * Indices that are not constant, or out of bounds; several windows; batching dimensions; bodies that do more.
//! * Dynamic shapes and encodings, element types quantized per axis; windows that have to be transposed.

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::rewrite::{carry_attributes, defining_op, ops_named};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Value, ValueLike};
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ScatterDimensionNumbers;
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Turn scatters that set one window at a constant place into updates.
    ///
    /// A `scatter` of one window whose body returns the update and whose indices are constants within bounds becomes a
    /// `dynamic_update_slice`, which every back end does in place. Every bit is kept; shardings, frontend attributes and
    /// locations move to the new op.
    ///
    /// ```mlir
    /// %r = "stablehlo.scatter"(%x, %eight, %u) ...    // x.at[:, 8:16].set(u)
    /// // becomes
    /// %r = stablehlo.dynamic_update_slice %x, %u, %zero, %eight
    /// ```
    pub struct ScatterToUpdate;
}

const UPDATES: Statistic = Statistic::new(c"num-updates", c"scatters turned into updates");
/// How far a number of an index vector is followed.
const LONGEST: usize = 64;

impl Pass for ScatterToUpdate {
    const ARGUMENT: &'static str = "slimhlo-scatter-to-update";
    const STATISTICS: &'static [Statistic] = &[UPDATES];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let build = Builder::new(root);
        let mut changed = false;
        for op in ops_named(root, "stablehlo.scatter") {
            let Some(window) = window_of(op) else { continue };
            replace(&build, op, &window);
            context.count(&UPDATES, 1);
            changed = true;
        }
        Ok(Changed::from(changed))
    }
}

/// Where the one window goes: starts and sizes, one each per dimension of the input.
struct Window {
    start: Vec<i64>,
    size: Vec<i64>,
}

/// The window that a scatter sets, if it does just that.
fn window_of(op: OperationRef<'_, '_>) -> Option<Window> {
    if op.operand_count() != 3 || op.result_count() != 1 || !returns_update(op) {
        return None;
    }
    let plain = |index: usize| {
        let tensor = Tensor::new(op.operands().nth(index)?.r#type())?;
        (tensor.is_static() && tensor.encoding().is_none() && !ir::is_quantized_per_axis(tensor.element))
            .then_some(tensor)
    };
    let (input, indices, updates) = (plain(0)?, plain(1)?, plain(2)?);
    let numbers =
        ScatterDimensionNumbers::try_from(ffi::attribute_of(op, "scatter_dimension_numbers")?).ok()?;
    let one_vector = indices
        .shape
        .iter()
        .enumerate()
        .all(|(dim, &size)| size == 1 || dim as i64 == numbers.index_vector_dim());
    let windows = numbers.update_window_dims();
    let one_window =
        (0..updates.rank()).all(|dim| windows.contains(&(dim as i64)) || updates.shape[dim] == 1);
    if !one_vector || !one_window || !numbers.input_batching_dims().is_empty() {
        return None;
    }
    let mut sizes = windows.iter().map(|&dim| updates.shape[dim as usize]);
    let mut size = Vec::with_capacity(input.rank());
    for dim in 0..input.rank() {
        let inserted = numbers.inserted_window_dims().contains(&(dim as i64));
        size.push(if inserted { 1 } else { sizes.next()? });
    }
    let mut start = vec![0; input.rank()];
    for (number, &dim) in numbers.scatter_dims_to_operand_dims().iter().enumerate() {
        start[dim as usize] = number_of(op.operands().nth(1)?, number)?;
    }
    let within = (0..input.rank()).all(|dim| {
        start[dim] >= 0 && start[dim].checked_add(size[dim]).is_some_and(|end| end <= input.shape[dim])
    });
    within.then_some(Window { start, size })
}

/// Whether the body of a scatter returns the update as it is.
fn returns_update(op: OperationRef<'_, '_>) -> bool {
    let Some(block) = op.region(0).ok().and_then(|region| region.first_block()) else { return false };
    let (Some(first), Ok(update)) = (block.first_operation(), block.argument(1)) else { return false };
    op_name(first) == "stablehlo.return"
        && first.operand_count() == 1
        && first.operand(0).is_ok_and(|returned| returned == Value::from(update))
}

/// Element `index`, in row-major order, of a small array of integers, if it is a constant.
fn number_of(value: Value<'_, '_>, index: usize) -> Option<i64> {
    let (mut value, mut index) = (value, index);
    for _ in 0..LONGEST {
        if let Some(number) = ir::constant_integer(value) {
            return i64::try_from(number).ok();
        }
        let op = defining_op(value)?;
        match op_name(op) {
            "stablehlo.constant" => {
                return Dense::small(ffi::attribute_of(op, "value")?, LONGEST)
                    .filter(|dense| index < dense.len())?
                    .integer(index);
            }
            "stablehlo.reshape" => value = op.operands().next()?,
            "stablehlo.concatenate" => {
                // The units of one vector of numbers: other dimensions have size 1.
                let count = |value: Value| Tensor::new(value.r#type())?.element_count();
                let mut parts = op.operands();
                value = loop {
                    let part = parts.next()?;
                    let units = usize::try_from(count(part)?).ok()?;
                    match index.checked_sub(units) {
                        Some(rest) => index = rest,
                        None => break part,
                    }
                };
            }
            _ => return None,
        }
    }
    None
}

fn replace<'c: 'a, 'a>(build: &Builder<'c, 'a>, op: OperationRef<'c, 'a>, window: &Window) {
    let (Ok(input), Ok(update), Ok(result)) = (op.operand(0), op.operand(2), op.result(0)) else { return };
    let location = op.location();
    build.set_insertion_point_before(op);
    let shaped = Tensor::get(&window.size, ir::element_of(update.r#type()), None);
    let update = if update.r#type() == shaped { update } else { build.reshape(update, shaped, location) };
    let mut known: Vec<(i64, Value)> = Vec::new();
    let mut starts = Vec::with_capacity(window.start.len());
    for &start in &window.start {
        let at = known.iter().find(|(number, _)| *number == start).map(|(_, value)| *value);
        starts.push(at.unwrap_or_else(|| {
            let value = build.i64_constant(start, location);
            known.push((start, value));
            value
        }));
    }
    let updated = build.dynamic_update_slice(input, update, &starts, location);
    if let Some(new) = defining_op(updated) {
        carry_attributes(op, new, &[]);
    }
    build.replace_all_uses_with(result.into(), updated);
    build.erase_with_dead_producers(op, |_| {});
}
