// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Large products added to an accumulator a part at a time.
//!
//! ```mlir
//! %product = stablehlo.dot_general %rows, %errors, contracting_dims = [0] x [0]
//!   : (tensor<128x512xf32>, tensor<128x64000xf32>) -> tensor<512x64000xf32>
//! %next = stablehlo.add %sum, %product
//! ```
//!
//! is, beside the accumulator, a second value of its size, in each turn of the loop around (the gradient of a large vocabulary's
//! table, say). It becomes a loop over parts of the result, which takes the sum as its own:
//!
//! ```mlir
//! %loop:4 = stablehlo.while(%i = %c0, %sum_ = %sum, %rows_ = %rows, %errors_ = %errors)
//!   do {
//!     %some = stablehlo.dynamic_slice %rows_, %c0, %i, sizes = [128, 128]
//!     %product = stablehlo.dot_general %some, %errors_, contracting_dims = [0] x [0] : ... -> tensor<128x64000xf32>
//!     %before = stablehlo.dynamic_slice %sum_, %i, %c0, sizes = [128, 64000]
//!     %after = stablehlo.add %before, %product
//!     %next = stablehlo.dynamic_update_slice %sum_, %after, %i, %c0
//!   }
//! ```
//!
//! Each element is made of the same products, in the same order. Parts are taken along the first dimension in which they are
//! small enough, where they lie in one piece; of the operands, those that have it are sliced, the other is taken as it is. A part is
//! as large as what the loop around takes for its chunk: as many rows as there are in that, mostly, which is enough for a product of
//! matrices to be fast.

use crate::counted::Open;
use crate::ir;
use crate::ir::{Builder, element_of};
use crate::ops::products::dot_numbers;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::types::Tensor;

/// How many parts make a loop worth while.
const LEAST: i64 = 4;
/// Which part of the most it may take a part has to take to be chosen because it divides the result.
const FILLED: i64 = 2;

/// How a dot's result is taken apart.
pub struct Parts {
    /// Along which dimension of the result.
    dim: usize,
    /// Along which dimension of each operand, if it has it.
    operands: [Option<usize>; 2],
    /// Elements of the dimension, and of a part of it.
    size: i64,
    part: i64,
}

impl Parts {
    /// Parts of `op`'s result, accumulated in a value of type `ty`, that take between `least` and `most` bytes each, about; `None` if
    /// that is not much less than all.
    pub fn of<'c: 'a, 'a>(op: OperationRef<'c, 'a>, ty: Type<'c>, (least, most): (i64, i64)) -> Option<Self> {
        let numbers = dot_numbers(op)?;
        let result = Tensor::new(ty)?;
        let all = ir::type_bytes(ty);
        let most = most.min(all / LEAST).max(least);
        let within = |size: &i64| *size >= LEAST && all / size <= most;
        let dim = result.shape.iter().position(within)?;
        let size = result.shape[dim];
        let most = (most / (all / size).max(1)).clamp(1, size);
        if size / most < LEAST {
            return None;
        }
        let part = (most / FILLED + 1..=most).rev().find(|part| size % part == 0).unwrap_or(most);
        let batch = [numbers.lhs_batching_dimensions(), numbers.rhs_batching_dimensions()];
        let contracted = [numbers.lhs_contracting_dimensions(), numbers.rhs_contracting_dimensions()];
        let free = |index: usize| -> Option<Vec<usize>> {
            let rank = ir::plain(op.operands().nth(index)?)?.rank();
            let is_free =
                |dim: &usize| ![batch[index], contracted[index]].iter().any(|of| of.contains(&(*dim as i64)));
            Some((0..rank).filter(is_free).collect())
        };
        let operands = match (batch[0].get(dim), batch[1].get(dim)) {
            (Some(&left), Some(&right)) => [Some(left as usize), Some(right as usize)],
            _ => {
                let dim = dim - batch[0].len();
                let left = free(0)?;
                match left.get(dim) {
                    Some(&left) => [Some(left), None],
                    None => [None, Some(*free(1)?.get(dim - left.len())?)],
                }
            }
        };
        Some(Self { dim, operands, size, part })
    }

    /// `accumulator` plus the product of `taken`, as `op` makes it; in another order of adding up only if `op` itself leaves it
    /// open.
    pub fn accumulate<'c: 'a, 'a>(
        &self,
        op: OperationRef<'c, 'a>,
        taken: [Value<'c, 'a>; 2],
        accumulator: Value<'c, 'a>,
        build: &Builder<'c, 'a>,
    ) -> Value<'c, 'a> {
        let location = op.location();
        let whole = self.size / self.part * self.part;
        let turn = Open::new(build, (0..whole, self.part), &[accumulator, taken[0], taken[1]], location);
        let (at, sum, operands) = (turn.at, turn.carried[0], [turn.carried[1], turn.carried[2]]);
        let next = self.step(op, operands, sum, (at, self.part), build);
        let made = turn.close(&[next, operands[0], operands[1]]);
        let sum = made.result(1).expect("a result per operand").into();
        if whole == self.size {
            return sum;
        }
        let at = build.i64_constant(whole, location);
        self.step(op, taken, sum, (at, self.size - whole), build)
    }

    /// One part of `size` elements from `at` on.
    fn step<'c: 'a, 'a>(
        &self,
        op: OperationRef<'c, 'a>,
        taken: [Value<'c, 'a>; 2],
        sum: Value<'c, 'a>,
        (at, size): (Value<'c, 'a>, i64),
        build: &Builder<'c, 'a>,
    ) -> Value<'c, 'a> {
        let location = op.location();
        let starts = |rank: usize, dim: usize| {
            let mut starts = vec![build.i64_constant(0, location); rank];
            starts[dim] = at;
            starts
        };
        let slice = |value: Value<'c, 'a>, dim: usize| {
            let mut shape = Tensor::new(value.r#type()).expect("dots are of tensors").shape.to_vec();
            shape[dim] = size;
            let ty = Tensor::get(&shape, element_of(value.r#type()), None);
            build.dynamic_slice(value, &starts(shape.len(), dim), ty, location)
        };
        let some: Vec<_> = taken
            .into_iter()
            .zip(self.operands)
            .map(|(value, dim)| dim.map_or(value, |dim| slice(value, dim)))
            .collect();
        let before = slice(sum, self.dim);
        let product = build.copy_with(op, &some, &[], &[before.r#type()]);
        let product = product.result(0).expect("dots have one result").into();
        let after = build.binary("stablehlo.add", before, product, location);
        let rank = Tensor::new(sum.r#type()).map_or(0, |tensor| tensor.rank());
        build.dynamic_update_slice(sum, after, &starts(rank, self.dim), location)
    }
}
