// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Where a program's memory goes, and what each pass of the default pipeline saves: what `slimhlo report`
//! and `slimhlo.report` of Python have in common.
//!
//! | file | what it knows |
//! |---|---|
//! | `profile.rs`, `source.rs` | the memory model's report, by value, step and line of the user's source |
//! | `pipeline.rs` | running passes and asking the model after each |
//! | `pareto.rs` | the frontier of bytes and time |
//! | `text.rs` | amounts, tables and the picture for a terminal |
//! | `html.rs`, `page` | the page |
//! | `ffi.rs` | the `unsafe` |

pub mod ffi;
pub mod html;
pub mod pareto;
pub mod pipeline;
pub mod profile;
pub mod source;
pub mod text;

use pareto::Point;
use pipeline::PassRun;
use profile::Profile;

/// What there is to report.
pub struct Findings<'a> {
    /// What the report is about: the module's file, `-` for standard input, or its name.
    pub input: String,
    /// As it is.
    pub before: &'a Profile,
    /// After the passes.
    pub after: Option<&'a Profile>,
    /// What they did.
    pub runs: &'a [PassRun],
    /// What else the program could be made into, from the fastest to the smallest, if that was asked for.
    pub frontier: &'a [Point],
}
