// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Kernels as code: from the StableHLO ops of a kernel function to a `gpu.func` of arith, math, scf and llvm ops.

pub mod code;
pub mod numbers;
