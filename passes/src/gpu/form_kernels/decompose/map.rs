// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `stablehlo.map` as the ops of its region, on whole arrays.
//!
//! The region computes one element of the result of one element of each operand, so each of its ops is elementwise on scalars, and
//! the same op on arrays is the same for all elements. What the region takes from outside, and constants in it, are broadcast. Regions
//! with other ops than elementwise ones are left, for others to refuse.

use crate::framework::PassError;
use crate::gpu::form_kernels::ops::Class;
use crate::ir::{self, Builder, key};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::types::{Tensor, is_static};
use std::collections::HashMap;

/// Replaces a map, if its region and shape allow it.
pub fn map<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let Some(shape) = Tensor::new(op.result(0)?.r#type()).map(|tensor| tensor.shape) else { return Ok(()) };
    let Some(block) = op.region(0).ok().and_then(|region| region.first_block()) else { return Ok(()) };
    let mut inside = Vec::new();
    let mut next = block.first_operation();
    while let Some(nested) = next {
        next = nested.next_in_block();
        let known = matches!(
            Class::of(nested),
            Ok(Class::Constant | Class::Pointwise | Class::View | Class::Move | Class::Terminator)
        );
        let scalars = nested.operands().chain(nested.results().map(Value::from)).all(ir::is_rank_zero);
        if !known || !scalars {
            return Ok(());
        }
        inside.push(nested);
    }
    if !shape.iter().all(|&size| is_static(size)) {
        return Ok(());
    }
    let whole = |ty: Type<'c>| Tensor::get(shape, ir::element_of(ty), None);
    let mut arrays = HashMap::new();
    for index in 0..block.argument_count() {
        arrays.insert(key(block.argument(index)?.into()), op.operand(index)?);
    }
    builder.set_insertion_point_before(op);
    for nested in inside {
        let mut operands = Vec::new();
        for operand in nested.operands() {
            // From outside of the region, the same for all elements.
            let array = arrays.entry(key(operand)).or_insert_with(|| {
                builder.broadcast_scalar(operand, whole(operand.r#type()), nested.location())
            });
            operands.push(*array);
        }
        match Class::of(nested)? {
            Class::Terminator => {
                super::replace(builder, op, &operands);
                break;
            }
            Class::Constant => {
                let result = nested.result(0)?.into();
                let copy = builder.copy_with(nested, &[], &[], &[nested.result(0)?.r#type()]);
                let array = builder.broadcast_scalar(
                    copy.result(0)?.into(),
                    whole(nested.result(0)?.r#type()),
                    nested.location(),
                );
                arrays.insert(key(result), array);
            }
            // Of one element there is but one order.
            Class::View | Class::Move => {
                arrays.insert(key(nested.result(0)?.into()), operands[0]);
            }
            _ => {
                let types: Vec<_> = nested.results().map(|result| whole(result.r#type())).collect();
                let copy = builder.copy_with(nested, &operands, &[], &types);
                for (result, array) in nested.results().zip(copy.results()) {
                    arrays.insert(key(result.into()), array.into());
                }
            }
        }
    }
    Ok(())
}
