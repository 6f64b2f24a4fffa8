// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Where a buffer is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Where a buffer is; written as the planner's attribute `slimhlo.buffers` writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// The buffer of an argument, by number: `arg0`.
    Argument(usize),
    /// The buffer of a result, by number: `result1`. If the result lies in a donated argument, that argument's.
    Result(usize),
    /// From this byte of the arena on: `arena+256`.
    Arena(u64),
    /// From this byte of the constants on: `const+0`.
    Constant(u64),
    /// What a counter is in this turn of the loop that drives it, by the counter's number: `counter0`.
    Counter(usize),
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(number) => write!(f, "arg{number}"),
            Self::Result(number) => write!(f, "result{number}"),
            Self::Arena(offset) => write!(f, "arena+{offset}"),
            Self::Constant(offset) => write!(f, "const+{offset}"),
            Self::Counter(number) => write!(f, "counter{number}"),
        }
    }
}

/// A decimal number and nothing else: no sign, no blanks.
fn number<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl FromStr for Slot {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let slot = if let Some(rest) = text.strip_prefix("arena+") {
            number(rest).map(Self::Arena)
        } else if let Some(rest) = text.strip_prefix("const+") {
            number(rest).map(Self::Constant)
        } else if let Some(rest) = text.strip_prefix("arg") {
            number(rest).map(Self::Argument)
        } else if let Some(rest) = text.strip_prefix("counter") {
            number(rest).map(Self::Counter)
        } else if let Some(rest) = text.strip_prefix("result") {
            number(rest).map(Self::Result)
        } else {
            None
        };
        slot.ok_or_else(|| {
            format!("`{text}` is no buffer: expected one like `arg0`, `result0`, `arena+256`, `const+0` or `counter0`")
        })
    }
}

impl Serialize for Slot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Slot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
