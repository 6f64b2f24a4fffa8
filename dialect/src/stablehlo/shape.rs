// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops that make tensors from nothing, or whose result holds elements of the operands in other places. Their shapes are
//! known when the program is compiled; `dynamic` has those of which they are computed.

use super::constraints::{
    both_per_axis, compatible_elements, constant_integers, dimension_of, distinct_dimensions, infer_first,
    one_per_dimension, same_element, same_index_type, same_scale, same_scales, scalar, sizes_cannot_be_wrong,
    wrapping_element_count,
};
use crate::dims::Dim;
use crate::quant::{Number, Quantized, complex_part, signless};
use crate::rules::{Rules, Table};
use crate::types::{Tensor, compatible_result, compatible_size, display_shape, is_static};
use crate::view::{Inferred, OpError, OpView, Verdict};
use crate::{reject, require};
use melior::ir::Type;

/// Rules of the ops that shape tensors.
pub const TABLE: Table = &[
    ("stablehlo.bitcast_convert", Rules::NONE.verify(verify_bitcast_convert)),
    ("stablehlo.broadcast", Rules::NONE.verify(same_element).infer(infer_broadcast)),
    ("stablehlo.broadcast_in_dim", Rules::NONE.verify(verify_broadcast_in_dim)),
    ("stablehlo.concatenate", Rules::NONE.verify(same_element).infer(infer_concatenate)),
    ("stablehlo.constant", Rules::NONE.infer(infer_constant).compatible_result(constant_stands_for)),
    ("stablehlo.dynamic_slice", Rules::NONE.verify(verify_dynamic_slice).infer(infer_dynamic_slice)),
    (
        "stablehlo.dynamic_update_slice",
        Rules::NONE.verify(verify_dynamic_update_slice).infer(infer_dynamic_update_slice),
    ),
    ("stablehlo.get_dimension_size", Rules::NONE.infer(infer_get_dimension_size).is_speculatable(|_| true)),
    ("stablehlo.iota", Rules::NONE.verify(verify_iota)),
    ("stablehlo.pad", Rules::NONE.verify(same_element).infer(infer_pad)),
    ("stablehlo.reshape", Rules::NONE.verify(verify_reshape)),
    (
        "stablehlo.reverse",
        Rules::NONE.verify(verify_reverse).infer(infer_first).is_speculatable(sizes_cannot_be_wrong),
    ),
    ("stablehlo.set_dimension_size", Rules::NONE.infer(infer_set_dimension_size).is_speculatable(|_| false)),
    ("stablehlo.slice", Rules::NONE.verify(same_element).infer(infer_slice)),
    ("stablehlo.transpose", Rules::NONE.verify(verify_transpose).infer(infer_transpose)),
];

/// The type of the value.
fn infer_constant<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let value = op.required_attribute("value")?;
    let ty = crate::ffi::type_of(value);
    let Some(tensor) = Tensor::new(ty) else { reject!("value must be a ranked tensor, but is {ty}") };
    require!(
        Quantized::new(tensor.element).is_none(),
        "value must hold what quantized elements are stored as, but is of {ty}"
    );
    Ok(vec![ty])
}

/// Integers may stand for the stored values of a quantized type.
fn constant_stands_for(value: Type<'_>, result: Type<'_>) -> bool {
    let (Some(value), Some(result)) = (Tensor::new(value), Tensor::new(result)) else { return false };
    match Quantized::new(result.element) {
        Some(quantized) if value.element == quantized.storage() => value.shape == result.shape,
        _ => compatible_result(value.ty, result.ty),
    }
}

/// The dimension exists (iota_c1).
fn verify_iota(op: &OpView<'_, '_>) -> Verdict {
    let result = op.result_tensor(0)?;
    dimension_of("iota_dimension", op.integer("iota_dimension")?, result.rank()).map(drop)
}

/// A wide element is a last dimension of narrow ones; all other dimensions stay (bitcast_convert_c1, bitcast_convert_c2).
fn verify_bitcast_convert(op: &OpView<'_, '_>) -> Verdict {
    let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    require!(
        complex_part(operand.element).is_some() == complex_part(result.element).is_some(),
        "either both or neither of operand {operand} and result {result} must be complex"
    );
    let width = |tensor: &Tensor<'_>| Number::of(tensor.element).width().map(i64::from);
    let (Some(operand_width), Some(result_width)) = (width(&operand), width(&result)) else {
        reject!("operand {operand} and result {result} must have elements of a known width")
    };
    let (wide, wide_width, narrow, narrow_width) = if operand_width < result_width {
        (result, result_width, operand, operand_width)
    } else {
        (operand, operand_width, result, result_width)
    };
    if wide_width != narrow_width {
        require!(
            narrow.rank() == wide.rank() + 1,
            "{narrow} must have one dimension more than {wide}, as its elements are narrower"
        );
    }
    for (dimension, (&wide_size, &narrow_size)) in wide.shape.iter().zip(narrow.shape).enumerate() {
        require!(
            compatible_size(wide_size, narrow_size),
            "sizes {wide_size} and {narrow_size} of dimension {dimension} differ"
        );
    }
    if let Some(&last) = narrow.shape.last().filter(|_| wide_width != narrow_width)
        && is_static(last)
    {
        require!(
            narrow_width.checked_mul(last) == Some(wide_width),
            "{last} elements of {narrow_width} bits do not make up one of {wide_width} bits"
        );
    }
    Ok(())
}

/// New leading dimensions before the operand's own (broadcast_c1). Bounds are not carried over.
fn infer_broadcast<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    let sizes = op.i64_array("broadcast_sizes")?;
    for (index, &size) in sizes.iter().enumerate() {
        require!(size >= 0, "broadcast_sizes[{index}] = {size} is negative");
    }
    Ok(vec![Tensor::get(&[sizes, operand.shape].concat(), operand.element, None)])
}

/// What `broadcast_in_dim` and its dynamic form have in common: each operand dimension has one of its own in the result.
pub(super) fn broadcast_dimensions<'c>(
    op: &OpView<'c, '_>,
    operand: &Tensor<'_>,
    result: &Tensor<'_>,
) -> Result<&'c [i64], OpError> {
    let dimensions = op.i64_array("broadcast_dimensions")?;
    one_per_dimension("broadcast_dimensions", dimensions, operand.rank())?;
    distinct_dimensions("broadcast_dimensions", dimensions, result.rank())?;
    Ok(dimensions)
}

/// A quantized axis goes where its dimension goes, and one of size 1 repeats its scale and zero point.
pub(super) fn broadcast_axis(operand: &Tensor<'_>, result: &Tensor<'_>, dimensions: &[i64]) -> Verdict {
    let Some((from, to)) = both_per_axis(operand, result) else { return Ok(()) };
    let (Some(axis), Some(result_axis)) = (from.quantized_dimension(), to.quantized_dimension()) else {
        return Ok(());
    };
    let Some((&target, &size)) =
        usize::try_from(axis).ok().and_then(|axis| dimensions.get(axis).zip(operand.shape.get(axis)))
    else {
        reject!("operand is quantized along dimension {axis}, which it does not have")
    };
    require!(
        target == result_axis,
        "result is quantized along dimension {result_axis}, but broadcast_dimensions[{axis}] = {target}"
    );
    if size != 1 {
        return Ok(());
    }
    let (scales, zero_points) = (from.scales(), from.zero_points());
    for (index, (scale, zero_point)) in to.scales().iter().zip(to.zero_points()).enumerate() {
        require!(
            scales.first() == Some(scale) && zero_points.first() == Some(&zero_point),
            "result scale {scale} and zero point {zero_point} at index {index} are not those of the operand, {:?} and {:?}",
            scales,
            zero_points
        );
    }
    Ok(())
}

/// Sizes other than 1 stay (broadcast_in_dim_c1 to broadcast_in_dim_c6).
fn verify_broadcast_in_dim(op: &OpView<'_, '_>) -> Verdict {
    compatible_elements(op)?;
    let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    same_scale(&operand, &result)?;
    let dimensions = broadcast_dimensions(op, &operand, &result)?;
    for (index, (&size, &target)) in operand.shape.iter().zip(dimensions).enumerate() {
        let result_size = result.shape[target as usize];
        // A result of unknown size comes from an operand of unknown size only.
        require!(
            !is_static(size) || size == 1 || size == result_size,
            "operand size {size} in dimension {index} is neither 1 nor result size {} in dimension {target}",
            display_shape(&[result_size])
        );
    }
    broadcast_axis(&operand, &result, dimensions)
}

/// The number of elements stays (reshape_c1 to reshape_c3).
fn verify_reshape(op: &OpView<'_, '_>) -> Verdict {
    compatible_elements(op)?;
    reshaped(&op.operand_tensor(0)?, &op.result_tensor(0)?)
}

/// What `reshape` and its dynamic form have in common: neither elements nor channels of a quantized axis are lost.
pub(super) fn reshaped(operand: &Tensor<'_>, result: &Tensor<'_>) -> Verdict {
    same_scale(operand, result)?;
    let Some(count) = wrapping_element_count(operand.shape) else { return Ok(()) };
    if let Some(result_count) = wrapping_element_count(result.shape) {
        require!(
            count == result_count,
            "result {result} has {result_count} elements, but operand {operand} has {count}"
        );
    }
    let Some((from, to)) = both_per_axis(operand, result) else { return Ok(()) };
    let channels = |quantized: &Quantized<'_>| quantized.scales().len();
    require!(
        channels(&from) == channels(&to),
        "result has {} quantized channels, but operand has {}",
        channels(&to),
        channels(&from)
    );
    same_scales(&from, &to)?;
    // As many elements lie before the axis in the result as in the operand, or channels would mix.
    let before = |tensor: &Tensor<'_>, quantized: &Quantized<'_>| {
        let axis = usize::try_from(quantized.quantized_dimension()?).ok()?;
        wrapping_element_count(tensor.shape.get(..axis)?)
    };
    if let (Some(from), Some(to)) = (before(operand, &from), before(result, &to)) {
        require!(
            from == to,
            "{to} elements lie before the quantized dimension of the result, but {from} before the operand's"
        );
    }
    Ok(())
}

/// The permutation is one (transpose_c2, transpose_c3).
fn infer_transpose<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    let permutation = op.i64_array("permutation")?;
    one_per_dimension("permutation", permutation, operand.rank())?;
    distinct_dimensions("permutation", permutation, operand.rank())?;
    let dims = operand.dims();
    let dims: Vec<Dim> = permutation.iter().map(|&from| dims[from as usize]).collect();
    let element = match Quantized::new(operand.element).and_then(|quantized| quantized.quantized_dimension())
    {
        Some(axis) => {
            let to = permutation.iter().position(|&from| from == axis);
            to.and_then(|to| Quantized::new(operand.element)?.along(i32::try_from(to).ok()?))
                .unwrap_or(operand.element)
        }
        None => operand.element,
    };
    Ok(vec![Tensor::of_dims(&dims, element)])
}

/// Quantization goes along (transpose_c1, transpose_c4).
fn verify_transpose(op: &OpView<'_, '_>) -> Verdict {
    compatible_elements(op)?;
    let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    same_scale(&operand, &result)?;
    let Some((from, to)) = both_per_axis(&operand, &result) else { return Ok(()) };
    same_scales(&from, &to)?;
    let permutation = op.i64_array("permutation")?;
    let (Some(axis), Some(result_axis)) = (from.quantized_dimension(), to.quantized_dimension()) else {
        return Ok(());
    };
    let source = usize::try_from(result_axis).ok().and_then(|axis| permutation.get(axis));
    require!(
        source == Some(&axis),
        "result is quantized along dimension {result_axis}, but operand along {axis}, which goes elsewhere"
    );
    Ok(())
}

/// Dimensions exist and none comes twice (reverse_c2, reverse_c3).
fn verify_reverse(op: &OpView<'_, '_>) -> Verdict {
    same_element(op)?;
    distinct_dimensions("dimensions", op.i64_array("dimensions")?, op.operand_tensor(0)?.rank())
}

/// Each dimension from start to limit, by stride (slice_c2 to slice_c5).
fn infer_slice<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    let (starts, limits, strides) =
        (op.i64_array("start_indices")?, op.i64_array("limit_indices")?, op.i64_array("strides")?);
    one_per_dimension("start_indices", starts, operand.rank())?;
    one_per_dimension("limit_indices", limits, operand.rank())?;
    one_per_dimension("strides", strides, operand.rank())?;
    let mut dims = Vec::with_capacity(operand.rank());
    for (index, dim) in operand.dims().into_iter().enumerate() {
        let (start, limit, stride) = (starts[index], limits[index], strides[index]);
        require!(start >= 0, "start_indices[{index}] = {start} is negative");
        if dim.is_static() {
            require!(
                limit <= dim.size,
                "limit_indices[{index}] = {limit} exceeds dimension {index} of size {}",
                dim.size
            );
        } else if dim.is_bounded() {
            require!(
                limit <= dim.bound,
                "limit_indices[{index}] = {limit} exceeds bound {} of dimension {index}",
                dim.bound
            );
        }
        require!(start <= limit, "start_indices[{index}] = {start} exceeds limit_indices[{index}] = {limit}");
        require!(stride > 0, "strides[{index}] = {stride} is not positive");
        // Never negative, and no larger than the limit.
        dims.push(Dim::of(((limit - start) as u64).div_ceil(stride as u64) as i64));
    }
    Ok(vec![Tensor::of_dims(&dims, operand.element)])
}

fn verify_dynamic_slice(op: &OpView<'_, '_>) -> Verdict {
    let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    require!(
        operand.element == result.element,
        "result has element type {}, but operand has {}",
        result.element,
        operand.element
    );
    Ok(())
}

/// One start index and one size within the operand per dimension (dynamic_slice_c2 to dynamic_slice_c5).
fn infer_dynamic_slice<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    let sizes = op.i64_array("slice_sizes")?;
    one_per_dimension("slice_sizes", sizes, operand.rank())?;
    start_indices(op, 1, &operand)?;
    for (index, (&size, &limit)) in sizes.iter().zip(operand.shape).enumerate() {
        require!(size >= 0, "slice_sizes[{index}] = {size} is negative");
        require!(
            !is_static(limit) || size <= limit,
            "slice_sizes[{index}] = {size} exceeds dimension {index} of size {limit}"
        );
    }
    let dims: Vec<Dim> = sizes.iter().map(|&size| Dim::of(size)).collect();
    Ok(vec![Tensor::of_dims(&dims, operand.element)])
}

/// The operands from `first` on are one start index for each dimension of `operand`.
fn start_indices(op: &OpView<'_, '_>, first: usize, operand: &Tensor<'_>) -> Verdict {
    let count = op.operand_count().saturating_sub(first);
    require!(
        count == operand.rank(),
        "there are {count} start indices, but operand has rank {}",
        operand.rank()
    );
    same_index_type(op, first)
}

fn verify_dynamic_update_slice(op: &OpView<'_, '_>) -> Verdict {
    let (operand, update, result) = (op.operand_tensor(0)?, op.operand_tensor(1)?, op.result_tensor(0)?);
    for (name, tensor) in [("update", update), ("result", result)] {
        require!(
            tensor.element == operand.element,
            "{name} has element type {}, but operand has {}",
            tensor.element,
            operand.element
        );
    }
    Ok(())
}

/// The update fits into the operand (dynamic_update_slice_c3 to dynamic_update_slice_c6).
fn infer_dynamic_update_slice<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let (operand, update) = (op.operand_tensor(0)?, op.operand_tensor(1)?);
    require!(
        update.rank() == operand.rank(),
        "update has rank {}, but operand has rank {}",
        update.rank(),
        operand.rank()
    );
    start_indices(op, 2, &operand)?;
    for (index, (&size, &limit)) in update.shape.iter().zip(operand.shape).enumerate() {
        require!(
            !is_static(size) || !is_static(limit) || size <= limit,
            "update size {size} exceeds dimension {index} of size {limit}"
        );
    }
    Ok(vec![operand.ty])
}

/// The size, or the bound, of a padded dimension. Wraps around like all arithmetic on sizes here: what comes out is
/// judged, not what was in between.
pub(super) fn padded(size: i64, low: i64, high: i64, interior: i64) -> i64 {
    let gaps = size.wrapping_sub(1).max(0).wrapping_mul(interior);
    size.wrapping_add(low).wrapping_add(high).wrapping_add(gaps)
}

/// One low, high and interior padding per dimension, which leaves no size negative (pad_c2 to pad_c4).
fn infer_pad<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    let value = op.operand_tensor(1)?;
    require!(value.rank() == 0, "padding value has rank {}, not 0", value.rank());
    let (lows, highs, interiors) = (
        op.i64_array("edge_padding_low")?,
        op.i64_array("edge_padding_high")?,
        op.i64_array("interior_padding")?,
    );
    one_per_dimension("edge_padding_low", lows, operand.rank())?;
    one_per_dimension("edge_padding_high", highs, operand.rank())?;
    one_per_dimension("interior_padding", interiors, operand.rank())?;
    let mut dims = Vec::with_capacity(operand.rank());
    for (index, dim) in operand.dims().into_iter().enumerate() {
        let (low, high, interior) = (lows[index], highs[index], interiors[index]);
        require!(interior >= 0, "interior_padding[{index}] = {interior} is negative");
        let (what, size) = if dim.is_static() { ("size", dim.size) } else { ("bound", dim.bound) };
        if !is_static(size) {
            dims.push(Dim::UNKNOWN);
            continue;
        }
        let padded = padded(size, low, high, interior);
        if padded < 0 {
            let (name, by) = if low <= high { ("low", low) } else { ("high", high) };
            if by < 0 && by.checked_add(size).is_none_or(|left| left < 0) {
                reject!("padding {name}[{index}] = {by} exceeds dimension {index} of {what} {size}");
            }
            reject!(
                "padding low[{index}] = {low}, high[{index}] = {high} and interior[{index}] = {interior} make {what} \
                 {size} of dimension {index} negative: {padded}"
            );
        }
        dims.push(if dim.is_static() { Dim::of(padded) } else { Dim::bounded(padded) });
    }
    Ok(vec![Tensor::of_dims(&dims, operand.element)])
}

/// All operands agree but for the size along one dimension, where they line up (concatenate_c2 to concatenate_c6).
fn infer_concatenate<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let first = op.operand_tensor(0)?;
    require!(first.rank() != 0, "operand #0 has rank 0, which has no dimension to concatenate along");
    let dimension = dimension_of("dimension", op.integer("dimension")?, first.rank())?;
    let mut dims = first.dims();
    for number in 1..op.operand_count() {
        let operand = op.operand_tensor(number)?;
        require!(
            operand.rank() == first.rank(),
            "operand #{number} has rank {}, but operand #0 has rank {}",
            operand.rank(),
            first.rank()
        );
        for (index, (dim, other)) in dims.iter_mut().zip(operand.dims()).enumerate() {
            if index == dimension {
                *dim = joined(*dim, other).ok_or_else(|| {
                    OpError(format!("sizes along dimension {dimension} add up to more than 64 bits hold"))
                })?;
            } else {
                *dim = dim.meet(other).map_err(|why| {
                    OpError(format!(
                        "operand #{number} does not fit those before in dimension {index}: {why}"
                    ))
                })?;
            }
        }
    }
    Ok(vec![Tensor::of_dims(&dims, first.element)])
}

/// The dimension of two tensors end to end; `None` if it is too large.
fn joined(left: Dim, right: Dim) -> Option<Dim> {
    let limit = |dim: Dim| if dim.is_static() { dim.size } else { dim.bound };
    if !is_static(limit(left)) || !is_static(limit(right)) {
        return Some(Dim::UNKNOWN);
    }
    match limit(left).checked_add(limit(right)) {
        Some(sum) if left.is_static() && right.is_static() => Some(Dim::of(sum)),
        Some(sum) => Some(Dim::bounded(sum)),
        // A bound beyond all sizes bounds nothing.
        None => (!left.is_static() || !right.is_static()).then_some(Dim::UNKNOWN),
    }
}

/// The dimension exists (get_dimension_size_c1).
fn infer_get_dimension_size<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    dimension_of("dimension", op.integer("dimension")?, op.operand_tensor(0)?.rank())?;
    Ok(vec![scalar(signless(op.context(), 32))])
}

/// The dimension becomes dynamic, bounded by what it was, unless it is set to just that (set_dimension_size_c1).
fn infer_set_dimension_size<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    let size = op.operand_tensor(1)?;
    require!(size.rank() == 0, "size has rank {}, not 0", size.rank());
    let dimension = dimension_of("dimension", op.integer("dimension")?, operand.rank())?;
    let mut dims = operand.dims();
    let dim = &mut dims[dimension];
    if dim.is_static() && constant_integers(op.operand(1)?, 1).as_deref() != Some(&[dim.size]) {
        *dim = Dim::bounded(dim.size);
    }
    Ok(vec![Tensor::of_dims(&dims, operand.element)])
}
