// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What can go wrong between kernels and machine code.

use crate::{Chip, PtxVersion};
use std::path::PathBuf;

/// Why there is no code.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// MLIR refuses; what it says.
    #[error("the kernels cannot be lowered: {0}")]
    Lowering(String),
    /// The kernels call functions of libdevice, which was not found.
    #[error(
        "kernels need {}, which CUDA's libdevice has and which was not found; name the file with --libdevice, set CUDA_HOME to \
         where CUDA is (nvvm/libdevice/libdevice.10.bc in it), or install PyPI's nvidia-cuda-nvcc-cu12 into the Python environment",
        .functions.join(", ")
    )]
    NoLibdevice {
        /// The functions, by name.
        functions: Vec<String>,
    },
    /// A file that was named is not libdevice.
    #[error("cannot read libdevice from {}: {reason}", .path.display())]
    Libdevice {
        /// What was read.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The kernels call functions that nothing defines.
    #[error("kernels call {}, which nothing defines", .0.join(", "))]
    Undefined(Vec<String>),
    /// The version of PTX that was asked for has no instructions for the chip.
    #[error("PTX {version} does not know {chip}; the first version that does is {}", .chip.oldest_ptx())]
    Version {
        /// The chip.
        chip: Chip,
        /// What was asked for.
        version: PtxVersion,
    },
    /// LLVM cannot make code.
    #[error("LLVM: {0}")]
    Llvm(String),
    /// There is no assembler.
    #[error(
        "ptxas was not found; put it on the PATH, set CUDA_HOME to where CUDA is, or install PyPI's nvidia-cuda-nvcc-cu12 into the \
         Python environment"
    )]
    NoAssembler,
    /// The assembler refuses the code.
    #[error("ptxas: {0}")]
    Assembler(String),
}
