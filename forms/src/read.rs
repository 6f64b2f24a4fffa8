// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From bytes to modules.

use crate::{Source, ffi};
use melior::Context;
use melior::diagnostic::DiagnosticSeverity;
use melior::ir::Module;
use std::cell::RefCell;
use std::rc::Rc;

/// Why bytes are no module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// MLIR's parser or the verifier has complained: what was said, one diagnostic after the other.
    #[error("{0}")]
    Invalid(String),
}

/// Parses and verifies a module in any form; what is wrong with it goes to the diagnostic handlers of the context. `name` is what locations
/// call a text; without one they say `-`. `None` after a diagnostic.
pub fn parse<'c>(context: &'c Context, source: &Source, name: Option<&str>) -> Option<Module<'c>> {
    ffi::parse(context, source, name)
}

/// Reads a module in any form: text, bytecode.
///
/// The dialects must have been registered (`slimhlo_dialect::ffi::register_dialects`).
///
/// # Errors
/// [`Error::Invalid`] with the diagnostics, which no other handler of the context sees.
pub fn read_module<'c>(context: &'c Context, bytes: &[u8]) -> Result<Module<'c>, Error> {
    let said = Rc::new(RefCell::new(Vec::<String>::new()));
    let handler = {
        let said = said.clone();
        context.attach_diagnostic_handler(move |diagnostic| {
            if matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
                said.borrow_mut().push(diagnostic.to_string());
            }
            true
        })
    };
    let module = parse(context, &Source::new(bytes), None);
    context.detach_diagnostic_handler(handler);
    let said = said.borrow().join("\n");
    module.ok_or(Error::Invalid(if said.is_empty() { "not a module".into() } else { said }))
}
