// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Kernels as functions of this process.

use crate::device::{level, optimise, symbol};
use crate::ffi::{self, Code, HostFunction};
use crate::{Error, block, lower, narrow};
use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine};
use melior::ir::OperationRef;
use std::collections::HashMap;
use std::sync::Once;

/// From kernels to the llvm dialect. What the C library has is called there: LLVM's own functions for these are less exact.
fn pipeline(threads: u64) -> String {
    format!("builtin.module(slimhlo-kernels-to-host{{threads={threads}}},builtin.module({LOWERING}))")
}

const LOWERING: &str = "\
    math-extend-to-supported-types,\
    convert-math-to-libm,convert-scf-to-cf,arith-expand{include-bf16=true},\
    convert-to-llvm,\
    reconcile-unrealized-casts";

/// What is not used of the machine: instructions that take small numbers for 0.
const WITHOUT: &str = "-avx512bf16,-avxneconvert,-avx512fp16,-amx-bf16";

/// The kernels of a module, compiled for this machine.
pub struct Kernels {
    functions: HashMap<String, HostFunction>,
    _code: Code,
}

impl Kernels {
    /// Compiles all kernels in `root`, which stays as it is. Blocks have so many `threads`, a power of two up to 1024.
    ///
    /// # Errors
    /// A pass or LLVM refuses a kernel; with what it says.
    pub fn new(root: OperationRef<'_, '_>, opt_level: u8, threads: u64) -> Result<Self, Error> {
        let mut module = lower::copy(root);
        lower::run(&mut module, &pipeline(threads))?;
        let code = Code::new(Box::new(Context::create()), |context| {
            let llvm = lower::translate(&module, "builtin.module", context)?;
            let machine = machine(opt_level)?;
            llvm.set_triple(&machine.get_triple());
            llvm.set_data_layout(&machine.get_target_data().get_data_layout());
            let (cpu, features) =
                (machine.get_cpu(), machine.get_feature_string().to_string_lossy().into_owned());
            for function in llvm.get_functions().filter(|function| function.count_basic_blocks() > 0) {
                // The engine makes a machine of its own, which knows of no features.
                for (key, value) in
                    [("target-cpu", cpu.to_string_lossy().as_ref()), ("target-features", &features)]
                {
                    function
                        .add_attribute(AttributeLoc::Function, context.create_string_attribute(key, value));
                }
            }
            optimise(&llvm, &machine, opt_level)?;
            // By name alone, so that their type does not matter.
            let ty = context.void_type().fn_type(&[], false);
            let provided = narrow::functions().into_iter().chain(block::functions());
            let known: Vec<_> = provided
                .map(|(name, address)| {
                    let there = llvm.get_function(name);
                    (there.unwrap_or_else(|| llvm.add_function(name, ty, None)), address)
                })
                .collect();
            let engine = llvm
                .create_jit_execution_engine(level(opt_level))
                .map_err(|error| Error::Llvm(error.to_string()))?;
            for (function, address) in known {
                engine.add_global_mapping(&function, address);
            }
            Ok(engine)
        })?;
        let mut functions = HashMap::new();
        for name in lower::kernels(root) {
            let address = code.address(&name);
            if let Some(reason) = code.error() {
                return Err(Error::Llvm(reason));
            }
            let address = address.ok_or_else(|| Error::Undefined(vec![name.clone()]))?;
            // SAFETY: slimhlo-kernels-to-host makes functions of this type of kernels.
            functions.insert(symbol(&name), unsafe { ffi::function(address) });
        }
        Ok(Self { _code: code, functions })
    }

    /// The kernels by their names in PTX ([`symbol`]). They may be called as long as this lives.
    pub fn functions(&self) -> &HashMap<String, HostFunction> {
        &self.functions
    }
}

fn machine(opt_level: u8) -> Result<TargetMachine, Error> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = Target::initialize_native(&InitializationConfig::default());
    });
    let triple = TargetMachine::get_default_triple();
    let target = Target::from_triple(&triple).map_err(|error| Error::Llvm(error.to_string()))?;
    let features = format!("{},{WITHOUT}", TargetMachine::get_host_cpu_features().to_string());
    let cpu = TargetMachine::get_host_cpu_name().to_string();
    target
        .create_target_machine(
            &triple,
            &cpu,
            &features,
            level(opt_level),
            RelocMode::Default,
            CodeModel::JITDefault,
        )
        .ok_or_else(|| Error::Llvm(format!("there is no back end for {}", triple.as_str().to_string_lossy())))
}
