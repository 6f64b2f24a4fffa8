// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo-opt`: an mlir-opt that knows slimhlo's dialects and passes. The driver itself is MLIR's; what it reads and writes is
//! opened here.

use slimhlo_output::{Output, Target};
use std::env;
use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::exit;
use std::{ptr, slice, thread};

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
    fn slimhloOptMain(
        argc: c_int,
        argv: *mut *mut c_char,
        stack_of_threads: usize,
        register_passes: extern "C" fn(),
        open_output: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> c_int,
        user: *mut c_void,
    ) -> c_int;
}

extern "C" fn register_passes() {
    slimhlo_passes::register_all();
    slimhlo_nvptx::register_passes();
}

/// # Safety
/// `user` must point to an `Option<(Output, String)>`, `name` to `length` bytes.
unsafe extern "C" fn open_output(user: *mut c_void, name: *const c_char, length: usize) -> c_int {
    let name = match length {
        0 => OsStr::new(""),
        // SAFETY: given by the caller.
        _ => OsStr::from_bytes(unsafe { slice::from_raw_parts(name.cast(), length) }),
    };
    match Target::new(Some(Path::new(name))).open() {
        Ok(mut output) => {
            let descriptor = output.file().as_raw_fd();
            // SAFETY: given by the caller.
            unsafe { *user.cast() = Some((output, name.to_string_lossy().into_owned())) };
            descriptor
        }
        Err(error) => {
            eprintln!("cannot open output file '{}': {}", name.display(), said(&error));
            -1
        }
    }
}

/// What the system says, without the number that Rust adds.
fn said(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
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
    let mut opened: Option<(Output, String)> = None;
    let user = (&raw mut opened).cast();
    // SAFETY: the arguments and the array of them, ended by null as in C, are alive until the call returns, as is what `user` points
    // to, which is of the type that `open_output` takes it for.
    let status = unsafe {
        slimhloOptMain(count, raw.as_mut_ptr(), STACK_OF_THREADS, register_passes, open_output, user)
    };
    // Without this the file is as it was.
    if let Some((output, name)) = opened.filter(|_| status == 0)
        && let Err(error) = output.commit()
    {
        eprintln!("error: cannot write {name}: {}", said(&error));
        return 1;
    }
    status
}
