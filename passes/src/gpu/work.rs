// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a kernel computes, beside its products: steps of a lane, as the target counts them, and rows that are gathered
//! once more than memory is read for them.
//!
//! How often an op is evaluated is followed from the results back to the operands. At one place an element is computed
//! once, whoever asks; what slices, concatenations and gathers ask for is at a place of its own each time: a stencil of
//! a stencil of five points asks for 25 elements, and who computes them on the fly computes each.

use super::form_kernels::ops::{Class, evaluations, is_alike, share_of, size_of};
use crate::ir::{self, i64_array};
use crate::rewrite::{captures, ops_in};
use crate::target::{Rates, Target};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Value, ValueLike};
use slimhlo_dialect::ffi::{as_block_argument, element_type, op_name};
use std::collections::HashMap;

/// Bytes of a row that the second cache hands out at least.
const SECTOR: u64 = 32;

/// Steps in which an element is loaded from elsewhere: its address, of integers, for which there are half as many
/// units. Counted from machine code of stencils of stencils, which take 10 to 16 instructions for a load.
const LOAD: f64 = 8.0;

/// What a kernel computes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Of a lane.
    pub steps: f64,
    /// In which rows come that memory is not read for, or not only.
    pub gathering: f64,
    /// In which memory adds up what is scattered.
    pub scattering: f64,
}

/// How often a value is evaluated: at the place where an element of the result is, and at others.
#[derive(Clone, Copy, Default)]
struct Often {
    here: f64,
    elsewhere: f64,
}

/// What a launch of this kernel function computes. `None` if it has no body, or ops that no kernel has.
pub fn work<'c: 'a, 'a>(function: OperationRef<'c, 'a>, target: Target) -> Option<Work> {
    let (rates, steps) = (target.rates()?, target.storage().operations?);
    let block = function.region(0).ok()?.first_block()?;
    let ops: Vec<_> = ops_in(block).collect();
    let mut asked: HashMap<usize, Often> = HashMap::new();
    let mut found = Work::default();
    for &op in ops.iter().rev() {
        let class = Class::of(op).ok()?;
        let all = |value: Value<'c, 'a>| size_of(value).0 as f64;
        if class == Class::Terminator {
            for value in op.operands() {
                asked.entry(ir::key(value)).or_default().here = all(value);
            }
            continue;
        }
        let results = op.results().map(|result| asked.get(&ir::key(result.into())).copied());
        let often = results.flatten().map(|often| often.here + often.elsewhere).fold(0.0, f64::max);
        if often <= 0.0 {
            continue;
        }
        let local = op_name(op).split_once('.').map_or("", |(_, local)| local);
        let element = op.operands().next().and_then(|value| element_type(value.r#type()));
        let each = element.map_or(0.0, |element| steps(local, element));
        match class {
            Class::Pointwise => found.steps += often * each,
            Class::Join | Class::Pad | Class::Put => found.steps += often * class.choosing(op),
            Class::Gather => found.gathering += gathering(op, often, rates),
            Class::Root("reduce") => found.steps += all(op.operands().next()?),
            Class::Root("scatter") => found.scattering += scattering(op, rates),
            _ => {}
        }
        for (index, operand) in op.operands().chain(captures(op)).enumerate() {
            let asks = asked.entry(ir::key(operand)).or_default();
            match class {
                Class::Root(kind) => asks.elsewhere += evaluations(op, kind, index).max(1.0),
                _ if is_alike(class, op, index) => asks.here = asks.here.max(often),
                // Where a slice begins is the same for all of its elements.
                _ if size_of(operand).0 <= 1 => asks.here = asks.here.max(1.0),
                _ => {
                    let taken = often * share_of(class, op, operand);
                    asks.elsewhere += taken;
                    if as_block_argument(operand).is_some() {
                        found.steps += LOAD * taken;
                    }
                }
            }
        }
    }
    Some(found)
}

/// Seconds in which rows come from where they are, so many elements: from the second cache where they fit, and else
/// from memory.
fn gathering(op: OperationRef<'_, '_>, often: f64, rates: &Rates) -> f64 {
    let Some((elements, bytes)) = op.operands().next().map(size_of) else { return 0.0 };
    let width = bytes.checked_div(elements).unwrap_or(0);
    let row = i64_array(op, "slice_sizes").unwrap_or_default().iter().product::<i64>().max(1) as u64;
    let row_bytes = row.saturating_mul(width).max(SECTOR);
    let taken = often / row as f64 * row_bytes as f64;
    if bytes <= rates.cache { taken / rates.cached } else { (taken - bytes as f64).max(0.0) / rates.bytes }
}

/// Seconds in which memory adds up updates, neighbours at once; small targets are in the memory of each block
/// (`emit/roots/private.rs`).
fn scattering(op: OperationRef<'_, '_>, rates: &Rates) -> f64 {
    const SMALL: u64 = 1 << 18;
    let (Some(into), Some(indices), Some(updates)) = (
        op.operands().next().map(size_of),
        op.operands().nth(op.result_count()).map(size_of),
        op.operands().nth(op.result_count() + 1).map(size_of),
    ) else {
        return 0.0;
    };
    if into.1 <= SMALL {
        return 0.0;
    }
    let row = (updates.0 / indices.0.max(1)).max(1);
    updates.0 as f64 / row.min(rates.run) as f64 / rates.updates
}
