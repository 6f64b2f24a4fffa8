// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Kernels whose last op is more than one element computed for itself: reductions, scatters, sorts and the like.
//!
//! Such a kernel is one launch or several, one after the other, of the same arguments. All are right for any number of
//! blocks and of threads in a block (a power of two): what needs all blocks to have finished goes to the next launch.

mod arithmetic;
mod atomic;
mod convolution;
mod dot;
mod fft;
pub mod group;
mod linear;
mod parts;
mod private;
mod reduce;
mod reduce_window;
mod reducer;
mod rng;
pub mod rows;
mod scan;
mod scatter;
mod select_and_scatter;
pub mod serial;
mod sort;
mod window;

pub use dot::{slowness as slowness_of_product, slowness_in_kernel, tile as tile_of_product};
pub use sort::{beginnings as beginnings_of_sort, longest_in_block};

use super::code::Scalar;
use super::element::{BLOCK, GRID, Kernel, count_of, returned, tensor};
use super::shape;
use crate::framework::PassError;
use crate::ir;
use crate::rewrite::defining_op;
use group::{Size, word_count};
use melior::Context;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::quant::Number;
use std::result;

/// What writing code comes to.
pub type Result<'c, T> = result::Result<T, PassError<'c>>;

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch<'c> {
    /// Blocks worth starting, of [`BLOCK`] threads.
    pub blocks: i64,
    /// Workgroup memory: types of registers, and how many of each.
    pub shared: Vec<(Type<'c>, i64)>,
}

impl<'c> Launch<'c> {
    /// A thread for each task, and no workgroup memory.
    fn of_threads(tasks: i64) -> Self {
        Self::of_blocks(tasks.saturating_add(BLOCK - 1) / BLOCK)
    }

    /// A block for each task.
    fn of_blocks(tasks: i64) -> Self {
        Self { blocks: tasks.clamp(1, GRID), shared: vec![] }
    }

    /// A group for each task, with what it combines values of so many words by.
    fn of_groups(size: Size, tasks: i64, context: &'c Context, words: i64) -> Self {
        let launch = match size {
            Size::Block => Self::of_blocks(tasks),
            size => Self::of_threads(tasks.saturating_mul(size.threads())),
        };
        let count = size.shared_words(words);
        if count == 0 { launch } else { launch.with(IntegerType::new(context, 32).into(), count) }
    }

    fn with(mut self, ty: Type<'c>, count: i64) -> Self {
        self.shared.push((ty, count));
        self
    }
}

/// The launches of the kernel whose root is `op`; none if there is nothing better than computing each element for
/// itself. `deterministic`: results must not depend on the order in which threads run.
///
/// # Errors
/// The op has an operand or a result that no kernel takes: one without a rank, or of too few dimensions.
pub fn launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>, deterministic: bool) -> Result<'c, Vec<Launch<'c>>> {
    match op_name(op) {
        "stablehlo.cholesky" => {
            linear::check(op)?;
            linear::cholesky_launches(op)
        }
        "stablehlo.convolution" | "stablehlo.dot" | "stablehlo.dot_general" => dot::launches(op),
        "stablehlo.fft" => fft::launches(op),
        "stablehlo.reduce" => reduce::launches(op),
        "stablehlo.reduce_window" => reduce_window::launches(op),
        "stablehlo.rng_bit_generator" => rng::launches(op),
        "stablehlo.scatter" => scatter::launches(op, deterministic),
        "stablehlo.select_and_scatter" => select_and_scatter::launches(op),
        "stablehlo.sort" => sort::launches(op),
        "stablehlo.triangular_solve" => {
            linear::check(op)?;
            linear::solve_launches(op)
        }
        _ => Ok(vec![]),
    }
}

/// Writes one of the launches of the kernel whose root is `op`.
///
/// # Errors
/// An element of what the kernel reads, or the op's own arithmetic, has a type that there is no code for; at
/// the op.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>, launch: usize) -> Result<'c, ()> {
    match op_name(op) {
        "stablehlo.cholesky" => linear::cholesky(kernel, op),
        "stablehlo.convolution" | "stablehlo.dot" | "stablehlo.dot_general" => dot::emit(kernel, op, launch),
        "stablehlo.fft" => fft::emit(kernel, op, launch),
        "stablehlo.reduce" => reduce::emit(kernel, op, launch),
        "stablehlo.reduce_window" => reduce_window::emit(kernel, op, launch),
        "stablehlo.rng_bit_generator" => rng::emit(kernel, op),
        "stablehlo.scatter" => scatter::emit(kernel, op, launch),
        "stablehlo.select_and_scatter" => select_and_scatter::emit(kernel, op, launch),
        "stablehlo.sort" => sort::emit(kernel, op, launch),
        "stablehlo.triangular_solve" => linear::solve(kernel, op),
        _ => map(kernel),
    }
}

/// Bytes of each scratch buffer that the kernel of `op` is faster with, or needs: for `slimhlo.scratch`.
///
/// # Errors
/// The op has an operand or a result that is no ranked tensor.
pub fn scratch<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<u64>> {
    match op_name(op) {
        "stablehlo.convolution" | "stablehlo.dot" | "stablehlo.dot_general" => dot::scratch(op),
        "stablehlo.fft" => fft::scratch(op),
        "stablehlo.reduce" => reduce::scratch(op),
        "stablehlo.reduce_window" => reduce_window::scratch(op),
        "stablehlo.sort" => sort::scratch(op),
        _ => Ok(vec![]),
    }
}

/// Whether each element of the operands is read once, by who writes at its place or later than anybody reads: they
/// may be computed on the fly, and results may lie where operands do.
pub fn reads_once<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    match op_name(op) {
        "stablehlo.fft" => fft::reads_once(op),
        "stablehlo.sort" => sort::reads_once(op),
        _ => false,
    }
}

/// Whether the kernel of `op` need not store results that nobody needs.
pub fn drops_results<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    op_name(op) == "stablehlo.sort" && sort::drops_results(op)
}

/// The slices that a kernel of this op stores instead of its results, if it does.
pub fn firsts_of_sort<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    if op_name(op) == "stablehlo.sort" { sort::firsts(op) } else { Vec::new() }
}

/// How often elements of an operand of a sort are computed, in all.
pub fn sort_evaluations<'c: 'a, 'a>(op: OperationRef<'c, 'a>, operand: usize) -> f64 {
    sort::evaluations(op, operand)
}

/// Computes each element of each result for itself.
fn map<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>) -> Result<'c, ()> {
    for (number, &value) in kernel.returned().iter().enumerate() {
        let ty = tensor(value)?;
        kernel.grid_stride(count_of(ty.shape), |position| {
            let element = kernel.element(value, &kernel.indices(ty.shape, position))?;
            kernel.store(kernel.result_pointer(number), ty.element, position, element)
        })?;
    }
    Ok(())
}

/// Stores the kernel's results at a row-major position, given those of its root there.
fn store_results<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    position: Value<'c, 'a>,
    results: &[Scalar<'c, 'a>],
) -> Result<'c, ()> {
    for (result, element) in op.results().zip(results) {
        let value = result.into();
        let index = kernel.indices(tensor(value)?.shape, position);
        kernel.remember(value, &index, *element);
    }
    store_each(kernel, position)
}

/// Computes and stores the kernel's results, one element for each of the root's.
pub fn emit_each<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<'c, ()> {
    let count = count_of(tensor(op.result(0)?.into())?.shape);
    kernel.grid_stride(count, |position| store_each(kernel, position))
}

/// Stores the kernel's results at a row-major position, or where it is in the slice that is updated. All are computed
/// before the first is stored: it may lie where another is computed from.
fn store_each<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, position: Value<'c, 'a>) -> Result<'c, ()> {
    let mut found = Vec::with_capacity(kernel.result_count());
    for (number, &value) in kernel.returned().iter().enumerate() {
        let ty = tensor(value)?;
        let Some(update) = slice_updated(kernel, number) else {
            let element = kernel.element(value, &kernel.indices(ty.shape, position))?;
            found.push((ty.element, position, element));
            continue;
        };
        let part = tensor(update.operand(1)?)?;
        let index = kernel.indices(part.shape, position);
        let element = kernel.element(update.operand(1)?, &index)?;
        let starts = shape::starts(kernel, update, 2, ty.shape, part.shape)?;
        let at: Vec<_> = index.iter().zip(starts).map(|(&at, start)| kernel.code.add(start, at)).collect();
        found.push((ty.element, kernel.linear(ty.shape, &at), element));
    }
    for (number, (ty, position, element)) in found.into_iter().enumerate() {
        kernel.store(kernel.result_pointer(number), ty, position, element)?;
    }
    Ok(())
}

/// The op by which a result of a kernel is updated in the buffer that it lies in, a slice of it.
pub fn slice_updated<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, number: usize) -> Option<OperationRef<'c, 'a>> {
    let places = ir::i64_array(kernel.function, "slimhlo.in_place")?;
    let update = places.get(number).is_some_and(|place| *place >= 0);
    defining_op(kernel.result_value(number))
        .filter(|op| update && op_name(*op) == "stablehlo.dynamic_update_slice")
}

/// The function that an op is in; the op itself if there is none around it.
fn function_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> OperationRef<'c, 'a> {
    op.parent_operation().unwrap_or(op)
}

/// 32-bit words of a row of an op's results, as accumulators.
fn words_of_results<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> i64 {
    let words = op.results().map(|result| {
        let element = ffi::element_type(result.r#type()).unwrap_or(result.r#type());
        match Number::of(element) {
            Number::Complex { part } => 2 * word_count(part),
            Number::Integer { width, .. } | Number::Float { width } => {
                if width > 32 {
                    2
                } else {
                    1
                }
            }
            _ => 2,
        }
    });
    words.sum()
}

/// How many scratch buffers the kernel of an op has.
fn scratch_count<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> usize {
    ir::i64_array(function_of(op), "slimhlo.scratch").unwrap_or_default().len()
}

/// The kernel's result that each result of its root is, or is sliced to; `None` for those that it does not return.
fn returned_as<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<Option<usize>> {
    let returned = returned(function_of(op));
    op.results()
        .map(|result| {
            let key = ir::key(result.into());
            let sliced = |value: &Value<'c, 'a>| {
                let slice = defining_op(*value).filter(|slice| op_name(*slice) == "stablehlo.slice")?;
                Some(ir::key(ir::operand(slice, 0)?))
            };
            let is_result = |value: &Value<'c, 'a>| ir::key(*value) == key || sliced(value) == Some(key);
            returned.iter().position(is_result)
        })
        .collect()
}

/// The buffer of each result of the root.
fn result_buffers<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<'c, Vec<Value<'c, 'a>>> {
    let numbers = returned_as(op).into_iter();
    numbers
        .map(|number| match number {
            Some(number) => Ok(kernel.result_pointer(number)),
            None => Err(PassError::at(op, "has a result that its kernel does not return")),
        })
        .collect()
}

/// Whether every result of the root is updated in the buffer of its operand.
fn in_place<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    let places = ir::i64_array(function_of(op), "slimhlo.in_place").unwrap_or_default();
    let numbers = returned_as(op);
    numbers.iter().all(|number| number.and_then(|number| places.get(number)).is_some_and(|place| *place >= 0))
}

/// Copies the first operands of the root to where its results of the same numbers are to be.
fn copy_operands<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<'c, ()> {
    for (number, pointer) in result_buffers(kernel, op)?.into_iter().enumerate() {
        let operand = op.operand(number)?;
        let ty = tensor(operand)?;
        kernel.grid_stride(count_of(ty.shape), |position| {
            let element = kernel.element(operand, &kernel.indices(ty.shape, position))?;
            kernel.store(pointer, ty.element, position, element)
        })?;
    }
    Ok(())
}

/// Whether results must not depend on the order in which threads run.
fn deterministic(kernel: &Kernel<'_, '_>) -> bool {
    super::is_deterministic(kernel.gpu_module())
}
