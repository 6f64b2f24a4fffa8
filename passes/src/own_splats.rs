// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-own-splats`: a large splat that is written into, and that something else reads, is made for each by itself.
//!
//! # What it matches
//!
//! A `while` that starts an accumulator from a splat constant, or a `scatter` into one, where another op of the same block reads the
//! same splat (the zeros of a gradient's accumulator, and those that `nan_to_num` selects from after the loop):
//!
//! ```mlir
//! %zeros = stablehlo.constant dense<0.0> : tensor<16x2048x512xbf16>
//! %loop:2 = stablehlo.while(%i = %c, %sum = %zeros) ...
//! %known = stablehlo.select %nan, %zeros, %loop#1
//! ```
//!
//! becomes
//!
//! ```mlir
//! %zero = stablehlo.constant dense<0.0> : tensor<bf16>
//! %held = stablehlo.optimization_barrier %zero
//! %own = stablehlo.broadcast_in_dim %held, dims = [] : (tensor<bf16>) -> tensor<16x2048x512xbf16>
//! %loop:2 = stablehlo.while(%i = %c, %sum = %own) ...
//! %known = stablehlo.select %nan, %zeros, %loop#1
//! ```
//!
//! Zeros that several ops write into are made of an element of what each of these waits for, the product that is scattered or the first of
//! what a loop starts from:
//!
//! ```mlir
//! %one = stablehlo.slice %product [0:1, 0:1]                       // ... its bits, between 0 and 0
//! %own = stablehlo.broadcast_in_dim %zero, dims = []
//! %sums = "stablehlo.scatter"(%own, %indices, (made of %product)) ...
//! ```
//!
//! # Why it is right
//!
//! A barrier hands on what it is given, and a broadcast of the splat's element is the splat. What is between 0 and 0 is 0, whatever it was.
//!
//! # Why it pays
//!
//! XLA for GPUs makes one value of equal ones, and computes within its readers only what all of them can compute. A loop needs its
//! accumulator in memory: so the splat is stored for all, copied for the loop that writes into it, and kept until the last op has read
//! zeros from it. In a train step over 16 scanned layers those are 103 of 362 MiB (`train16_scan`, by `cargo xtask bench memory`). What
//! comes out of a barrier is not equal to what goes in.
//!
//! Where many write into equal splats, XLA makes one kernel that fills a buffer for each, before the first of them: a graph network's thirty sums
//! have their zeros from the start. With zeros for each a mesh's network of jraph goes from 4,266 MiB of temporaries to 3,997, a graph's attention from
//! 2,026 to 1,298, a recurrent agent from 118 to 75 (`cargo xtask bench corpus`).
//!
//! # What it costs
//!
//! A barrier for a scalar, or a few ops on it, which take no time: they are part of what fills the buffer. One walk, constant time per operand.
//!
//! # When it must not fire
//!
//! * Nothing else of the block reads the splat, and a single op writes into it.
//! * Operands that a loop hands on as they are, splats of fewer than `least-bytes` bytes.
//! * Splats that several ops write into, where all but one are less than a [`MATTERS`]th of the function's peak: another program to XLA may come out
//!   in another order, with other gaps between values, that take more. Where they are other numbers than zero, or their ops wait for nothing in
//!   particular, one has to be as large: equal barriers are one, so that it is shared as before. An ocean step whose eight loops start from 12 MiB
//!   of zeros each took 395 MiB of temporaries for 360 in that way.
//! * Targets that make a splat anew for whatever reads it.
//! * Programs for more than one partition: how a splat is cut would have to be said again.

use crate::cost::Cost;
use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold;
use crate::ir::{self, Builder};
use crate::ops::class;
use crate::ops::written::written;
use crate::rewrite::{defining_op, walk};
use crate::shards::{is_partitioned, is_zero_bits};
use crate::target::Target;
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{AttributeLike, OperationRef, TypeLike, Value, ValueLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Make large splats that are written into, and that others read, for each by itself.
    ///
    /// A `while` that starts an accumulator from a splat constant, or a `scatter` into one, gets a splat of its own where another op reads
    /// the same: XLA for GPUs would store one for both, and copy it for the loop.
    ///
    /// ```mlir
    /// %loop = stablehlo.while(%sum = %zeros) ...     // and %zeros is read after it
    /// // becomes
    /// %held = stablehlo.optimization_barrier %zero
    /// %own = stablehlo.broadcast_in_dim %held, dims = []
    /// %loop = stablehlo.while(%sum = %own) ...
    /// ```
    pub struct OwnSplats {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// How large a splat has to be.
        pub least_bytes: Bytes = Bytes(1 << 20),
    }
}

const MADE: Statistic = Statistic::new(c"num-splats", c"splats that were made for one op alone");

/// The share of a function's peak that a splat has to take which several ops write into.
const MATTERS: u64 = 32;

/// A splat within a block: keys of the block, of the type and of the element.
type SplatKey = (usize, usize, usize);

impl Pass for OwnSplats {
    const ARGUMENT: &'static str = "slimhlo-own-splats";
    const STATISTICS: &'static [Statistic] = &[MADE];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if !self.target.storage().shares_splats || is_partitioned(root) {
            return Ok(Changed::No);
        }
        let peak = Cost::of(root, self.target).map_or(0, |cost| cost.peak());
        let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let (least, matters) = (bytes(self.least_bytes.0), bytes(peak / MATTERS));
        let mut read: FxHashSet<SplatKey> = FxHashSet::default();
        let mut writes = Vec::new();
        walk(root, |op| {
            let written = written(op);
            for (index, operand) in op.operands().enumerate() {
                let Some(key) = (ir::bytes(operand) >= least).then(|| key_of(op, operand)).flatten() else {
                    continue;
                };
                if written.contains(&index) {
                    writes.push((op, index, key));
                } else if class::is_fusible(op_name(op)) {
                    // It could make the splat for itself as it reads it.
                    read.insert(key);
                }
            }
            WalkResult::Advance
        });
        let mut writers: FxHashMap<SplatKey, FxHashSet<usize>> = FxHashMap::default();
        for &(op, _, key) in &writes {
            writers.entry(key).or_default().insert(ir::op_key(op));
        }
        let build = Builder::new(root);
        let mut made = 0;
        for &(op, index, key) in &writes {
            let Some(splat) = op.operands().nth(index) else { continue };
            let (bytes, count) = (ir::bytes(splat), writers[&key].len());
            let others = bytes.saturating_mul(count as i64 - 1);
            let late = (others >= matters).then(|| awaited(op, splat)).flatten();
            if late.is_some() || read.contains(&key) && (count == 1 || bytes >= matters) {
                make_own(op, index, late, &build);
                made += 1;
            }
        }
        context.count(&MADE, made);
        Ok(Changed::from(made > 0))
    }
}

/// What an op that writes into a splat of zeros waits for in any case: the last that is made, in its block, of what it is written into with, and
/// what no back end computes within the op.
fn awaited<'c: 'a, 'a>(op: OperationRef<'c, 'a>, splat: Value<'c, 'a>) -> Option<Value<'c, 'a>> {
    /// Ops looked at.
    const NEAR: usize = 64;
    ir::splat_constant(splat).filter(|element| is_zero_bits(*element))?;
    // A loop has all that it is given in memory.
    let stored = op_name(op) == "stablehlo.while";
    let mut pending: Vec<Value> =
        op.operands().filter(|operand| ir::splat_constant(*operand).is_none()).collect();
    let mut seen = FxHashSet::default();
    let mut last: Option<Value> = None;
    while let Some(value) = pending.pop() {
        let Some(from) = defining_op(value).filter(|from| from.block() == op.block()) else { continue };
        if seen.len() >= NEAR || !seen.insert(ir::op_key(from)) {
            continue;
        }
        if !stored && class::is_fusible(op_name(from)) {
            pending.extend(from.operands());
        } else if hold::has_bits(value) && !ir::is_rank_zero(value) && ir::splat_constant(value).is_none() {
            let later = last.and_then(defining_op).is_none_or(|last| ir::is_before(last, from));
            last = if later { Some(value) } else { last };
        }
    }
    last
}

fn key_of(op: OperationRef<'_, '_>, operand: Value<'_, '_>) -> Option<SplatKey> {
    let element = ir::splat_constant(operand)?;
    let block = op.block()?;
    Some((block.to_raw().ptr as usize, operand.r#type().to_raw().ptr as usize, element.to_raw().ptr as usize))
}

/// Gives an op a splat that is nobody else's.
///
/// Where it waits for a value it is made of an element of that, or else of what comes out of a barrier.
fn make_own<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    index: usize,
    late: Option<Value<'c, 'a>>,
    build: &Builder<'c, 'a>,
) {
    let Some(splat) = op.operands().nth(index) else { return };
    let dense = defining_op(splat)
        .and_then(|constant| attribute_of(constant, "value"))
        .and_then(|value| DenseElementsAttribute::try_from(value).ok());
    let Some(dense) = dense else { return };
    let location = op.location();
    build.set_insertion_point_before(op);
    let element = ir::element_of(splat.r#type());
    let held = match late {
        Some(late) => build.convert(hold::zero_of(build, late), Tensor::get(&[], element, None), location),
        None => hold::barrier(build.scalar_constant(dense, element, location), build, location),
    };
    build.set_operand(op, index, build.broadcast_scalar(held, splat.r#type(), location));
}
