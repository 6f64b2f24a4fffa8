// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a planned module costs: the bytes of its plan, and about how long its kernels take.
//!
//! A kernel takes as long as the bytes that it has to move ([`traffic`]), with rows that it gathers and what memory
//! adds up for it, or as its products and all that it computes on the fly ([`work`]), whichever is longer, and its
//! launches; a loop as often as it turns, or once where that is not known, with a read-back; a branch as long as its
//! longest arm. The rates are the target's (`target/kernels.rs`). Products of few tiles leave multiprocessors idle,
//! which is what small chunks cost. Else, how well a kernel uses the chip is not looked at, so that two forms of one
//! program can be compared, but not ours with another compiler's.

use super::emit::roots;
use super::form_kernels::ops::size_of;
use super::form_kernels::{TURNS, UNSET, attributes_at, entry};
use super::program::is_counted;
use super::traffic::traffic;
use super::work::work;
use crate::cost::Cost;
use crate::functions::{callee, functions, name_of};
use crate::ir::{self, constant_attribute};
use crate::memory::{Footprint, product_seconds};
use crate::rewrite::{ops_in, walk};
use crate::target::{Rates, Target};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, RegionLike};
use slimhlo_dialect::ffi::{attribute_in, attribute_of, op_name};
use std::collections::HashMap;

/// The cost of a module that kernels have been formed of and memory is planned for; `None` for any other.
pub fn cost<'c: 'a, 'a>(module: OperationRef<'c, 'a>, target: Target) -> Option<Cost> {
    let rates = target.rates()?;
    let main = entry(module).ok()?;
    let number = |name: &str| u64::try_from(constant_attribute(main, name)?).ok();
    let block = main.region(0).ok()?.first_block()?;
    let sizes = (0..block.argument_count())
        .filter_map(|index| Some((size_of(block.argument(index).ok()?.into()).1, is_reused(main, index))));
    let (given, reused) = sizes.fold((0_u64, 0_u64), |(given, reused), (bytes, is_reused)| {
        (given.saturating_add(bytes), reused.saturating_add(if is_reused { bytes } else { 0 }))
    });
    let returned = block.terminator().map_or(0, |end| end.operands().map(|value| size_of(value).1).sum());
    let footprint = Footprint {
        arguments: given.saturating_add(number("slimhlo.constants")?),
        results: returned,
        aliased: reused,
        temporaries: number("slimhlo.arena")?,
    };
    let seconds =
        functions(module).map(|function| (name_of(function), kernel(function, target, rates))).collect();
    Some(Cost { footprint, seconds: Schedule { kernels: seconds, rates }.block(block) })
}

/// Whether a result lies in an argument.
fn is_reused(main: OperationRef<'_, '_>, argument: usize) -> bool {
    attributes_at(main, "arg_attrs", argument)
        .is_some_and(|attributes| attribute_in(attributes, "tf.aliasing_output").is_some())
}

/// Seconds of a kernel function.
fn kernel<'c: 'a, 'a>(function: OperationRef<'c, 'a>, target: Target, rates: &Rates) -> f64 {
    if attribute_of(function, UNSET).is_some() {
        return 0.0;
    }
    let mut products = 0.0;
    let (mut starting, mut launches) = (0.0, 1);
    let is_of_rows = ir::string_attribute(function, "slimhlo.kernel") == Some("rows");
    walk(function, |op| {
        if matches!(op_name(op), "stablehlo.dot_general" | "stablehlo.dot" | "stablehlo.convolution")
            && let Ok(result) = op.result(0)
        {
            let slowness = roots::slowness_in_kernel(op).unwrap_or(1.0);
            products += slowness * product_seconds(op, size_of(result.into()).0, rates);
            starting = rates.product;
        }
        if !is_of_rows {
            launches = roots::launches(op, false).map_or(1, |launches| launches.len()).max(launches);
        }
        WalkResult::Advance
    });
    let scratch: i64 = ir::i64_array(function, "slimhlo.scratch").unwrap_or_default().iter().sum();
    let work = work(function, target).unwrap_or_default();
    // Written once and read once.
    let moved = (traffic(function).unwrap_or(0) as f64 + 2.0 * scratch as f64) / rates.bytes;
    let moved = (moved + work.gathering).max(work.scattering);
    let computed = products + work.steps / rates.operations;
    let starting = launches as f64 * rates.launch + starting;
    starting + moved.max(computed) + (1.0 - rates.overlap) * moved.min(computed)
}

struct Schedule<'r> {
    /// Seconds of each kernel's launch, by its name.
    kernels: HashMap<String, f64>,
    rates: &'r Rates,
}

impl Schedule<'_> {
    /// Seconds of a block of the schedule.
    fn block<'c: 'a, 'a>(&self, block: BlockRef<'c, 'a>) -> f64 {
        let ops = ops_in(block);
        ops.map(|op| self.op(op)).sum()
    }

    fn op<'c: 'a, 'a>(&self, op: OperationRef<'c, 'a>) -> f64 {
        let regions = || {
            let blocks = (0..op.region_count()).filter_map(|index| op.region(index).ok()?.first_block());
            blocks.map(|block| self.block(block)).collect::<Vec<_>>()
        };
        match (op_name(op), constant_attribute(op, TURNS)) {
            ("func.call", _) if is_counted(op) => 0.0,
            ("func.call", _) => callee(op).and_then(|name| self.kernels.get(name)).copied().unwrap_or(0.0),
            ("stablehlo.while", Some(turns)) => regions().last().map_or(0.0, |body| turns as f64 * body),
            ("stablehlo.while", None) => regions().iter().sum::<f64>() + self.rates.branch,
            ("stablehlo.if" | "stablehlo.case", _) => {
                regions().into_iter().fold(0.0, f64::max) + self.rates.branch
            }
            _ => 0.0,
        }
    }
}
