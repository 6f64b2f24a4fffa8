// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a planned module costs: the bytes of its plan, and about how long its kernels take.
//!
//! A kernel takes as long as the bytes that it has to move ([`traffic`]) or as its products, whichever is longer, and
//! its launches; what a product computes of its operands on the fly, for each tile again, comes on top; a loop as often as it turns, or once where that is not known, with a read-back; a branch as long as
//! its longest arm. The rates are the target's (`target/kernels.rs`). Products of few tiles leave multiprocessors
//! idle, which is what small chunks cost. Else, how well a kernel uses the chip is not looked at, so that two forms
//! of one program can be compared, but not ours with another compiler's.

use super::emit::roots;
use super::form_kernels::ops::{evaluations, flops_of, flops_per_byte, size_of};
use super::form_kernels::{TURNS, entry};
use super::plan_buffers::callee;
use super::traffic::traffic;
use crate::cost::Cost;
use crate::functions::{functions, name_of};
use crate::ir::{self, constant_attribute};
use crate::memory::{Footprint, product_seconds};
use crate::rewrite::{defining_op, ops_in, walk};
use crate::target::Rates;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, RegionLike};
use slimhlo_dialect::ffi::op_name;
use std::collections::{HashMap, HashSet};

/// The cost of a module that kernels have been formed of and memory is planned for; `None` for any other.
pub fn cost<'c: 'a, 'a>(module: OperationRef<'c, 'a>, rates: &Rates) -> Option<Cost> {
    let main = entry(module).ok()?;
    let number = |name: &str| u64::try_from(constant_attribute(main, name)?).ok();
    let block = main.region(0).ok()?.first_block()?;
    let given: u64 = (0..block.argument_count())
        .filter_map(|index| block.argument(index).ok())
        .map(|argument| size_of(argument.into()).1)
        .sum();
    let footprint = Footprint {
        arguments: given.saturating_add(number("slimhlo.constants")?),
        temporaries: number("slimhlo.arena")?,
        ..Footprint::default()
    };
    let seconds = functions(module).map(|function| (name_of(function), kernel(function, rates))).collect();
    Some(Cost { footprint, seconds: Schedule { kernels: seconds, rates }.block(block) })
}

/// Seconds of a kernel function.
fn kernel<'c: 'a, 'a>(function: OperationRef<'c, 'a>, rates: &Rates) -> f64 {
    let mut products = 0.0;
    let mut launches = 1;
    let is_of_rows = ir::string_attribute(function, "slimhlo.kernel") == Some("rows");
    walk(function, |op| {
        if matches!(op_name(op), "stablehlo.dot_general" | "stablehlo.dot" | "stablehlo.convolution")
            && let Ok(result) = op.result(0)
        {
            let slowness = roots::slowness_of_product(op).unwrap_or(1.0);
            products +=
                slowness * product_seconds(op, size_of(result.into()).0, rates) + on_the_fly(op, rates);
        }
        if !is_of_rows {
            launches = roots::launches(op, false).map_or(1, |launches| launches.len()).max(launches);
        }
        WalkResult::Advance
    });
    let scratch: i64 = ir::i64_array(function, "slimhlo.scratch").unwrap_or_default().iter().sum();
    // Written once and read once.
    let moved = (traffic(function).unwrap_or(0) as f64 + 2.0 * scratch as f64) / rates.bytes;
    launches as f64 * rates.launch + moved.max(products)
}

/// Seconds in which a product computes elements of its operands, as often as it needs them.
fn on_the_fly<'c: 'a, 'a>(product: OperationRef<'c, 'a>, rates: &Rates) -> f64 {
    let kind = if op_name(product) == "stablehlo.convolution" { "convolution" } else { "dot" };
    let mut operations = 0.0;
    for (number, operand) in product.operands().enumerate() {
        let mut pending: Vec<_> = defining_op(operand).into_iter().collect();
        let mut seen: HashSet<usize> = pending.iter().map(|op| ir::op_key(*op)).collect();
        let mut each = 0;
        while let Some(op) = pending.pop() {
            let local = op_name(op).split_once('.').map_or("", |(_, local)| local);
            each += flops_of(local).unwrap_or(0);
            let before = op.operands().filter_map(defining_op);
            pending.extend(before.filter(|op| seen.insert(ir::op_key(*op))));
        }
        operations += f64::from(each) * evaluations(product, kind, number);
    }
    operations / (flops_per_byte(rates) * rates.bytes)
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
            ("func.call", _) => self.kernels.get(&callee(op)).copied().unwrap_or(0.0),
            ("stablehlo.while", Some(turns)) => regions().last().map_or(0.0, |body| turns as f64 * body),
            ("stablehlo.while", None) => regions().iter().sum::<f64>() + self.rates.branch,
            ("stablehlo.if" | "stablehlo.case", _) => {
                regions().into_iter().fold(0.0, f64::max) + self.rates.branch
            }
            _ => 0.0,
        }
    }
}
