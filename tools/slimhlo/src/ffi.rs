// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Kernels as functions of this process: this command's `unsafe` lives here.

use crate::guarded::{Guarded, Order};
use slimhlo_nvptx::host::Kernels;
use slimhlo_runner::HostDevice;

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
