// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A package on disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;

use crate::{Error, FORMAT, Manifest, Result};

/// The manifest's name in a package's folder.
pub const MANIFEST_FILE: &str = "manifest.json";
/// The name of the kernels' PTX.
pub const PTX_FILE: &str = "kernels.ptx";
/// The name of the kernels' machine code, if there is any.
pub const CUBIN_FILE: &str = "kernels.cubin";
/// The name of the constants; absent if there are none.
pub const CONSTANTS_FILE: &str = "constants.bin";

/// A compiled program.
#[derive(Clone, Debug, PartialEq)]
pub struct Package {
    /// What it takes and gives, its buffers and its steps.
    pub manifest: Manifest,
    /// The kernels as PTX: any chip at least as new as the manifest's can run them.
    pub ptx: String,
    /// The kernels as machine code: for the manifest's chip only (and later ones of its generation).
    pub cubin: Option<Vec<u8>>,
    /// The constants; [`Manifest::constants_bytes`] many bytes.
    pub constants: Vec<u8>,
}

/// The one field that every version of the format has.
#[derive(Deserialize)]
struct Version {
    format: u64,
}

impl Package {
    /// Whether there is something at `path` that [`Self::read`] would try to read.
    #[must_use]
    pub fn is_at(path: &Path) -> bool {
        path.join(MANIFEST_FILE).is_file()
    }

    /// Reads a package from its folder.
    ///
    /// # Errors
    /// If a file cannot be read, has another version of the format, or is inconsistent ([`Manifest::validate`]).
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST_FILE);
        let text = read(&path)?;
        let syntax = |cause| Error::Syntax { path: path.clone(), cause };
        let Version { format } = serde_json::from_slice(&text).map_err(syntax)?;
        if format != u64::from(FORMAT) {
            return Err(Error::Version { path, found: format });
        }
        let manifest: Manifest = serde_json::from_slice(&text).map_err(syntax)?;
        manifest.validate()?;
        let constants =
            if manifest.constants_bytes == 0 { Vec::new() } else { read(&folder.join(CONSTANTS_FILE))? };
        let path = folder.join(PTX_FILE);
        let ptx = String::from_utf8(read(&path)?).map_err(|error| Error::File {
            path,
            cause: io::Error::new(io::ErrorKind::InvalidData, error),
        })?;
        let cubin = match fs::read(folder.join(CUBIN_FILE)) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => return Err(Error::File { path: folder.join(CUBIN_FILE), cause }),
        };
        let package = Self { manifest, ptx, cubin, constants };
        package.check_files()?;
        Ok(package)
    }

    /// Writes the package to `folder`, all of it or nothing: what is there, another package or an empty folder, is
    /// replaced in the end. Folders above it are made.
    ///
    /// # Errors
    /// If the package is inconsistent, the folder holds something else, or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        self.manifest.validate()?;
        self.check_files()?;
        let occupied = match fs::read_dir(folder) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(cause) => return Err(Error::File { path: folder.to_path_buf(), cause }),
        };
        if occupied && !Self::is_at(folder) {
            return Err(Error::Occupied(folder.to_path_buf()));
        }
        let parent = match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        at(parent, fs::create_dir_all(parent))?;
        let new = Temporary::beside(folder, "new");
        at(&new.0, fs::create_dir(&new.0))?;
        self.write_files(&new.0)?;
        // A folder that is there is moved aside first: a rename does not replace one that holds files.
        let old = Temporary::beside(folder, "old");
        match fs::rename(folder, &old.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::File { path: folder.to_path_buf(), cause: error });
            }
            moved => {
                if let Err(cause) = fs::rename(&new.0, folder) {
                    if moved.is_ok() {
                        // Best effort: the error to report is the one above.
                        let _ = fs::rename(&old.0, folder);
                    }
                    return Err(Error::File { path: folder.to_path_buf(), cause });
                }
            }
        }
        Ok(())
    }

    fn write_files(&self, folder: &Path) -> Result<()> {
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            at(&path, fs::write(&path, bytes))
        };
        let path = folder.join(MANIFEST_FILE);
        let mut text =
            serde_json::to_string_pretty(&self.manifest).map_err(|cause| Error::Syntax { path, cause })?;
        text.push('\n');
        write(MANIFEST_FILE, text.as_bytes())?;
        write(PTX_FILE, self.ptx.as_bytes())?;
        if let Some(cubin) = &self.cubin {
            write(CUBIN_FILE, cubin)?;
        }
        if !self.constants.is_empty() {
            write(CONSTANTS_FILE, &self.constants)?;
        }
        Ok(())
    }

    fn check_files(&self) -> Result<()> {
        let (found, expected) = (self.constants.len() as u64, self.manifest.constants_bytes);
        if found != expected {
            return Err(Error::Invalid(format!("{CONSTANTS_FILE} has {found} bytes, not {expected}")));
        }
        Ok(())
    }
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T> {
    result.map_err(|cause| Error::File { path: path.to_path_buf(), cause })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    at(path, fs::read(path))
}

/// A folder's name that is nobody else's; what is there in the end is removed.
struct Temporary(PathBuf);

impl Temporary {
    fn beside(folder: &Path, purpose: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self(folder.with_file_name(format!(".{name}.{purpose}-{}-{number}", process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing there is the usual case: it was renamed.
        let _ = fs::remove_dir_all(&self.0);
    }
}
