// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Files that are written whole or not at all, and errors that name them.

use anyhow::{Context, Result};
pub use slimhlo_output::Target;

/// Fails where writing is sure to fail, before work is spent on it.
pub fn check(target: &Target) -> Result<()> {
    target.check().with_context(|| cannot_write(target))
}

/// Writes all of it.
pub fn write(target: &Target, bytes: &[u8]) -> Result<()> {
    target.write(bytes).with_context(|| cannot_write(target))
}

fn cannot_write(target: &Target) -> String {
    format!("cannot write {target}")
}
