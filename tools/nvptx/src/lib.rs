// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From GPU kernels in MLIR to PTX, and to code for the CPU.
//!
//! [`compile`] takes the `gpu.module`s of a module through MLIR's nvvm dialect, LLVM IR and LLVM's NVPTX back end to PTX, with
//! CUDA's math functions from libdevice where kernels need them; [`ptxas`] assembles that where NVIDIA's assembler is found.
//! [`host::Kernels`] makes functions of this process of the very same kernels.

mod block;
mod chip;
mod device;
mod error;
mod ffi;
mod halves;
pub mod host;
mod intrinsics;
mod libdevice;
mod lower;
mod narrow;
mod nvidia;
pub mod ptxas;
mod stores;
pub mod to_ptx;

pub use chip::{Chip, PtxVersion};
pub use device::{Compiled, Options, compile, symbol};
pub use error::Error;
pub use ffi::HostFunction;
pub use to_ptx::{passes, register_passes};
