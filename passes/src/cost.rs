// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a function costs on a target, and the one rule by which memory is traded for time.
//!
//! The rule: never more bytes, and of all that is known the least bytes whose time is at most `max-slowdown` times the original's. What
//! halves a function's temporaries may take a quarter more time, what does less a twentieth ([`Limit`]).

use crate::framework::{Bytes, OptionValue};
use crate::memory::{self, Footprint};
use crate::target::Target;
use melior::ir::OperationRef;

/// What a function needs, and how long it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Bytes, on one device.
    pub footprint: Footprint,
    /// By the target's rates.
    pub seconds: f64,
}

impl Cost {
    /// The cost of a function; `None` if it has no body.
    pub fn of(function: OperationRef<'_, '_>, target: Target) -> Option<Self> {
        memory::cost(function, target)
    }

    /// Bytes that are needed at once.
    pub fn peak(&self) -> u64 {
        self.footprint.peak()
    }
}

/// How many times the original's time a function may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// [`Limit::HALVED`] for what takes no more than half of the original's temporaries, and [`Limit::OTHERWISE`].
    Usual,
    /// At most so many times, whatever it saves.
    Times(f64),
}

impl Limit {
    /// A quarter more, for half of the temporaries or less.
    pub const HALVED: f64 = 1.25;
    /// Else a twentieth: what models and machines differ by anyway.
    pub const OTHERWISE: f64 = 1.05;

    /// How many times the original's time what saves most may take.
    pub fn most(self) -> f64 {
        match self {
            Self::Times(most) => most,
            Self::Usual => Self::HALVED,
        }
    }

    /// Whether a function that cost `original` as it came may cost `now`.
    pub fn allows(self, original: &Cost, now: &Cost) -> bool {
        let halved = now.footprint.temporaries <= original.footprint.temporaries / 2;
        let most = match self {
            Self::Times(most) => most,
            Self::Usual if halved => Self::HALVED,
            Self::Usual => Self::OTHERWISE,
        };
        now.seconds <= original.seconds * most
    }
}

impl OptionValue for Limit {
    fn value_name() -> String {
        "usual|number".into()
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text == "usual" {
            return Ok(Self::Usual);
        }
        let most: f64 = text.parse().map_err(|_| format!("'{text}' is neither a number nor 'usual'"))?;
        if most >= 1.0 {
            Ok(Self::Times(most))
        } else {
            Err(format!("{most} is less than 1: nothing may get slower"))
        }
    }

    fn print(&self) -> String {
        match self {
            Self::Usual => "usual".into(),
            Self::Times(most) => most.to_string(),
        }
    }
}

/// How much memory a program may need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// So many bytes.
    Bytes(u64),
    /// A share of the chip's memory, more than 0 and at most 1.
    Share(f64),
}

impl Room {
    /// Reads bytes as [`Bytes`] does, or a share: `16GiB`, `0.9`.
    ///
    /// # Errors
    /// What `text` is not.
    pub fn parse(text: &str) -> Result<Self, String> {
        let share =
            text.parse::<f64>().ok().filter(|share| text.contains('.') && *share > 0.0 && *share <= 1.0);
        match share {
            Some(share) => Ok(Self::Share(share)),
            None => Bytes::parse(text)
                .map(|bytes| Self::Bytes(bytes.0))
                .map_err(|error| format!("{error}, nor a share of the chip's memory such as 0.9")),
        }
    }

    /// Bytes on a target.
    ///
    /// # Errors
    /// It is a share, and how much memory there is depends on the machine.
    pub fn bytes(self, target: Target) -> Result<u64, String> {
        match (self, target.memory()) {
            (Self::Bytes(bytes), _) => Ok(bytes),
            (Self::Share(share), Some(memory)) => Ok((share * memory as f64) as u64),
            (Self::Share(share), None) => Err(format!(
                "{share} of what? How much memory there is for {target} depends on the machine: say bytes"
            )),
        }
    }
}
