// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! MLIR's bytecode as a format: its sections, its tables, and its ops.
//!
//! MLIR's reader trusts what it reads: it makes room for as many values, blocks or numbers as a file says
//! there are before it has read any of them, follows attributes that refer to each other in a circle for
//! ever, and takes a tensor's elements for as many as its type says. A file that is cut off or damaged ends
//! the process, or never comes back. So [`check`] goes over all of it first, in one pass: every count leaves
//! room for what it counts, every index is of something that is there, attributes and types are a graph
//! without circles, and constants have the bytes that their types ask for.
//!
//! [`translate`] makes of bytecode that a newer MLIR has written bytecode that MLIR 22 reads.

mod cursor;
mod entries;
mod newer;
mod schema;
mod sections;
mod values;
mod walk;

use crate::nesting::MAX_DEPTH;
use crate::source::BYTECODE_MAGIC;
pub use newer::translate;

/// Why bytecode is not given to MLIR's reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// It is not what it says it is.
    #[error("the bytecode is cut off or damaged: {0}")]
    Broken(&'static str),
    /// The same, and where.
    #[error("the bytecode is cut off or damaged at byte {at}: {what}")]
    BrokenAt {
        /// What is wrong.
        what: &'static str,
        /// From the beginning of the bytecode.
        at: usize,
    },
    /// The same of a number that is too large.
    #[error("the bytecode is cut off or damaged at byte {at}: {what} ({number}; there are {there})")]
    Number {
        /// What is wrong.
        what: &'static str,
        /// From the beginning of the bytecode.
        at: usize,
        /// What stands there.
        number: u64,
        /// How many there are of what it counts.
        there: usize,
    },
    /// It is nested too deeply.
    #[error("{what} are nested {depth} deep; at most {MAX_DEPTH} are read")]
    Deep {
        /// What is nested.
        what: &'static str,
        /// How deeply, at least.
        depth: usize,
    },
}

impl Damage {
    /// With a place, unless it has one, which is nearer. No number stands at the very beginning.
    fn at(self, at: usize) -> Self {
        match self {
            Self::Broken(what) => Self::BrokenAt { what, at },
            Self::Number { what, at: 0, number, there } => Self::Number { what, at, number, there },
            placed => placed,
        }
    }

    /// With the number that is wrong, and how many there are.
    fn of(self, number: u64, there: usize) -> Self {
        match self {
            Self::Broken(what) => Self::Number { what, at: 0, number, there },
            other => other,
        }
    }
}

type Result<T> = std::result::Result<T, Damage>;

/// Whether bytecode can be what it says it is.
///
/// # Errors
/// [`Damage`], if MLIR's reader might not survive it.
pub fn check(bytes: &[u8]) -> Result<()> {
    if sections::is_unknown(bytes)? {
        return Ok(());
    }
    let file = sections::File::read(bytes)?;
    let entries = entries::check(&file)?;
    walk::check(&file, &entries)
}

/// Whether this is bytecode at all.
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(BYTECODE_MAGIC)
}
