// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What MLIR's C API has and melior does not. This module, `source` and `hooks` are where this crate's `unsafe` lives.

use crate::Source;
use crate::bools::Unpacker;
use melior::Context;
use melior::ir::Module;
use melior::ir::operation::{OperationPrintingFlags, OperationRef};
use mlir_sys::{MlirContext, MlirModule, MlirStringRef, mlirOperationPrintWithFlags};
use std::ffi::{CString, c_void};
use std::slice;

unsafe extern "C" {
    fn slimhloParse(
        context: MlirContext,
        text: MlirStringRef,
        name: MlirStringRef,
        verify: bool,
    ) -> MlirModule;
}

/// Parses text or bytecode, and verifies it if asked; locations name the file `name`, if there is one. `None` after a diagnostic.
pub fn parse<'c>(
    context: &'c Context,
    source: &Source,
    name: Option<&str>,
    verify: bool,
) -> Option<Module<'c>> {
    let text = MlirStringRef { data: source.as_ptr().cast(), length: source.len() };
    // As MLIR calls a text without a name.
    let name = CString::new(name.unwrap_or("-")).unwrap_or_default();
    let name = MlirStringRef { data: name.as_ptr(), length: name.as_bytes().len() };
    // SAFETY: context, text and name are alive for the call, and zero bytes follow both.
    unsafe { Module::from_option_raw(slimhloParse(context.to_raw(), text, name, verify)) }
}

/// The op as text, with large constants of booleans as a byte per element if `bytes`, else as bits.
pub fn print(op: OperationRef<'_, '_>, flags: OperationPrintingFlags, bytes: bool) -> Vec<u8> {
    let (mut unpacker, mut text) = (Unpacker::new(Vec::new()), Vec::new());
    // SAFETY: op and flags are alive, and each callback is given what it takes its user data for.
    unsafe {
        if bytes {
            mlirOperationPrintWithFlags(
                op.to_raw(),
                flags.to_raw(),
                Some(unpack),
                (&raw mut unpacker).cast(),
            );
            // Writing to memory does not fail.
            unpacker.finish().unwrap_or_default()
        } else {
            mlirOperationPrintWithFlags(op.to_raw(), flags.to_raw(), Some(append), (&raw mut text).cast());
            text
        }
    }
}

/// # Safety
/// `to` must point to an `Unpacker<Vec<u8>>`, `piece` be alive.
unsafe extern "C" fn unpack(piece: MlirStringRef, to: *mut c_void) {
    if piece.length > 0 {
        // SAFETY: given by the caller.
        let (to, piece) = unsafe {
            (&mut *to.cast::<Unpacker<Vec<u8>>>(), slice::from_raw_parts(piece.data.cast(), piece.length))
        };
        // Writing to memory does not fail.
        let _ = to.push(piece);
    }
}

/// # Safety
/// `to` must point to a `Vec<u8>`, `piece` be alive.
unsafe extern "C" fn append(piece: MlirStringRef, to: *mut c_void) {
    if piece.length > 0 {
        // SAFETY: given by the caller.
        unsafe {
            (*to.cast::<Vec<u8>>()).extend_from_slice(slice::from_raw_parts(piece.data.cast(), piece.length));
        }
    }
}
