// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Gathers and scatters as far as their indices go: one form for both.

use crate::ir;
use crate::rewrite::{context_of, set_attribute};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{GatherDimensionNumbers, ScatterDimensionNumbers};
use slimhlo_dialect::types::Tensor;

/// A gather or scatter.
#[derive(Clone)]
pub struct Indexer<'c, 'a> {
    pub op: OperationRef<'c, 'a>,
    /// Which operand the indices are.
    pub operand: usize,
    /// For a gather, the largest start that is in bounds, per number of an index vector.
    pub last: Option<Vec<i128>>,
    /// The largest dimension that is indexed.
    pub largest: i128,
}

impl<'c: 'a, 'a> Indexer<'c, 'a> {
    /// The gather or scatter that an op is, its indices, and the dimension of the index vectors.
    pub fn new(op: OperationRef<'c, 'a>) -> Option<(Self, Value<'c, 'a>, usize)> {
        let (operand, map, vectors) = match op_name(op) {
            "stablehlo.gather" => {
                let numbers = gather_numbers(op)?;
                (1, numbers.start_index_map(), numbers.index_vector_dim())
            }
            "stablehlo.scatter" => {
                let numbers = scatter_numbers(op)?;
                let inputs = op.operand_count().checked_sub(1)? / 2;
                (inputs, numbers.scatter_dims_to_operand_dims(), numbers.index_vector_dim())
            }
            _ => return None,
        };
        let table = Tensor::new(op.operands().next()?.r#type()).filter(Tensor::is_static)?;
        let size = |dim: &i64| table.shape.get(*dim as usize).map(|&size| i128::from(size));
        let sizes: Vec<i128> = map.iter().map(size).collect::<Option<_>>()?;
        let last =
            ir::i64_array(op, "slice_sizes").filter(|_| operand == 1 && op_name(op).ends_with("gather"));
        let last = last.map(|slices| {
            sizes.iter().zip(map).map(|(size, &dim)| size - i128::from(slices[dim as usize])).collect()
        });
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let value = op.operands().nth(operand)?;
        Some((Self { op, operand, last, largest }, value, usize::try_from(vectors).ok()?))
    }

    /// Whether clamping to these bounds first does not change what this does.
    pub fn clamps_to(&self, bounds: &[(i128, i128)]) -> bool {
        self.last.as_ref().is_some_and(|last| {
            last.len() == bounds.len()
                && last.iter().zip(bounds).all(|(last, (low, high))| *low <= 0 && high >= last)
        })
    }

    /// Lets it take the numbers of each index vector in another order: first the one that was at `order[0]`.
    pub fn permute(&self, order: &[usize]) {
        let context = context_of(self.op);
        let permuted = |map: &[i64]| -> Vec<i64> { order.iter().map(|&column| map[column]).collect() };
        if let Some(numbers) = gather_numbers(self.op) {
            let numbers = GatherDimensionNumbers::new(
                context,
                numbers.offset_dims(),
                numbers.collapsed_slice_dims(),
                numbers.operand_batching_dims(),
                numbers.start_indices_batching_dims(),
                &permuted(numbers.start_index_map()),
                numbers.index_vector_dim(),
            );
            set_attribute(self.op, "dimension_numbers", numbers.into());
        } else if let Some(numbers) = scatter_numbers(self.op) {
            let numbers = ScatterDimensionNumbers::new(
                context,
                numbers.update_window_dims(),
                numbers.inserted_window_dims(),
                numbers.input_batching_dims(),
                numbers.scatter_indices_batching_dims(),
                &permuted(numbers.scatter_dims_to_operand_dims()),
                numbers.index_vector_dim(),
            );
            set_attribute(self.op, "scatter_dimension_numbers", numbers.into());
        }
    }

    /// Lets it find the index vectors along another dimension of its indices.
    pub fn move_vectors(&self, from: usize, to: usize) {
        let context = context_of(self.op);
        let moved = |dims: &[i64]| -> Vec<i64> {
            let place = |dim: i64| {
                let batch = dim - i64::from(dim > from as i64);
                batch + i64::from(batch >= to as i64)
            };
            dims.iter().map(|&dim| place(dim)).collect()
        };
        if let Some(numbers) = gather_numbers(self.op) {
            let numbers = GatherDimensionNumbers::new(
                context,
                numbers.offset_dims(),
                numbers.collapsed_slice_dims(),
                numbers.operand_batching_dims(),
                &moved(numbers.start_indices_batching_dims()),
                numbers.start_index_map(),
                to as i64,
            );
            set_attribute(self.op, "dimension_numbers", numbers.into());
        } else if let Some(numbers) = scatter_numbers(self.op) {
            let numbers = ScatterDimensionNumbers::new(
                context,
                numbers.update_window_dims(),
                numbers.inserted_window_dims(),
                numbers.input_batching_dims(),
                &moved(numbers.scatter_indices_batching_dims()),
                numbers.scatter_dims_to_operand_dims(),
                to as i64,
            );
            set_attribute(self.op, "scatter_dimension_numbers", numbers.into());
        }
    }
}

fn gather_numbers<'c>(op: OperationRef<'c, '_>) -> Option<GatherDimensionNumbers<'c>> {
    ffi::attribute_of(op, "dimension_numbers")?.try_into().ok()
}

fn scatter_numbers<'c>(op: OperationRef<'c, '_>) -> Option<ScatterDimensionNumbers<'c>> {
    ffi::attribute_of(op, "scatter_dimension_numbers")?.try_into().ok()
}
