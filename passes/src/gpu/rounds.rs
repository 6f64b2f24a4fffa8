// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Loops of which nobody knows how often they turn, several rounds of which are launched at once.
//!
//! # What it matches
//!
//! A `while` without `slimhlo.turns` whose condition and body are calls of kernels, copies and loops that count: what the host
//! would read back in each round is the predicate alone. It is marked (`slimhlo.guarded`), and so are all kernels that it calls.
//!
//! # What becomes of it
//!
//! The code of a marked kernel takes one more pointer, after all buffers, to a byte, and does nothing where that is 0. The
//! host copies the predicate there after each condition, and asks for rounds ahead (`tools/runner`): those after the last do nothing.
//!
//! # Why it is right
//!
//! A round that does nothing writes nothing, neither what the loop carries nor the predicate, which therefore stays false
//! for all rounds after it; nor does it read: what would be out of bounds in a round too many is not touched. The byte is written
//! between launches alone, so that all threads of a launch see the same, and barriers are met by all of a block or by none.
//!
//! # What it costs
//!
//! A load and a branch for each thread of the loop's kernels, wherever these are called from, and launches of up to half as many
//! rounds as the loop had.
//!
//! # When it does not
//!
//! With a branch or another loop of unknown length inside: what runs then is the host's to say in each round.

use super::form_kernels::TURNS;
use crate::framework::PassError;
use crate::functions::{callee, name_of};
use crate::ir::Builder;
use crate::rewrite::{context_of, ops_in, set_discardable_attribute, walk};
use melior::ir::attribute::IntegerAttribute;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, BlockRef, Location, OperationRef, RegionLike, Type, Value};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use std::collections::HashSet;

/// Marks loops that run ahead, and the kernels that they call.
pub const GUARDED: &str = "slimhlo.guarded";

/// Whether a loop, or a kernel function, is marked.
pub fn is_guarded(op: OperationRef<'_, '_>) -> bool {
    attribute_of(op, GUARDED).is_some()
}

/// Marks the loops of a planned function and the kernels that these call.
pub(super) fn mark<'c: 'a, 'a>(main: OperationRef<'c, 'a>, functions: &[OperationRef<'c, 'a>]) {
    let mut loops = Vec::new();
    let mut called = HashSet::new();
    walk(main, |op| {
        if op_name(op) == "stablehlo.while" && attribute_of(op, TURNS).is_none() && runs_ahead(op) {
            loops.push(op);
            walk(op, |inner| {
                if op_name(inner) == "func.call" {
                    called.extend(callee(inner));
                }
                WalkResult::Advance
            });
        }
        WalkResult::Advance
    });
    let unit = Attribute::unit(context_of(main));
    let kernels = functions.iter().filter(|function| called.contains(name_of(**function).as_str()));
    loops.iter().chain(kernels).for_each(|op| set_discardable_attribute(*op, GUARDED, unit));
}

/// Whether all that a loop asks the host for within a round is launches and copies.
fn runs_ahead<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    (0..op.region_count()).filter_map(|index| op.region(index).ok()?.first_block()).all(|block| {
        let mut ops = ops_in(block);
        ops.all(|op| match op_name(op) {
            "func.call" | "stablehlo.constant" | "stablehlo.reshape" | "stablehlo.return" => true,
            "stablehlo.while" => attribute_of(op, TURNS).is_some() && runs_ahead(op),
            _ => false,
        })
    })
}

/// The block of what a kernel does: where there is a guard, unless the byte that it points to is 0.
///
/// # Errors
/// Dialects of kernels are not loaded.
pub(super) fn body<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    entry: BlockRef<'c, 'a>,
    guard: Option<Value<'c, 'a>>,
    location: Location<'c>,
) -> Result<BlockRef<'c, 'a>, PassError<'c>> {
    let Some(guard) = guard else { return Ok(entry) };
    build.set_insertion_point_to_end(entry);
    let byte: Type<'c> = IntegerType::new(build.context(), 8).into();
    let read = build.insert("llvm.load", &[guard], &[], byte, location);
    let zero = IntegerAttribute::new(byte, 0).into();
    let zero = build.insert("arith.constant", &[], &[("value", zero)], byte, location);
    // Not equal.
    let predicate = IntegerAttribute::new(IntegerType::new(build.context(), 64).into(), 1).into();
    let bit: Type<'c> = IntegerType::new(build.context(), 1).into();
    let goes_on = build.insert("arith.cmpi", &[read, zero], &[("predicate", predicate)], bit, location);
    let branch = build.op_with_blocks("scf.if", &[goes_on], &[], &[&[], &[]], location);
    let other = branch.region(1)?.first_block().ok_or_else(|| PassError::new("cannot make an scf.if"))?;
    build.set_insertion_point_to_end(other);
    build.terminator("scf.yield", &[], location);
    branch.region(0)?.first_block().ok_or_else(|| PassError::new("cannot make an scf.if"))
}
