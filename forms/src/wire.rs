// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! MLIR's readers and writers of bytecode and of text, as C++ hands them to the hooks, and what `vhlo`'s attributes and types are made of.
//!
//! This is one of the few modules with `unsafe`: safe wrappers around the functions of `include/slimhlo-c/Forms.h`.

mod text;

pub use text::{Parser, Printer};

use melior::dialect::DialectRegistry;
use melior::ir::operation::OperationRef;
use melior::ir::{Attribute, AttributeLike, Location, Type, TypeLike};
use melior::{Context, ContextRef, StringRef};
use mlir_sys::{
    MlirAttribute, MlirContext, MlirDialectRegistry, MlirNamedAttribute, MlirOperation, MlirStringRef,
    MlirType, mlirAttributeGetDialect, mlirAttributeGetType, mlirAttributeIsADictionary,
    mlirAttributeIsAFlatSymbolRef, mlirAttributeIsAString, mlirContextGetOrLoadDialect,
    mlirDenseBoolArrayGet, mlirDenseElementsAttrRawBufferGet, mlirDialectGetNamespace, mlirDictionaryAttrGet,
    mlirDictionaryAttrGetElement, mlirDictionaryAttrGetNumElements, mlirEmitError,
    mlirFlatSymbolRefAttrGetValue, mlirFloatAttrDoubleGet, mlirIdentifierGet, mlirIdentifierStr,
    mlirLocationUnknownGet, mlirRankedTensorTypeGetChecked, mlirStringAttrGet, mlirStringAttrGetValue,
    mlirTypeGetDialect, mlirTypeIsANone,
};
use slimhlo_dialect::types::Tensor;
use std::ffi::c_void;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::slice;

/// `SlimhloVhloParts`.
#[repr(C)]
struct RawParts {
    kind: u32,
    numbers: *const i64,
    number_count: isize,
    attributes: *const MlirAttribute,
    attribute_count: isize,
    types: *const MlirType,
    type_count: isize,
    text: MlirStringRef,
}

type WriteBytes = Option<unsafe extern "C" fn(MlirStringRef, *mut c_void)>;

unsafe extern "C" {
    fn slimhloRegisterForms(registry: MlirDialectRegistry);
    fn slimhloVhloAttributeGet(context: MlirContext, parts: *const RawParts) -> MlirAttribute;
    fn slimhloVhloTypeGet(context: MlirContext, parts: *const RawParts) -> MlirType;
    fn slimhloVhloAttributeParts(attribute: MlirAttribute, parts: *mut RawParts) -> bool;
    fn slimhloVhloTypeParts(ty: MlirType, parts: *mut RawParts) -> bool;
    fn slimhloReadVarInt(reader: *mut c_void, value: *mut u64) -> bool;
    fn slimhloReadBool(reader: *mut c_void, value: *mut bool) -> bool;
    fn slimhloReadSignedVarInt(reader: *mut c_void, value: *mut i64) -> bool;
    fn slimhloReadAttribute(reader: *mut c_void, attribute: *mut MlirAttribute) -> bool;
    fn slimhloReadOptionalAttribute(reader: *mut c_void, attribute: *mut MlirAttribute) -> bool;
    fn slimhloReadType(reader: *mut c_void, ty: *mut MlirType) -> bool;
    fn slimhloReadString(reader: *mut c_void, text: *mut MlirStringRef) -> bool;
    fn slimhloReadBlob(reader: *mut c_void, bytes: *mut MlirStringRef) -> bool;
    fn slimhloReadBits(reader: *mut c_void, width: u32, bits: *mut u64) -> bool;
    fn slimhloReaderError(reader: *mut c_void, message: MlirStringRef);
    fn slimhloWriteVarInt(writer: *mut c_void, value: u64);
    fn slimhloWriteBool(writer: *mut c_void, value: bool);
    fn slimhloWriteSignedVarInt(writer: *mut c_void, value: i64);
    fn slimhloWriteAttribute(writer: *mut c_void, attribute: MlirAttribute);
    fn slimhloWriteOptionalAttribute(writer: *mut c_void, attribute: MlirAttribute);
    fn slimhloWriteType(writer: *mut c_void, ty: MlirType);
    fn slimhloWriteString(writer: *mut c_void, text: MlirStringRef);
    fn slimhloWriteBlob(writer: *mut c_void, bytes: MlirStringRef);
    fn slimhloWriteBits(writer: *mut c_void, width: u32, bits: u64);
    fn slimhloDenseGetBytes(attribute: MlirAttribute, size: *mut isize) -> *const u8;
    fn slimhloWriteBytecode(
        op: MlirOperation,
        producer: MlirStringRef,
        version: i64,
        write: WriteBytes,
        user: *mut c_void,
    ) -> bool;
    fn slimhloFloatGetBits(attribute: MlirAttribute, bits: *mut u64) -> bool;
    fn slimhloFloatFromBits(ty: MlirType, bits: u64) -> MlirAttribute;
}

/// Registers the `vhlo` dialect, and what bytecode of stablehlo and chlo looks like. Beside, not instead of,
/// `slimhlo_dialect::ffi::register_dialects`.
pub fn register_dialects(registry: &DialectRegistry) {
    // SAFETY: the registry is alive for the call.
    unsafe { slimhloRegisterForms(registry.to_raw()) }
}

fn empty() -> MlirStringRef {
    MlirStringRef { data: "".as_ptr().cast(), length: 0 }
}

fn raw(bytes: &[u8]) -> MlirStringRef {
    MlirStringRef { data: bytes.as_ptr().cast(), length: bytes.len() }
}

/// # Safety
/// The bytes must outlive `'c`.
pub(crate) unsafe fn bytes<'c>(raw: MlirStringRef) -> &'c [u8] {
    // SAFETY: given by the caller; no bytes may have no address.
    if raw.length == 0 { &[] } else { unsafe { slice::from_raw_parts(raw.data.cast(), raw.length) } }
}

/// # Safety
/// `count` values must be at `data` and outlive `'c`.
pub(crate) unsafe fn list<'c, T>(data: *const T, count: isize) -> &'c [T] {
    match usize::try_from(count) {
        // SAFETY: given by the caller.
        Ok(count) if count > 0 => unsafe { slice::from_raw_parts(data, count) },
        _ => &[],
    }
}

//===----------------------------------------------------------------------===//
// Parts of vhlo's attributes and types
//===----------------------------------------------------------------------===//

/// What an attribute or a type of `vhlo` is made of; see [`crate::vhlo::kinds`].
#[derive(Clone, Debug, Default)]
pub struct Parts<'c> {
    /// Which line of its table.
    pub kind: usize,
    /// Numbers, in the order of its fields; lists after their lengths.
    pub numbers: Vec<i64>,
    /// Attributes, in the order of its fields.
    pub attributes: Vec<Attribute<'c>>,
    /// Types, in the order of its fields.
    pub types: Vec<Type<'c>>,
    /// The text of the one kind that has one.
    pub text: &'c [u8],
}

impl<'c> Parts<'c> {
    /// Of an attribute; `None` if it is of another dialect.
    pub fn of_attribute(attribute: Attribute<'c>) -> Option<Self> {
        let mut parts = RawParts::empty();
        // SAFETY: the attribute is alive.
        unsafe { slimhloVhloAttributeParts(attribute.to_raw(), &mut parts).then(|| parts.read()) }
    }

    /// Of a type; `None` if it is of another dialect.
    pub fn of_type(ty: Type<'c>) -> Option<Self> {
        let mut parts = RawParts::empty();
        // SAFETY: the type is alive.
        unsafe { slimhloVhloTypeParts(ty.to_raw(), &mut parts).then(|| parts.read()) }
    }

    /// The attribute.
    pub fn attribute(&self, context: ContextRef<'c>) -> Attribute<'c> {
        let (attributes, types) = self.handles();
        let parts = self.raw(&attributes, &types);
        // SAFETY: all parts are alive, and copied.
        unsafe { Attribute::from_raw(slimhloVhloAttributeGet(context.to_ref().to_raw(), &parts)) }
    }

    /// The type.
    pub fn r#type(&self, context: ContextRef<'c>) -> Type<'c> {
        let (attributes, types) = self.handles();
        let parts = self.raw(&attributes, &types);
        // SAFETY: all parts are alive, and copied.
        unsafe { Type::from_raw(slimhloVhloTypeGet(context.to_ref().to_raw(), &parts)) }
    }

    fn handles(&self) -> (Vec<MlirAttribute>, Vec<MlirType>) {
        (
            self.attributes.iter().map(|attribute| attribute.to_raw()).collect(),
            self.types.iter().map(|ty| ty.to_raw()).collect(),
        )
    }

    fn raw(&self, attributes: &[MlirAttribute], types: &[MlirType]) -> RawParts {
        RawParts {
            kind: self.kind as u32,
            numbers: self.numbers.as_ptr(),
            number_count: self.numbers.len() as isize,
            attributes: attributes.as_ptr(),
            attribute_count: attributes.len() as isize,
            types: types.as_ptr(),
            type_count: types.len() as isize,
            text: raw(self.text),
        }
    }
}

impl RawParts {
    fn empty() -> Self {
        Self {
            kind: 0,
            numbers: std::ptr::null(),
            number_count: 0,
            attributes: std::ptr::null(),
            attribute_count: 0,
            types: std::ptr::null(),
            type_count: 0,
            text: empty(),
        }
    }

    /// # Safety
    /// All must point into a context that outlives `'c`.
    unsafe fn read<'c>(&self) -> Parts<'c> {
        // SAFETY: given by the caller.
        unsafe {
            Parts {
                kind: self.kind as usize,
                numbers: list(self.numbers, self.number_count).to_vec(),
                attributes: list(self.attributes, self.attribute_count)
                    .iter()
                    .map(|&attribute| Attribute::from_raw(attribute))
                    .collect(),
                types: list(self.types, self.type_count).iter().map(|&ty| Type::from_raw(ty)).collect(),
                text: bytes(self.text),
            }
        }
    }
}

//===----------------------------------------------------------------------===//
// Bytecode
//===----------------------------------------------------------------------===//

/// Reads one attribute or type. Everything is `None` after an error, which the reader has reported.
pub struct Reader<'c>(*mut c_void, PhantomData<&'c ()>);

impl<'c> Reader<'c> {
    /// # Safety
    /// `reader` must be MLIR's, of a context that outlives `'c`, and alive as long as this is.
    pub unsafe fn from_raw(reader: *mut c_void) -> Self {
        Self(reader, PhantomData)
    }

    /// An unsigned number.
    pub fn unsigned(&self) -> Option<u64> {
        let mut value = 0;
        // SAFETY: the reader is alive, as for all that follow.
        unsafe { slimhloReadVarInt(self.0, &mut value).then_some(value) }
    }

    /// A signed number.
    pub fn signed(&self) -> Option<i64> {
        let mut value = 0;
        // SAFETY: see `unsigned`.
        unsafe { slimhloReadSignedVarInt(self.0, &mut value).then_some(value) }
    }

    /// A byte that is 0 or 1.
    pub fn bool(&self) -> Option<bool> {
        let mut value = false;
        // SAFETY: see `unsigned`.
        unsafe { slimhloReadBool(self.0, &mut value).then_some(value) }
    }

    /// A list: its length, then what `item` reads.
    pub fn list<T>(&self, item: impl Fn(&Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.unsigned()?;
        // No memory for it before its items are there: the length may be anything.
        (0..count).map(|_| item(self)).collect()
    }

    /// A list of signed numbers.
    pub fn numbers(&self) -> Option<Vec<i64>> {
        self.list(Self::signed)
    }

    /// Another attribute.
    pub fn attribute(&self) -> Option<Attribute<'c>> {
        let mut attribute = MlirAttribute { ptr: std::ptr::null() };
        // SAFETY: see `unsigned`; what it reads is not null.
        unsafe { slimhloReadAttribute(self.0, &mut attribute).then(|| Attribute::from_raw(attribute)) }
    }

    /// Another attribute, if there is one.
    pub fn optional_attribute(&self) -> Option<Option<Attribute<'c>>> {
        let mut attribute = MlirAttribute { ptr: std::ptr::null() };
        // SAFETY: see `unsigned`; null is none.
        unsafe {
            slimhloReadOptionalAttribute(self.0, &mut attribute)
                .then(|| (!attribute.ptr.is_null()).then(|| Attribute::from_raw(attribute)))
        }
    }

    /// A type.
    pub fn r#type(&self) -> Option<Type<'c>> {
        let mut ty = MlirType { ptr: std::ptr::null() };
        // SAFETY: see `unsigned`; what it reads is not null.
        unsafe { slimhloReadType(self.0, &mut ty).then(|| Type::from_raw(ty)) }
    }

    /// A string, which is in the bytes that are read: it is not to be kept.
    pub fn text(&self) -> Option<&[u8]> {
        let mut text = empty();
        // SAFETY: see `unsigned`; the bytes that are read outlive their reader.
        unsafe { slimhloReadString(self.0, &mut text).then(|| bytes(text)) }
    }

    /// Bytes, as [`Self::text`].
    pub fn blob(&self) -> Option<&[u8]> {
        let mut blob = empty();
        // SAFETY: see `text`.
        unsafe { slimhloReadBlob(self.0, &mut blob).then(|| bytes(blob)) }
    }

    /// A number of so many bits, at most 64.
    pub fn bits(&self, width: u32) -> Option<u64> {
        let mut bits = 0;
        // SAFETY: see `unsigned`.
        unsafe { slimhloReadBits(self.0, width, &mut bits).then_some(bits) }
    }

    /// A number of 64 bits that are a float's.
    pub fn float(&self) -> Option<f64> {
        self.bits(64).map(f64::from_bits)
    }

    /// Reports an error.
    pub fn error(&self, message: &str) {
        // SAFETY: see `unsigned`; the message is copied.
        unsafe { slimhloReaderError(self.0, StringRef::new(message).to_raw()) }
    }
}

/// Writes one attribute or type.
pub struct Writer(*mut c_void);

impl Writer {
    /// # Safety
    /// `writer` must be MLIR's, and alive as long as this is.
    pub unsafe fn from_raw(writer: *mut c_void) -> Self {
        Self(writer)
    }

    /// An unsigned number.
    pub fn unsigned(&self, value: u64) {
        // SAFETY: the writer is alive, as for all that follow.
        unsafe { slimhloWriteVarInt(self.0, value) }
    }

    /// A signed number.
    pub fn signed(&self, value: i64) {
        // SAFETY: see `unsigned`.
        unsafe { slimhloWriteSignedVarInt(self.0, value) }
    }

    /// A byte that is 0 or 1.
    pub fn bool(&self, value: bool) {
        // SAFETY: see `unsigned`.
        unsafe { slimhloWriteBool(self.0, value) }
    }

    /// A list of signed numbers.
    pub fn numbers(&self, values: &[i64]) {
        self.unsigned(values.len() as u64);
        values.iter().for_each(|&value| self.signed(value));
    }

    /// Another attribute.
    pub fn attribute(&self, attribute: Attribute<'_>) {
        // SAFETY: see `unsigned`; the attribute is alive.
        unsafe { slimhloWriteAttribute(self.0, attribute.to_raw()) }
    }

    /// Another attribute, if there is one.
    pub fn optional_attribute(&self, attribute: Option<Attribute<'_>>) {
        let raw = attribute.map_or(MlirAttribute { ptr: std::ptr::null() }, |attribute| attribute.to_raw());
        // SAFETY: see `unsigned`; the attribute is alive, or null.
        unsafe { slimhloWriteOptionalAttribute(self.0, raw) }
    }

    /// A type.
    pub fn r#type(&self, ty: Type<'_>) {
        // SAFETY: see `unsigned`; the type is alive.
        unsafe { slimhloWriteType(self.0, ty.to_raw()) }
    }

    /// A string of the context's.
    pub fn text(&self, text: &[u8]) {
        // SAFETY: see `unsigned`; what attributes hold outlives the writer.
        unsafe { slimhloWriteString(self.0, raw(text)) }
    }

    /// Bytes of the context's.
    pub fn blob(&self, blob: &[u8]) {
        // SAFETY: see `text`.
        unsafe { slimhloWriteBlob(self.0, raw(blob)) }
    }

    /// A number of so many bits.
    pub fn bits(&self, width: u32, bits: u64) {
        // SAFETY: see `unsigned`.
        unsafe { slimhloWriteBits(self.0, width, bits) }
    }

    /// A float of 64 bits.
    pub fn float(&self, value: f64) {
        self.bits(64, value.to_bits());
    }
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

/// # Safety
/// `raw` must be null or a live attribute.
pub(crate) unsafe fn attribute<'c>(raw: MlirAttribute) -> Option<Attribute<'c>> {
    // SAFETY: given by the caller.
    (!raw.ptr.is_null()).then(|| unsafe { Attribute::from_raw(raw) })
}

/// The bytes that MLIR holds a `dense` attribute of numbers in, a single element if all are the same; `None` if it is another.
pub fn dense_bytes<'c>(attribute: Attribute<'c>) -> Option<&'c [u8]> {
    let mut size = 0;
    // SAFETY: the attribute is alive; the bytes live as long as its context.
    unsafe {
        let data = slimhloDenseGetBytes(attribute.to_raw(), &mut size);
        (!data.is_null()).then(|| list(data, size))
    }
}

/// A `dense` attribute of static type and of numbers; `None` if the bytes are neither one element nor all.
pub fn dense_from_bytes<'c>(tensor: Tensor<'c>, bytes: &[u8]) -> Option<Attribute<'c>> {
    if !tensor.is_static() || slimhlo_dialect::dense::element_bytes(tensor.element).is_none() {
        return None;
    }
    // SAFETY: the type is a static tensor of numbers; MLIR looks at the number of bytes, which it copies, and gives null if it is wrong.
    unsafe {
        attribute(mlirDenseElementsAttrRawBufferGet(tensor.ty.to_raw(), bytes.len(), bytes.as_ptr().cast()))
    }
}

/// A ranked tensor type; `None`, after a diagnostic, if MLIR knows none.
pub fn ranked_tensor<'c>(
    shape: &[i64],
    element: Type<'c>,
    encoding: Option<Attribute<'c>>,
) -> Option<Type<'c>> {
    let encoding = encoding.map_or(MlirAttribute { ptr: std::ptr::null() }, |encoding| encoding.to_raw());
    // SAFETY: shape, element and encoding are alive; null where there is no such type.
    unsafe {
        let ty = mlirRankedTensorTypeGetChecked(
            mlirLocationUnknownGet(element.context().to_ref().to_raw()),
            shape.len() as isize,
            shape.as_ptr(),
            element.to_raw(),
            encoding,
        );
        (!ty.ptr.is_null()).then(|| Type::from_raw(ty))
    }
}

/// A string attribute of any bytes.
pub fn string<'c>(context: ContextRef<'c>, text: &[u8]) -> Attribute<'c> {
    // SAFETY: the context is alive, and the text is copied.
    unsafe { Attribute::from_raw(mlirStringAttrGet(context.to_ref().to_raw(), raw(text))) }
}

/// The bytes of a string attribute without a type of its own; `None` if it is another.
pub fn string_bytes<'c>(attribute: Attribute<'c>) -> Option<&'c [u8]> {
    // SAFETY: the attribute is alive, and a string where it is asked for its value, which lives as long as the context.
    unsafe {
        (mlirAttributeIsAString(attribute.to_raw())
            && mlirTypeIsANone(mlirAttributeGetType(attribute.to_raw())))
        .then(|| bytes(mlirStringAttrGetValue(attribute.to_raw())))
    }
}

/// `array<i1: ...>`.
pub fn bool_array<'c>(context: ContextRef<'c>, values: &[bool]) -> Attribute<'c> {
    let values: Vec<i32> = values.iter().map(|&value| i32::from(value)).collect();
    // SAFETY: the context is alive, and the values are copied.
    unsafe {
        Attribute::from_raw(mlirDenseBoolArrayGet(
            context.to_ref().to_raw(),
            values.len() as isize,
            values.as_ptr(),
        ))
    }
}

/// Loads the dialects of StableHLO programs and of VHLO, whose attributes and types are about to be made. `None`, after a diagnostic, if
/// they are not registered.
pub fn load(context: &Context) -> Option<()> {
    for name in ["builtin", "func", "quant", "shape", "stablehlo", "vhlo"] {
        // SAFETY: the context is alive; null is for a dialect that is not registered.
        let dialect = unsafe { mlirContextGetOrLoadDialect(context.to_raw(), StringRef::new(name).to_raw()) };
        if dialect.ptr.is_null() && name != "shape" {
            emit_error(Location::unknown(context), &format!("the dialect '{name}' is not registered"));
            return None;
        }
    }
    Some(())
}

/// Reports an error at a place.
pub fn emit_error(place: Location<'_>, message: &str) {
    let message = std::ffi::CString::new(message).unwrap_or_default();
    // SAFETY: the place is one of a context that is alive, and the message a C string, which is copied.
    unsafe { mlirEmitError(place.to_raw(), message.as_ptr()) }
}

/// The entries of a dictionary attribute.
pub fn entries<'c>(dictionary: Attribute<'c>) -> Vec<(&'c [u8], Attribute<'c>)> {
    // SAFETY: the attribute is alive and a dictionary, and has as many entries as it says; names live as long as the context.
    unsafe {
        let raw = dictionary.to_raw();
        let count = if mlirAttributeIsADictionary(raw) { mlirDictionaryAttrGetNumElements(raw) } else { 0 };
        (0..count)
            .map(|index| {
                let entry = mlirDictionaryAttrGetElement(raw, index);
                (bytes(mlirIdentifierStr(entry.name)), Attribute::from_raw(entry.attribute))
            })
            .collect()
    }
}

/// A dictionary attribute; `None` if two entries have the same name.
pub fn dictionary<'c>(context: ContextRef<'c>, entries: &[(&[u8], Attribute<'c>)]) -> Option<Attribute<'c>> {
    let mut names: Vec<&[u8]> = entries.iter().map(|entry| entry.0).collect();
    names.sort_unstable();
    if names.windows(2).any(|two| two[0] == two[1]) {
        return None;
    }
    // SAFETY: context and attributes are alive; names are copied.
    unsafe {
        let context = context.to_ref().to_raw();
        let entries: Vec<_> = entries
            .iter()
            .map(|(name, attribute)| MlirNamedAttribute {
                name: mlirIdentifierGet(context, raw(name)),
                attribute: attribute.to_raw(),
            })
            .collect();
        Some(Attribute::from_raw(mlirDictionaryAttrGet(context, entries.len() as isize, entries.as_ptr())))
    }
}

/// The name of a symbol attribute that names one symbol; `None` if it is another.
pub fn flat_symbol<'c>(attribute: Attribute<'c>) -> Option<&'c [u8]> {
    // SAFETY: the attribute is alive, and the name lives as long as the context.
    unsafe {
        mlirAttributeIsAFlatSymbolRef(attribute.to_raw())
            .then(|| bytes(mlirFlatSymbolRefAttrGetValue(attribute.to_raw())))
    }
}

/// The context that a reference is to, for the call that it is an argument of: what melior gives out lies where the reference does.
pub fn owner<'c>(context: &ContextRef<'c>) -> &'c Context {
    // SAFETY: the reference says that the context is alive; no caller keeps the result longer than its reference.
    unsafe { context.to_ref() }
}

/// The name of a type's dialect.
pub fn dialect_of_type<'c>(ty: Type<'c>) -> &'c str {
    // SAFETY: the type is alive, and its dialect's name lives as long as the context.
    let name = unsafe { bytes(mlirDialectGetNamespace(mlirTypeGetDialect(ty.to_raw()))) };
    std::str::from_utf8(name).unwrap_or_default()
}

/// The name of an attribute's dialect.
pub fn dialect_of_attribute<'c>(attribute: Attribute<'c>) -> &'c str {
    // SAFETY: the attribute is alive, and its dialect's name lives as long as the context.
    let name = unsafe { bytes(mlirDialectGetNamespace(mlirAttributeGetDialect(attribute.to_raw()))) };
    std::str::from_utf8(name).unwrap_or_default()
}

/// The bits of a float attribute of at most 64 bits.
pub fn float_bits(attribute: Attribute<'_>) -> Option<u64> {
    let mut bits = 0;
    // SAFETY: the attribute is alive.
    unsafe { slimhloFloatGetBits(attribute.to_raw(), &mut bits).then_some(bits) }
}

/// A float attribute; `None` if the type is no float of at most 64 bits.
pub fn float_from_bits<'c>(ty: Type<'c>, bits: u64) -> Option<Attribute<'c>> {
    // SAFETY: the type is alive; null if it is another.
    unsafe { attribute(slimhloFloatFromBits(ty.to_raw(), bits)) }
}

/// A float attribute of a type, rounded to it; `None` if the type is no float.
pub fn float<'c>(ty: Type<'c>, value: f64) -> Option<Attribute<'c>> {
    if !slimhlo_dialect::quant::is_float(ty) {
        return None;
    }
    // SAFETY: the type is a live float.
    unsafe { attribute(mlirFloatAttrDoubleGet(ty.context().to_ref().to_raw(), ty.to_raw(), value)) }
}

/// The newest version of the format of bytecode that MLIR 22 and jaxlib 0.10.2 know.
pub const BYTECODE_VERSION: i64 = 6;

/// Bytecode of a version of the format. `None` if the op cannot be written so.
pub fn bytecode(op: OperationRef<'_, '_>, producer: &str, version: i64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    bytecode_to(op, producer, version, &mut bytes).ok()?.then_some(bytes)
}

/// Writes bytecode of a version of the format, without a copy of it in memory; false if the op cannot be written so.
///
/// # Errors
/// Those of the writer.
pub fn bytecode_to(
    op: OperationRef<'_, '_>,
    producer: &str,
    version: i64,
    to: &mut dyn Write,
) -> io::Result<bool> {
    let mut sink = Sink { to, result: Ok(()) };
    // SAFETY: op and producer are alive, and the callback takes the user data for what it is.
    let written = unsafe {
        slimhloWriteBytecode(
            op.to_raw(),
            StringRef::new(producer).to_raw(),
            version,
            Some(push),
            (&raw mut sink).cast(),
        )
    };
    sink.result.map(|()| written)
}

/// Where bytes go, and whether they got there.
struct Sink<'a> {
    to: &'a mut dyn Write,
    result: io::Result<()>,
}

/// # Safety
/// `to` must point to a `Sink`, `piece` be alive.
unsafe extern "C" fn push(piece: MlirStringRef, to: *mut c_void) {
    // SAFETY: given by the caller.
    let (sink, piece) = unsafe { (&mut *to.cast::<Sink<'_>>(), bytes(piece)) };
    if sink.result.is_ok() {
        sink.result = sink.to.write_all(piece);
    }
}

/// The types of results of a function type that a `type_v1` holds, and their number; `None` if it is another attribute.
///
/// # Safety
/// The attribute must be null or alive, and `results` writable.
pub(crate) unsafe fn function_results(
    function: MlirAttribute,
    results: *mut *const MlirType,
) -> Option<isize> {
    // SAFETY: given by the caller; the parts live as long as the context.
    unsafe {
        let ty = *Parts::of_attribute(attribute(function)?)?.types.first()?;
        if Parts::of_type(ty)?.kind != crate::vhlo::kinds::ty("func_v1") {
            return None;
        }
        let mut parts = RawParts::empty();
        slimhloVhloTypeParts(ty.to_raw(), &mut parts);
        let inputs = isize::try_from(*list(parts.numbers, parts.number_count).first()?).ok()?;
        *results = parts.types.offset(inputs);
        Some(parts.type_count - inputs)
    }
}
