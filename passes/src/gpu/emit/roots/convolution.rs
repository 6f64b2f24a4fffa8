// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Convolutions as products of matrices, of which the left one is never in memory: a row for each place of the window in each
//! batch, a column for each feature of the result, and what is contracted are the window's elements in each feature of the
//! operand. Groups of features or batches are batches of products. Elements of the left matrix that lie in the padding, or
//! between dilated elements, are zero.

use super::Result;
use super::serial::{operand_tensor, result_tensor};
use super::window::{self, Names, WindowDim, both};
use crate::framework::PassError;
use crate::gpu::emit::code::Code;
use crate::gpu::emit::element::Kernel;
use crate::ir;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi;
use slimhlo_dialect::stablehlo::attrs::ConvDimensionNumbers;
use slimhlo_dialect::types::Tensor;

/// What the dimensions of a convolution are.
pub struct Convolution<'c> {
    numbers: ConvDimensionNumbers<'c>,
    left: Tensor<'c>,
    result: Tensor<'c>,
    window: Vec<WindowDim>,
    feature_groups: i64,
    batch_groups: i64,
    /// Features of the operand in a group, and of the result.
    features: i64,
    columns: i64,
    /// Dimensions of the result that are rows, and of the weights that are contracted: in the order of memory.
    row_dims: Vec<usize>,
    contracted_dims: Vec<usize>,
    weights: Tensor<'c>,
}

impl<'c> Convolution<'c> {
    /// Reads `convolution`.
    pub fn of<'a>(op: OperationRef<'c, 'a>) -> Result<'c, Self>
    where
        'c: 'a,
    {
        let (left, weights) = (operand_tensor(op, 0)?, operand_tensor(op, 1)?);
        let result = result_tensor(op, 0)?;
        let numbers = ffi::attribute_of(op, "dimension_numbers")
            .and_then(|numbers| ConvDimensionNumbers::try_from(numbers).ok())
            .ok_or_else(|| PassError::at(op, "has no dimension numbers"))?;
        let groups = |name: &str| ir::constant_attribute(op, name).unwrap_or(1).max(1);
        let (feature_groups, batch_groups) = (groups("feature_group_count"), groups("batch_group_count"));
        let of_weights = numbers.kernel();
        let sizes: Vec<i64> = of_weights.spatial.iter().map(|&dim| weights.shape[dim as usize]).collect();
        let without = |rank: usize, dim: i64| (0..rank).filter(|&other| other as i64 != dim).collect();
        Ok(Self {
            window: window::read(op, &sizes, &Names::Convolution),
            feature_groups,
            batch_groups,
            features: weights.shape[of_weights.batch as usize],
            columns: weights.shape[of_weights.feature as usize] / (feature_groups * batch_groups),
            row_dims: without(result.rank(), numbers.output().feature),
            contracted_dims: without(weights.rank(), of_weights.feature),
            numbers,
            left,
            result,
            weights,
        })
    }

    /// Sizes of the batches of products, of rows, columns and of what is contracted.
    pub fn sizes(&self) -> [Vec<i64>; 4] {
        let of = |dims: &[usize], shape: &[i64]| dims.iter().map(|dim| shape[*dim]).collect();
        [
            vec![self.feature_groups * self.batch_groups],
            of(&self.row_dims, self.result.shape),
            vec![self.columns],
            of(&self.contracted_dims, self.weights.shape),
        ]
    }

    /// Whether places next to each other of what is contracted are so in the memory of an operand.
    pub fn runs_along(&self, side: usize) -> bool {
        let weights = self.numbers.kernel();
        let last = |tensor: &Tensor<'c>| tensor.rank() as i64 - 1;
        let contracts_features = self.contracted_dims.last().is_some_and(|dim| *dim as i64 == weights.batch);
        match side {
            0 => contracts_features && self.numbers.input().feature == last(&self.left),
            _ => weights.feature != last(&self.weights),
        }
    }

    /// Whether rows next to each other are so in the memory of the result, rather than columns.
    pub fn is_down(&self) -> bool {
        self.numbers.output().feature != self.result.rank() as i64 - 1
    }

    /// The index of an element of the left (0) or right matrix in its operand, and whether there is one (`None`: always).
    pub fn operand_index<'a>(
        &self,
        code: &Code<'c, 'a>,
        side: usize,
        group: Value<'c, 'a>,
        free: &[Value<'c, 'a>],
        contracted: &[Value<'c, 'a>],
    ) -> (Vec<Value<'c, 'a>>, Option<Value<'c, 'a>>)
    where
        'c: 'a,
    {
        let (input, weights, output) = (self.numbers.input(), self.numbers.kernel(), self.numbers.output());
        let inside = |dim: i64| {
            let place = self.contracted_dims.iter().position(|other| *other as i64 == dim);
            place.map_or_else(|| code.index(0), |place| contracted[place])
        };
        if side == 1 {
            let mut index = vec![code.index(0); self.weights.rank()];
            for (dim, along) in weights.spatial.iter().zip(&self.window) {
                let at = inside(*dim);
                index[*dim as usize] =
                    if along.reversed { code.sub(code.index(along.size - 1), at) } else { at };
            }
            index[weights.batch as usize] = inside(weights.batch);
            index[weights.feature as usize] = code.add(code.mul(group, code.index(self.columns)), free[0]);
            return (index, None);
        }
        let row = |dim: i64| {
            let place = self.row_dims.iter().position(|other| *other as i64 == dim);
            place.map_or_else(|| code.index(0), |place| free[place])
        };
        let mut index = vec![code.index(0); self.left.rank()];
        let mut within = None;
        for (number, along) in self.window.iter().enumerate() {
            let (from, to) = (input.spatial[number], output.spatial[number]);
            let (size, places) = (self.left.shape[from as usize], self.result.shape[to as usize]);
            let (position, exists) =
                along.position(code, row(to), inside(weights.spatial[number]), size, places);
            index[from as usize] = position;
            within = both(code, within, exists);
        }
        let in_group = |size: i64, at: Value<'c, 'a>| code.add(code.mul(group, code.index(size)), at);
        let (feature, batch) = (inside(weights.batch), row(output.batch));
        index[input.feature as usize] =
            if self.feature_groups > 1 { in_group(self.features, feature) } else { feature };
        let batches = self.left.shape[input.batch as usize] / self.batch_groups;
        index[input.batch as usize] = if self.batch_groups > 1 { in_group(batches, batch) } else { batch };
        (index, within)
    }

    /// Row-major position of an element of the result.
    pub fn position<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        group: Value<'c, 'a>,
        row: Value<'c, 'a>,
        column: Value<'c, 'a>,
    ) -> Value<'c, 'a>
    where
        'c: 'a,
    {
        let code = &kernel.code;
        let sizes: Vec<i64> = self.row_dims.iter().map(|dim| self.result.shape[*dim]).collect();
        let mut index = vec![code.index(0); self.result.rank()];
        for (dim, at) in self.row_dims.iter().zip(kernel.indices(&sizes, row)) {
            index[*dim] = at;
        }
        index[self.numbers.output().feature as usize] =
            code.add(code.mul(group, code.index(self.columns)), column);
        kernel.linear(self.result.shape, &index)
    }
}
