// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Bodies that combine two values into one: what `reduce`, `reduce_window`, `scatter`, `select_and_scatter`,
//! `all_reduce` and `reduce_scatter` share.
//!
//! For n reduced values the body takes n accumulators, then n elements, and returns n accumulators. Accumulators may be
//! wider than what is reduced; among floating point types precision does not matter at all.

use super::constraints::{argument_types, block, returned_types, scalar};
use crate::quant::Number;
use crate::types::{Tensor, compatible_shape, display_shape, is_static};
use crate::view::{OpError, OpView, Verdict};
use crate::{reject, require};
use melior::ir::Type;

/// What a body is applied to.
pub struct Reducer<'c, 'r> {
    /// Number of the region that holds the body.
    pub region: usize,
    /// What is reduced; the elements' types count, the shapes do not.
    pub inputs: &'r [Tensor<'c>],
    /// What accumulators start from.
    pub initial: &'r [Tensor<'c>],
    /// Sizes of the dimensions that the body may be given whole: its elements' shape is found among them, in order.
    pub window: &'r [i64],
}

impl<'c> Reducer<'c, '_> {
    /// Verifies the body.
    pub fn verify(&self, op: &OpView<'c, '_>) -> Verdict {
        let count = self.inputs.len();
        let arguments = argument_types(block(op, self.region)?);
        require!(
            arguments.len() == 2 * count,
            "the body must take {} arguments for {count} reduced values, but takes {}",
            2 * count,
            arguments.len()
        );
        let accumulators = accumulators(op, self.region)?;
        require!(
            accumulators.len() == count.max(1),
            "the body must return {} values, but returns {}",
            count.max(1),
            accumulators.len()
        );
        let (starts, elements) = arguments.split_at(count);
        for (index, accumulator) in accumulators.iter().enumerate() {
            self.verify_arguments(index, accumulator, starts[index], elements[index])?;
            self.verify_promotion(index, accumulator, elements[index])?;
            self.verify_element_shape(index, elements[index])?;
        }
        Ok(())
    }

    /// Both arguments have the type of the accumulator that the body returns, the element's one in any precision.
    fn verify_arguments(
        &self,
        index: usize,
        accumulator: &Tensor<'_>,
        start: Type<'_>,
        element: Type<'_>,
    ) -> Verdict {
        let same = |ty| {
            Tensor::new(ty).is_some_and(|argument| {
                argument.element == accumulator.element && compatible_shape(argument.shape, accumulator.shape)
            })
        };
        require!(
            same(start),
            "the body's argument #{index} has type {start}, but result #{index} of the body has {accumulator}"
        );
        require!(
            same_in_any_precision(element, accumulator.ty),
            "the body's argument #{} has type {element}, but result #{index} of the body has {accumulator}",
            self.inputs.len() + index
        );
        Ok(())
    }

    /// Initial values and inputs can become accumulators without loss, precision of floating point aside.
    fn verify_promotion(&self, index: usize, accumulator: &Tensor<'_>, element: Type<'_>) -> Verdict {
        let Some(initial) = self.initial.get(index) else { reject!("initial value #{index} is missing") };
        require!(
            compatible_shape(accumulator.shape, initial.shape),
            "result #{index} of the body has shape [{}], but the initial value has [{}]",
            display_shape(accumulator.shape),
            display_shape(initial.shape)
        );
        require!(
            is_promotable(initial.element, accumulator.element),
            "result #{index} of the body has element type {}, which the initial value's {} cannot be promoted to",
            accumulator.element,
            initial.element
        );
        let input = self.inputs[index].element;
        let Some(element) = Tensor::new(element) else { return Ok(()) };
        require!(
            is_promotable(input, element.element),
            "the body's argument #{} has element type {}, which the input's {input} cannot be promoted to",
            self.inputs.len() + index,
            element.element
        );
        Ok(())
    }

    /// The sizes of an element argument are found in order among those of the window.
    fn verify_element_shape(&self, index: usize, element: Type<'_>) -> Verdict {
        let Some(element) = Tensor::new(element) else { return Ok(()) };
        let mut window = self.window.iter();
        let fits = element.shape.iter().all(|&size| {
            window.by_ref().any(|&allowed| allowed == size || !is_static(allowed) || !is_static(size))
        });
        require!(
            fits,
            "the body's argument #{} has shape [{}], which is not part of [{}]",
            self.inputs.len() + index,
            display_shape(element.shape),
            display_shape(self.window)
        );
        Ok(())
    }
}

/// What the body in a region returns, as tensors.
pub fn accumulators<'c>(op: &OpView<'c, '_>, region: usize) -> Result<Vec<Tensor<'c>>, OpError> {
    let returned = returned_types(block(op, region)?);
    let tensor = |(index, &ty): (usize, &Type<'c>)| {
        Tensor::new(ty)
            .ok_or_else(|| OpError(format!("the body must return tensors, but result #{index} is {ty}")))
    };
    returned.iter().enumerate().map(tensor).collect()
}

/// Element types of what the body in a region returns: exactly `count` of them.
pub fn accumulator_elements<'c>(
    op: &OpView<'c, '_>,
    region: usize,
    count: usize,
) -> Result<Vec<Type<'c>>, OpError> {
    let accumulators = accumulators(op, region)?;
    require!(
        accumulators.len() == count,
        "the body must return {count} values, but returns {}",
        accumulators.len()
    );
    Ok(accumulators.iter().map(|accumulator| accumulator.element).collect())
}

/// A tensor of rank 0 with the same elements.
pub fn scalar_of<'c>(tensor: &Tensor<'c>) -> Result<Tensor<'c>, OpError> {
    Tensor::new(scalar(tensor.element))
        .ok_or_else(|| OpError(format!("{} cannot be the element of a tensor", tensor.element)))
}

/// Whether two types are tensors whose shapes may be the same at run time and whose elements are the same, or are both
/// floating point.
pub fn same_in_any_precision(left: Type<'_>, right: Type<'_>) -> bool {
    let (Some(left), Some(right)) = (Tensor::new(left), Tensor::new(right)) else { return false };
    let same_element = left.element == right.element
        || matches!(
            (Number::of(left.element), Number::of(right.element)),
            (Number::Float { .. }, Number::Float { .. })
        );
    same_element && compatible_shape(left.shape, right.shape)
}

/// Whether numbers of type `from` can be held by type `to`: both are of one kind and `to` is no narrower. Any floating
/// point type will do for any other.
pub fn is_promotable(from: Type<'_>, to: Type<'_>) -> bool {
    if from == to {
        return true;
    }
    match (Number::of(from), Number::of(to)) {
        (Number::Float { .. }, Number::Float { .. }) => true,
        (Number::Integer { width: from, .. }, Number::Integer { width: to, .. }) => from <= to,
        (from @ Number::Complex { .. }, to @ Number::Complex { .. }) => from.width() <= to.width(),
        (Number::Quantized(from), Number::Quantized(to)) => {
            from.expressed() == to.expressed() && from.storage_width() <= to.storage_width()
        }
        _ => false,
    }
}
