// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops that compute each element of the result from the elements at the same place of the operands.

use super::constraints::{
    compatible_elements, infer_first, infer_most_specific, same_element, same_shape, shapes_agree,
    sizes_cannot_be_wrong,
};
use crate::dims::most_specific;
use crate::quant::{Quantized, complex_of, complex_part, is_float, signless};
use crate::rules::{Rules, Table};
use crate::types::{Tensor, compatible_element};
use crate::view::{Inferred, OpError, OpView, Verdict};
use crate::{reject, require};

/// Operands and result have the same type, but for what only one of them knows of its shape, and for the scales of
/// quantized elements.
const SAME_TYPE: Rules =
    Rules::NONE.verify(verify_same_type).infer(infer_most_specific).is_speculatable(sizes_cannot_be_wrong);

/// Rules of the elementwise ops.
pub const TABLE: Table = &[
    (
        "stablehlo.abs",
        Rules::NONE.verify(same_shape).infer(infer_real).is_speculatable(sizes_cannot_be_wrong),
    ),
    ("stablehlo.add", Rules::NONE.verify(verify_add).infer(infer_most_specific)),
    ("stablehlo.and", SAME_TYPE),
    ("stablehlo.atan2", SAME_TYPE),
    ("stablehlo.cbrt", SAME_TYPE),
    ("stablehlo.ceil", SAME_TYPE),
    ("stablehlo.clamp", Rules::NONE.verify(compatible_elements).infer(infer_clamp)),
    ("stablehlo.compare", Rules::NONE.verify(verify_compare).infer(infer_predicate)),
    ("stablehlo.complex", Rules::NONE.verify(verify_complex).infer(infer_complex)),
    ("stablehlo.convert", Rules::NONE.verify(same_shape).is_speculatable(sizes_cannot_be_wrong)),
    ("stablehlo.cosine", SAME_TYPE),
    ("stablehlo.count_leading_zeros", SAME_TYPE),
    ("stablehlo.divide", SAME_TYPE),
    ("stablehlo.exponential", SAME_TYPE),
    ("stablehlo.exponential_minus_one", SAME_TYPE),
    ("stablehlo.floor", SAME_TYPE),
    (
        "stablehlo.imag",
        Rules::NONE.verify(same_shape).infer(infer_real).is_speculatable(sizes_cannot_be_wrong),
    ),
    (
        "stablehlo.is_finite",
        Rules::NONE.verify(same_shape).infer(infer_predicate).is_speculatable(sizes_cannot_be_wrong),
    ),
    ("stablehlo.log", SAME_TYPE),
    ("stablehlo.log_plus_one", SAME_TYPE),
    ("stablehlo.logistic", SAME_TYPE),
    ("stablehlo.maximum", SAME_TYPE),
    ("stablehlo.minimum", SAME_TYPE),
    ("stablehlo.multiply", SAME_TYPE),
    ("stablehlo.negate", SAME_TYPE),
    ("stablehlo.not", SAME_TYPE),
    ("stablehlo.or", SAME_TYPE),
    ("stablehlo.popcnt", SAME_TYPE),
    ("stablehlo.power", SAME_TYPE),
    (
        "stablehlo.real",
        Rules::NONE.verify(same_shape).infer(infer_real).is_speculatable(sizes_cannot_be_wrong),
    ),
    (
        "stablehlo.reduce_precision",
        Rules::NONE.verify(verify_reduce_precision).infer(infer_first).is_speculatable(sizes_cannot_be_wrong),
    ),
    ("stablehlo.remainder", SAME_TYPE),
    ("stablehlo.round_nearest_afz", SAME_TYPE),
    ("stablehlo.round_nearest_even", SAME_TYPE),
    ("stablehlo.rsqrt", SAME_TYPE),
    ("stablehlo.select", Rules::NONE.infer(infer_select)),
    ("stablehlo.shift_left", SAME_TYPE),
    ("stablehlo.shift_right_arithmetic", SAME_TYPE),
    ("stablehlo.shift_right_logical", SAME_TYPE),
    ("stablehlo.sign", SAME_TYPE),
    ("stablehlo.sine", SAME_TYPE),
    ("stablehlo.sqrt", SAME_TYPE),
    ("stablehlo.subtract", SAME_TYPE),
    ("stablehlo.tan", SAME_TYPE),
    ("stablehlo.tanh", SAME_TYPE),
    (
        "stablehlo.uniform_dequantize",
        Rules::NONE.verify(same_shape).infer(infer_dequantized).is_speculatable(sizes_cannot_be_wrong),
    ),
    (
        "stablehlo.uniform_quantize",
        Rules::NONE.verify(verify_quantize).is_speculatable(sizes_cannot_be_wrong),
    ),
    ("stablehlo.xor", SAME_TYPE),
];

fn verify_same_type(op: &OpView<'_, '_>) -> Verdict {
    same_shape(op)?;
    compatible_elements(op)
}

/// `add` alone works on per-axis quantized elements too, so that its rules (add_c2 to add_c7) are stricter: all or none
/// quantized, alike in storage and expressed type, and a per-axis operand asks for a result along the same axis.
fn verify_add(op: &OpView<'_, '_>) -> Verdict {
    same_shape(op)?;
    let (lhs, rhs, result) = (op.operand_tensor(0)?, op.operand_tensor(1)?, op.result_tensor(0)?);
    let quantized = [lhs, rhs, result].map(|tensor| Quantized::new(tensor.element));
    let [Some(lhs), Some(rhs), Some(result)] = quantized else {
        require!(
            quantized.iter().all(Option::is_none),
            "operands and result must be all quantized or none: they are {}, {} and {}",
            lhs.element,
            rhs.element,
            result.element
        );
        return same_element(op);
    };
    for (name, operand) in [("lhs", lhs), ("rhs", rhs)] {
        require!(
            operand.storage() == result.storage(),
            "{name} is stored as {}, but the result as {}",
            operand.storage(),
            result.storage()
        );
        require!(
            operand.expressed() == result.expressed(),
            "{name} and the result express different types: {} and {}",
            operand.ty,
            result.ty
        );
        let Some(axis) = operand.quantized_dimension() else { continue };
        match result.quantized_dimension() {
            None => reject!("{name} is quantized along dimension {axis}, but the result per tensor"),
            Some(result_axis) => require!(
                axis == result_axis,
                "{name} is quantized along dimension {axis}, but the result along {result_axis}"
            ),
        }
    }
    require!(
        !result.is_per_axis() || lhs.is_per_axis() || rhs.is_per_axis(),
        "result is quantized along a dimension, but neither operand is"
    );
    Ok(())
}

/// The element type itself, or that of the parts of a complex one.
fn infer_real<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    Ok(vec![operand.with_element(complex_part(operand.element).unwrap_or(operand.element))])
}

fn verify_complex(op: &OpView<'_, '_>) -> Verdict {
    same_shape(op)?;
    let (real, imag) = (op.operand_tensor(0)?, op.operand_tensor(1)?);
    require!(
        real.element == imag.element,
        "lhs has element type {}, but rhs has {}",
        real.element,
        imag.element
    );
    Ok(())
}

fn infer_complex<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let real = op.operand_tensor(0)?;
    // A part that complex numbers cannot have is for the operand's type constraint to report.
    require!(is_float(real.element), "lhs must have real elements, but is {real}");
    Ok(vec![real.with_element(complex_of(real.element))])
}

fn verify_compare(op: &OpView<'_, '_>) -> Verdict {
    same_shape(op)?;
    let (lhs, rhs) = (op.operand_tensor(0)?, op.operand_tensor(1)?);
    require!(
        compatible_element(lhs.element, rhs.element),
        "lhs has element type {}, but rhs has {}",
        lhs.element,
        rhs.element
    );
    Ok(())
}

/// A bool for each element of the first operand.
fn infer_predicate<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(vec![op.operand_tensor(0)?.with_element(signless(op.context(), 1))])
}

/// `min` and `max` are of rank 0 or of the operand's shape (clamp_c1, clamp_c2). Bounds are not carried over.
fn infer_clamp<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_tensor(1)?;
    for (name, index) in [("min", 0), ("max", 2)] {
        let limit = op.operand_tensor(index)?;
        if limit.rank() != 0 {
            shapes_agree((name, &limit), ("operand", &operand))?;
        }
    }
    Ok(vec![Tensor::get(operand.shape, operand.element, None)])
}

/// `on_true` and `on_false` have one type, and `pred` is of rank 0 or of their shape (select_c1, select_c2).
fn infer_select<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let (pred, on_true, on_false) = (op.operand_tensor(0)?, op.operand_tensor(1)?, op.operand_tensor(2)?);
    require!(
        on_true.element == on_false.element,
        "on_true has element type {}, but on_false has {}",
        on_true.element,
        on_false.element
    );
    shapes_agree(("on_false", &on_false), ("on_true", &on_true))?;
    if pred.rank() != 0 {
        shapes_agree(("pred", &pred), ("on_true", &on_true))?;
    }
    most_specific(&[on_true, on_false]).map(|ty| vec![ty]).map_err(OpError)
}

fn verify_reduce_precision(op: &OpView<'_, '_>) -> Verdict {
    let (exponent, mantissa) = (op.integer("exponent_bits")?, op.integer("mantissa_bits")?);
    require!(exponent >= 1, "exponent_bits = {exponent} must be at least 1");
    require!(mantissa >= 0, "mantissa_bits = {mantissa} is negative");
    verify_same_type(op)
}

/// The result's expressed type is the operand's (uniform_quantize_c1, uniform_quantize_c2).
fn verify_quantize(op: &OpView<'_, '_>) -> Verdict {
    same_shape(op)?;
    let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    let expressed = match Quantized::new(operand.element) {
        Some(quantized) => quantized.expressed(),
        None => Some(operand.element),
    };
    require!(
        Quantized::new(result.element).is_some_and(|quantized| quantized.expressed() == expressed),
        "result {} does not express the type of operand {}",
        result.element,
        operand.element
    );
    Ok(())
}

fn infer_dequantized<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    match Quantized::new(operand.element).and_then(|quantized| quantized.expressed()) {
        Some(expressed) => Ok(vec![Tensor::get(operand.shape, expressed, None)]),
        None => reject!("operand must be quantized, but is {operand}"),
    }
}
