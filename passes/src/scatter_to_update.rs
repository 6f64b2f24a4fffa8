// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-scatter-to-update`: a scatter into one window that is within bounds becomes a `dynamic_update_slice`.
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
//! `vmap` writes an update at a place that it does not map over as a scatter, and clamps the place itself:
//!
//! ```mlir
//! %at = stablehlo.clamp %zero, %i, %last : tensor<1xi32>        // 0 <= %at <= 44 - 1
//! %r = "stablehlo.scatter"(%x, %at, %u) ...                     // tensor<32x44xf32>, tensor<1xi32>, tensor<32x1xf32>
//! // becomes
//! %r = stablehlo.dynamic_update_slice %x, %u, %zero, %i         // which does not start past the last place either
//! ```
//!
//! There is one input, one index vector (every other dimension of the indices has size 1), and the body returns the update, or
//! one elementwise op of the old element and the update, in either order.
//! The numbers of the index vector are constants or clamped, seen through broadcast, reshape, convert, slice-free concatenates of
//! them.
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
//! * Indices that may be out of bounds, or are not constant in programs for several partitions; several windows; batching
//!   dimensions; bodies that do more, or change the type.
//! * Scatters of bfloat16 that combine, in programs for several partitions: nothing makes exchanges of such updates yet.
//! * Dynamic shapes and encodings, element types quantized per axis; windows that have to be transposed.

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder, discardable_attributes};
use crate::rewrite::{carry_attributes, defining_op, ops_named};
use crate::shards::partitions;
use crate::simplify::window::{constant_at, followed, number_at};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ScatterDimensionNumbers;
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Turn scatters into one window that is within bounds into updates.
    ///
    /// A `scatter` of one window whose body returns the update and whose indices are constants within bounds, or clamped to these,
    /// becomes a `dynamic_update_slice`, which every back end does in place; if the body combines the old element and the update by an
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
            let Some(window) = window_of(op, !partitioned) else { continue };
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
struct Window<'c, 'a> {
    start: Vec<Start<'c, 'a>>,
    size: Vec<i64>,
}

/// Where a window starts along one dimension.
#[derive(Clone, Copy)]
enum Start<'c, 'a> {
    At(i64),
    /// At a number of an array, but not before the first nor after the last of `limits` where they are tighter than the input.
    Clamped {
        array: Value<'c, 'a>,
        number: usize,
        limits: Option<[i64; 2]>,
    },
}

/// The window that a scatter sets, if it does just that; at places that are not constant only if `varying`.
fn window_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>, varying: bool) -> Option<Window<'c, 'a>> {
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
    let mut start = vec![Start::At(0); input.rank()];
    for (number, &dim) in numbers.scatter_dims_to_operand_dims().iter().enumerate() {
        let dim = dim as usize;
        let array = op.operands().nth(1)?;
        let last = input.shape[dim] - size[dim];
        start[dim] = match constant_at(array, number) {
            Some(at) => (0..=last).contains(&at).then_some(Start::At(at))?,
            None if varying => clamped(array, number, last)?,
            None => return None,
        };
    }
    Some(Window { start, size })
}

/// Number `number` of `array` as a start, if it is clamped to what is from 0 to `last`.
fn clamped<'c: 'a, 'a>(array: Value<'c, 'a>, number: usize, last: i64) -> Option<Start<'c, 'a>> {
    let (value, number) = followed(array, number);
    // Bools are no places to a `dynamic_update_slice`.
    IntegerType::try_from(ir::element_of(value.r#type())).ok().filter(|ty| ty.width() > 1)?;
    let clamp = defining_op(value).filter(|op| op_name(*op) == "stablehlo.clamp")?;
    let [least, array, most] = clamp.operands().collect::<Vec<_>>().try_into().ok()?;
    // A limit may be one for all.
    let (low, high) = (constant_at(least, number)?, constant_at(most, number)?);
    (0 <= low && low <= high && high <= last).then_some(())?;
    let limits = (low > 0 || high < last).then_some([low, high]);
    Some(Start::Clamped { array, number, limits })
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

fn replace<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
    window: &Window<'c, 'a>,
    body: Body<'c, 'a>,
) {
    let (Ok(input), Ok(update), Ok(result)) = (op.operand(0), op.operand(2), op.result(0)) else { return };
    let location = op.location();
    build.set_insertion_point_before(op);
    let shaped = Tensor::get(&window.size, ir::element_of(update.r#type()), None);
    let update = if update.r#type() == shaped { update } else { build.reshape(update, shaped, location) };
    let starts = starts_of(build, op, window);
    let update = match body {
        Body::Update => update,
        Body::Combined { op: combine, swapped } => {
            let old = match window.constant() {
                Some(start) => build.slice(input, &start, shaped, location),
                None => build.dynamic_slice(input, &starts, shaped, location),
            };
            let operands = if swapped { [update, old] } else { [old, update] };
            build.insert(op_name(combine), &operands, &[], shaped, location)
        }
    };
    let updated = build.dynamic_update_slice(input, update, &starts, location);
    if let Some(new) = defining_op(updated) {
        carry_attributes(op, new, &[]);
    }
    build.replace_all_uses_with(result.into(), updated);
    build.erase_with_dead_producers(op, |_| {});
}

impl Window<'_, '_> {
    /// The starts, if all of them are constants.
    fn constant(&self) -> Option<Vec<i64>> {
        let constant = |start: &Start| if let Start::At(at) = start { Some(*at) } else { None };
        self.start.iter().map(constant).collect()
    }
}

/// The starts as scalars, all of one type.
fn starts_of<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
    window: &Window<'c, 'a>,
) -> Vec<Value<'c, 'a>> {
    let location = op.location();
    let element = match op.operand(1) {
        Ok(indices) if window.constant().is_none() => ir::element_of(indices.r#type()),
        _ => build.i64_type(),
    };
    let mut known: Vec<(i64, Value)> = Vec::new();
    let mut constant = |at: i64| {
        let there = known.iter().find(|(number, _)| *number == at).map(|(_, value)| *value);
        there.unwrap_or_else(|| {
            let value = build.number(at as f64, element, location);
            known.push((at, value));
            value
        })
    };
    let start = |start: &Start<'c, 'a>| match *start {
        Start::At(at) => constant(at),
        Start::Clamped { array, number, limits } => {
            let at = number_at(build, array, number, location);
            let Some([least, most]) = limits else { return at };
            build.insert(
                "stablehlo.clamp",
                &[constant(least), at, constant(most)],
                &[],
                at.r#type(),
                location,
            )
        }
    };
    window.start.iter().map(start).collect()
}
