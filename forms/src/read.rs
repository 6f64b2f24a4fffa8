// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From bytes to modules.

use crate::ir::OwnedModule;
use crate::source::BYTECODE_MAGIC;
use crate::vhlo::from::{from_vhlo, is_vhlo};
use crate::{Source, Version, ffi, wire};
use melior::Context;
use melior::diagnostic::DiagnosticSeverity;
use melior::ir::Location;
use melior::ir::operation::OperationLike;
use std::cell::RefCell;
use std::fmt::{Display, Write};
use std::rc::Rc;

/// Why bytes are no module, or a module cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// MLIR or a verifier has complained: what was said, one diagnostic after the other.
    #[error("{0}")]
    Invalid(String),
    /// A portable artifact is of a version that is not known here.
    #[error(
        "portable artifacts of StableHLO {0} are not known here, those of {min} to {max} are",
        min = Version::MINIMUM, max = Version::CURRENT
    )]
    UnknownVersion(Version),
}

/// Parses and verifies a module in any form; what is wrong with it goes to the diagnostic handlers of the context. `name` is what locations
/// call a text; without one they say `-`. `None` after a diagnostic.
pub fn parse<'c>(context: &'c Context, source: &Source, name: Option<&str>) -> Option<OwnedModule<'c>> {
    if let Some(version) = Version::of_artifact(source).filter(|version| !version.is_known()) {
        wire::emit_error(Location::unknown(context), &Error::UnknownVersion(version).to_string());
        return None;
    }
    if let Err(fault) = source.check() {
        let at = |(line, column)| Location::new(context, name.unwrap_or("-"), line, column);
        wire::emit_error(fault.place.map_or_else(|| Location::unknown(context), at), &fault.message);
        return None;
    }
    if !is_converted(source) {
        return ffi::parse(context, source, name, true).map(OwnedModule::from);
    }
    wire::load(context)?;
    let module = OwnedModule::from(ffi::parse(context, source, name, false)?);
    if is_vhlo(&module) {
        from_vhlo(module.context(), &module)?;
    }
    module.as_operation().verify().then_some(module)
}

/// Whether MLIR's own parser takes it, whatever [`parse`] then says of what it has parsed. Nothing is reported.
pub fn is_parsed(context: &Context, source: &Source) -> bool {
    diagnosed(context, || ffi::parse(context, source, None, false)).is_ok()
}

/// Reads a module in any form: text, bytecode, portable artifacts, VHLO as text, files of `jax.export`.
///
/// The dialects must have been registered: by [`crate::register_dialects`] and `slimhlo_dialect::ffi::register_dialects`.
///
/// # Errors
/// [`Error::Invalid`] with the diagnostics, which no other handler of the context sees; [`Error::UnknownVersion`].
pub fn read_module<'c>(context: &'c Context, bytes: &[u8]) -> Result<OwnedModule<'c>, Error> {
    read_source(context, &Source::new(bytes))
}

/// The same of a source, for those who let go of it as soon as it is read.
///
/// # Errors
/// As for [`read_module`].
pub fn read_source<'c>(context: &'c Context, source: &Source) -> Result<OwnedModule<'c>, Error> {
    if let Some(version) = Version::of_artifact(source).filter(|version| !version.is_known()) {
        return Err(Error::UnknownVersion(version));
    }
    diagnosed(context, || parse(context, source, None))
}

/// Whether [`parse`] would do more than MLIR's own parser: portable artifacts and VHLO as text are made StableHLO.
pub fn is_converted(bytes: &[u8]) -> bool {
    if bytes.starts_with(BYTECODE_MAGIC) {
        return Version::of_artifact(bytes).is_some();
    }
    // Where it is not the name of an op, it costs time alone.
    memchr::memmem::find(bytes, b"vhlo.").is_some()
}

/// Does something; if there is no result, the errors that were reported on the way are the error.
///
/// # Errors
/// [`Error::Invalid`] with what was reported, line by line.
pub fn diagnosed<T>(context: &Context, work: impl FnOnce() -> Option<T>) -> Result<T, Error> {
    let said = Rc::new(RefCell::new(Vec::<String>::new()));
    let handler = {
        let said = said.clone();
        context.attach_diagnostic_handler(move |diagnostic| {
            if matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
                let place = text_of(diagnostic.location());
                let place = place.strip_prefix("loc(").and_then(|place| place.strip_suffix(')'));
                let place = place.filter(|place| *place != "unknown").map(|place| format!("{place}: "));
                said.borrow_mut().push(format!("{}{}", place.unwrap_or_default(), text_of(diagnostic)));
            }
            true
        })
    };
    let result = work();
    context.detach_diagnostic_handler(handler);
    let said = said.borrow().join("\n");
    result.ok_or(Error::Invalid(if said.is_empty() { "not a module".into() } else { said }))
}

/// Does something; errors that are reported on the way at no place are kept back and returned, for whoever knows the place.
pub fn without_place<T>(context: &Context, work: impl FnOnce() -> T) -> (T, Vec<String>) {
    let said = Rc::new(RefCell::new(Vec::new()));
    let handler = {
        let said = said.clone();
        context.attach_diagnostic_handler(move |diagnostic| {
            let has_none = matches!(diagnostic.severity(), DiagnosticSeverity::Error)
                && text_of(diagnostic.location()) == "loc(unknown)";
            if has_none {
                said.borrow_mut().push(text_of(diagnostic));
            }
            has_none
        })
    };
    let result = work();
    context.detach_diagnostic_handler(handler);
    let said = said.take();
    (result, said)
}

/// What something prints, as far as it is text: names in broken modules may be any bytes, which melior takes for an error, and the standard
/// library an error for a bug.
pub fn text_of(printed: impl Display) -> String {
    let mut text = String::new();
    if write!(text, "{printed}").is_err() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text
}
