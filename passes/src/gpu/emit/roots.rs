// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Kernels whose last op is more than one element computed for itself: reductions, scatters, sorts and the like.
//!
//! Such a kernel is one launch or several, one after the other, of the same arguments. All are right for any number of
//! blocks and of threads in a block (a power of two): what needs all blocks to have finished goes to the next launch.

mod arithmetic;
mod atomic;
mod group;
mod reduce;
mod reducer;
mod scatter;
mod select_and_scatter;
pub mod serial;
mod sort;
mod window;

use super::code::Scalar;
use super::element::{BLOCK, GRID, Kernel, count_of, tensor};
use crate::framework::PassError;
use crate::ir;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use std::result;

/// What writing code comes to.
pub type Result<'c, T> = result::Result<T, PassError<'c>>;

/// Writes the kernel whose root is `op`: its first launch into `kernel`, others into stages of it, which are finished here.
/// `None` if there is nothing better for such an op than computing each element for itself.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<'c, Option<()>> {
    match op_name(op) {
        "stablehlo.reduce" => reduce::emit(kernel, op)?,
        "stablehlo.scatter" => scatter::emit(kernel, op)?,
        "stablehlo.select_and_scatter" => select_and_scatter::emit(kernel, op)?,
        "stablehlo.sort" => sort::emit(kernel, op)?,
        _ => return Ok(None),
    }
    Ok(Some(()))
}

/// Bytes of each scratch buffer that the kernel of `op` is faster with, or needs: for `slimhlo.scratch`.
pub fn scratch<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<u64>> {
    match op_name(op) {
        "stablehlo.reduce" => reduce::scratch(op),
        "stablehlo.sort" => sort::scratch(op),
        _ => Ok(vec![]),
    }
}

/// Computes each element of each result for itself.
fn map<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>) -> Result<'c, ()> {
    for (number, value) in kernel.returned().into_iter().enumerate() {
        let ty = tensor(value)?;
        kernel.grid_stride(count_of(ty.shape), |position| {
            let element = kernel.element(value, &kernel.indices(ty.shape, position))?;
            kernel.store(kernel.result(number), ty.element, position, element)
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
    for (number, value) in kernel.returned().into_iter().enumerate() {
        let ty = tensor(value)?;
        let element = kernel.element(value, &kernel.indices(ty.shape, position))?;
        kernel.store(kernel.result(number), ty.element, position, element)?;
    }
    Ok(())
}

/// The kernel's result that each result of its root is; `None` for those that it does not return.
fn returned_as<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>) -> Vec<Option<usize>> {
    let returned = kernel.returned();
    op.results()
        .map(|result| {
            let key = ir::key(result.into());
            returned.iter().position(|value| ir::key(*value) == key)
        })
        .collect()
}

/// The buffer of each result of the root.
fn result_buffers<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<'c, Vec<Value<'c, 'a>>> {
    let numbers = returned_as(kernel, op).into_iter();
    numbers
        .map(|number| match number {
            Some(number) => Ok(kernel.result(number)),
            None => Err(PassError::at(op, "has a result that its kernel does not return")),
        })
        .collect()
}

/// Whether every result of the root is updated in the buffer of its operand.
fn in_place<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>) -> bool {
    let places = ir::i64_array(kernel.function, "slimhlo.in_place").unwrap_or_default();
    let numbers = returned_as(kernel, op);
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

/// Workgroup memory of so many 32-bit words.
fn shared_words<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, words: i64) -> Value<'c, 'a> {
    shared(kernel, kernel.code.int(32), words)
}

/// Workgroup memory of so many elements of a register type.
fn shared<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, element: Type<'c>, count: i64) -> Value<'c, 'a> {
    let text = format!("memref<{count}x{element}, #gpu.address_space<workgroup>>");
    let ty = Type::parse(kernel.code.context(), &text).expect("memref and gpu are loaded");
    kernel.workgroup(ty)
}

/// Launches a block per task, within what fills a device.
fn launch_blocks(kernel: &Kernel<'_, '_>, tasks: i64) {
    kernel.launch(BLOCK, tasks.clamp(1, GRID));
}

/// Whether results must not depend on the order in which threads run.
fn deterministic(kernel: &Kernel<'_, '_>) -> bool {
    slimhlo_dialect::ffi::attribute_of(kernel.gpu_module(), "slimhlo.deterministic").is_some()
}
