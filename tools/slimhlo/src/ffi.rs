// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What MLIR's C API has and melior does not: printing pipelines; and kernels as functions of this process.
//! This command's `unsafe` lives here.

use crate::guarded::{Guarded, Order};
use melior::ir::OperationRef;
use melior::pass::{OperationPassManager, PassManager};
use mlir_sys::{MlirStringRef, mlirPassManagerRunOnOp, mlirPrintPassPipeline};
use slimhlo_nvptx::host::Kernels;
use slimhlo_runner::HostDevice;
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
