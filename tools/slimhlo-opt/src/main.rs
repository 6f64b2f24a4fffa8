// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo-opt`: an mlir-opt that knows slimhlo's dialects and passes. The driver itself is MLIR's.

use std::env;
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;
use std::process::exit;
use std::ptr;

/// MLIR's memory as much as ours: the feature `override` makes C's and C++'s allocations its own, too. MLIR allocates a piece per op,
/// and of a module of 100,000 ops what the C library then does to join free pieces is a fifth of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

unsafe extern "C" {
    fn slimhloOptMain(argc: c_int, argv: *mut *mut c_char, register_passes: extern "C" fn()) -> c_int;
}

extern "C" fn register_passes() {
    slimhlo_passes::register_all();
    slimhlo_nvptx::register_passes();
}

fn main() {
    let arguments: Vec<CString> = env::args_os()
        // The operating system hands them over as C strings, so none has a zero byte in it.
        .map(|argument| CString::new(argument.into_vec()).unwrap_or_default())
        .collect();
    let mut raw: Vec<*mut c_char> = arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
    let count = raw.len() as c_int;
    raw.push(ptr::null_mut());
    // SAFETY: the arguments and the array of them, ended by null as in C, are alive until the call returns.
    let status = unsafe { slimhloOptMain(count, raw.as_mut_ptr(), register_passes) };
    exit(status);
}
