// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is computed of no elements at all.
//!
//! A result without elements needs no kernel: it becomes a constant. What other ops say of operands without elements is what they begin
//! with:
//!
//! | op | without elements in | is |
//! |---|---|---|
//! | `reduce`, `reduce_window` | the inputs | the initial values |
//! | `dot`, `dot_general`, `convolution` | either operand | zeros |
//! | `scatter` | the updates | the inputs |
//! | `dynamic_update_slice` | the update | the operand |
//! | `select_and_scatter` | the source | the initial value |
//!
//! So no kernel is ever asked to share nothing among threads. Loops and branches hand on what is without elements as it is: buffers of
//! no bytes. Ops that no kernel can be made of stay, for others to refuse.

use crate::framework::PassError;
use crate::gpu::form_kernels::ops::Class;
use crate::ir::{Builder, element_of};
use crate::rewrite::walk;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::dense::element_bytes;
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// Replaces them.
pub fn empty<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    module: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let mut found = Vec::new();
    walk(module, |op| {
        // Of these there are few; most programs have none.
        if op.results().map(Value::from).chain(op.operands()).any(is_empty) {
            found.push(op);
        }
        WalkResult::Advance
    });
    for op in found {
        let computed = !matches!(
            Class::of(op),
            Err(_) | Ok(Class::Constant | Class::Table | Class::Control | Class::Terminator)
        );
        if computed && op.result_count() > 0 {
            replace(builder, op)?;
        }
    }
    Ok(())
}

fn is_empty(value: Value<'_, '_>) -> bool {
    Tensor::new(value.r#type()).is_some_and(|tensor| tensor.shape.contains(&0))
}

fn replace<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let results: Vec<_> = op.results().map(Value::from).collect();
    let count = results.len();
    let location = op.location();
    let without = |operand: usize| op.operand(operand).is_ok_and(is_empty);
    builder.set_insertion_point_before(op);
    let initial = |first: usize| -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let spread = |(index, result): (usize, &Value<'c, 'a>)| {
            Ok(builder.broadcast_scalar(op.operand(first + index)?, result.r#type(), location))
        };
        results.iter().enumerate().map(spread).collect()
    };
    let zero = |result: &Value<'c, 'a>| {
        let element = vec![0; element_bytes(element_of(result.r#type()))?];
        builder.splat_of_bytes(&element, result.r#type(), location)
    };
    // Nothing for elements that are no numbers, which kernels refuse.
    let zeros = || results.iter().map(zero).collect::<Option<Vec<_>>>();
    let values = if results.iter().all(|result| is_empty(*result)) {
        zeros()
    } else {
        match op_name(op) {
            "stablehlo.reduce" | "stablehlo.reduce_window" if without(0) => Some(initial(count)?),
            "stablehlo.dot" | "stablehlo.dot_general" | "stablehlo.convolution"
                if without(0) || without(1) =>
            {
                zeros()
            }
            "stablehlo.scatter" if without(count + 1) => Some(op.operands().take(count).collect()),
            "stablehlo.dynamic_update_slice" if without(1) => Some(vec![op.operand(0)?]),
            "stablehlo.select_and_scatter" if without(1) => Some(initial(2)?),
            _ => return Ok(()),
        }
    };
    if let Some(values) = values {
        super::replace(builder, op, &values);
    }
    Ok(())
}
