// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-to-ptx`: kernels become PTX.
//!
//! # What it matches
//!
//! The `gpu.module`s of a module; all go into one
//!
//! ```mlir
//! gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90">, assembly = ".version 7.8 ...">]
//! ```
//!
//! which stands where the first of them was: the form that MLIR's own tools for offloading read.
//!
//! # What it costs
//!
//! LLVM's optimisations and NVPTX back end, and libdevice's if kernels call its functions.
//!
//! # When it must not fire
//!
//! A kernel that needs libdevice where that is not found is an error which says how to provide it.

use crate::{Chip, Options, compile, ffi};
use melior::dialect::{DialectHandle, DialectRegistry};
use melior::ir::attribute::{ArrayAttribute, StringAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef};
use slimhlo_dialect::ffi::attribute_of;
use slimhlo_passes::framework::{self, Changed, Pass, PassContext, PassError, PassResult};
use slimhlo_passes::ir::{self, Builder};
use slimhlo_passes::rewrite::ops_named;
use slimhlo_passes::{Anchor, PassInfo};
use std::path::PathBuf;
use std::sync::LazyLock;

slimhlo_passes::pass_options! {
    /// Compile kernels to PTX.
    ///
    /// All `gpu.module`s become one `gpu.binary` with PTX for one chip, by LLVM's NVPTX back end. What kernels need of CUDA's
    /// math functions is linked in.
    ///
    /// ```sh
    /// slimhlo-opt --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx=chip=sm_80 in.mlir
    /// ```
    pub struct ToPtx {
        /// The GPU that code is for: sm_70 to sm_120.
        pub chip: String = "sm_90".to_owned(),
        /// The version of PTX, such as 8.0; else the first that knows the chip.
        pub ptx_version: String = String::new(),
        /// How much LLVM optimises: 0 to 3.
        pub opt_level: u64 = 3,
        /// CUDA's math functions; else they are looked for under CUDA_HOME and in the Python environment.
        pub libdevice: String = String::new(),
    }
}

impl ToPtx {
    fn options(&self) -> Result<Options, String> {
        let chip: Chip = self.chip.parse()?;
        let version = Some(&self.ptx_version).filter(|version| !version.is_empty());
        let opt_level = u8::try_from(self.opt_level).ok().filter(|level| *level <= 3);
        Ok(Options {
            chip,
            ptx_version: version.map(|version| version.parse()).transpose()?,
            opt_level: opt_level.ok_or("opt-level is none of 0, 1, 2 and 3")?,
            libdevice: Some(PathBuf::from(&self.libdevice)).filter(|path| !path.as_os_str().is_empty()),
        })
    }
}

impl Pass for ToPtx {
    const ARGUMENT: &'static str = "slimhlo-to-ptx";
    const ANCHOR: Anchor = Anchor::Module;

    fn dependent_dialects(registry: &DialectRegistry) {
        ir::insert_kernel_dialects(registry);
        DialectHandle::cf().insert_dialect(registry);
        ffi::insert_nvvm(registry);
    }

    fn check(&self) -> Result<(), String> {
        self.options().map(drop)
    }

    fn run<'c>(&self, module: OperationRef<'c, '_>, _context: &PassContext<'_>) -> PassResult<'c> {
        let kernels = ops_named(module, "gpu.module");
        let Some(first) = kernels.first() else { return Ok(Changed::No) };
        let options = self.options().map_err(PassError::new)?;
        let compiled =
            compile(module, &options, false).map_err(|error| PassError::at(*first, error.to_string()))?;

        let build = Builder::new(module);
        let context = build.context();
        let target = Attribute::parse(context, &format!("#nvvm.target<chip = \"{}\">", options.chip))
            .ok_or_else(|| PassError::at(*first, "cannot be given a target"))?;
        let handler = Attribute::parse(context, "#gpu.select_object")
            .ok_or_else(|| PassError::at(*first, "cannot be given a handler"))?;
        let object = ffi::assembly_object(context, target, &compiled.ptx);
        build.set_insertion_point_before(*first);
        let name = attribute_of(*first, "sym_name")
            .unwrap_or_else(|| StringAttribute::new(context, "kernels").into());
        let attributes = [
            ("sym_name", name),
            // The op cannot be printed without one.
            ("offloadingHandler", handler),
            ("objects", ArrayAttribute::new(context, &[object]).into()),
        ];
        build.op_with_regions("gpu.binary", &[], &attributes, &[], &[], first.location());
        kernels.iter().for_each(|op| build.erase(*op));
        Ok(Changed::Yes)
    }
}

/// Passes of this crate, which those of `slimhlo-passes` do not know of.
pub fn passes() -> &'static [PassInfo] {
    static PASSES: LazyLock<Vec<PassInfo>> = LazyLock::new(|| vec![PassInfo::of::<ToPtx>()]);
    &PASSES
}

/// Adds these passes to MLIR's registry; more than once does no harm.
pub fn register_passes() {
    passes().iter().for_each(framework::register);
}
