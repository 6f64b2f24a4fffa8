// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Where in the user's source a location is.

use super::ffi::{Parts, parts};
use melior::ir::Location;
use std::fmt;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file, as the front end gave it.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1; 0 if unknown.
    pub column: u32,
    /// What the front end called the op: `jit(step)/transpose/mul`; may be empty.
    pub name: String,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)
    }
}

/// Nested deeper than this, locations are not looked into.
const DEEPEST: usize = 64;

/// The user's source line of a location: the innermost frame that a person wrote, where a front end gives the whole
/// call stack; the first of several locations that has one.
pub fn source_of(location: Location<'_>) -> Option<Source> {
    let mut frames = Vec::new();
    let mut name = String::new();
    collect(location, &mut frames, &mut name, 0);
    let best = frames.iter().position(|(file, _, _)| !is_library(file)).unwrap_or(0);
    let (file, line, column) = frames.into_iter().nth(best)?;
    Some(Source { file, line, column, name })
}

/// Frames from the innermost outwards.
fn collect(location: Location<'_>, frames: &mut Vec<(String, u32, u32)>, name: &mut String, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    match parts(location) {
        Parts::File { file, line, column } => frames.push((file, line, column)),
        Parts::Name(text, child) => {
            // The outermost name says most: it is the path of the op.
            if name.is_empty() {
                *name = text;
            }
            collect(child, frames, name, depth + 1);
        }
        Parts::Call(callee, caller) => {
            collect(callee, frames, name, depth + 1);
            collect(caller, frames, name, depth + 1);
        }
        Parts::Fused(locations) => {
            for location in locations {
                collect(location, frames, name, depth + 1);
            }
        }
        Parts::Other => {}
    }
}

/// Whether a file is a front end's own.
fn is_library(file: &str) -> bool {
    [
        "/jax/_src/",
        "/jax/experimental/",
        "/flax/",
        "/optax/",
        "/site-packages/",
        "/dist-packages/",
        "<frozen ",
    ]
    .iter()
    .any(|part| file.contains(part))
}
