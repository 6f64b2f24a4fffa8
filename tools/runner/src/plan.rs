// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The buffer plan in words.

use std::fmt::Write;

use serde::Serialize;
use slimhlo_package::{Buffer, Manifest};

use crate::device::Memory;
use crate::text::{Align, bytes, table};

/// So many of the largest values are named when memory runs out.
const LARGEST: usize = 10;

/// The device memory that a package needs, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Planned {
    /// The arguments.
    pub arguments: u64,
    /// The results that do not lie in arguments.
    pub results: u64,
    /// Temporary memory.
    pub arena: u64,
    /// The constants.
    pub constants: u64,
    /// The sum.
    pub total: u64,
}

impl Planned {
    /// What `manifest` says.
    #[must_use]
    pub fn of(manifest: &Manifest) -> Self {
        let sum = |bytes: &mut dyn Iterator<Item = u64>| bytes.fold(0, u64::saturating_add);
        let own = manifest.results.iter().filter(|result| result.argument.is_none());
        Self {
            arguments: sum(&mut manifest.arguments.iter().map(|argument| argument.bytes)),
            results: sum(&mut own.map(|result| result.bytes)),
            arena: manifest.arena_bytes,
            constants: manifest.constants_bytes,
            total: manifest.planned_bytes(),
        }
    }

    /// One line.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut parts =
            vec![format!("arguments {}", bytes(self.arguments)), format!("results {}", bytes(self.results))];
        parts.push(format!("arena {}", bytes(self.arena)));
        if self.constants > 0 {
            parts.push(format!("constants {}", bytes(self.constants)));
        }
        format!("{} ({})", bytes(self.total), parts.join(" + "))
    }
}

/// The whole plan: the sum, then each value with its place, length, type and when its memory is taken.
#[must_use]
pub fn plan(manifest: &Manifest) -> String {
    let mut values: Vec<_> = manifest.buffers.iter().collect();
    values.sort_by_key(|value| (value.slot, value.live.map(|live| (live.from, live.to))));
    format!("planned {}\n{}", Planned::of(manifest).describe(), rows(&values, |bytes| bytes.to_string()))
}

/// Values as a table, with their lengths written by `length`.
fn rows(values: &[&Buffer], length: impl Fn(u64) -> String) -> String {
    let head = ["where", "bytes", "type", "live", "value", "source"].map(String::from).to_vec();
    let rows = values.iter().map(|value| {
        let live =
            value.live.map_or_else(|| "always".into(), |live| format!("steps {} to {}", live.from, live.to));
        let kind = value.tensor.as_ref().map_or_else(String::new, ToString::to_string);
        let location = value.location.clone().unwrap_or_default();
        vec![value.slot.to_string(), length(value.bytes), kind, live, value.name.clone(), location]
    });
    let left = Align::Left;
    table(&[left, Align::Right, left, left, left, left], [head].into_iter().chain(rows))
}

/// Why a program does not fit: the plan, the memory there is, and the largest values.
#[must_use]
pub fn explain(manifest: &Manifest, memory: Option<Memory>) -> String {
    let mut text = format!("the program needs {}", Planned::of(manifest).describe());
    if let Some(Memory { used, total: Some(total) }) = memory {
        let _ = write!(text, "; the device has {}, of which {} are in use", bytes(total), bytes(used));
    }
    let mut values: Vec<_> = manifest.buffers.iter().collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.bytes));
    if values.is_empty() {
        return text;
    }
    let _ = write!(text, "\nits largest values:\n");
    values.truncate(LARGEST);
    text.push_str(&rows(&values, bytes));
    text.truncate(text.trim_end().len());
    text
}
