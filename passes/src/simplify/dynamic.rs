// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops that ask at run time for a shape, a padding or bounds that are known when the program is compiled.
//!
//! Producers with symbolic sizes write these, and shapes that are settled later stay behind as constants:
//!
//! ```mlir
//! %shape = stablehlo.constant dense<[8, 4]> : tensor<2xi64>
//! %0 = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [1] : (tensor<4xf32>, tensor<2xi64>) -> tensor<8x4xf32>
//! // becomes
//! %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
//! ```
//!
//! A shape that is asked for and is not the result's leaves the program undefined, so where the result's type says all, it
//! decides. Paddings, bounds and slice sizes decide what is read, and have to be constants; a result of another size than
//! they ask for is left alone.

use super::site::{Site, plain, producer};
use crate::ir;
use melior::ir::Value;
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::ffi;
use slimhlo_dialect::stablehlo::attrs::GatherDimensionNumbers;

/// More dimensions than this are left alone.
const MOST_DIMENSIONS: usize = 64;

/// The entries of operand `index`, if it is a constant with one for each dimension of what is moved.
fn constants(site: &Site<'_, '_>, index: usize, rank: usize) -> Option<Vec<i64>> {
    let constant = producer(site.operand(index)?, "stablehlo.constant")?;
    let values = Dense::small(ffi::attribute_of(constant, "value")?, MOST_DIMENSIONS)?;
    (plain(site.operand(index)?)?.element_count() == Some(rank as i64)).then_some(())?;
    (0..rank).map(|place| values.integer(place)).collect()
}

/// A `dynamic_iota` of a static result.
pub fn static_iota<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let dim = usize::try_from(ir::constant_attribute(site.op, "iota_dimension")?).ok()?;
    Some(site.build.iota(site.result.ty, dim, site.location))
}

/// A `dynamic_reshape` to a static result.
pub fn static_reshape<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    Some(site.build.reshape(site.operand(0)?, site.result.ty, site.location))
}

/// A `dynamic_broadcast_in_dim` to a static result.
pub fn static_broadcast<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let dims = ir::i64_array(site.op, "broadcast_dimensions")?;
    Some(site.build.broadcast_in_dim(site.operand(0)?, dims, site.result.ty, site.location))
}

/// A `dynamic_pad` by constants.
pub fn static_pad<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let operand = site.operand(0)?;
    let from = plain(operand)?.shape;
    let [low, high, interior] = [2, 3, 4].map(|index| constants(site, index, from.len()));
    let (low, high, interior) = (low?, high?, interior?);
    for (d, &size) in from.iter().enumerate() {
        let gaps = interior[d].checked_mul((size - 1).max(0)).filter(|_| interior[d] >= 0)?;
        let padded = size.checked_add(gaps)?.checked_add(low[d])?.checked_add(high[d])?;
        (padded == site.result.shape[d]).then_some(())?;
    }
    let padding = site.operand(1)?;
    Some(site.build.pad(operand, padding, [&low, &high, &interior], site.result.ty, site.location))
}

/// A `real_dynamic_slice` between constants.
pub fn static_slice<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let operand = site.operand(0)?;
    let from = plain(operand)?.shape;
    let [start, limit, stride] = [1, 2, 3].map(|index| constants(site, index, from.len()));
    let (start, limit, stride) = (start?, limit?, stride?);
    for (d, &size) in from.iter().enumerate() {
        let inside = 0 <= start[d] && start[d] <= limit[d] && limit[d] <= size && stride[d] > 0;
        let taken = inside.then(|| {
            let length = limit[d] - start[d];
            length / stride[d] + i64::from(length % stride[d] != 0)
        });
        (taken == Some(site.result.shape[d])).then_some(())?;
    }
    Some(site.build.strided_slice(operand, &start, &limit, &stride, site.result.ty, site.location))
}

/// A `dynamic_gather` of slices of a constant size.
pub fn static_gather<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (operand, indices) = (site.operand(0)?, site.operand(1)?);
    let sizes = constants(site, 2, plain(operand)?.rank())?;
    let dimensions = ffi::attribute_of(site.op, "dimension_numbers")?;
    let numbers = GatherDimensionNumbers::try_from(dimensions).ok()?;
    let dropped =
        |d: &i64| numbers.collapsed_slice_dims().contains(d) || numbers.operand_batching_dims().contains(d);
    let kept: Vec<i64> = (0..).zip(&sizes).filter(|(d, _)| !dropped(d)).map(|(_, &size)| size).collect();
    let offsets = numbers.offset_dims();
    let there = offsets.iter().map(|&dim| site.result.shape.get(usize::try_from(dim).ok()?).copied());
    (there.collect::<Option<Vec<_>>>()? == kept).then_some(())?;
    let mut attributes =
        vec![("dimension_numbers", dimensions), ("slice_sizes", site.build.i64_array(&sizes))];
    attributes.extend(
        ffi::attribute_of(site.op, "indices_are_sorted").map(|sorted| ("indices_are_sorted", sorted)),
    );
    Some(site.build.insert(
        "stablehlo.gather",
        &[operand, indices],
        &attributes,
        site.result.ty,
        site.location,
    ))
}
