// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Runs programs that slimhlo has compiled.
//!
//! A package's schedule is interpreted ([`Executor`]) over a [`Device`]: an NVIDIA GPU ([`cuda::Cuda`], through the driver's
//! library, which is loaded at run time) or the CPU ([`HostDevice`], for kernels that somebody compiled for it). [`run`] is what the
//! binary `slimhlo-run` does, on any device: inputs from .npy files or at random, results to .npy files, times, memory and
//! bandwidths on standard output.
//!
//! Nothing here knows MLIR or LLVM, nor needs CUDA to be installed where it is built.

mod allocation;
mod cli;
pub mod cuda;
mod device;
mod execute;
mod host;
pub mod npy;
mod plan;
mod run;
mod schedule;
mod text;
mod values;

pub use allocation::{Policy, Start};
pub use cli::Cli;
pub use device::{Buffer, Device, DeviceError, Memory, Region, Shape, Work};
pub use execute::{Executor, Profile, Tally};
pub use host::{HostDevice, HostKernel, Recorded};
pub use plan::{Planned, explain, plan};
pub use run::{RunOptions, inputs, run};
pub use schedule::Asked;
pub use values::{preview, random};
