// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From GPU kernels in MLIR to PTX, and to code for the CPU.
