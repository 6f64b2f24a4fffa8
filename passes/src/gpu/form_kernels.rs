// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-form-kernels`: a function as calls of kernels.
//!
//! # What it does
//!
//! Splits `@main` (loops and branches included) into kernels: functions of StableHLO ops of which all but the last are
//! computed on the fly, element by element. Only what leaves a kernel is ever in memory.
//!
//! ```mlir
//! func.func @main(%x: tensor<8xf32>, %i: tensor<2xi32>) -> tensor<f32> {
//!   %y = stablehlo.sine %x : tensor<8xf32>
//!   %z = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] ...
//!   return %z : tensor<f32>
//! }
//! ```
//!
//! becomes
//!
//! ```mlir
//! func.func @main(%x: tensor<8xf32>) -> tensor<f32> {
//!   %z = call @reduce_0(%x) : (tensor<8xf32>) -> tensor<f32>
//!   return %z : tensor<f32>
//! }
//! func.func private @reduce_0(%x: tensor<8xf32>) -> tensor<f32> attributes {slimhlo.kernel = "reduce"} {
//!   // the sine, the constant and the reduction
//! }
//! ```
//!
//! What stays in a block: calls of kernels, `while`, `if` and `case`, constants that are neither splats nor small,
//! reshapes (views of the same bytes) and terminators. On kernel functions,
//!
//! * `slimhlo.kernel` is the kind: `map` (all results have as many elements; each is computed on the fly), or what the root is:
//!   `rows` (what is made of rows and of reductions of each), `reduce`, `scatter`, `update`, `sort`, `dot`, `convolution`, `reduce_window`, `select_and_scatter`, `rng`, `fft`,
//!   `cholesky`, `triangular_solve`;
//! * `slimhlo.in_place` has for each result the argument whose buffer it has to be in, or -1;
//! * `slimhlo.pointwise` are the arguments whose buffers results may take over, because each element is read only by who writes
//!   the same element of the results, and all results of an element are computed before any is stored.
//!
//! On a `while`, `slimhlo.turns` says how often it runs and `slimhlo.counts` what it counts, where that is known (`turns.rs`): its
//! counting is within kernels from here on. `slimhlo.unset` on a kernel says that nobody needs what it would make (`unset.rs`).
//!
//! Calls have been inlined before; composites are inlined here, `chlo.top_k` becomes a sort, `chlo.ragged_dot` a plain product
//! (`decompose/ragged_dot.rs`), `chlo.scan` a loop, a map the ops of its region, batch normalizations become sums and what
//! is computed of them, custom calls whose meaning is known become ops (`decompose/custom_call.rs`), and barriers and annotations go. What
//! has no elements is not computed (`decompose/empty.rs`).
//!
//! # What is stored
//!
//! Results of the function, operands and results of loops and branches, operands that are updated in place, and what
//! needs a kernel of its own: reductions, scatters, updates, sorts, dots, convolutions, windows and the like. All else can be
//! computed on the fly, and is, unless that costs more than to store it. Both are counted in bytes moved:
//!
//! * one evaluation costs the bytes it loads, and a byte for each 16 operations (a quotient is 8, an exponential 20, a power 40);
//!   what is smaller than 64 KiB is near and costs a fourth, one number for all elements nothing; gathered elements of what is larger than
//!   32 MiB cost a sector of 32;
//! * on the fly, that is paid for each evaluation: once per element of each kernel that needs it, for as many different
//!   places as it is needed at, times what a broadcast, a tile of a dot or a window repeats. What the kernel reads at the same
//!   place anyway is not paid for again;
//! * stored, it is paid once per element, then the store, each load, a launch (4 MB), and `stored-byte` bytes for each
//!   byte that it takes: memory is what this compiler is for. Where what it is computed from would only live on for it
//!   and is larger, that is not counted.
//!
//! A reduction of another reduction's result (a mean of distances) makes the elements of that itself, if it needs each once and they would take
//! more memory than all that they are made of.
//!
//! A reduction of rows is part of the kernel that makes something of the very rows, if that alone needs it (`partition/rows.rs`): a softmax
//! is one kernel of kind `rows`.
//!
//! What a stored byte is worth and how many places there may be are options; `cargo xtask bench choices` shows what other numbers give.
//! A kernel has at most 1500 ops, counted at each place where they are evaluated; what would be more is stored.
//!
//! What is read after it has been updated in place would force a copy of it: the smallest of what is computed from it on the
//! way is stored, before the update, unless what the update itself reads is apart from what it writes (halos) or the very
//! element.
//!
//! # Why it is right
//!
//! Ops are copied as they are; which of them share a function changes no value. Kernels are called where their root was, so
//! that all they need is there; stored operands are results of earlier calls.
//!
//! # What it costs
//!
//! One walk, backwards, with all users of an op decided before it; looking at what a value costs stops after 400 ops.

mod build;
mod decompose;
mod merge;
pub mod ops;
mod partition;
mod turns;
mod unset;

use crate::framework::{Anchor, Bytes, Changed, Pass, PassContext, PassError, PassResult, Statistic};
use crate::functions::{functions, is_public, name_of};
use crate::gpu::checked_target;
use crate::ir::{self, key};
use crate::rewrite::walk;
use build::Build;
use melior::dialect::{DialectHandle, DialectRegistry};
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, RegionLike, ValueLike};
use partition::{Choices, Partition};
use slimhlo_dialect::ffi::{attribute_in, attribute_of, op_name};
use std::collections::HashSet;
pub use turns::{Counts, TURNS};
pub use unset::UNSET;

crate::pass_options! {
    /// Split a function into kernels.
    ///
    /// `@main` becomes calls of private functions, one per kernel, and nothing but what goes from one kernel to another is in
    /// memory: producers are computed on the fly in their consumers by index arithmetic, where a cost model in bytes and
    /// operations finds that better than storing them. Fails, with the op and its location, where a module has what no kernel can
    /// do: dynamic shapes, collectives, custom calls, tuples.
    ///
    /// ```sh
    /// slimhlo-opt --inline --canonicalize --cse --symbol-dce --slimhlo-form-kernels in.mlir
    /// ```
    pub struct FormKernels {
        /// Do not join kernels of which one reads a result of the other that is needed after both: a kernel of its own
        /// may write over it.
        apart: bool = false,
        /// Traffic that a stored byte is worth, in bytes: memory is what slimhlo is for.
        stored_byte: Bytes = Bytes(4),
        /// Places at which one value is evaluated in one kernel, at most; what is evaluated at more is stored.
        most_places: u64 = 128,
    }
}

const KERNELS: Statistic = Statistic::new(c"num-kernels", c"kernels formed");
const CALLS: Statistic = Statistic::new(c"num-calls", c"calls of kernels");

/// The entry function of a module: `@main`, else the only one that is public.
///
/// # Errors
/// There is neither.
pub fn entry<'c: 'a, 'a>(module: OperationRef<'c, 'a>) -> Result<OperationRef<'c, 'a>, PassError<'c>> {
    let functions: Vec<_> = functions(module).collect();
    if let Some(main) = functions.iter().copied().find(|function| name_of(*function) == "main") {
        return Ok(main);
    }
    let mut candidates = functions.into_iter().filter(|function| is_public(*function));
    match (candidates.next(), candidates.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(PassError::at(module, "has neither a function @main nor just one public function")),
    }
}

/// What a function says of its argument or result; `which` is `arg_attrs` or `res_attrs`.
pub fn attributes_at<'c>(
    function: OperationRef<'c, '_>,
    which: &str,
    index: usize,
) -> Option<DictionaryAttribute<'c>> {
    let all = ArrayAttribute::try_from(attribute_of(function, which)?).ok()?;
    if index >= all.len() {
        return None;
    }
    DictionaryAttribute::try_from(all.element(index).ok()?).ok()
}

/// Whether the buffer of an argument may be written to.
pub fn is_donated(function: OperationRef<'_, '_>, argument: usize) -> bool {
    attributes_at(function, "arg_attrs", argument).is_some_and(|attributes| {
        ["tf.aliasing_output", "jax.buffer_donor"].iter().any(|name| attribute_in(attributes, name).is_some())
    })
}

impl Pass for FormKernels {
    const ARGUMENT: &'static str = "slimhlo-form-kernels";
    const ANCHOR: Anchor = Anchor::Module;
    const STATISTICS: &'static [Statistic] = &[KERNELS, CALLS];

    fn dependent_dialects(registry: &DialectRegistry) {
        DialectHandle::func().insert_dialect(registry);
        slimhlo_dialect::ffi::register_dialects(registry);
    }

    fn run<'c>(&self, module: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if is_formed(module) {
            return Ok(Changed::No);
        }
        for_one_partition(module)?;
        checked_target(module)?;
        decompose::decompose(module, context)?;
        let main = entry(module)?;
        turns::note(module, main);
        unset::mark(module, main);
        let block = main
            .region(0)
            .ok()
            .and_then(|region| region.first_block())
            .ok_or_else(|| PassError::at(main, "has no body"))?;
        if block.next_in_region().is_some() {
            return Err(PassError::at(main, "has more than one block"));
        }
        let mut read_only = HashSet::new();
        for index in 0..block.argument_count() {
            let argument = block.argument(index)?;
            ops::check_type(argument.r#type()).map_err(|reason| {
                PassError::at(main, format!("cannot be compiled: argument {index}: {reason}"))
            })?;
            if !is_donated(main, index) {
                read_only.insert(key(argument.into()));
            }
        }
        let choices = Choices {
            stored_byte: self.stored_byte.0 as f64,
            most_places: usize::try_from(self.most_places).unwrap_or(usize::MAX),
            apart: self.apart,
        };
        let partition = Partition::new(main, read_only, choices)?;
        let module_block = module
            .region(0)
            .ok()
            .and_then(|region| region.first_block())
            .ok_or_else(|| PassError::at(module, "has no body"))?;
        let names = functions(module).map(name_of).collect();
        context.count(&CALLS, partition.kernels.len() as u64);
        let kernels = Build::new(module, module_block, &partition, names).run()?;
        context.count(&KERNELS, kernels as u64);
        Ok(Changed::Yes)
    }
}

/// Refuses a module that a partitioner would spread over several devices: its shapes are of whole arrays, not of one device's parts.
///
/// # Errors
/// `mhlo.num_partitions` is more than 1; the error states it.
pub fn for_one_partition<'c>(module: OperationRef<'c, '_>) -> Result<(), PassError<'c>> {
    match ir::constant_attribute(module, "mhlo.num_partitions") {
        Some(count) if count > 1 => Err(PassError::at(
            module,
            format!(
                "is for {count} partitions (mhlo.num_partitions); only programs for one device are compiled"
            ),
        )),
        _ => Ok(()),
    }
}

/// Whether kernels have been formed already.
fn is_formed(module: OperationRef<'_, '_>) -> bool {
    let mut found = false;
    walk(module, |op| {
        if op_name(op) == "func.func" {
            found |= attribute_of(op, "slimhlo.kernel").is_some();
            return WalkResult::Skip;
        }
        WalkResult::Advance
    });
    found
}
