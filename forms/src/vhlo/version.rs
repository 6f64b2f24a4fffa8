// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Versions of VHLO, which are StableHLO's.

use super::ops::Since;
use crate::source::BYTECODE_MAGIC;
use std::fmt;
use std::str::FromStr;

/// A version of StableHLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Changes with what is promised.
    pub major: u16,
    /// Changes with ops, attributes and types.
    pub minor: u16,
    /// Changes with nothing that is in an artifact.
    pub patch: u16,
}

/// A text that is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no version of StableHLO: three numbers are, as in {now}", now = Version::CURRENT)]
pub struct InvalidVersion(String);

/// What the producer of an artifact calls itself, before its version.
const PRODUCER: &str = "StableHLO_v";

impl Version {
    /// The oldest that artifacts have.
    pub const MINIMUM: Self = Self { major: 0, minor: 9, patch: 0 };
    /// The newest that is known here: jaxlib 0.10.2's.
    pub const CURRENT: Self = Self { major: 1, minor: 17, patch: 0 };

    /// As tables have it.
    pub(crate) fn since(self) -> Since {
        (self.major, self.minor)
    }

    /// Whether artifacts of this version are read and written here.
    pub fn is_known(self) -> bool {
        (Self::MINIMUM.since()..=Self::CURRENT.since()).contains(&self.since())
    }

    /// The version of MLIR's bytecode format that goes with it.
    pub(crate) fn bytecode(self) -> i64 {
        match self.since() {
            (0, ..10) => 0,
            (0, ..12) => 1,
            (0, ..14) => 3,
            (0, ..15) => 4,
            _ => 6,
        }
    }

    pub(crate) fn producer(self) -> String {
        format!("{PRODUCER}{self}")
    }

    /// The version that a portable artifact says it has; `None` if the bytes are none.
    pub fn of_artifact(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(BYTECODE_MAGIC)?;
        // The format's version is a number of variable length: zeros at its low end say how many bytes follow.
        let length = (rest.first()?.trailing_zeros() as usize + 1).min(9);
        let producer = rest.get(length..)?.strip_prefix(PRODUCER.as_bytes())?;
        let end = producer.iter().take(32).position(|&byte| byte == 0)?;
        std::str::from_utf8(&producer[..end]).ok()?.parse().ok()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        let numbers: Option<Vec<u16>> = text
            .split('.')
            .map(|part| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?)
            .collect();
        match numbers.as_deref() {
            Some(&[major, minor, patch]) => Ok(Self { major, minor, patch }),
            _ => Err(InvalidVersion(text.into())),
        }
    }
}
