// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Files that are written whole or not at all.

use anyhow::{Context, Result};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where something goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Standard output: `-` or nothing.
    Stdout,
    /// A file.
    File(PathBuf),
}

impl Target {
    /// Reads an argument.
    pub fn new(argument: Option<&Path>) -> Self {
        match argument {
            None => Self::Stdout,
            Some(path) if path == Path::new("-") => Self::Stdout,
            Some(path) => Self::File(path.to_owned()),
        }
    }

    /// Fails where writing is sure to fail, before work is spent on it.
    pub fn check(&self) -> Result<()> {
        let Self::File(path) = self else { return Ok(()) };
        if path.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory)).with_context(|| cannot_write(path));
        }
        fs::metadata(parent(path)).map(drop).with_context(|| cannot_write(path))
    }

    /// Writes all of it.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush()).context("cannot write to standard output")
            }
            Self::File(path) => write_file(path, bytes).with_context(|| cannot_write(path)),
        }
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut permissions = Permissions::from_mode(0o666);
    let mut target = path.to_owned();
    if let Ok(there) = fs::metadata(path) {
        if !there.is_file() {
            // A device or a pipe cannot be replaced.
            return fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
        }
        permissions = there.permissions();
        // A rename never asks whether the file itself may be written.
        fs::OpenOptions::new().write(true).open(path)?;
        // Replacing a link would leave what it points to as it was.
        target = fs::canonicalize(path)?;
    }
    let mut file = tempfile::Builder::new()
        .prefix(".slimhlo-")
        .suffix(".tmp")
        .permissions(permissions)
        .tempfile_in(parent(&target))?;
    file.write_all(bytes)?;
    file.persist(&target).map(drop).map_err(|error| error.error)
}
