// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Where the driver writes, and what becomes of what MLIR prints.

use crate::callbacks::{WriteBytes, said};
use melior::ir::operation::OperationPrintingFlags;
use melior::{Context, ContextRef};
use mlir_sys::MlirContext;
use slimhlo_forms::bools::Unpacker;
use slimhlo_forms::{Source, Version};
use slimhlo_output::{Output, Target};
use std::error::Error;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

/// The output, once it is open, and its name.
#[derive(Default)]
pub struct Opened(Option<(Output, Target)>);

impl Opened {
    /// Puts the file where it should be; without this it is as it was. False after a message.
    pub fn commit(self) -> bool {
        let Some((output, target)) = self.0 else { return true };
        output
            .commit()
            .inspect_err(|error| eprintln!("error: cannot write {target}: {}", said(error)))
            .is_ok()
    }
}

/// See [`Callbacks::open`](crate::callbacks::Callbacks::open).
///
/// # Safety
/// `opened` must point to an [`Opened`], and the path must be a C string.
pub unsafe extern "C" fn open(opened: *mut c_void, path: *const c_char) -> c_int {
    // SAFETY: given by the caller.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    let target = Target::new(Some(path));
    match target.open() {
        Ok(mut output) => {
            let descriptor = output.file().as_raw_fd();
            // SAFETY: given by the caller.
            unsafe { (*opened.cast::<Opened>()).0 = Some((output, target)) };
            descriptor
        }
        Err(error) => {
            eprintln!("cannot open output file '{}': {}", path.display(), said(&error));
            -1
        }
    }
}

/// See [`Callbacks::emit`](crate::callbacks::Callbacks::emit).
///
/// # Safety
/// The context must be alive, the descriptor nobody else's, the version a C string, and `write` take `user`.
pub unsafe extern "C" fn emit(
    context: MlirContext,
    descriptor: c_int,
    version: *const c_char,
    text: bool,
    write: WriteBytes,
    user: *mut c_void,
) -> bool {
    // SAFETY: given by the caller.
    let (context, file, version) = unsafe {
        let version = CStr::from_ptr(version).to_string_lossy();
        (ContextRef::from_raw(context), File::from_raw_fd(descriptor), version)
    };
    // SAFETY: given by the caller.
    let context = unsafe { context.to_ref() };
    // What fails to be written is for the stream that it goes to.
    emitted(context, file, &version, text, Out { write, user })
        .inspect_err(|error| eprintln!("error: {error}"))
        .is_ok()
}

fn emitted(
    context: &Context,
    mut file: File,
    version: &str,
    text: bool,
    mut to: Out,
) -> Result<(), Box<dyn Error>> {
    let version = if version.is_empty() { Version::CURRENT } else { version.parse()? };
    // The driver's context is gone, but its constants' pages would wait for others that fit.
    // SAFETY: it may be called at any time.
    unsafe { libmimalloc_sys::mi_collect(true) };
    file.rewind()?;
    let source = Source::read(&file)?;
    let module = slimhlo_forms::diagnosed(context, || slimhlo_forms::parse(context, &source, None))?;
    // Constants may be gigabytes, and the context has them now.
    drop((source, file));
    if text {
        // These follow the driver's flags.
        to.write_all(&slimhlo_forms::vhlo_text(&module, version, OperationPrintingFlags::new())?)?;
    } else {
        slimhlo_forms::write_portable_artifact_to(&module, version, &mut to)??;
    }
    Ok(())
}

struct Out {
    write: WriteBytes,
    user: *mut c_void,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: whoever began to print gave a function and what it wants.
        unsafe { (self.write)(self.user, bytes.as_ptr(), bytes.len()) };
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// See [`Callbacks::begin`](crate::callbacks::Callbacks::begin).
///
/// # Safety
/// `write` must take `user` until the end.
pub unsafe extern "C" fn begin(write: WriteBytes, user: *mut c_void) -> *mut c_void {
    Box::into_raw(Box::new(Unpacker::new(Out { write, user }))).cast()
}

/// See [`Callbacks::print`](crate::callbacks::Callbacks::print).
///
/// # Safety
/// `printer` must come of [`begin`], and `size` bytes be at `text`.
pub unsafe extern "C" fn print(printer: *mut c_void, text: *const u8, size: usize) {
    // SAFETY: given by the caller; C++ may give no address for no bytes, but then does not call.
    let (printer, text) =
        unsafe { (&mut *printer.cast::<Unpacker<Out>>(), slice::from_raw_parts(text, size)) };
    // `Out` never fails: errors of the file are the stream's, in C++.
    let _ = printer.push(text);
}

/// See [`Callbacks::end`](crate::callbacks::Callbacks::end).
///
/// # Safety
/// `printer` must come of [`begin`], and is gone afterwards.
pub unsafe extern "C" fn end(printer: *mut c_void) {
    // SAFETY: given by the caller.
    let printer = unsafe { Box::from_raw(printer.cast::<Unpacker<Out>>()) };
    let _ = printer.finish();
}
