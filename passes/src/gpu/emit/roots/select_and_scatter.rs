// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `select_and_scatter`: a first launch fills the result with the initial value, a second one has a thread per element of
//! the source find the selected element of its window and add (or whatever the body does) the source to it.

use super::atomic::{self, Update};
use super::scatter::in_order;
use super::serial::{nest, only_if};
use super::window::{self, Names, both};
use super::{Launch, Result, deterministic, result_buffers};
use crate::framework::PassError;
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::{Kernel, count_of, tensor};
use crate::ir;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Value};

fn block_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>, region: usize) -> Result<'c, BlockRef<'c, 'a>> {
    let block = op.region(region).ok().and_then(|region| region.first_block());
    block.ok_or_else(|| PassError::at(op, "has a region without a block"))
}

/// The launches: the initial value, then the source.
pub fn launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<Launch<'c>>> {
    let count = |operand: usize| -> Result<'c, i64> { Ok(count_of(tensor(op.operand(operand)?)?.shape)) };
    Ok(vec![Launch::of_threads(count(0)?), Launch::of_threads(count(1)?)])
}

/// Writes one launch.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>, launch: usize) -> Result<'c, ()> {
    if launch > 0 {
        return select(kernel, op);
    }
    let operand = tensor(op.operand(0)?)?;
    let pointer = result_buffers(kernel, op)?[0];
    kernel.grid_stride(count_of(operand.shape), |position| {
        let initial = kernel.element(op.operand(2)?, &[])?;
        kernel.store(pointer, operand.element, position, initial)
    })
}

fn select<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<'c, ()> {
    let code = &kernel.code;
    let (operand, source) = (tensor(op.operand(0)?)?, tensor(op.operand(1)?)?);
    let pointer = result_buffers(kernel, op)?[0];
    let (selector, body) = (block_of(op, 0)?, block_of(op, 1)?);
    let ones = vec![1; operand.rank()];
    let sizes = ir::i64_array(op, "window_dimensions").unwrap_or(&ones);
    let dims = window::read(op, sizes, &Names::Reduce);
    let update = atomic::update_of(body, operand.element);
    let ordered = update == Update::Alone || (deterministic(kernel) && update != Update::Native(1));
    let one = |position: Value<'c, 'a>| -> Result<'c, ()> {
        let place = kernel.indices(source.shape, position);
        // What is carried: the selected element, where it is, and whether there is one.
        let start = vec![
            kernel.element(op.operand(2)?, &[])?,
            Scalar::Real(code.index(0)),
            Scalar::Real(code.integer(0, code.int(1))),
        ];
        let found = nest(kernel, sizes, start, &mut |inside, carried| {
            let mut condition = None;
            let mut at = Vec::with_capacity(dims.len());
            for (dim, window) in dims.iter().enumerate() {
                let (position, within) =
                    window.position(code, place[dim], inside[dim], operand.shape[dim], source.shape[dim]);
                at.push(position);
                condition = both(code, condition, within);
            }
            only_if(kernel, condition, carried, |carried| {
                let current = kernel.element(op.operand(0)?, &at)?;
                let stays = kernel
                    .call_region(selector, &[carried[0], current])?
                    .first()
                    .map(|result| result.real())
                    .ok_or_else(|| PassError::at(op, "has a selector without results"))?;
                let stays = code.binary("arith.andi", stays, carried[2].real());
                let linear = kernel.linear(operand.shape, &at);
                Ok(vec![
                    code.select_scalar(stays, carried[0], current),
                    Scalar::Real(code.select(stays, carried[1].real(), linear)),
                    Scalar::Real(code.integer(1, code.int(1))),
                ])
            })
        })?;
        code.if_then(found[2].real(), || {
            let value = kernel.element(op.operand(1)?, &place)?;
            let apply = |old: Scalar<'c, 'a>| {
                // The source comes second, what it is added to first.
                let results = kernel.call_region(body, &[old, value])?;
                results.first().copied().ok_or_else(|| PassError::at(op, "has a body without results"))
            };
            atomic::apply(kernel, update, operand.element, pointer, found[1].real(), value, &apply)
        })
    };
    let count = count_of(source.shape);
    if ordered {
        let first = code.compare(Int::Eq, kernel.thread(), code.index(0));
        return code.if_then(first, || {
            nest(kernel, &[count], vec![], &mut |at, carried| {
                one(at[0])?;
                Ok(carried)
            })?;
            Ok(())
        });
    }
    in_order(kernel, count, one)
}
