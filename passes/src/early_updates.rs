// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-early-updates`: parameters are updated as soon as their gradients are there.
//!
//! # What it matches
//!
//! A training step in one function: results that are computed element by element of arguments and of gradients, which
//! are there long before the backward part comes to its end.
//!
//! ```mlir
//! %dw2 = stablehlo.dot_general %h1, %dh2                       // the last layer's gradient
//! %dh1 = ...
//! %dw1 = stablehlo.dot_general %x, %dh1
//! %u2 = stablehlo.subtract %w2, %dw2
//! %u1 = stablehlo.subtract %w1, %dw1
//! return %u1, %u2
//! ```
//!
//! becomes
//!
//! ```mlir
//! %dw2 = stablehlo.dot_general %h1, %dh2
//! %dh1 = ...
//! %u2 = stablehlo.subtract %w2, %dw2
//! %held:2 = stablehlo.optimization_barrier %dh1, %u2
//! %dw1 = stablehlo.dot_general %x, %held#0
//! %u1 = stablehlo.subtract %w1, %dw1
//! return %u1, %held#1
//! ```
//!
//! # Why it is right
//!
//! The same ops are done on the same values; a barrier hands on what it is given.
//!
//! # Why it pays
//!
//! An update that takes its parameter's place frees its gradient. XLA's schedulers do not know that when they choose an
//! order: to them it makes as much as it frees, and they put it off to the end, so that all gradients are there at once
//! with what the backward part still needs. A Gemma train step of 4.8 GB, made to fit half of its temporaries, takes 3,036
//! MiB under XLA for an H100 with this and 4,084 without, in as much time (`test/oracle/referee.py --target h100` on both).
//!
//! # What it costs
//!
//! A barrier for each [`GROUPS`]th of the updates, which takes no time by itself; kernels before and after it are not
//! fused, and what is read twice may have left the cache: a Stable Diffusion step goes from 4,875 to 4,678 MiB and from
//! 1.27 to 1.31 of XLA's time by estimate. Linear in the ops of the function, and in those of what updates are made of.
//!
//! # When it must not fire
//!
//! * Updates that need something of all gradients, as clipping by their norm does: they are there no earlier.
//! * A parameter that something reads later: it would be copied. So an update waits for the last of them.
//! * Updates of less than `least-bytes`, and those that no product follows.
//! * Gradients are less than half of the function's temporaries by the [memory model](crate::memory).
//! * Targets that order by themselves what is updated in place; programs for more than one partition, where gradients are
//!   added up over devices all at once.

use crate::body::Body;
use crate::cost::Cost;
use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::ops::class;
use crate::ops::products::is_product;
use crate::order::Barriers;
use crate::rewrite::{defining_op, uses};
use crate::shards::is_partitioned;
use crate::tables::Keys;
use crate::target::Target;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Value};
use slimhlo_dialect::ffi::op_name;

crate::pass_options! {
    /// Update parameters as soon as their gradients are there.
    ///
    /// Results that are computed element by element of arguments and of what is there before the last products are
    /// computed before these: a barrier has back ends do so that would put all of them off to the end, with all
    /// gradients in memory until then.
    ///
    /// ```mlir
    /// %dw1 = stablehlo.dot_general %x, %dh1
    /// %u2 = stablehlo.subtract %w2, %dw2
    /// // becomes
    /// %u2 = stablehlo.subtract %w2, %dw2
    /// %held:2 = stablehlo.optimization_barrier %dh1, %u2
    /// %dw1 = stablehlo.dot_general %x, %held#0
    /// ```
    pub struct EarlyUpdates {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// How large an update has to be.
        pub least_bytes: Bytes = Bytes(1 << 20),
    }
}

const HELD: Statistic = Statistic::new(c"num-updates", c"updates that come before later products");

/// Which part of a function's temporaries gradients have to be. Where other things fill the memory, another order may leave
/// larger gaps between them: a step of BERT, with gradients of a quarter of its temporaries, went from 1,797 MiB to 1,914
/// (`test/oracle/referee.py --target h100` on both forms).
const MATTERS: u64 = 2;
/// Into about how many groups updates fall, each behind a barrier of its own: so much of the gradients is there at once that
/// need not be. Not measured against other numbers.
const GROUPS: i64 = 16;
/// Ops of an update that are looked at: Adam's are some 20. Not measured against other numbers.
const MOST: usize = 128;

impl Pass for EarlyUpdates {
    const ARGUMENT: &'static str = "slimhlo-early-updates";
    const STATISTICS: &'static [Statistic] = &[HELD];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if !self.target.storage().puts_off_updates || is_partitioned(root) {
            return Ok(Changed::No);
        }
        let Some(body) = root.region(0).ok().and_then(|body| body.first_block()).and_then(Body::of) else {
            return Ok(Changed::No);
        };
        let least = i64::try_from(self.least_bytes.0).unwrap_or(i64::MAX);
        let updates = updates(&body, least);
        let temporaries = || Cost::of(root, self.target).map_or(u64::MAX, |cost| cost.footprint.temporaries);
        if updates.is_empty() || gradients(&updates).cast_unsigned() < temporaries() / MATTERS {
            return Ok(Changed::No);
        }
        let held = hold(&body, updates, &Builder::new(root));
        context.count(&HELD, held as u64);
        Ok((held > 0).into())
    }
}

/// A result that is made of arguments and of what is computed otherwise than element by element.
struct Update<'c, 'a> {
    value: Value<'c, 'a>,
    /// The places of the ops that make it, in order.
    ops: Vec<usize>,
    /// What they make it of.
    leaves: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Update<'c, 'a> {
    /// None if a result is no such thing, or is made by too many ops.
    fn of(body: &Body<'c, 'a>, value: Value<'c, 'a>) -> Option<Self> {
        let (mut ops, mut leaves, mut seen) = (Vec::new(), Vec::new(), Keys::default());
        let mut pending = vec![value];
        while let Some(next) = pending.pop() {
            if !seen.insert(ir::key(next)) {
                continue;
            }
            let is_fused = |op: OperationRef<'c, 'a>| {
                class::is_fusible(op_name(op)) && op.region_count() == 0 && op.result_count() == 1
            };
            match body.maker(next).filter(|&place| is_fused(body.ops[place])) {
                Some(place) => {
                    ops.push(place);
                    pending.extend(body.ops[place].operands());
                }
                None => leaves.push(next),
            }
            if ops.len() > MOST {
                return None;
            }
        }
        ops.sort_unstable();
        (!ops.is_empty()).then_some(Self { value, ops, leaves })
    }

    /// What it takes but for arguments.
    fn made(&self) -> impl Iterator<Item = Value<'c, 'a>> {
        self.leaves.iter().copied().filter(|leaf| defining_op(*leaf).is_some())
    }

    /// The place after which it can be made: what it takes is there, and arguments that it may take the place of are read
    /// by nothing but updates. None if it is made of arguments alone, which are there at any time.
    fn after(&self, body: &Body<'c, 'a>, in_updates: &[bool]) -> Option<usize> {
        let made = self.made().filter_map(|leaf| body.maker(leaf)).max()?;
        let arguments = self.leaves.iter().filter(|leaf| defining_op(**leaf).is_none());
        let readers = arguments.flat_map(|leaf| uses(*leaf)).filter_map(|used| {
            let is_update = body.own(used.user).is_some_and(|place| in_updates[place]);
            body.place(used.user).filter(|_| !is_update)
        });
        readers.chain([made]).max()
    }
}

/// Results of so many bytes that could be there early, each with the place after which, in that order.
fn updates<'c: 'a, 'a>(body: &Body<'c, 'a>, least: i64) -> Vec<(usize, Update<'c, 'a>)> {
    let mut seen = Keys::default();
    let results = body.end.operands().filter(|value| ir::bytes(*value) >= least);
    let results = results.filter(|value| seen.insert(ir::key(*value)));
    let found: Vec<Update> = results.filter_map(|value| Update::of(body, value)).collect();
    let mut in_updates = vec![false; body.ops.len()];
    found.iter().flat_map(|update| &update.ops).for_each(|&place| in_updates[place] = true);
    let after = |update: Update<'c, 'a>| Some((update.after(body, &in_updates)?, update));
    let mut updates: Vec<_> = found.into_iter().filter_map(after).collect();
    updates.sort_by_key(|(after, _)| *after);
    updates
}

/// Bytes of what updates take but for arguments.
fn gradients(updates: &[(usize, Update<'_, '_>)]) -> i64 {
    let mut seen = Keys::default();
    let taken = updates.iter().flat_map(|(_, update)| update.made());
    taken.filter(|value| seen.insert(ir::key(*value))).map(ir::bytes).sum()
}

/// Has updates come before products that follow them, a group at a time; how many.
fn hold<'c: 'a, 'a>(
    body: &Body<'c, 'a>,
    updates: Vec<(usize, Update<'c, 'a>)>,
    build: &Builder<'c, 'a>,
) -> usize {
    let group = updates.iter().map(|(_, update)| ir::bytes(update.value)).sum::<i64>() / GROUPS;
    let mut waiting = updates.into_iter().peekable();
    let (mut ready, mut bytes, mut count) = (Vec::new(), 0, 0);
    let mut barriers = Barriers::new(body, build);
    for (place, &op) in body.ops.iter().enumerate() {
        while let Some((_, update)) = waiting.next_if(|(after, _)| *after < place) {
            bytes += ir::bytes(update.value);
            ready.push(update);
        }
        if ready.is_empty() || bytes < group || !is_product(op) {
            continue;
        }
        let values: Vec<Value> = ready.iter().map(|update: &Update| update.value).collect();
        let ops = ready.iter().flat_map(|update| update.ops.iter().copied());
        if barriers.insert(place, ops, &values, |user| user == body.end) {
            count += ready.len();
            ready.clear();
            bytes = 0;
        }
    }
    count
}
