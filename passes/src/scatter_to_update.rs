// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-scatter-to-update`: a scatter into one window at a constant place becomes a `dynamic_update_slice`.
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
//! and `x.at[:, 8:16].add(u)`, whose body adds, or combines what is there with what comes by another elementwise op:
//!
//! ```mlir
//! %old = stablehlo.slice %x [0:4, 8:16]
//! %new = stablehlo.add %old, %u
//! %r = stablehlo.dynamic_update_slice %x, %new, %zero, %eight
//! ```
//!
//! There is one input, one index vector (every other dimension of the indices has size 1), and the body returns the update, or
//! one elementwise op of the old element and the update, in either order.
//! The numbers of the index vector are constants, seen through broadcast, reshape, convert, slice-free concatenates of them.
//! Dimensions of window size 1 that the updates lack, and dimensions of size 1 for the one index vector, go by a reshape.
//!
//! # Why it is right
//!
//! A scatter skips a window that is out of bounds, where the update clamps it: so only windows that are known to be within
//! bounds are taken. Each element of such a window is written once, by the same bits: nothing is accumulated, whatever the body.
//!
//! # Why it pays
//!
//! An update is in place in every back end; a scatter is a loop, or a kernel of its own, for most. And passes after this one
//! (pads, halos) need to know only one op for both. A partitioner gathers the whole array for a scatter along a dimension that is cut.
//!
//! # What it costs
//!
//! Constant time per scatter.
//!
//! # When it must not fire
//!
//! * Indices that are not constant, or out of bounds; several windows; batching dimensions; bodies that do more, or change the type.
//! * Scatters of bfloat16 that combine, in programs for several partitions: nothing makes exchanges of such updates yet.
//! * Dynamic shapes and encodings, element types quantized per axis; windows that have to be transposed.

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder, discardable_attributes};
use crate::rewrite::{carry_attributes, defining_op, ops_named};
use crate::shards::partitions;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, TypeLike, Value, ValueLike};
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ScatterDimensionNumbers;
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Turn scatters into one window at a constant place into updates.
    ///
    /// A `scatter` of one window whose body returns the update and whose indices are constants within bounds becomes a
    /// `dynamic_update_slice`, which every back end does in place; if the body combines the old element and the update by an
    /// elementwise op, that op is applied to a `slice` first. Every bit is kept; shardings, frontend attributes and
    /// locations move to the new op.
    ///
    /// ```mlir
    /// %r = "stablehlo.scatter"(%x, %eight, %u) ...    // x.at[:, 8:16].set(u)
    /// // becomes
    /// %r = stablehlo.dynamic_update_slice %x, %u, %zero, %eight
    /// ```
    pub struct ScatterToUpdate {
        /// Only in modules for several partitions.
        pub partitioned_only: bool = false,
    }
}

const UPDATES: Statistic = Statistic::new(c"num-updates", c"scatters turned into updates");
/// How far a number of an index vector is followed.
const LONGEST: usize = 64;

impl Pass for ScatterToUpdate {
    const ARGUMENT: &'static str = "slimhlo-scatter-to-update";
    const STATISTICS: &'static [Statistic] = &[UPDATES];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let partitioned = partitions(root).is_some_and(|partitions| partitions > 1);
        if self.partitioned_only && !partitioned {
            return Ok(Changed::No);
        }
        let build = Builder::new(root);
        let mut changed = false;
        for op in ops_named(root, "stablehlo.scatter") {
            let Some(window) = window_of(op) else { continue };
            let Some(body) = body_of(op) else { continue };
            if partitioned && matches!(body, Body::Combined { .. }) && is_left_to_partitioner(op) {
                continue;
            }
            replace(&build, op, &window, body);
            context.count(&UPDATES, 1);
            changed = true;
        }
        Ok(Changed::from(changed))
    }
}

/// Whether updates of an array like this scatter's are not exchanged by `--slimhlo-exchange-shards`. Then the `slice` of what is there
/// would be one more thing for a partitioner to move.
fn is_left_to_partitioner(op: OperationRef<'_, '_>) -> bool {
    op.operands().next().is_some_and(|input| ir::element_of(input.r#type()).is_bf16())
}

/// Where the one window goes: starts and sizes, one each per dimension of the input.
struct Window {
    start: Vec<i64>,
    size: Vec<i64>,
}

/// The window that a scatter sets, if it does just that.
fn window_of(op: OperationRef<'_, '_>) -> Option<Window> {
    if op.operand_count() != 3 || op.result_count() != 1 {
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

/// What a scatter writes.
enum Body<'c, 'a> {
    /// The update as it is.
    Update,
    /// This op of the old element and the update; the other way round if `swapped`.
    Combined { op: OperationRef<'c, 'a>, swapped: bool },
}

/// What the body of a scatter makes of an element and its update, if it is one of these.
fn body_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<Body<'c, 'a>> {
    let block = op.region(0).ok()?.first_block()?;
    let old: Value = block.argument(0).ok()?.into();
    let update: Value = block.argument(1).ok()?.into();
    let end = block.terminator()?;
    let returned = (end.operand_count() == 1).then(|| end.operands().next())??;
    if returned == update {
        return Some(Body::Update);
    }
    let combine = block.first_operation()?;
    let alone = defining_op(returned) == Some(combine) && combine.next_in_block() == Some(end);
    let same = old.r#type() == update.r#type() && update.r#type() == returned.r#type();
    let tensor = |value: Value<'c, 'a>| Some(ir::element_of(value.r#type()));
    let element = tensor(update);
    let wide = element == tensor(op.operands().next()?) && element == tensor(op.operands().nth(2)?);
    if !alone
        || !same
        || !wide
        || !is_binary(op_name(combine))
        || combine.operand_count() != 2
        || !discardable_attributes(combine).is_empty()
    {
        return None;
    }
    let operands: Vec<_> = combine.operands().collect();
    let swapped = operands == [update, old];
    (swapped || operands == [old, update]).then_some(Body::Combined { op: combine, swapped })
}

/// Ops of two elements of a type that give one of the same.
fn is_binary(name: &str) -> bool {
    matches!(
        name.strip_prefix("stablehlo."),
        Some("add" | "and" | "divide" | "maximum" | "minimum" | "multiply" | "or" | "subtract" | "xor")
    )
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

fn replace<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
    window: &Window,
    body: Body<'c, 'a>,
) {
    let (Ok(input), Ok(update), Ok(result)) = (op.operand(0), op.operand(2), op.result(0)) else { return };
    let location = op.location();
    build.set_insertion_point_before(op);
    let shaped = Tensor::get(&window.size, ir::element_of(update.r#type()), None);
    let update = if update.r#type() == shaped { update } else { build.reshape(update, shaped, location) };
    let update = match body {
        Body::Update => update,
        Body::Combined { op: combine, swapped } => {
            let old = build.slice(input, &window.start, shaped, location);
            let operands = if swapped { [update, old] } else { [old, update] };
            build.insert(op_name(combine), &operands, &[], shaped, location)
        }
    };
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
