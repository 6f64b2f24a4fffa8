// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The bytes of a module, as MLIR's parser wants them.
//!
//! This is one of the few modules with `unsafe`: it maps files.

use crate::exported::module_of;
use crate::{bools, bytecode, nesting};
use memmap2::{Mmap, MmapMut, MmapOptions};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;

/// What MLIR's bytecode starts with, and portable artifacts, which are bytecode, do.
pub const BYTECODE_MAGIC: &[u8] = b"ML\xefR";

/// The alignment that sections of bytecode may ask for; a file that is mapped has it.
const PAGE: usize = 4096;

/// The bytes of a module, page-aligned and followed by a zero byte. Large files are mapped and not copied; where text has to be changed for
/// MLIR 22 to read it (see [`bools`]), the pages that change are the only copy.
pub struct Source {
    bytes: Bytes,
}

/// Why bytes are not given to MLIR.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Line and column, from 1, where it is text.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
}

enum Bytes {
    /// Of a private mapping, which nobody else sees changes of.
    Mapped(MmapMut),
    ReadOnly(Mmap),
    /// From the first number on, up to the second.
    Owned(Vec<u8>, usize, usize),
    /// Of a source that stays.
    Kept(&'static [u8]),
}

impl Deref for Source {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::ReadOnly(map) => map,
            Bytes::Owned(bytes, start, end) => &bytes[*start..*end],
            Bytes::Kept(bytes) => bytes,
        }
    }
}

impl Source {
    /// The same bytes as those of a source that stays, without a copy.
    ///
    /// # Safety
    /// They must be all bytes of a source that is never dropped, which are aligned, and which a zero byte follows.
    pub unsafe fn kept(bytes: &'static [u8]) -> Self {
        Self { bytes: Bytes::Kept(bytes) }
    }

    fn copy(bytes: &[u8]) -> Self {
        let translated = bytecode::translate(bytes);
        let bytes = translated.as_deref().unwrap_or(bytes);
        let mut buffer = vec![0u8; bytes.len() + PAGE + 1];
        let start = buffer.as_ptr().align_offset(PAGE).min(PAGE);
        let end = start + bytes.len();
        buffer[start..end].copy_from_slice(bytes);
        let mut source = Self { bytes: Bytes::Owned(buffer, start, end) };
        source.pack();
        source
    }

    /// Copies bytes, or the artifact in them if they are a file of `jax.export`.
    pub fn new(bytes: &[u8]) -> Self {
        Self::copy(module_of(bytes).unwrap_or(bytes))
    }

    /// Takes all of a file.
    ///
    /// # Errors
    /// Those of reading.
    pub fn read(mut file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        // Behind the end of the file the rest of its last page is zero, if there is a rest.
        if metadata.is_file() && length > 4 * PAGE && length % PAGE != 0 {
            // SAFETY: nobody but us writes to a private mapping; that someone makes the file shorter while it is read is no more foreseen
            // here than it is in MLIR, which maps its input too.
            let map = unsafe { MmapOptions::new().len(length).map_copy(file)? };
            if let Some(module) = module_of(&map) {
                return Ok(Self::copy(module));
            }
            if let Some(translated) = bytecode::translate(&map) {
                return Ok(Self::copy(&translated));
            }
            let mut source = Self { bytes: Bytes::Mapped(map) };
            source.pack();
            if let Bytes::Mapped(map) = source.bytes {
                source.bytes = Bytes::ReadOnly(map.make_read_only()?);
            }
            return Ok(source);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self::new(&bytes))
    }

    fn pack(&mut self) {
        if self.is_bytecode() {
            return;
        }
        match &mut self.bytes {
            Bytes::Mapped(map) => bools::pack(map),
            Bytes::ReadOnly(_) | Bytes::Kept(_) => 0,
            Bytes::Owned(bytes, start, end) => bools::pack(&mut bytes[*start..*end]),
        };
    }

    /// Whether MLIR's parser and reader are safe with it: a reader of bytecode trusts what it reads, and both recurse.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), Fault> {
        if self.is_bytecode() {
            bytecode::check(self).map_err(|why| Fault { place: None, message: why.to_string() })
        } else {
            nesting::check(self)
        }
    }

    /// Whether this is MLIR's bytecode, perhaps a portable artifact.
    pub fn is_bytecode(&self) -> bool {
        self.starts_with(BYTECODE_MAGIC)
    }
}
