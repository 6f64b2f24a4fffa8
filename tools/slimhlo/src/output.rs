// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Files that are written whole or not at all, and errors that name them.

use anyhow::{Context, Result};
pub use slimhlo_output::Target;
use std::io::{self, BufWriter, Write};

/// Fails where writing is sure to fail, before work is spent on it.
pub fn check(target: &Target) -> Result<()> {
    target.check().with_context(|| cannot_write(target))
}

/// Writes all of it.
pub fn write(target: &Target, bytes: &[u8]) -> Result<()> {
    target.write(bytes).with_context(|| cannot_write(target))
}

/// Writes what `print` writes, as it comes. What `print` fails with beside errors of the writer is why there is nothing to write.
pub fn stream(target: &Target, print: impl FnOnce(&mut dyn Write) -> Result<io::Result<()>>) -> Result<()> {
    let mut output = target.open().with_context(|| cannot_write(target))?;
    let mut buffered = BufWriter::with_capacity(1 << 20, output.file());
    let printed = print(&mut buffered)?.and_then(|()| buffered.flush());
    drop(buffered);
    printed.and_then(|()| output.commit()).with_context(|| cannot_write(target))
}

fn cannot_write(target: &Target) -> String {
    format!("cannot write {target}")
}
