// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo-opt`: an mlir-opt that knows slimhlo's dialects and passes. The driver itself is MLIR's.

mod input;

use std::env;
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;
use std::ptr;
use std::thread;

/// MLIR's memory as much as ours: the feature `override` makes C's and C++'s allocations its own, too. MLIR allocates a piece per op,
/// and of a module of 100,000 ops what the C library then does to join free pieces is a fifth of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The stack for the work, in bytes: parsers, verifiers and passes recurse into regions, and modules of 10,000 nested ones exist. Only what is
/// used is ever taken.
const STACK: usize = 1 << 30;

unsafe extern "C" {
    fn slimhloOptMain(argc: c_int, argv: *mut *mut c_char, callbacks: *const input::Callbacks) -> c_int;
}

extern "C" fn register_passes() {
    slimhlo_passes::register_all();
    slimhlo_nvptx::register_passes();
}

fn main() -> ExitCode {
    give_threads_stack();
    let status = match thread::Builder::new().stack_size(STACK).spawn(run) {
        Ok(work) => work.join().unwrap_or(1),
        // Where memory is limited, most programs need no more than what there is.
        Err(_) => run(),
    };
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

/// MLIR verifies functions, and runs passes on them, in threads of its own, which recurse as deeply.
fn give_threads_stack() {
    // SAFETY: the attributes are initialized before they are used, no thread but this one runs yet, and a size that the C library does not
    // like changes nothing.
    unsafe {
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
        if libc::pthread_attr_init(attributes.as_mut_ptr()) == 0 {
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
            pthread_setattr_default_np(attributes.as_ptr());
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
    }
}

unsafe extern "C" {
    /// The C library's, which the crate `libc` leaves out.
    fn pthread_setattr_default_np(attributes: *const libc::pthread_attr_t) -> c_int;
}

fn run() -> c_int {
    let arguments: Vec<CString> = env::args_os()
        // The operating system hands them over as C strings, so none has a zero byte in it.
        .map(|argument| CString::new(argument.into_vec()).unwrap_or_default())
        .collect();
    let mut raw: Vec<*mut c_char> = arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
    let count = raw.len() as c_int;
    raw.push(ptr::null_mut());
    let callbacks = input::Callbacks {
        register_passes,
        read: input::read,
        is_vhlo: input::is_vhlo,
        convert: input::convert,
        emit: input::emit,
        print: input::print,
        begin: input::begin,
        end: input::end,
    };
    // SAFETY: the arguments and the array of them, ended by null as in C, and the callbacks are alive until the call returns.
    unsafe { slimhloOptMain(count, raw.as_mut_ptr(), &callbacks) }
}
