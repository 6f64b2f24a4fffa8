// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-emit-gpu`: kernels as code, from the StableHLO ops of each kernel function to a `gpu.func`.
//!
//! # What it makes
//!
//! Of each function marked `slimhlo.kernel = "<kind>"` one or more `gpu.func`s in `gpu.module @kernels`, of the same name
//! (`@K`, then `@K.1`, `@K.2`, ... to be launched after it on the same arguments): pointers to the buffers of all arguments,
//! results and scratch buffers, in this order. Bodies are of the arith, math, scf, gpu and llvm dialects. The kernel function
//! stays, as what the kernel means.
//!
//! ```mlir
//! func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {slimhlo.kernel = "map"} {
//!   %y = stablehlo.add %x, %x : tensor<8xf32>
//!   return %y : tensor<8xf32>
//! }
//! ```
//!
//! becomes a `gpu.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>)` whose threads each load, add and store elements.
//!
//! # How it is done
//!
//! * Kernels of loops that run ahead take one more pointer, and do nothing where it points to a 0 (`gpu/rounds.rs`).
//! * The root of a kernel says which elements are computed (`map`, `roots`), by loops that are right for any number of
//!   blocks and threads; what they are best launched with is said by `known_block_size` and `known_grid_size`.
//! * Everything else is computed on the fly, one element at an index at a time (`element`, `shape`).
//! * What an op computes on elements is in `numbers`.
//! * Indices have 32 bits unless a tensor of the kernel has too many elements.
//!
//! # What it relies on
//!
//! Buffers are aligned to 16 bytes and do not overlap, but for those that `slimhlo.in_place` and `slimhlo.may_share` name.
//! The product of grid and block does not exceed 2^24 where indices have 32 bits.
//!
//! # When it fails
//!
//! An op or element type that there is no code for is an error that names the op; nothing is left half written.

pub mod code;
mod cost;
pub mod element;
mod grids;
mod map;
pub mod numbers;
pub mod roots;
pub mod shape;
mod spots;
mod tile;

use super::form_kernels::entry;
use super::rounds;
use crate::framework::{Anchor, Changed, Pass, PassContext, PassError, PassResult, Statistic};
use crate::ir;
use crate::rewrite::{defining_op, ops_named, set_attribute, set_discardable_attribute};
use element::Kernel;
use melior::dialect::DialectRegistry;
use melior::ir::attribute::StringAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef};
use slimhlo_dialect::ffi::{self, op_name};

/// Name of the module of kernels.
pub const KERNELS: &str = "kernels";

/// Marks a module of kernels whose results must not depend on the order in which threads run.
const DETERMINISTIC: &str = "slimhlo.deterministic";

const EMITTED: Statistic = Statistic::new(c"emitted", c"Number of kernels written");

crate::pass_options! {
    /// Write the code of kernels: a gpu.func for each kernel function.
    ///
    /// Takes what `--slimhlo-form-kernels` leaves. Each function marked `slimhlo.kernel` gets a `gpu.func` of its name in
    /// `gpu.module @kernels`, on pointers to the buffers of its arguments, results and scratch buffers; kernels that need
    /// several launches get `@K.1`, `@K.2` and so on as well. An op that there is no code for is an error.
    ///
    /// ```sh
    /// slimhlo-opt in.mlir --slimhlo-form-kernels --slimhlo-emit-gpu
    /// ```
    pub struct EmitGpu {
        /// Whether results must not depend on the order in which threads run: sums of floats without atomics.
        pub deterministic: bool = false,
    }
}

impl Pass for EmitGpu {
    const ARGUMENT: &'static str = "slimhlo-emit-gpu";
    const ANCHOR: Anchor = Anchor::Module;
    const STATISTICS: &'static [Statistic] = &[EMITTED];

    fn dependent_dialects(registry: &DialectRegistry) {
        ir::insert_kernel_dialects(registry);
    }

    fn run<'c>(&self, module: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let present = ops_named(module, "gpu.module");
        if present.into_iter().any(|module| ir::string_attribute(module, "sym_name") == Some(KERNELS)) {
            return Ok(Changed::No);
        }
        let functions: Vec<_> = ops_named(module, "func.func")
            .into_iter()
            .filter(|function| ffi::attribute_of(*function, "slimhlo.kernel").is_some())
            .collect();
        if let Ok(main) = entry(module) {
            rounds::mark(main, &functions);
        }
        let build = ir::Builder::new(module);
        let Some(block) = element::body_of(module) else { return Ok(Changed::No) };
        build.set_insertion_point_to_end(block);
        let gpu_module = build.op_with_blocks("gpu.module", &[], &[], &[&[]], module.location());
        set_attribute(gpu_module, "sym_name", StringAttribute::new(build.context(), KERNELS).into());
        if self.deterministic {
            set_discardable_attribute(gpu_module, DETERMINISTIC, Attribute::unit(build.context()));
        }
        for &function in &functions {
            if let Err(error) = kernel(gpu_module, function) {
                build.erase(gpu_module);
                return Err(error);
            }
        }
        context.count(&EMITTED, functions.len() as u64);
        // Kernel by kernel, which MLIR does side by side.
        context.run_pipeline(gpu_module, "gpu.func(canonicalize,cse)")?;
        Ok(Changed::Yes)
    }
}

/// Whether results of kernels in a module must not depend on the order in which threads run.
fn is_deterministic(gpu_module: OperationRef<'_, '_>) -> bool {
    ffi::attribute_of(gpu_module, DETERMINISTIC).is_some()
}

/// Writes all `gpu.func`s of a kernel function.
fn kernel<'c: 'a, 'a>(
    gpu_module: OperationRef<'c, 'a>,
    function: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let text = |name| ir::string_attribute(function, name);
    let name = text("sym_name").ok_or_else(|| PassError::at(function, "has no name"))?;
    let kind = text("slimhlo.kernel")
        .ok_or_else(|| PassError::at(function, "has a kind of kernel that is no text"))?;
    if kind == "map" || kind == "update" {
        let kernel = Kernel::new(gpu_module, function, name)?;
        if kind == "map" {
            map::emit_map(&kernel)?
        } else {
            map::emit_update(&kernel)?
        }
        kernel.finish();
        return Ok(());
    }
    if kind == "rows" {
        let kernel = Kernel::new(gpu_module, function, name)?;
        roots::rows::emit(&kernel)?;
        kernel.finish();
        return Ok(());
    }
    let root = root(function, kind)?;
    let launches = roots::launches(root, is_deterministic(gpu_module))?;
    if launches.is_empty() {
        // Nothing better than each element for itself.
        let kernel = Kernel::new(gpu_module, function, name)?;
        let updates =
            (0..kernel.result_count()).any(|number| roots::slice_updated(&kernel, number).is_some());
        if updates {
            roots::emit_each(&kernel, root)?
        } else {
            map::emit_map(&kernel)?
        }
        kernel.finish();
    }
    for (number, launch) in launches.iter().enumerate() {
        let stage = if number == 0 { name.to_owned() } else { format!("{name}.{number}") };
        let kernel = Kernel::new(gpu_module, function, &stage)?;
        for (ty, count) in &launch.shared {
            kernel.add_shared(*ty, *count)?;
        }
        kernel.launch(element::BLOCK, launch.blocks);
        roots::emit(&kernel, root, number)?;
        kernel.finish();
    }
    Ok(())
}

/// The op that a kernel is named after: for reductions, products and sorts the last one, which ops may follow; else what is
/// returned.
fn root<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    kind: &str,
) -> Result<OperationRef<'c, 'a>, PassError<'c>> {
    let names: &[&str] = match kind {
        "reduce" => &["stablehlo.reduce"],
        "dot" => &["stablehlo.dot_general", "stablehlo.dot"],
        "convolution" => &["stablehlo.convolution"],
        "sort" => &["stablehlo.sort"],
        _ => &[],
    };
    let first = element::body_of(function).and_then(|block| block.first_operation());
    let root = if names.is_empty() {
        element::returned(function).first().copied().and_then(defining_op)
    } else {
        std::iter::successors(first, |op| op.next_in_block())
            .filter(|op| names.contains(&op_name(*op)))
            .last()
    };
    root.ok_or_else(|| PassError::at(function, format!("is a kernel of kind {kind} without such an op")))
}
