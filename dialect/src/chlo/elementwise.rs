// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops on operands of one shape, and constants.

use crate::dims::most_specific;
use crate::quant::signless;
use crate::rules::{Folded, Rules, Table};
use crate::types::{Tensor, compatible_result, compatible_shape, display_shape};
use crate::view::{Inferred, OpError, OpView, Verdict};
use crate::{ffi, reject, require};
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::{Attribute, AttributeLike, OperationRef, Type, TypeLike, ValueLike};

/// The result is of the operand's type, but for what only one of them knows of its shape.
const UNARY: Rules = Rules::NONE.verify(verify_unary).infer(infer_same_type);
const BINARY: Rules = Rules::NONE.verify(verify_same_type).infer(infer_same_type);
const PREDICATE: Rules = Rules::NONE.verify(verify_ranks).infer(infer_predicate);

/// Rules of the elementwise ops and constants.
pub const TABLE: Table = &[
    ("chlo._asin_acos_kernel", UNARY),
    ("chlo.acos", UNARY),
    ("chlo.acosh", UNARY),
    ("chlo.asin", UNARY),
    ("chlo.asinh", UNARY),
    ("chlo.atan", UNARY),
    ("chlo.atanh", UNARY),
    ("chlo.bessel_i1e", UNARY),
    ("chlo.conj", UNARY),
    ("chlo.cosh", UNARY),
    ("chlo.digamma", UNARY),
    ("chlo.erf", UNARY),
    ("chlo.erf_inv", UNARY),
    ("chlo.erfc", UNARY),
    ("chlo.lgamma", UNARY),
    ("chlo.sinh", UNARY),
    ("chlo.square", UNARY),
    ("chlo.tan", UNARY),
    ("chlo.is_inf", PREDICATE),
    ("chlo.is_neg_inf", PREDICATE),
    ("chlo.is_pos_inf", PREDICATE),
    ("chlo.mulhi", BINARY),
    ("chlo.next_after", BINARY),
    ("chlo.polygamma", BINARY),
    ("chlo.zeta", BINARY),
    ("chlo.constant", Rules::NONE.infer(infer_constant).fold(fold_constant)),
    (
        "chlo.constant_like",
        Rules::NONE.verify(verify_constant_like).infer(infer_constant_like).fold(fold_constant_like),
    ),
];

fn verify_unary(op: &OpView<'_, '_>) -> Verdict {
    verify_ranks(op)?;
    verify_same_type(op)
}

/// Either both have a rank or none has.
fn verify_ranks(op: &OpView<'_, '_>) -> Verdict {
    let (operand, result) = (op.operand_type(0)?, op.result_type(0)?);
    require!(
        operand.is_unranked_tensor() == result.is_unranked_tensor(),
        "result is of type {result}, but operand #0 of type {operand}: either both have a rank or none has"
    );
    Ok(())
}

fn verify_same_type(op: &OpView<'_, '_>) -> Verdict {
    let first = op.operand_type(0)?;
    for index in 1..op.operand_count() {
        let ty = op.operand_type(index)?;
        require!(
            compatible_result(first, ty),
            "operand #{index} is of type {ty}, but operand #0 of type {first}"
        );
    }
    let result = op.result_type(0)?;
    require!(compatible_result(first, result), "result is of type {result}, but operand #0 of type {first}");
    Ok(())
}

fn infer_same_type<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let ranked: Vec<Tensor<'c>> = op.operand_types().into_iter().filter_map(Tensor::new).collect();
    if ranked.is_empty() {
        return Ok(vec![op.operand_type(0)?]);
    }
    most_specific(&ranked).map(|ty| vec![ty]).map_err(OpError)
}

/// The operand's type with another element type, of whatever rank it is.
fn with_element<'c>(ty: Type<'c>, element: Type<'c>) -> Result<Type<'c>, OpError> {
    // Whether a tensor can hold the element type does not depend on its rank.
    let Some(unranked) = ffi::unranked_tensor(element) else {
        reject!("a tensor cannot hold elements of type {element}")
    };
    match Tensor::new(ty) {
        Some(tensor) => Ok(tensor.with_element(element)),
        None if ty.is_unranked_tensor() => Ok(unranked),
        None => reject!("operand #0 must be a tensor, but is of type {ty}"),
    }
}

fn infer_predicate<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(vec![with_element(op.operand_type(0)?, signless(op.context(), 1))?])
}

fn infer_constant<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(vec![op.required_attribute("value")?.r#type()])
}

fn verify_constant_like(op: &OpView<'_, '_>) -> Verdict {
    let (operand, result) = (op.operand_type(0)?, op.result_type(0)?);
    let value = op.required_attribute("value")?.r#type();
    let element = ffi::element_type(result);
    require!(element == Some(value), "value is of type {value}, but result is of type {result}");
    if let (Some(operand), Some(result)) = (Tensor::new(operand), Tensor::new(result)) {
        require!(
            compatible_shape(operand.shape, result.shape),
            "result has shape [{}], but operand has [{}]",
            display_shape(result.shape),
            display_shape(operand.shape)
        );
    }
    Ok(())
}

fn infer_constant_like<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(vec![with_element(op.operand_type(0)?, op.required_attribute("value")?.r#type())?])
}

/// A splat, where the shape is known.
/// MLIR takes the value of whatever is a constant from its fold.
fn fold_constant<'c, 'a>(
    op: OperationRef<'c, 'a>,
    _operands: &[Option<Attribute<'c>>],
) -> Option<Vec<Folded<'c, 'a>>> {
    ffi::attribute_of(op, "value").map(|value| vec![Folded::Constant(value)])
}

fn fold_constant_like<'c, 'a>(
    op: OperationRef<'c, 'a>,
    _operands: &[Option<Attribute<'c>>],
) -> Option<Vec<Folded<'c, 'a>>> {
    let result = op.result(0).ok()?.r#type();
    let value = ffi::attribute_of(op, "value")?;
    Tensor::new(result).filter(|tensor| tensor.is_static() && tensor.encoding().is_none())?;
    // Other attributes may be of the element type as well, but a splat is not made of them.
    if !value.is_integer() && !value.is_float() {
        return None;
    }
    let splat = DenseElementsAttribute::new(result, &[value]).ok()?;
    Some(vec![Folded::Constant(splat.into())])
}
