// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops that run regions, tuples, tokens, and what keeps computations apart.

use super::attrs::TokenType;
use super::constraints::{argument_types, block, display_types, returned_types, same_shape};
use crate::dims::least_specific;
use crate::quant::{Number, unsigned};
use crate::rules::{Rules, Table};
use crate::types::{Tensor, compatible_result};
use crate::view::{Inferred, OpError, OpView, Verdict};
use crate::{reject, require};
use melior::ir::Type;
use melior::ir::r#type::TupleType;

/// Rules of control flow.
pub const TABLE: Table = &[
    ("stablehlo.after_all", Rules::NONE.infer(infer_token)),
    ("stablehlo.case", Rules::NONE.infer(infer_branches)),
    ("stablehlo.create_token", Rules::NONE.infer(infer_token)),
    ("stablehlo.get_tuple_element", Rules::NONE.infer(infer_get_tuple_element)),
    ("stablehlo.if", Rules::NONE.infer(infer_branches)),
    ("stablehlo.map", Rules::NONE.verify(same_shape).infer(infer_map)),
    (
        "stablehlo.optimization_barrier",
        Rules::NONE.verify(verify_optimization_barrier).infer(infer_operands).is_speculatable(|_| true),
    ),
    ("stablehlo.partition_id", Rules::NONE.infer(infer_id)),
    ("stablehlo.replica_id", Rules::NONE.infer(infer_id)),
    ("stablehlo.tuple", Rules::NONE.infer(infer_tuple)),
    ("stablehlo.while", Rules::NONE.verify(verify_while).infer(infer_operands)),
];

/// A token.
fn infer_token<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(vec![TokenType::new(op.context()).into()])
}

/// An unsigned number of 32 bits.
fn infer_id<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(vec![Tensor::get(&[], unsigned(op.context(), 32), None)])
}

/// The types of all operands.
fn infer_operands<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(op.operand_types())
}

fn infer_tuple<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(vec![crate::ffi::tuple_of(op.context(), &op.operand_types())])
}

/// The element exists (get_tuple_element_c1).
fn infer_get_tuple_element<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let ty = op.operand_type(0)?;
    let Ok(tuple) = TupleType::try_from(ty) else { reject!("operand must be a tuple, but is {ty}") };
    let index = op.integer("index")?;
    let element = usize::try_from(index).ok().and_then(|index| tuple.r#type(index).ok());
    element
        .map(|ty| vec![ty])
        .ok_or_else(|| OpError(format!("index = {index} exceeds a tuple of {} elements", tuple.type_count())))
}

/// Results are the operands (optimization_barrier_c1).
fn verify_optimization_barrier(op: &OpView<'_, '_>) -> Verdict {
    for index in 0..op.operand_count().max(op.result_count()) {
        let (operand, result) = (op.operand_type(index)?, op.result_type(index)?);
        require!(operand == result, "result #{index} has type {result}, but operand #{index} has {operand}");
    }
    Ok(())
}

/// Each branch takes nothing and returns what the first one does, but for what shapes are known (if_c1 to if_c3,
/// case_c1 to case_c4).
fn infer_branches<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let chooser = op.operand_tensor(0)?;
    require!(chooser.rank() == 0, "operand #0 has rank {}, not 0", chooser.rank());
    require!(op.region_count() != 0, "has no branch");
    let mut branches: Vec<Vec<Type<'c>>> = Vec::with_capacity(op.region_count());
    for index in 0..op.region_count() {
        let branch = block(op, index)?;
        let arguments = argument_types(branch).len();
        require!(arguments == 0, "branch #{index} takes {arguments} arguments, not 0");
        let returned = returned_types(branch);
        if let Some(first) = branches.first() {
            require!(
                all_compatible(first, &returned),
                "branch #{index} returns {}, but branch #0 returns {}",
                display_types(&returned),
                display_types(first)
            );
        }
        branches.push(returned);
    }
    let results = branches.first().map_or(0, Vec::len);
    (0..results).map(|index| returned_by_any(&branches, index)).collect()
}

/// The type of a result of which each branch returns a version.
fn returned_by_any<'c>(branches: &[Vec<Type<'c>>], index: usize) -> Result<Type<'c>, OpError> {
    let types: Vec<Type<'c>> = branches.iter().filter_map(|types| types.get(index).copied()).collect();
    match types.iter().map(|&ty| Tensor::new(ty)).collect::<Option<Vec<_>>>() {
        Some(tensors) => least_specific(&tensors).map_err(OpError),
        None => Ok(types[0]),
    }
}

/// Whether two lists of types are as long and pairwise compatible.
fn all_compatible(left: &[Type<'_>], right: &[Type<'_>]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(&left, &right)| compatible_result(left, right))
}

/// The condition takes the operands and returns one bool, the body takes and returns the operands (while_c1 to while_c3).
fn verify_while(op: &OpView<'_, '_>) -> Verdict {
    let (condition, body) = (block(op, 0)?, block(op, 1)?);
    let operands = op.operand_types();
    for (what, types) in [
        ("cond takes", argument_types(condition)),
        ("body takes", argument_types(body)),
        ("body returns", returned_types(body)),
    ] {
        require!(
            all_compatible(&operands, &types),
            "{what} {}, but the operands are {}",
            display_types(&types),
            display_types(&operands)
        );
    }
    let returned = returned_types(condition);
    let is_bool = |ty: &Type<'_>| {
        Tensor::new(*ty).is_some_and(|tensor| {
            tensor.rank() == 0 && matches!(Number::of(tensor.element), Number::Integer { width: 1, .. })
        })
    };
    require!(
        matches!(&returned[..], [one] if is_bool(one)),
        "cond returns {}, not one tensor<i1>",
        display_types(&returned)
    );
    Ok(())
}

/// The computation takes a scalar of each operand and returns one; `dimensions` lists all of them (map_c1 to map_c4).
fn infer_map<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let first = op.operand_tensor(0)?;
    let computation = block(op, 0)?;
    let arguments = argument_types(computation);
    require!(
        arguments.len() == op.operand_count(),
        "computation takes {} arguments, but there are {} operands",
        arguments.len(),
        op.operand_count()
    );
    for (index, &ty) in arguments.iter().enumerate() {
        let operand = op.operand_tensor(index)?;
        let Some(argument) = Tensor::new(ty).filter(|argument| argument.rank() == 0) else {
            reject!("argument #{index} of computation is {ty}, not a tensor of rank 0")
        };
        require!(
            argument.element == operand.element,
            "argument #{index} of computation has element type {}, but operand #{index} has {}",
            argument.element,
            operand.element
        );
        let dimensions = op.i64_array("dimensions")?;
        require!(
            dimensions.len() == operand.rank(),
            "dimensions has {} entries, but operand #{index} has rank {}",
            dimensions.len(),
            operand.rank()
        );
        for (place, &dimension) in dimensions.iter().enumerate() {
            require!(
                usize::try_from(dimension) == Ok(place),
                "dimensions[{place}] = {dimension}, but all dimensions must be listed in order"
            );
        }
    }
    let returned = returned_types(computation);
    let [returned] = returned[..] else { reject!("computation returns {} values, not 1", returned.len()) };
    match Tensor::new(returned).filter(|returned| returned.rank() == 0) {
        Some(returned) => Ok(vec![Tensor::get(first.shape, returned.element, None)]),
        None => reject!("computation returns {returned}, not a tensor of rank 0"),
    }
}
