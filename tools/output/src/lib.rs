// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Output files that are written whole or not at all.
//!
//! A file is written without a name, in the folder that it is for, and takes its name when all of it is there: whatever
//! ends the process before, be it a signal, leaves what was there and nothing else. Where the file system has no files
//! without names, a temporary name serves; a signal then leaves that.
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("small.mlir");
//! use slimhlo_output::Target;
//! use std::io::Write;
//! use std::path::Path;
//!
//! let mut output = Target::new(Some(&path)).open()?;
//! output.file().write_all(b"module {}")?;
//! assert!(!path.exists());
//! output.commit()?;
//! assert_eq!(std::fs::read(&path)?, b"module {}");
//! assert_eq!(Target::new(Some(Path::new("-"))), Target::Stdout);
//! # Ok(())
//! # }
//! ```

use rustix::fs::{AtFlags, CWD, OFlags, linkat};
use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// Where something goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Standard output: `-` or nothing.
    Stdout,
    /// A file, a device or a named pipe.
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

    /// Finds out, before work is spent on it, whether writing is sure to fail.
    ///
    /// # Errors
    /// The target is a folder, or one that should hold it is not there.
    pub fn check(&self) -> io::Result<()> {
        let Self::File(path) = self else { return Ok(()) };
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        fs::metadata(parent(path)).map(drop)
    }

    /// Begins to write. A file that is there stays as it is until [`Output::commit`], which keeps its mode and, if it is a
    /// symbolic link, the link.
    ///
    /// # Errors
    /// Those of the file system; one that is there but may not be written is an error, too.
    pub fn open(&self) -> io::Result<Output> {
        let Self::File(path) = self else {
            let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
            return Ok(Output { file, place: Place::Direct });
        };
        let mut permissions = None;
        let mut target = path.clone();
        if let Ok(there) = fs::metadata(path) {
            // A rename never asks whether the file itself may be written.
            let file = OpenOptions::new().write(true).open(path)?;
            if !there.is_file() {
                // A device or a pipe cannot be replaced.
                return Ok(Output { file, place: Place::Direct });
            }
            permissions = Some(there.permissions());
            // Replacing a link would leave what it points to as it was.
            target = fs::canonicalize(path)?;
        } else if let Ok(pointed) = fs::read_link(path) {
            // A link to what is not there yet: it comes into being where the link says.
            target = parent(path).join(pointed);
        }
        let (file, place) = unnamed(target)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        Ok(Output { file, place })
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// Those of the file system. A file is then as it was before; what went to standard output, a device or a pipe is gone.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut output = self.open()?;
        output.file().write_all(bytes)?;
        output.commit()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => formatter.write_str("to standard output"),
            Self::File(path) => path.display().fmt(formatter),
        }
    }
}

/// An output that is being written. Dropped without a [`commit`](Self::commit), it leaves no trace of a file.
#[derive(Debug)]
pub struct Output {
    file: File,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// It is where it should be: standard output, a device, a pipe.
    Direct,
    /// It will be called this, and has no name yet.
    Unnamed(PathBuf),
    /// It has a name until it is called this.
    Named(TempPath, PathBuf),
}

impl Output {
    /// What to write to. Nothing here is buffered.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Puts the file where it should be, in place of what is there.
    ///
    /// # Errors
    /// Those of the file system; what was there then still is.
    pub fn commit(self) -> io::Result<()> {
        match self.place {
            Place::Direct => Ok(()),
            Place::Named(name, target) => name.persist(target).map_err(|error| error.error),
            Place::Unnamed(target) => name(&self.file, &target),
        }
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// How the system shows a file that this process has open.
fn shown(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

fn unnamed(target: PathBuf) -> io::Result<(File, Place)> {
    let flags = OFlags::TMPFILE.bits().cast_signed();
    let file = OpenOptions::new().write(true).custom_flags(flags).mode(0o666).open(parent(&target));
    match file {
        // Where nothing is shown, no name can be given later.
        Ok(file) if shown(&file).exists() => Ok((file, Place::Unnamed(target))),
        // Why a named one cannot be had is what there is to say.
        _ => {
            let (file, name) = temporary().tempfile_in(parent(&target))?.into_parts();
            Ok((file, Place::Named(name, target)))
        }
    }
}

/// Files with names that are nobody else's.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".slimhlo-").suffix(".tmp").permissions(Permissions::from_mode(0o666));
    builder
}

/// Gives a name to a file that has none.
fn name(file: &File, target: &Path) -> io::Result<()> {
    let link =
        |path: &Path| linkat(CWD, shown(file), CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from);
    match link(target) {
        // Only a rename replaces what is there in one step, and it takes a name.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let named = temporary().make_in(parent(target), link)?;
            named.into_temp_path().persist(target).map_err(|error| error.error)
        }
        done => done,
    }
}
