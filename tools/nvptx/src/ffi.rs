// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What neither melior nor inkwell has: from an MLIR module to an LLVM module, and code that outlives the borrow of its context.
//! This crate's `unsafe` lives here.

use inkwell::context::{AsContextRef, Context};
use inkwell::execution_engine::ExecutionEngine;
use inkwell::llvm_sys::core::LLVMDisposeMessage;
use inkwell::llvm_sys::execution_engine::LLVMExecutionEngineGetErrMsg;
use inkwell::module::Module;
use melior::StringRef;
use melior::dialect::DialectRegistry;
use melior::ir::{Attribute, AttributeLike, OperationRef};
use mlir_sys::{
    MlirAttribute, mlirDialectHandleInsertDialect, mlirGPUObjectAttrGet, mlirGetDialectHandle__nvvm__,
    mlirRegisterAllLLVMTranslations, mlirTranslateModuleToLLVMIR,
};
use std::ffi::CStr;
use std::ptr;

/// A kernel for the CPU: takes the kernel's pointers, the first block, the block after the last, and how many there are.
pub type HostFunction = unsafe extern "C" fn(*const *mut u8, u64, u64, u64);

/// Lets the context translate MLIR's dialects of LLVM to LLVM IR.
pub fn register_translations(context: &melior::Context) {
    // SAFETY: the context is alive.
    unsafe { mlirRegisterAllLLVMTranslations(context.to_raw()) }
}

/// The LLVM module of an op with a body of the llvm dialect; nothing after a diagnostic.
pub fn translate<'l>(op: OperationRef<'_, '_>, context: &'l Context) -> Option<Module<'l>> {
    // SAFETY: op and context are alive; the module that comes back is the caller's, or null.
    unsafe {
        let raw = mlirTranslateModuleToLLVMIR(op.to_raw(), context.as_ctx_ref().cast());
        (!raw.is_null()).then(|| Module::new(raw.cast()))
    }
}

/// Inserts the nvvm dialect, which melior has no handle for.
pub fn insert_nvvm(registry: &DialectRegistry) {
    // SAFETY: the registry is alive for the call.
    unsafe { mlirDialectHandleInsertDialect(mlirGetDialectHandle__nvvm__(), registry.to_raw()) }
}

/// `#gpu.object<target, assembly = "text">`
pub fn assembly_object<'c>(context: &'c melior::Context, target: Attribute<'c>, text: &str) -> Attribute<'c> {
    /// `gpu::CompilationTarget::Assembly`
    const ASSEMBLY: u32 = 2;
    let none = MlirAttribute { ptr: ptr::null() };
    // SAFETY: context, target and text are alive for the call, which copies the text; no properties are a null attribute.
    unsafe {
        let text = StringRef::new(text).to_raw();
        Attribute::from_raw(mlirGPUObjectAttrGet(context.to_raw(), target.to_raw(), ASSEMBLY, text, none))
    }
}

/// Code in memory, with all that it is part of.
pub struct Code {
    // Dropped before what it borrows.
    engine: ExecutionEngine<'static>,
    _context: Box<Context>,
}

impl Code {
    /// Takes a context, and the engine that `make` makes with it.
    pub fn new<E>(
        context: Box<Context>,
        make: impl for<'l> FnOnce(&'l Context) -> Result<ExecutionEngine<'l>, E>,
    ) -> Result<Self, E> {
        // SAFETY: the context is on the heap, never moves, and is dropped after the engine; `make` cannot keep the borrow, since
        // it works for any lifetime.
        let borrowed: &'static Context = unsafe { &*ptr::from_ref::<Context>(&context) };
        Ok(Self { engine: make(borrowed)?, _context: context })
    }

    /// What went wrong as code was made: a function that is not in this process, say.
    pub fn error(&self) -> Option<String> {
        let mut message = ptr::null_mut();
        // SAFETY: the engine is alive; the message is the caller's, and is freed as LLVM wants it.
        unsafe {
            if LLVMExecutionEngineGetErrMsg(self.engine.as_mut_ptr(), &raw mut message) == 0
                || message.is_null()
            {
                return None;
            }
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            LLVMDisposeMessage(message);
            Some(text)
        }
    }

    /// The address of a function, which is good as long as this lives.
    pub fn address(&self, name: &str) -> Option<usize> {
        self.engine.get_function_address(name).ok()
    }
}

/// The function at an address.
///
/// # Safety
/// `address` must be that of a function of this type.
pub unsafe fn function(address: usize) -> HostFunction {
    // SAFETY: given by the caller.
    unsafe { std::mem::transmute::<usize, HostFunction>(address) }
}
