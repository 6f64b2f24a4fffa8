// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `torch_index_select`, which PyTorch/XLA writes, is a gather, and open to what passes know of gathers.
//!
//! ```mlir
//! %0 = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 0 : i64} : (tensor<4x5xf32>, tensor<3xi32>) -> tensor<4x3xf32>
//! // becomes
//! %0 = "stablehlo.gather"(%x, %i) {collapsed_slice_dims = [1], offset_dims = [0], slice_sizes = [4, 1], ...}
//! ```
//!
//! XLA makes the same gather of it. It takes indices of 64 bits for unsigned ones of 32 where the dimension allows that, so a
//! negative index is the last place and not the first, as one of 32 bits is; `convert` keeps that.

use super::site::{Site, plain};
use crate::ir;
use melior::ir::Value;
use melior::ir::attribute::BoolAttribute;
use melior::ir::r#type::IntegerType;
use slimhlo_dialect::stablehlo::attrs::GatherDimensionNumbers;
use slimhlo_dialect::types::Tensor;

/// The gather that a `torch_index_select` is; shapes that do not fit are left for XLA to refuse.
pub fn gather_of_index_select<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (operand, mut indices) = (site.operand(0)?, site.operand(1)?);
    let (from, at) = (plain(operand)?, plain(indices)?);
    let place = |name: &str, rank: usize| {
        let dim = ir::constant_attribute(site.op, name)?;
        usize::try_from(if dim < 0 { dim + rank as i64 } else { dim }).ok().filter(|&dim| dim <= rank)
    };
    let (dim, batch) = (place("dim", from.rank())?, place("batch_dims", at.rank())?);
    let fits = batch <= dim && dim < from.rank() && from.shape[..batch] == at.shape[..batch];
    fits.then_some(())?;
    let shape = [&from.shape[..dim], &at.shape[batch..], &from.shape[dim + 1..]].concat();
    (shape == site.result.shape && from.shape[dim] > 0).then_some(())?;

    let context = site.build.context();
    let is_long = IntegerType::try_from(at.element).is_ok_and(|ty| ty.is_signless() && ty.width() == 64);
    if is_long && from.shape[dim] < i64::from(u32::MAX) {
        let narrow = Tensor::get(at.shape, IntegerType::unsigned(context, 32).into(), None);
        indices = site.build.convert(indices, narrow, site.location);
    }
    let batches: Vec<i64> = (0..batch as i64).collect();
    let chosen = dim..dim + at.rank() - batch;
    let offsets: Vec<i64> =
        (batch..shape.len()).filter(|place| !chosen.contains(place)).map(|place| place as i64).collect();
    let only = [dim as i64];
    let numbers =
        GatherDimensionNumbers::new(context, &offsets, &only, &batches, &batches, &only, at.rank() as i64);
    let mut sizes = from.shape.to_vec();
    sizes[..batch].fill(1);
    sizes[dim] = 1;
    let attributes = [
        ("dimension_numbers", numbers.into()),
        ("slice_sizes", site.build.i64_array(&sizes)),
        ("indices_are_sorted", BoolAttribute::new(context, false).into()),
    ];
    let operands = [operand, indices];
    Some(site.build.insert("stablehlo.gather", &operands, &attributes, site.result.ty, site.location))
}
