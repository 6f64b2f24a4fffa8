// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo-opt`: an mlir-opt that knows slimhlo's dialects and passes. The driver itself is MLIR's; what it reads and writes is
//! opened here.

mod callbacks;
mod input;
mod output;

use callbacks::Callbacks;
use std::env;
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;
use std::process::exit;
use std::{ptr, thread};

/// MLIR's memory as much as ours: the feature `override` makes C's and C++'s allocations its own, too. MLIR allocates a piece per op,
/// and of a module of 100,000 ops what the C library then does to join free pieces is a fifth of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The stack for the work, in bytes, as that of the `slimhlo` command: MLIR's parser, verifier and printer recurse into regions,
/// passes along operands. Only what is used is ever taken.
const STACK: usize = 1 << 30;

/// That of each thread of MLIR's pool, of which there is one per processor.
const STACK_OF_THREADS: usize = 256 << 20;

unsafe extern "C" {
    fn slimhloOptMain(argc: c_int, argv: *mut *mut c_char, callbacks: *const Callbacks) -> c_int;
}

extern "C" fn register_passes() {
    slimhlo_passes::register_all();
    slimhlo_nvptx::register_passes();
}

fn main() {
    let status = match thread::Builder::new().stack_size(STACK).spawn(start) {
        Ok(work) => work.join().unwrap_or(1),
        // Where memory is limited, most programs need no more than what there is.
        Err(_) => start(),
    };
    exit(status);
}

fn start() -> c_int {
    let arguments: Vec<CString> = env::args_os()
        // The operating system hands them over as C strings, so none has a zero byte in it.
        .map(|argument| CString::new(argument.into_vec()).unwrap_or_default())
        .collect();
    let mut raw: Vec<*mut c_char> = arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
    let count = raw.len() as c_int;
    raw.push(ptr::null_mut());
    let mut opened = output::Opened::default();
    let callbacks = Callbacks {
        stack_of_threads: STACK_OF_THREADS,
        register_passes,
        opened: (&raw mut opened).cast(),
        open: output::open,
        read: input::read,
        is_vhlo: input::is_vhlo,
        convert: input::convert,
        emit: output::emit,
        print: output::print,
        begin: output::begin,
        end: output::end,
    };
    // SAFETY: the arguments and the array of them, ended by null as in C, and the callbacks are alive until the call returns, as is what
    // `open` is called with, which is of the type that it takes it for.
    let status = unsafe { slimhloOptMain(count, raw.as_mut_ptr(), &callbacks) };
    if status == 0 && !opened.commit() { 1 } else { status }
}
