// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `gather`, `dynamic_gather` and `scatter`.

use super::attrs::{GatherDimensionNumbers, ScatterDimensionNumbers};
use super::constraints::constant_integers;
use super::dim_lists::{Named, distinct, in_range, others, same_length, sorted};
use super::reducer::{Reducer, accumulator_elements, scalar_of};
use crate::dims::Dim;
use crate::rules::{Rules, Table};
use crate::types::{
    DYNAMIC, Tensor, all_shapes_static, compatible_shape, compatible_size, display_shape, is_static,
};
use crate::view::{Inferred, OpError, OpView, Verdict};
use crate::{reject, require};

/// Rules of this family.
pub const TABLE: Table = &[
    (
        "stablehlo.gather",
        Rules::NONE.verify(verify_gathered_element).infer(infer_gather).is_speculatable(promises_nothing),
    ),
    ("stablehlo.dynamic_gather", Rules::NONE.verify(verify_gathered_element).infer(infer_dynamic_gather)),
    (
        "stablehlo.scatter",
        Rules::NONE.verify(verify_scatter).infer(infer_scatter).is_speculatable(promises_nothing),
    ),
];

/// Whether the op works for any indices. Where it promises that they are sorted or unique, what guards it may be what
/// makes that true.
fn promises_nothing(op: &OpView<'_, '_>) -> bool {
    let promises = |name| op.boolean(name, false).unwrap_or(true);
    all_shapes_static(op) && !promises("indices_are_sorted") && !promises("unique_indices")
}

/// What the dimension numbers of gather and scatter say of the operand and the indices.
struct Indexing<'a> {
    /// The operand in diagnostics.
    operand_name: &'a str,
    operand: Tensor<'a>,
    /// The indices in diagnostics.
    indices_name: &'a str,
    indices: Tensor<'a>,
    /// Operand dimensions with one element per slice, which the slices do not have.
    collapsed: Named<'a>,
    /// Operand dimensions that run along with [`Self::indices_batching`].
    operand_batching: Named<'a>,
    indices_batching: Named<'a>,
    /// The operand dimension that each number of an index is for.
    index_map: Named<'a>,
    /// The dimension of the indices along which one index runs.
    index_vector_dim: i64,
}

impl Indexing<'_> {
    fn verify(&self) -> Verdict {
        let (operand_rank, indices_rank) = (self.operand.rank(), self.indices.rank());
        sorted(self.collapsed)?;
        in_range(self.collapsed, operand_rank, self.operand_name)?;
        sorted(self.operand_batching)?;
        in_range(self.operand_batching, operand_rank, self.operand_name)?;
        distinct(&[self.collapsed, self.operand_batching])?;
        self.verify_index_vector(indices_rank)?;
        in_range(self.indices_batching, indices_rank, self.indices_name)?;
        distinct(&[self.indices_batching])?;
        self.verify_batching()?;
        in_range(self.index_map, operand_rank, self.operand_name)?;
        distinct(&[self.index_map, self.operand_batching])
    }

    /// An index has as many numbers as the index map has entries.
    fn verify_index_vector(&self, indices_rank: usize) -> Verdict {
        let numbers = match usize::try_from(self.index_vector_dim) {
            Ok(dimension) if dimension < indices_rank => self.indices.shape[dimension],
            Ok(dimension) if dimension == indices_rank => 1,
            _ => reject!(
                "index_vector_dim = {} is not in [0, {indices_rank}], the range for {}",
                self.index_vector_dim,
                self.indices_name
            ),
        };
        require!(
            compatible_size(numbers, self.index_map.1.len() as i64),
            "{} has {} entries, but an index of {} has {numbers} numbers",
            self.index_map.0,
            self.index_map.1.len(),
            self.indices_name
        );
        Ok(())
    }

    /// Batching dimensions come in pairs of the same size, and the index vector is not among them.
    fn verify_batching(&self) -> Verdict {
        let (indices_batching, operand_batching) = (self.indices_batching, self.operand_batching);
        same_length(operand_batching, indices_batching)?;
        for (index, (&left, &right)) in operand_batching.1.iter().zip(indices_batching.1).enumerate() {
            require!(
                right != self.index_vector_dim,
                "{}[{index}] = {right} is the index_vector_dim",
                indices_batching.0
            );
            let sizes = (self.operand.shape[left as usize], self.indices.shape[right as usize]);
            require!(
                compatible_size(sizes.0, sizes.1),
                "{}[{index}] = {left} has size {}, but {}[{index}] = {right} has size {}",
                operand_batching.0,
                sizes.0,
                indices_batching.0,
                sizes.1
            );
        }
        Ok(())
    }

    /// Dimensions of the indices that tell one index from the other.
    fn batch_dims(&self) -> Vec<Dim> {
        let dims = self.indices.dims();
        let is_vector = |index: usize| i64::try_from(index) == Ok(self.index_vector_dim);
        dims.into_iter().enumerate().filter(|&(index, _)| !is_vector(index)).map(|(_, dim)| dim).collect()
    }

    /// Operand dimensions that slices have.
    fn sliced_dims(&self) -> Vec<usize> {
        others(self.operand.rank(), &[self.collapsed.1, self.operand_batching.1])
    }
}

/// element_type(operand) = element_type(result)
fn verify_gathered_element(op: &OpView<'_, '_>) -> Verdict {
    let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    require!(
        operand.element == result.element,
        "result has element type {}, but operand has {}",
        result.element,
        operand.element
    );
    Ok(())
}

fn infer_gather<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    gathered(op, op.i64_array("slice_sizes")?, true)
}

fn infer_dynamic_gather<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let sizes = op.operand_tensor(2)?;
    require!(sizes.rank() == 1, "slice_sizes has rank {}, not 1", sizes.rank());
    let rank = op.operand_tensor(0)?.rank();
    require!(
        compatible_size(sizes.shape[0], rank as i64),
        "slice_sizes has {} entries, but operand has rank {rank}",
        sizes.shape[0]
    );
    match constant_integers(op.operand(2)?, rank) {
        Some(sizes) => gathered(op, &sizes, true),
        None => gathered(op, &vec![DYNAMIC; rank], false),
    }
}

/// The result type of a gather of slices of these sizes, which `known` says are more than placeholders.
fn gathered<'c>(op: &OpView<'c, '_>, slice_sizes: &[i64], known: bool) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    let numbers: GatherDimensionNumbers = op.required("dimension_numbers")?;
    let indexing = Indexing {
        operand_name: "operand",
        operand,
        indices_name: "start_indices",
        indices: op.operand_tensor(1)?,
        collapsed: ("collapsed_slice_dims", numbers.collapsed_slice_dims()),
        operand_batching: ("operand_batching_dims", numbers.operand_batching_dims()),
        indices_batching: ("start_indices_batching_dims", numbers.start_indices_batching_dims()),
        index_map: ("start_index_map", numbers.start_index_map()),
        index_vector_dim: numbers.index_vector_dim(),
    };
    let offset = ("offset_dims", numbers.offset_dims());
    verify_rank_split("operand", operand.rank(), &[offset, indexing.collapsed, indexing.operand_batching])?;
    indexing.verify()?;
    require!(
        slice_sizes.len() == operand.rank(),
        "slice_sizes has {} entries, but operand has rank {}",
        slice_sizes.len(),
        operand.rank()
    );
    if known {
        verify_slice_sizes(&indexing, slice_sizes)?;
    }

    let mut batch = indexing.batch_dims().into_iter();
    let rank = batch.len() + offset.1.len();
    sorted(offset)?;
    distinct(&[offset])?;
    in_range(offset, rank, "the result")?;
    let mut dims = vec![None; rank];
    for (&dimension, sliced) in offset.1.iter().zip(indexing.sliced_dims()) {
        dims[dimension as usize] = Some(Dim::of(slice_sizes[sliced]));
    }
    let dims: Vec<Dim> =
        dims.into_iter().map(|dim| dim.or_else(|| batch.next()).unwrap_or(Dim::UNKNOWN)).collect();
    Tensor::try_of_dims(&dims, operand.element).map(|ty| vec![ty])
}

/// Every dimension of something of this rank is in exactly one of the lists, going by their lengths.
fn verify_rank_split(of: &str, rank: usize, lists: &[Named<'_>]) -> Verdict {
    let total: usize = lists.iter().map(|(_, list)| list.len()).sum();
    let names: Vec<&str> = lists.iter().map(|(name, _)| *name).collect();
    require!(total == rank, "{} have {total} entries together, but {of} has rank {rank}", names.join(", "));
    Ok(())
}

/// Slices fit into the operand, and are one element thick where dimensions are left out.
fn verify_slice_sizes(indexing: &Indexing<'_>, slice_sizes: &[i64]) -> Verdict {
    for (name, list) in [indexing.collapsed, indexing.operand_batching] {
        for &dimension in list {
            let size = slice_sizes[dimension as usize];
            require!(
                size <= 1,
                "slice_sizes[{dimension}] = {size} exceeds 1, but {name} has dimension {dimension}"
            );
        }
    }
    for (index, (&slice, &size)) in slice_sizes.iter().zip(indexing.operand.shape).enumerate() {
        require!(
            slice >= 0 && (slice <= size || !is_static(size)),
            "slice_sizes[{index}] = {slice} does not fit into dimension {index} of operand, which has size {size}"
        );
    }
    Ok(())
}

/// Operands of `scatter`: inputs, indices, and as many updates as inputs.
struct Scattered<'c> {
    inputs: Vec<Tensor<'c>>,
    indices: Tensor<'c>,
    updates: Vec<Tensor<'c>>,
}

impl<'c> Scattered<'c> {
    fn read(op: &OpView<'c, '_>) -> Result<Self, OpError> {
        let count = op.operand_count().saturating_sub(1) / 2;
        require!(
            count > 0,
            "there must be at least one input, the indices and the input's update, but there are {} operands",
            op.operand_count()
        );
        let operands = |range: std::ops::Range<usize>| {
            range.map(|index| op.operand_tensor(index)).collect::<Result<Vec<_>, OpError>>()
        };
        Ok(Self {
            inputs: operands(0..count)?,
            indices: op.operand_tensor(count)?,
            updates: operands(count + 1..2 * count + 1)?,
        })
    }
}

fn verify_scatter(op: &OpView<'_, '_>) -> Verdict {
    let scattered = Scattered::read(op)?;
    same_shapes("input", &scattered.inputs)?;
    same_shapes("update", &scattered.updates)?;
    let numbers: ScatterDimensionNumbers = op.required("scatter_dimension_numbers")?;
    let (input, updates) = (scattered.inputs[0], scattered.updates[0]);
    let indexing = Indexing {
        operand_name: "the inputs",
        operand: input,
        indices_name: "scatter_indices",
        indices: scattered.indices,
        collapsed: ("inserted_window_dims", numbers.inserted_window_dims()),
        operand_batching: ("input_batching_dims", numbers.input_batching_dims()),
        indices_batching: ("scatter_indices_batching_dims", numbers.scatter_indices_batching_dims()),
        index_map: ("scatter_dims_to_operand_dims", numbers.scatter_dims_to_operand_dims()),
        index_vector_dim: numbers.index_vector_dim(),
    };
    let window = ("update_window_dims", numbers.update_window_dims());
    verify_rank_split("the input", input.rank(), &[window, indexing.collapsed, indexing.operand_batching])?;
    indexing.verify()?;
    sorted(window)?;
    distinct(&[window])?;
    in_range(window, updates.rank(), "the updates")?;
    verify_update_sizes(&indexing, window, &updates)?;

    let inputs = scattered.inputs.iter().map(scalar_of).collect::<Result<Vec<_>, _>>()?;
    let updates = scattered.updates.iter().map(scalar_of).collect::<Result<Vec<_>, _>>()?;
    Reducer { region: 0, inputs: &updates, initial: &inputs, window: &[] }.verify(op)
}

/// same(shape(tensors...))
fn same_shapes(name: &str, tensors: &[Tensor<'_>]) -> Verdict {
    for (index, tensor) in tensors.iter().enumerate().skip(1) {
        require!(
            compatible_shape(tensors[0].shape, tensor.shape),
            "{name} #{index} has shape [{}], but {name} #0 has [{}]",
            display_shape(tensor.shape),
            display_shape(tensors[0].shape)
        );
    }
    Ok(())
}

/// Windows of the updates fit into the inputs, and there is one for each index.
fn verify_update_sizes(indexing: &Indexing<'_>, window: Named<'_>, updates: &Tensor<'_>) -> Verdict {
    let batch = indexing.batch_dims();
    require!(
        updates.rank() == batch.len() + window.1.len(),
        "the updates have rank {}, but scatter_indices and update_window_dims make that {}",
        updates.rank(),
        batch.len() + window.1.len()
    );
    for (&dimension, operand) in window.1.iter().zip(indexing.sliced_dims()) {
        let (size, limit) = (updates.shape[dimension as usize], indexing.operand.shape[operand]);
        require!(
            !is_static(size) || !is_static(limit) || size <= limit,
            "dimension {dimension} of the updates has size {size}, more than the {limit} of dimension {operand} of the inputs"
        );
    }
    for (dimension, batch) in others(updates.rank(), &[window.1]).into_iter().zip(batch) {
        let size = updates.shape[dimension];
        require!(
            compatible_size(size, batch.size),
            "dimension {dimension} of the updates has size {size}, but scatter_indices ask for {batch}"
        );
    }
    Ok(())
}

fn infer_scatter<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let scattered = Scattered::read(op)?;
    let elements = accumulator_elements(op, 0, scattered.inputs.len())?;
    let result = |(input, element): (&Tensor<'c>, _)| Tensor::of_dims(&input.dims(), element);
    Ok(scattered.inputs.iter().zip(elements).map(result).collect())
}
