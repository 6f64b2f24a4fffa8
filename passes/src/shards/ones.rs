// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Moves in manual computations of arrays that were given dimensions of one element: done to the arrays as they were
//! before.
//!
//! ```mlir
//! %y = stablehlo.reshape %x : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
//! %z = stablehlo.dynamic_update_slice %y, %row, %zero, %at, %zero
//! ```
//!
//! becomes
//!
//! ```mlir
//! %less = stablehlo.reshape %row : (tensor<1x1x64xf32>) -> tensor<1x64xf32>
//! %z = stablehlo.dynamic_update_slice %x, %less, %at, %zero
//! %y = stablehlo.reshape %z : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
//! ```
//!
//! Where the reshape is undone behind the moves, nothing is left of it. XLA for CPU fuses one that is left into the
//! update, which then is of an array of another shape than it gives and is not done in place: the array is copied, once
//! where its shape changes and once where it changes back.

use super::moves::is_bare;
use crate::ir::{self, Builder};
use crate::ops::class;
use crate::rewrite::{is_unused, ops_in, walk};
use crate::splat::Splat;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;

/// An array without some of its dimensions, and which dimensions are left.
type Less<'c, 'a> = (Value<'c, 'a>, Vec<usize>);

struct Ones<'c, 'a, 'r> {
    build: &'r Builder<'c, 'a>,
    less: FxHashMap<usize, Less<'c, 'a>>,
    /// What may be of no use any more.
    replaced: Vec<OperationRef<'c, 'a>>,
}

/// Leaves dimensions of one element out of moves in a manual computation; says of how many.
pub(crate) fn without_ones<'c: 'a, 'a>(build: &Builder<'c, 'a>, computation: OperationRef<'c, 'a>) -> u64 {
    let mut blocks: Vec<BlockRef<'c, 'a>> = Vec::new();
    walk(computation, |op| {
        if let Some(block) = op.block().filter(|_| gives_ones(op).is_some_and(|_| is_bare(op)))
            && !blocks.contains(&block)
        {
            blocks.push(block);
        }
        WalkResult::Advance
    });
    let mut made = 0;
    for block in blocks {
        let ops: Vec<_> = ops_in(block).collect();
        let mut ones = Ones { build, less: FxHashMap::default(), replaced: Vec::new() };
        for op in ops {
            made += u64::from(ones.visit(op));
        }
        for op in ones.replaced.into_iter().rev().filter(|op| is_unused(*op)) {
            build.erase(op);
        }
    }
    made
}

impl<'c: 'a, 'a> Ones<'c, 'a, '_> {
    /// Does an op to arrays without dimensions of one element, if it can be; says whether that is something else than a
    /// reshape.
    fn visit(&mut self, op: OperationRef<'c, 'a>) -> bool {
        let Some(result) = ir::first_result(op).filter(|_| is_bare(op) && op.result_count() == 1) else {
            return false;
        };
        if op_name(op) == "stablehlo.reshape" {
            self.reshape(op, result);
            return false;
        }
        let Some(kept) = op.operands().find_map(|operand| Some(self.less.get(&ir::key(operand))?.1.clone()))
        else {
            return false;
        };
        self.build.set_insertion_point_before(op);
        let Some(less) = self.done(op, result, &kept) else { return false };
        let whole = self.build.reshape(less, result.r#type(), op.location());
        self.build.replace_all_uses_with(result, whole);
        self.less.insert(ir::key(whole), (less, kept));
        self.replaced.push(op);
        self.replaced.extend(crate::rewrite::defining_op(whole));
        true
    }

    /// A reshape that adds dimensions of one element is remembered, and one of what has such is one of what has not.
    fn reshape(&mut self, op: OperationRef<'c, 'a>, result: Value<'c, 'a>) {
        let Some(operand) = op.operands().next() else { return };
        if let Some((less, _)) = self.less.get(&ir::key(operand)).cloned() {
            let value = if less.r#type() == result.r#type() {
                less
            } else {
                self.build.set_insertion_point_before(op);
                self.build.reshape(less, result.r#type(), op.location())
            };
            self.build.replace_all_uses_with(result, value);
            self.replaced.push(op);
        } else if let Some(kept) = gives_ones(op) {
            self.less.insert(ir::key(result), (operand, kept));
            self.replaced.push(op);
        }
    }

    /// A move done to arrays with only some dimensions; `None` if it is not one of those that can be.
    fn done(
        &mut self,
        op: OperationRef<'c, 'a>,
        result: Value<'c, 'a>,
        kept: &[usize],
    ) -> Option<Value<'c, 'a>> {
        let tensor = Tensor::new(result.r#type())?;
        let is_left = |(dim, &size): (usize, &i64)| kept.contains(&dim) || size == 1;
        let can = tensor.shape.iter().enumerate().all(is_left);
        // What is less by a dimension, as a sum is, is none of these ops.
        (can && kept.iter().all(|&dim| dim < tensor.shape.len())).then_some(())?;
        let some = |numbers: &[i64]| -> Vec<i64> { kept.iter().map(|&dim| numbers[dim]).collect() };
        let ty = Tensor::get(&some(tensor.shape), tensor.element, None);
        let (build, location) = (self.build, op.location());
        let numbers = |name: &str| ir::i64_array(op, name).map(some);
        let operands: Vec<_> = op.operands().collect();
        let starts = |first: usize| -> Option<Vec<_>> {
            kept.iter().map(|dim| operands.get(first + dim).copied()).collect()
        };
        match op_name(op) {
            "stablehlo.slice" => {
                let from = self.known(operands[0], kept)?;
                let (start, limit) = (numbers("start_indices")?, numbers("limit_indices")?);
                Some(build.strided_slice(from, &start, &limit, &numbers("strides")?, ty, location))
            }
            "stablehlo.dynamic_slice" => {
                Some(build.dynamic_slice(self.known(operands[0], kept)?, &starts(1)?, ty, location))
            }
            "stablehlo.dynamic_update_slice" => {
                let array = self.known(operands[0], kept)?;
                let part = self.known(operands[1], kept).or_else(|| {
                    let part = Tensor::new(operands[1].r#type())?;
                    let ty = Tensor::get(&some(part.shape), part.element, None);
                    Some(build.reshape(operands[1], ty, location))
                })?;
                Some(build.dynamic_update_slice(array, part, &starts(2)?, location))
            }
            "stablehlo.pad" => {
                let edges = ["edge_padding_low", "edge_padding_high", "interior_padding"].map(numbers);
                let [Some(low), Some(high), Some(interior)] = edges else { return None };
                let array = self.known(operands[0], kept)?;
                Some(build.pad(array, operands[1], [&low, &high, &interior], ty, location))
            }
            "stablehlo.concatenate" => {
                let dim = usize::try_from(ir::constant_attribute(op, "dimension")?).ok()?;
                let dim = kept.iter().position(|&own| own == dim)?;
                let parts: Vec<_> =
                    operands.iter().map(|part| self.known(*part, kept)).collect::<Option<_>>()?;
                Some(build.concatenate(&parts, dim, location))
            }
            "stablehlo.collective_permute" => {
                ir::first_result(build.copy_with(op, &[self.known(operands[0], kept)?], &[], &[ty]))
            }
            name if class::is_elementwise(name) => {
                let can = |value: &Value<'c, 'a>| {
                    self.known(*value, kept).is_some()
                        || ir::is_rank_zero(*value)
                        || Splat::of(*value).is_some_and(|splat| splat.is_constant())
                };
                operands.iter().all(can).then_some(())?;
                let operands = operands
                    .iter()
                    .map(|operand| self.known(*operand, kept).or_else(|| self.scalar(*operand, kept, op)))
                    .collect::<Option<Vec<_>>>()?;
                ir::first_result(build.copy_with(op, &operands, &[], &[ty]))
            }
            _ => None,
        }
    }

    /// A value without some dimensions, if that is there.
    fn known(&self, value: Value<'c, 'a>, kept: &[usize]) -> Option<Value<'c, 'a>> {
        self.less.get(&ir::key(value)).filter(|(_, own)| own == kept).map(|(less, _)| *less)
    }

    /// A scalar, or one that is repeated.
    fn scalar(
        &self,
        value: Value<'c, 'a>,
        kept: &[usize],
        op: OperationRef<'c, 'a>,
    ) -> Option<Value<'c, 'a>> {
        if ir::is_rank_zero(value) {
            return Some(value);
        }
        let tensor = Tensor::new(value.r#type())?;
        let splat = Splat::of(value).filter(Splat::is_constant)?;
        let shape: Vec<i64> = kept.iter().map(|&dim| tensor.shape[dim]).collect();
        let scalar = splat.materialize(self.build, op.location());
        let ty = Tensor::get(&shape, tensor.element, None);
        Some(self.build.broadcast_scalar(scalar, ty, op.location()))
    }
}

/// Which dimensions of its result a reshape takes from its operand, in order, if all others are of one element and
/// there are such.
fn gives_ones(op: OperationRef<'_, '_>) -> Option<Vec<usize>> {
    let (from, to) = (op.operands().next()?, ir::first_result(op)?);
    let (from, to) = (ffi::shape(from.r#type())?, ffi::shape(to.r#type())?);
    (op_name(op) == "stablehlo.reshape" && !from.is_empty() && from.len() < to.len()).then_some(())?;
    let mut kept = Vec::with_capacity(from.len());
    for (dim, &size) in to.iter().enumerate() {
        // A dimension of one element may be either; what is left has to be enough.
        if from.get(kept.len()) == Some(&size) && (size != 1 || to.len() - dim <= from.len() - kept.len()) {
            kept.push(dim);
        } else if size != 1 {
            return None;
        }
    }
    (kept.len() == from.len()).then_some(kept)
}
