// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What MLIR's C API has and melior does not: parsing files and bytecode, writing bytecode, printing pipelines; and kernels as
//! functions of this process. This command's `unsafe` lives here.

use crate::guarded::{Guarded, Order};
use melior::Context;
use melior::ir::{Module, OperationRef};
use melior::pass::{OperationPassManager, PassManager};
use mlir_sys::{
    MlirStringRef, mlirModuleCreateParse, mlirModuleCreateParseFromFile, mlirOperationWriteBytecode,
    mlirPassManagerRunOnOp, mlirPrintPassPipeline,
};
use slimhlo_nvptx::host::Kernels;
use slimhlo_runner::HostDevice;
use std::ffi::c_void;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

/// What bytecode starts with.
pub const BYTECODE_MAGIC: &[u8] = b"ML\xefR";

/// The alignment that sections of bytecode may ask for; a file that is mapped has it.
const PAGE: usize = 4096;

/// Parses and verifies text or bytecode. `None` after a diagnostic.
pub fn parse<'c>(context: &'c Context, source: &[u8]) -> Option<Module<'c>> {
    let mut buffer = vec![0u8; source.len() + PAGE + 1];
    let start = buffer.as_ptr().align_offset(PAGE).min(PAGE);
    buffer[start..start + source.len()].copy_from_slice(source);
    let text = MlirStringRef { data: buffer[start..].as_ptr().cast(), length: source.len() };
    // SAFETY: context and text are alive for the call, and a zero byte follows the text.
    unsafe { Module::from_option_raw(mlirModuleCreateParse(context.to_raw(), text)) }
}

/// Parses and verifies a file of text or bytecode. `None` after a diagnostic.
pub fn parse_file<'c>(context: &'c Context, path: &Path) -> Option<Module<'c>> {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    bytes.push(0);
    let name = MlirStringRef { data: bytes.as_ptr().cast(), length: bytes.len() - 1 };
    // SAFETY: context and name are alive for the call, and a zero byte follows the name.
    unsafe { Module::from_option_raw(mlirModuleCreateParseFromFile(context.to_raw(), name)) }
}

/// The module as bytecode.
pub fn bytecode(module: &Module<'_>) -> Vec<u8> {
    let mut bytes = Vec::<u8>::new();
    // SAFETY: the module is alive, and the callback takes the user data for what it is.
    unsafe {
        mlirOperationWriteBytecode(module.as_operation().to_raw(), Some(append), (&raw mut bytes).cast())
    }
    bytes
}

/// Runs the passes of a manager on an op; false after a diagnostic.
pub fn run(manager: &PassManager<'_>, op: OperationRef<'_, '_>) -> bool {
    // SAFETY: both are alive, and nothing else holds on to what is inside of the op.
    unsafe { mlirPassManagerRunOnOp(manager.to_raw(), op.to_raw()).value != 0 }
}

/// The passes of a manager, in MLIR's textual form: `builtin.module(...)`.
pub fn pipeline(manager: &OperationPassManager<'_, '_>) -> String {
    let mut bytes = Vec::<u8>::new();
    // SAFETY: the manager is alive, and the callback takes the user data for what it is.
    unsafe { mlirPrintPassPipeline(manager.to_raw(), Some(append), (&raw mut bytes).cast()) }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// # Safety
/// `out` must point to a `Vec<u8>`, `piece` be alive.
unsafe extern "C" fn append(piece: MlirStringRef, out: *mut c_void) {
    if piece.length > 0 {
        // SAFETY: given by the caller.
        unsafe {
            (*out.cast::<Vec<u8>>())
                .extend_from_slice(slice::from_raw_parts(piece.data.cast(), piece.length));
        }
    }
}

/// The CPU as a device with these kernels, which are there for good.
pub fn cpu(kernels: &'static Kernels) -> HostDevice {
    // SAFETY: the functions are made of the kernels that the manifest is about, which touch their buffers only.
    unsafe { HostDevice::new(kernels.functions().clone()) }
}

/// The same, as a device that catches kernels which do not keep to their buffers.
pub fn guarded_cpu(kernels: &'static Kernels, order: Order) -> Guarded {
    // SAFETY: as above, and if not, the process ends.
    unsafe { Guarded::new(kernels.functions().clone(), order) }
}
