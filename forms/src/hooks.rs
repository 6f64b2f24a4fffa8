// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What the C++ half asks of the Rust half (`include/slimhlo-c/Forms.h`). A panic is a bug of ours, and an error; it must not unwind into C++.
//!
//! This is one of the few modules with `unsafe`.

use crate::vhlo::{codec, kinds, text};
use crate::wire::{Parser, Parts, Printer, Reader, Writer};
use crate::{sdy, stablehlo, wire};
use melior::ContextRef;
use melior::ir::{Attribute, AttributeLike, Type, TypeLike};
use mlir_sys::{MlirAttribute, MlirContext, MlirStringRef, MlirType};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice, str};

fn guarded<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok().flatten()
}

fn raw_attribute(attribute: Option<Attribute<'_>>) -> MlirAttribute {
    attribute.map_or(MlirAttribute { ptr: ptr::null() }, |attribute| attribute.to_raw())
}

fn raw_type(ty: Option<Type<'_>>) -> MlirType {
    ty.map_or(MlirType { ptr: ptr::null() }, |ty| ty.to_raw())
}

/// # Safety
/// The name must be alive.
unsafe fn name<'a>(raw: MlirStringRef) -> &'a str {
    // SAFETY: given by the caller.
    let bytes = unsafe { slice::from_raw_parts(raw.data.cast::<u8>(), raw.length) };
    str::from_utf8(bytes).unwrap_or_default()
}

/// See `Forms.h`.
///
/// # Safety
/// Context and reader must be MLIR's, and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloReadDialectAttribute(
    dialect: MlirStringRef,
    context: MlirContext,
    reader: *mut c_void,
) -> MlirAttribute {
    // SAFETY: given by the caller.
    let (dialect, context, reader) =
        unsafe { (name(dialect), ContextRef::from_raw(context), Reader::from_raw(reader)) };
    raw_attribute(guarded(|| match dialect {
        "vhlo" => codec::read_attribute(context, &reader),
        "chlo" => stablehlo::read_chlo_attribute(context, &reader),
        "sdy" => sdy::read_attribute(context, &reader),
        _ => stablehlo::read_attribute(context, &reader),
    }))
}

/// See `Forms.h`.
///
/// # Safety
/// Context and reader must be MLIR's, and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloReadDialectType(
    dialect: MlirStringRef,
    context: MlirContext,
    reader: *mut c_void,
) -> MlirType {
    // SAFETY: given by the caller.
    let (dialect, context, reader) =
        unsafe { (name(dialect), ContextRef::from_raw(context), Reader::from_raw(reader)) };
    raw_type(guarded(|| match dialect {
        "vhlo" => codec::read_type(context, &reader),
        "chlo" | "sdy" => {
            reader.error("the dialect has no types");
            None
        }
        _ => stablehlo::read_type(context, &reader),
    }))
}

/// See `Forms.h`.
///
/// # Safety
/// Attribute and writer must be MLIR's, and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloWriteDialectAttribute(
    dialect: MlirStringRef,
    attribute: MlirAttribute,
    writer: *mut c_void,
) -> bool {
    // SAFETY: given by the caller.
    let (dialect, attribute, writer) =
        unsafe { (name(dialect), Attribute::from_raw(attribute), Writer::from_raw(writer)) };
    let written = guarded(|| {
        Some(match dialect {
            "vhlo" => codec::write_attribute(attribute, &writer),
            "chlo" => stablehlo::write_chlo_attribute(attribute, &writer),
            "sdy" => false,
            _ => stablehlo::write_attribute(attribute, &writer),
        })
    });
    written.unwrap_or(false)
}

/// See `Forms.h`.
///
/// # Safety
/// Type and writer must be MLIR's, and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloWriteDialectType(
    dialect: MlirStringRef,
    ty: MlirType,
    writer: *mut c_void,
) -> bool {
    // SAFETY: given by the caller.
    let (dialect, ty, writer) = unsafe { (name(dialect), Type::from_raw(ty), Writer::from_raw(writer)) };
    let written = guarded(|| {
        Some(match dialect {
            "vhlo" => codec::write_type(ty, &writer),
            "chlo" | "sdy" => false,
            _ => stablehlo::write_type(ty, &writer),
        })
    });
    written.unwrap_or(false)
}

/// See `Forms.h`.
///
/// # Safety
/// Context and parser must be MLIR's, and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVhloParseAttribute(
    context: MlirContext,
    parser: *mut c_void,
) -> MlirAttribute {
    // SAFETY: given by the caller.
    let (context, parser) = unsafe { (ContextRef::from_raw(context), Parser::from_raw(parser)) };
    raw_attribute(guarded(|| text::parse_attribute(context, &parser)))
}

/// See `Forms.h`.
///
/// # Safety
/// Context and parser must be MLIR's, and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVhloParseType(context: MlirContext, parser: *mut c_void) -> MlirType {
    // SAFETY: given by the caller.
    let (context, parser) = unsafe { (ContextRef::from_raw(context), Parser::from_raw(parser)) };
    raw_type(guarded(|| text::parse_type(context, &parser)))
}

/// See `Forms.h`.
///
/// # Safety
/// Attribute and printer must be MLIR's, and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVhloPrintAttribute(attribute: MlirAttribute, printer: *mut c_void) {
    // SAFETY: given by the caller.
    let (attribute, printer) = unsafe { (Attribute::from_raw(attribute), Printer::from_raw(printer)) };
    let _ = guarded(|| {
        text::print_attribute(attribute, &printer);
        Some(())
    });
}

/// See `Forms.h`.
///
/// # Safety
/// Type and printer must be MLIR's, and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVhloPrintType(ty: MlirType, printer: *mut c_void) {
    // SAFETY: given by the caller.
    let (ty, printer) = unsafe { (Type::from_raw(ty), Printer::from_raw(printer)) };
    let _ = guarded(|| {
        text::print_type(ty, &printer);
        Some(())
    });
}

/// See `Forms.h`.
///
/// # Safety
/// Context and text must be alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVhloString(context: MlirContext, text: MlirStringRef) -> MlirAttribute {
    // SAFETY: given by the caller.
    let (context, text) = unsafe { (ContextRef::from_raw(context), name(text)) };
    let kind = kinds::attribute("string_v1");
    let text = crate::vhlo::types::unique(context, text.as_bytes());
    Parts { kind, text, ..Parts::default() }.attribute(context).to_raw()
}

/// See `Forms.h`.
///
/// # Safety
/// Context and types must be alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVhloFunction(
    context: MlirContext,
    input_count: isize,
    inputs: *const MlirType,
    result_count: isize,
    results: *const MlirType,
) -> MlirAttribute {
    // SAFETY: given by the caller.
    let (context, inputs, results) = unsafe {
        (ContextRef::from_raw(context), wire::list(inputs, input_count), wire::list(results, result_count))
    };
    // SAFETY: given by the caller.
    let types = inputs.iter().chain(results).map(|&ty| unsafe { Type::from_raw(ty) }).collect();
    let numbers = vec![inputs.len() as i64, results.len() as i64];
    let function = Parts { kind: kinds::ty("func_v1"), numbers, types, ..Parts::default() };
    let types = vec![function.r#type(context)];
    Parts { kind: kinds::attribute("type_v1"), types, ..Parts::default() }.attribute(context).to_raw()
}

/// See `Forms.h`.
///
/// # Safety
/// The attribute must be alive or null, and `text` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVhloIsString(attribute: MlirAttribute, text: *mut MlirStringRef) -> bool {
    // SAFETY: given by the caller.
    let Some(parts) = (unsafe { wire::attribute(attribute) }).and_then(Parts::of_attribute) else {
        return false;
    };
    if parts.kind != kinds::attribute("string_v1") {
        return false;
    }
    // SAFETY: given by the caller; the text lives as long as the context.
    unsafe { *text = MlirStringRef { data: parts.text.as_ptr().cast(), length: parts.text.len() } };
    true
}

/// See `Forms.h`.
///
/// # Safety
/// The attribute must be alive or null, and `results` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVhloFunctionResults(
    attribute: MlirAttribute,
    results: *mut *const MlirType,
) -> isize {
    // SAFETY: given by the caller; types live as long as the context.
    unsafe { wire::function_results(attribute, results) }.unwrap_or(-1)
}
