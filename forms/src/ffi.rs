// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What MLIR's C API has and melior does not. This module, `source` and `hooks` are where this crate's `unsafe` lives.

use crate::Source;
use melior::Context;
use melior::ir::Module;
use mlir_sys::{MlirStringRef, mlirModuleCreateParse, mlirOperationCreateParse, mlirModuleFromOperation, mlirOperationDestroy};
use std::ffi::CString;

/// Parses and verifies text or bytecode; locations name the file `name`, if there is one. `None` after a diagnostic.
pub fn parse<'c>(context: &'c Context, source: &Source, name: Option<&str>) -> Option<Module<'c>> {
    let text = MlirStringRef { data: source.as_ptr().cast(), length: source.len() };
    let Some(name) = name else {
        // SAFETY: context and text are alive for the call, and a zero byte follows the text.
        return unsafe { Module::from_option_raw(mlirModuleCreateParse(context.to_raw(), text)) };
    };
    let name = CString::new(name).unwrap_or_default();
    let name = MlirStringRef { data: name.as_ptr(), length: name.as_bytes().len() };
    // SAFETY: as above, and the name is alive and ends with a zero byte; an op that is no module is ours to destroy.
    unsafe {
        let op = mlirOperationCreateParse(context.to_raw(), text, name);
        if op.ptr.is_null() {
            return None;
        }
        let module = Module::from_option_raw(mlirModuleFromOperation(op));
        if module.is_none() {
            mlirOperationDestroy(op);
        }
        module
    }
}
