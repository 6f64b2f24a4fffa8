// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Locations: the line of the user's source that an op comes from.

use melior::StringRef;
use melior::ir::Location;
use serde::Serialize;
use std::fmt;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Source {
    /// As the location has it: a path, or `-` for standard input.
    pub file: String,
    /// From 1.
    pub line: u64,
    /// From 1; 0 if not known.
    pub column: u64,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)?;
        if self.column > 0 { write!(formatter, ":{}", self.column) } else { Ok(()) }
    }
}

/// An empty text of MLIR's may have no place at all, which melior does not expect.
fn text(text: StringRef<'_>) -> &str {
    if text.to_raw().length == 0 { "" } else { text.as_str().unwrap_or_default() }
}

/// How many parts of one location are looked at: chains of calls may share their parts and unfold to any size.
const PARTS: usize = 256;

/// The innermost place in a file that a location names: of a call the callee first, of a fusion the first part.
pub fn of(location: Location<'_>) -> Option<Source> {
    let mut todo = vec![location];
    for _ in 0..PARTS {
        let location = todo.pop()?;
        if location.is_file_line_col_range() {
            let name = location.file_line_col_range_filename();
            let file = text(name.as_string_ref());
            return Some(Source {
                file: if file.is_empty() { "-".into() } else { file.into() },
                line: location.file_line_col_range_start_line() as u64,
                column: location.file_line_col_range_start_column() as u64,
            });
        } else if location.is_name() {
            todo.push(location.name_child_location());
        } else if location.is_call_site() {
            todo.extend([location.call_site_caller(), location.call_site_callee()]);
        } else if location.is_fused() {
            todo.extend(
                (0..location.fused_num_locations().min(PARTS)).rev().map(|i| location.fused_location(i)),
            );
        }
    }
    None
}

/// The name that a front end gave: `jit(step)/dot_general`, or of an argument `params['w']`.
pub fn name(location: Location<'_>) -> Option<String> {
    let mut todo = vec![location];
    for _ in 0..PARTS {
        let location = todo.pop()?;
        if location.is_name() {
            let name = location.name_value();
            return Some(text(name.as_string_ref())).filter(|name| !name.is_empty()).map(Into::into);
        } else if location.is_call_site() {
            todo.push(location.call_site_callee());
        } else if location.is_fused() {
            todo.extend(
                (0..location.fused_num_locations().min(PARTS)).rev().map(|i| location.fused_location(i)),
            );
        }
    }
    None
}
