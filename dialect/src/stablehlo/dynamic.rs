// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops whose result shape is computed at run time. Where the operands that say it are constants, they are held against
//! what is known of the operand and the result.

use super::constraints::{constant_integers, dimension_of, same_operand_type, wrapping_element_count};
use super::shape::{broadcast_axis, broadcast_dimensions, reshaped};
use crate::quant::Quantized;
use crate::require;
use crate::rules::{Rules, Table};
use crate::types::{Tensor, display_shape, is_static};
use crate::view::{OpView, Verdict};

/// The shape may turn out to be one that the op cannot make.
const RUN_TIME_SHAPE: Rules = Rules::NONE.is_speculatable(|_| false);

/// Rules of the dynamic forms of shape ops.
pub const TABLE: Table = &[
    ("stablehlo.dynamic_broadcast_in_dim", RUN_TIME_SHAPE.verify(verify_dynamic_broadcast_in_dim)),
    ("stablehlo.dynamic_iota", RUN_TIME_SHAPE.verify(verify_dynamic_iota)),
    ("stablehlo.dynamic_pad", RUN_TIME_SHAPE.verify(verify_dynamic_pad)),
    ("stablehlo.dynamic_reshape", RUN_TIME_SHAPE.verify(verify_dynamic_reshape)),
    ("stablehlo.real_dynamic_slice", RUN_TIME_SHAPE.verify(verify_real_dynamic_slice)),
];

/// More dimensions than any tensor has; longer shape operands are not worth reading.
const MOST_DIMENSIONS: usize = 1024;

/// Elements stay the same; those of quantized types may be read as any other type here, as no rule of theirs is known.
fn same_or_quantized(operand: &Tensor<'_>, result: &Tensor<'_>) -> Verdict {
    require!(
        operand.element == result.element
            || Quantized::new(operand.element).is_some()
            || Quantized::new(result.element).is_some(),
        "result has element type {}, but operand has {}",
        result.element,
        operand.element
    );
    Ok(())
}

/// The constant shape in operand `index`, if it is one. It must be one that `result` may have.
fn constant_shape(
    op: &OpView<'_, '_>,
    index: usize,
    result: &Tensor<'_>,
) -> Result<Option<Vec<i64>>, crate::OpError> {
    let Some(shape) = constant_integers(op.operand(index)?, MOST_DIMENSIONS) else { return Ok(None) };
    require!(
        shape.len() == result.rank(),
        "operand #{index} is a shape of {} sizes, but result has rank {}",
        shape.len(),
        result.rank()
    );
    for (dimension, (&size, dim)) in shape.iter().zip(result.dims()).enumerate() {
        require!(size >= 0, "operand #{index} asks for size {size} in dimension {dimension}");
        let fits = if dim.is_static() { size == dim.size } else { !dim.is_bounded() || size <= dim.bound };
        require!(
            fits,
            "operand #{index} asks for size {size} in dimension {dimension}, but result has {dim} there"
        );
    }
    Ok(Some(shape))
}

/// As broadcast_in_dim, with hints about which dimensions grow (dynamic_broadcast_in_dim_c1 to c8).
fn verify_dynamic_broadcast_in_dim(op: &OpView<'_, '_>) -> Verdict {
    let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    same_or_quantized(&operand, &result)?;
    let dimensions = broadcast_dimensions(op, &operand, &result)?;
    for (index, (&size, &target)) in operand.shape.iter().zip(dimensions).enumerate() {
        let result_size = result.shape[target as usize];
        require!(
            !is_static(size) || size == 1 || !is_static(result_size) || size == result_size,
            "operand size {size} in dimension {index} is neither 1 nor result size {result_size} in dimension {target}"
        );
    }
    broadcast_axis(&operand, &result, dimensions)?;
    verify_hints(op, operand.rank())?;
    let Some(shape) = constant_shape(op, 1, &result)? else { return Ok(()) };
    for (index, (&size, &target)) in operand.shape.iter().zip(dimensions).enumerate() {
        let wanted = shape[target as usize];
        require!(
            !is_static(size) || size == 1 || size == wanted,
            "operand size {size} in dimension {index} is neither 1 nor size {wanted} asked for in dimension {target}"
        );
    }
    Ok(())
}

/// Hints name operand dimensions, none of them twice.
fn verify_hints(op: &OpView<'_, '_>, rank: usize) -> Verdict {
    let mut hinted = vec![false; rank];
    for name in ["known_expanding_dimensions", "known_nonexpanding_dimensions"] {
        for (index, &dimension) in op.optional_i64_array(name)?.unwrap_or_default().iter().enumerate() {
            let dimension = dimension_of(&format!("{name}[{index}]"), dimension, rank)?;
            require!(!hinted[dimension], "{name}[{index}] = {dimension} already has a hint");
            hinted[dimension] = true;
        }
    }
    Ok(())
}

fn verify_dynamic_iota(op: &OpView<'_, '_>) -> Verdict {
    let result = op.result_tensor(0)?;
    dimension_of("iota_dimension", op.integer("iota_dimension")?, result.rank())?;
    constant_shape(op, 0, &result).map(drop)
}

/// Padding operands have one entry per dimension, and the sizes follow from them (dynamic_pad_c2 to dynamic_pad_c4).
fn verify_dynamic_pad(op: &OpView<'_, '_>) -> Verdict {
    let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    same_operand_type(op, 2, 3)?;
    same_operand_type(op, 2, 4)?;
    for (name, tensor) in [("padding value", op.operand_tensor(1)?), ("result", result)] {
        require!(
            tensor.element == operand.element,
            "{name} has element type {}, but operand has {}",
            tensor.element,
            operand.element
        );
    }
    require!(
        result.rank() == operand.rank(),
        "result has rank {}, but operand has rank {}",
        result.rank(),
        operand.rank()
    );
    let low = op.operand_tensor(2)?;
    require!(
        usize::try_from(low.shape.first().copied().unwrap_or(0)).is_ok_and(|count| count == operand.rank()),
        "padding operands have shape [{}], but operand has rank {}",
        display_shape(low.shape),
        operand.rank()
    );
    let interior = constant_integers(op.operand(4)?, MOST_DIMENSIONS);
    for (index, &interior) in interior.iter().flatten().enumerate() {
        require!(interior >= 0, "interior padding [{index}] = {interior} is negative");
    }
    let (Some(lows), Some(highs), Some(interiors)) = (
        constant_integers(op.operand(2)?, MOST_DIMENSIONS),
        constant_integers(op.operand(3)?, MOST_DIMENSIONS),
        interior,
    ) else {
        return Ok(());
    };
    for (index, (&size, &result_size)) in operand.shape.iter().zip(result.shape).enumerate() {
        let padded = super::shape::padded(size, lows[index], highs[index], interiors[index]);
        require!(
            !is_static(size) || !is_static(result_size) || padded == result_size,
            "dimension {index} of size {size} is padded to {padded}, but result has size {result_size}"
        );
    }
    Ok(())
}

/// The number of elements stays (dynamic_reshape_c1 to dynamic_reshape_c4).
fn verify_dynamic_reshape(op: &OpView<'_, '_>) -> Verdict {
    let (operand, shape, result) = (op.operand_tensor(0)?, op.operand_tensor(1)?, op.result_tensor(0)?);
    same_or_quantized(&operand, &result)?;
    require!(
        usize::try_from(shape.shape.first().copied().unwrap_or(0)).is_ok_and(|count| count == result.rank()),
        "output_shape has shape [{}], but result has rank {}",
        display_shape(shape.shape),
        result.rank()
    );
    reshaped(&operand, &result)?;
    let Some(shape) = constant_shape(op, 1, &result)? else { return Ok(()) };
    if let (Some(count), Some(wanted)) =
        (wrapping_element_count(operand.shape), wrapping_element_count(&shape))
    {
        require!(count == wanted, "output_shape asks for {wanted} elements, but operand has {count}");
    }
    Ok(())
}

/// One start, limit and stride per dimension (real_dynamic_slice_c2).
fn verify_real_dynamic_slice(op: &OpView<'_, '_>) -> Verdict {
    let (operand, starts) = (op.operand_tensor(0)?, op.operand_tensor(1)?);
    same_operand_type(op, 1, 2)?;
    same_operand_type(op, 1, 3)?;
    let result = op.result_tensor(0)?;
    require!(
        operand.element == result.element,
        "result has element type {}, but operand has {}",
        result.element,
        operand.element
    );
    require!(
        usize::try_from(starts.shape.first().copied().unwrap_or(0))
            .is_ok_and(|count| count == operand.rank()),
        "start_indices have shape [{}], but operand has rank {}",
        display_shape(starts.shape),
        operand.rank()
    );
    Ok(())
}
