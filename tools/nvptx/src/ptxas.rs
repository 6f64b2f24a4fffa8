// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! NVIDIA's assembler, where there is one.

use crate::{Chip, Error, nvidia};
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Where it is: on the PATH, or where CUDA is.
pub fn find() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join("ptxas")).find(|path| path.is_file());
    on_path.or_else(|| nvidia::find("bin/ptxas"))
}

/// Assembles PTX for a chip.
///
/// # Errors
/// There is no assembler, or it refuses the text; with what it says.
pub fn cubin(ptx: &str, chip: Chip) -> Result<Vec<u8>, Error> {
    let assembler = find().ok_or(Error::NoAssembler)?;
    let failed = |error: std::io::Error| Error::Assembler(error.to_string());
    let folder = tempfile::Builder::new().prefix("slimhlo-ptxas-").tempdir().map_err(failed)?;
    let (source, result) = (folder.path().join("kernels.ptx"), folder.path().join("kernels.cubin"));
    fs::write(&source, ptx).map_err(failed)?;
    let output = Command::new(assembler)
        .arg(format!("--gpu-name={chip}"))
        .arg(&source)
        .arg("--output-file")
        .arg(&result)
        .output()
        .map_err(failed)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Assembler(said.trim().to_owned()));
    }
    fs::read(&result).map_err(failed)
}
