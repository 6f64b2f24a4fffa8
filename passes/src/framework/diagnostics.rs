// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Diagnostics that are no verifier's.

pub(crate) use super::ffi::emit;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Severity {
    Error = 0,
    Warning = 1,
    Remark = 2,
}
