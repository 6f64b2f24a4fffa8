// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What MLIR's C API has and melior does not: running passes on any op, and printing pipelines. This
//! crate's `unsafe` lives here.

use melior::ir::OperationRef;
use melior::pass::{OperationPassManager, PassManager};
use mlir_sys::{MlirStringRef, mlirPassManagerRunOnOp, mlirPrintPassPipeline};
use std::ffi::c_void;
use std::slice;

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
