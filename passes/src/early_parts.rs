// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-early-parts`: a small part of a large value that is read after a loop is cut out before it.
//!
//! # What it matches
//!
//! ```mlir
//! %all = stablehlo.fft %x ...                                  // tensor<512x1023xcomplex<f64>>
//! %most = stablehlo.slice %all [0:511, 0:1023]
//! %w = stablehlo.while(%i = %start) ... do { ... %most ... }
//! %last = stablehlo.slice %all [511:512, 511:512]              // %all is there until here
//! ```
//!
//! becomes
//!
//! ```mlir
//! %all = stablehlo.fft %x ...
//! %most = stablehlo.slice %all [0:511, 0:1023]
//! %last = stablehlo.slice %all [511:512, 511:512]
//! %held:2 = stablehlo.optimization_barrier %last, %start
//! %w = stablehlo.while(%i = %held#1) ... do { ... %most ... }
//! ```
//!
//! and what reads `%last` reads `%held#0`.
//!
//! # Why it is right
//!
//! The same slice of the same value; a barrier hands on what it is given.
//!
//! # Why it pays
//!
//! Back ends compute a slice, and what is elementwise before it, within what reads it, however late that is and however much they keep for
//! it meanwhile. From behind a barrier it comes as a value of its own, and the loop waits for it: what it is cut out of is free. sphere_s2fft
//! takes 50 MiB of temporaries under XLA for an H100 without this, and 46 with it (`cargo xtask bench corpus`).
//!
//! # What it costs
//!
//! A small kernel for each part. Linear in the ops of a block.
//!
//! # When it must not fire
//!
//! * Parts of arguments and constants, which are there anyway, and of what is one value repeated, which nobody stores; parts larger
//!   than a [`LITTLE`]th; values of less than `least-bytes`.
//! * No loop between the value and the first that reads the part.
//! * What a partitioner has to cut: a part may have to be fetched.
//! * Targets that drop barriers.

use crate::body::Body;
use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold::barriers;
use crate::ir::{self, Builder};
use crate::rewrite::{uses, walk};
use crate::shards::of_one_partition;
use crate::simplify::site::is_always_there;
use crate::tables::Table;
use crate::target::Target;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, RegionLike, Value};
use slimhlo_dialect::ffi::op_name;

crate::pass_options! {
    /// Cut small parts that are read after a loop out of large values before it.
    ///
    /// Back ends would keep the whole value for a part that they compute where it is read. From behind a barrier the part is stored, and
    /// the value is free.
    ///
    /// ```mlir
    /// %w = stablehlo.while(%i = %start) ...
    /// %last = stablehlo.slice %all [511:512, 0:8]
    /// // becomes
    /// %last = stablehlo.slice %all [511:512, 0:8]
    /// %held:2 = stablehlo.optimization_barrier %last, %start
    /// %w = stablehlo.while(%i = %held#1) ...
    /// ```
    pub struct EarlyParts {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// How large a value has to be.
        pub least_bytes: Bytes = Bytes(1 << 20),
    }
}

const EARLY: Statistic = Statistic::new(c"num-early", c"parts that are cut out before loops");

/// How many times as large as a part its value is, at least. Not measured against others.
const LITTLE: i64 = 16;

impl Pass for EarlyParts {
    const ARGUMENT: &'static str = "slimhlo-early-parts";
    const STATISTICS: &'static [Statistic] = &[EARLY];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if !self.target.storage().barriers_hold {
            return Ok(Changed::No);
        }
        let least = i64::try_from(self.least_bytes.0).unwrap_or(i64::MAX);
        let build = Builder::new(root);
        let mut count = 0;
        for computation in of_one_partition(root) {
            for body in blocks_in(computation).into_iter().filter_map(Body::of) {
                count += cut(&body, least, &build);
            }
        }
        context.count(&EARLY, count as u64);
        Ok((count > 0).into())
    }
}

/// The blocks of an op, and of those inside.
fn blocks_in<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> Vec<BlockRef<'c, 'a>> {
    let mut found = Vec::new();
    walk(root, |op| {
        let regions = (0..op.region_count()).filter_map(|index| op.region(index).ok());
        found.extend(regions.filter_map(|region| region.first_block()));
        WalkResult::Advance
    });
    found
}

/// Cuts parts out of values of a block before its loops; how many.
fn cut<'c: 'a, 'a>(body: &Body<'c, 'a>, least: i64, build: &Builder<'c, 'a>) -> usize {
    let loops: Vec<usize> =
        (0..body.ops.len()).filter(|&place| op_name(body.ops[place]) == "stablehlo.while").collect();
    if loops.is_empty() {
        return 0;
    }
    let mut found: Table<usize, Vec<OperationRef<'c, 'a>>> = Table::default();
    for (place, &maker) in body.ops.iter().enumerate() {
        let Some(&first) = loops.get(loops.partition_point(|&at| at <= place)) else { break };
        let Some(value) = ir::first_result(maker).filter(|value| ir::bytes(*value) >= least) else {
            continue;
        };
        if is_always_there(value) || op_name(maker) == "stablehlo.broadcast_in_dim" {
            continue;
        }
        let parts: Vec<OperationRef> = uses(value)
            .map(|used| used.user)
            .filter(|user| is_late_part(body, *user, ir::bytes(value), first))
            .collect();
        if !parts.is_empty() {
            found.entry(first).or_default().extend(parts);
        }
    }
    let mut count = 0;
    for place in loops {
        if let Some(parts) = found.remove(&place) {
            count += parts.len();
            hold(body, place, &parts, build);
        }
    }
    count
}

/// Has the loop at a place wait for parts: it starts from what a barrier hands on with them.
fn hold<'c: 'a, 'a>(
    body: &Body<'c, 'a>,
    place: usize,
    parts: &[OperationRef<'c, 'a>],
    build: &Builder<'c, 'a>,
) {
    let awaited = body.ops[place];
    parts.iter().for_each(|part| build.move_before(*part, awaited));
    let made = |(number, operand): (usize, Value<'c, 'a>)| {
        let at = body.maker(operand).filter(|_| !is_always_there(operand))?;
        Some((at, number, operand))
    };
    let start = awaited.operands().enumerate().filter_map(made).max_by_key(|(at, ..)| *at);
    let mut values: Vec<Value> = parts.iter().filter_map(|part| ir::first_result(*part)).collect();
    let count = values.len();
    values.extend(start.map(|(.., operand)| operand));
    build.set_insertion_point_before(awaited);
    let held = barriers(&values, build, awaited.location());
    for (value, held) in values[..count].iter().zip(&held) {
        build.replace_uses(*value, *held, |user| body.place(user).is_some() || user == body.end);
    }
    if let Some((_, number, _)) = start {
        build.set_operand(awaited, number, held[count]);
    }
}

/// Whether an op cuts little out of so many bytes, and nothing reads that before the op at a place.
fn is_late_part<'c: 'a, 'a>(body: &Body<'c, 'a>, op: OperationRef<'c, 'a>, bytes: i64, place: usize) -> bool {
    let is_part = op_name(op) == "stablehlo.slice" && body.has(op);
    let Some(part) = ir::first_result(op).filter(|_| is_part) else { return false };
    let reads_late = |user| body.place(user).is_none_or(|at| at > place);
    ir::bytes(part).saturating_mul(LITTLE) <= bytes && uses(part).all(|used| reads_late(used.user))
}
