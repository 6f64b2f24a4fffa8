// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `ragged_dot`.

use super::attrs::RaggedDotDimensionNumbers;
use crate::rules::{Rules, Table};
use crate::types::{Tensor, compatible_shape, compatible_size, display_shape};
use crate::view::{OpError, OpView, Verdict};
use crate::{reject, require};
use melior::ir::attribute::ArrayAttribute;

/// Rules of `ragged_dot`.
pub const TABLE: Table = &[("chlo.ragged_dot", Rules::NONE.verify(verify))];

/// Dimensions of one operand by role, known to be in range and to have one role at most.
struct Roles {
    batching: Vec<usize>,
    contracting: Vec<usize>,
    /// The ragged dimension of the left operand, the group dimension of the right one.
    special: Vec<usize>,
    /// All that have none of the roles above that this operand's dimensions exclude each other from.
    free: Vec<usize>,
}

impl Roles {
    /// Reads the roles of `side`; the special one may be a batching or contracting dimension as well if `shared`.
    fn new(
        side: &str,
        rank: usize,
        [batching, contracting, special]: [&[i64]; 3],
        special_name: &str,
        shared: bool,
    ) -> Result<Self, OpError> {
        let in_range = |role: &str, list: &[i64]| -> Result<Vec<usize>, OpError> {
            let mut dims = Vec::with_capacity(list.len());
            for &dim in list {
                let Some(index) = usize::try_from(dim).ok().filter(|&index| index < rank) else {
                    reject!(
                        "{side}_{role}_dimensions has {dim}, which is not a dimension of {side} of rank {rank}"
                    )
                };
                dims.push(index);
            }
            Ok(dims)
        };
        let roles = [
            ("batching", in_range("batching", batching)?),
            ("contracting", in_range("contracting", contracting)?),
            (special_name, in_range(special_name, special)?),
        ];
        let mut taken = vec![false; rank];
        for (role, dims) in &roles[..if shared { 2 } else { 3 }] {
            for &dim in dims {
                require!(
                    !taken[dim],
                    "dimension {dim} of {side} has another role besides {role}, or has it twice"
                );
                taken[dim] = true;
            }
        }
        let free = (0..rank).filter(|&dim| !taken[dim]).collect();
        let [(_, batching), (_, contracting), (_, special)] = roles;
        Ok(Self { batching, contracting, special, free })
    }
}

/// Sizes of some dimensions.
fn sizes(tensor: &Tensor<'_>, dims: &[usize]) -> Vec<i64> {
    dims.iter().map(|&dim| tensor.shape[dim]).collect()
}

/// Rejects paired dimensions whose sizes differ.
fn same_sizes(
    role: &str,
    (lhs, lhs_dims): (&Tensor<'_>, &[usize]),
    (rhs, rhs_dims): (&Tensor<'_>, &[usize]),
) -> Verdict {
    require!(
        lhs_dims.len() == rhs_dims.len(),
        "lhs has {} {role} dimensions, but rhs has {}",
        lhs_dims.len(),
        rhs_dims.len()
    );
    for (&left, &right) in lhs_dims.iter().zip(rhs_dims) {
        require!(
            compatible_size(lhs.shape[left], rhs.shape[right]),
            "{role} dimension {left} of lhs has size {}, but its partner {right} of rhs has size {}",
            lhs.shape[left],
            rhs.shape[right]
        );
    }
    Ok(())
}

fn verify(op: &OpView<'_, '_>) -> Verdict {
    let (lhs, rhs, group_sizes) = (op.operand_tensor(0)?, op.operand_tensor(1)?, op.operand_tensor(2)?);
    let numbers = op.required_attribute("ragged_dot_dimension_numbers")?;
    let Some(numbers) = RaggedDotDimensionNumbers::view(numbers) else {
        reject!("ragged_dot_dimension_numbers must be #chlo.ragged_dot, but is {numbers}")
    };
    if let Some(config) =
        op.attribute("precision_config").and_then(|config| ArrayAttribute::try_from(config).ok())
    {
        require!(config.len() <= 2, "precision_config has {} entries for 2 operands", config.len());
    }

    let left = Roles::new(
        "lhs",
        lhs.rank(),
        [numbers.lhs_batching(), numbers.lhs_contracting(), numbers.lhs_ragged()],
        "ragged",
        true,
    )?;
    let right = Roles::new(
        "rhs",
        rhs.rank(),
        [numbers.rhs_batching(), numbers.rhs_contracting(), numbers.rhs_group()],
        "group",
        false,
    )?;
    same_sizes("batching", (&lhs, &left.batching), (&rhs, &right.batching))?;
    same_sizes("contracting", (&lhs, &left.contracting), (&rhs, &right.contracting))?;
    let &[ragged] = left.special.as_slice() else {
        reject!("lhs has {} ragged dimensions, but must have one", left.special.len())
    };

    let position = |dims: &[usize]| dims.iter().position(|&dim| dim == ragged);
    let (contracting_at, batching_at) = (position(&left.contracting), position(&left.batching));
    let group_count = if contracting_at.is_some() || batching_at.is_some() { 0 } else { 1 };
    require!(
        right.special.len() == group_count,
        "rhs has {} group dimensions, but ragged dimension {ragged} of lhs asks for {group_count}",
        right.special.len()
    );

    // The groups may be the same everywhere, or given for each place in front of the ragged dimension.
    let outer: Vec<usize> = match (batching_at, contracting_at) {
        (Some(at), _) => left.batching[..at].to_vec(),
        (_, Some(at)) => left.batching.iter().chain(&left.contracting[..at]).copied().collect(),
        _ => {
            let free = left.free.iter().filter(|&&dim| dim < ragged);
            left.batching.iter().chain(free).copied().collect()
        }
    };
    let Some(&groups) = group_sizes.shape.last() else {
        reject!("group_sizes must have a dimension, but is of rank 0")
    };
    if group_sizes.rank() != 1 {
        let mut expected = sizes(&lhs, &outer);
        expected.push(groups);
        require!(
            compatible_shape(&expected, group_sizes.shape),
            "group_sizes has shape [{}], but must be of rank 1 or of shape [{}]",
            display_shape(group_sizes.shape),
            display_shape(&expected)
        );
    }
    if let &[group] = right.special.as_slice() {
        require!(
            compatible_size(groups, rhs.shape[group]),
            "group dimension {group} of rhs has size {}, but group_sizes holds {groups} groups",
            rhs.shape[group]
        );
    }

    let mut shape = Vec::new();
    if contracting_at.is_some() {
        shape.push(groups);
    }
    shape.extend(sizes(&lhs, &left.batching));
    shape.extend(sizes(&lhs, &left.free));
    shape.extend(sizes(&rhs, &right.free));
    let result = op.result_tensor(0)?;
    require!(
        compatible_shape(&shape, result.shape),
        "result has shape [{}], but the operands make [{}]",
        display_shape(result.shape),
        display_shape(&shape)
    );
    Ok(())
}
