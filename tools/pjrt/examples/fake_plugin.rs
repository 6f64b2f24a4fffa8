// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A PJRT plugin for the tests: it compiles nothing, but says what a program takes, runs out of memory,
//! fails, and writes down how it was called.
//!
//! A program takes the bytes of the largest tensor whose type is in its text; so a smaller program is one
//! that slimhlo has made smaller. What the fake does otherwise follows from variables of the environment:
//!
//! * `FAKE_LOG`: a file to which each call adds a line
//! * `FAKE_MEMORY`: bytes of its device, which is what its statistics say
//! * `FAKE_EXHAUSTED`: programs that take more bytes do not compile
//! * `FAKE_FUNCTIONS`: how many functions its table has
//! * `FAKE_PROCESSES`: how many processes its client is one of

#![allow(missing_docs, reason = "the names are the interface's")]

use slimhlo_pjrt::abi::{
    ClientCompile, Compile, CompiledMemoryStats, Error, ErrorCode, Get, Header, List, MemoryStats, One,
    Place, Program, Version,
};
use std::ffi::c_void;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::OnceLock;
use std::{env, process, ptr, slice};

/// What errors point to.
struct Fault {
    code: i32,
    message: String,
}

const INTERNAL: i32 = 13;
const EXHAUSTED: i32 = 8;
const UNIMPLEMENTED: i32 = 12;

/// A client and its devices are numbers that nothing is behind.
const CLIENT: usize = 16;
const DEVICES: [usize; 4] = [32, 48, 64, 80];

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

fn log(line: &str) {
    let Some(path) = env::var_os("FAKE_LOG") else { return };
    let written = OpenOptions::new().create(true).append(true).open(path);
    if written.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).is_err() {
        process::abort();
    }
}

fn fail(code: i32, message: impl Into<String>) -> *mut Error {
    log("make error");
    Box::into_raw(Box::new(Fault { code, message: message.into() })).cast()
}

/// The largest of the tensors whose static types a text has, in bytes.
fn largest(text: &str) -> u64 {
    text.split("tensor<").skip(1).filter_map(|rest| size(rest.split('>').next()?)).max().unwrap_or(0)
}

/// Of `4x8xf32`, in bytes.
fn size(of: &str) -> Option<u64> {
    let mut parts: Vec<&str> = of.split('x').collect();
    let bits: u64 = parts.pop()?.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().ok()?;
    parts.iter().try_fold(bits.div_ceil(8), |size, part| Some(size * part.parse::<u64>().ok()?))
}

/// # Safety
/// `program` must be alive.
unsafe fn compiled(program: *const Program) -> Result<*mut c_void, *mut Error> {
    // SAFETY: given by the caller.
    let (code, format) = unsafe {
        let Program { code, code_size, format, format_size, .. } = *program;
        (slice::from_raw_parts(code.cast(), code_size), slice::from_raw_parts(format.cast(), format_size))
    };
    let text = String::from_utf8_lossy(code);
    let takes = largest(&text);
    log(&format!("compile {} {takes}", String::from_utf8_lossy(format)));
    if text.contains("@fake_fails") {
        return Err(fail(INTERNAL, "the fake fails"));
    }
    if number("FAKE_EXHAUSTED").is_some_and(|most| takes > most) {
        return Err(fail(EXHAUSTED, format!("the fake has no {takes} bytes")));
    }
    log("make executable");
    Ok(Box::into_raw(Box::new(takes)).cast())
}

unsafe extern "C" fn client_compile(arguments: *mut ClientCompile) -> *mut Error {
    // SAFETY: as the interface says, here and below.
    unsafe {
        match compiled((*arguments).program) {
            Ok(executable) => {
                (*arguments).executable = executable;
                ptr::null_mut()
            }
            Err(error) => error,
        }
    }
}

unsafe extern "C" fn compile(arguments: *mut Compile) -> *mut Error {
    // SAFETY: as above.
    unsafe {
        match compiled((*arguments).program) {
            Ok(executable) => {
                (*arguments).executable = executable;
                ptr::null_mut()
            }
            Err(error) => error,
        }
    }
}

unsafe extern "C" fn error_destroy(arguments: *mut One) {
    // SAFETY: as above.
    unsafe {
        if !(*arguments).object.is_null() {
            log("destroy error");
            drop(Box::from_raw((*arguments).object.cast::<Fault>()));
        }
    }
}

unsafe extern "C" fn error_message(arguments: *mut List) {
    // SAFETY: as above.
    unsafe {
        let fault: &Fault = &*(*arguments).object.cast();
        (*arguments).data = fault.message.as_ptr().cast();
        (*arguments).count = fault.message.len();
    }
}

unsafe extern "C" fn error_code(arguments: *mut ErrorCode) -> *mut Error {
    // SAFETY: as above.
    unsafe { (*arguments).code = (*(*arguments).error.cast::<Fault>()).code };
    ptr::null_mut()
}

unsafe extern "C" fn create(arguments: *mut Created) -> *mut Error {
    // SAFETY: as above.
    unsafe { (*arguments).client = ptr::without_provenance_mut(CLIENT) };
    ptr::null_mut()
}

/// The beginning of `PJRT_Client_Create`'s arguments.
#[repr(C)]
struct Created {
    before: [usize; 8],
    client: *mut c_void,
}

unsafe extern "C" fn name(arguments: *mut List) -> *mut Error {
    // SAFETY: as above.
    unsafe { answer(arguments, b"CPU") }
}

unsafe extern "C" fn version(arguments: *mut List) -> *mut Error {
    // SAFETY: as above.
    unsafe { answer(arguments, b"PJRT C API\nFAKE v1 (1698660263)") }
}

unsafe fn answer<T>(arguments: *mut List, list: &'static [T]) -> *mut Error {
    // SAFETY: as above.
    unsafe {
        (*arguments).data = list.as_ptr().cast();
        (*arguments).count = list.len();
    }
    ptr::null_mut()
}

unsafe extern "C" fn devices(arguments: *mut List) -> *mut Error {
    let count = 2 * number("FAKE_PROCESSES").unwrap_or(1) as usize;
    // SAFETY: as above.
    unsafe { answer(arguments, &DEVICES[..count]) }
}

unsafe extern "C" fn own_devices(arguments: *mut List) -> *mut Error {
    // SAFETY: as above.
    unsafe { answer(arguments, &DEVICES[..2]) }
}

unsafe extern "C" fn memory(arguments: *mut MemoryStats) -> *mut Error {
    let Some(bytes) = number("FAKE_MEMORY") else { return fail(UNIMPLEMENTED, "no statistics") };
    // SAFETY: as above.
    unsafe {
        (*arguments).bytes_limit.value = bytes as i64;
        (*arguments).bytes_limit.is_set = 1;
    }
    ptr::null_mut()
}

unsafe extern "C" fn get_executable(arguments: *mut Get) -> *mut Error {
    log("make executable");
    // SAFETY: as above.
    unsafe { (*arguments).result = Box::into_raw(Box::new(*(*arguments).object.cast::<u64>())).cast() };
    ptr::null_mut()
}

unsafe extern "C" fn stats(arguments: *mut CompiledMemoryStats) -> *mut Error {
    // SAFETY: as above.
    unsafe { (*arguments).temp = *(*arguments).executable.cast::<u64>() as i64 };
    ptr::null_mut()
}

unsafe extern "C" fn destroy(arguments: *mut One) -> *mut Error {
    // SAFETY: as above.
    unsafe {
        log("destroy executable");
        drop(Box::from_raw((*arguments).object.cast::<u64>()));
    }
    ptr::null_mut()
}

unsafe extern "C" fn nothing(_: *mut c_void) -> *mut Error {
    ptr::null_mut()
}

/// The place of `PJRT_Client_Create`, which the layer does not touch.
const CREATE: usize = 10;
/// Functions that the fake has unless told otherwise: more than the layer knows.
const FUNCTIONS: usize = 150;

#[repr(C)]
struct Table {
    header: Header,
    functions: [usize; FUNCTIONS],
}

#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the interface's name")]
pub extern "C" fn GetPjrtApi() -> *const Header {
    static TABLE: OnceLock<usize> = OnceLock::new();
    let made = || {
        let count = number("FAKE_FUNCTIONS").unwrap_or(FUNCTIONS as u64) as usize;
        let mut functions = [nothing as *const () as usize; FUNCTIONS];
        let mut set = |place: Place, function: *const ()| functions[place as usize] = function as usize;
        set(Place::ErrorDestroy, error_destroy as *const ());
        set(Place::ErrorMessage, error_message as *const ());
        set(Place::ErrorGetCode, error_code as *const ());
        set(Place::ClientPlatformName, name as *const ());
        set(Place::ClientPlatformVersion, version as *const ());
        set(Place::ClientDevices, devices as *const ());
        set(Place::ClientAddressableDevices, own_devices as *const ());
        set(Place::ClientCompile, client_compile as *const ());
        set(Place::DeviceMemoryStats, memory as *const ());
        set(Place::ExecutableDestroy, destroy as *const ());
        set(Place::LoadedExecutableDestroy, destroy as *const ());
        set(Place::LoadedExecutableGetExecutable, get_executable as *const ());
        set(Place::TopologyPlatformName, name as *const ());
        set(Place::TopologyPlatformVersion, version as *const ());
        set(Place::Compile, compile as *const ());
        set(Place::ExecutableGetCompiledMemoryStats, stats as *const ());
        functions[CREATE] = create as *const () as usize;
        let version = Version {
            struct_size: size_of::<Version>(),
            extension_start: ptr::null_mut(),
            major: 0,
            minor: 112,
        };
        let struct_size = size_of::<Header>() + count * size_of::<usize>();
        // The list of extensions must come through as it is.
        let header = Header { struct_size, extension_start: ptr::without_provenance_mut(0xE5), version };
        ptr::from_ref(Box::leak(Box::new(Table { header, functions }))) as usize
    };
    *TABLE.get_or_init(made) as *const Header
}
