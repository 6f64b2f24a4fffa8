// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From kernels in the gpu dialect to LLVM modules.

use crate::{Error, ffi};
use inkwell::context::Context;
use melior::diagnostic::{Diagnostic, DiagnosticSeverity};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationBuilder, OperationLike, WalkResult};
use melior::ir::{
    Attribute, Block, Identifier, Location, Module, Operation, OperationRef, Region, RegionLike,
};
use melior::pass::PassManager;
use melior::utility::{parse_pass_pipeline, register_all_passes};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use slimhlo_passes::functions::name_of;
use slimhlo_passes::rewrite::{context_of, copy_of, ops_named, walk};
use std::cell::RefCell;
use std::iter;
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

/// A module of modules with a `gpu.module` each, which together have copies of all kernels in `root`, in order. Each has at most `limit`
/// ops in its kernels, or one kernel, so that they can be lowered side by side; what kernels call or read is in each.
pub fn split<'c: 'a, 'a>(root: OperationRef<'c, 'a>, limit: usize) -> Result<Module<'c>, Error> {
    let module = Module::new(root.location());
    for kernels in ops_named(root, "gpu.module") {
        let attributes: Vec<_> = kernels.attributes().collect();
        let first = kernels.region(0).ok().and_then(|region| region.first_block()?.first_operation());
        let (own, shared): (Vec<_>, Vec<_>) =
            iter::successors(first, |op| op.next_in_block()).partition(|op| is_kernel(*op));
        for part in parts(&own, limit) {
            let ops = shared.iter().chain(part).map(|op| copy_of(*op)).collect();
            let inner = with_body("gpu.module", &attributes, ops, kernels.location())?;
            module.body().append_operation(with_body(
                "builtin.module",
                &[],
                vec![inner],
                kernels.location(),
            )?);
        }
    }
    Ok(module)
}

/// An op with these in its body.
fn with_body<'c>(
    name: &str,
    attributes: &[(Identifier<'c>, Attribute<'c>)],
    ops: Vec<Operation<'c>>,
    location: Location<'c>,
) -> Result<Operation<'c>, Error> {
    let block = Block::new(&[]);
    for op in ops {
        block.append_operation(op);
    }
    let region = Region::new();
    region.append_block(block);
    OperationBuilder::new(name, location)
        .add_attributes(attributes)
        .add_regions([region])
        .build()
        .map_err(|error| Error::Lowering(error.to_string()))
}

/// Cuts a list of ops where those before the cut come to `limit` ops, with all that is inside.
fn parts<'k, 'c: 'a, 'a>(
    kernels: &'k [OperationRef<'c, 'a>],
    limit: usize,
) -> Vec<&'k [OperationRef<'c, 'a>]> {
    let mut parts = Vec::new();
    let (mut first, mut size) = (0, 0);
    for (index, kernel) in kernels.iter().enumerate() {
        let mut ops = 0;
        walk(*kernel, |_| {
            ops += 1;
            WalkResult::Advance
        });
        if size + ops > limit && index > first {
            parts.push(&kernels[first..index]);
            (first, size) = (index, 0);
        }
        size += ops;
    }
    parts.push(&kernels[first..]);
    parts
}

fn is_kernel(op: OperationRef<'_, '_>) -> bool {
    op_name(op) == "gpu.func" && ["kernel", "gpu.kernel"].iter().any(|name| attribute_of(op, name).is_some())
}

/// Names of the kernels in `root`, as MLIR has them.
pub fn kernels(root: OperationRef<'_, '_>) -> Vec<String> {
    ops_named(root, "gpu.func").into_iter().filter(|op| is_kernel(*op)).map(name_of).collect()
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

/// The LLVM modules of all ops of a name in `module`, one by one.
pub fn translate_each<'l>(
    module: &Module<'_>,
    name: &str,
    llvm: &'l Context,
) -> Result<Vec<inkwell::module::Module<'l>>, Error> {
    let context = context_of(module.as_operation());
    ffi::register_translations(context);
    let inner = ops_named(module.as_operation(), name).into_iter().filter(|op| *op != module.as_operation());
    inner
        .map(|op| diagnosed(context, || ffi::translate(op, llvm).ok_or(Error::Lowering(String::new()))))
        .collect()
}

/// The LLVM module of all ops of a name in `module`.
pub fn translate<'l>(
    module: &Module<'_>,
    name: &str,
    llvm: &'l Context,
) -> Result<inkwell::module::Module<'l>, Error> {
    let all = llvm.create_module("kernels");
    for translated in translate_each(module, name, llvm)? {
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
