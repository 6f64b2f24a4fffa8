// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What the driver reads, and what it does with what MLIR prints. This is, with `main`, where this tool's `unsafe` lives.

use melior::ir::operation::OperationPrintingFlags;
use melior::{Context, ContextRef};
use mlir_sys::MlirContext;
use slimhlo_forms::bools::Unpacker;
use slimhlo_forms::{Source, Version};
use std::error::Error;
use std::ffi::{CStr, c_char, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

/// Bytes for C++.
#[repr(C)]
pub struct Bytes {
    data: *const u8,
    size: usize,
}

/// What C++ asks of Rust.
#[repr(C)]
pub struct Callbacks {
    /// Registers passes.
    pub register_passes: extern "C" fn(),
    /// Reads a file, `-` for standard input, into memory that stays until the process ends. False after a message.
    pub read: unsafe extern "C" fn(path: *const c_char, bytes: *mut Bytes) -> bool,
    /// Whether bytes are a portable artifact, or VHLO as text.
    pub is_vhlo: unsafe extern "C" fn(bytes: *const Bytes) -> bool,
    /// Makes StableHLO, as bytecode, of such; text that is wrong stays as it is, for MLIR to say what is wrong. False after a message.
    pub convert: unsafe extern "C" fn(context: MlirContext, path: *const c_char, bytes: *mut Bytes) -> bool,
    /// Writes bytecode of StableHLO as VHLO of a version, as a portable artifact or as text. False after a message.
    pub emit: unsafe extern "C" fn(
        context: MlirContext,
        bytes: *const Bytes,
        version: *const c_char,
        text: bool,
        write: WriteBytes,
        user: *mut c_void,
    ) -> bool,
    /// Takes printed text, and calls `write` with what is to be written of it.
    pub print: unsafe extern "C" fn(printer: *mut c_void, text: *const u8, size: usize),
    /// Begins to print: `write` is called with `user` and bytes.
    pub begin: unsafe extern "C" fn(write: WriteBytes, user: *mut c_void) -> *mut c_void,
    /// Ends what `begin` began.
    pub end: unsafe extern "C" fn(printer: *mut c_void),
}

/// Writes bytes somewhere.
pub type WriteBytes = unsafe extern "C" fn(user: *mut c_void, bytes: *const u8, size: usize);

/// See [`Callbacks::read`].
///
/// # Safety
/// The path must be a C string, and `bytes` writable.
pub unsafe extern "C" fn read(path: *const c_char, bytes: *mut Bytes) -> bool {
    // SAFETY: given by the caller.
    let path = Path::new(std::ffi::OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    let source = if path == Path::new("-") { standard_input() } else { file(path) };
    match source {
        Ok(source) if source.is_bytecode() && slimhlo_forms::damage::check(&source).is_none() => {
            eprintln!("{}: error: {}", path.display(), slimhlo_forms::DAMAGED);
            false
        }
        Ok(source) => {
            // MLIR's buffers live as long as its context, and that as long as the process.
            let source: &'static Source = Box::leak(Box::new(source));
            // SAFETY: given by the caller.
            unsafe { *bytes = Bytes { data: source.as_ptr(), size: source.len() } };
            true
        }
        Err(error) => {
            // Rust adds the number of the error in parentheses, which no other message of the driver does.
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            eprintln!("cannot open input file '{}': {text}", path.display());
            false
        }
    }
}

fn standard_input() -> io::Result<Source> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::stdin(), &mut bytes)?;
    Ok(Source::new(&bytes))
}

fn file(path: &Path) -> io::Result<Source> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    Source::read(&file)
}

/// See [`Callbacks::is_vhlo`].
///
/// # Safety
/// The bytes must come of [`read`].
pub unsafe extern "C" fn is_vhlo(bytes: *const Bytes) -> bool {
    // SAFETY: given by the caller.
    slimhlo_forms::is_converted(unsafe { taken(bytes) })
}

/// # Safety
/// The bytes must be alive for `'a`.
unsafe fn taken<'a>(bytes: *const Bytes) -> &'a [u8] {
    // SAFETY: given by the caller; no bytes may have no address.
    unsafe {
        let bytes = &*bytes;
        if bytes.size == 0 { &[] } else { slice::from_raw_parts(bytes.data, bytes.size) }
    }
}

/// See [`Callbacks::convert`].
///
/// # Safety
/// The context must be alive, the path a C string, and the bytes come of [`read`].
pub unsafe extern "C" fn convert(context: MlirContext, path: *const c_char, bytes: *mut Bytes) -> bool {
    // SAFETY: given by the caller.
    let (context, path, given) =
        unsafe { (ContextRef::from_raw(context), CStr::from_ptr(path).to_string_lossy(), taken(bytes)) };
    // SAFETY: given by the caller.
    let context = unsafe { context.to_ref() };
    let source = Source::new(given);
    let artifact = source.is_bytecode();
    let module = slimhlo_forms::diagnosed(context, || {
        slimhlo_forms::parse(context, &source, (!artifact).then_some(&path))
    });
    match module {
        Ok(module) => {
            let Some(converted) = slimhlo_forms::bytecode(module.as_operation(), "slimhlo", 6) else {
                return false;
            };
            let converted: &'static Source = Box::leak(Box::new(Source::new(&converted)));
            // SAFETY: given by the caller.
            unsafe { *bytes = Bytes { data: converted.as_ptr(), size: converted.len() } };
            true
        }
        Err(error) if artifact => {
            eprintln!("{path}: error: {error}");
            false
        }
        Err(_) => true,
    }
}

/// See [`Callbacks::emit`].
///
/// # Safety
/// The context and the bytes must be alive, the version a C string, and `write` take `user`.
pub unsafe extern "C" fn emit(
    context: MlirContext,
    bytes: *const Bytes,
    version: *const c_char,
    text: bool,
    write: WriteBytes,
    user: *mut c_void,
) -> bool {
    // SAFETY: given by the caller.
    let (context, given, version) =
        unsafe { (ContextRef::from_raw(context), taken(bytes), CStr::from_ptr(version).to_string_lossy()) };
    // SAFETY: given by the caller.
    let context = unsafe { context.to_ref() };
    match emitted(context, given, &version, text) {
        Ok(bytes) => {
            // SAFETY: given by the caller.
            unsafe { write(user, bytes.as_ptr(), bytes.len()) };
            true
        }
        Err(error) => {
            eprintln!("error: {error}");
            false
        }
    }
}

fn emitted(context: &Context, bytes: &[u8], version: &str, text: bool) -> Result<Vec<u8>, Box<dyn Error>> {
    let version = if version.is_empty() { Version::CURRENT } else { version.parse()? };
    let module = slimhlo_forms::read_module(context, bytes)?;
    Ok(if text {
        // These follow the driver's flags.
        slimhlo_forms::vhlo_text(&module, version, OperationPrintingFlags::new())?
    } else {
        slimhlo_forms::write_portable_artifact(&module, version)?
    })
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

/// See [`Callbacks::begin`].
///
/// # Safety
/// `write` must take `user` until the end.
pub unsafe extern "C" fn begin(write: WriteBytes, user: *mut c_void) -> *mut c_void {
    Box::into_raw(Box::new(Unpacker::new(Out { write, user }))).cast()
}

/// See [`Callbacks::print`].
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

/// See [`Callbacks::end`].
///
/// # Safety
/// `printer` must come of [`begin`], and is gone afterwards.
pub unsafe extern "C" fn end(printer: *mut c_void) {
    // SAFETY: given by the caller.
    let printer = unsafe { Box::from_raw(printer.cast::<Unpacker<Out>>()) };
    let _ = printer.finish();
}
