// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From StableHLO to kernels for a GPU.

pub mod emit;
mod estimate;
pub mod form_kernels;
pub mod plan_buffers;
pub mod program;
pub mod rounds;
pub mod to_host;
pub mod to_kernels;
pub mod traffic;
pub mod work;

use crate::framework::{OptionValue as _, PassError};
use crate::ir;
use crate::target::Target;
use melior::ir::OperationRef;
use melior::ir::operation::OperationLike;

/// What says of a module which of our targets its kernels are for, if not the default.
pub const TARGET: &str = "slimhlo.target";

/// What the kernels of the module around an op are for; the default where the module says nothing.
pub fn target_around<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Target {
    let module = std::iter::successors(Some(op), |op| op.parent_operation()).last().unwrap_or(op);
    checked_target(module).unwrap_or_else(|_| Target::kernels())
}

/// The same, of the module itself.
///
/// # Errors
/// `slimhlo.target` is not a name of our own kernels; the error has those there are.
pub fn checked_target<'c: 'a, 'a>(module: OperationRef<'c, 'a>) -> Result<Target, PassError<'c>> {
    let Some(name) = ir::string_attribute(module, TARGET) else { return Ok(Target::kernels()) };
    let found = Target::parse(name).map_err(|error| PassError::at(module, format!("{TARGET}: {error}")))?;
    match found.is_kernels() {
        true => Ok(found),
        false => Err(PassError::at(module, format!("{TARGET}: '{name}' has no kernels of ours"))),
    }
}
