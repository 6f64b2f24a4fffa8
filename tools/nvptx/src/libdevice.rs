// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! CUDA's math functions, as LLVM bitcode.

use crate::{Error, nvidia};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use inkwell::values::BasicValue;
use std::path::{Path, PathBuf};

/// How its functions' names begin.
const PREFIX: &str = "__nv_";

/// Names of the functions that `module` calls and does not have.
pub fn missing(module: &Module<'_>) -> Vec<String> {
    let declared = module.get_functions().filter(|function| function.count_basic_blocks() == 0);
    // Those nobody calls may stay declared for ever.
    let used =
        declared.filter(|function| function.as_global_value().as_pointer_value().get_first_use().is_some());
    let names = used.map(|function| function.get_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with("llvm.")).collect()
}

/// Gives `module` the functions that it calls, as functions of its own. `named` is where to look, and nowhere else.
pub fn link(module: &Module<'_>, machine: &TargetMachine, named: Option<&Path>) -> Result<(), Error> {
    let functions: Vec<_> = missing(module).into_iter().filter(|name| name.starts_with(PREFIX)).collect();
    if functions.is_empty() {
        return Ok(());
    }
    let path = match named {
        Some(path) => path.to_owned(),
        None => find().ok_or(Error::NoLibdevice { functions })?,
    };
    let failed = |reason: String| Error::Libdevice { path: path.clone(), reason };
    let bitcode = MemoryBuffer::create_from_file(&path).map_err(|error| failed(error.to_string()))?;
    let library = Module::parse_bitcode_from_buffer(&bitcode, module.get_context())
        .map_err(|error| failed(error.to_string()))?;
    // It is made for every chip, and says so in ways that the linker would warn of.
    library.set_triple(&machine.get_triple());
    library.set_data_layout(&machine.get_target_data().get_data_layout());
    module.link_in_module(library).map_err(|error| failed(error.to_string()))
}

/// Where CUDA keeps it.
pub fn find() -> Option<PathBuf> {
    nvidia::find("nvvm/libdevice/libdevice.10.bc")
}
