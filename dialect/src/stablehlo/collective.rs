// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Collectives: `all_gather`, `all_reduce`, `reduce_scatter`, `all_to_all`, `collective_broadcast`,
//! `collective_permute` and `cross-replica-sum`.

use super::attrs::{ChannelHandle, ReplicaGroupMeshAxes};
use super::constraints::{compatible_elements, same_element};
use super::dim_lists::one_in_range;
use super::matrix::Matrix;
use super::reducer::{Reducer, accumulator_elements, scalar_of};
use crate::dims::Dim;
use crate::rules::{Rules, Table};
use crate::types::{Tensor, compatible_result, compatible_size, display_shape, is_static};
use crate::view::{Inferred, OpError, OpView, Verdict};
use crate::{reject, require};
use melior::ir::{Attribute, OperationRef};
use std::collections::HashSet;

/// Rules of this family.
pub const TABLE: Table = &[
    ("stablehlo.all_gather", Rules::NONE.verify(verify_all_gather).verify_symbol_use(verify_mesh)),
    (
        "stablehlo.all_reduce",
        Rules::NONE.verify(verify_all_reduce).infer(infer_all_reduce).verify_symbol_use(verify_mesh),
    ),
    ("stablehlo.all_to_all", Rules::NONE.infer(infer_all_to_all).verify_symbol_use(verify_mesh)),
    (
        "stablehlo.collective_broadcast",
        Rules::NONE.verify(verify_collective_broadcast).infer(infer_operand).verify_symbol_use(verify_mesh),
    ),
    ("stablehlo.collective_permute", Rules::NONE.verify(verify_collective_permute).infer(infer_operand)),
    ("stablehlo.cross-replica-sum", Rules::NONE.verify(verify_cross_replica_sum).infer(infer_operand)),
    ("stablehlo.reduce_scatter", Rules::NONE.verify(verify_reduce_scatter).verify_symbol_use(verify_mesh)),
];

/// The op's `replica_groups` where they are given as numbers; `None` where they are axes of a mesh.
fn replica_groups<'c>(op: &OpView<'c, '_>) -> Result<Option<Matrix<'c>>, OpError> {
    let attribute = op.required_attribute("replica_groups")?;
    if ReplicaGroupMeshAxes::try_from(attribute).is_ok() {
        return Ok(None);
    }
    let groups = Matrix::read(op, "replica_groups")?;
    if let Some(groups) = &groups {
        require!(
            groups.shape.len() == 2,
            "replica_groups must have rank 2, but have shape {}",
            display_shape(groups.shape)
        );
    }
    Ok(groups)
}

/// What an op asks of its replica groups.
#[derive(Clone, Copy, Default)]
struct GroupRule {
    /// Whether groups may be of different size, -1 filling up the smaller ones.
    uneven: bool,
    /// Size of each group.
    size: Option<i64>,
}

impl GroupRule {
    /// Replica groups hold each of the numbers from 0 once.
    fn verify(self, op: &OpView<'_, '_>) -> Verdict {
        let Some(groups) = replica_groups(op)? else { return Ok(()) };
        let seen = distinct_numbers(&groups, |number| self.uneven && number == -1)?;
        for number in &seen {
            require!(self.uneven || *number != -1, "replica_groups hold -1, but must all have the same size");
        }
        let count = seen.len() as i64;
        if let Some(missing) = (0..count).find(|number| !seen.contains(number)) {
            reject!("replica_groups lack {missing}, though they hold {count} numbers");
        }
        match self.size {
            Some(size) => {
                require!(groups.shape[1] == size, "replica_groups have size {}, not {size}", groups.shape[1]);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// The numbers of an attribute but for those to skip; none may come twice.
fn distinct_numbers(groups: &Matrix<'_>, skip: impl Fn(i64) -> bool) -> Result<HashSet<i64>, OpError> {
    let mut seen = HashSet::new();
    // A splat says all that it has to say in two elements, however many there are.
    let count = if groups.is_splat() { 2 } else { groups.len() };
    for number in groups.values().take(count).filter(|&number| !skip(number)) {
        require!(seen.insert(number), "replica_groups hold {number} twice");
    }
    Ok(seen)
}

/// With `use_global_device_ids` there are groups, and a channel with a positive number.
fn verify_global_device_ids(op: &OpView<'_, '_>) -> Verdict {
    if op.attribute("use_global_device_ids").is_none() {
        return Ok(());
    }
    let empty = replica_groups(op)?.is_some_and(|groups| groups.is_empty());
    require!(!empty, "use_global_device_ids is set, but replica_groups are empty");
    let channel = channel(op)?;
    require!(channel > 0, "use_global_device_ids is set, but the channel {channel} is not positive");
    Ok(())
}

/// Number of the op's channel, 0 where it has none.
fn channel(op: &OpView<'_, '_>) -> Result<i64, OpError> {
    Ok(op.optional::<ChannelHandle>("channel_handle")?.map_or(0, ChannelHandle::handle))
}

/// The mesh that `replica_groups` names exists.
fn verify_mesh(op: &OpView<'_, '_>, symbol: Attribute<'_>, target: Option<OperationRef<'_, '_>>) -> Verdict {
    let groups = op.optional::<ReplicaGroupMeshAxes>("replica_groups");
    let mesh = groups.ok().flatten().and_then(ReplicaGroupMeshAxes::mesh);
    require!(
        target.is_some() || mesh != Some(symbol),
        "replica_groups name the mesh {symbol}, which does not exist"
    );
    Ok(())
}

fn verify_all_gather(op: &OpView<'_, '_>) -> Verdict {
    GroupRule::default().verify(op)?;
    if op.attribute("use_global_device_ids").is_some() {
        let channel = channel(op)?;
        require!(channel >= 0, "use_global_device_ids is set, but the channel {channel} is negative");
    }
    require!(
        op.operand_count() == op.result_count(),
        "there are {} operands, but {} results",
        op.operand_count(),
        op.result_count()
    );
    let dimension = op.integer("all_gather_dim")?;
    (0..op.operand_count()).try_for_each(|index| verify_gathered(op, index, dimension))
}

/// A result of `all_gather` is a whole number of operands side by side.
fn verify_gathered(op: &OpView<'_, '_>, index: usize, dimension: i64) -> Verdict {
    let (operand, result) = (op.operand_tensor(index)?, op.result_tensor(index)?);
    require!(
        operand.element == result.element,
        "result #{index} has element type {}, but its operand has {}",
        result.element,
        operand.element
    );
    let dimension = one_in_range("all_gather_dim", dimension, operand.rank(), &format!("operand #{index}"))?;
    same_rank(&operand, &result)?;
    same_other_dimensions(&operand, &result, dimension)?;
    let (size, gathered) = (operand.shape[dimension], result.shape[dimension]);
    require!(size != 0, "operand #{index} has size 0 in the gathered dimension {dimension}");
    require!(
        !is_static(size) || !is_static(gathered) || gathered % size == 0,
        "result #{index} has size {gathered} in dimension {dimension}, not a multiple of {size}"
    );
    Ok(())
}

fn same_rank(operand: &Tensor<'_>, result: &Tensor<'_>) -> Verdict {
    require!(
        operand.rank() == result.rank(),
        "operand has rank {}, but result has {}",
        operand.rank(),
        result.rank()
    );
    Ok(())
}

/// All sizes but that of one dimension are the same at run time.
fn same_other_dimensions(operand: &Tensor<'_>, result: &Tensor<'_>, dimension: usize) -> Verdict {
    for (index, (&from, &to)) in operand.shape.iter().zip(result.shape).enumerate() {
        require!(
            index == dimension || compatible_size(from, to),
            "operand has size {from} in dimension {index}, but result has {to}"
        );
    }
    Ok(())
}

/// The body of a reduction across devices: it combines scalars.
fn verify_combiner(op: &OpView<'_, '_>, operand: &Tensor<'_>) -> Verdict {
    let element = scalar_of(operand)?;
    Reducer { region: 0, inputs: &[element], initial: &[element], window: &[] }.verify(op)
}

fn verify_all_reduce(op: &OpView<'_, '_>) -> Verdict {
    GroupRule { uneven: true, size: None }.verify(op)?;
    verify_global_device_ids(op)?;
    (0..op.operand_count()).try_for_each(|index| verify_combiner(op, &op.operand_tensor(index)?))
}

fn infer_all_reduce<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    if op.operand_count() == 0 {
        return Ok(Vec::new());
    }
    let element = accumulator_elements(op, 0, 1)?[0];
    // A bound is no part of what is inferred: the result may be larger than the operand's bound says.
    let result = |index| Ok(Tensor::get(op.operand_tensor(index)?.shape, element, None));
    (0..op.operand_count()).map(result).collect()
}

fn verify_reduce_scatter(op: &OpView<'_, '_>) -> Verdict {
    GroupRule::default().verify(op)?;
    verify_global_device_ids(op)?;
    let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    verify_combiner(op, &operand)?;
    let dimension =
        one_in_range("scatter_dimension", op.integer("scatter_dimension")?, operand.rank(), "operand")?;
    same_rank(&operand, &result)?;
    let (size, scattered) = (operand.shape[dimension], result.shape[dimension]);
    if !is_static(size) || !is_static(scattered) {
        // Nothing more is asked of a result before both sizes are known, not even its element type.
        return Ok(());
    }
    for (name, size) in [("operand", size), ("result", scattered)] {
        require!(size != 0, "{name} has size 0 in the scattered dimension {dimension}");
    }
    require!(
        size % scattered == 0,
        "operand has size {size} in dimension {dimension}, not a multiple of the {scattered} of the result"
    );
    same_other_dimensions(&operand, &result, dimension)?;
    let element = accumulator_elements(op, 0, 1)?[0];
    require!(
        result.element == element,
        "result has element type {}, but the body returns {element}",
        result.element
    );
    Ok(())
}

fn infer_all_to_all<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let split_count = op.integer("split_count")?;
    require!(split_count > 0, "split_count = {split_count} is not positive");
    GroupRule { uneven: false, size: Some(split_count) }.verify(op)?;
    let (split, concat) = (op.integer("split_dimension")?, op.integer("concat_dimension")?);
    (0..op.operand_count())
        .map(|index| exchanged(&op.operand_tensor(index)?, split, concat, split_count))
        .collect()
}

/// The type of a tensor split in one dimension and put together in another.
fn exchanged<'c>(
    operand: &Tensor<'c>,
    split: i64,
    concat: i64,
    count: i64,
) -> Result<melior::ir::Type<'c>, OpError> {
    let split = one_in_range("split_dimension", split, operand.rank(), "the operand")?;
    let concat = one_in_range("concat_dimension", concat, operand.rank(), "the operand")?;
    let mut dims = operand.dims();
    let size = dims[split].size;
    require!(
        !is_static(size) || size % count == 0,
        "dimension {split} has size {size}, which does not split into {count} parts"
    );
    dims[split] = scale(dims[split], |size| Some(size / count))?;
    dims[concat] = scale(dims[concat], |size| size.checked_mul(count))?;
    Tensor::try_of_dims(&dims, operand.element)
}

/// Size and bound of a dimension, changed alike where they are known.
fn scale(dim: Dim, change: impl Fn(i64) -> Option<i64>) -> Result<Dim, OpError> {
    let change = |size| {
        if !is_static(size) {
            return Ok(size);
        }
        change(size).ok_or_else(|| OpError(format!("a dimension of size {size} would become too large")))
    };
    Ok(Dim { size: change(dim.size)?, bound: change(dim.bound)? })
}

/// The type of the operand.
fn infer_operand<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(vec![op.operand_type(0)?])
}

fn verify_collective_broadcast(op: &OpView<'_, '_>) -> Verdict {
    same_element(op)?;
    let Some(groups) = replica_groups(op)? else { return Ok(()) };
    let seen = distinct_numbers(&groups, |_| false)?;
    match seen.iter().find(|&&number| number < 0) {
        Some(number) => reject!("replica_groups hold {number}, which is negative"),
        None => Ok(()),
    }
}

fn verify_collective_permute(op: &OpView<'_, '_>) -> Verdict {
    same_element(op)?;
    verify_pairs(op)
}

/// source_target_pairs has one row per pair; no device sends or receives twice.
fn verify_pairs(op: &OpView<'_, '_>) -> Verdict {
    let Some(pairs) = Matrix::read(op, "source_target_pairs")? else { return Ok(()) };
    let [_, 2] = *pairs.shape else {
        reject!("source_target_pairs must have shape Nx2, but has shape {}", display_shape(pairs.shape))
    };
    let (mut sources, mut targets) = (HashSet::new(), HashSet::new());
    for (index, number) in pairs.values().enumerate() {
        let (devices, what) =
            if index % 2 == 0 { (&mut sources, "source") } else { (&mut targets, "target") };
        require!(number >= 0, "source_target_pairs[{}] has the negative {what} {number}", index / 2);
        require!(devices.insert(number), "source_target_pairs[{}] has the {what} {number} again", index / 2);
    }
    Ok(())
}

fn verify_cross_replica_sum(op: &OpView<'_, '_>) -> Verdict {
    compatible_elements(op)?;
    let (operand, result) = (op.operand_type(0)?, op.result_type(0)?);
    require!(compatible_result(operand, result), "result has type {result}, but operand has {operand}");
    Ok(())
}
