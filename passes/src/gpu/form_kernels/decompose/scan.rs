// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Recurrences along a dimension (`chlo.scan`), as loops.
//!
//! The loop carries the number of the step, the carries, and the outputs, which start as zeros and are written in place a slice
//! at a time; slices of the inputs are taken from where they are. Steps run in the order that the op says, whether or not it
//! promises that any would do.

use super::replace;
use crate::framework::PassError;
use crate::ir::{self, Builder};
use crate::rewrite::ops_named;
use melior::ir::attribute::{BoolAttribute, DenseI32ArrayAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{BlockRef, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::dense;
use slimhlo_dialect::ffi::{self, attribute_of};
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;
use slimhlo_dialect::types::Tensor;

/// Replaces the recurrences of a module; those of dynamic shape are left for others to refuse.
pub fn scans<'c>(module: OperationRef<'c, '_>, builder: &Builder<'c, '_>) -> Result<(), PassError<'c>> {
    // Those inside others move with them.
    for op in ops_named(module, "chlo.scan") {
        scan(builder, op)?;
    }
    Ok(())
}

/// The type of one step's part of a value, with the dimension that steps go along as `along`, or without it.
fn slice_of<'c>(value: Value<'c, '_>, dimension: usize, along: &[i64]) -> Type<'c> {
    let shape = ffi::shape(value.r#type()).unwrap_or(&[]);
    let shape = [&shape[..dimension], along, &shape[dimension + 1..]].concat();
    Tensor::get(&shape, ir::element_of(value.r#type()), None)
}

fn scan<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let is_static = |value: Value<'c, 'a>| Tensor::new(value.r#type()).is_some_and(|ty| ty.is_static());
    if !op.operands().all(is_static) || !op.results().all(|result| is_static(result.into())) {
        return Ok(());
    }
    let segment = |name: &str| {
        let segments = attribute_of(op, name).and_then(|all| DenseI32ArrayAttribute::try_from(all).ok());
        segments.and_then(|all| all.element(0).ok()).and_then(|count| usize::try_from(count).ok())
    };
    let (Some(inputs), Some(outputs)) = (segment("operandSegmentSizes"), segment("resultSegmentSizes"))
    else {
        return Ok(());
    };
    let Some(dimension) = ir::constant_attribute(op, "dimension").and_then(|dim| usize::try_from(dim).ok())
    else {
        return Ok(());
    };
    let location = op.location();
    let operands: Vec<Value> = op.operands().collect();
    let along =
        |value: Value<'c, 'a>| ffi::shape(value.r#type()).and_then(|shape| shape.get(dimension).copied());
    let runs = operands[..inputs].first().copied().or_else(|| op.result(0).ok().map(Into::into));
    let Some(steps) = runs.and_then(along) else { return Ok(()) };
    let is_reverse = attribute_of(op, "is_reverse")
        .and_then(|reverse| BoolAttribute::try_from(reverse).ok())
        .is_some_and(|reverse| reverse.value());
    let first_block = |op: OperationRef<'c, 'a>, region| -> Result<BlockRef<'c, 'a>, PassError<'c>> {
        let block = op.region(region).ok().and_then(|region| region.first_block());
        block.ok_or_else(|| PassError::at(op, "has no body"))
    };

    builder.set_insertion_point_before(op);
    let number: Type<'c> = IntegerType::new(builder.context(), if steps < 1 << 31 { 32 } else { 64 }).into();
    let integer = |value: i64| builder.number(value as f64, number, location);
    let mut state = vec![integer(0)];
    state.extend(&operands[inputs..]);
    for result in op.results().take(outputs) {
        let ty = result.r#type();
        let zeros = dense::element_bytes(ir::element_of(ty))
            .and_then(|bytes| builder.splat_of_bytes(&vec![0; bytes], ty, location));
        state.push(zeros.ok_or_else(|| PassError::at(op, "has elements that there is no zero of"))?);
    }
    let types: Vec<Type<'c>> = state.iter().map(|value| value.r#type()).collect();
    let name = "stablehlo.while";
    let looped = builder.op_with_regions(name, &state, &[], &types, &[&types, &types], location);

    let condition = first_block(looped, 0)?;
    builder.set_insertion_point_to_end(condition);
    let goes_on =
        builder.compare(ComparisonDirection::Lt, condition.argument(0)?.into(), integer(steps), location);
    builder.terminator("stablehlo.return", &[goes_on], location);

    let (body, old) = (first_block(looped, 1)?, first_block(op, 0)?);
    builder.set_insertion_point_to_end(body);
    let step: Value = body.argument(0)?.into();
    let at = match is_reverse {
        true => builder.binary("stablehlo.subtract", integer(steps - 1), step, location),
        false => step,
    };
    let zero = integer(0);
    let starts = |rank: usize| -> Vec<Value<'c, 'a>> {
        (0..rank).map(|dim| if dim == dimension { at } else { zero }).collect()
    };
    let carries = operands.len() - inputs;
    for (index, &operand) in operands.iter().enumerate() {
        let argument: Value = old.argument(index)?.into();
        let value = if index < inputs {
            let rank = ffi::shape(operand.r#type()).map_or(0, <[i64]>::len);
            let slice =
                builder.dynamic_slice(operand, &starts(rank), slice_of(operand, dimension, &[1]), location);
            builder.reshape(slice, slice_of(operand, dimension, &[]), location)
        } else {
            body.argument(index - inputs + 1)?.into()
        };
        builder.replace_all_uses_with(argument, value);
    }
    let next = builder.binary("stablehlo.add", step, integer(1), location);
    let last = crate::rewrite::defining_op(next).ok_or_else(|| PassError::at(op, "has no steps"))?;
    let end = old.terminator().ok_or_else(|| PassError::at(op, "has a body without an end"))?;
    while let Some(inner) = old.first_operation().filter(|inner| ir::op_key(*inner) != ir::op_key(end)) {
        builder.move_before(inner, last);
    }
    builder.set_insertion_point_to_end(body);
    let returned: Vec<Value> = end.operands().collect();
    let mut results = vec![next];
    results.extend(&returned[outputs..]);
    for (index, &slice) in returned[..outputs].iter().enumerate() {
        let whole: Value = body.argument(1 + carries + index)?.into();
        let rank = ffi::shape(whole.r#type()).map_or(0, <[i64]>::len);
        let slice = builder.reshape(slice, slice_of(whole, dimension, &[1]), location);
        results.push(builder.dynamic_update_slice(whole, slice, &starts(rank), location));
    }
    builder.terminator("stablehlo.return", &results, location);

    let results: Vec<Value> = looped.results().map(Value::from).collect();
    let results = [&results[1 + carries..], &results[1..1 + carries]].concat();
    replace(builder, op, &results);
    Ok(())
}
