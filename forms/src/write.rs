// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From modules to bytes.

use crate::ir::{Op, OwnedModule};
use crate::read::{Error, diagnosed};
use crate::vhlo::to::to_vhlo;
use crate::{Version, wire};
use melior::ir::Module;
use melior::ir::operation::OperationPrintingFlags;
use std::io::{self, Write};

/// Writes a portable artifact: VHLO of a version, in the bytecode that goes with it. The module stays as it is.
///
/// # Errors
/// [`Error::UnknownVersion`] for a version that is older or newer than those that are known; [`Error::Invalid`] with a diagnostic that names the
/// op and the attribute or type that the version lacks.
pub fn write_portable_artifact(module: &Module<'_>, version: Version) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = write_portable_artifact_to(module, version, &mut bytes)?;
    Ok(bytes)
}

/// Does the same without a copy of it in memory.
///
/// # Errors
/// Those of [`write_portable_artifact`] before anything is written, and inside of that result those of the writer.
pub fn write_portable_artifact_to(
    module: &Module<'_>,
    version: Version,
    to: &mut dyn Write,
) -> Result<io::Result<()>, Error> {
    let copy = vhlo(module, version)?;
    match wire::bytecode_to(copy.as_operation(), &version.producer(), version.bytecode(), to) {
        Ok(false) => Err(Error::Invalid(format!("bytecode of StableHLO {version} cannot be written"))),
        Ok(true) => Ok(Ok(())),
        Err(error) => Ok(Err(error)),
    }
}

/// The same as text, which VHLO has for people to look at.
///
/// # Errors
/// Those of [`write_portable_artifact`].
pub fn vhlo_text(
    module: &Module<'_>,
    version: Version,
    flags: OperationPrintingFlags,
) -> Result<Vec<u8>, Error> {
    let copy = vhlo(module, version)?;
    Ok(crate::print(copy.as_operation(), flags, true))
}

fn vhlo<'c>(module: &Module<'c>, version: Version) -> Result<OwnedModule<'c>, Error> {
    if !version.is_known() {
        return Err(Error::UnknownVersion(version));
    }
    let context = module.context();
    diagnosed(wire::owner(&context), || {
        wire::load(wire::owner(&context))?;
        let copy = Op::clone_module(module)?;
        to_vhlo(context, &copy, version)?;
        Some(copy)
    })
}
