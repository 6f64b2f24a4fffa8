// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-split-sums`: a sum of columns that a back end would compute with few blocks of threads is written in two steps.
//!
//! # What it matches
//!
//! A `reduce` of one array along dimensions side by side, the last dimension not among them, by an op that is associative and commutative:
//! the gradient of a bias, of a slice of a batch.
//!
//! ```mlir
//! %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1]
//!     : (tensor<16x196x768xf32>, tensor<f32>) -> tensor<768xf32>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %parts = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
//!     : (tensor<16x196x768xf32>, tensor<f32>) -> tensor<16x768xf32>
//! %held = stablehlo.optimization_barrier %parts : tensor<16x768xf32>
//! %r = stablehlo.reduce(%held init: %zero) applies stablehlo.add across dimensions = [0]
//! ```
//!
//! Where the first dimension is not of as many elements as it takes, rows are divided evenly, by a reshape.
//!
//! # Why it is right
//!
//! The same elements are added up in another order, which StableHLO leaves open. Floats of fewer than 32 bits are added up in 32, as back ends do,
//! and rounded once; extremes of them are taken as they are. Sums of arrays of the same shape are divided alike: what is computed twice has the same bits twice.
//!
//! # Why it pays
//!
//! XLA for GPUs gives a block of threads some columns and all of their rows, up to 4,096 of these: a sum over a batch of 3,136 rows of 768 runs
//! on 12 of an H100's 132 multiprocessors, and takes 7 to 30 microseconds, from the cache or from memory, where all of them would take 3 (by its rates,
//! `target/xla_gpu.rs`). It does not compute such a sum where it makes
//! what is summed up, either, since that would then be made by as few. Larger batches it divides itself; so it is slices of a batch that pay, and
//! what slices cost bounds how small they may be. Without the barrier it would make one sum of both.
//!
//! # What it costs
//!
//! A kernel for the sums of parts, where nothing that reads them adds them up itself, and their bytes. One walk, and divisors of one number
//! for each sum.
//!
//! # When it must not fire
//!
//! * There are blocks enough, the back end divides the rows itself, or what they wait takes no longer than to start a kernel.
//! * No number of parts near what it takes divides the rows into parts of 32 and more.
//! * Another initial value than what changes nothing, of sums of booleans.
//! * Annotations, and programs for more than one partition.
//!
//! # In the pipeline
//!
//! All other passes see sums as they were meant: the pass runs once all else is settled. That it will run is written down on the function before
//! (`write=false`), so that the memory model counts such sums as divided (`memory/graph/sums.rs`), and what they save pays for other stages.
//! Sums are divided only in functions that need less memory than they did: nobody asked for another order of accumulation otherwise.

use crate::framework::{Changed, Pass, PassContext, PassError, PassResult, Statistic};
use crate::hold;
use crate::ir::{self, Builder, discardable_attributes, is_narrow, plain};
use crate::ops::columns::{Columns, SPLIT};
use crate::ops::reducers::fresh_identity;
use crate::rewrite::{context_of, remove_attribute, set_attribute, walk};
use crate::shards::is_partitioned;
use crate::target::Target;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{Attribute, OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::ffi::attribute_of;
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Write sums of columns that a back end would compute with few blocks of threads in two steps.
    ///
    /// XLA for GPUs gives a block of threads some columns and all of their rows: sums over the slices of a batch then run on a tenth of the
    /// chip.
    ///
    /// ```mlir
    /// %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1]
    ///     : (tensor<16x196x768xf32>, tensor<f32>) -> tensor<768xf32>
    /// // becomes
    /// %parts = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
    ///     : (tensor<16x196x768xf32>, tensor<f32>) -> tensor<16x768xf32>
    /// %held = stablehlo.optimization_barrier %parts : tensor<16x768xf32>
    /// %r = stablehlo.reduce(%held init: %zero) applies stablehlo.add across dimensions = [0]
    /// ```
    pub struct SplitSums {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// Do so; else it is only noted on functions that they are going to be, for the memory model.
        pub write: bool = true,
    }
}

const MADE: Statistic = Statistic::new(c"num-sums", c"sums that were written in two steps");

impl Pass for SplitSums {
    const ARGUMENT: &'static str = "slimhlo-split-sums";
    const STATISTICS: &'static [Statistic] = &[MADE];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if !self.write && attribute_of(root, SPLIT).is_some() {
            return Ok(Changed::No);
        }
        let found = self.sums(root);
        if !self.write {
            if !found.is_empty() {
                set_attribute(root, SPLIT, Attribute::unit(context_of(root)));
            }
            return Ok(Changed::from(!found.is_empty()));
        }
        let build = Builder::new(root);
        for sum in &found {
            sum.write(&build)?;
            context.count(&MADE, 1);
        }
        let noted = forget(root);
        Ok(Changed::from(noted || !found.is_empty()))
    }
}

/// Takes the note back that a function's sums are going to be written in two steps; false if there is none.
pub(crate) fn forget(function: OperationRef<'_, '_>) -> bool {
    remove_attribute(function, SPLIT)
}

impl SplitSums {
    /// The sums of a function that have too few blocks.
    fn sums<'c: 'a, 'a>(&self, root: OperationRef<'c, 'a>) -> Vec<Sum<'c, 'a>> {
        let mut found = Vec::new();
        let Some(rates) = self.target.rates().filter(|_| !is_partitioned(root)) else { return found };
        walk(root, |op| {
            if let Some(columns) = Columns::of(op)
                && let Some(parts) = columns.parts(self.target.storage(), rates)
                && let Some(sum) = Sum::of(op, columns, parts)
            {
                found.push(sum);
            }
            WalkResult::Advance
        });
        found
    }
}

/// A sum that is going to be written in two steps.
struct Sum<'c, 'a> {
    op: OperationRef<'c, 'a>,
    columns: Columns,
    parts: i64,
    /// What is reduced, and what comes of it.
    of: Tensor<'c>,
    made: Tensor<'c>,
    /// What parts start from, if not from the initial value.
    identity: Option<f64>,
}

impl<'c: 'a, 'a> Sum<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>, columns: Columns, parts: i64) -> Option<Self> {
        let of = plain(ir::operand(op, 0)?)?;
        let made = plain(op.result(0).ok()?.into())?;
        let identity = fresh_identity(op, columns.combine, of.element)?;
        discardable_attributes(op).is_empty().then_some(Self { op, columns, parts, of, made, identity })
    }

    fn write(&self, build: &Builder<'c, 'a>) -> Result<(), PassError<'c>> {
        let Self { op, columns: Columns { combine, from, to, rows, .. }, parts, of, made, .. } = self;
        let location = op.location();
        build.set_insertion_point_before(*op);
        let (operand, initial): (Value, Value) = (op.operand(0)?, op.operand(1)?);
        // An extreme is one of the elements, bits and all.
        let rounds = is_narrow(operand) && matches!(*combine, "stablehlo.add" | "stablehlo.multiply");
        let element = if rounds { Type::float32(context_of(*op)) } else { of.element };
        let wide = |value: Value<'c, 'a>, shape: &[i64]| match element == of.element {
            true => value,
            false => build.convert(value, Tensor::get(shape, element, None), location),
        };
        let mut shape = of.shape.to_vec();
        shape.splice(from..to, [*parts, rows / parts]);
        let divided = match wide(operand, of.shape) {
            value if shape == of.shape => value,
            value => build.reshape(value, Tensor::get(&shape, element, None), location),
        };
        let initial = wide(initial, &[]);
        let first = self.identity.map_or(initial, |identity| build.number(identity, element, location));
        shape.remove(from + 1);
        let dim = *from as i64;
        let sums = Tensor::get(&shape, element, None);
        let sums = build.reduce(combine, [divided, first], &[dim + 1], sums, location);
        let sums = hold::barrier(sums, build, location);
        let whole = Tensor::get(made.shape, element, None);
        let total = build.reduce(combine, [sums, initial], &[dim], whole, location);
        let result: Value = op.result(0)?.into();
        let total =
            if element == of.element { total } else { build.convert(total, result.r#type(), location) };
        build.replace_all_uses_with(result, total);
        build.erase(*op);
        Ok(())
    }
}
