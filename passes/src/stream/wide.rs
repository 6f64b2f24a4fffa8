// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Dots of narrow floats with wider results, in the loops made, in forms that back ends take.
//!
//! What narrow products add up over chunks is added up in f32, so that a loop has dots that the program had not:
//!
//! ```mlir
//! %part = stablehlo.dot_general %rows, %errors, contracting_dims = [0] x [0]
//!   : (tensor<256x64xbf16>, tensor<256x8x128xbf16>) -> tensor<64x8x128xf32>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %flat = stablehlo.reshape %errors : (tensor<256x8x128xbf16>) -> tensor<256x1024xbf16>
//! %product = stablehlo.dot_general %rows, %flat, contracting_dims = [0] x [0] : ... -> tensor<64x1024xf32>
//! %part = stablehlo.reshape %product : (tensor<64x1024xf32>) -> tensor<64x8x128xf32>
//! ```
//!
//! XLA for CPU (jaxlib 0.10.2) widens the operands of the products that its library of kernels has none for, and asks before it brings
//! dots into the form of a product of matrices. One whose left operand is a matrix already, with what is contracted first, and whose
//! right operand is not yet a matrix, passes for one of those there are kernels for; as a product of matrices it is none, and the program
//! fails as it runs: `DotThunk: BF16 x BF16 = F32`. Of 997 random products the 73 that failed were of this kind, and all of this kind
//! failed but for some with dimensions of one element (measured by hand). So the right operand is made a matrix here, by a reshape that moves nothing:
//! dimensions of one element are left out and neighbours that are not contracted become one. Where that cannot be, both
//! operands are widened, which changes no bit.
//!
//! XLA for CPU has kernels for bf16 where the left operand's contracted dimension is the last one, and these take 1.6 times as long as
//! those for f32 do with the operands widened first (measured by hand), so that large ones
//!
//! ```mlir
//! %part = stablehlo.dot_general %errors, %table, contracting_dims = [1] x [0]
//!   : (tensor<2048x250xbf16>, tensor<250x1024xbf16>) -> tensor<2048x1024xf32>
//! ```
//!
//! become
//!
//! ```mlir
//! %a = stablehlo.convert %errors : (tensor<2048x250xbf16>) -> tensor<2048x250xf32>
//! %b = stablehlo.convert %table : (tensor<250x1024xbf16>) -> tensor<250x1024xf32>
//! %part = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0],
//!   algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, ...>
//!   : (tensor<2048x250xf32>, tensor<250x1024xf32>) -> tensor<2048x1024xf32>
//! ```
//!
//! A back end that multiplies in bf16 takes the operands back to what they were, which loses nothing, and is told that it may; one that
//! does not multiplies in f32. What a turn is given whole is not widened so: that would be a copy of it. Nor are small products, or
//! those that are none of matrices, which are computed where no algorithms are known.
//!
//! Other dots stay as they are. The same products are added up along the same dimension.

use crate::ir::{self, is_narrow};
use crate::ir::{Builder, element_of};
use crate::ops::products::dot_numbers;
use crate::rewrite::{defining_op, ops_named, remove_attribute};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, Value, ValueLike};
use slimhlo_dialect::stablehlo::attrs::{DotAlgorithm, DotAlgorithmParts, DotDimensionNumbers};
use slimhlo_dialect::types::Tensor;

/// How many products a sum has at least, and an operand rows, so that its kernel is worth being chosen.
const LARGE: i64 = 16;

/// Brings dots in an op into forms that back ends take.
pub fn run<'c: 'a, 'a>(root: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) {
    for op in ops_named(root, "stablehlo.dot_general") {
        let widens = op.operands().all(is_narrow)
            && op.results().all(|result| {
                let element = element_of(result.r#type());
                element.is_float() && !is_narrow(result.into())
            });
        if widens && named(op, build).is_none() {
            settle(op, build);
        }
    }
}

/// A large product of bf16 that is added up in f32 as one of f32 which names that algorithm.
fn named<'c: 'a, 'a>(op: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<()> {
    let numbers = dot_numbers(op)?;
    let [left, right]: [Value; 2] = op.operands().collect::<Vec<_>>().try_into().ok()?;
    let result: Value = op.result(0).ok()?.into();
    let (narrow, wide) = (element_of(left.r#type()), element_of(result.r#type()));
    if !narrow.is_bf16() || !element_of(right.r#type()).is_bf16() || !wide.is_f32() {
        return None;
    }
    // What is no product of matrices back ends compute elsewhere, where they may know no algorithms.
    let sides = [
        (left, numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions()),
        (right, numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions()),
    ];
    let [first, second] = sides.map(|(operand, batch, contracted)| Matrices::of(operand, batch, contracted));
    let (first, second) = first.zip(second)?;
    if first.matrix()? != [Along::Free, Along::Contracted] {
        return None;
    }
    let are_large = [&first, &second].iter().all(|of| {
        let (summed, free) = (of.sizes(Along::Contracted), of.sizes(Along::Free));
        summed.product::<i64>() >= LARGE && free.product::<i64>() >= LARGE
    });
    // What is there whole would be widened in each turn.
    let is_little = |operand: &Value<'c, 'a>| {
        defining_op(*operand).is_some_and(|made| made.block() == op.block())
            || ir::bytes(*operand).saturating_mul(2) <= ir::bytes(result)
    };
    if !are_large || ![left, right].iter().all(is_little) {
        return None;
    }
    let location = op.location();
    let algorithm = DotAlgorithm::new(
        location,
        DotAlgorithmParts {
            lhs_precision_type: narrow,
            rhs_precision_type: narrow,
            accumulation_type: wide,
            lhs_component_count: 1,
            rhs_component_count: 1,
            num_primitive_operations: 1,
            allow_imprecise_accumulation: false,
        },
    )?;
    build.set_insertion_point_before(op);
    let widened = [left, right].map(|value| {
        let shape = Tensor::new(value.r#type()).expect("dots are of tensors").shape;
        build.convert(value, Tensor::get(shape, wide, None), location)
    });
    let attributes = [("algorithm", algorithm.into())];
    let product = build.copy_with(op, &widened, &attributes, &[result.r#type()]);
    // The algorithm says all there is to say: an operand of bf16 is in one part at any precision, and none goes with an algorithm.
    remove_attribute(product, "precision_config");
    build.replace_all_uses_with(result, product.result(0).ok()?.into());
    build.erase(op);
    Some(())
}

/// What a dot does along a dimension of an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Along {
    /// The batch's dimension of this number.
    Batch(usize),
    Contracted,
    Free,
}

/// An operand without its dimensions of one element.
struct Matrices {
    along: Vec<Along>,
    shape: Vec<i64>,
    /// Whether there were any.
    had_ones: bool,
}

impl Matrices {
    fn of(value: Value<'_, '_>, batch: &[i64], contracted: &[i64]) -> Option<Self> {
        let tensor = ir::plain(value)?;
        let long = |dim: i64| tensor.shape[dim as usize] != 1;
        let batch: Vec<_> = batch.iter().copied().filter(|&dim| long(dim)).collect();
        let dims = (0..tensor.rank() as i64).filter(|&dim| long(dim));
        let (along, shape): (Vec<_>, Vec<_>) = dims
            .map(|dim| {
                let along = match batch.iter().position(|&of| of == dim) {
                    Some(number) => Along::Batch(number),
                    None if contracted.contains(&dim) => Along::Contracted,
                    None => Along::Free,
                };
                (along, tensor.shape[dim as usize])
            })
            .unzip();
        let had_ones = shape.len() != tensor.rank();
        Some(Self { along, shape, had_ones })
    }

    /// How many dimensions the batch has, if they come first and in order.
    fn batch(&self) -> Option<usize> {
        let is_batch = |along: &Along| matches!(along, Along::Batch(_));
        let count = self.along.iter().filter(|along| is_batch(along)).count();
        (0..count).all(|number| self.along[number] == Along::Batch(number)).then_some(count)
    }

    /// The dimensions of each matrix.
    fn matrix(&self) -> Option<&[Along]> {
        Some(&self.along[self.batch()?..])
    }

    /// With neighbours that are not contracted as one.
    fn flat(&self) -> Self {
        let (mut along, mut shape): (Vec<Along>, Vec<i64>) = Default::default();
        for (&next, &size) in self.along.iter().zip(&self.shape) {
            match shape.last_mut() {
                Some(last) if next == Along::Free && along.last() == Some(&next) => *last *= size,
                _ => {
                    along.push(next);
                    shape.push(size);
                }
            }
        }
        Self { along, shape, had_ones: self.had_ones }
    }

    fn contracted(&self) -> i64 {
        self.along.iter().position(|&along| along == Along::Contracted).map_or(0, |dim| dim as i64)
    }

    fn free(&self) -> impl Iterator<Item = i64> {
        self.sizes(Along::Free)
    }

    fn sizes(&self, what: Along) -> impl Iterator<Item = i64> {
        let sizes = self.along.iter().zip(&self.shape);
        sizes.filter(move |(along, _)| **along == what).map(|(_, &size)| size)
    }
}

fn settle<'c: 'a, 'a>(op: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<()> {
    let numbers = dot_numbers(op)?;
    let [left, right]: [Value; 2] = op.operands().collect::<Vec<_>>().try_into().ok()?;
    let first = Matrices::of(left, numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions())?;
    let second =
        Matrices::of(right, numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions())?;
    if first.matrix()? != [Along::Contracted, Along::Free] {
        return None;
    }
    let is_matrix = |of: &Matrices| of.matrix().is_some_and(|dims| dims.len() == 2);
    if is_matrix(&second) && !first.had_ones && !second.had_ones {
        return None;
    }
    let result: Value = op.result(0).ok()?.into();
    let element = element_of(result.r#type());
    let location = op.location();
    build.set_insertion_point_before(op);
    let flat = second.flat();
    let product = if is_matrix(&flat) {
        let reshaped = |value: Value<'c, 'a>, to: &Matrices| {
            let ty = Tensor::get(&to.shape, element_of(value.r#type()), None);
            if value.r#type() == ty { value } else { build.reshape(value, ty, location) }
        };
        let operands = [reshaped(left, &first), reshaped(right, &flat)];
        let count = first.batch()?;
        let batch: Vec<i64> = (0..count as i64).collect();
        let (from_left, from_right) = ([first.contracted()], [flat.contracted()]);
        let numbers = DotDimensionNumbers::new(build.context(), &batch, &batch, &from_left, &from_right);
        let shape: Vec<i64> =
            first.shape[..count].iter().copied().chain(first.free()).chain(flat.free()).collect();
        let attributes = [("dot_dimension_numbers", numbers.into())];
        let ty = Tensor::get(&shape, element, None);
        let product = build.copy_with(op, &operands, &attributes, &[ty]).result(0).ok()?.into();
        if ty == result.r#type() { product } else { build.reshape(product, result.r#type(), location) }
    } else {
        let widened = [left, right].map(|value| {
            let shape = Tensor::new(value.r#type()).expect("dots are of tensors").shape;
            build.convert(value, Tensor::get(shape, element, None), location)
        });
        build.copy_with(op, &widened, &[], &[result.r#type()]).result(0).ok()?.into()
    };
    build.replace_all_uses_with(result, product);
    build.erase(op);
    Some(())
}
