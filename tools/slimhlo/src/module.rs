// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Reads and writes modules.

use crate::diagnostics::Diagnostics;
use crate::{ffi, source};
use anyhow::{Context as _, Result, bail};
use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::Module;
use melior::ir::operation::{OperationLike, OperationPrintingFlags, WalkOrder, WalkResult};
use melior::utility::{register_all_dialects, register_all_passes};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

/// The error after a diagnostic, which has said all there is to say.
#[derive(Debug)]
pub struct Diagnosed;

impl std::fmt::Display for Diagnosed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("not a valid module")
    }
}

impl std::error::Error for Diagnosed {}

/// Where a module comes from.
#[derive(Clone, Debug)]
pub struct Input {
    path: Option<PathBuf>,
    /// The text, where it cannot be read again.
    read: Option<Vec<u8>>,
}

impl Input {
    /// Reads an argument: a file; `-` or nothing for standard input.
    pub fn open(argument: Option<&Path>) -> Result<Self> {
        let path = argument.filter(|path| *path != Path::new("-")).map(Path::to_owned);
        let Some(path) = path else {
            if io::stdin().is_terminal() {
                eprintln!("slimhlo: reading a module from standard input; --help shows how to name a file");
            }
            let mut text = Vec::new();
            io::stdin().read_to_end(&mut text).context("cannot read standard input")?;
            return Ok(Self { path: None, read: Some(text) });
        };
        let what = || format!("cannot read {}", path.display());
        let mut file = File::open(&path).with_context(what)?;
        let metadata = file.metadata().with_context(what)?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory)).with_context(what);
        }
        let mut read = None;
        // A pipe can be read only once, and MLIR would have to.
        if !metadata.is_file() {
            let mut text = Vec::new();
            file.read_to_end(&mut text).with_context(what)?;
            read = Some(text);
        }
        Ok(Self { path: Some(path), read })
    }

    /// For people, and for the JSON: the path as given, or `-`.
    pub fn name(&self) -> String {
        self.path.as_ref().map_or_else(|| "-".into(), |path| path.display().to_string())
    }

    /// The text, if it was read from something that cannot be read again.
    pub fn text(&self) -> Option<&[u8]> {
        self.read.as_deref()
    }

    /// Parses and verifies.
    pub fn parse<'c>(
        &self,
        context: &'c Context,
        diagnostics: &Diagnostics,
        quiet: bool,
    ) -> Result<Module<'c>> {
        let module = match (&self.path, &self.read) {
            (_, Some(text)) => ffi::parse(context, text),
            (Some(path), None) => ffi::parse_file(context, path),
            (None, None) => None,
        };
        let diagnosed = diagnostics.print(self.text(), quiet);
        match module {
            Some(module) => Ok(module),
            None if diagnosed => Err(Diagnosed.into()),
            None => bail!("{} is not a module", self.name()),
        }
    }

    fn is_bytecode(&self) -> bool {
        let mut start = [0; 4];
        match (&self.read, &self.path) {
            (Some(text), _) => text.starts_with(ffi::BYTECODE_MAGIC),
            (None, Some(path)) => {
                File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
                    && start == ffi::BYTECODE_MAGIC
            }
            (None, None) => false,
        }
    }

    /// Whether the module says where its ops come from: then what is printed of it has to as well.
    pub fn has_locations(&self, module: &Module<'_>) -> bool {
        // What the parser gives to ops whose text says nothing.
        let own = if self.read.is_some() { "-".into() } else { self.name() };
        let bytecode = self.is_bytecode();
        let mut found = false;
        module.as_operation().walk(WalkOrder::PreOrder, |op| {
            let location = op.location();
            found = source::name(location).is_some()
                || source::of(location).is_some_and(|source| bytecode || source.file != own);
            if found { WalkResult::Interrupt } else { WalkResult::Advance }
        });
        found
    }
}

/// A context that knows all dialects and passes, MLIR's own and slimhlo's.
pub fn context(allow_unregistered: bool) -> Context {
    register_all_passes();
    slimhlo_passes::register_all();
    slimhlo_nvptx::register_passes();
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    slimhlo_dialect::ffi::register_dialects(&registry);
    let context = Context::new();
    context.append_dialect_registry(&registry);
    context.set_allow_unregistered_dialects(allow_unregistered);
    context
}

/// The module as text.
pub fn print(module: &Module<'_>, locations: bool) -> Result<String> {
    let flags = OperationPrintingFlags::new().enable_debug_info(locations, false);
    let mut text = module.as_operation().to_string_with_flags(flags)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}
