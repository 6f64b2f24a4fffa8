// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-in-turn`: results that have little to do with one another are computed one after the other.
//!
//! # What it matches
//!
//! A function, or the body of the loop that runs when a function needs most, in which several results are each made of
//! much that nothing else needs, and of some that others need as well: the tendencies of an ocean model's velocities and
//! tracers, each from fluxes of its own in three directions, all of them from the same fields and masks.
//!
//! ```mlir
//! %face = ... %u, %mask                            // both read it
//! %a = ... fluxes of %u, %face                     // stored
//! %du = ... %a
//! %b = ... fluxes of %v, %face                     // stored
//! %dv = ... %b
//! ```
//!
//! becomes
//!
//! ```mlir
//! %face = ... %u, %mask
//! %a = ... fluxes of %u, %face
//! %du = ... %a
//! %held:4 = stablehlo.optimization_barrier %u, %v, %mask, %du
//! %face_again = ... %held#0, %held#2
//! %b = ... fluxes of %held#1, %face_again
//! %dv = ... %b
//! ```
//!
//! # How
//!
//! What nothing but one op needs is what that op dominates against the direction in which values flow: a tree, from one walk over a
//! block ([`strands`]). Going down from the block's end, where several ops each need much of what is alive at the peak (by the
//! [memory model](crate::memory)) they are those that take turns, or finer ones among what is before each. In the order in which they stand, each but the
//! first is begun behind a barrier: what it needs of what others need, too, is kept for it, or computed again of what is there
//! anyway, whichever costs less ([`crate::min_cut`], as in `--slimhlo-rematerialize`).
//!
//! # Why it is right
//!
//! The same ops are done on the same values. What has effects, talks to other devices or draws lots stays where it is. Reductions
//! and products are not done twice.
//!
//! # Why it pays, and what it costs
//!
//! XLA for GPUs merges kernels that read the same into one that stores all their results, wherever these go: one of the loop of an
//! ocean simulation of 10 x 48 x 96 points stores 52 fields, which are there until the last tendency is. In turn, each finds
//! the memory that the one before it had. Where that had been 63.5 MiB beside the simulation's state, it is
//! 37.8 (`test/oracle/referee.py --target h100`, see `docs/frameworks.md`). The price is a kernel here and there,
//! and the arithmetic of what is done again.
//!
//! # When it must not fire
//!
//! * Fewer than two results need, each for itself, a [`share`](InTurn::share)th of what is alive at the peak, or all but the largest of
//!   them together less than a [`LEAST_SHARE`]th.
//! * Programs for several devices: what a partitioner makes of barriers the model does not know.
//! * Back ends that drop barriers before they look for what is computed twice (`Storage::barriers_hold`), or whose rates nobody knows.

use crate::body::Body;
use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold::barriers;
use crate::ir::{self, Builder};
use crate::memory;
use crate::min_cut::{ENDLESS, Network};
use crate::ops::class;
use crate::rematerialize::price::Prices;
use crate::rewrite::{captures, defining_op, uses};
use crate::shards::is_partitioned;
use crate::tables::{Keys, Table};
use crate::target::Target;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;

mod strands;

use strands::{Strand, strands};

crate::pass_options! {
    /// Compute results that have little to do with one another one after the other.
    ///
    /// Where several ops of a function or of a loop's body each need much that nothing else needs, each is begun behind a barrier that
    /// waits for the one before it. What it needs of what others need is kept for it or computed again, whichever costs less. The same
    /// ops are done on the same values.
    ///
    /// ```mlir
    /// %du = ... (much that is stored for nothing else) %shared
    /// %dv = ... (as much) %shared
    /// // becomes
    /// %du = ... (much that is stored for nothing else) %shared
    /// %held:2 = stablehlo.optimization_barrier %x, %du
    /// %shared_again = ... %held#0
    /// %dv = ... (as much) %shared_again
    /// ```
    pub struct InTurn {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// What is shared is computed again where that takes no longer than moving it so many times.
        pub moves: u64 = 8,
        /// What nothing else needs takes at least such a part of what is alive at the peak.
        pub share: u64 = 16,
    }
}

const TURNS: Statistic = Statistic::new(c"num-turns", c"results that wait for the one before them");
const AGAIN: Statistic = Statistic::new(c"num-again", c"ops that are done again");

/// The least share of what is alive at the peak that others than the largest have to take.
const LEAST_SHARE: u64 = 4;

impl Pass for InTurn {
    const ARGUMENT: &'static str = "slimhlo-in-turn";
    const STATISTICS: &'static [Statistic] = &[TURNS, AGAIN];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let Some(rates) = self.target.rates().filter(|_| self.target.storage().barriers_hold) else {
            return Ok(Changed::No);
        };
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let prices = Prices::new(root, self.target, rates);
        for (block, profile) in memory::profiles(root, self.target) {
            let Some(body) = Body::of(block).filter(|body| !body.ops.iter().any(|op| stays(*op))) else {
                continue;
            };
            let alive: u64 = profile.alive.values().sum();
            let strands = strands(&body, &profile, alive / self.share.max(1));
            // At the least one of them will be there.
            let alone = strands.iter().map(|strand| strand.alive).max().unwrap_or_default();
            let saved = strands.iter().map(|strand| strand.alive).sum::<u64>() - alone;
            if strands.len() < 2 || saved < alive / LEAST_SHARE {
                continue;
            }
            let turns = Turns::new(&body, &strands, &prices, self.moves);
            let again = turns.take(&turns.kept(), &Builder::new(root));
            context.count(&TURNS, strands.len() as u64 - 1);
            context.count(&AGAIN, again as u64);
            return Ok(Changed::Yes);
        }
        Ok(Changed::No)
    }
}

/// Whether an op has to stay where it is beside others.
fn stays(op: OperationRef<'_, '_>) -> bool {
    class::has_effects(op) && !op_name(op).starts_with("sdy.")
}

/// Strands of a block, and what they share.
struct Turns<'t, 'c, 'a> {
    body: &'t Body<'c, 'a>,
    strands: &'t [Strand],
    /// The strand that each place is in.
    of: Vec<Option<usize>>,
    prices: &'t Prices,
    moves: u64,
}

impl<'t, 'c: 'a, 'a> Turns<'t, 'c, 'a> {
    fn new(body: &'t Body<'c, 'a>, strands: &'t [Strand], prices: &'t Prices, moves: u64) -> Self {
        let mut of = vec![None; body.ops.len()];
        for (number, strand) in strands.iter().enumerate() {
            strand.before.iter().chain([&strand.end]).for_each(|&place| of[place] = Some(number));
        }
        Self { body, strands, of, prices, moves }
    }

    /// What the ops of a strand read of what is made outside of it, in the order in which they do.
    fn shared(&self, number: usize) -> Vec<Value<'c, 'a>> {
        let mut seen = Keys::default();
        let mut shared = Vec::new();
        let Strand { before, end, .. } = &self.strands[number];
        for &place in before.iter().chain([end]) {
            let op = self.body.ops[place];
            for value in op.operands().chain(captures(op)) {
                let own = self.body.maker(value).is_some_and(|maker| self.of[maker] == Some(number));
                if !own && seen.insert(ir::key(value)) {
                    shared.push(value);
                }
            }
        }
        shared
    }

    /// Whether a value is there whatever is decided: an argument, a constant, from outside of the block.
    fn is_there(&self, value: Value<'c, 'a>) -> bool {
        self.body.maker(value).is_none_or(|place| op_name(self.body.ops[place]) == "stablehlo.constant")
    }

    /// Seconds that it takes to do an op again in another strand; `None` for what is not to be done twice.
    fn again(&self, place: usize) -> Option<f64> {
        let op = self.body.ops[place];
        if self.of[place].is_some() {
            return None;
        }
        match op_name(op) {
            // The array is another one then.
            "stablehlo.dynamic_update_slice" => {
                let bytes = self.prices.bytes(ir::first_result(op)?) as f64;
                Some(self.prices.rates.launch_in_graph + 2.0 * bytes / self.prices.rates.bytes)
            }
            "stablehlo.concatenate" | "stablehlo.gather" | "stablehlo.pad" => self.prices.of(op),
            name => class::is_fusible(name).then(|| self.prices.of(op))?,
        }
    }

    /// For each strand what is kept for it of what others need, too. What later ones have is there for earlier ones.
    fn kept(&self) -> Vec<Keys> {
        let mut there = Keys::default();
        let mut all = vec![Keys::default(); self.strands.len()];
        for number in (1..self.strands.len()).rev() {
            let shared = self.shared(number);
            let more = self.cut(&shared, &there).unwrap_or(shared);
            there.extend(more.into_iter().map(ir::key));
            all[number].clone_from(&there);
        }
        all
    }

    /// The cheapest choice of what to keep for a strand.
    fn cut(&self, shared: &[Value<'c, 'a>], there: &Keys) -> Option<Vec<Value<'c, 'a>>> {
        let mut network = Network::default();
        let mut pending = shared.to_vec();
        let keeping = |value: Value<'c, 'a>| match ir::plain(value) {
            Some(_) => self.prices.bytes(value).saturating_mul(4) + 1,
            None => ENDLESS,
        };
        for &value in shared {
            network.add(value, || keeping(value));
            network.need(value);
        }
        while let Some(value) = pending.pop() {
            if self.is_there(value) || there.contains(&ir::key(value)) {
                continue;
            }
            let place = self.body.maker(value).expect("all else is there");
            match self.again(place) {
                Some(seconds) => {
                    network.price(value, self.prices.cost(seconds, self.moves) + 1);
                    for operand in self.body.ops[place].operands() {
                        if network.add(operand, || keeping(operand)) {
                            pending.push(operand);
                        }
                        network.takes(value, operand);
                    }
                }
                None => network.price(value, ENDLESS),
            }
        }
        network.cut()
    }

    /// Has each strand come right before its end, behind a barrier; says how many ops are done again.
    fn take(&self, kept: &[Keys], build: &Builder<'c, 'a>) -> usize {
        let shared: Vec<_> = (0..self.strands.len()).map(|number| self.shared(number)).collect();
        let mut again = 0;
        for (number, strand) in self.strands.iter().enumerate() {
            let end = self.body.ops[strand.end];
            if number > 0 {
                build.set_insertion_point_before(end);
                let mut maker =
                    Maker { turns: self, kept: &kept[number], build, made: Table::default(), again: 0 };
                maker.hold(&shared[number], number);
                for &value in &shared[number] {
                    let made = maker.make(value);
                    for used in uses(value).collect::<Vec<_>>() {
                        let place = self.body.place(used.user);
                        if place.is_some_and(|place| self.of[place] == Some(number)) {
                            build.set_operand(used.user, used.operand, made);
                        }
                    }
                }
                again += maker.again;
            }
            strand.before.iter().for_each(|&place| build.move_before(self.body.ops[place], end));
        }
        again
    }
}

/// Makes what a strand shares with others.
struct Maker<'m, 'c, 'a> {
    turns: &'m Turns<'m, 'c, 'a>,
    kept: &'m Keys,
    build: &'m Builder<'c, 'a>,
    /// What values are called in the strand.
    made: Table<usize, Value<'c, 'a>>,
    again: usize,
}

impl<'c: 'a, 'a> Maker<'_, 'c, 'a> {
    fn has(&self, value: Value<'c, 'a>) -> bool {
        self.turns.is_there(value) || self.kept.contains(&ir::key(value))
    }

    /// Lets what a strand is computed from go through a barrier together with what the strand before it ends in: nothing of it is done
    /// before that is there.
    fn hold(&mut self, shared: &[Value<'c, 'a>], number: usize) {
        let Turns { body, strands, .. } = self.turns;
        let [before, end] = [number - 1, number].map(|number| strands[number].end);
        let results: Vec<Value> = body.ops[before].results().map(Value::from).collect();
        let mut leaves = self.leaves(shared);
        leaves.retain(|leaf| !results.contains(leaf));
        leaves.extend(&results);
        let held = barriers(&leaves, self.build, body.ops[end].location());
        let barrier = defining_op(held[0]).expect("it was made just now");
        for (value, held) in results.iter().zip(&held[leaves.len() - results.len()..]) {
            // Counters stay as they are: back ends that look for the number of turns do not see through a barrier.
            if !ir::is_rank_zero(*value) {
                let is_later = |user| body.place(user).is_none_or(|at| at >= end);
                self.build.replace_uses(*value, *held, |user| user != barrier && is_later(user));
            }
        }
        self.made.extend(leaves.iter().map(|leaf| ir::key(*leaf)).zip(held));
    }

    /// What is there of what is read by a strand, or by what is done again for it. Constants need not be held.
    fn leaves(&self, shared: &[Value<'c, 'a>]) -> Vec<Value<'c, 'a>> {
        let is_constant = |value| defining_op(value).is_some_and(|op| op_name(op) == "stablehlo.constant");
        let mut seen = Keys::default();
        let (mut pending, mut leaves): (Vec<_>, _) = (shared.iter().rev().copied().collect(), Vec::new());
        while let Some(value) = pending.pop() {
            if !seen.insert(ir::key(value)) {
                continue;
            }
            if !self.has(value) {
                let op = defining_op(value).expect("arguments are there");
                pending.extend(op.operands());
            } else if !ir::is_rank_zero(value) && !is_constant(value) {
                leaves.push(value);
            }
        }
        leaves
    }

    /// A value as the strand has it.
    fn make(&mut self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        let mut pending = vec![(value, false)];
        while let Some((value, ready)) = pending.pop() {
            if self.made.contains_key(&ir::key(value)) || self.has(value) {
                continue;
            }
            let op = defining_op(value).expect("arguments are there");
            if !ready {
                pending.push((value, true));
                pending.extend(op.operands().map(|operand| (operand, false)));
                continue;
            }
            let name = |operand| self.made.get(&ir::key(operand)).copied().unwrap_or(operand);
            let operands: Vec<Value> = op.operands().map(name).collect();
            let copy = self.build.copy_with(op, &operands, &[], &[value.r#type()]);
            self.again += 1;
            self.made.insert(ir::key(value), copy.result(0).expect("it has one").into());
        }
        self.made.get(&ir::key(value)).copied().unwrap_or(value)
    }
}
