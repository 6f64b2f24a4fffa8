// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `scan`.

use crate::rules::{Rules, Table};
use crate::stablehlo::constraints::{argument_types, block, returned_types};
use crate::types::{DYNAMIC, Tensor, compatible_shape, compatible_size, display_shape, is_static};
use crate::view::{OpView, Verdict};
use crate::{reject, require};
use melior::ir::Type;

/// Rules of `scan`.
pub const TABLE: Table = &[("chlo.scan", Rules::NONE.verify(verify))];

fn verify(op: &OpView<'_, '_>) -> Verdict {
    let inputs = op.operand_segment(0)?;
    let outputs = op.i32_array("resultSegmentSizes")?.first().copied().unwrap_or_default();
    require!(!inputs.is_empty() || outputs > 0, "must have an input or an output to run along");
    let dimension = op.integer("dimension")?;
    let Ok(dimension) = usize::try_from(dimension) else { reject!("dimension = {dimension} is negative") };
    let mut steps = op.optional_integer("scan_dim_size")?.unwrap_or(DYNAMIC);

    let block = block(op, 0)?;
    let arguments = argument_types(block);
    require!(
        arguments.len() == op.operand_count(),
        "body has {} arguments for {} operands",
        arguments.len(),
        op.operand_count()
    );
    for (index, argument) in arguments.into_iter().enumerate() {
        let operand = op.operand_tensor(index)?;
        let mut shape = operand.shape.to_vec();
        if inputs.contains(&index) {
            let Some(&size) = operand.shape.get(dimension) else {
                reject!("input #{index} of rank {} has no dimension {dimension}", operand.rank())
            };
            require!(
                compatible_size(steps, size),
                "input #{index} has size {size} in dimension {dimension}, but there are {steps} steps"
            );
            if !is_static(steps) {
                steps = size;
            }
            shape.remove(dimension);
        }
        verify_argument(index, argument, &shape, &operand)?;
    }

    let returned = returned_types(block);
    require!(
        returned.len() == op.result_count(),
        "body returns {} values for {} results",
        returned.len(),
        op.result_count()
    );
    let carries = op.operand_count() - inputs.len();
    for (index, ty) in returned.iter().enumerate() {
        let Some(value) = Tensor::new(*ty) else { continue };
        let mut shape = value.shape.to_vec();
        if index + carries < returned.len() {
            require!(
                dimension <= shape.len(),
                "returned value #{index} of rank {} makes no output with dimension {dimension}",
                value.rank()
            );
            shape.insert(dimension, steps);
        }
        let Some(result) = Tensor::new(op.result_type(index)?) else { continue };
        require!(
            compatible_shape(&shape, result.shape),
            "result #{index} has shape [{}], but the body makes [{}]",
            display_shape(result.shape),
            display_shape(&shape)
        );
    }
    Ok(())
}

/// An argument of the body is one slice of an input, or a carry.
fn verify_argument(index: usize, argument: Type<'_>, shape: &[i64], operand: &Tensor<'_>) -> Verdict {
    let fits = match Tensor::new(argument) {
        Some(argument) => argument.element == operand.element && compatible_shape(argument.shape, shape),
        // Of an argument without a rank only the element type can be wrong.
        None => crate::ffi::element_type(argument) == Some(operand.element),
    };
    require!(
        fits,
        "argument #{index} of the body is of type {argument}, but operand #{index} asks for [{}] of {}",
        display_shape(shape),
        operand.element
    );
    Ok(())
}
