// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What the memory model asks of MLIR that melior does not offer: the parts of locations.

use melior::StringRef;
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, TypeLike, Value, ValueLike};
use mlir_sys::{
    MlirAsmState, MlirLocation, MlirStringRef, mlirAsmStateCreateForOperation, mlirAsmStateDestroy,
    mlirComplexTypeGetElementType, mlirFloatTypeGetWidth, mlirIdentifierStr, mlirIntegerTypeGetWidth,
    mlirLocationCallSiteGetCallee, mlirLocationCallSiteGetCaller, mlirLocationFileLineColRangeGetFilename,
    mlirLocationFileLineColRangeGetStartColumn, mlirLocationFileLineColRangeGetStartLine,
    mlirLocationFusedGetLocations, mlirLocationFusedGetNumLocations, mlirLocationIsACallSite,
    mlirLocationIsAFileLineColRange, mlirLocationIsAFused, mlirLocationIsAName, mlirLocationNameGetChildLoc,
    mlirLocationNameGetName, mlirOpPrintingFlagsAssumeVerified, mlirOpPrintingFlagsCreate,
    mlirOpPrintingFlagsDestroy, mlirOperationGetParentOperation, mlirTypeIsAComplex, mlirTypeIsAFloat,
    mlirTypeIsAInteger, mlirValueGetLocation, mlirValuePrintAsOperand,
};
use std::ffi::c_void;

/// What a location is made of.
pub(super) enum Parts<'c> {
    File {
        file: String,
        line: u32,
        column: u32,
    },
    /// The name, and what it is a name for.
    Name(String, Location<'c>),
    /// Where the code is, and where it was called from.
    Call(Location<'c>, Location<'c>),
    Fused(Vec<Location<'c>>),
    Other,
}

pub(super) fn parts<'c>(location: Location<'c>) -> Parts<'c> {
    let raw = location.to_raw();
    let text = |identifier| {
        // SAFETY: the location is alive, and so are its identifiers.
        let raw = unsafe { mlirIdentifierStr(identifier) };
        // An empty text may have no place at all.
        if raw.length == 0 {
            return String::new();
        }
        // SAFETY: identifiers live as long as the context.
        unsafe { StringRef::from_raw(raw) }.as_str().unwrap_or_default().to_owned()
    };
    // SAFETY: the location is alive; each getter is called only for the kind it is for.
    unsafe {
        if mlirLocationIsAFileLineColRange(raw) {
            Parts::File {
                file: text(mlirLocationFileLineColRangeGetFilename(raw)),
                line: u32::try_from(mlirLocationFileLineColRangeGetStartLine(raw)).unwrap_or(0),
                column: u32::try_from(mlirLocationFileLineColRangeGetStartColumn(raw)).unwrap_or(0),
            }
        } else if mlirLocationIsAName(raw) {
            Parts::Name(
                text(mlirLocationNameGetName(raw)),
                Location::from_raw(mlirLocationNameGetChildLoc(raw)),
            )
        } else if mlirLocationIsACallSite(raw) {
            Parts::Call(
                Location::from_raw(mlirLocationCallSiteGetCallee(raw)),
                Location::from_raw(mlirLocationCallSiteGetCaller(raw)),
            )
        } else if mlirLocationIsAFused(raw) {
            let count = mlirLocationFusedGetNumLocations(raw) as usize;
            let mut all = vec![MlirLocation { ptr: std::ptr::null() }; count];
            mlirLocationFusedGetLocations(raw, all.as_mut_ptr());
            Parts::Fused(all.into_iter().map(|location| Location::from_raw(location)).collect())
        } else {
            Parts::Other
        }
    }
}

/// Bits of a number as memory holds it; 0 for what is no number.
pub(super) fn bit_width<'c>(ty: impl TypeLike<'c>) -> u64 {
    let raw = ty.to_raw();
    // SAFETY: the type is alive; each getter is called only for the kind it is for.
    unsafe {
        if mlirTypeIsAInteger(raw) {
            u64::from(mlirIntegerTypeGetWidth(raw))
        } else if mlirTypeIsAFloat(raw) {
            u64::from(mlirFloatTypeGetWidth(raw))
        } else if mlirTypeIsAComplex(raw) {
            let element = mlirComplexTypeGetElementType(raw);
            if mlirTypeIsAFloat(element) { 2 * u64::from(mlirFloatTypeGetWidth(element)) } else { 0 }
        } else {
            0
        }
    }
}

/// The op around `op`.
pub(super) fn parent<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    // SAFETY: the op is alive; one without parent comes back null.
    unsafe {
        let raw = mlirOperationGetParentOperation(op.to_raw());
        (!raw.ptr.is_null()).then(|| OperationRef::from_raw(raw))
    }
}

/// Where a value was written.
pub(super) fn location_of<'c>(value: Value<'c, '_>) -> Location<'c> {
    // SAFETY: the value is alive.
    unsafe { Location::from_raw(mlirValueGetLocation(value.to_raw())) }
}

/// What a function says of its argument.
pub(super) fn argument_attributes<'c>(
    function: OperationRef<'c, '_>,
    at: usize,
) -> Option<DictionaryAttribute<'c>> {
    let all = ArrayAttribute::try_from(slimhlo_dialect::ffi::attribute_of(function, "arg_attrs")?).ok()?;
    if at >= all.len() {
        return None;
    }
    DictionaryAttribute::try_from(all.element(at).ok()?).ok()
}

/// What values are called when the module is printed.
pub(super) struct Names(MlirAsmState);

impl Names {
    /// Numbers the values of a module, which must not change while this is alive.
    pub fn new(module: OperationRef<'_, '_>) -> Self {
        // SAFETY: the op is alive; the state keeps none of the flags.
        unsafe {
            let flags = mlirOpPrintingFlagsCreate();
            mlirOpPrintingFlagsAssumeVerified(flags);
            let state = mlirAsmStateCreateForOperation(module.to_raw(), flags);
            mlirOpPrintingFlagsDestroy(flags);
            Self(state)
        }
    }

    /// `%12`, `%cst`, `%7#1`; nothing if the op has no such result.
    pub fn result(&self, op: OperationRef<'_, '_>, index: usize) -> Option<String> {
        let value = op.results().nth(index)?;
        let mut name = Vec::<u8>::new();
        // SAFETY: the value is in the module that was numbered, and the callback takes the user data for what it is.
        unsafe {
            mlirValuePrintAsOperand(value.to_raw(), self.0, Some(append), (&raw mut name).cast());
        }
        String::from_utf8(name).ok().filter(|name| name.starts_with('%'))
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and not used again.
        unsafe { mlirAsmStateDestroy(self.0) }
    }
}

/// # Safety
/// `out` must point to a `Vec<u8>`, `piece` be alive.
unsafe extern "C" fn append(piece: MlirStringRef, out: *mut c_void) {
    if piece.length > 0 {
        // SAFETY: given by the caller.
        unsafe {
            (*out.cast::<Vec<u8>>())
                .extend_from_slice(std::slice::from_raw_parts(piece.data.cast(), piece.length));
        }
    }
}
