// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `reduce`, `reduce_window` and `select_and_scatter`.

use super::constraints::{argument_types, block, returned_types};
use super::dim_lists::{distinct, in_range, others};
use super::reducer::{Reducer, accumulator_elements, same_in_any_precision, scalar_of};
use super::window::WindowAttributes;
use crate::dims::Dim;
use crate::quant::Number;
use crate::require;
use crate::rules::{Rules, Table};
use crate::types::{Tensor, compatible_shape, display_shape};
use crate::view::{Inferred, OpError, OpView, Verdict};

/// Rules of this family.
pub const TABLE: Table = &[
    ("stablehlo.reduce", Rules::NONE.verify(verify_reduce).infer(infer_reduce)),
    ("stablehlo.reduce_window", Rules::NONE.verify(verify_reduce_window).infer(infer_reduce_window)),
    (
        "stablehlo.select_and_scatter",
        Rules::NONE.verify(verify_select_and_scatter).infer(infer_select_and_scatter),
    ),
];

const REDUCE_WINDOW: WindowAttributes = WindowAttributes {
    strides: "window_strides",
    padding: Some("padding"),
    base_dilations: Some("base_dilations"),
    window_dilations: Some("window_dilations"),
    reversal: None,
};

const SELECT_AND_SCATTER: WindowAttributes =
    WindowAttributes { base_dilations: None, window_dilations: None, ..REDUCE_WINDOW };

/// Operands of `reduce` and `reduce_window`: as many inputs as initial values.
struct Reduced<'c> {
    inputs: Vec<Tensor<'c>>,
    initial: Vec<Tensor<'c>>,
}

impl<'c> Reduced<'c> {
    fn read(op: &OpView<'c, '_>) -> Result<Self, OpError> {
        let count = op.operand_count() / 2;
        require!(
            count > 0,
            "there must be at least one input and its initial value, but there are {} operands",
            op.operand_count()
        );
        let operands = |range: std::ops::Range<usize>| {
            range.map(|index| op.operand_tensor(index)).collect::<Result<Vec<_>, OpError>>()
        };
        Ok(Self { inputs: operands(0..count)?, initial: operands(count..2 * count)? })
    }

    /// same(shape(inputs...))
    fn verify_shapes(&self) -> Verdict {
        let first = &self.inputs[0];
        for (index, input) in self.inputs.iter().enumerate().skip(1) {
            require!(
                compatible_shape(first.shape, input.shape),
                "input #{index} has shape [{}], but input #0 has [{}]",
                display_shape(input.shape),
                display_shape(first.shape)
            );
        }
        Ok(())
    }
}

/// `dimensions` are distinct dimensions of the first input; gives those that stay.
fn kept_dimensions(op: &OpView<'_, '_>, input: &Tensor<'_>) -> Result<Vec<usize>, OpError> {
    let dimensions = op.i64_array("dimensions")?;
    in_range(("dimensions", dimensions), input.rank(), "the inputs")?;
    distinct(&[("dimensions", dimensions)])?;
    Ok(others(input.rank(), &[dimensions]))
}

fn verify_reduce(op: &OpView<'_, '_>) -> Verdict {
    let reduced = Reduced::read(op)?;
    reduced.verify_shapes()?;
    let first = &reduced.inputs[0];
    let window: Vec<i64> = kept_dimensions(op, first)?.into_iter().map(|index| first.shape[index]).collect();
    Reducer { region: 0, inputs: &reduced.inputs, initial: &reduced.initial, window: &window }.verify(op)
}

fn infer_reduce<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let reduced = Reduced::read(op)?;
    reduced.verify_shapes()?;
    let first = &reduced.inputs[0];
    let dims = first.dims();
    let kept: Vec<Dim> = kept_dimensions(op, first)?.into_iter().map(|index| dims[index]).collect();
    let elements = accumulator_elements(op, 0, reduced.inputs.len())?;
    Ok(elements.into_iter().map(|element| Tensor::of_dims(&kept, element)).collect())
}

fn verify_reduce_window(op: &OpView<'_, '_>) -> Verdict {
    let reduced = Reduced::read(op)?;
    reduced.verify_shapes()?;
    let window = op.i64_array("window_dimensions")?;
    Reducer { region: 0, inputs: &reduced.inputs, initial: &reduced.initial, window }.verify(op)
}

fn infer_reduce_window<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let reduced = Reduced::read(op)?;
    reduced.verify_shapes()?;
    let elements = accumulator_elements(op, 0, reduced.inputs.len())?;
    let sizes = op.i64_array("window_dimensions")?;
    let window = REDUCE_WINDOW.read(op, sizes)?;
    let result = |(index, input): (usize, &Tensor<'c>)| {
        one_size_per_dimension(sizes, input)?;
        let dims: Vec<Dim> = window.iter().zip(input.dims()).map(|(window, dim)| window.slide(dim)).collect();
        Tensor::try_of_dims(&dims, elements[index])
    };
    reduced.inputs.iter().enumerate().map(result).collect()
}

/// size(window_dimensions) = rank(inputs...)
fn one_size_per_dimension(sizes: &[i64], input: &Tensor<'_>) -> Verdict {
    require!(
        sizes.len() == input.rank(),
        "window_dimensions has {} entries, but the input has rank {}",
        sizes.len(),
        input.rank()
    );
    Ok(())
}

fn verify_select_and_scatter(op: &OpView<'_, '_>) -> Verdict {
    let (operand, source, initial) = (op.operand_tensor(0)?, op.operand_tensor(1)?, op.operand_tensor(2)?);
    verify_select(op, &operand)?;
    let scattered = scalar_of(&source)?;
    Reducer { region: 1, inputs: &[scattered], initial: &[initial], window: &[] }.verify(op)?;

    let sizes = op.optional_i64_array("window_dimensions")?.unwrap_or_default();
    one_size_per_dimension(sizes, &operand)?;
    let window = SELECT_AND_SCATTER.read(op, sizes)?;
    let places: Vec<Dim> =
        window.iter().zip(operand.shape).map(|(window, &size)| Dim::of(window.places(size))).collect();
    let places = Tensor::try_of_dims(&places, operand.element)?;
    require!(
        same_in_any_precision(source.ty, places),
        "source has type {source}, but one element per place of the window makes {places}"
    );
    Ok(())
}

/// `select` takes two elements of the operand, in any precision, and returns a boolean.
fn verify_select(op: &OpView<'_, '_>, operand: &Tensor<'_>) -> Verdict {
    let block = block(op, 0)?;
    let arguments = argument_types(block);
    require!(arguments.len() == 2, "select must take 2 arguments, but takes {}", arguments.len());
    let element = scalar_of(operand)?;
    for (index, &argument) in arguments.iter().enumerate() {
        require!(
            same_in_any_precision(argument, element.ty),
            "argument #{index} of select has type {argument}, not {element}"
        );
    }
    let returned = returned_types(block);
    require!(returned.len() == 1, "select must return 1 value, but returns {}", returned.len());
    let is_boolean = Tensor::new(returned[0])
        .is_some_and(|tensor| tensor.rank() == 0 && Number::of(tensor.element).is_integer_of_width(1));
    require!(is_boolean, "select must return a tensor<i1>, but returns {}", returned[0]);
    Ok(())
}

fn infer_select_and_scatter<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    let elements = accumulator_elements(op, 1, 1)?;
    Ok(vec![Tensor::of_dims(&operand.dims(), elements[0])])
}
