// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From StableHLO to kernels for a GPU.

pub mod emit;
mod estimate;
pub mod form_kernels;
pub mod plan_buffers;
pub mod program;
pub mod to_host;
pub mod to_kernels;
pub mod traffic;
