// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! CUDA's math functions, as LLVM bitcode.

use crate::{Error, nvidia};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::support::LLVMString;
use inkwell::targets::TargetMachine;
use inkwell::values::BasicValue;
use std::collections::BTreeSet;
use std::fs;
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

/// The file, read.
pub struct Library {
    path: PathBuf,
    bitcode: Vec<u8>,
}

impl Library {
    /// What is needed for these functions; nothing if none of them is CUDA's. `named` is where to look, and nowhere else.
    pub fn for_functions(
        functions: impl Iterator<Item = String>,
        named: Option<&Path>,
    ) -> Result<Option<Self>, Error> {
        let functions: BTreeSet<_> = functions.filter(|name| name.starts_with(PREFIX)).collect();
        if functions.is_empty() {
            return Ok(None);
        }
        let functions = functions.into_iter().collect();
        let path = match named {
            Some(path) => path.to_owned(),
            None => find().ok_or(Error::NoLibdevice { functions })?,
        };
        match fs::read(&path) {
            Ok(bitcode) => Ok(Some(Self { path, bitcode })),
            Err(error) => Err(Error::Libdevice { path, reason: error.to_string() }),
        }
    }

    /// Gives `module` the functions that it calls, as functions of its own.
    pub fn link(&self, module: &Module<'_>, machine: &TargetMachine) -> Result<(), Error> {
        if !missing(module).iter().any(|name| name.starts_with(PREFIX)) {
            return Ok(());
        }
        let failed =
            |error: LLVMString| Error::Libdevice { path: self.path.clone(), reason: error.to_string() };
        let bitcode = MemoryBuffer::create_from_memory_range_copy(&self.bitcode, "libdevice");
        let library = Module::parse_bitcode_from_buffer(&bitcode, module.get_context()).map_err(failed)?;
        // It is made for every chip, and says so in ways that the linker would warn of.
        library.set_triple(&machine.get_triple());
        library.set_data_layout(&machine.get_target_data().get_data_layout());
        module.link_in_module(library).map_err(failed)
    }
}

/// Where CUDA keeps it.
pub fn find() -> Option<PathBuf> {
    nvidia::find("nvvm/libdevice/libdevice.10.bc")
}
