// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-in-turn`: results that have little to do with one another are computed one after the other.
//!
//! # What it matches
//!
//! A function, or the body of the loop that runs when a function needs most, in which several results are each made of
//! much that nothing else needs, and of some that others need as well: the tendencies of an ocean model's velocities
//! and
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
//! What nothing but one op needs is what that op dominates against the direction in which values flow: a tree, from
//! one walk over a
//! block ([`strands`]). Going down from the block's end, where several ops each need much of what is alive at the
//! peak (by the
//! [memory model](crate::memory)) they are those that take turns, or finer ones among what is before each. In the
//! order in which they stand, each but the
//! first is begun behind a barrier: what it needs of what others need, too, is kept for it, or computed again of what
//! is there
//! anyway, whichever costs less ([`crate::min_cut`], as in `--slimhlo-rematerialize`).
//!
//! Back ends that drop barriers before they look for what is computed twice (`Storage::barriers_hold`) are given a
//! choice instead, which they compute on the
//! fly: what a result is made of, if a condition holds, which always does and depends on the result before it
//! (`hold.rs`), else zeros.
//!
//! # Why it is right
//!
//! The same ops are done on the same values. What has effects, talks to other devices or draws lots stays where it
//! is. Reductions
//! and products are not done twice.
//!
//! # Why it pays, and what it costs
//!
//! XLA for GPUs merges kernels that read the same into one that stores all their results, wherever these go: one of
//! the loop of an
//! ocean simulation stores dozens of fields, which are there until the last tendency is. In turn, each finds
//! the memory that the one before it had. Where that had been 63.5 MiB beside the simulation's state, it is
//! 35.1 (`test/oracle/referee.py --target h100`, see `docs/frameworks.md`). XLA for CPU begins with whatever it can,
//! and computes for each of its
//! readers only what does not grow beyond bounds so: there it is 60.5 MiB for 122.8. The price is a kernel here and
//! there, and the arithmetic of what is
//! done again.
//!
//! # When it must not fire
//!
//! * Fewer than two results need, each for itself, a [`share`](InTurn::share)th of what is alive at the peak, or all
//!   but the largest of
//!   them together less than a [`LEAST_SHARE`]th.
//! * In large steps ([`least-ops`](InTurn::least_ops)), which nobody judges by the model: strands with anything but
//!   elementwise ops and moves, and blocks in which something waits for something else.
//! * Programs for several devices: what a partitioner makes of barriers the model does not know.
//! * Where everything is done as soon as it can be (`Schedule::FirstReady`), and so what is alive is not known well
//!   enough: where strands have anything but
//!   elementwise ops and moves, wait for one another as it is, or where what several read in all but the largest of
//!   them is less than
//!   the function's peak.

use crate::body::Body;
use crate::cost::Cost;
use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold;
use crate::ir::{self, Builder};
use crate::memory::{self, EXPENSIVE, Profile};
use crate::min_cut::{ENDLESS, Network};
use crate::ops::class;
use crate::rematerialize::price::Prices;
use crate::rewrite::{captures, defining_op, has_one_use, uses};
use crate::shards::is_partitioned;
use crate::tables::{Keys, Table};
use crate::target::{Schedule, Target};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;

mod strands;

use strands::{Strand, strands};

crate::pass_options! {
    /// Compute results that have little to do with one another one after the other.
    ///
    /// Where several ops of a function or of a loop's body each need much that nothing else needs, each is begun
    /// behind a barrier that
    /// waits for the one before it. What it needs of what others need is kept for it or computed again, whichever
    /// costs less. The same
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
        /// Where this is not 0, just in large steps: blocks of so many ops or more, in which nothing takes turns yet and what is to take some
        /// is elementwise or moved, for a back end that merges kernels that read the same. What it stores of such the memory model
        /// does not see.
        pub least_ops: u64 = 0,
    }
}

const TURNS: Statistic = Statistic::new(c"num-turns", c"results that wait for the one before them");
const AGAIN: Statistic = Statistic::new(c"num-again", c"ops that are done again");

/// Where no rates are known, so many operations are done again rather than to keep a quarter of a byte. The loop of
/// an ocean simulation (see above) takes
/// 60.5 MiB with 4, 79.0 with 1 and 61.3 with 256 beside its state under XLA for CPU (`share=8`,
/// `test/oracle/referee.py --target cpu`).
const OPERATIONS: u64 = 4;

/// The least share of what is alive at the peak that others than the largest have to take. With less, 18 % of it in
/// the corpus's cable_jaxley,
/// XLA for an H100 took 10.4 MiB for 10.2 (`test/oracle/referee.py --target h100` on what the pipeline made).
const LEAST_SHARE: u64 = 4;

impl Pass for InTurn {
    const ARGUMENT: &'static str = "slimhlo-in-turn";
    const STATISTICS: &'static [Statistic] = &[TURNS, AGAIN];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let prices = self.target.rates().map(|rates| Prices::new(root, self.target, rates));
        let terms = Terms { prices, moves: self.moves, barriers: self.target.storage().barriers_hold };
        for (block, profile) in memory::profiles(root, self.target) {
            let Some(body) = Body::of(block).filter(|body| !body.ops.iter().any(|op| stays(*op))) else {
                continue;
            };
            let strands = self.strands(root, &body, &profile);
            if strands.len() < 2 {
                continue;
            }
            let turns = Turns::new(&body, &strands, &terms);
            let again = turns.take(&turns.kept(), &Builder::new(root));
            context.count(&TURNS, strands.len() as u64 - 1);
            context.count(&AGAIN, again as u64);
            return Ok(Changed::Yes);
        }
        Ok(Changed::No)
    }
}

impl InTurn {
    /// What is to take turns in a block.
    fn strands<'c: 'a, 'a>(
        &self,
        root: OperationRef<'c, 'a>,
        body: &Body<'c, 'a>,
        profile: &Profile<'c, 'a>,
    ) -> Vec<Strand> {
        let is_eager = matches!(self.target.storage().schedule, Schedule::FirstReady);
        if self.least_ops > 0 && !self.is_large_step(body) {
            return Vec::new();
        }
        let alive = if is_eager { read_by_several(body) } else { profile.alive.clone() };
        let all: u64 = alive.values().sum();
        let mut strands = strands(body, &alive, all / self.share.max(1));
        // What nobody is to compute again goes through barriers.
        let is_light = |place: &usize| {
            let op = body.ops[*place];
            is_light(op) || op_name(op) == "stablehlo.optimization_barrier"
        };
        strands.retain(|strand| {
            // What follows waits for their bits.
            ir::first_result(body.ops[strand.end])
                .is_some_and(|end| hold::has_bits(end) && ir::bytes(end) > 0)
                && (!(is_eager || self.least_ops > 0) || strand.before.iter().all(is_light))
        });
        // One of them will be there in any case.
        let alone = strands.iter().map(|strand| strand.alive).max().unwrap_or_default();
        let saved = strands.iter().map(|strand| strand.alive).sum::<u64>() - alone;
        let peak = || Cost::of(root, self.target).map_or(0, |cost| cost.peak());
        if saved < all / LEAST_SHARE || is_eager && (wait(body, &strands) || saved < peak()) {
            strands.clear();
        }
        strands
    }

    /// Whether a block is a large step for a back end that merges kernels, and nothing in it waits for something else.
    fn is_large_step(&self, body: &Body<'_, '_>) -> bool {
        let waits = |op: &OperationRef<'_, '_>| {
            op_name(*op) == "stablehlo.optimization_barrier" && op.operand_count() > 1
        };
        let is_merged = self.target.storage().joins_kernels.is_some_and(|joins| joins.alike);
        is_merged && body.ops.len() as u64 >= self.least_ops && !body.ops.iter().any(waits)
    }
}

/// Whether some strands wait for others as they are.
fn wait(body: &Body<'_, '_>, strands: &[Strand]) -> bool {
    let mut waits = vec![false; body.ops.len()];
    let mut is_end = waits.clone();
    strands.iter().for_each(|strand| is_end[strand.end] = true);
    for (place, op) in body.ops.iter().enumerate() {
        let mut makers = op.operands().chain(captures(*op)).filter_map(|value| body.maker(value));
        waits[place] = makers.any(|maker| waits[maker] || is_end[maker]);
    }
    strands.iter().any(|strand| waits[strand.end])
}

/// Bytes of results, by the keys of the ops that make them, that several ops read: back ends that do not compute them
/// for each, lest
/// that grows without bound, store some of them. Which, and so how much is alive, is not known well.
fn read_by_several(body: &Body<'_, '_>) -> Table<usize, u64> {
    let bytes = |op: &OperationRef<'_, '_>| {
        let read = op.results().map(Value::from).filter(|result| !has_one_use(*result));
        (ir::op_key(*op), read.map(|result| ir::bytes(result).unsigned_abs()).sum())
    };
    body.ops.iter().filter(|op| !class::Class::of(op_name(**op)).free).map(bytes).collect()
}

/// Whether an op computes or moves elements, be it as a kernel of its own.
fn is_light(op: OperationRef<'_, '_>) -> bool {
    const MOVES: [&str; 4] =
        ["stablehlo.concatenate", "stablehlo.gather", "stablehlo.pad", "stablehlo.dynamic_update_slice"];
    op.region_count() == 0 && (class::is_fusible(op_name(op)) || MOVES.contains(&op_name(op)))
}

/// What is judged, and how strands wait for one another, on a target.
struct Terms {
    /// None where nobody knows the rates.
    prices: Option<Prices>,
    moves: u64,
    /// Whether barriers hold; if not, what a strand is made of is chosen by a condition that depends on what it waits
    /// for.
    barriers: bool,
}

impl Terms {
    /// What it costs to do an op again, in quarters of bytes that could be kept for that; `None` for what is not to
    /// be done twice.
    fn again(&self, op: OperationRef<'_, '_>) -> Option<u64> {
        if !is_light(op) {
            return None;
        }
        let (result, name) = (ir::first_result(op)?, op_name(op));
        let Some(prices) = &self.prices else {
            let elements = ir::plain(result)?.shape.iter().product::<i64>() as f64;
            let each = if class::is_costly(name) { EXPENSIVE } else { 1.0 };
            return Some((elements * each) as u64 / OPERATIONS);
        };
        // An array that is updated is another one then.
        let copying = || prices.rates.launch_in_graph + 2.0 * ir::bytes(result) as f64 / prices.rates.bytes;
        let seconds = if name == "stablehlo.dynamic_update_slice" { Some(copying()) } else { prices.of(op) };
        Some(prices.cost(seconds?, self.moves))
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
    /// What each strand reads of what is made outside of it.
    shared: Vec<Vec<Value<'c, 'a>>>,
    terms: &'t Terms,
}

impl<'t, 'c: 'a, 'a> Turns<'t, 'c, 'a> {
    fn new(body: &'t Body<'c, 'a>, strands: &'t [Strand], terms: &'t Terms) -> Self {
        let mut of = vec![None; body.ops.len()];
        for (number, strand) in strands.iter().enumerate() {
            strand.before.iter().chain([&strand.end]).for_each(|&place| of[place] = Some(number));
        }
        let shared = Vec::new();
        let mut turns = Self { body, strands, of, shared, terms };
        turns.shared = (0..strands.len()).map(|number| turns.shared_by(number)).collect();
        turns
    }

    /// What the ops of a strand read of what is made outside of it, in the order in which they do.
    fn shared_by(&self, number: usize) -> Vec<Value<'c, 'a>> {
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

    /// What it costs to do an op again in another strand; `None` for what is not to be done twice.
    fn again(&self, place: usize) -> Option<u64> {
        self.of[place].is_none().then(|| self.terms.again(self.body.ops[place]))?
    }

    /// For each strand what is kept for it of what others need, too. What later ones have is there for earlier ones.
    fn kept(&self) -> Vec<Keys> {
        let mut there = Keys::default();
        let mut all = vec![Keys::default(); self.strands.len()];
        for number in (1..self.strands.len()).rev() {
            let shared = &self.shared[number];
            let more = self.cut(shared, &there).unwrap_or_else(|| shared.clone());
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
            Some(_) => ir::bytes(value).unsigned_abs().saturating_mul(4) + 1,
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
                Some(cost) => {
                    network.price(value, cost + 1);
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
        let mut again = 0;
        for (number, strand) in self.strands.iter().enumerate() {
            let end = self.body.ops[strand.end];
            if number > 0 {
                build.set_insertion_point_before(end);
                let mut maker =
                    Maker { turns: self, kept: &kept[number], build, made: Table::default(), again: 0 };
                maker.hold(number);
                for &value in &self.shared[number] {
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

    /// Lets what a strand is computed from go through a barrier together with what the strand before it ends in:
    /// nothing of it is done
    /// before that is there.
    fn hold(&mut self, number: usize) {
        let Turns { body, strands, .. } = self.turns;
        let [before, end] = [number - 1, number].map(|number| strands[number].end);
        let results: Vec<Value> = body.ops[before].results().map(Value::from).collect();
        let mut leaves = self.leaves(&self.turns.shared[number]);
        leaves.retain(|leaf| !results.contains(leaf));
        let location = body.ops[end].location();
        if !self.turns.terms.barriers {
            let goes_on = hold::always(self.build, results[0], location);
            // Of other values nobody knows what zeros are.
            for leaf in leaves.into_iter().filter(|leaf| ir::plain(*leaf).is_some()) {
                let zeros = self.build.zeros(leaf.r#type(), location);
                self.made.insert(ir::key(leaf), self.build.select(goes_on, leaf, zeros, location));
            }
            return;
        }
        leaves.extend(&results);
        let held = hold::barriers(&leaves, self.build, location);
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
        let mut made = std::mem::take(&mut self.made);
        let (value, again) = self.build.make_again(value, &mut made, |value| self.has(value));
        self.made = made;
        self.again += again;
        value
    }
}
