// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Products that contract one element as what they are: products of elements.
//!
//! ```mlir
//! %0 = stablehlo.dot_general %d, %x, batching_dims = [0] x [0], contracting_dims = [1] x [1]
//!     : (tensor<64x1x8xf32>, tensor<64x1x16xf32>) -> tensor<64x8x16xf32>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %1 = stablehlo.reshape %d : (tensor<64x1x8xf32>) -> tensor<64x8xf32>
//! %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<64x8xf32>) -> tensor<64x8x16xf32>
//! %3 = stablehlo.reshape %x : (tensor<64x1x16xf32>) -> tensor<64x16xf32>
//! %4 = stablehlo.broadcast_in_dim %3, dims = [0, 2] : (tensor<64x16xf32>) -> tensor<64x8x16xf32>
//! %0 = stablehlo.multiply %2, %4 : tensor<64x8x16xf32>
//! ```
//!
//! Gradients by sample come like this (`jax.vmap` of `jax.grad`: a layer's sample is one row), and are larger than all they
//! are made of. Elementwise they are computed wherever they are read, and whoever sums or concatenates them stores nothing.
//! The sum of one product is that product, rounded once; of -0 alone it would be +0, which XLA's own form of this
//! does not keep either.
//!
//! It must not fire where operands have an algorithm of their own, nor for truth values, nor where dimensions of an operand
//! would change places.

use crate::framework::PassError;
use crate::ir::Builder;
use crate::ops::products;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::types::{Tensor, is_static};

/// Replaces a `dot_general` that contracts one element.
pub fn single_product<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    dot: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let ty = dot.result(0)?.r#type();
    let Some(result) = Tensor::new(ty) else { return Ok(()) };
    if !products::multiplies_as_it_is(dot)
        || products::contracted(dot) != Some(1)
        || !result.shape.iter().all(|&size| is_static(size))
    {
        return Ok(());
    }
    let in_order = |index| products::places(dot, index).filter(|places| places.is_sorted());
    let (Some(left_dims), Some(right_dims)) = (in_order(0), in_order(1)) else { return Ok(()) };
    let (left, right): (Value<'c, 'a>, Value<'c, 'a>) = (dot.operand(0)?, dot.operand(1)?);
    builder.set_insertion_point_before(dot);
    let location = dot.location();
    let spread = |value: Value<'c, 'a>, dims: &[i64]| {
        let sizes: Vec<i64> = dims.iter().map(|&dim| result.shape[dim as usize]).collect();
        let element = crate::ir::element_of(value.r#type());
        let row = builder.reshape(value, Tensor::get(&sizes, element, None), location);
        let row = match element == result.element {
            true => row,
            false => builder.convert(row, Tensor::get(&sizes, result.element, None), location),
        };
        builder.broadcast_in_dim(row, dims, ty, location)
    };
    let (left, right) = (spread(left, &left_dims), spread(right, &right_dims));
    let product = builder.binary("stablehlo.multiply", left, right, location);
    super::replace(builder, dot, &[product]);
    Ok(())
}
