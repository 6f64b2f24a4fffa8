// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Talking to the host and to other programs: `infeed`, `outfeed`, `send`, `recv`; and `async_start`, `async_done`.

use super::attrs::{ChannelHandle, FutureType, TokenType};
use super::constraints::{argument_types, block, returned_types};
use crate::rules::{Rules, Table};
use crate::types::Tensor;
use crate::view::{Inferred, OpView, Verdict};
use crate::{ffi, reject, require};
use melior::ir::attribute::{ArrayAttribute, IntegerAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;

/// Rules of this family.
pub const TABLE: Table = &[
    ("stablehlo.infeed", Rules::NONE.verify(verify_infeed)),
    ("stablehlo.outfeed", Rules::NONE.infer(infer_token)),
    ("stablehlo.send", Rules::NONE.verify(verify_send).infer(infer_token)),
    ("stablehlo.recv", Rules::NONE.verify(verify_recv)),
    ("stablehlo.async_start", Rules::NONE.verify(verify_async_start).infer(infer_async_start)),
    ("stablehlo.async_done", Rules::NONE.infer(infer_async_done)),
];

/// Ops that `async_start` can start.
const ASYNCHRONOUS: &[&str] = &[
    "stablehlo.all_gather",
    "stablehlo.all_reduce",
    "stablehlo.all_to_all",
    "stablehlo.collective_broadcast",
    "stablehlo.collective_permute",
    "stablehlo.dynamic_slice",
    "stablehlo.dynamic_update_slice",
    "stablehlo.reduce_scatter",
    "stablehlo.slice",
];

/// `#stablehlo.channel_handle` types.
const DEVICE_TO_DEVICE: i64 = 1;
const DEVICE_TO_HOST: i64 = 2;
const HOST_TO_DEVICE: i64 = 3;

/// Results are tensors, then a token.
fn tensors_then_token(op: &OpView<'_, '_>) -> Verdict {
    let Some(last) = op.result_count().checked_sub(1) else {
        reject!("there must be at least one result, the token")
    };
    for index in 0..last {
        let ty = op.result_type(index)?;
        require!(Tensor::new(ty).is_some(), "result #{index} must be a tensor, but is {ty}");
    }
    let ty = op.result_type(last)?;
    require!(TokenType::try_from(ty).is_ok(), "the last result must be a token, but is {ty}");
    Ok(())
}

fn verify_infeed(op: &OpView<'_, '_>) -> Verdict {
    tensors_then_token(op)?;
    let Some(layouts) = op.optional::<ArrayAttribute>("layout")? else { return Ok(()) };
    let tensors = op.result_count() - 1;
    require!(layouts.len() == tensors, "layout has {} entries for {tensors} tensors", layouts.len());
    (0..layouts.len()).try_for_each(|index| verify_layout(layouts, index))
}

/// A layout is a list of integers.
fn verify_layout(layouts: ArrayAttribute<'_>, index: usize) -> Verdict {
    let layout = layouts.element(index).ok().and_then(|layout| ArrayAttribute::try_from(layout).ok());
    let Some(layout) = layout else { reject!("layout[{index}] is not a list") };
    for dimension in 0..layout.len() {
        let number =
            layout.element(dimension).ok().and_then(|number| IntegerAttribute::try_from(number).ok());
        require!(number.is_some(), "layout[{index}][{dimension}] is not an integer");
    }
    Ok(())
}

/// The channel's type goes with `is_host_transfer`: `host` if that is set, else device to device.
fn verify_channel_type(op: &OpView<'_, '_>, host: i64) -> Verdict {
    let channel: ChannelHandle = op.required("channel_handle")?;
    let is_host_transfer = op.boolean("is_host_transfer", false)?;
    let expected = if is_host_transfer { host } else { DEVICE_TO_DEVICE };
    require!(
        channel.channel_type() == expected,
        "channel_handle has type {}, but is_host_transfer = {is_host_transfer} asks for type {expected}",
        channel.channel_type()
    );
    Ok(())
}

fn verify_send(op: &OpView<'_, '_>) -> Verdict {
    verify_channel_type(op, DEVICE_TO_HOST)
}

fn verify_recv(op: &OpView<'_, '_>) -> Verdict {
    verify_channel_type(op, HOST_TO_DEVICE)?;
    tensors_then_token(op)
}

fn infer_token<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(vec![TokenType::new(op.context()).into()])
}

/// The body takes the operands and holds one op that can run asynchronously.
fn verify_async_start(op: &OpView<'_, '_>) -> Verdict {
    let body = block(op, 0)?;
    let (arguments, operands) = (argument_types(body), op.operand_types());
    require!(
        arguments.len() == operands.len(),
        "the body takes {} arguments, but there are {} operands",
        arguments.len(),
        operands.len()
    );
    for (index, (argument, operand)) in arguments.iter().zip(&operands).enumerate() {
        require!(
            argument == operand,
            "argument #{index} of the body has type {argument}, but operand #{index} has {operand}"
        );
    }
    let (first, terminator) = (body.first_operation(), body.terminator());
    let (Some(first), Some(terminator)) = (first, terminator) else {
        reject!("the body must return something")
    };
    require!(first.next_in_block() == Some(terminator), "the body must hold exactly one op and its return");
    let name = ffi::op_name(first);
    require!(ASYNCHRONOUS.contains(&name), "the body holds {name}, which cannot run asynchronously");
    Ok(())
}

/// The one value that the body returns, as a future.
fn infer_async_start<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let returned = returned_types(block(op, 0)?);
    require!(returned.len() == 1, "the body must return 1 value, but returns {}", returned.len());
    require!(
        Tensor::new(returned[0]).is_some(),
        "the body must return a tensor, but returns {}",
        returned[0]
    );
    match FutureType::new(op.location(), &returned) {
        Some(future) => Ok(vec![future.into()]),
        None => reject!("{} cannot be a future", returned[0]),
    }
}

/// The one value that the future stands for.
fn infer_async_done<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_type(0)?;
    let Ok(future) = FutureType::try_from(operand) else {
        reject!("operand must be a future, but is {operand}")
    };
    let types = future.types();
    require!(types.len() == 1, "the future must have 1 type, but has {}", types.len());
    Ok(types)
}
