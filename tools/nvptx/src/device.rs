// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From kernels to PTX.

use crate::{Chip, Error, PtxVersion, intrinsics, libdevice, lower};
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};
use melior::ir::OperationRef;
use slimhlo_dialect::ffi::attribute_of;
use slimhlo_passes::functions::name_of;
use slimhlo_passes::rewrite::ops_named;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Once;

/// From the gpu dialect to the llvm and nvvm dialects.
const PIPELINE: &str =
    "builtin.module(gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm,reconcile-unrealized-casts))";

const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// What code is made for, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The GPU.
    pub chip: Chip,
    /// The version of PTX; else the first that knows the GPU.
    pub ptx_version: Option<PtxVersion>,
    /// From 0 (no optimisation) to 3.
    pub opt_level: u8,
    /// CUDA's math functions, where they are not to be looked for.
    pub libdevice: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { chip: Chip::default(), ptx_version: None, opt_level: 3, libdevice: None }
    }
}

/// Kernels as text.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Optimised LLVM IR, if it was asked for.
    pub llvm_ir: Option<String>,
    /// PTX.
    pub ptx: String,
}

/// Compiles all kernels in `root`, which stays as it is. The LLVM IR is made text only if `llvm_ir` says so.
pub fn compile(root: OperationRef<'_, '_>, options: &Options, llvm_ir: bool) -> Result<Compiled, Error> {
    let mut module = lower::copy(root);
    intrinsics::call_by_name(module.as_operation());
    lower::run(&mut module, PIPELINE)?;
    let context = Context::create();
    let module = lower::translate(&module, "gpu.module", &context)?;
    let machine = machine(options)?;
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    libdevice::link(&module, &machine, options.libdevice.as_deref())?;
    let kernels: HashSet<String> = kernels(root).into_iter().collect();
    finish_symbols(&module, &kernels);
    optimise(&module, &machine, options.opt_level)?;
    let undefined = libdevice::missing(&module);
    if !undefined.is_empty() {
        return Err(Error::Undefined(undefined));
    }
    let ptx = machine
        .write_to_memory_buffer(&module, FileType::Assembly)
        .map_err(|error| Error::Llvm(error.to_string()))?;
    Ok(Compiled {
        llvm_ir: llvm_ir.then(|| module.print_to_string().to_string()),
        // LLVM ends it with a zero byte.
        ptx: String::from_utf8_lossy(ptx.as_slice()).trim_end_matches('\0').to_owned(),
    })
}

/// Names of the kernels in `root`, as MLIR has them.
pub fn kernels(root: OperationRef<'_, '_>) -> Vec<String> {
    let functions = ops_named(root, "gpu.func").into_iter();
    functions
        .filter(|function| {
            attribute_of(*function, "kernel").is_some() || attribute_of(*function, "gpu.kernel").is_some()
        })
        .map(name_of)
        .collect()
}

/// What a kernel is called in PTX, whose names have no dots.
pub fn symbol(kernel: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    kernel.chars().map(|character| if plain(character) { character } else { '$' }).collect()
}

/// Gives kernels the names that they have in PTX, and makes all else known inside only, so that what is not used goes.
fn finish_symbols(module: &Module<'_>, kernels: &HashSet<String>) {
    for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
        let name = function.get_name().to_string_lossy().into_owned();
        if kernels.contains(&name) {
            function.as_global_value().set_name(&symbol(&name));
        } else {
            function.set_linkage(Linkage::Internal);
        }
    }
    let defined = module.get_globals().filter(|global| !global.is_declaration());
    for global in defined.filter(|global| !global.get_name().to_bytes().starts_with(b"llvm.")) {
        global.set_linkage(Linkage::Internal);
    }
}

/// LLVM's passes.
pub fn optimise(module: &Module<'_>, machine: &TargetMachine, level: u8) -> Result<(), Error> {
    let options = PassBuilderOptions::create();
    module
        .run_passes(&format!("default<O{level}>"), machine, options)
        .map_err(|error| Error::Llvm(error.to_string()))
}

/// Levels by number.
pub fn level(level: u8) -> OptimizationLevel {
    match level {
        0 => OptimizationLevel::None,
        1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    }
}

fn machine(options: &Options) -> Result<TargetMachine, Error> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| Target::initialize_nvptx(&InitializationConfig::default()));
    let triple = TargetTriple::create(TRIPLE);
    let target = Target::from_triple(&triple).map_err(|error| Error::Llvm(error.to_string()))?;
    let version = options.ptx_version.unwrap_or(options.chip.oldest_ptx());
    // LLVM would end the process.
    if version < options.chip.oldest_ptx() {
        return Err(Error::Version { chip: options.chip, version });
    }
    target
        .create_target_machine(
            &triple,
            options.chip.name(),
            &version.feature(),
            level(options.opt_level),
            RelocMode::Default,
            CodeModel::Default,
        )
        .ok_or_else(|| Error::Llvm(format!("there is no back end for {}", options.chip)))
}
