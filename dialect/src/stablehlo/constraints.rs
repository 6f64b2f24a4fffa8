// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Constraints that many ops of the dialect share.

use crate::dense::Dense;
use crate::dims::{Dim, most_specific};
use crate::quant::Quantized;
use crate::types::{
    Tensor, all_shapes_static, compatible_element, compatible_shape, display_shape, is_static,
};
use crate::view::{Inferred, OpError, OpView, Verdict};
use crate::{reject, require};
use melior::ir::block::BlockLike;
use melior::ir::{Attribute, BlockRef, RegionLike, Type, Value, ValueLike};
use std::fmt;

/// How a diagnostic calls an operand or a result. Every op is verified after every pass: text is made only for what
/// is wrong.
enum Name {
    Operand(usize),
    Result(usize),
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Operand(number) => write!(formatter, "operand #{number}"),
            Self::Result(number) => write!(formatter, "result #{number}"),
        }
    }
}

/// Every operand and result that is a ranked tensor.
fn tensors<'c>(op: &OpView<'c, '_>) -> Vec<(Name, Tensor<'c>)> {
    let operands = (0..op.operand_count())
        .map(|index| (Name::Operand(index), op.operand_type(index).ok().and_then(Tensor::new)));
    let results = (0..op.result_count())
        .map(|index| (Name::Result(index), op.result_type(index).ok().and_then(Tensor::new)));
    let mut tensors = Vec::with_capacity(op.operand_count() + op.result_count());
    tensors.extend(operands.chain(results).filter_map(|(name, tensor)| Some((name, tensor?))));
    tensors
}

/// All operands and results have the same shape at run time: no two known sizes of one dimension differ.
pub fn same_shape(op: &OpView<'_, '_>) -> Verdict {
    let tensors = tensors(op);
    let Some((first_name, first)) = tensors.first() else { return Ok(()) };
    if tensors[1..].iter().all(|(_, tensor)| tensor.ty == first.ty) {
        return Ok(());
    }
    // For each dimension the first tensor that knows its size.
    let mut known: Vec<(usize, i64)> = first.shape.iter().map(|&size| (0, size)).collect();
    for (number, (name, tensor)) in tensors.iter().enumerate() {
        require!(
            tensor.rank() == first.rank(),
            "{name} has rank {}, but {first_name} has rank {}",
            tensor.rank(),
            first.rank()
        );
        for (dimension, (&size, (owner, known))) in tensor.shape.iter().zip(&mut known).enumerate() {
            if !is_static(*known) {
                (*owner, *known) = (number, size);
            }
            require!(
                !is_static(size) || size == *known,
                "{name} has size {size} in dimension {dimension}, but {} has size {known}",
                tensors[*owner].0
            );
        }
    }
    Ok(())
}

/// All operands and results have the very same element type.
pub fn same_element(op: &OpView<'_, '_>) -> Verdict {
    elements_match(op, |left, right| left == right)
}

/// All operands and results have the same element type, but for scales and zero points of quantized ones.
pub fn compatible_elements(op: &OpView<'_, '_>) -> Verdict {
    elements_match(op, compatible_element)
}

fn elements_match(op: &OpView<'_, '_>, matches: impl Fn(Type<'_>, Type<'_>) -> bool) -> Verdict {
    let tensors = tensors(op);
    let Some((first_name, first)) = tensors.first() else { return Ok(()) };
    for (name, tensor) in &tensors[1..] {
        require!(
            matches(first.element, tensor.element),
            "{name} has element type {}, but {first_name} has {}",
            tensor.element,
            first.element
        );
    }
    Ok(())
}

/// Two operands have the very same type.
pub fn same_operand_type(op: &OpView<'_, '_>, left: usize, right: usize) -> Verdict {
    let (left_type, right_type) = (op.operand_type(left)?, op.operand_type(right)?);
    require!(
        left_type == right_type,
        "operand #{right} has type {right_type}, but operand #{left} has {left_type}"
    );
    Ok(())
}

/// Integer operands that start a slice have one element type, each of them rank 0.
pub fn same_index_type(op: &OpView<'_, '_>, first: usize) -> Verdict {
    for index in first..op.operand_count() {
        let (start, expected) = (op.operand_tensor(index)?, op.operand_tensor(first)?);
        require!(start.rank() == 0, "start index operand #{index} has rank {}, not 0", start.rank());
        require!(
            start.element == expected.element,
            "start index operand #{index} has element type {}, but operand #{first} has {}",
            start.element,
            expected.element
        );
    }
    Ok(())
}

/// The most specific type of all operands: what ops compute whose operands and result have the same type.
pub fn infer_most_specific<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operands =
        (0..op.operand_count()).map(|index| op.operand_tensor(index)).collect::<Result<Vec<_>, _>>()?;
    most_specific(&operands).map(|ty| vec![ty]).map_err(OpError)
}

/// The type of the first operand.
pub fn infer_first<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(vec![op.operand_type(0)?])
}

/// A list attribute has one entry per dimension.
pub fn one_per_dimension(name: &str, list: &[i64], rank: usize) -> Verdict {
    require!(list.len() == rank, "{name} has {} entries, but the operand has rank {rank}", list.len());
    Ok(())
}

/// Entries of a list of dimensions lie in `[0, rank)` and none comes twice.
pub fn distinct_dimensions(name: &str, list: &[i64], rank: usize) -> Verdict {
    for (index, &dimension) in list.iter().enumerate() {
        require!(
            usize::try_from(dimension).is_ok_and(|dimension| dimension < rank),
            "{name}[{index}] = {dimension} is not a dimension of rank {rank}"
        );
        require!(!list[..index].contains(&dimension), "{name}[{index}] = {dimension} comes twice");
    }
    Ok(())
}

/// A single dimension attribute lies in `[0, rank)`.
pub fn dimension_of(name: &str, dimension: i64, rank: usize) -> Result<usize, OpError> {
    match usize::try_from(dimension) {
        Ok(dimension) if dimension < rank => Ok(dimension),
        _ => reject!("{name} = {dimension} is not a dimension of rank {rank}"),
    }
}

/// Two shapes may be the same at run time; `left` and `right` are what the diagnostic calls them.
pub fn shapes_agree(left: (&str, &Tensor<'_>), right: (&str, &Tensor<'_>)) -> Verdict {
    require!(
        compatible_shape(left.1.shape, right.1.shape),
        "{} has shape [{}], but {} has [{}]",
        left.0,
        display_shape(left.1.shape),
        right.0,
        display_shape(right.1.shape)
    );
    Ok(())
}

/// Number of elements with the wrap-around that 64-bit shapes have elsewhere; `None` if a size is dynamic.
pub fn wrapping_element_count(shape: &[i64]) -> Option<i64> {
    shape.iter().try_fold(1i64, |count, &size| is_static(size).then(|| count.wrapping_mul(size)))
}

/// Quantized per-tensor elements that only change place keep scale and zero point.
pub fn same_scale(operand: &Tensor<'_>, result: &Tensor<'_>) -> Verdict {
    let (Some(from), Some(to)) = (Quantized::new(operand.element), Quantized::new(result.element)) else {
        return Ok(());
    };
    require!(
        from.is_per_axis() || to.is_per_axis() || from == to,
        "result is quantized as {}, but operand as {}",
        to.ty,
        from.ty
    );
    Ok(())
}

/// Both as per-axis quantized elements, if both are.
pub fn both_per_axis<'c>(
    operand: &Tensor<'c>,
    result: &Tensor<'c>,
) -> Option<(Quantized<'c>, Quantized<'c>)> {
    let (from, to) = (Quantized::new(operand.element)?, Quantized::new(result.element)?);
    (from.is_per_axis() && to.is_per_axis()).then_some((from, to))
}

/// Per-axis quantized elements that only change place keep all scales and zero points.
pub fn same_scales(from: &Quantized<'_>, to: &Quantized<'_>) -> Verdict {
    require!(
        from.scales() == to.scales() && from.zero_points() == to.zero_points(),
        "result is quantized as {}, but operand as {}",
        to.ty,
        from.ty
    );
    Ok(())
}

/// The op that computes a value, if one does.
pub fn producer<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<OpView<'c, 'a>> {
    crate::ffi::as_result(value).map(|result| OpView::Op(result.owner()))
}

/// The attribute of the constant that computes a value, if one does.
pub fn constant<'c>(value: Value<'c, '_>) -> Option<Attribute<'c>> {
    let producer = producer(value)?;
    matches!(producer.name(), "stablehlo.constant" | "arith.constant").then(|| producer.attribute("value"))?
}

/// The integers of a constant operand in row-major order, at most `limit` of them.
pub fn constant_integers(value: Value<'_, '_>, limit: usize) -> Option<Vec<i64>> {
    let tensor = Tensor::new(value.r#type())?;
    let count = usize::try_from(tensor.element_count()?).ok().filter(|&count| count <= limit)?;
    let dense = Dense::new(constant(value)?).filter(|dense| dense.len() == count)?;
    (0..count).map(|index| dense.integer(index)).collect()
}

/// The block of region `index`, which has one.
pub fn block<'c: 'a, 'a>(op: &OpView<'c, 'a>, index: usize) -> Result<BlockRef<'c, 'a>, OpError> {
    op.region(index)?.first_block().ok_or_else(|| OpError(format!("region #{index} has no block")))
}

/// Types of the arguments of a block.
pub fn argument_types<'c>(block: BlockRef<'c, '_>) -> Vec<Type<'c>> {
    (0..block.argument_count())
        .filter_map(|index| block.argument(index).ok().map(|value| value.r#type()))
        .collect()
}

/// Types of what the terminator of a block returns; none if it has no terminator yet.
pub fn returned_types<'c>(block: BlockRef<'c, '_>) -> Vec<Type<'c>> {
    let Some(terminator) = block.terminator() else { return Vec::new() };
    OpView::Op(terminator).operand_types()
}

/// Whether an op whose result has the shape of its operands may run where it did not run before: nothing is said about
/// the result's sizes that a single operand does not say, and several operands cannot differ in a size.
pub fn sizes_cannot_be_wrong(op: &OpView<'_, '_>) -> bool {
    let (1, Ok(operand), Ok(result)) = (op.operand_count(), op.operand_tensor(0), op.result_tensor(0)) else {
        return all_shapes_static(op);
    };
    operand.rank() == result.rank()
        && operand.shape.iter().zip(result.shape).all(|(&from, &to)| is_static(from) || !is_static(to))
}

/// Prints types as a list.
pub fn display_types(types: &[Type<'_>]) -> String {
    let types: Vec<String> = types.iter().map(ToString::to_string).collect();
    format!("({})", types.join(", "))
}

/// A rank-0 tensor type.
pub fn scalar(element: Type<'_>) -> Type<'_> {
    Tensor::of_dims(&[] as &[Dim], element)
}
