// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Reads and writes modules.

use crate::diagnostics::Diagnostics;
use anyhow::{Context as _, Result, bail};
use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::Module;
use melior::ir::operation::{OperationLike, OperationPrintingFlags, WalkOrder, WalkResult};
use melior::utility::{register_all_dialects, register_all_passes};
use slimhlo_forms::{OwnedModule, Source};
use slimhlo_report::source;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
#[derive(Clone)]
pub struct Input {
    path: Option<PathBuf>,
    source: Arc<Source>,
    bytecode: bool,
    /// Whether it can be read again, as diagnostics do to show a line.
    again: bool,
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
            let source = Arc::new(Source::new(&text));
            return Ok(Self { path: None, bytecode: source.is_bytecode(), source, again: false });
        };
        let what = || format!("cannot read {}", path.display());
        let file = File::open(&path).with_context(what)?;
        let metadata = file.metadata().with_context(what)?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory)).with_context(what);
        }
        let source = Arc::new(Source::read(&file).with_context(what)?);
        Ok(Self { path: Some(path), bytecode: source.is_bytecode(), source, again: metadata.is_file() })
    }

    /// Gives back the memory of a module that is parsed, unless diagnostics may ask for its text.
    pub fn release(&mut self) {
        if self.again || self.bytecode {
            self.source = Arc::new(Source::new(&[]));
        }
    }

    /// For people, and for the JSON: the path as given, or `-`.
    pub fn name(&self) -> String {
        self.path.as_ref().map_or_else(|| "-".into(), |path| path.display().to_string())
    }

    /// The text, if it was read from something that cannot be read again.
    pub fn text(&self) -> Option<&[u8]> {
        (!self.again).then_some(&self.source)
    }

    /// What locations of ops call a text: its path if it can be read again.
    fn text_name(&self) -> Option<String> {
        self.again.then(|| self.name())
    }

    /// Parses and verifies.
    pub fn parse<'c>(
        &self,
        context: &'c Context,
        diagnostics: &Diagnostics,
        quiet: bool,
    ) -> Result<OwnedModule<'c>> {
        let module = slimhlo_forms::parse(context, &self.source, self.text_name().as_deref());
        let diagnosed = diagnostics.print(self.text(), quiet);
        match module {
            Some(module) => Ok(module),
            None if diagnosed => Err(Diagnosed.into()),
            None => bail!("{} is not a module", self.name()),
        }
    }

    /// Whether the module says where its ops come from: then what is printed of it has to as well.
    pub fn has_locations(&self, module: &Module<'_>) -> bool {
        // What the parser gives to ops whose text says nothing.
        let own = self.text_name().unwrap_or_else(|| "-".into());
        let bytecode = self.bytecode;
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
    slimhlo_forms::register_dialects(&registry);
    let context = Context::new();
    context.append_dialect_registry(&registry);
    context.set_allow_unregistered_dialects(allow_unregistered);
    context
}

/// How large constants of booleans are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Booleans {
    /// A byte per element, as jaxlib 0.10.2 reads and writes them
    #[default]
    Bytes,
    /// A bit per element, as MLIR 22 reads and writes them
    Bits,
}

/// The module as text.
pub fn print(module: &Module<'_>, locations: bool, booleans: Booleans) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = print_to(module, locations, booleans, &mut text);
    text
}

/// Writes the module as text, without a copy of it in memory.
///
/// # Errors
/// Those of the writer.
pub fn print_to(
    module: &Module<'_>,
    locations: bool,
    booleans: Booleans,
    to: &mut dyn Write,
) -> io::Result<()> {
    let flags = OperationPrintingFlags::new().enable_debug_info(locations, false);
    let mut lines = Lines { to, last: None };
    slimhlo_forms::print_to(module.as_operation(), flags, booleans == Booleans::Bytes, &mut lines)?;
    if lines.last == Some(b'\n') { Ok(()) } else { lines.to.write_all(b"\n") }
}

/// Writes the module as bytecode, without a copy of it in memory.
///
/// # Errors
/// Those of the writer.
pub fn write_bytecode_to(module: &Module<'_>, to: &mut dyn Write) -> io::Result<()> {
    let written =
        slimhlo_forms::bytecode_to(module.as_operation(), "slimhlo", slimhlo_forms::BYTECODE_VERSION, to)?;
    if written { Ok(()) } else { Err(io::Error::other("there is no bytecode of it")) }
}

/// Knows how what was written ends.
struct Lines<'a> {
    to: &'a mut dyn Write,
    last: Option<u8>,
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write_all(bytes)?;
        self.last = bytes.last().copied().or(self.last);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
