// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What can be wrong with a package.

use std::path::PathBuf;

use crate::FORMAT;

/// What writing, reading or checking a package can fail with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system said no.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file or folder concerned.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The manifest is not JSON, or JSON of another shape.
    #[error("{}: {cause}", path.display())]
    Syntax {
        /// The manifest.
        path: PathBuf,
        /// What the parser said, with line and column.
        cause: serde_json::Error,
    },
    /// The package was written in a version of the format that this build does not know.
    #[error(
        "{}: the package has format version {found}, this build reads version {FORMAT}; compile the program again",
        path.display()
    )]
    Version {
        /// The manifest.
        path: PathBuf,
        /// The version it has.
        found: u64,
    },
    /// The manifest contradicts itself, or the files beside it.
    #[error("invalid package: {0}")]
    Invalid(String),
    /// The folder to write to holds something else.
    #[error("{}: exists and is no package, so it is not replaced", .0.display())]
    Occupied(PathBuf),
}

/// [`std::result::Result`] with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
