// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The functions of `slimhlo-c/SdyHooks.h`: verification of `sdy.*` attributes on ops of any dialect.

use super::attrs::{OpShardingRule, PropagationEdges, TensorSharding, TensorShardingPerValue, View};
use super::sharding::{self, SHARDING, at};
use super::{edges, rule};
use crate::hooks::{FAILURE, SUCCESS, decide};
use crate::view::{OpView, Verdict};
use crate::{ffi, reject};
use melior::ir::attribute::ArrayAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, Type, ValueLike};
use mlir_sys::{MlirAttribute, MlirLogicalResult, MlirOperation, MlirStringRef, MlirType};

const RULE: &str = "sdy.sharding_rule";
const EDGES: &str = "sdy.propagation_edges";
const EDGES_PER_VALUE: [&str; 2] = ["sdy.result_propagation_edges", "sdy.block_arg_propagation_edges"];

/// Verifies the attribute `name` of an op.
fn verify_operation_attribute<'c>(op: OperationRef<'c, '_>, name: &str, attribute: Attribute<'c>) -> Verdict {
    match name {
        SHARDING => {
            let Some(shardings) = TensorShardingPerValue::view(attribute) else {
                reject!("attribute '{name}' must be #sdy.sharding_per_value, but is {attribute}")
            };
            let types: Vec<Type<'c>> = op.results().map(|result| result.r#type()).collect();
            sharding::verify_per_value(op, shardings, &types, name)
        }
        RULE => {
            let Some(rule) = OpShardingRule::view(attribute) else {
                reject!("attribute '{name}' must be #sdy.op_sharding_rule, but is {attribute}")
            };
            at(name, rule::verify(op, rule))
        }
        EDGES => {
            let Some(edges) = PropagationEdges::view(attribute) else {
                reject!("attribute '{name}' must be #sdy.propagation_edges, but is {attribute}")
            };
            at(name, edges::verify(op, edges))
        }
        name if EDGES_PER_VALUE.contains(&name) => {
            let all_edges = ArrayAttribute::try_from(attribute).is_ok_and(|array| {
                (0..array.len()).all(|index| {
                    array.element(index).is_ok_and(|edges| PropagationEdges::view(edges).is_some())
                })
            });
            if !all_edges {
                reject!("attribute '{name}' must be an array of #sdy.propagation_edges, but is {attribute}");
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Verifies the attribute `name` of an argument or result of a function.
fn verify_value_attribute<'c>(
    op: OperationRef<'c, '_>,
    place: &str,
    ty: Option<Type<'c>>,
    name: &str,
    attribute: Attribute<'c>,
) -> Verdict {
    if name != SHARDING {
        return Ok(());
    }
    let Some(sharding) = TensorSharding::view(attribute) else {
        reject!("attribute '{name}' of {place} must be #sdy.sharding, but is {attribute}")
    };
    let Some(ty) = ty else { reject!("has attribute '{name}' on {place}, which is not there") };
    at(&format!("{name} of {place}"), sharding::verify(op, sharding, ty))
}

/// See `SdyHooks.h`.
///
/// # Safety
/// All handles must be live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloSdyVerifyOperationAttribute(
    op: MlirOperation,
    name: MlirStringRef,
    attribute: MlirAttribute,
) -> MlirLogicalResult {
    // SAFETY: given by the caller; nothing made here outlives the call.
    let (op, name, attribute) =
        unsafe { (OperationRef::from_raw(op), ffi::text(name), Attribute::from_raw(attribute)) };
    decide(&OpView::Op(op), || verify_operation_attribute(op, name, attribute)).map_or(FAILURE, |()| SUCCESS)
}

/// See `SdyHooks.h`.
///
/// # Safety
/// All handles must be live, except that `ty` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloSdyVerifyValueAttribute(
    op: MlirOperation,
    is_result: bool,
    index: u32,
    ty: MlirType,
    name: MlirStringRef,
    attribute: MlirAttribute,
) -> MlirLogicalResult {
    // SAFETY: given by the caller; nothing made here outlives the call.
    let (op, ty, name, attribute) = unsafe {
        (
            OperationRef::from_raw(op),
            (!ty.ptr.is_null()).then(|| Type::from_raw(ty)),
            ffi::text(name),
            Attribute::from_raw(attribute),
        )
    };
    let place = format!("{} #{index}", if is_result { "result" } else { "argument" });
    decide(&OpView::Op(op), || verify_value_attribute(op, &place, ty, name, attribute))
        .map_or(FAILURE, |()| SUCCESS)
}
