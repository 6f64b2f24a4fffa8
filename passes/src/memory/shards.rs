// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Into how many pieces each dimension of each value is cut, in a program for several devices.
//!
//! Arguments, results, constraints and annotated ops say so; from there it is carried along dimensions that ops keep,
//! first to users, then to producers. Inside of manual computations values are what one device has already.

use super::ffi;
use super::graph::body;
use crate::ir::{first_result, i64_array, key};
use crate::rewrite::walk;
use melior::ir::attribute::{
    ArrayAttribute, DictionaryAttribute, FlatSymbolRefAttribute, IntegerAttribute, StringAttribute,
};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{Attribute, OperationRef, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{attribute_in, attribute_of, integer_value, op_name, string_value};
use slimhlo_dialect::sdy::attrs::{TensorSharding, TensorShardingPerValue};
use slimhlo_dialect::sdy::mesh::{Axes, piece_count};
use slimhlo_dialect::sdy::sharding::mesh_of;
use slimhlo_dialect::types::{Tensor, is_static};

/// How many of a dimension's elements a device has at most, if it is cut into `count` pieces; what is not known stays so.
pub(super) fn share(size: i64, count: i64) -> i64 {
    if is_static(size) { size.saturating_add(count - 1) / count } else { size }
}

/// How values are cut; those that are not are missing.
#[derive(Default)]
pub(super) struct Shards {
    pieces: FxHashMap<usize, Vec<i64>>,
}

impl Shards {
    /// Of all functions of a module that is for more than one device.
    pub fn new<'c: 'a, 'a>(module: OperationRef<'c, 'a>) -> Self {
        let mut shards = Self::default();
        let devices = attribute_of(module, "mhlo.num_partitions")
            .and_then(|attribute| IntegerAttribute::try_from(attribute).ok())
            .map_or(1, integer_value);
        if devices <= 1 {
            return shards;
        }
        let mut ops = Vec::new();
        walk(module, |op| {
            ops.push(op);
            // Values in there are local.
            if op_name(op) == "sdy.manual_computation" { WalkResult::Skip } else { WalkResult::Advance }
        });
        for &op in &ops {
            shards.given(op);
        }
        let functions: FxHashMap<&str, OperationRef<'c, 'a>> = ops
            .iter()
            .filter(|op| op_name(**op) == "func.func")
            .filter_map(|&op| {
                Some((string_value(StringAttribute::try_from(attribute_of(op, "sym_name")?).ok()?), op))
            })
            .collect();
        let callee = |op: OperationRef<'c, 'a>| {
            if op_name(op) != "func.call" {
                return None;
            }
            let name = FlatSymbolRefAttribute::try_from(attribute_of(op, "callee")?).ok()?;
            functions.get(name.value()).and_then(|callee| body(*callee, 0))
        };
        // What a callee is given is known when its caller has been seen, and what becomes of its results, too; what a loop
        // carries, when its body has been.
        const ROUNDS: usize = 4;
        for round in 0..ROUNDS {
            let known = shards.pieces.len();
            for &op in &ops {
                if let Some(block) = callee(op) {
                    for (at, operand) in op.operands().enumerate().take(block.argument_count()) {
                        if let Ok(argument) = block.argument(at) {
                            shards.same(operand, argument.into());
                        }
                    }
                    for (value, result) in
                        block.terminator().iter().flat_map(|last| last.operands()).zip(op.results())
                    {
                        shards.same(value, result.into());
                    }
                }
                shards.forwards(op);
            }
            for &op in ops.iter().rev() {
                if let Some(block) = callee(op) {
                    for (value, result) in
                        block.terminator().iter().flat_map(|last| last.operands()).zip(op.results())
                    {
                        shards.same(result.into(), value);
                    }
                }
                shards.backwards(op);
            }
            if round > 0 && shards.pieces.len() == known {
                break;
            }
        }
        shards
    }

    /// Pieces of each dimension of a value, if it is cut at all.
    pub fn of(&self, value: Value<'_, '_>) -> Option<&[i64]> {
        self.pieces.get(&key(value)).map(Vec::as_slice)
    }

    fn set(&mut self, value: Value<'_, '_>, pieces: Option<Vec<i64>>) {
        if let Some(pieces) = pieces.filter(|pieces| pieces.iter().any(|&count| count > 1)) {
            self.pieces.insert(key(value), pieces);
        }
    }

    /// `to` is cut as `from` is, if nothing else is known of it.
    fn same(&mut self, from: Value<'_, '_>, to: Value<'_, '_>) {
        if self.of(to).is_none() {
            let pieces = self.of(from).map(<[i64]>::to_vec);
            self.set(to, pieces);
        }
    }

    /// What is written down.
    fn given(&mut self, op: OperationRef<'_, '_>) {
        match op_name(op) {
            "func.func" => {
                let Some(block) = body(op, 0) else { return };
                for at in 0..block.argument_count() {
                    let pieces =
                        ffi::argument_attributes(op, at).and_then(|attributes| in_dictionary(op, attributes));
                    if let Ok(argument) = block.argument(at) {
                        self.set(argument.into(), pieces);
                    }
                }
                let all = attribute_of(op, "res_attrs").and_then(|all| ArrayAttribute::try_from(all).ok());
                if let (Some(all), Some(last)) = (all, block.terminator()) {
                    for (at, value) in last.operands().enumerate().take(all.len()) {
                        let attributes =
                            all.element(at).ok().and_then(|all| DictionaryAttribute::try_from(all).ok());
                        self.set(value, attributes.and_then(|attributes| in_dictionary(op, attributes)));
                    }
                }
            }
            "sdy.sharding_constraint" | "sdy.reshard" => {
                let pieces = attribute_of(op, "sharding").and_then(|sharding| of_sharding(op, sharding));
                if let Ok(result) = op.result(0) {
                    self.set(result.into(), pieces);
                }
            }
            name => {
                let list = if name == "sdy.manual_computation" { "out_shardings" } else { "sdy.sharding" };
                let Some(list) = attribute_of(op, list) else {
                    let text = attribute_of(op, "mhlo.sharding");
                    if let (Some(text), Some(result)) = (text, first_result(op)) {
                        self.set(result, of_text(text));
                    }
                    return;
                };
                let given = attribute_of(op, "in_shardings")
                    .filter(|_| name == "sdy.manual_computation")
                    .and_then(|list| TensorShardingPerValue::try_from(list).ok());
                if let Some(given) = given {
                    for (operand, sharding) in op.operands().zip(given.shardings().iter()) {
                        if self.of(operand).is_none() {
                            self.set(operand, of_sharding(op, sharding.into()));
                        }
                    }
                }
                if let Ok(list) = TensorShardingPerValue::try_from(list) {
                    for (result, sharding) in op.results().zip(list.shardings().iter()) {
                        self.set(result.into(), of_sharding(op, sharding.into()));
                    }
                }
            }
        }
    }

    /// Whether a dimension is cut into pieces that do not divide it.
    pub fn is_uneven(&self, value: Value<'_, '_>, dim: usize) -> bool {
        let size = Tensor::new(value.r#type()).and_then(|tensor| tensor.shape.get(dim).copied());
        let count = self.of(value).and_then(|pieces| pieces.get(dim).copied());
        matches!((size, count), (Some(size), Some(count)) if count > 1 && size % count != 0)
    }

    /// What a loop carries is cut alike all along.
    fn carried_by_loop<'c: 'a, 'a>(&mut self, op: OperationRef<'c, 'a>) {
        let blocks = [body(op, 0), body(op, 1)];
        for (at, (operand, result)) in op.operands().zip(op.results()).enumerate() {
            let mut all: Vec<Value<'c, 'a>> = vec![operand];
            for block in blocks.iter().flatten() {
                all.extend(block.argument(at).ok().map(Value::from));
            }
            let end = blocks[1].and_then(|block| block.terminator());
            all.extend(end.and_then(|end| end.operands().nth(at)));
            all.push(result.into());
            let Some(from) = all.iter().copied().find(|value| self.of(*value).is_some()) else { continue };
            for to in all {
                self.same(from, to);
            }
        }
    }

    fn forwards<'c: 'a, 'a>(&mut self, op: OperationRef<'c, 'a>) {
        if op_name(op) == "stablehlo.while" {
            return self.carried_by_loop(op);
        }
        for index in 0..op.result_count() {
            let Ok(result) = op.result(index) else { continue };
            let result: Value = result.into();
            if self.of(result).is_some() {
                continue;
            }
            let Some(shape) = Tensor::new(result.r#type()).map(|tensor| tensor.shape) else { continue };
            let mut pieces = vec![1; shape.len()];
            for (at, operand) in op.operands().enumerate() {
                let (Some(cut), Some(from)) = (self.of(operand), Tensor::new(operand.r#type())) else {
                    continue;
                };
                for (dim, &count) in cut.iter().enumerate() {
                    if let Some(to) = carried(op, at, dim, from.shape, shape)
                        && let Some(own) = pieces.get_mut(to)
                    {
                        *own = count.max(*own);
                    }
                }
            }
            self.set(result, Some(pieces));
        }
    }

    fn backwards<'c: 'a, 'a>(&mut self, op: OperationRef<'c, 'a>) {
        if op_name(op) == "stablehlo.while" {
            return self.carried_by_loop(op);
        }
        let Some(result) = first_result(op) else { return };
        let (Some(cut), Some(to)) = (self.of(result).map(<[i64]>::to_vec), Tensor::new(result.r#type()))
        else {
            return;
        };
        for (at, operand) in op.operands().enumerate() {
            let Some(from) = Tensor::new(operand.r#type()) else { continue };
            // Arguments are as they are given.
            if self.of(operand).is_some() || operand.is_block_argument() {
                continue;
            }
            let pieces = (0..from.rank())
                .map(|dim| {
                    carried(op, at, dim, from.shape, to.shape)
                        .and_then(|to| cut.get(to).copied())
                        .unwrap_or(1)
                })
                .collect();
            self.set(operand, Some(pieces));
        }
    }
}

/// The dimension of the result that dimension `dim` of operand number `at` becomes.
fn carried(op: OperationRef<'_, '_>, at: usize, dim: usize, from: &[i64], to: &[i64]) -> Option<usize> {
    let name = op_name(op).strip_prefix("stablehlo.").unwrap_or_default();
    match name {
        "broadcast_in_dim" => {
            let to_dim = usize::try_from(*i64_array(op, "broadcast_dimensions")?.get(dim)?).ok()?;
            (from.get(dim) == to.get(to_dim)).then_some(to_dim)
        }
        "transpose" => i64_array(op, "permutation")?.iter().position(|&old| old == dim as i64),
        "reduce" => {
            let dims = i64_array(op, "dimensions")?;
            (!dims.contains(&(dim as i64)))
                .then(|| dim - dims.iter().filter(|&&other| other < dim as i64).count())
        }
        "reshape" => {
            let before: i64 = from[..dim].iter().product();
            let mut product = 1;
            for (index, &size) in to.iter().enumerate() {
                if product == before && size == from[dim] {
                    return Some(index);
                }
                product *= size;
            }
            None
        }
        "dot_general" => {
            let numbers = crate::ops::products::dot_numbers(op)?;
            let (batch, contracted) = if at == 0 {
                (numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions())
            } else {
                (numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions())
            };
            let dim = dim as i64;
            if let Some(place) = batch.iter().position(|&other| other == dim) {
                return Some(place);
            }
            if contracted.contains(&dim) {
                return None;
            }
            let free = (0..dim).filter(|other| !batch.contains(other) && !contracted.contains(other)).count();
            if at == 0 {
                return Some(batch.len() + free);
            }
            let own = from.len() - batch.len() - contracted.len();
            Some(to.len() - own + free)
        }
        "pad" | "slice" | "concatenate" | "dynamic_slice" | "dynamic_update_slice" => {
            (from.len() == to.len()).then_some(dim)
        }
        _ => (from == to).then_some(dim),
    }
}

fn in_dictionary(op: OperationRef<'_, '_>, attributes: DictionaryAttribute<'_>) -> Option<Vec<i64>> {
    attribute_in(attributes, "sdy.sharding")
        .and_then(|sharding| of_sharding(op, sharding))
        .or_else(|| attribute_in(attributes, "mhlo.sharding").and_then(of_text))
}

fn of_sharding(op: OperationRef<'_, '_>, sharding: Attribute<'_>) -> Option<Vec<i64>> {
    let sharding = TensorSharding::try_from(sharding).ok()?;
    let axes = Axes::new(mesh_of(op, sharding).ok()?);
    sharding.dims().iter().map(|dim| Some(piece_count(&axes.resolve_list(dim.axes()).ok()?))).collect()
}

/// `{devices=[2,1,2]<=[4] last_tile_dim_replicate}`
fn of_text(text: Attribute<'_>) -> Option<Vec<i64>> {
    let text = string_value(StringAttribute::try_from(text).ok()?);
    let (counts, rest) = text.split_once("devices=[")?.1.split_once(']')?;
    let mut counts: Vec<i64> = counts.split(',').map(|count| count.parse().ok()).collect::<Option<_>>()?;
    if rest.contains("last_tile_dim_replicate") {
        counts.pop();
    }
    Some(counts)
}
