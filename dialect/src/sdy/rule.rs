// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `sdy.sharding_rule`: a rule must fit the values of its op.

use super::attrs::{List, OpShardingRule, TensorMapping};
use crate::ffi;
use crate::types::is_static;
use crate::view::Verdict;
use crate::{reject, require};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, ValueLike};

/// Verifies the rule of an op.
///
/// # Errors
/// What is wrong with it, with the factor or the dimension.
pub fn verify<'c>(op: OperationRef<'c, '_>, rule: OpShardingRule<'c>) -> Verdict {
    let sizes = rule.factor_sizes();
    let mut seen = Seen { operands: vec![false; sizes.len()], results: vec![false; sizes.len()] };
    let operands: Vec<Type<'c>> = op.operands().map(|value| value.r#type()).collect();
    let results: Vec<Type<'c>> = op.results().map(|value| value.r#type()).collect();
    verify_mappings("operand", rule.operand_mappings(), &operands, sizes, &mut seen.operands)?;
    verify_mappings("result", rule.result_mappings(), &results, sizes, &mut seen.results)?;

    for (factor, &size) in sizes.iter().enumerate() {
        require!(
            seen.operands[factor] || seen.results[factor],
            "has factor #{factor} of size {size}, which no operand or result is mapped to"
        );
    }
    let special = [
        ("reduction", rule.reduction_factors()),
        ("need_replication", rule.need_replication_factors()),
        ("permutation", rule.permutation_factors()),
    ];
    let mut kind_of = vec![None; sizes.len()];
    for (kind, factors) in special {
        verify_factor_list(kind, factors, sizes.len())?;
        for &factor in factors {
            let Some(slot) = usize::try_from(factor).ok().and_then(|factor| kind_of.get_mut(factor)) else {
                continue;
            };
            if let Some(other) = slot.replace(kind) {
                reject!("has factor #{factor} among both {other} and {kind} factors");
            }
        }
    }
    verify_factor_list("blocked_propagation", rule.blocked_propagation_factors(), sizes.len())?;
    for &factor in rule.reduction_factors() {
        let in_result = usize::try_from(factor).is_ok_and(|factor| seen.results.get(factor) == Some(&true));
        require!(!in_result, "sums over factor #{factor}, but a result is mapped to it");
    }
    Ok(())
}

/// Which factors values are mapped to.
struct Seen {
    operands: Vec<bool>,
    results: Vec<bool>,
}

fn verify_mappings<'c>(
    side: &str,
    mappings: List<'c, TensorMapping<'c>>,
    types: &[Type<'c>],
    sizes: &[i64],
    seen: &mut [bool],
) -> Verdict {
    require!(mappings.len() == types.len(), "has {} mappings for {} {side}s", mappings.len(), types.len());
    for (value, (mapping, &ty)) in mappings.iter().zip(types).enumerate() {
        let Some(shape) = ffi::shape(ty).filter(|shape| shape.iter().all(|&size| is_static(size))) else {
            reject!("needs {side} #{value} to have a static shape, but it is of type {ty}")
        };
        let dims = mapping.dims();
        require!(
            dims.len() == shape.len(),
            "maps {} dimensions of {side} #{value}, which is of type {ty}",
            dims.len()
        );
        let mut used = vec![false; sizes.len()];
        for (dim, factors) in dims.iter().enumerate() {
            let factors = factors.factor_indices();
            require!(!factors.is_empty(), "maps dimension {dim} of {side} #{value} to no factor");
            for &factor in factors {
                let Some(index) = usize::try_from(factor).ok().filter(|&index| index < sizes.len()) else {
                    reject!("maps {side} #{value} to factor #{factor}, but there are {}", sizes.len())
                };
                require!(!used[index], "maps {side} #{value} to factor #{factor} more than once");
                require!(
                    factors.len() == 1 || sizes[index] != 1,
                    "maps dimension {dim} of {side} #{value} to several factors, of which #{factor} is of size 1"
                );
                used[index] = true;
                seen[index] = true;
            }
        }
    }
    Ok(())
}

fn verify_factor_list(kind: &str, factors: &[i64], count: usize) -> Verdict {
    for &factor in factors {
        let known = usize::try_from(factor).is_ok_and(|factor| factor < count);
        require!(known, "has {kind} factor #{factor}, but there are {count}");
    }
    for pair in factors.windows(2) {
        require!(
            pair[0] < pair[1],
            "has {kind} factors #{} and #{}, which must be in ascending order, each once",
            pair[0],
            pair[1]
        );
    }
    Ok(())
}
