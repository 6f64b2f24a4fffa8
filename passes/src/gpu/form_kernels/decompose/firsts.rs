// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Sorts of long lines of which only the beginnings are asked for: the largest `k`, say.
//!
//! ```mlir
//! %s = "stablehlo.sort"(%x) <{dimension = 1}> ({...}) : (tensor<8x100000xf32>) -> tensor<8x100000xf32>
//! %k = stablehlo.slice %s [0:8, 0:16] : (tensor<8x100000xf32>) -> tensor<8x16xf32>
//! ```
//!
//! becomes a sort of pieces that fit into a block's memory, as often as there are that long, of each of which 16 are
//! stored, and a sort of these. What is among the first of a line is among the first of its piece. Pieces, and what
//! is left of them, are in the order of the line, so a stable sort leaves equal elements in it, too.
//!
//! It costs a sort of a line's pieces instead of all steps that merge them, and memory for `k` elements of each piece
//! instead of all elements. It must not fire where a piece is shorter than `2 * k`: nothing is dropped then.

use crate::framework::PassError;
use crate::gpu::emit::roots;
use crate::ir::{self, Builder};
use crate::rewrite::set_attribute;
use melior::ir::attribute::IntegerAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::dense::element_bytes;
use slimhlo_dialect::types::Tensor;

/// Shortens what a sort is given, if only the beginnings of its long lines are asked for.
pub fn shorten<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let slices = roots::beginnings_of_sort(op);
    let (Some(first), Some(tensor)) = (slices.first(), Tensor::new(op.operand(0)?.r#type())) else {
        return Ok(());
    };
    if !tensor.is_static() || tensor.shape.is_empty() {
        return Ok(());
    }
    let dim = ir::constant_attribute(op, "dimension").unwrap_or(-1);
    let dim = if dim < 0 { dim + tensor.rank() as i64 } else { dim } as usize;
    let Some(kept) = Tensor::new(first.result(0)?.r#type()).map(|slice| slice.shape[dim]) else {
        return Ok(());
    };
    let bytes =
        op.operands().map(|operand| element_bytes(ir::element_of(operand.r#type())).unwrap_or(16) as u64);
    let piece = roots::longest_in_block(bytes.sum());
    let mut length = tensor.shape[dim];
    if length <= piece || 2 * kept > piece {
        return Ok(());
    }
    builder.set_insertion_point_before(op);
    let sort = Sort { builder, op, dim, kept };
    let mut operands: Vec<Value> = op.operands().collect();
    while length > piece {
        operands = sort.firsts_of_pieces(&operands, length, piece);
        length = length / piece * kept + (length % piece).min(kept);
    }
    let sorted = sort.of(&operands, dim);
    for slice in slices {
        let number = op.results().position(|result| Some(result.into()) == slice.operands().next());
        if let Some(number) = number {
            let short = sort.part(sorted[number], dim, 0, kept);
            builder.replace_all_uses_with(slice.result(0)?.into(), short);
            builder.erase(slice);
        }
    }
    builder.erase(op);
    Ok(())
}

struct Sort<'b, 'c, 'a> {
    builder: &'b Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
    dim: usize,
    /// How many of each line are asked for.
    kept: i64,
}

impl<'c: 'a, 'a> Sort<'_, 'c, 'a> {
    /// The results of the same sort of other operands.
    fn of(&self, operands: &[Value<'c, 'a>], dim: usize) -> Vec<Value<'c, 'a>> {
        let types: Vec<_> = operands.iter().map(|operand| operand.r#type()).collect();
        let copy = self.builder.copy_with(self.op, operands, &[], &types);
        let dimension = IntegerAttribute::new(self.builder.i64_type(), dim as i64);
        set_attribute(copy, "dimension", dimension.into());
        copy.results().map(Value::from).collect()
    }

    /// So many elements from `from` on, of each line along a dimension.
    fn part(&self, value: Value<'c, 'a>, dim: usize, from: i64, count: i64) -> Value<'c, 'a> {
        self.shaped(
            value,
            |shape| shape[dim] = count,
            |ty| {
                let shape = slimhlo_dialect::ffi::shape(value.r#type()).unwrap_or(&[]);
                if shape[dim] == count {
                    return value;
                }
                let mut start = vec![0; shape.len()];
                start[dim] = from;
                self.builder.slice(value, &start, ty, self.op.location())
            },
        )
    }

    fn reshape(&self, value: Value<'c, 'a>, change: impl FnOnce(&mut Vec<i64>)) -> Value<'c, 'a> {
        self.shaped(value, change, |ty| self.builder.reshape(value, ty, self.op.location()))
    }

    /// Makes something of the type of a value in another shape.
    fn shaped(
        &self,
        value: Value<'c, 'a>,
        change: impl FnOnce(&mut Vec<i64>),
        make: impl FnOnce(melior::ir::Type<'c>) -> Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let mut shape = slimhlo_dialect::ffi::shape(value.r#type()).unwrap_or(&[]).to_vec();
        change(&mut shape);
        make(Tensor::get(&shape, ir::element_of(value.r#type()), None))
    }

    /// The first elements of each piece of all lines, and of what is left of them.
    fn firsts_of_pieces(&self, operands: &[Value<'c, 'a>], length: i64, piece: i64) -> Vec<Value<'c, 'a>> {
        let (pieces, rest, dim) = (length / piece, length % piece, self.dim);
        let cut = |value: &Value<'c, 'a>| {
            self.reshape(self.part(*value, dim, 0, pieces * piece), |shape| {
                shape[dim] = pieces;
                shape.insert(dim + 1, piece);
            })
        };
        let cut: Vec<_> = operands.iter().map(cut).collect();
        let firsts = self.of(&cut, dim + 1).into_iter().map(|sorted| {
            self.reshape(self.part(sorted, dim + 1, 0, self.kept), |shape| {
                shape.remove(dim + 1);
                shape[dim] = pieces * self.kept;
            })
        });
        let firsts: Vec<_> = firsts.collect();
        if rest == 0 {
            return firsts;
        }
        let mut left: Vec<_> =
            operands.iter().map(|value| self.part(*value, dim, pieces * piece, rest)).collect();
        if rest > self.kept {
            left = self.of(&left, dim).into_iter().map(|each| self.part(each, dim, 0, self.kept)).collect();
        }
        let both = firsts.iter().zip(left);
        both.map(|(first, left)| self.builder.concatenate(&[*first, left], dim, self.op.location())).collect()
    }
}
