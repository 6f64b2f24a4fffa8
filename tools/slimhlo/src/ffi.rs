// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What MLIR's C API has and melior does not: writing bytecode; and kernels as functions of this
//! process. This command's `unsafe` lives here.

use crate::guarded::{Guarded, Order};
use melior::ir::Module;
use mlir_sys::{MlirStringRef, mlirOperationWriteBytecode};
use slimhlo_nvptx::host::Kernels;
use slimhlo_runner::HostDevice;
use std::ffi::c_void;
use std::slice;

/// The module as bytecode.
pub fn bytecode(module: &Module<'_>) -> Vec<u8> {
    let mut bytes = Vec::<u8>::new();
    // SAFETY: the module is alive, and the callback takes the user data for what it is.
    unsafe {
        mlirOperationWriteBytecode(module.as_operation().to_raw(), Some(append), (&raw mut bytes).cast())
    }
    bytes
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
