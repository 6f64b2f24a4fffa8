// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What devices compute each from its own shards becomes a manual computation, in which loops run over shards.
//!
//! The rows of a batch are cut: a loss over them, and its gradients, cannot be done a chunk of rows at a time without moving
//! rows between devices, because a chunk would be some device's. But no device needs rows of another: with shardings that agree
//! ([`Cuts`] says where) each op is one on shards, and sums over what is cut are sums over a shard, then over devices.
//!
//! ```mlir
//! // %x is cut along rows, %w is whole
//! %logits = stablehlo.dot_general %x, %w ...       // tensor<2048x8192xf32>
//! %most = stablehlo.reduce(%logits init: %lowest) applies stablehlo.maximum across dimensions = [1]
//! ```
//!
//! becomes
//!
//! ```mlir
//! %most = sdy.manual_computation(%x, %w) ... (%own: tensor<256x64xf32>, %all: tensor<64x8192xf32>) {
//!   %logits = stablehlo.dot_general %own, %all ... // tensor<256x8192xf32>
//!   %most = stablehlo.reduce(%logits init: %lowest) applies stablehlo.maximum across dimensions = [1]
//!   sdy.return %most
//! }
//! ```
//!
//! A partitioner does the same with these ops, with the same collectives. Only programs whose dimensions are all cut along the same
//! axes are taken (data-parallel ones, that is): where weights are cut, too, each layer has sums over devices, and computations
//! between them are too small to gain what is lost where they meet. It is done only where something in it is large enough
//! for a loop, never to what is in a loop already, and taken back where no loop came of it. Ops before, between and after such computations are put in that order.

use super::cuts::Cuts;
use crate::ir::{self, Builder};
use crate::rewrite::{copy_of, defining_op, location_of, users, walk};
use crate::shards::{
    Layout, Mesh, all_reduce, constant_on_shards, counted, manual_computation, next_channel,
};
use crate::tables::{Keys, Table};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, Operation, OperationRef, RegionLike, Type, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::GatherDimensionNumbers;
use slimhlo_dialect::types::Tensor;
use std::cell::RefCell;

/// Makes manual computations of what takes more than `least` bytes on a device on the way to a reduction, a scatter or a dot. If
/// there was any, gives a copy of `root` as it was before.
pub fn run<'c: 'a, 'a>(root: OperationRef<'c, 'a>, cuts: &Cuts<'c>, least: i64) -> Option<Operation<'c>> {
    let mesh = cuts.mesh.as_ref()?;
    let mut blocks = Vec::new();
    walk(root, |op| {
        if op_name(op) == "func.func" {
            let region = op.region(0).ok();
            let block = region.as_ref().and_then(|region| region.first_block());
            blocks.extend(block.filter(|block| block.next_in_region().is_none()));
            return WalkResult::Skip;
        }
        WalkResult::Advance
    });
    let build = Builder::new(root);
    let regions = Regions { build: &build, cuts, mesh, root, made: RefCell::default() };
    let mut wanted = Vec::new();
    for block in blocks {
        let mut ops = Vec::new();
        let mut next = block.first_operation();
        while let Some(op) = next {
            ops.push(op);
            next = op.next_in_block();
        }
        wanted.extend(regions.wanted(&ops, least).map(|own| (ops, own)));
    }
    if wanted.is_empty() {
        return None;
    }
    let original = copy_of(root);
    wanted.iter().for_each(|(ops, own)| regions.make_all(ops, own));
    Some(original)
}

/// How many loops there are in manual computations.
pub fn loops(root: OperationRef<'_, '_>) -> usize {
    let mut count = 0;
    walk(root, |op| {
        if op_name(op) != "sdy.manual_computation" {
            return WalkResult::Advance;
        }
        walk(op, |inner| {
            count += usize::from(op_name(inner) == "stablehlo.while");
            WalkResult::Advance
        });
        WalkResult::Skip
    });
    count
}

struct Regions<'c, 'a, 'r> {
    build: &'r Builder<'c, 'a>,
    cuts: &'r Cuts<'c>,
    mesh: &'r Mesh<'c>,
    root: OperationRef<'c, 'a>,
    /// Layouts of the results of computations made.
    made: RefCell<Table<usize, Layout>>,
}

impl<'c: 'a, 'a> Regions<'c, 'a, '_> {
    /// The ops of a block to be done on shards: those of computations in which something is large, the others are left to the
    /// partitioner.
    fn wanted(&self, ops: &[OperationRef<'c, 'a>], least: i64) -> Option<Keys> {
        let (_, ops) = ops.split_last()?;
        let mut own: Keys =
            ops.iter().filter(|op| self.cuts.is_own(**op).is_some()).map(|op| ir::op_key(*op)).collect();
        // Where different dimensions are cut along different axes, sums over some of them come between everything else.
        let mut kinds = ops.iter().filter(|op| own.contains(&ir::op_key(**op))).flat_map(|op| {
            let values = op.operands().chain(op.results().map(Value::from));
            values.flat_map(|value| self.layout(value).0).filter(|axes| !axes.is_empty()).collect::<Vec<_>>()
        });
        let kind = kinds.next()?;
        if kinds.any(|other| other != kind) {
            return None;
        }
        let levels = levels(ops, &own);
        let large: Keys = ops
            .iter()
            .zip(&levels)
            .filter(|(op, _)| own.contains(&ir::op_key(**op)) && self.is_worth_it(**op, &own, least))
            .map(|(_, level)| *level as usize)
            .collect();
        for (op, level) in ops.iter().zip(&levels) {
            if !large.contains(&(*level as usize)) {
                own.remove(&ir::op_key(*op));
            }
        }
        (!large.is_empty()).then_some(own)
    }

    /// Makes manual computations of some ops of a block.
    fn make_all(&self, ops: &[OperationRef<'c, 'a>], own: &Keys) {
        let Some((last, ops)) = ops.split_last() else { return };
        let levels = levels(ops, own);
        let mut order: Vec<(u32, OperationRef<'c, 'a>)> =
            levels.iter().copied().zip(ops.iter().copied()).collect();
        if !levels.is_sorted() {
            order.sort_by_key(|(level, _)| *level);
            order.iter().for_each(|(_, op)| self.build.move_before(*op, *last));
        }
        let mut done = Vec::new();
        for group in order.chunk_by(|(left, _), (right, _)| left == right) {
            if own.contains(&ir::op_key(group[0].1)) {
                let group: Vec<_> = group.iter().map(|(_, op)| *op).collect();
                if self.make(&group).is_some() {
                    done.extend(group);
                }
            }
        }
        // Not before: what is known of values is known by their addresses.
        done.iter().rev().for_each(|op| self.build.erase(*op));
    }

    /// Whether an op takes much that is computed from shards, too.
    fn is_worth_it(&self, op: OperationRef<'c, 'a>, own: &Keys, least: i64) -> bool {
        let takes = matches!(
            op_name(op),
            "stablehlo.dot_general" | "stablehlo.reduce" | "stablehlo.scatter" | "chlo.top_k"
        );
        takes
            && op.operands().any(|operand| {
                self.bytes(operand) > least
                    && defining_op(operand).is_some_and(|from| own.contains(&ir::op_key(from)))
            })
    }

    fn layout(&self, value: Value<'c, 'a>) -> Layout {
        self.made.borrow().get(&ir::key(value)).cloned().unwrap_or_else(|| self.cuts.layout(value))
    }

    fn local_type(&self, value: Value<'c, 'a>) -> Option<Type<'c>> {
        let tensor = ir::plain(value)?;
        let local = self.layout(value).local_shape(tensor.shape, &self.mesh.grid)?;
        Some(Tensor::get(&local, tensor.element, None))
    }

    fn bytes(&self, value: Value<'c, 'a>) -> i64 {
        self.local_type(value).map_or(0, ir::type_bytes)
    }

    /// Whether a value is a constant that is made again on each device.
    fn is_made_again(&self, value: Value<'c, 'a>) -> bool {
        let is_constant = defining_op(value).is_some_and(|op| op_name(op) == "stablehlo.constant");
        is_constant && (ir::splat_constant(value).is_some() || self.layout(value).0.iter().all(Vec::is_empty))
    }

    /// The manual computation of a group of ops that follow each other.
    fn make(&self, group: &[OperationRef<'c, 'a>]) -> Option<()> {
        let build = self.build;
        let inside: Keys = group.iter().map(|op| ir::op_key(*op)).collect();
        let is_inside =
            |value: Value<'c, 'a>| defining_op(value).is_some_and(|op| inside.contains(&ir::op_key(op)));
        let mut inputs: Vec<Value<'c, 'a>> = Vec::new();
        let mut known = Keys::default();
        let mut outputs: Vec<Value<'c, 'a>> = Vec::new();
        for op in group {
            for operand in op.operands() {
                if !is_inside(operand) && !self.is_made_again(operand) && known.insert(ir::key(operand)) {
                    inputs.push(operand);
                }
            }
            for result in op.results().map(Value::from) {
                if users(result).any(|user| !inside.contains(&ir::op_key(user))) {
                    outputs.push(result);
                }
            }
        }
        if outputs.is_empty() {
            return None;
        }
        let layouts = |values: &[Value<'c, 'a>]| values.iter().map(|value| self.layout(*value)).collect();
        let (taken, given): (Vec<Layout>, Vec<Layout>) = (layouts(&inputs), layouts(&outputs));
        let operands: Vec<_> = inputs.iter().copied().zip(&taken).collect();
        let results: Vec<_> = outputs.iter().map(|value| value.r#type()).zip(&given).collect();
        let location = location_of(group).unwrap_or(group[0].location());
        build.set_insertion_point_before(group[0]);
        let (made, block) = manual_computation(build, self.mesh, &operands, &results, location)?;
        let arguments =
            (0..inputs.len()).map(|index| block.argument(index).expect("made with arguments").into());
        let mut shards = Shards {
            regions: self,
            block,
            values: inputs.iter().map(|value| ir::key(*value)).zip(arguments).collect(),
            partition: None,
            channel: next_channel(self.root),
        };
        for op in group {
            shards.copy(*op);
        }
        let results: Vec<_> = outputs.iter().map(|value| shards.value(*value)).collect();
        build.terminator("sdy.return", &results, location);
        for ((output, result), layout) in outputs.iter().zip(made.results()).zip(given) {
            self.made.borrow_mut().insert(ir::key(result.into()), layout);
            build.replace_all_uses_with(*output, result.into());
        }
        Some(())
    }
}

/// The body of a manual computation being made.
struct Shards<'c, 'a, 'r> {
    regions: &'r Regions<'c, 'a, 'r>,
    block: BlockRef<'c, 'a>,
    /// What values are in it.
    values: FxHashMap<usize, Value<'c, 'a>>,
    partition: Option<Value<'c, 'a>>,
    channel: i64,
}

impl<'c: 'a, 'a> Shards<'c, 'a, '_> {
    fn local_type(&self, value: Value<'c, 'a>) -> Type<'c> {
        self.regions.local_type(value).expect("asked before")
    }

    /// What a value is here.
    fn value(&mut self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        if let Some(known) = self.values.get(&ir::key(value)) {
            return *known;
        }
        let build = self.regions.build;
        let ty = self.local_type(value);
        let constant = defining_op(value).expect("all else is an argument or an op's result");
        let made = constant_on_shards(build, constant, ty);
        self.values.insert(ir::key(value), made);
        made
    }

    /// An op on shards.
    fn copy(&mut self, op: OperationRef<'c, 'a>) {
        let build = self.regions.build;
        let operands: Vec<_> = op.operands().map(|operand| self.value(operand)).collect();
        let results: Vec<Value<'c, 'a>> = op.results().map(Value::from).collect();
        let types: Vec<Type<'c>> = results.iter().map(|result| self.local_type(*result)).collect();
        let name = op_name(op);
        if name == "sdy.sharding_constraint" {
            self.values.insert(ir::key(results[0]), operands[0]);
            return;
        }
        let location = op.location();
        let layout = self.regions.layout(results[0]);
        let partition = &mut self.partition;
        if let Some(counted) = counted(build, self.regions.mesh, &layout, partition, op, types[0]) {
            self.values.insert(ir::key(results[0]), counted);
            return;
        }
        let mut attributes = Vec::new();
        let sizes = |numbers: &[i64], at: &dyn Fn(usize) -> Option<i64>| {
            let numbers: Vec<i64> =
                numbers.iter().enumerate().map(|(dim, &number)| at(dim).unwrap_or(number)).collect();
            build.i64_array(&numbers)
        };
        let cut = |value: Value<'c, 'a>, dim: usize| {
            let axes = self.regions.layout(value).0;
            let local = ffi::shape(self.regions.local_type(value)?)?;
            axes.get(dim).is_some_and(|axes| !axes.is_empty()).then(|| local[dim])
        };
        match name {
            "stablehlo.slice" => {
                let limits = ir::i64_array(op, "limit_indices").unwrap_or_default();
                attributes.push(("limit_indices", sizes(limits, &|dim| cut(results[0], dim))));
            }
            "stablehlo.dynamic_slice" => {
                let all = ir::i64_array(op, "slice_sizes").unwrap_or_default();
                attributes.push(("slice_sizes", sizes(all, &|dim| cut(results[0], dim))));
            }
            "stablehlo.gather" => {
                let all = ir::i64_array(op, "slice_sizes").unwrap_or_default();
                let table = op.operand(0).expect("gathers have one");
                let paired = ffi::attribute_of(op, "dimension_numbers")
                    .and_then(|numbers| GatherDimensionNumbers::try_from(numbers).ok());
                let is_offset = |dim: usize| {
                    let dim = dim as i64;
                    paired.is_some_and(|numbers| !numbers.operand_batching_dims().contains(&dim))
                };
                let local = |dim: usize| cut(table, dim).filter(|_| is_offset(dim));
                attributes.push(("slice_sizes", sizes(all, &local)));
            }
            _ => {}
        }
        let copy = build.copy_with(op, &operands, &attributes, &types);
        let summed = self.regions.cuts.is_own(op).unwrap_or_default();
        for (value, result) in results.iter().zip(copy.results()) {
            let result = if summed.is_empty() {
                result.into()
            } else {
                let reduces = matches!(name, "stablehlo.reduce" | "stablehlo.scatter");
                let combine = if reduces { crate::ops::reducers::combiner(op) } else { None };
                let what = (result.into(), summed, combine.unwrap_or("stablehlo.add"));
                let sum = all_reduce(build, &self.regions.mesh.grid, &mut self.channel, what, location);
                build.set_insertion_point_to_end(self.block);
                sum.result(0).expect("made with one result").into()
            };
            self.values.insert(ir::key(*value), result);
        }
    }
}

/// For each op where in the order of a block it comes: 2n for ops of the n-th computation of its own, 2n - 1 for those before it.
pub(crate) fn levels<'c: 'a, 'a>(ops: &[OperationRef<'c, 'a>], own: &Keys) -> Vec<u32> {
    let mut known: Table<usize, u32> = Table::default();
    ops.iter()
        .map(|op| {
            let mut level = 1;
            walk(*op, |inner| {
                for from in inner.operands().filter_map(defining_op) {
                    level = level.max(known.get(&ir::op_key(from)).copied().unwrap_or(0));
                }
                WalkResult::Advance
            });
            // Even levels are computations of their own.
            let is_own = own.contains(&ir::op_key(*op));
            if is_own != (level % 2 == 0) {
                level += 1;
            }
            known.insert(ir::op_key(*op), level);
            level
        })
        .collect()
}
