// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The C functions of `include/slimhlo-c` that the C++ half implements, and safe wrappers around them.
//!
//! This module, the attribute views' declarations and `hooks` are where this crate's `unsafe` lives.

use melior::dialect::DialectRegistry;
use melior::ir::attribute::{DictionaryAttribute, IntegerAttribute, StringAttribute, TypeAttribute};
use melior::ir::block::BlockArgument;
use melior::ir::operation::OperationResult;
use melior::ir::r#type::{FunctionType, TupleType};
use melior::ir::{Attribute, AttributeLike, Location, OperationRef, Type, TypeLike, Value, ValueLike};
use melior::{ContextRef, StringRef};
use mlir_sys::{
    MlirAttribute, MlirContext, MlirDialectRegistry, MlirLocation, MlirOperation, MlirStringRef, MlirType,
    mlirAttributeGetDialect, mlirAttributeGetType, mlirDialectGetNamespace,
    mlirDictionaryAttrGetElementByName, mlirIdentifierStr, mlirIntegerAttrGetValueInt,
    mlirIntegerAttrGetValueSInt, mlirIntegerAttrGetValueUInt, mlirIntegerTypeIsSigned,
    mlirIntegerTypeIsUnsigned, mlirLocationUnknownGet, mlirOperationGetAttributeByName, mlirOperationGetName,
    mlirRankedTensorTypeGetChecked, mlirRankedTensorTypeGetEncoding, mlirShapedTypeGetElementType,
    mlirStringAttrGetValue, mlirTupleTypeGet, mlirTypeIsAInteger, mlirTypeIsAShaped, mlirTypeIsATuple,
    mlirUnrankedTensorTypeGetChecked,
};
use std::{slice, str};

unsafe extern "C" {
    fn slimhloEmitOpError(op: MlirOperation, message: MlirStringRef);
    fn slimhloEmitOpErrorAt(location: MlirLocation, op_name: MlirStringRef, message: MlirStringRef);
    fn slimhloRegisterDialects(registry: MlirDialectRegistry);
    fn slimhloOperationGetAttributes(op: MlirOperation) -> MlirAttribute;
    fn slimhloShapedTypeGetShape(ty: MlirType, rank: *mut isize) -> *const i64;
    fn slimhloRankedTensorTypeGetParts(ty: MlirType, rank: *mut isize, element: *mut MlirType) -> *const i64;
    fn slimhloDenseI64ArrayGetData(attribute: MlirAttribute, count: *mut isize) -> *const i64;
    fn slimhloDenseI32ArrayGetData(attribute: MlirAttribute, count: *mut isize) -> *const i32;
    fn slimhloDenseBoolArrayGetData(attribute: MlirAttribute, count: *mut isize) -> *const bool;
    fn slimhloBoundsGetData(attribute: MlirAttribute, count: *mut isize) -> *const i64;
    fn slimhloBoundsGet(context: MlirContext, count: isize, bounds: *const i64) -> MlirAttribute;
}

/// Emits `'<op name>' op <message>` at the location of `op`.
pub fn emit_op_error(op: OperationRef<'_, '_>, message: &str) {
    // SAFETY: `op` is alive for the call and the message is copied into the diagnostic.
    unsafe { slimhloEmitOpError(op.to_raw(), StringRef::new(message).to_raw()) }
}

/// Emits `'<op name>' op <message>` at `location`.
pub fn emit_op_error_at(location: Location<'_>, op_name: &str, message: &str) {
    // SAFETY: the location's context is alive and both strings are copied into the diagnostic.
    unsafe {
        slimhloEmitOpErrorAt(
            location.to_raw(),
            StringRef::new(op_name).to_raw(),
            StringRef::new(message).to_raw(),
        )
    }
}

/// A location that says nothing.
pub fn unknown_location<'c>(context: ContextRef<'c>) -> Location<'c> {
    // SAFETY: the context is alive.
    unsafe { Location::from_raw(mlirLocationUnknownGet(context.to_ref().to_raw())) }
}

/// Inserts the stablehlo, chlo and sdy dialects, and those they depend on, into `registry`.
pub fn register_dialects(registry: &DialectRegistry) {
    // SAFETY: the registry is alive for the call.
    unsafe { slimhloRegisterDialects(registry.to_raw()) }
}

/// Sizes of a ranked shaped type; a dynamic one is [`crate::DYNAMIC`]. `None` if the type has no rank.
pub fn shape<'c>(ty: Type<'c>) -> Option<&'c [i64]> {
    let mut rank = -1;
    // SAFETY: the type is alive; the pointer it returns is to uniqued storage that lives as long as the context.
    let data = unsafe { slimhloShapedTypeGetShape(ty.to_raw(), &mut rank) };
    // SAFETY: as above; `rank` values follow `data` whenever rank is not negative.
    unsafe { slice_of(data, rank) }
}

/// Sizes and element type of a ranked tensor type; `None` if the type is another. Passes ask for little else: MLIR's C interface
/// would look up what kind of type it is for each part of the answer.
pub fn ranked_tensor_parts<'c>(ty: Type<'c>) -> Option<(&'c [i64], Type<'c>)> {
    let (mut rank, mut element) = (-1, ty.to_raw());
    // SAFETY: the type is alive; what it returns is uniqued storage that lives as long as the context.
    let data = unsafe { slimhloRankedTensorTypeGetParts(ty.to_raw(), &mut rank, &mut element) };
    // SAFETY: as above; `rank` values follow `data`, and the element type is set, whenever rank is not negative.
    unsafe { Some((slice_of(data, rank)?, Type::from_raw(element))) }
}

/// The values of a `DenseI64ArrayAttr`, or `None` if the attribute is another.
pub fn dense_i64_array<'c>(attribute: Attribute<'c>) -> Option<&'c [i64]> {
    let mut count = -1;
    // SAFETY: the attribute is alive; the pointer is to uniqued storage that lives as long as the context.
    let data = unsafe { slimhloDenseI64ArrayGetData(attribute.to_raw(), &mut count) };
    // SAFETY: as above; `count` values follow `data` whenever count is not negative.
    unsafe { slice_of(data, count) }
}

/// # Safety
/// `count` values must follow `data` and outlive `'c`, unless `count` is not positive.
pub(crate) unsafe fn slice_of<'c, T>(data: *const T, count: isize) -> Option<&'c [T]> {
    match usize::try_from(count) {
        Err(_) => None,
        // The C++ side may hand out a null pointer for no values at all.
        Ok(0) => Some(&[]),
        // SAFETY: given by the caller.
        Ok(count) => Some(unsafe { slice::from_raw_parts(data, count) }),
    }
}

/// The values of a `DenseI32ArrayAttr`, or `None` if the attribute is another.
pub fn dense_i32_array<'c>(attribute: Attribute<'c>) -> Option<&'c [i32]> {
    let mut count = -1;
    // SAFETY: the attribute is alive; the pointer is to uniqued storage that lives as long as the context.
    let data = unsafe { slimhloDenseI32ArrayGetData(attribute.to_raw(), &mut count) };
    // SAFETY: as above; `count` values follow `data` whenever count is not negative.
    unsafe { slice_of(data, count) }
}

/// The values of a `DenseBoolArrayAttr`, or `None` if the attribute is another.
pub fn dense_bool_array<'c>(attribute: Attribute<'c>) -> Option<&'c [bool]> {
    let mut count = -1;
    // SAFETY: the attribute is alive; the pointer is to uniqued storage that lives as long as the context, and a C++
    // bool is a Rust bool.
    let data = unsafe { slimhloDenseBoolArrayGetData(attribute.to_raw(), &mut count) };
    // SAFETY: as above; `count` values follow `data` whenever count is not negative.
    unsafe { slice_of(data, count) }
}

/// The bounds of a `#stablehlo.bounds` attribute, or `None` if the attribute is another.
pub fn bounds<'c>(attribute: Attribute<'c>) -> Option<&'c [i64]> {
    let mut count = -1;
    // SAFETY: the attribute is alive; the pointer is to uniqued storage that lives as long as the context.
    let data = unsafe { slimhloBoundsGetData(attribute.to_raw(), &mut count) };
    // SAFETY: as above; `count` values follow `data` whenever count is not negative.
    unsafe { slice_of(data, count) }
}

/// Builds a `#stablehlo.bounds` attribute; [`crate::DYNAMIC`] stands for no bound.
pub fn bounds_attribute<'c>(context: ContextRef<'c>, bounds: &[i64]) -> Attribute<'c> {
    // SAFETY: the context is alive and the bounds are copied.
    unsafe {
        Attribute::from_raw(slimhloBoundsGet(
            context.to_ref().to_raw(),
            bounds.len() as isize,
            bounds.as_ptr(),
        ))
    }
}

/// The attribute of this name on an op, inherent or discardable.
pub fn attribute_of<'c>(op: OperationRef<'c, '_>, name: &str) -> Option<Attribute<'c>> {
    // SAFETY: the op is alive; a missing attribute comes back null.
    unsafe { option(mlirOperationGetAttributeByName(op.to_raw(), StringRef::new(name).to_raw())) }
}

/// All attributes of an op, discardable ones among them, as a dictionary: the same one for the same attributes.
pub fn attributes_of<'c>(op: OperationRef<'c, '_>) -> Attribute<'c> {
    // SAFETY: the op is alive, and the dictionary belongs to its context.
    unsafe { Attribute::from_raw(slimhloOperationGetAttributes(op.to_raw())) }
}

/// The entry of this name in a dictionary.
pub fn attribute_in<'c>(dictionary: DictionaryAttribute<'c>, name: &str) -> Option<Attribute<'c>> {
    // SAFETY: the dictionary is alive; a missing entry comes back null.
    unsafe { option(mlirDictionaryAttrGetElementByName(dictionary.to_raw(), StringRef::new(name).to_raw())) }
}

/// # Safety
/// `raw` must be null or a live attribute.
pub(crate) unsafe fn option<'c>(raw: MlirAttribute) -> Option<Attribute<'c>> {
    // SAFETY: given by the caller.
    if raw.ptr.is_null() { None } else { Some(unsafe { Attribute::from_raw(raw) }) }
}

/// A tuple of these types.
pub fn tuple_of<'c>(context: ContextRef<'c>, types: &[Type<'c>]) -> Type<'c> {
    let types: Vec<MlirType> = types.iter().map(|ty| ty.to_raw()).collect();
    // SAFETY: the context and all types are alive; the array is copied.
    unsafe {
        Type::from_raw(mlirTupleTypeGet(context.to_ref().to_raw(), types.len() as isize, types.as_ptr()))
    }
}

/// Input and result types of the function type that a type attribute holds, or `None` if it holds another.
pub fn function_type<'c>(attribute: Attribute<'c>) -> Option<(Vec<Type<'c>>, Vec<Type<'c>>)> {
    let value = TypeAttribute::try_from(attribute).ok()?.value();
    let function = FunctionType::try_from(value).ok()?;
    let inputs = (0..function.input_count()).map(|index| function.input(index).ok());
    let results = (0..function.result_count()).map(|index| function.result(index).ok());
    Some((inputs.collect::<Option<_>>()?, results.collect::<Option<_>>()?))
}

/// The type an attribute has; `none` for most.
pub fn type_of<'c>(attribute: Attribute<'c>) -> Type<'c> {
    // SAFETY: the attribute is alive.
    unsafe { Type::from_raw(mlirAttributeGetType(attribute.to_raw())) }
}

/// The value of an integer attribute, extended to 64 bits by its type's own signedness (signless: sign-extended).
pub fn integer_value(integer: IntegerAttribute<'_>) -> i64 {
    let ty = integer.r#type().to_raw();
    // SAFETY: the attribute is an integer; each getter is called for the signedness it asserts.
    unsafe {
        if mlirTypeIsAInteger(ty) && mlirIntegerTypeIsUnsigned(ty) {
            mlirIntegerAttrGetValueUInt(integer.to_raw()) as i64
        } else if mlirTypeIsAInteger(ty) && mlirIntegerTypeIsSigned(ty) {
            mlirIntegerAttrGetValueSInt(integer.to_raw())
        } else {
            mlirIntegerAttrGetValueInt(integer.to_raw())
        }
    }
}

/// The text of a string attribute; not valid UTF-8 reads as empty.
pub fn string_value<'c>(string: StringAttribute<'c>) -> &'c str {
    // SAFETY: the text is uniqued storage that lives as long as the context.
    unsafe { text(mlirStringAttrGetValue(string.to_raw())) }
}

/// Full name of an op ("stablehlo.pad"), which lives as long as the context.
pub fn op_name<'c>(op: OperationRef<'c, '_>) -> &'c str {
    // SAFETY: the op is alive and its name is uniqued storage that lives as long as the context.
    unsafe { text(mlirIdentifierStr(mlirOperationGetName(op.to_raw()))) }
}

/// # Safety
/// The bytes must outlive `'c`.
pub(crate) unsafe fn text<'c>(raw: MlirStringRef) -> &'c str {
    if raw.length == 0 {
        return "";
    }
    // SAFETY: given by the caller.
    let bytes: &[u8] = unsafe { slice::from_raw_parts(raw.data.cast(), raw.length) };
    if bytes.is_ascii() {
        // Names are asked for all the time, and to see that they are no more than ASCII is quicker.
        // SAFETY: ASCII is UTF-8.
        return unsafe { str::from_utf8_unchecked(bytes) };
    }
    str::from_utf8(bytes).unwrap_or_default()
}

/// Element type of a shaped type, or `None` for any other type.
pub fn element_type<'c>(ty: Type<'c>) -> Option<Type<'c>> {
    if let Some((_, element)) = ranked_tensor_parts(ty) {
        return Some(element);
    }
    // SAFETY: the type is alive and known to be shaped where the element is asked for.
    unsafe {
        mlirTypeIsAShaped(ty.to_raw()).then(|| Type::from_raw(mlirShapedTypeGetElementType(ty.to_raw())))
    }
}

/// Encoding of a ranked tensor type, or `None` if it has none.
pub fn tensor_encoding<'c>(ty: Type<'c>) -> Option<Attribute<'c>> {
    if !ty.is_ranked_tensor() {
        return None;
    }
    // SAFETY: the type is a ranked tensor; no encoding comes back null.
    unsafe { option(mlirRankedTensorTypeGetEncoding(ty.to_raw())) }
}

/// The namespace of the dialect that an attribute is of.
pub fn dialect_of<'c>(attribute: Attribute<'c>) -> &'c str {
    // SAFETY: the attribute is alive, and its dialect's namespace as long as the context.
    unsafe { text(mlirDialectGetNamespace(mlirAttributeGetDialect(attribute.to_raw()))) }
}

/// Builds a ranked tensor type. Falls back to one without encoding if the encoding does not fit the shape, which the
/// context then diagnoses.
pub fn ranked_tensor<'c>(shape: &[i64], element: Type<'c>, encoding: Option<Attribute<'c>>) -> Type<'c> {
    let encoding = encoding.map_or(MlirAttribute { ptr: std::ptr::null() }, |encoding| encoding.to_raw());
    // SAFETY: shape and element are alive; a checked build returns null where the plain one would assert.
    unsafe {
        let location = mlirLocationUnknownGet(element.context().to_ref().to_raw());
        let build = |encoding| {
            mlirRankedTensorTypeGetChecked(
                location,
                shape.len() as isize,
                shape.as_ptr(),
                element.to_raw(),
                encoding,
            )
        };
        let built = build(encoding);
        let raw = if built.ptr.is_null() { build(MlirAttribute { ptr: std::ptr::null() }) } else { built };
        Type::from_raw(raw)
    }
}

/// Builds an unranked tensor type; `None` if a tensor cannot hold the element type.
pub fn unranked_tensor<'c>(element: Type<'c>) -> Option<Type<'c>> {
    // SAFETY: the element type is alive; a checked build returns null where the plain one would assert.
    unsafe {
        let location = mlirLocationUnknownGet(element.context().to_ref().to_raw());
        let raw = mlirUnrankedTensorTypeGetChecked(location, element.to_raw());
        (!raw.ptr.is_null()).then(|| Type::from_raw(raw))
    }
}

// melior's own conversions put the printed value into their errors. Printing a value prints, and first verifies, the
// whole module around it: far too much for a question, and endless if it is asked by a verifier.

/// `value` as the result of an op, if it is one.
pub fn as_result<'c, 'a>(value: Value<'c, 'a>) -> Option<OperationResult<'c, 'a>> {
    if value.is_operation_result() { OperationResult::try_from(value).ok() } else { None }
}

/// `value` as the argument of a block, if it is one.
pub fn as_block_argument<'c, 'a>(value: Value<'c, 'a>) -> Option<BlockArgument<'c, 'a>> {
    if value.is_block_argument() { BlockArgument::try_from(value).ok() } else { None }
}

/// `ty` as a tuple type, if it is one.
pub fn as_tuple(ty: Type<'_>) -> Option<TupleType<'_>> {
    // SAFETY: the type is alive.
    if unsafe { mlirTypeIsATuple(ty.to_raw()) } { TupleType::try_from(ty).ok() } else { None }
}
