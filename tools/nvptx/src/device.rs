// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From kernels to PTX.

use crate::libdevice::Library;
use crate::{Chip, Error, PtxVersion, halves, intrinsics, libdevice, lower, stores};
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module};
use inkwell::passes::PassBuilderOptions;
use inkwell::support::LLVMString;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};
use inkwell::{AddressSpace, OptimizationLevel};
use melior::ir::OperationRef;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Once;

/// From the gpu dialect to the llvm and nvvm dialects.
const PIPELINE: &str = "builtin.module(builtin.module(gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm,reconcile-unrealized-casts)))";

const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// The address space of a block's memory.
const SHARED: u16 = 3;
/// The longest access of one thread. Kernels access a block's memory in vectors where their indices allow it, which an H100 refuses
/// where an array begins in between.
const VECTOR_BYTES: u32 = 16;

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

/// Kernels that LLVM compiles side by side come in parts of so many ops: enough for a part to be worth a thread, and no matter of how
/// many threads there are, since PTX is to be the same everywhere.
const PART: usize = 2048;

/// Compiles all kernels in `root`, which stays as it is. The LLVM IR is made text only if `llvm_ir` says so.
///
/// # Errors
/// The target is unknown, or a pass or LLVM refuses a kernel; with what it says.
pub fn compile(root: OperationRef<'_, '_>, options: &Options, llvm_ir: bool) -> Result<Compiled, Error> {
    // What was asked for comes before what is there.
    version(options)?;
    let mut module = lower::split(root, PART)?;
    intrinsics::call_by_name(module.as_operation());
    lower::run(&mut module, PIPELINE)?;
    let context = Context::create();
    let parts = lower::translate_each(&module, "gpu.module", &context)?;
    let library =
        Library::for_functions(parts.iter().flat_map(libdevice::missing), options.libdevice.as_deref())?;
    // LLVM's contexts are of one thread each; bitcode goes from one to another.
    let parts: Vec<Vec<u8>> =
        parts.into_iter().map(|part| part.write_bitcode_to_memory().as_slice().to_vec()).collect();
    let kernels: HashSet<String> = lower::kernels(root).into_iter().collect();
    let compiled: Vec<Part> = parts
        .par_iter()
        .enumerate()
        .map(|(number, bitcode)| {
            let suffix = if parts.len() > 1 { format!("${number}") } else { String::new() };
            part(bitcode, &kernels, &suffix, library.as_ref(), options, llvm_ir)
        })
        .collect::<Result<_, _>>()?;
    let undefined: BTreeSet<String> =
        compiled.iter().flat_map(|part| part.undefined.iter().cloned()).collect();
    if !undefined.is_empty() {
        return Err(Error::Undefined(undefined.into_iter().collect()));
    }
    let llvm_ir = llvm_ir.then(|| text(&compiled, &context)).transpose()?;
    Ok(Compiled { llvm_ir, ptx: join(compiled.iter().map(|part| part.ptx.as_str())) })
}

/// Some of the kernels.
struct Part {
    /// Optimised, if it was asked for.
    bitcode: Vec<u8>,
    ptx: String,
    /// Functions that are called and not there.
    undefined: Vec<String>,
}

/// Compiles a part. What is known in it only gets names that end in `suffix`, which no other part's do.
fn part(
    bitcode: &[u8],
    kernels: &HashSet<String>,
    suffix: &str,
    library: Option<&Library>,
    options: &Options,
    keep: bool,
) -> Result<Part, Error> {
    let failed = |error: LLVMString| Error::Llvm(error.to_string());
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bitcode, "kernels");
    let module = Module::parse_bitcode_from_buffer(&buffer, &context).map_err(failed)?;
    let machine = machine(options)?;
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    if let Some(library) = library {
        library.link(&module, &machine)?;
    }
    finish_symbols(&module, kernels, suffix);
    optimise(&module, &machine, options.opt_level)?;
    let undefined = libdevice::missing(&module);
    if !undefined.is_empty() {
        return Ok(Part { bitcode: Vec::new(), ptx: String::new(), undefined });
    }
    let ptx = machine.write_to_memory_buffer(&module, FileType::Assembly).map_err(failed)?;
    // LLVM ends it with a zero byte.
    let ptx = String::from_utf8_lossy(ptx.as_slice());
    let ptx = halves::add_words(ptx.trim_end_matches('\0'));
    Ok(Part {
        bitcode: if keep { module.write_bitcode_to_memory().as_slice().to_vec() } else { Vec::new() },
        ptx: stores::cut_before_stores(&ptx),
        undefined,
    })
}

/// The optimised LLVM IR of all parts.
fn text(parts: &[Part], context: &Context) -> Result<String, Error> {
    let failed = |error: LLVMString| Error::Llvm(error.to_string());
    let all = context.create_module("kernels");
    for part in parts {
        let buffer = MemoryBuffer::create_from_memory_range_copy(&part.bitcode, "kernels");
        let module = Module::parse_bitcode_from_buffer(&buffer, context).map_err(failed)?;
        all.set_triple(&module.get_triple());
        all.set_data_layout(&module.get_data_layout());
        all.link_in_module(module).map_err(failed)?;
    }
    Ok(all.print_to_string().to_string())
}

/// One text of several, which all begin with the same version, target and size of addresses.
fn join<'t>(parts: impl Iterator<Item = &'t str>) -> String {
    /// What the head of a text ends with.
    const LAST: &str = ".address_size 64\n";
    let mut all = String::new();
    for part in parts {
        match part.split_once(LAST) {
            Some((_, body)) if !all.is_empty() => all.push_str(body),
            _ => all.push_str(part),
        }
    }
    all
}

/// What a kernel is called in PTX, whose names have no dots.
pub fn symbol(kernel: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    kernel.chars().map(|character| if plain(character) { character } else { '$' }).collect()
}

/// Gives kernels the names that they have in PTX, and makes all else known inside only, so that what is not used goes. Names of all else
/// end in `suffix`. A block's arrays begin where vectors may.
fn finish_symbols(module: &Module<'_>, kernels: &HashSet<String>, suffix: &str) {
    for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
        let name = function.get_name().to_string_lossy().into_owned();
        if kernels.contains(&name) {
            function.as_global_value().set_name(&symbol(&name));
        } else {
            function.set_linkage(Linkage::Internal);
            function.as_global_value().set_name(&format!("{name}{suffix}"));
        }
    }
    let defined = module.get_globals().filter(|global| !global.is_declaration());
    for global in defined.filter(|global| !global.get_name().to_bytes().starts_with(b"llvm.")) {
        if global.as_pointer_value().get_type().get_address_space() == AddressSpace::from(SHARED) {
            global.set_alignment(global.get_alignment().max(VECTOR_BYTES));
        }
        global.set_linkage(Linkage::Internal);
        let name = global.get_name().to_string_lossy().into_owned();
        global.set_name(&format!("{name}{suffix}"));
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

/// The version of PTX; an error if it does not know the chip, for which LLVM would end the process.
fn version(options: &Options) -> Result<PtxVersion, Error> {
    let version = options.ptx_version.unwrap_or(options.chip.oldest_ptx());
    if version < options.chip.oldest_ptx() {
        return Err(Error::Version { chip: options.chip, version });
    }
    Ok(version)
}

fn machine(options: &Options) -> Result<TargetMachine, Error> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| Target::initialize_nvptx(&InitializationConfig::default()));
    let triple = TargetTriple::create(TRIPLE);
    let target = Target::from_triple(&triple).map_err(|error| Error::Llvm(error.to_string()))?;
    let version = version(options)?;
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
