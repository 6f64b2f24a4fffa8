// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What C++ asks of Rust. This, `input`, `output` and `main` are where this tool's `unsafe` lives.

use mlir_sys::MlirContext;
use std::ffi::{c_char, c_int, c_void};
use std::{io, slice};

/// Bytes for C++.
#[repr(C)]
pub struct Bytes {
    /// The first.
    pub data: *const u8,
    /// How many.
    pub size: usize,
}

impl Bytes {
    /// The bytes.
    ///
    /// # Safety
    /// They must be alive for `'a`.
    pub unsafe fn get<'a>(&self) -> &'a [u8] {
        match self.size {
            // No bytes may have no address.
            0 => &[],
            // SAFETY: given by the caller.
            _ => unsafe { slice::from_raw_parts(self.data, self.size) },
        }
    }
}

/// What C++ asks of Rust.
#[repr(C)]
pub struct Callbacks {
    /// The stack of each thread of MLIR's pool, in bytes.
    pub stack_of_threads: usize,
    /// Registers passes.
    pub register_passes: extern "C" fn(),
    /// What `open` is called with.
    pub opened: *mut c_void,
    /// Opens the output, `-` for standard output; it is called once, before the work, or not at all. Returns a descriptor, which stays
    /// Rust's, or -1 after a message.
    pub open: unsafe extern "C" fn(opened: *mut c_void, path: *const c_char) -> c_int,
    /// Reads a file, `-` for standard input, into memory that stays until the process ends. False after a message.
    pub read: unsafe extern "C" fn(path: *const c_char, bytes: *mut Bytes) -> bool,
    /// Whether bytes are a portable artifact, or VHLO as text.
    pub is_vhlo: unsafe extern "C" fn(bytes: *const Bytes) -> bool,
    /// Makes StableHLO, as bytecode, of such; text that MLIR's parser refuses stays as it is, for MLIR to say why. False after a message.
    pub convert: unsafe extern "C" fn(context: MlirContext, path: *const c_char, bytes: *mut Bytes) -> bool,
    /// Writes bytecode of StableHLO, which is in a file that is closed, as VHLO of a version: as a portable artifact or
    /// as text. False after a message.
    pub emit: unsafe extern "C" fn(
        context: MlirContext,
        descriptor: c_int,
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

/// What the system says, without the number that Rust adds in parentheses, which no other message of the driver has.
pub fn said(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
