// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! MLIR as this library needs it: the dialects that programs come in and the passes of the default pipeline,
//! and no others, so that what is linked statically stays small.

use melior::Context;
use melior::diagnostic::{Diagnostic, DiagnosticSeverity};
use melior::dialect::{DialectHandle, DialectRegistry};
use melior::ir::attribute::StringAttribute;
use melior::ir::{Module, OperationRef};
use melior::pass::PassManager;
use mlir_sys::{
    MlirDialectRegistry, mlirPassManagerRunOnOp, mlirRegisterTransformsCSE,
    mlirRegisterTransformsCanonicalizer, mlirRegisterTransformsInliner, mlirRegisterTransformsSymbolDCE,
};
use slimhlo_passes::memory;
use std::sync::{Arc, Mutex, Once, PoisonError};

unsafe extern "C" {
    fn slimhloPjrtRegisterFunc(registry: MlirDialectRegistry);
}

/// A context for one program.
pub fn context() -> Context {
    static PASSES: Once = Once::new();
    PASSES.call_once(|| {
        // SAFETY: they add to MLIR's registry, which nobody else is adding to.
        unsafe {
            mlirRegisterTransformsCanonicalizer();
            mlirRegisterTransformsCSE();
            mlirRegisterTransformsInliner();
            mlirRegisterTransformsSymbolDCE();
        }
        slimhlo_passes::register_all();
    });
    let registry = DialectRegistry::new();
    slimhlo_dialect::ffi::register_dialects(&registry);
    slimhlo_forms::register_dialects(&registry);
    DialectHandle::arith().insert_dialect(&registry);
    DialectHandle::llvm().insert_dialect(&registry);
    // Of types: in artifacts, and of tensors that are stored otherwise.
    DialectHandle::quant().insert_dialect(&registry);
    DialectHandle::sparse_tensor().insert_dialect(&registry);
    // SAFETY: the registry is alive.
    unsafe { slimhloPjrtRegisterFunc(registry.to_raw()) };
    let context = Context::new();
    context.append_dialect_registry(&registry);
    context
}

/// Runs the passes of a manager on an op; false after a diagnostic.
pub fn run(manager: &PassManager<'_>, op: OperationRef<'_, '_>) -> bool {
    // SAFETY: both are alive, and nothing else holds on to what is inside of the op.
    unsafe { mlirPassManagerRunOnOp(manager.to_raw(), op.to_raw()).value != 0 }
}

/// The module's name, if it has one.
pub fn name(module: &Module<'_>) -> Option<String> {
    let name = slimhlo_dialect::ffi::attribute_of(module.as_operation(), "sym_name")?;
    let name = StringAttribute::try_from(name).ok()?.value().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Errors that a context has diagnosed.
#[derive(Clone, Default)]
pub struct Said(Arc<Mutex<Vec<String>>>);

impl Said {
    /// Takes all diagnostics of the context from now on: standard error belongs to the user's program.
    pub fn listen(context: &Context) -> Self {
        let said = Self::default();
        let sink = said.clone();
        context.attach_diagnostic_handler(move |diagnostic| {
            if matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
                sink.0.lock().unwrap_or_else(PoisonError::into_inner).push(located(&diagnostic));
            }
            true
        });
        said
    }

    /// The first of them.
    pub fn first(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).first().cloned()
    }
}

/// A diagnostic with the line of the user's source that it is about, if the module says.
fn located(diagnostic: &Diagnostic<'_>) -> String {
    match memory::source_of(diagnostic.location()) {
        Some(memory::Source { file, line, .. }) if !file.is_empty() => format!("{file}:{line}: {diagnostic}"),
        _ => diagnostic.to_string(),
    }
}

/// Has `callback` run before this library's static variables go away.
pub fn at_exit(callback: extern "C" fn()) {
    // SAFETY: the library is never unloaded, so the callback is there when the process ends, and it does not
    // unwind.
    unsafe { libc::atexit(callback) };
}
