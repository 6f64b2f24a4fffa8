// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `manual_computation` and `named_computation`.

use super::attrs::{ManualAxes, TensorSharding, TensorShardingPerValue, View};
use super::mesh::Axes;
use super::sharding::{self, manual_axes_around, mesh_of};
use crate::ffi;
use crate::rules::{Rules, Table};
use crate::types::{DYNAMIC, Tensor};
use crate::view::{OpError, OpView, Verdict};
use crate::{reject, require};
use melior::ir::attribute::StringAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, OperationRef, RegionLike, Type, ValueLike};

/// Rules of the ops with regions.
pub const TABLE: Table = &[
    ("sdy.manual_computation", Rules::NONE.verify(verify_manual_computation)),
    ("sdy.named_computation", Rules::NONE.verify(verify_named_computation)),
];

/// Types that a region takes and returns.
struct Body<'c> {
    arguments: Vec<Type<'c>>,
    results: Vec<Type<'c>>,
}

impl<'c> Body<'c> {
    fn new<'a>(view: &OpView<'c, 'a>) -> Result<Self, OpError>
    where
        'c: 'a,
    {
        let region = view.region(0)?;
        let Some(block) = region.first_block() else { reject!("has an empty body") };
        let mut arguments = Vec::with_capacity(block.argument_count());
        for index in 0..block.argument_count() {
            let argument = block.argument(index).map_err(|error| OpError(error.to_string()))?;
            arguments.push(argument.r#type());
        }
        let Some(terminator) = block.terminator() else {
            reject!("has a body that does not end with sdy.return")
        };
        let name = ffi::op_name(terminator);
        require!(name == "sdy.return", "has a body that ends with {name} rather than sdy.return");
        let results = terminator.operands().map(|value| value.r#type()).collect();
        Ok(Self { arguments, results })
    }
}

fn result_types<'c, 'a>(view: &OpView<'c, 'a>) -> Result<Vec<Type<'c>>, OpError>
where
    'c: 'a,
{
    (0..view.result_count()).map(|index| view.result_type(index)).collect()
}

fn shardings<'c, 'a>(view: &OpView<'c, 'a>, name: &str) -> Option<TensorShardingPerValue<'c>>
where
    'c: 'a,
{
    view.attribute(name).and_then(TensorShardingPerValue::view)
}

fn operation<'c, 'a>(view: &OpView<'c, 'a>) -> Result<OperationRef<'c, 'a>, OpError>
where
    'c: 'a,
{
    view.operation().ok_or_else(|| OpError("has no place in a module yet".into()))
}

fn verify_named_computation(view: &OpView<'_, '_>) -> Verdict {
    let op = operation(view)?;
    let body = Body::new(view)?;
    let (operands, results) = (view.operand_types(), result_types(view)?);
    same_types("argument", "operand", &body.arguments, &operands)?;
    same_types("returned value", "result", &body.results, &results)?;
    for (name, types) in [("in_shardings", &operands), ("out_shardings", &results)] {
        if let Some(shardings) = shardings(view, name) {
            sharding::verify_per_value(op, shardings, types, name)?;
        }
    }
    Ok(())
}

/// Rejects a body whose values are not of the types of the op's.
fn same_types(inner: &str, outer: &str, inside: &[Type<'_>], outside: &[Type<'_>]) -> Verdict {
    require!(
        inside.len() == outside.len(),
        "has {} {inner}s in its body for {} {outer}s",
        inside.len(),
        outside.len()
    );
    for (index, (inside, outside)) in inside.iter().zip(outside).enumerate() {
        require!(
            inside == outside,
            "{inner} #{index} of the body is of type {inside}, but {outer} #{index} is of type {outside}"
        );
    }
    Ok(())
}

fn verify_manual_computation(view: &OpView<'_, '_>) -> Verdict {
    let op = operation(view)?;
    let body = Body::new(view)?;
    let (operands, results) = (view.operand_types(), result_types(view)?);
    let Some(manual) = view.attribute("manual_axes").and_then(ManualAxes::view) else {
        reject!("attribute 'manual_axes' must be a list of axis names")
    };
    let manual: Vec<&str> =
        manual.names().iter().map(|name: StringAttribute| ffi::string_value(name)).collect();
    let around = manual_axes_around(op);
    if let Some(axis) = manual.iter().find(|axis| around.contains(axis)) {
        reject!("manual_axes: a sdy.manual_computation around is manual on axis \"{axis}\" already");
    }

    let sides = [
        ("in_shardings", "operand", "argument", &operands, &body.arguments),
        ("out_shardings", "result", "returned value", &results, &body.results),
    ];
    let mut mesh: Option<Axes<'_>> = None;
    for (name, outer, inner, global, local) in sides {
        let Some(shardings) = shardings(view, name) else {
            reject!("attribute '{name}' must hold one sharding per value")
        };
        sharding::verify_per_value(op, shardings, global, name)?;
        require!(
            global.len() == local.len(),
            "has {} {inner}s in its body for {} {outer}s",
            local.len(),
            global.len()
        );
        if manual.is_empty() {
            continue;
        }
        for (index, sharding) in shardings.shardings().iter().enumerate() {
            let other = mesh_of(op, sharding)?;
            if other.axes().is_empty() {
                continue;
            }
            match &mesh {
                None => mesh = Some(Axes::new(other)),
                Some(mesh) => require!(
                    mesh.mesh == other,
                    "{name}[{index}] is on mesh {other}, but others are on mesh {}",
                    mesh.mesh
                ),
            }
        }
    }

    if operands.is_empty() && results.is_empty() {
        return Ok(());
    }
    for axis in &manual {
        let known = mesh.as_ref().is_some_and(|mesh| mesh.contains(axis));
        require!(known, "manual_axes: no mesh of in_shardings and out_shardings has axis \"{axis}\"");
    }

    for (name, _, inner, global, local) in sides {
        let Some(shardings) = shardings(view, name) else { continue };
        for (index, ((sharding, &global), &local)) in
            shardings.shardings().iter().zip(global).zip(local).enumerate()
        {
            let (global, local) = (only_element(global), only_element(local));
            let expected = local_type(global, sharding, mesh.as_ref(), &manual)
                .map_err(|OpError(message)| OpError(format!("{name}[{index}] {message}")))?;
            require!(
                expected == local,
                "{inner} #{index} of the body is of type {local}, but {name}[{index}] cuts {global} into {expected}"
            );
        }
    }
    Ok(())
}

/// The type of the only element of a tuple, or the type itself.
fn only_element(ty: Type<'_>) -> Type<'_> {
    match ffi::as_tuple(ty) {
        Some(tuple) if tuple.type_count() == 1 => tuple.r#type(0).unwrap_or(ty),
        _ => ty,
    }
}

/// What one device holds of a value along the manual axes.
fn local_type<'c>(
    global: Type<'c>,
    sharding: TensorSharding<'c>,
    mesh: Option<&Axes<'c>>,
    manual: &[&str],
) -> Result<Type<'c>, OpError> {
    let Some(tensor) = Tensor::new(global) else { return Ok(global) };
    let mut shape = tensor.shape.to_vec();
    for (index, dim) in sharding.dims().iter().enumerate() {
        let mut pieces = 1i64;
        let mut free = None;
        for axis in dim.axes().iter() {
            if !manual.contains(&axis.name()) {
                free = free.or(Some(axis));
                continue;
            }
            if let Some(free) = free {
                reject!("cuts dimension {index} along manual axis {axis} after free axis {free}");
            }
            let Some(mesh) = mesh else { continue };
            pieces = pieces.saturating_mul(mesh.resolve(axis)?.size);
        }
        let Some(size) = shape.get_mut(index).filter(|size| **size != DYNAMIC) else { continue };
        require!(
            *size % pieces == 0,
            "cuts dimension {index} of size {size} into {pieces} pieces along manual axes, which does not come out even"
        );
        *size /= pieces;
    }
    Ok(ffi::ranked_tensor(&shape, tensor.element, tensor.encoding()))
}
