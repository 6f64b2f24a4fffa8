// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What passes ask of StableHLO ops and values, and the ops they make.
//!
//! One of the crate's modules with `unsafe` code: everything here is a safe face over one or two calls of MLIR's C API.

mod builder;
mod sizes;

pub use builder::Builder;
pub use sizes::{bytes, element_bytes, gcd, is_narrow, plain, real, tensor_bytes, type_bytes};

use crate::rewrite::defining_op;
use melior::dialect::DialectRegistry;
use melior::ir::attribute::{DenseElementsAttribute, IntegerAttribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, AttributeLike, Identifier, OperationRef, Type, TypeLike, Value, ValueLike};
use mlir_sys::{
    mlirDenseElementsAttrGetSplatValue, mlirDialectHandleInsertDialect, mlirGetDialectHandle__arith__,
    mlirGetDialectHandle__func__, mlirGetDialectHandle__gpu__, mlirGetDialectHandle__llvm__,
    mlirGetDialectHandle__math__, mlirGetDialectHandle__memref__, mlirGetDialectHandle__scf__,
    mlirOperationGetDiscardableAttribute, mlirOperationGetNumDiscardableAttributes,
    mlirOperationIsBeforeInBlock, mlirOperationRemoveDiscardableAttributeByName,
    mlirTypeIsAUniformQuantizedPerAxisType,
};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;

/// Discardable attributes, in the order of their names.
pub type Attributes<'c> = Vec<(Identifier<'c>, Attribute<'c>)>;

/// What tells two live ops apart, cheap to hash.
pub fn op_key(op: OperationRef<'_, '_>) -> usize {
    op.to_raw().ptr as usize
}

/// What tells two live values apart, cheap to hash.
pub fn key(value: Value<'_, '_>) -> usize {
    value.to_raw().ptr as usize
}

/// The first result of an op, if it has one.
///
/// `OperationLike::result` prints an op that has none, to say so, and names all values around it for that: asked of each terminator it
/// takes longer than whole passes.
pub fn first_result<'c, 'a>(op: OperationRef<'c, 'a>) -> Option<Value<'c, 'a>> {
    op.results().next().map(Value::from)
}

/// An operand of an op, if it has so many.
///
/// `OperationLike::operand` prints an op that has fewer, and verifies the module for that: asked of each slice for an
/// update, a step of an ocean model of 20,000 ops took 98 seconds for what takes two.
pub fn operand<'c, 'a>(op: OperationRef<'c, 'a>, index: usize) -> Option<Value<'c, 'a>> {
    (index < op.operand_count()).then(|| op.operand(index).expect("there are so many"))
}

/// The discardable attributes of an op: shardings, frontend attributes and whatever else was hung on it.
pub fn discardable_attributes<'c>(op: OperationRef<'c, '_>) -> Attributes<'c> {
    // SAFETY: the op is alive and the index in range.
    unsafe {
        (0..mlirOperationGetNumDiscardableAttributes(op.to_raw()))
            .map(|index| {
                let named = mlirOperationGetDiscardableAttribute(op.to_raw(), index);
                (Identifier::from_raw(named.name), Attribute::from_raw(named.attribute))
            })
            .collect()
    }
}

/// Takes every discardable attribute off an op.
pub fn remove_discardable_attributes(op: OperationRef<'_, '_>) {
    for (name, _) in discardable_attributes(op) {
        // SAFETY: the op is alive and has an attribute of that name.
        unsafe { mlirOperationRemoveDiscardableAttributeByName(op.to_raw(), name.as_string_ref().to_raw()) };
    }
}

/// Whether elements of this type mean different things in different places.
pub fn is_quantized_per_axis(element: Type<'_>) -> bool {
    // SAFETY: the type is alive.
    unsafe { mlirTypeIsAUniformQuantizedPerAxisType(element.to_raw()) }
}

/// Element type of a tensor; the type itself for anything else.
pub fn element_of(ty: Type<'_>) -> Type<'_> {
    ffi::element_type(ty).unwrap_or(ty)
}

/// Whether a value is a ranked tensor of rank 0.
pub fn is_rank_zero(value: Value<'_, '_>) -> bool {
    Tensor::new(value.r#type()).is_some_and(|tensor| tensor.rank() == 0)
}

/// The op in whose region a value comes in that an op reads, and as which argument.
pub fn owner<'c: 'a, 'a>(
    value: Value<'c, 'a>,
    reader: OperationRef<'c, 'a>,
) -> Option<(OperationRef<'c, 'a>, usize)> {
    let argument = ffi::as_block_argument(value)?;
    let mut inside = reader;
    loop {
        let block = inside.block()?;
        let outer = block.parent_operation()?;
        if block.to_raw().ptr == argument.owner().to_raw().ptr {
            return Some((outer, argument.argument_number()));
        }
        inside = outer;
    }
}

/// The one attribute that a splat constant repeats.
pub fn splat_element(dense: DenseElementsAttribute<'_>) -> Option<Attribute<'_>> {
    // SAFETY: the attribute is alive; asked only of splats.
    (!dense.is_empty() && dense.is_splat())
        .then(|| unsafe { Attribute::from_raw(mlirDenseElementsAttrGetSplatValue(dense.to_raw())) })
}

/// Whether two splat constants repeat the same bits of the same type.
pub fn same_splat_bits(left: DenseElementsAttribute<'_>, right: DenseElementsAttribute<'_>) -> bool {
    // Elements are uniqued by their bits, so that NaN payloads and signed zeros tell them apart.
    match (splat_element(left), splat_element(right)) {
        (Some(left), Some(right)) => left == right,
        _ => false,
    }
}

/// The values of an op's `array<i64: ...>` attribute.
pub fn i64_array<'c>(op: OperationRef<'c, '_>, name: &str) -> Option<&'c [i64]> {
    ffi::dense_i64_array(ffi::attribute_of(op, name)?)
}

/// Whether a slice takes every element from its start to its end.
pub fn is_dense(slice: OperationRef<'_, '_>) -> bool {
    i64_array(slice, "strides").is_some_and(|strides| strides.iter().all(|&stride| stride == 1))
}

/// The value of an op's integer attribute.
pub fn constant_attribute(op: OperationRef<'_, '_>, name: &str) -> Option<i64> {
    Some(ffi::integer_value(IntegerAttribute::try_from(ffi::attribute_of(op, name)?).ok()?))
}

/// Where a window of `size` of a dimension's `of` elements starts, which `start` asks for: windows are moved to fit in, and one that
/// takes all of them starts at 0 whatever was asked for. `None` if that is not known at compile time.
pub fn window_start(start: Option<Value<'_, '_>>, size: i64, of: i64) -> Option<i64> {
    match of - size {
        0 => Some(0),
        last @ 1.. => Some(constant_integer(start?)?.clamp(0, i128::from(last)) as i64),
        _ => None,
    }
}

/// The same along all dimensions, for an op whose operands from number `first` on ask for them.
pub fn window_starts(op: OperationRef<'_, '_>, first: usize, sizes: &[i64], of: &[i64]) -> Option<Vec<i64>> {
    let along = |dim: usize| window_start(operand(op, first + dim), sizes[dim], of[dim]);
    (0..sizes.len().min(of.len())).map(along).collect()
}

/// The value of an integer scalar that is known at compile time: a constant, seen through reshapes, broadcasts and
/// converts between integers, which wrap.
pub fn constant_integer(value: Value<'_, '_>) -> Option<i128> {
    // Followed from the outside in; each convert met cuts what comes from further in.
    const LONGEST: usize = 64;
    let mut converts = Vec::new();
    let mut current = value;
    for _ in 0..LONGEST {
        let element = IntegerType::try_from(element_of(current.r#type())).ok()?;
        let op = defining_op(current)?;
        match op_name(op) {
            "stablehlo.constant" => {
                let dense = DenseElementsAttribute::try_from(ffi::attribute_of(op, "value")?).ok()?;
                let integer = IntegerAttribute::try_from(splat_element(dense)?).ok()?;
                let start = wrap(i128::from(ffi::integer_value(integer)), element)?;
                return converts.into_iter().rev().try_fold(start, wrap);
            }
            "stablehlo.convert" => converts.push(element),
            "stablehlo.reshape" | "stablehlo.broadcast_in_dim" | "stablehlo.broadcast" => {}
            _ => return None,
        }
        current = op.operands().next()?;
    }
    None
}

/// `value` in an integer type, as two's complement has it. Booleans are not numbers here.
fn wrap(value: i128, ty: IntegerType<'_>) -> Option<i128> {
    let width = ty.width();
    if !(2..=64).contains(&width) {
        return None;
    }
    let low = value & ((1 << width) - 1);
    let negative = !ty.is_unsigned() && low >> (width - 1) == 1;
    Some(if negative { low - (1 << width) } else { low })
}

/// Whether `first` comes before `second`, both in the same block.
pub fn is_before(first: OperationRef<'_, '_>, second: OperationRef<'_, '_>) -> bool {
    // SAFETY: both are alive and in one block, as the caller promises.
    unsafe { mlirOperationIsBeforeInBlock(first.to_raw(), second.to_raw()) }
}

/// The element that a splat constant repeats, as its attribute.
pub fn splat_constant<'c>(value: Value<'c, '_>) -> Option<Attribute<'c>> {
    splat_of(value, "stablehlo.constant")
}

/// The element that a constant of this name repeats: shardings' dialect has some of its own.
pub fn splat_of<'c>(value: Value<'c, '_>, name: &str) -> Option<Attribute<'c>> {
    let op = defining_op(value).filter(|op| op_name(*op) == name)?;
    splat_element(DenseElementsAttribute::try_from(ffi::attribute_of(op, "value")?).ok()?)
}

/// The text of an op's string attribute.
pub fn string_attribute<'c>(op: OperationRef<'c, '_>, name: &str) -> Option<&'c str> {
    StringAttribute::try_from(ffi::attribute_of(op, name)?).ok().map(ffi::string_value)
}

/// Inserts the dialects that kernels are written in.
pub fn insert_kernel_dialects(registry: &DialectRegistry) {
    // SAFETY: the registry is alive, and a dialect's handle is static.
    unsafe {
        for handle in [
            mlirGetDialectHandle__arith__(),
            mlirGetDialectHandle__func__(),
            mlirGetDialectHandle__gpu__(),
            mlirGetDialectHandle__llvm__(),
            mlirGetDialectHandle__math__(),
            mlirGetDialectHandle__memref__(),
            mlirGetDialectHandle__scf__(),
        ] {
            mlirDialectHandleInsertDialect(handle, registry.to_raw());
        }
    }
}
