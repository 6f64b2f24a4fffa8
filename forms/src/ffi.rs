// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What MLIR's C API has and melior does not. This module, `source` and `hooks` are where this crate's `unsafe` lives.

use crate::Source;
use crate::bools::Unpacker;
use melior::Context;
use melior::ir::Module;
use melior::ir::operation::{OperationPrintingFlags, OperationRef};
use mlir_sys::{MlirContext, MlirModule, MlirOperation, MlirStringRef, mlirOperationPrintWithFlags};
use std::ffi::{CString, c_void};
use std::io::{self, Write};
use std::slice;

unsafe extern "C" {
    fn slimhloParse(
        context: MlirContext,
        text: MlirStringRef,
        name: MlirStringRef,
        verify: bool,
    ) -> MlirModule;
    fn slimhloHasBooleans(op: MlirOperation) -> bool;
    /// Of the dialect.
    fn slimhloPrintConstantsInPieces();
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
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = print_to(op, flags, bytes, &mut text);
    text
}

/// Prints an op as [`print`] does, without a copy of the text in memory but for lines with constants of booleans.
///
/// # Errors
/// Those of the writer.
pub fn print_to(
    op: OperationRef<'_, '_>,
    flags: OperationPrintingFlags,
    bytes: bool,
    to: &mut dyn Write,
) -> io::Result<()> {
    // SAFETY: the op is alive.
    let unpack = bytes && unsafe { slimhloHasBooleans(op.to_raw()) };
    let to = if unpack { To::Unpacked(Unpacker::new(to)) } else { To::Plain(to) };
    let mut sink = Sink { to, result: Ok(()) };
    // SAFETY: op and flags are alive, and the callback is given what it takes its user data for.
    unsafe {
        slimhloPrintConstantsInPieces();
        mlirOperationPrintWithFlags(op.to_raw(), flags.to_raw(), Some(push), (&raw mut sink).cast());
    }
    sink.result?;
    match sink.to {
        To::Plain(_) => Ok(()),
        To::Unpacked(unpacker) => unpacker.finish().map(drop),
    }
}

/// Where printed text goes, and whether it got there.
struct Sink<'a> {
    to: To<'a>,
    result: io::Result<()>,
}

enum To<'a> {
    Plain(&'a mut dyn Write),
    Unpacked(Unpacker<&'a mut dyn Write>),
}

/// # Safety
/// `to` must point to a `Sink`, `piece` be alive.
unsafe extern "C" fn push(piece: MlirStringRef, to: *mut c_void) {
    if piece.length > 0 {
        // SAFETY: given by the caller.
        let (sink, piece) =
            unsafe { (&mut *to.cast::<Sink<'_>>(), slice::from_raw_parts(piece.data.cast(), piece.length)) };
        if sink.result.is_ok() {
            sink.result = match &mut sink.to {
                To::Plain(to) => to.write_all(piece),
                To::Unpacked(unpacker) => unpacker.push(piece),
            };
        }
    }
}
