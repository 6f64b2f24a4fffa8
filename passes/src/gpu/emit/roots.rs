// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Kernels whose last op is more than one element computed for itself: reductions, scatters, sorts and the like.
//!
//! Such a kernel is one launch or several, one after the other, of the same arguments. All are right for any number of
//! blocks and of threads in a block (a power of two): what needs all blocks to have finished goes to the next launch.

mod arithmetic;
mod reducer;
pub mod serial;
mod window;
