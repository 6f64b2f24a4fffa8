// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The ops by which users and propagation mark values.

use super::attrs::{TensorSharding, View};
use super::ffi;
use super::sharding::{self, at};
use crate::first::same_types;
use crate::rules::{Folded, Rules, Table};
use crate::types::is_static;
use crate::view::{OpView, Verdict};
use crate::{ffi as common, reject, require};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, AttributeLike, BlockLike, OperationRef, Value};

/// Operand and result are of one type.
const SAME_TYPES: Rules = Rules::NONE.verify_first(same_types);

/// Rules of the marking ops.
pub const TABLE: Table = &[
    ("sdy.sharding_constraint", SAME_TYPES.verify(verify_sharding)),
    ("sdy.reshard", SAME_TYPES.verify(verify_sharding).fold(fold_reshard)),
    ("sdy.propagation_barrier", SAME_TYPES.verify(verify_propagation_barrier)),
    ("sdy.constant", Rules::NONE.verify_first(verify_constant)),
    ("sdy.data_flow_edge", SAME_TYPES.verify(verify_data_flow_edge)),
    ("sdy.func_data_flow_edge", SAME_TYPES.verify(verify_func_data_flow_edge)),
];

fn verify_sharding(view: &OpView<'_, '_>) -> Verdict {
    let (Some(op), Some(attribute)) = (view.operation(), view.attribute("sharding")) else { return Ok(()) };
    let Some(sharding) = TensorSharding::view(attribute) else {
        reject!("attribute 'sharding' must be a sharding, but is {attribute}")
    };
    at("sharding", sharding::verify(op, sharding, view.result_type(0)?))
}

fn verify_constant(view: &OpView<'_, '_>) -> Verdict {
    let (Some(value), result) = (view.attribute("value"), view.result_type(0)?) else { return Ok(()) };
    // What is no attribute of elements has no type to compare, and is ODS's to reject.
    require!(
        !value.is_elements() || value.r#type() == result,
        "value is of type {}, but the result of type {result}",
        value.r#type()
    );
    Ok(())
}

/// `BOTH` is the last of the four directions.
const BOTH: i64 = 3;

fn verify_propagation_barrier(view: &OpView<'_, '_>) -> Verdict {
    require!(
        view.integer("allowed_direction")? != BOTH,
        "allowed_direction is BOTH, which bars nothing; leave the op out"
    );
    Ok(())
}

/// What the owner of an edge must be like.
fn verify_edge_owner(view: &OpView<'_, '_>, value: Value<'_, '_>) -> Verdict {
    let ty = view.result_type(0)?;
    let is_static_shape = common::shape(ty).is_some_and(|shape| shape.iter().all(|&size| is_static(size)));
    require!(is_static_shape, "needs a value of static shape, but its operand is of type {ty}");
    require!(ffi::has_one_use(value), "must be the only user of its operand");
    Ok(())
}

fn verify_data_flow_edge(view: &OpView<'_, '_>) -> Verdict {
    let owner = view.operand(0)?;
    verify_edge_owner(view, owner)?;
    if let Some(result) = common::as_result(owner) {
        let name = common::op_name(result.owner());
        let carries_edges = matches!(name, "sdy.named_computation" | "sdy.manual_computation");
        require!(!name.starts_with("sdy.") || carries_edges, "must not be on a result of {name}");
    }
    verify_sharding(view)
}

fn verify_func_data_flow_edge(view: &OpView<'_, '_>) -> Verdict {
    let owner = view.operand(0)?;
    verify_edge_owner(view, owner)?;
    if let Some(result) = common::as_result(owner) {
        let op = result.owner();
        require!(ffi::is_call(op), "must be on a result of a call, but is on one of {}", common::op_name(op));
    } else if let Some(argument) = common::as_block_argument(owner) {
        let is_function_argument = argument.owner().parent_operation().is_some_and(ffi::is_function);
        require!(is_function_argument, "must be on an argument of a function");
    }
    Ok(())
}

/// Resharding what was just resharded the same way.
fn fold_reshard<'c, 'a>(
    op: OperationRef<'c, 'a>,
    _operands: &[Option<Attribute<'c>>],
) -> Option<Vec<Folded<'c, 'a>>> {
    let operand = op.operand(0).ok()?;
    let before = common::as_result(operand)?.owner();
    let same = common::op_name(before) == "sdy.reshard"
        && common::attribute_of(before, "sharding") == common::attribute_of(op, "sharding");
    same.then(|| vec![Folded::Value(operand)])
}
