// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The GPUs that code is made for, and the versions of PTX.

use std::fmt;
use std::str::FromStr;

/// A GPU's architecture, such as `sm_90`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chip(&'static (&'static str, u32));

/// Names, and the first version of PTX that knows them, times 10.
const CHIPS: &[(&str, u32)] = &[
    ("sm_70", 60),
    ("sm_72", 61),
    ("sm_75", 63),
    ("sm_80", 70),
    ("sm_86", 71),
    ("sm_87", 74),
    ("sm_89", 78),
    ("sm_90", 78),
    ("sm_90a", 80),
    ("sm_100", 86),
    ("sm_100a", 86),
    ("sm_101", 86),
    ("sm_101a", 86),
    ("sm_103", 88),
    ("sm_103a", 88),
    ("sm_120", 87),
    ("sm_120a", 87),
];

/// The versions of PTX that LLVM writes, times 10.
const VERSIONS: &[u32] =
    &[60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90];

impl Chip {
    /// All of them, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        CHIPS.iter().map(Self)
    }

    /// `sm_90`
    pub fn name(self) -> &'static str {
        self.0.0
    }

    /// The first version of PTX that knows this chip.
    pub fn oldest_ptx(self) -> PtxVersion {
        PtxVersion(self.0.1)
    }
}

impl Default for Chip {
    fn default() -> Self {
        const { Self(&CHIPS[7]) }
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Chip {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::all().find(|chip| chip.name() == text);
        found.ok_or_else(|| {
            let all: Vec<_> = Self::all().map(Self::name).collect();
            format!("{text} is not one of {}", all.join(", "))
        })
    }
}

/// A version of PTX, such as `8.6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion(u32);

impl PtxVersion {
    /// How LLVM names it: `+ptx86`.
    pub(crate) fn feature(self) -> String {
        format!("+ptx{}", self.0)
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.0 / 10, self.0 % 10)
    }
}

impl FromStr for PtxVersion {
    type Err = String;

    /// Reads `8.6`, and `86` as well.
    fn from_str(text: &str) -> Result<Self, String> {
        let digits: String = match text.split_once('.') {
            Some((major, minor)) if minor.len() == 1 => format!("{major}{minor}"),
            Some(_) => String::new(),
            None => text.to_owned(),
        };
        let found = digits.parse().ok().filter(|number| VERSIONS.contains(number)).map(Self);
        found.ok_or_else(|| {
            let all: Vec<_> = VERSIONS.iter().map(|number| Self(*number).to_string()).collect();
            format!("{text} is not one of {}", all.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_written() {
        for chip in Chip::all() {
            assert_eq!(chip.name().parse(), Ok(chip));
            assert!(VERSIONS.contains(&chip.oldest_ptx().0));
        }
        assert_eq!(Chip::default().name(), "sm_90");
        assert!("sm_42".parse::<Chip>().unwrap_err().contains("sm_70, "));
        assert_eq!("8.6".parse::<PtxVersion>(), "86".parse());
        assert!("8.66".parse::<PtxVersion>().is_err());
        assert!("3.2".parse::<PtxVersion>().is_err());
    }
}
