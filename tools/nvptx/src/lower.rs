// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From kernels in the gpu dialect to LLVM modules.

use crate::{Error, ffi};
use inkwell::context::Context;
use melior::diagnostic::{Diagnostic, DiagnosticSeverity};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{Module, OperationRef};
use melior::pass::PassManager;
use melior::utility::{parse_pass_pipeline, register_all_passes};
use slimhlo_passes::rewrite::{context_of, copy_of, ops_named};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Once;

/// Makes MLIR's and slimhlo's passes known by name, once per process.
fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register_all_passes();
        slimhlo_passes::register_all();
    });
}

/// A module of copies of the `gpu.module`s in `root`.
pub fn copy<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> Module<'c> {
    let module = Module::new(root.location());
    for kernels in ops_named(root, "gpu.module") {
        module.body().append_operation(copy_of(kernels));
    }
    module
}

/// Runs passes on a module.
pub fn run(module: &mut Module<'_>, pipeline: &str) -> Result<(), Error> {
    register();
    let context = context_of(module.as_operation());
    diagnosed(context, || {
        let manager = PassManager::new(context);
        parse_pass_pipeline(manager.as_operation_pass_manager(), pipeline)
            .map_err(|error| Error::Lowering(error.to_string()))?;
        // What comes of it is verified in any case; what is between its passes is for those who develop them.
        manager.enable_verifier(cfg!(debug_assertions));
        manager.run(module).map_err(|_| Error::Lowering(String::new()))?;
        if module.as_operation().verify() { Ok(()) } else { Err(Error::Lowering(String::new())) }
    })
}

/// The LLVM modules of all ops of a name in `module`.
pub fn translate<'l>(
    module: &Module<'_>,
    name: &str,
    llvm: &'l Context,
) -> Result<inkwell::module::Module<'l>, Error> {
    let context = context_of(module.as_operation());
    ffi::register_translations(context);
    let all = llvm.create_module("kernels");
    let inner: Vec<_> = ops_named(module.as_operation(), name)
        .into_iter()
        .filter(|op| *op != module.as_operation())
        .collect();
    for op in inner {
        let translated =
            diagnosed(context, || ffi::translate(op, llvm).ok_or(Error::Lowering(String::new())))?;
        all.link_in_module(translated).map_err(|error| Error::Llvm(error.to_string()))?;
    }
    Ok(all)
}

/// Adds to an error what MLIR has to say.
fn diagnosed<T>(context: &melior::Context, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&heard);
    let handler = context.attach_diagnostic_handler(move |diagnostic: Diagnostic<'_>| {
        // Everything else is for those who asked before.
        if !matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
            return false;
        }
        sink.borrow_mut().push(format!("{}: {diagnostic}", diagnostic.location()));
        true
    });
    let outcome = work();
    context.detach_diagnostic_handler(handler);
    outcome.map_err(|error| match error {
        Error::Lowering(text) if text.is_empty() => Error::Lowering(heard.borrow().join("; ")),
        error => error,
    })
}
