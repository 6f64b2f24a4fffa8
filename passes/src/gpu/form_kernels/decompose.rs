// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops in terms of others, before kernels are formed.

mod batch_norm;
mod copied;
mod custom_call;
mod empty;
mod firsts;
mod jacobi;
mod map;
mod matrices;
mod pads;
mod ragged_dot;
mod reflectors;
mod scan;
mod single_products;
mod triangles;
mod turned_dot;

use crate::framework::{PassContext, PassError};
use crate::ir::{self, Builder};
use crate::rewrite::{ops_named, remove_attribute, uses, walk};
use melior::ir::attribute::{BoolAttribute, FlatSymbolRefAttribute, IntegerAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, attribute_of, op_name};
use slimhlo_dialect::stablehlo::attrs::{ComparisonDirection, ComparisonType};
use slimhlo_dialect::types::{Tensor, is_static};

/// Leaves ops that the formation of kernels knows, as far as there are such.
pub fn decompose<'c>(module: OperationRef<'c, '_>, context: &PassContext<'_>) -> Result<(), PassError<'c>> {
    let builder = Builder::new(module);
    let composites = ops_named(module, "stablehlo.composite");
    let mut calls = !composites.is_empty();
    for op in composites {
        let Some(callee) =
            attribute_of(op, "decomposition").and_then(|name| FlatSymbolRefAttribute::try_from(name).ok())
        else {
            return Err(PassError::at(op, "has no decomposition"));
        };
        builder.set_insertion_point_before(op);
        let operands: Vec<_> = op.operands().collect();
        let types: Vec<_> = op.results().map(|result| result.r#type()).collect();
        let call =
            builder.op_with("func.call", &operands, &[("callee", callee.into())], &types, op.location());
        replace(&builder, op, &call.results().map(Value::from).collect::<Vec<_>>());
    }
    calls |= !ops_named(module, "func.call").is_empty();
    if calls {
        for function in super::functions(module) {
            remove_attribute(function, "no_inline");
        }
        context.run_pipeline(module, "inline,symbol-dce")?;
    }
    scan::scans(module, &builder)?;
    for op in ops_named(module, "stablehlo.map") {
        map::map(&builder, op)?;
    }
    for op in ops_named(module, "stablehlo.transpose") {
        turned_dot::turned_dot(&builder, op)?;
    }
    for op in ops_named(module, "stablehlo.dot_general") {
        single_products::single_product(&builder, op)?;
    }
    let mut found = Vec::new();
    walk(module, |op| {
        let families = [BROADCASTS, BATCH_NORM];
        if families.iter().any(|family| op_name(op).starts_with(family))
            || matches!(
                op_name(op),
                "stablehlo.optimization_barrier"
                    | "sdy.sharding_constraint"
                    | "sdy.propagation_barrier"
                    | "sdy.reshard"
                    | "sdy.constant"
                    | "chlo.constant"
                    | "arith.constant"
                    | "stablehlo.custom_call"
                    | "chlo.top_k"
                    | "chlo.ragged_dot"
                    | "stablehlo.dynamic_update_slice"
                    | "stablehlo.scatter"
                    | "stablehlo.while"
                    | "stablehlo.return"
                    | "func.return"
            )
        {
            found.push(op);
        }
        WalkResult::Advance
    });
    for op in found {
        match op_name(op) {
            "chlo.top_k" => top_k(&builder, op)?,
            "sdy.constant" | "chlo.constant" | "arith.constant" => constant(&builder, op),
            "chlo.ragged_dot" => ragged_dot::ragged_dot(&builder, op)?,
            name if name.starts_with(BROADCASTS) => broadcast_operands(&builder, op),
            name if name.starts_with(BATCH_NORM) => batch_norm::batch_norm(&builder, op)?,
            "stablehlo.custom_call" => custom_call::custom_call(&builder, module, op)?,
            "stablehlo.dynamic_update_slice"
            | "stablehlo.scatter"
            | "stablehlo.while"
            | "stablehlo.return"
            | "func.return" => own_splats(&builder, op),
            _ => {
                let operands: Vec<_> = op.operands().collect();
                replace(&builder, op, &operands);
            }
        }
    }
    for op in ops_named(module, "stablehlo.sort") {
        firsts::shorten(&builder, op)?;
    }
    for op in ops_named(module, "stablehlo.add") {
        pads::joined(&builder, op);
    }
    empty::empty(&builder, module)?;
    copied::mark(&ops_named(module, "stablehlo.dynamic_update_slice"));
    Ok(())
}

/// Makes other dialects' constants of tensors our own.
fn constant<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) {
    let (Some(value), Ok(result)) = (attribute_of(op, "value"), op.result(0)) else { return };
    if Tensor::new(result.r#type()).is_none() {
        return;
    }
    builder.set_insertion_point_before(op);
    let made = builder.insert("stablehlo.constant", &[], &[("value", value)], result.r#type(), op.location());
    replace(builder, op, &[made]);
}

/// What the ops of batch normalization are called.
const BATCH_NORM: &str = "stablehlo.batch_norm_";

/// What CHLO's elementwise ops on operands of several shapes are called.
const BROADCASTS: &str = "chlo.broadcast_";

/// Gives an op that broadcasts its operands ones of the result's shape. Dynamic shapes are left for others to refuse.
fn broadcast_operands<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) {
    let Some(result) = op.results().next().and_then(|result| Tensor::new(result.r#type())) else { return };
    let operands: Vec<_> = op.operands().collect();
    let known = result.shape.iter().all(|&size| is_static(size));
    builder.set_insertion_point_before(op);
    for (index, operand) in operands.into_iter().enumerate() {
        let Some(tensor) = Tensor::new(operand.r#type()) else { continue };
        if !known || tensor.shape == result.shape {
            continue;
        }
        // The operand of lower rank lies along these dimensions, by default the last ones.
        let last = (result.rank() - tensor.rank()..result.rank()).map(|dim| dim as i64).collect();
        let given = ir::i64_array(op, "broadcast_dimensions").filter(|dims| dims.len() == tensor.rank());
        let dims = given.map_or(last, <[i64]>::to_vec);
        let ty = Tensor::get(result.shape, tensor.element, None);
        builder.set_operand(op, index, builder.broadcast_in_dim(operand, &dims, ty, op.location()));
    }
    remove_attribute(op, "broadcast_dimensions");
}

fn replace<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>, values: &[Value<'c, 'a>]) {
    for (result, value) in op.results().zip(values) {
        builder.replace_all_uses_with(result.into(), *value);
    }
    builder.erase(op);
}

/// Gives what is written to, or has to lie somewhere, its own zeros: memory that several start from would have to be copied.
fn own_splats<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) {
    let operands: Vec<_> = op.operands().collect();
    let count = match op_name(op) {
        "stablehlo.dynamic_update_slice" => 1,
        "stablehlo.scatter" => op.result_count(),
        _ => operands.len(),
    };
    for (index, operand) in operands.into_iter().enumerate().take(count) {
        let mut copied = Vec::new();
        let mut value = operand;
        // Broadcasts of constants, too.
        while let Some(producer) = crate::rewrite::defining_op(value)
            && matches!(
                op_name(producer),
                "stablehlo.constant"
                    | "stablehlo.iota"
                    | "stablehlo.broadcast_in_dim"
                    | "stablehlo.broadcast"
            )
        {
            copied.push(producer);
            match producer.operands().next() {
                Some(inner) => value = inner,
                None => break,
            }
        }
        let made_of_nothing = copied.last().is_some_and(|op| op.operand_count() == 0);
        // From around a loop or branch it would have to be copied each time.
        let outside = copied.first().and_then(|producer| producer.block()) != op.block();
        if made_of_nothing && (outside || uses(operand).nth(1).is_some()) {
            builder.set_insertion_point_before(op);
            let types: Vec<_> = copied[0].results().map(|result| result.r#type()).collect();
            let operands: Vec<_> = copied[0].operands().collect();
            let copy = builder.copy_with(copied[0], &operands, &[], &types);
            if let Ok(result) = copy.result(0) {
                builder.set_operand(op, index, result.into());
            }
        }
    }
}

/// The largest of each row, as a sort from the largest down of values and positions.
fn top_k<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let operand = op.operand(0)?;
    let location = op.location();
    let Some(tensor) = Tensor::new(operand.r#type()) else { return Ok(()) };
    let (Some(count), Some(dim)) = (ir::constant_attribute(op, "k"), tensor.rank().checked_sub(1)) else {
        return Ok(());
    };
    let positions = ir::element_of(op.result(1)?.r#type());
    let context = builder.context();
    builder.set_insertion_point_before(op);
    let numbers = Tensor::get(tensor.shape, positions, None);
    let iota = builder.iota(numbers, dim, location);
    let scalar = |element: Type<'c>| Tensor::get(&[], element, None);
    let (value, number) = (scalar(tensor.element), scalar(positions));
    let dimension = IntegerAttribute::new(IntegerType::new(context, 64).into(), dim as i64);
    let sort = builder.op_with_regions(
        "stablehlo.sort",
        &[operand, iota],
        &[("dimension", dimension.into()), ("is_stable", BoolAttribute::new(context, true).into())],
        &[operand.r#type(), numbers],
        &[&[value, value, number, number]],
        location,
    );
    let block = sort
        .region(0)
        .ok()
        .and_then(|region| region.first_block())
        .ok_or_else(|| PassError::at(op, "cannot become a sort"))?;
    builder.set_insertion_point_to_end(block);
    let (left, right) = (block.argument(0)?.into(), block.argument(1)?.into());
    let kind = match IntegerType::try_from(tensor.element) {
        Ok(integer) if integer.is_unsigned() || integer.width() == 1 => ComparisonType::Unsigned,
        Ok(_) => ComparisonType::Signed,
        Err(_) => ComparisonType::TotalOrder,
    };
    let greater = builder.compare_as(ComparisonDirection::Gt, kind, left, right, location);
    builder.terminator("stablehlo.return", &[greater], location);
    builder.set_insertion_point_before(op);
    let mut results = Vec::new();
    for (sorted, result) in sort.results().zip(op.results()) {
        let ty = result.r#type();
        let shape = ffi::shape(ty).unwrap_or(&[]);
        if shape.last() != Some(&count) {
            return Err(PassError::at(op, "has a result of another size than k"));
        }
        results.push(builder.slice(sorted.into(), &vec![0; shape.len()], ty, location));
    }
    replace(builder, op, &results);
    Ok(())
}
