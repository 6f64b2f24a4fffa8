// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops whose elements are elements of their operands at other indices: by index arithmetic.

use super::code::{Int, Scalar};
use super::element::{Kernel, count_of, tensor};
use super::numbers;
use super::roots::serial;
use super::spots;
use crate::framework::PassError;
use crate::ir;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::GatherDimensionNumbers;

type Element<'c, 'a> = Result<Scalar<'c, 'a>, PassError<'c>>;

/// Ops that [`element`] knows, besides those of `roots::serial`.
const OPS: &[&str] = &[
    "broadcast",
    "broadcast_in_dim",
    "case",
    "concatenate",
    "constant",
    "dynamic_slice",
    "dynamic_update_slice",
    "gather",
    "get_dimension_size",
    "if",
    "iota",
    "map",
    "optimization_barrier",
    "pad",
    "reshape",
    "reverse",
    "slice",
    "transpose",
    "while",
];

/// Ops each of whose elements is one of the first operand's, wherever it is needed.
pub(super) const MOVES: &[&str] =
    &["broadcast", "broadcast_in_dim", "dynamic_slice", "reshape", "reverse", "slice", "transpose"];

/// Whether [`element`] knows the op, so that it is not elementwise.
pub fn handles(op: OperationRef<'_, '_>) -> bool {
    let name = op_name(op);
    serial::knows(name)
        || name.strip_prefix("stablehlo.").is_some_and(|name| OPS.binary_search(&name).is_ok())
        || name == "stablehlo.bitcast_convert" && !numbers::is_elementwise(op)
}

pub(super) fn operand<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    index: usize,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    op.operands().nth(index).ok_or_else(|| PassError::at(op, format!("has no operand {index}")))
}

fn array<'c>(op: OperationRef<'c, '_>, name: &str) -> &'c [i64] {
    ir::i64_array(op, name).unwrap_or_default()
}

pub(super) fn number<'c: 'a, 'a>(op: OperationRef<'c, 'a>, name: &str) -> Result<i64, PassError<'c>> {
    ir::constant_attribute(op, name).ok_or_else(|| PassError::at(op, format!("has no attribute {name}")))
}

/// An element of a result of a shape op; `None` for any other op.
///
/// # Errors
/// An element that it is taken from cannot be computed, or an attribute is missing; at the op.
pub fn element<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Result<Option<Scalar<'c, 'a>>, PassError<'c>> {
    let code = &kernel.code;
    let Some(name) = op_name(op).strip_prefix("stablehlo.") else { return Ok(None) };
    let element = match name {
        "constant" => constant(kernel, op, index)?,
        "iota" => {
            let ty = tensor(value)?;
            let at = index[number(op, "iota_dimension")? as usize];
            numbers::convert(code, Scalar::Real(at), code.index_type(), ty.element)
                .ok_or_else(|| PassError::at(op, format!("no code for elements of type {}", ty.element)))?
        }
        name if MOVES.contains(&name) => {
            kernel.element(operand(op, 0)?, &moved(kernel, op, value, index)?)?
        }
        "pad" => pad(kernel, op, value, index)?,
        "concatenate" => concatenate(kernel, op, value, index)?,
        "dynamic_update_slice" => update(kernel, op, value, index)?,
        "gather" => gather(kernel, op, index)?,
        "get_dimension_size" => {
            let size = tensor(operand(op, 0)?)?.shape[number(op, "dimension")? as usize];
            Scalar::Real(code.integer(size, code.int(32)))
        }
        "optimization_barrier" => {
            let place = ffi::as_result(value).map_or(0, |result| result.result_number());
            kernel.element(operand(op, place)?, index)?
        }
        "bitcast_convert" if !numbers::is_elementwise(op) => bitcast(kernel, op, value, index)?,
        "map" => {
            let elements: Vec<_> =
                op.operands().map(|operand| kernel.element(operand, index)).collect::<Result<_, _>>()?;
            let block = region(op, 0)?;
            return Ok(kernel.call_region(block, &elements)?.first().copied());
        }
        "while" | "if" | "case" => {
            let results = control_flow(kernel, op, name)?;
            return Ok(take(kernel, op, value, index, &results));
        }
        _ => match serial::any(kernel, op, index)? {
            Some(results) => return Ok(take(kernel, op, value, index, &results)),
            None => return Ok(None),
        },
    };
    Ok(Some(element))
}

/// Where in its first operand an element of one of [`MOVES`] is.
pub(super) fn moved<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    let code = &kernel.code;
    let (from, to) = (tensor(operand(op, 0)?)?, tensor(value)?);
    Ok(match op_name(op) {
        "stablehlo.broadcast_in_dim" => {
            let along =
                |(&dim, &size): (&i64, &i64)| if size == 1 { code.index(0) } else { index[dim as usize] };
            array(op, "broadcast_dimensions").iter().zip(from.shape).map(along).collect()
        }
        "stablehlo.broadcast" => index[index.len() - from.rank()..].to_vec(),
        "stablehlo.reshape" => reshaped(kernel, to.shape, from.shape, index),
        "stablehlo.transpose" => {
            let mut at = vec![code.index(0); index.len()];
            for (from, &to) in array(op, "permutation").iter().enumerate() {
                at[to as usize] = index[from];
            }
            at
        }
        "stablehlo.reverse" => {
            let mut at = index.to_vec();
            for &dim in array(op, "dimensions") {
                let dim = dim as usize;
                at[dim] = code.sub(code.index(to.shape[dim] - 1), index[dim]);
            }
            at
        }
        "stablehlo.slice" => {
            let (starts, strides) = (array(op, "start_indices"), array(op, "strides"));
            let along = |(dim, &at): (usize, &Value<'c, 'a>)| {
                code.add(code.mul(at, code.index(strides[dim])), code.index(starts[dim]))
            };
            index.iter().enumerate().map(along).collect()
        }
        _ => {
            let starts = starts(kernel, op, 1, from.shape, to.shape)?;
            index.iter().zip(starts).map(|(&at, start)| code.add(start, at)).collect()
        }
    })
}

/// Remembers the elements of all results of an op, and hands out that of one.
fn take<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    index: &[Value<'c, 'a>],
    results: &[Scalar<'c, 'a>],
) -> Option<Scalar<'c, 'a>> {
    let mut found = None;
    for (result, element) in op.results().zip(results) {
        kernel.remember(result.into(), index, *element);
        if ir::key(result.into()) == ir::key(value) {
            found = Some(*element);
        }
    }
    found
}

/// The one block of a region.
///
/// # Errors
/// The op has no such region, or it has no block.
pub fn region<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    index: usize,
) -> Result<melior::ir::BlockRef<'c, 'a>, PassError<'c>> {
    let block = op.region(index).ok().and_then(|region| region.first_block());
    block.ok_or_else(|| PassError::at(op, format!("has no block in region {index}")))
}

/// An index of a reshape's operand from one of its result. Groups of dimensions that hold as many elements on both sides
/// are walked on their own, so that dimensions both sides have in common cost nothing.
fn reshaped<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    from: &[i64],
    to: &[i64],
    index: &[Value<'c, 'a>],
) -> Vec<Value<'c, 'a>> {
    let code = &kernel.code;
    let mut at = vec![code.index(0); to.len()];
    if count_of(from) == 0 {
        return at;
    }
    // A whole that is known by its position has no need of its parts.
    if let Some(position) = kernel.known_position(from, index) {
        return kernel.indices(to, position);
    }
    let (mut left, mut right) = (0, 0);
    while left < from.len() || right < to.len() {
        let (first_left, first_right) = (left, right);
        let (mut size, mut other) = (1, 1);
        loop {
            if size <= other && left < from.len() && (size < other || size == 1) {
                size *= from[left];
                left += 1;
            } else if right < to.len() && (other < size || other == 1) {
                other *= to[right];
                right += 1;
            } else {
                break;
            }
            if size == other && size != 1 {
                break;
            }
        }
        let position = kernel.linear(&from[first_left..left], &index[first_left..left]);
        let part = kernel.indices(&to[first_right..right], position);
        at[first_right..right].copy_from_slice(&part);
    }
    at
}

/// Starts of a slice, held within what it is of.
///
/// # Errors
/// The op lacks a start, or one cannot be computed: see [`Kernel::element`].
pub fn starts<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    first: usize,
    of: &[i64],
    sizes: &[i64],
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    of.iter()
        .zip(sizes)
        .enumerate()
        .map(|(dim, (of, size))| {
            if of == size {
                return Ok(kernel.code.index(0));
            }
            let start = operand(op, first + dim)?;
            if let Some(known) = ir::constant_integer(start) {
                return Ok(kernel.code.index(known.clamp(0, i128::from(of - size)) as i64));
            }
            let element = tensor(start)?.element;
            let start = kernel.element(start, &[])?.real();
            Ok(kernel.clamped_index(start, element, of - size))
        })
        .collect()
}

fn constant<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Element<'c, 'a> {
    let dense = ffi::attribute_of(op, "value").and_then(Dense::new);
    let dense = dense.ok_or_else(|| PassError::at(op, "has a value that kernels cannot compute with"))?;
    let element = dense.tensor.element;
    let code = &kernel.code;
    if dense.is_splat() {
        return numbers::constant_of_bytes(code, dense.element(0), element);
    }
    let position = kernel.linear(dense.tensor.shape, index);
    match code.known(position).and_then(|known| usize::try_from(known).ok()) {
        Some(known) if known < dense.len() => numbers::constant_of_bytes(code, dense.element(known), element),
        _ if dense.is_empty() => kernel.zero(element),
        _ => kernel.table(op, &dense, position),
    }
}

fn pad<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Element<'c, 'a> {
    let code = &kernel.code;
    let (source, padding) = (operand(op, 0)?, operand(op, 1)?);
    let (low, interior) = (array(op, "edge_padding_low"), array(op, "interior_padding"));
    let (from, to) = (tensor(source)?, tensor(value)?);
    if count_of(from.shape) == 0 {
        return kernel.element(padding, &[]);
    }
    let mut conditions = Vec::new();
    let mut at = Vec::with_capacity(index.len());
    for dim in 0..index.len() {
        let step = interior[dim] + 1;
        let spread = (from.shape[dim] - 1) * step + 1;
        conditions.extend(kernel.is_within(index[dim], low[dim], spread, to.shape[dim]));
        let offset = code.sub(index[dim], code.index(low[dim]));
        if step > 1 && from.shape[dim] > 1 {
            conditions.push(code.compare(Int::Eq, code.rem(offset, step), code.index(0)));
        }
        at.push(if from.shape[dim] == 1 { code.index(0) } else { code.div(offset, step) });
    }
    match kernel.all(&conditions) {
        None => kernel.element(source, &at),
        Some(inside) => kernel.either(inside, from.element, (source, &at), (padding, &[])),
    }
}

fn concatenate<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Element<'c, 'a> {
    let dim = number(op, "dimension")? as usize;
    let mut parts = Vec::new();
    let mut end = 0;
    for part in op.operands() {
        let size = tensor(part)?.shape[dim];
        if size > 0 {
            parts.push((part, end));
            end += size;
        }
    }
    if parts.is_empty() {
        return kernel.zero(tensor(value)?.element);
    }
    if parts.len() > 1
        && let Some(spot) = spots::spot(kernel, value, index)?
    {
        return kernel.load_spot(spot, tensor(value)?.element);
    }
    if let Some((source, at)) = spots::of_one(kernel, &parts, dim, index) {
        return kernel.element(source, &at);
    }
    let cost = parts.iter().map(|(part, _)| kernel.cost(*part)).fold(0, u64::saturating_add);
    part(kernel, &parts, tensor(value)?.element, dim, index, kernel.is_computed_at_once(cost))
}

/// An element of a concatenation of parts, each with where it starts: the half that it is in is looked for in turn.
fn part<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    parts: &[(Value<'c, 'a>, i64)],
    element: Type<'c>,
    dim: usize,
    index: &[Value<'c, 'a>],
    at_once: bool,
) -> Element<'c, 'a> {
    let code = &kernel.code;
    if let [(only, start)] = parts {
        let mut at = index.to_vec();
        at[dim] = code.sub(index[dim], code.index(*start));
        return if at_once { kernel.speculative_element(*only, &at) } else { kernel.element(*only, &at) };
    }
    let (left, right) = parts.split_at(parts.len() / 2);
    let is_left = code.compare(Int::Slt, index[dim], code.index(right[0].1));
    if at_once {
        let left = part(kernel, left, element, dim, index, true)?;
        let right = part(kernel, right, element, dim, index, true)?;
        return Ok(code.select_scalar(is_left, left, right));
    }
    let types = kernel.registers(element)?;
    let values = code.if_else(
        is_left,
        &types,
        || part(kernel, left, element, dim, index, false).map(Scalar::parts),
        || part(kernel, right, element, dim, index, false).map(Scalar::parts),
    )?;
    Ok(Scalar::from_parts(&values))
}

fn update<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Element<'c, 'a> {
    let (source, update) = (operand(op, 0)?, operand(op, 1)?);
    if count_of(tensor(update)?.shape) == 0 {
        return kernel.element(source, index);
    }
    let element = tensor(source)?.element;
    if let Some(spot) = spots::spot(kernel, value, index)? {
        return kernel.load_spot(spot, element);
    }
    let (inside, at) = put(kernel, op, index)?;
    match inside {
        None => kernel.element(update, &at),
        Some(inside) => kernel.either(inside, element, (update, &at), (source, index)),
    }
}

/// Whether an element of an update's result is what is put there (`None`: always), and where in that it is then.
pub(super) fn put<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Result<(Option<Value<'c, 'a>>, Vec<Value<'c, 'a>>), PassError<'c>> {
    let code = &kernel.code;
    let (of, sizes) = (tensor(operand(op, 0)?)?, tensor(operand(op, 1)?)?.shape);
    let starts = starts(kernel, op, 2, of.shape, sizes)?;
    let mut conditions = Vec::new();
    let mut at = Vec::with_capacity(index.len());
    for dim in 0..index.len() {
        if sizes[dim] == of.shape[dim] {
            at.push(index[dim]);
            continue;
        }
        let offset = code.sub(index[dim], starts[dim]);
        at.push(offset);
        match code.known(starts[dim]) {
            Some(start) => {
                conditions.extend(kernel.is_within(index[dim], start, sizes[dim], of.shape[dim]));
            }
            None => conditions.push(code.compare(Int::Ult, offset, code.index(sizes[dim]))),
        }
    }
    Ok((kernel.all(&conditions), at))
}

fn gather<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Element<'c, 'a> {
    let code = &kernel.code;
    let (source, indices) = (operand(op, 0)?, operand(op, 1)?);
    let numbers = ffi::attribute_of(op, "dimension_numbers")
        .and_then(|numbers| GatherDimensionNumbers::try_from(numbers).ok())
        .ok_or_else(|| PassError::at(op, "has no dimension numbers"))?;
    let (shape, indices_type) = (tensor(source)?.shape, tensor(indices)?);
    let sizes = array(op, "slice_sizes");
    if count_of(shape) == 0 || sizes.len() != shape.len() {
        return kernel.zero(tensor(source)?.element);
    }
    let vector = numbers.index_vector_dim() as usize;
    let batch: Vec<_> = index
        .iter()
        .enumerate()
        .filter(|(dim, _)| !numbers.offset_dims().contains(&(*dim as i64)))
        .map(|(_, &at)| at)
        .collect();

    let mut at = vec![code.index(0); shape.len()];
    let skipped = |dim: i64| {
        numbers.collapsed_slice_dims().contains(&dim) || numbers.operand_batching_dims().contains(&dim)
    };
    let dims = (0..shape.len()).filter(|dim| !skipped(*dim as i64));
    for (dim, &from) in dims.zip(numbers.offset_dims()) {
        at[dim] = index[from as usize];
    }
    for (&dim, &from) in numbers.operand_batching_dims().iter().zip(numbers.start_indices_batching_dims()) {
        let from = from as usize;
        at[dim as usize] = batch[if from > vector { from - 1 } else { from }];
    }
    for (place, &dim) in numbers.start_index_map().iter().enumerate() {
        let dim = dim as usize;
        let limit = shape[dim] - sizes[dim];
        if limit == 0 {
            continue;
        }
        let mut start = batch.clone();
        if vector < indices_type.rank() {
            start.insert(vector, code.index(place as i64));
        }
        let start = kernel.element(indices, &start)?.real();
        at[dim] = code.add(kernel.clamped_index(start, indices_type.element, limit), at[dim]);
    }
    kernel.element(source, &at)
}

/// `bitcast_convert` between widths: one element is several, the last dimension tells which.
fn bitcast<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    index: &[Value<'c, 'a>],
) -> Element<'c, 'a> {
    let code = &kernel.code;
    let source = operand(op, 0)?;
    let (from, to) = (tensor(source)?, tensor(value)?);
    let types = (numbers::register_type(code, from.element), numbers::register_type(code, to.element));
    let bits = |element: Type<'c>| slimhlo_dialect::quant::Number::of(element).width();
    let (Some(from_register), Some(to_register)) = types else {
        return Err(PassError::at(
            op,
            "cannot be computed within a kernel: it has elements of an unknown width",
        ));
    };
    let (Some(from_bits), Some(to_bits)) = (bits(from.element), bits(to.element)) else {
        return Err(PassError::at(
            op,
            "cannot be computed within a kernel: it has elements of an unknown width",
        ));
    };
    // Elements of less than a byte that are no integers are held in a whole one.
    let as_integer = |value: Value<'c, 'a>, width: u32| {
        let held = IntegerType::try_from(value.r#type()).map(|ty| ty.width());
        match held {
            Ok(held) if held == width => value,
            Ok(_) => code.resize(value, code.int(width), false),
            Err(_) => code.op("arith.bitcast", &[value], code.int(width)),
        }
    };
    let from_integer = |value: Value<'c, 'a>, register: Type<'c>| {
        if IntegerType::try_from(register).is_ok() {
            code.resize(value, register, false)
        } else {
            code.op("arith.bitcast", &[value], register)
        }
    };
    let is_complex = |element: Type<'c>| numbers::part_count(element) > 1;
    if is_complex(from.element) || is_complex(to.element) {
        return complex_bitcast(kernel, op, from, to, index);
    }
    let _ = from_register;
    if from_bits > to_bits {
        let (last, rest) = index.split_last().ok_or_else(|| PassError::at(op, "has a result of rank 0"))?;
        let whole = as_integer(kernel.element(source, rest)?.real(), from_bits);
        let ty = code.int(from_bits);
        let place = code.resize(*last, ty, false);
        let by = code.binary("arith.muli", place, code.integer(i64::from(to_bits), ty));
        let part = code.resize(code.binary("arith.shrui", whole, by), code.int(to_bits), false);
        return Ok(Scalar::Real(from_integer(part, to_register)));
    }
    let ty = code.int(to_bits);
    let mut whole = code.integer(0, ty);
    for place in 0..to_bits / from_bits {
        let mut at = index.to_vec();
        at.push(code.index(i64::from(place)));
        let part = code.resize(as_integer(kernel.element(source, &at)?.real(), from_bits), ty, false);
        let by = code.integer(i64::from(place * from_bits), ty);
        whole = code.binary("arith.ori", whole, code.binary("arith.shli", part, by));
    }
    Ok(Scalar::Real(from_integer(whole, to_register)))
}

/// Between a complex type and another of another width: the parts are the low and the high half.
fn complex_bitcast<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    from: slimhlo_dialect::types::Tensor<'c>,
    to: slimhlo_dialect::types::Tensor<'c>,
    index: &[Value<'c, 'a>],
) -> Element<'c, 'a> {
    let code = &kernel.code;
    let source = operand(op, 0)?;
    let halves = |element: Type<'c>| numbers::register_type(code, element);
    if let (Some((last, rest)), false) = (index.split_last(), to.rank() <= from.rank()) {
        let whole = kernel.element(source, rest)?;
        if let (Scalar::Complex(low, high), true) =
            (whole, numbers::part_count(to.element) == 1 && halves(from.element) == halves(to.element))
        {
            let is_low = code.compare(Int::Eq, *last, code.index(0));
            return Ok(Scalar::Real(code.select(is_low, low, high)));
        }
    } else if numbers::part_count(from.element) == 1 && halves(from.element) == halves(to.element) {
        let part = |place| {
            let mut at = index.to_vec();
            at.push(code.index(place));
            kernel.element(source, &at)
        };
        return Ok(Scalar::Complex(part(0)?.real(), part(1)?.real()));
    }
    Err(PassError::at(op, "cannot be computed within a kernel: no code for these complex types"))
}

/// All results of a `while`, `if` or `case` on scalars, as regions have them.
fn control_flow<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    name: &str,
) -> Result<Vec<Scalar<'c, 'a>>, PassError<'c>> {
    let code = &kernel.code;
    let mut types = Vec::new();
    let mut counts = Vec::new();
    for result in op.results() {
        let ty = tensor(result.into())?;
        if count_of(ty.shape) != 1 {
            return Err(PassError::at(op, "cannot be computed within a kernel: its values are no scalars"));
        }
        let registers = kernel.registers(ty.element)?;
        counts.push(registers.len());
        types.extend(registers);
    }
    let scalars = |values: &[Value<'c, 'a>]| -> Vec<Scalar<'c, 'a>> {
        let mut rest = values;
        counts
            .iter()
            .map(|&count| {
                let (own, others) = rest.split_at(count);
                rest = others;
                Scalar::from_parts(own)
            })
            .collect()
    };
    let values = |scalars: Vec<Scalar<'c, 'a>>| -> Vec<Value<'c, 'a>> {
        scalars.into_iter().flat_map(Scalar::parts).collect()
    };
    let results = match name {
        "while" => {
            let (condition, body) = (region(op, 0)?, region(op, 1)?);
            let mut initial = Vec::new();
            for operand in op.operands() {
                let zeros = vec![code.index(0); tensor(operand)?.rank()];
                initial.extend(kernel.element(operand, &zeros)?.parts());
            }
            code.while_loop(
                &initial,
                |carried| {
                    let goes_on = kernel.call_region(condition, &scalars(carried))?;
                    goes_on
                        .first()
                        .map(|goes_on| goes_on.real())
                        .ok_or_else(|| PassError::at(op, "has no condition"))
                },
                |carried| kernel.call_region(body, &scalars(carried)).map(values),
            )?
        }
        "if" => {
            let (then, otherwise) = (region(op, 0)?, region(op, 1)?);
            let condition = kernel.element(operand(op, 0)?, &[])?.real();
            code.if_else(
                condition,
                &types,
                || kernel.call_region(then, &[]).map(values),
                || kernel.call_region(otherwise, &[]).map(values),
            )?
        }
        _ => {
            let at = kernel.element(operand(op, 0)?, &[])?.real();
            branch(kernel, op, at, 0, &types)?
        }
    };
    Ok(scalars(&results))
}

/// The branches of a `case` from one on; the last is taken for every number that is not another's.
fn branch<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    at: Value<'c, 'a>,
    number: usize,
    types: &[Type<'c>],
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    let code = &kernel.code;
    let own = |number| -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        Ok(kernel.call_region(region(op, number)?, &[])?.into_iter().flat_map(Scalar::parts).collect())
    };
    if number + 1 >= op.region_count() {
        return own(number);
    }
    let is_own = code.compare(Int::Eq, at, code.integer(number as i64, at.r#type()));
    code.if_else(is_own, types, || own(number), || branch(kernel, op, at, number + 1, types))
}
