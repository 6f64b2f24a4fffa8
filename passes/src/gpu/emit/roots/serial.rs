// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! One element of a reduction, dot product, convolution or windowed reduction, computed by a loop of one thread: what
//! `element` calls where such an op is inside of a kernel of another kind.
//!
//! Elements are combined in row-major order. Sums of dot products and convolutions are kept in f32 where the result is a
//! narrower float, else in the result's type; sums and products in bf16 and f16 by reduction are kept in f32 as well.

use super::arithmetic::Arithmetic;
use super::reducer::Reducer;
use super::window::{self, Names, both};
use crate::framework::PassError;
use crate::gpu::emit::code::Scalar;
use crate::gpu::emit::element::Kernel;
use crate::ir;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi;
use slimhlo_dialect::stablehlo::attrs::{ConvDimensionNumbers, DotDimensionNumbers};
use slimhlo_dialect::types::Tensor;

type Result<'c, T> = std::result::Result<T, PassError<'c>>;

/// The tensor type of operand `index`.
///
/// # Errors
/// There is no such operand, or it is no ranked tensor.
pub fn operand_tensor<'c: 'a, 'a>(op: OperationRef<'c, 'a>, index: usize) -> Result<'c, Tensor<'c>> {
    let operand = op.operand(index)?;
    Tensor::new(operand.r#type()).ok_or_else(|| PassError::at(op, "has an operand that is no ranked tensor"))
}

/// The tensor type of result `index`.
///
/// # Errors
/// There is no such result, or it is no ranked tensor.
pub fn result_tensor<'c: 'a, 'a>(op: OperationRef<'c, 'a>, index: usize) -> Result<'c, Tensor<'c>> {
    let result = op.results().nth(index).and_then(|result| Tensor::new(result.r#type()));
    result.ok_or_else(|| PassError::at(op, "has a result that is no ranked tensor"))
}

/// Comes to the next carried scalars of a loop at an index.
pub type Body<'f, 'c, 'a> =
    dyn FnMut(&[Value<'c, 'a>], Vec<Scalar<'c, 'a>>) -> Result<'c, Vec<Scalar<'c, 'a>>> + 'f;

/// Goes through all indices of a shape in row-major order, carrying scalars.
///
/// # Errors
/// What `body` fails with.
pub fn nest<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    sizes: &[i64],
    carried: Vec<Scalar<'c, 'a>>,
    body: &mut Body<'_, 'c, 'a>,
) -> Result<'c, Vec<Scalar<'c, 'a>>> {
    fn go<'c: 'a, 'a>(
        kernel: &Kernel<'c, 'a>,
        sizes: &[i64],
        index: &[Value<'c, 'a>],
        carried: Vec<Scalar<'c, 'a>>,
        body: &mut Body<'_, 'c, 'a>,
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let code = &kernel.code;
        let Some((&size, rest)) = sizes.split_first() else { return body(index, carried) };
        let at = |counter| [index, &[counter]].concat();
        if size == 1 {
            return go(kernel, rest, &at(code.index(0)), carried, body);
        }
        let (from, to, step) = (code.index(0), code.index(size), code.index(1));
        let parts = flat(&carried);
        let results = code.for_loop(from, to, step, &parts, |counter, parts| {
            let carried = unflat(&carried, parts);
            Ok(flat(&go(kernel, rest, &at(counter), carried, body)?))
        })?;
        Ok(unflat(&carried, &results))
    }
    go(kernel, sizes, &[], carried, body)
}

/// All values that scalars are made of.
pub fn flat<'c, 'a>(scalars: &[Scalar<'c, 'a>]) -> Vec<Value<'c, 'a>> {
    scalars.iter().flat_map(|scalar| scalar.parts()).collect()
}

/// The inverse of [`flat`], for scalars like `model`.
pub fn unflat<'c, 'a>(model: &[Scalar<'c, 'a>], parts: &[Value<'c, 'a>]) -> Vec<Scalar<'c, 'a>> {
    let mut parts = parts.iter().copied();
    let scalars = model.iter().map(|scalar| match scalar {
        Scalar::Real(_) => Scalar::Real(parts.next().expect("as many parts as the model has")),
        Scalar::Complex(..) => {
            let real = parts.next().expect("as many parts as the model has");
            Scalar::Complex(real, parts.next().expect("as many parts as the model has"))
        }
    });
    scalars.collect()
}

/// Does `then` to carried scalars where the condition holds; they stay as they are elsewhere.
///
/// # Errors
/// What `then` fails with.
pub fn only_if<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    condition: Option<Value<'c, 'a>>,
    carried: Vec<Scalar<'c, 'a>>,
    then: impl FnOnce(Vec<Scalar<'c, 'a>>) -> Result<'c, Vec<Scalar<'c, 'a>>>,
) -> Result<'c, Vec<Scalar<'c, 'a>>> {
    let Some(condition) = condition else { return then(carried) };
    let parts = flat(&carried);
    let types: Vec<_> = parts.iter().map(|part| part.r#type()).collect();
    let results =
        kernel.code.if_else(condition, &types, || Ok(flat(&then(carried.clone())?)), || Ok(parts.clone()))?;
    Ok(unflat(&carried, &results))
}

/// All results of `stablehlo.reduce` at an index of its results.
///
/// # Errors
/// An element of what it reads cannot be computed, or its region: see [`Kernel::element`].
pub fn reduce<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Result<'c, Vec<Scalar<'c, 'a>>> {
    let reducer = Reducer::of(op)?;
    let shape = operand_tensor(op, 0)?.shape;
    let dims = ir::i64_array(op, "dimensions").unwrap_or_default();
    let sizes: Vec<i64> = dims.iter().map(|&dim| shape[dim as usize]).collect();
    let start = reducer.start(kernel)?;
    let sums = nest(kernel, &sizes, start, &mut |inside, sums| {
        let at = merge(shape.len(), dims, inside, index);
        reducer.combine(kernel, &sums, &at)
    })?;
    reducer.finish(kernel, &sums)
}

/// An index that is `inside` along `dims` and `outside` along the others, in their order.
pub fn merge<'c, 'a>(
    rank: usize,
    dims: &[i64],
    inside: &[Value<'c, 'a>],
    outside: &[Value<'c, 'a>],
) -> Vec<Value<'c, 'a>> {
    let mut outside = outside.iter().copied();
    (0..rank)
        .map(|dim| match dims.iter().position(|&reduced| reduced == dim as i64) {
            Some(place) => inside[place],
            None => outside.next().expect("an index of the result"),
        })
        .collect()
}

/// All results of `stablehlo.reduce_window` at an index of its results.
///
/// # Errors
/// An element of what it reads cannot be computed, or its region: see [`Kernel::element`].
pub fn reduce_window<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Result<'c, Vec<Scalar<'c, 'a>>> {
    let reducer = Reducer::of(op)?;
    let shape = operand_tensor(op, 0)?.shape;
    let places = result_tensor(op, 0)?.shape;
    let sizes = ir::i64_array(op, "window_dimensions").unwrap_or_default();
    let dims = window::read(op, sizes, &Names::Reduce);
    let start = reducer.start(kernel)?;
    let sums = nest(kernel, sizes, start, &mut |inside, sums| {
        let mut condition = None;
        let mut at = Vec::with_capacity(shape.len());
        for (dim, window) in dims.iter().enumerate() {
            let (position, within) =
                window.position(&kernel.code, index[dim], inside[dim], shape[dim], places[dim]);
            at.push(position);
            condition = both(&kernel.code, condition, within);
        }
        only_if(kernel, condition, sums, |sums| reducer.combine(kernel, &sums, &at))
    })?;
    reducer.finish(kernel, &sums)
}

/// What the dimensions of a dot product are.
pub struct Dot<'c> {
    /// Left and right batching dimensions.
    pub batching: [&'c [i64]; 2],
    /// Left and right contracting dimensions.
    pub contracting: [&'c [i64]; 2],
    /// The dimensions that only the left and only the right operand has.
    pub free: [Vec<i64>; 2],
}

impl<'c> Dot<'c> {
    /// Reads `dot_general` and `dot`.
    ///
    /// # Errors
    /// An operand is no ranked tensor, or what says how dimensions go together is missing.
    pub fn of<'a>(op: OperationRef<'c, 'a>) -> Result<'c, Self>
    where
        'c: 'a,
    {
        let ranks = [operand_tensor(op, 0)?.rank(), operand_tensor(op, 1)?.rank()];
        let numbers = ffi::attribute_of(op, "dot_dimension_numbers")
            .and_then(|numbers| DotDimensionNumbers::try_from(numbers).ok());
        let (batching, contracting): ([&[i64]; 2], [&[i64]; 2]) = match numbers {
            Some(numbers) => (
                [numbers.lhs_batching_dimensions(), numbers.rhs_batching_dimensions()],
                [numbers.lhs_contracting_dimensions(), numbers.rhs_contracting_dimensions()],
            ),
            // `dot` contracts the last left with the first right dimension.
            None => ([&[], &[]], [if ranks[0] == 2 { &[1] } else { &[0] }, &[0]]),
        };
        let free = [0, 1].map(|side| {
            (0..ranks[side] as i64)
                .filter(|dim| !batching[side].contains(dim) && !contracting[side].contains(dim))
                .collect()
        });
        Ok(Self { batching, contracting, free })
    }

    /// Index of the operand of a side (0 left, 1 right): of the result's index its part, and the contracted one.
    pub fn operand_index<'a>(
        &self,
        side: usize,
        index: &[Value<'c, 'a>],
        contracted: &[Value<'c, 'a>],
    ) -> Vec<Value<'c, 'a>> {
        let rank = self.batching[side].len() + self.contracting[side].len() + self.free[side].len();
        let free = self.batching[0].len() + if side == 1 { self.free[0].len() } else { 0 };
        (0..rank as i64)
            .map(|dim| {
                let place = |dims: &[i64]| dims.iter().position(|&other| other == dim);
                if let Some(place) = place(self.batching[side]) {
                    index[place]
                } else if let Some(place) = place(self.contracting[side]) {
                    contracted[place]
                } else {
                    index[free + place(&self.free[side]).expect("every dimension has a role")]
                }
            })
            .collect()
    }
}

/// The result of `stablehlo.dot_general` or `stablehlo.dot` at an index.
///
/// # Errors
/// An element of an operand cannot be computed, or there is no arithmetic for the types.
pub fn dot_general<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Result<'c, Scalar<'c, 'a>> {
    let (left, right, result) = (operand_tensor(op, 0)?, operand_tensor(op, 1)?, result_tensor(op, 0)?);
    let dot = Dot::of(op)?;
    let arithmetic = Arithmetic::of(kernel, result.element);
    let sizes: Vec<i64> = dot.contracting[0].iter().map(|&dim| left.shape[dim as usize]).collect();
    let zero = vec![arithmetic.zero(kernel)];
    let sum = nest(kernel, &sizes, zero, &mut |inside, sum| {
        let element =
            |side: usize| kernel.element(op.operand(side)?, &dot.operand_index(side, index, inside));
        let product = [
            arithmetic.lift(kernel, op, element(0)?, left.element)?,
            arithmetic.lift(kernel, op, element(1)?, right.element)?,
        ];
        Ok(vec![arithmetic.multiply_add(kernel, product[0], product[1], sum[0])])
    })?;
    arithmetic.lower(kernel, op, sum[0], result.element)
}

/// The result of `stablehlo.convolution` at an index.
///
/// # Errors
/// An element of an operand cannot be computed, or there is no arithmetic for the types.
pub fn convolution<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Result<'c, Scalar<'c, 'a>> {
    let code = &kernel.code;
    let (left, right, result) = (operand_tensor(op, 0)?, operand_tensor(op, 1)?, result_tensor(op, 0)?);
    let numbers = ffi::attribute_of(op, "dimension_numbers")
        .and_then(|numbers| ConvDimensionNumbers::try_from(numbers).ok())
        .ok_or_else(|| PassError::at(op, "has no dimension numbers"))?;
    let groups = |name: &str| ir::constant_attribute(op, name).unwrap_or(1);
    let (feature_groups, batch_groups) = (groups("feature_group_count"), groups("batch_group_count"));
    let (input, weights, output) = (numbers.input(), numbers.kernel(), numbers.output());
    let spatial: Vec<i64> = weights.spatial.iter().map(|&dim| right.shape[dim as usize]).collect();
    let window = window::read(op, &spatial, &Names::Convolution);
    let features = right.shape[weights.batch as usize];
    let out_features = right.shape[weights.feature as usize];
    let batches = left.shape[input.batch as usize] / batch_groups;

    let feature = index[output.feature as usize];
    let mut first_feature = code.index(0);
    if feature_groups > 1 {
        let group = code.div(feature, out_features / feature_groups);
        first_feature = code.mul(group, code.index(features));
    }
    let mut batch = index[output.batch as usize];
    if batch_groups > 1 {
        let group = code.div(feature, out_features / batch_groups);
        batch = code.add(code.mul(group, code.index(batches)), batch);
    }

    let arithmetic = Arithmetic::of(kernel, result.element);
    let zero = vec![arithmetic.zero(kernel)];
    let sum = nest(kernel, &spatial, zero, &mut |inside, sum| {
        let mut condition = None;
        let mut left_index = vec![code.index(0); left.rank()];
        let mut right_index = vec![code.index(0); right.rank()];
        for (dim, along) in window.iter().enumerate() {
            let (from, to) = (input.spatial[dim] as usize, output.spatial[dim] as usize);
            let (position, within) =
                along.position(code, index[to], inside[dim], left.shape[from], result.shape[to]);
            left_index[from] = position;
            condition = both(code, condition, within);
            right_index[weights.spatial[dim] as usize] =
                if along.reversed { code.sub(code.index(along.size - 1), inside[dim]) } else { inside[dim] };
        }
        left_index[input.batch as usize] = batch;
        right_index[weights.feature as usize] = feature;
        nest(kernel, &[features], sum, &mut |inside, sum| {
            let (mut left_index, mut right_index) = (left_index.clone(), right_index.clone());
            left_index[input.feature as usize] = code.add(first_feature, inside[0]);
            right_index[weights.batch as usize] = inside[0];
            // Padding is zeros like others: times an infinity they are not zero.
            let operand = op.operand(0)?;
            let value = match condition {
                None => kernel.element(operand, &left_index)?,
                Some(condition) if kernel.is_computed_at_once(kernel.cost(operand)) => {
                    let value = kernel.speculative_element(operand, &left_index)?;
                    code.select_scalar(condition, value, kernel.zero(left.element)?)
                }
                Some(_) => {
                    let zero = vec![kernel.zero(left.element)?];
                    only_if(kernel, condition, zero, |_| Ok(vec![kernel.element(operand, &left_index)?]))?[0]
                }
            };
            let weight = kernel.element(op.operand(1)?, &right_index)?;
            let lifted = [
                arithmetic.lift(kernel, op, value, left.element)?,
                arithmetic.lift(kernel, op, weight, right.element)?,
            ];
            Ok(vec![arithmetic.multiply_add(kernel, lifted[0], lifted[1], sum[0])])
        })
    })?;
    arithmetic.lower(kernel, op, sum[0], result.element)
}

/// Whether [`any`] knows ops of this name.
pub fn knows(name: &str) -> bool {
    matches!(
        name,
        "stablehlo.reduce"
            | "stablehlo.reduce_window"
            | "stablehlo.dot_general"
            | "stablehlo.dot"
            | "stablehlo.convolution"
    )
}

/// All results of an op of this module's at an index of its results; `None` for other ops.
///
/// # Errors
/// As of the function for the op.
pub fn any<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Result<'c, Option<Vec<Scalar<'c, 'a>>>> {
    Ok(Some(match ffi::op_name(op) {
        "stablehlo.reduce" => reduce(kernel, op, index)?,
        "stablehlo.reduce_window" => reduce_window(kernel, op, index)?,
        "stablehlo.dot_general" | "stablehlo.dot" => vec![dot_general(kernel, op, index)?],
        "stablehlo.convolution" => vec![convolution(kernel, op, index)?],
        _ => return Ok(None),
    }))
}
