// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What the driver reads.

use crate::callbacks::{Bytes, said};
use melior::ContextRef;
use mlir_sys::MlirContext;
use rustix::fs::{MemfdFlags, memfd_create};
use slimhlo_forms::{OwnedModule, Source};
use std::ffi::{CStr, OsStr, c_char};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// See [`Callbacks::read`](crate::callbacks::Callbacks::read).
///
/// # Safety
/// The path must be a C string, and `bytes` writable.
pub unsafe extern "C" fn read(path: *const c_char, bytes: *mut Bytes) -> bool {
    // SAFETY: given by the caller.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    let source = if path == Path::new("-") { standard_input() } else { file(path) };
    match source {
        Ok(source) => {
            if let Err(fault) = source.check() {
                // As MLIR names places.
                let name = if path == Path::new("-") { "<stdin>".into() } else { path.display().to_string() };
                let at = fault.place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
                eprintln!("{name}{at}: error: {fault}");
                return false;
            }
            // MLIR's buffers live as long as its context, and that as long as the process.
            let source: &'static Source = Box::leak(Box::new(source));
            // SAFETY: given by the caller.
            unsafe { *bytes = Bytes { data: source.as_ptr(), size: source.len() } };
            true
        }
        Err(error) => {
            eprintln!("cannot open input file '{}': {}", path.display(), said(&error));
            false
        }
    }
}

fn standard_input() -> io::Result<Source> {
    if io::stdin().is_terminal() {
        eprintln!("slimhlo-opt: reading a module from standard input; --help shows more");
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(Source::new(&bytes))
}

fn file(path: &Path) -> io::Result<Source> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    Source::read(&file)
}

/// See [`Callbacks::is_vhlo`](crate::callbacks::Callbacks::is_vhlo).
///
/// # Safety
/// The bytes must come of [`read`].
pub unsafe extern "C" fn is_vhlo(bytes: *const Bytes) -> bool {
    // SAFETY: given by the caller.
    slimhlo_forms::is_converted(unsafe { (*bytes).get() })
}

/// See [`Callbacks::convert`](crate::callbacks::Callbacks::convert).
///
/// # Safety
/// The context must be alive, the path a C string, and the bytes come of [`read`].
pub unsafe extern "C" fn convert(context: MlirContext, path: *const c_char, bytes: *mut Bytes) -> bool {
    // SAFETY: given by the caller.
    let (context, path, given) =
        unsafe { (ContextRef::from_raw(context), CStr::from_ptr(path).to_string_lossy(), (*bytes).get()) };
    // SAFETY: given by the caller.
    let context = unsafe { context.to_ref() };
    // SAFETY: the bytes come of `read`, whose source is never dropped.
    let source = unsafe { Source::kept(given) };
    let artifact = source.is_bytecode();
    let module = slimhlo_forms::diagnosed(context, || {
        slimhlo_forms::parse(context, &source, (!artifact).then_some(&path))
    });
    match module {
        Ok(module) => {
            let converted = match converted(module) {
                Ok(converted) => converted,
                Err(error) => {
                    eprintln!("{path}: error: it cannot be handed on as bytecode: {}", said(&error));
                    return false;
                }
            };
            let converted: &'static Source = Box::leak(Box::new(converted));
            // SAFETY: given by the caller.
            unsafe { *bytes = Bytes { data: converted.as_ptr(), size: converted.len() } };
            true
        }
        Err(error) if artifact => {
            eprintln!("{path}: error: {error}");
            false
        }
        // What MLIR's own parser says comes with the line of the source.
        Err(_) if !slimhlo_forms::is_parsed(context, &source) => true,
        Err(error) => {
            let name = if path == "-" { "<stdin>" } else { &*path };
            for line in error.to_string().lines() {
                eprintln!("{}", as_mlir_says(&path, name, line));
            }
            false
        }
    }
}

/// The module as bytecode, in pages of its own: a vector would grow by copies.
fn converted(module: OwnedModule<'_>) -> io::Result<Source> {
    let mut file = File::from(memfd_create("slimhlo-opt", MemfdFlags::CLOEXEC)?);
    let mut to = BufWriter::new(&file);
    let written = slimhlo_forms::bytecode_to(
        module.as_operation(),
        "slimhlo",
        slimhlo_forms::BYTECODE_VERSION,
        &mut to,
    )?;
    to.flush()?;
    drop(to);
    if !written {
        return Err(io::Error::other("MLIR has no bytecode for it"));
    }
    file.rewind()?;
    Source::read(&file)
}

/// A line of an [`Error`](slimhlo_forms::Error), `"path":2:8: message`, as MLIR's driver has it.
fn as_mlir_says(path: &str, name: &str, line: &str) -> String {
    let place = line.strip_prefix('"').and_then(|rest| rest.strip_prefix(path)?.strip_prefix("\":"));
    match place.and_then(|rest| rest.split_once(": ")) {
        Some((place, message)) => format!("{name}:{place}: error: {message}"),
        None => format!("{name}: error: {line}"),
    }
}
