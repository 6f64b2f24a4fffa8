// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-data-parallel`: a step that is cut by its batch alone is a program for one device.
//!
//! # What it matches
//!
//! In a program for several partitions, an entry function some of whose arguments are cut along one dimension each, all
//! along the same axes of the mesh (the batch), and whose ops keep that dimension apart or add it up: elementwise ops,
//! products, convolutions and windows of each sample, losses, gradients of parameters. What is made of parameters and of sums
//! alone (an optimizer's update) each device does for itself.
//!
//! ```mlir
//! // %x: [512, 784], cut in four along dimension 0
//! %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
//! %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0]
//! %new = stablehlo.subtract %w, %dw
//! ```
//!
//! becomes
//!
//! ```mlir
//! sdy.manual_computation(%x, %w) ... (%own: tensor<128x784xf32>, %all: tensor<784x64xf32>) {
//!   %h = stablehlo.dot_general %own, %all, contracting_dims = [1] x [0]
//!   %part = stablehlo.dot_general %own, %dh, contracting_dims = [0] x [0]
//!   %dw = stablehlo.all_reduce %part
//!   %new = stablehlo.subtract %all, %dw
//! }
//! ```
//!
//! # How
//!
//! What ops do with a dimension is what `--slimhlo-batch-slices` knows (`batch_slices/rules.rs`): a shard is a slice, and a
//! sum over slices is one over devices. Loops carry rows as their bodies return them. It is all or nothing: if one op would
//! need another device's rows, the partitioner keeps the program.
//!
//! The pipeline does this in two steps, with all other passes in between. Opened (`open`), the function itself is one
//! device's program: its arguments are shards, and how they were cut is written down beside it (`slimhlo.whole_type` and others). So passes
//! need not know that there are other devices: the batch goes in slices, values are done again, updates come early. Closed
//! (`close`), the program is the manual computation above, under the signature that it came with.
//!
//! # Why it is right
//!
//! A partitioner does the same: no dimension but the batch is cut, so each op has either all of what it takes or its own
//! rows. Sums are made of the same parts and added up by the same exchange. An argument of which nobody says how it is cut
//! is whole on each device, as nothing here asks for a part of it.
//!
//! # Why it pays, and what it costs
//!
//! By itself, nothing: XLA for four H100 compiles both forms of the corpus's `data_parallel_linen` to 534 kernels,
//! 2,720 MiB of temporaries and 3 exchanges, and for four v5p to 1,390 MiB and one (`test/oracle/referee.py --target`).
//! But what passes know of one device's programs they can do in it. Linear in the ops of the function, but for loops: what
//! is in one is looked at once more for each time that more of what it carries turns out to be rows.
//!
//! # When it must not fire
//!
//! * Anything else is cut: parameters, another dimension, an uneven batch.
//! * Branches, custom calls and functions take rows of the batch: what is in them is not looked into. (They may take what
//!   all devices have.)
//! * Something is wanted that a partitioner would exchange otherwise: a result cut differently, a constraint that disagrees.
//! * Ops that say how they are laid out (`sdy.sharding`), loops and barriers among them.
//! * Targets whose rates nobody knows: most of what gains by it does not run there.

mod close;
mod open;
mod step;

use crate::framework::{Pass, PassContext, PassResult, Statistic};
use crate::ir::Builder;
use crate::target::Target;
use melior::ir::OperationRef;
use slimhlo_dialect::ffi;
use step::Step;

crate::pass_options! {
    /// Make a step that is cut by its batch alone a program for one device.
    ///
    /// In programs for several partitions (`mhlo.num_partitions`, shardings of the `sdy` dialect) whose arguments are
    /// cut along one batch dimension, and whose ops keep it apart or add it up, all becomes one manual computation: each
    /// device has its rows, and sums over the batch are added up by `stablehlo.all_reduce`.
    ///
    /// ```mlir
    /// %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0]
    /// // becomes
    /// sdy.manual_computation(%x, %w) ... (%own: tensor<128x784xf32>, %all: tensor<784x64xf32>) {
    ///   %part = stablehlo.dot_general %own, %dh, contracting_dims = [0] x [0]
    ///   %dw = stablehlo.all_reduce %part
    /// }
    /// ```
    pub struct DataParallel {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// Whether functions become one device's programs.
        pub open: bool = true,
        /// Whether what is one device's program becomes a manual computation.
        pub close: bool = true,
    }
}

const STEPS: Statistic = Statistic::new(c"num-steps", c"functions that became one device's program");
const SUMS: Statistic = Statistic::new(c"num-sums", c"sums over devices in them");

/// The type of a function that is one device's program, as all devices together have it. Passes for programs for several
/// partitions leave such a function alone.
pub(crate) const WHOLE: &str = "slimhlo.whole_type";

impl Pass for DataParallel {
    const ARGUMENT: &'static str = "slimhlo-data-parallel";
    const STATISTICS: &'static [Statistic] = &[STEPS, SUMS];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let mut changed = false;
        if self.open
            && let Some(step) = Step::of(root, self.target)
        {
            context.count(&STEPS, 1);
            context.count(&SUMS, step.sums() as u64);
            changed |= open::run(&step, &Builder::new(root)).is_some();
        }
        if self.close {
            changed |= close(root);
        }
        Ok(changed.into())
    }
}

/// Makes a function that is one device's program what all devices do; whether it was one.
pub(crate) fn close<'c: 'a, 'a>(function: OperationRef<'c, 'a>) -> bool {
    close::run(function, &Builder::new(function)).is_some()
}

/// Whether a function has become one device's program.
pub(crate) fn is_open(function: OperationRef<'_, '_>) -> bool {
    ffi::attribute_of(function, WHOLE).is_some()
}
