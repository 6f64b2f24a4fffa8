// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-batch-slices`: a program that keeps a dimension apart, a slice of it at a time.
//!
//! # What it matches
//!
//! A function, or the body of the loop that runs at its peak (by the [memory model](crate::memory)), where values are
//! alive then that have a dimension in common, the batch (or rows of particles), which what they are made of has, too,
//! and what is made of them: elementwise ops, products along others, convolutions, windows, normalizations by row,
//! gathers, sorts along others. What adds the dimension up (a loss, the gradient of a parameter) ends it.
//!
//! ```mlir
//! %h = stablehlo.dot_general %x, %w                              // [64, 1024] of [64, 512] and [512, 1024]
//! %a = stablehlo.tanh %h
//! ...                                                            // layers, and back
//! %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0]
//! ```
//!
//! becomes
//!
//! ```mlir
//! %loop:4 = stablehlo.while(%i = 0, %sum = zeros, %xs = %x, %ws = %w)
//!   do {
//!     %some = stablehlo.dynamic_slice %xs, %i, 0, sizes = [16, 512]
//!     %h = stablehlo.dot_general %some, %ws                      // [16, 1024]
//!     %a = stablehlo.tanh %h
//!     ...
//!     %part = stablehlo.dot_general %some, %dh, contracting_dims = [0] x [0]
//!     %next = stablehlo.add %sum, %part
//!   }
//! ```
//!
//! A whole train step in micro-batches is the largest case.
//!
//! # How
//!
//! From each of the largest values at the peak, along each of its dimensions, a region grows both ways (`region.rs`)
//! by what ops do with a dimension (`rules.rs`). An op that needs all of it, or a sum that is complete only after the
//! loop, stays outside, with all that is made of it: so the region is one that can be done at once. The region that
//! has most inside at the peak is taken. Sums of what is cheap to compute of arguments (how many words a batch has)
//! are computed before the loop, and so is what is made on the fly of what is outside and wanted there as a whole (a
//! population); what leaves it, and follows from arguments by a few cheap ops (images as floats, of bytes), is computed again
//! where it is wanted. Where only single elements of it are wanted (the member of a population that turned out best) these are computed by
//! themselves, by ops of any kind that back ends fuse.
//!
//! With `after-sums` the region is what has to wait for sums of all slices, one of those that nothing inside waits for: the backward part
//! of a Gaussian process, once the matrix that all data have a part in is factorized. What it needs of before the sums is sliced, or
//! computed again where that costs less than to keep it: a minimum cut ([`crate::min_cut`]), with what is computed on the fly for next to
//! nothing. In `chunks` of the pipeline these regions would be in the way of those before them (of Behler-Parrinello networks, by hand,
//! the model had 1,843 MiB for 380), so they have a stage of their own behind that.
//! Once the part before the sums is in a loop, though, nothing after it computes that again, and what it needs is stored: with `and-before` what
//! waits comes first, then what does not. A recurrent agent's convolutions are sliced by samples before and after its loops over time.
//!
//! With `parts` sums over joined arrays are taken apart first (`--slimhlo-unstack=sums=true`): samples' gradients of all parameters, side
//! by side, are one such, whose larger parts are outer products that can be sliced along either factor. So dimensions are also sliced
//! as what they are reshaped from. A population of random members and their opposites is another: as two halves, its losses are one region, and
//! what is made of the losses and the members another, after sums, in which random numbers are made again.
//!
//! # Why it is right
//!
//! Each element that is kept apart is computed by the same ops of the same elements. Sums over the dimension are added
//! up in another order, slice by slice, narrow floats in f32; extremes are the same in any order. What is compared
//! with its own sum ([`crate::ties`]) is left alone.
//!
//! # Why it pays, and what it costs
//!
//! What stays in the loop takes a slice's share of what it took. The price is a kernel per op and slice, sums that are
//! read and written in each turn, and smaller products. The pipeline tries several sizes and judges each by the
//! target's rates. Growing is linear in the ops of the block, for each of [`SEEDS`] values; from values that have grown
//! together with another one the same would grow, mostly. A function is looked at once for all sizes
//! ([`known`](crate::memory)).
//!
//! # When it must not fire
//!
//! * Little at the peak would stay inside: less than a [`LEAST_SHARE`]th of it.
//! * Loops (random numbers are made in them), barriers that users put, custom calls and what comes from other devices
//!   are not taken in.
//! * A function with effects whose order matters; targets whose rates nobody knows.
//! * Programs for more than one partition: a slice of a batch that is cut would be some devices'.

mod emit;
pub(crate) mod region;
pub(crate) mod rules;

use crate::body::Body;
use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::memory::{self, Profile, known};
use crate::ops::class::{self, has_effects};
use crate::ops::related::{Dim, Related, related};
use crate::rematerialize::price::Prices;
use crate::rewrite::{Greedy, Patterns, context_of, defining_op};
use crate::shards::is_partitioned;
use crate::simplify::add_simplify_rules;
use crate::tables::Table;
use crate::target::Target;
use crate::ties::Ties;
use crate::unstack;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value};
use region::{Grown, Reach, Region};
use rules::Rules;
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::op_name;
use smallvec::SmallVec;
use std::rc::Rc;

crate::pass_options! {
    /// Compute what keeps a dimension apart a slice of that dimension at a time.
    ///
    /// Where values at a function's peak have a dimension in common that all ops around keep apart or add up (the
    /// batch of a training step), these ops become a `while` over slices of it. What leaves is put in its place; sums
    /// over the dimension, such as gradients of parameters, are added up from turn to turn. Only the order of
    /// accumulation changes.
    ///
    /// ```mlir
    /// %h = stablehlo.dot_general %x, %w
    /// %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0]
    /// // becomes
    /// %loop:4 = stablehlo.while(%i = %c0, %sum = %zeros, %xs = %x, %ws = %w) ...
    /// ```
    pub struct BatchSlices {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// How much of what is now alive at the peak one slice may take, about.
        pub chunk_bytes: Bytes = Bytes(4 << 20),
        /// Takes what has to wait for sums of all slices (the backward part of a program whose forward part ends in a matrix that is
        /// factorized), not what can be done before them. What it needs of before the sums is computed again if that costs little.
        pub after_sums: bool = false,
        /// Where something waits for such sums, then does what can be done before them as well, in slices of that size; does nothing where nothing
        /// waits.
        pub and_before: bool = false,
        /// First takes sums over concatenates of what is made of little apart, as `--slimhlo-unstack=sums=true` does, and then does all it can; does
        /// nothing where there are none.
        pub parts: bool = false,
    }
}

const LOOPS: Statistic = Statistic::new(c"num-loops", c"loops over slices");
const OPS: Statistic = Statistic::new(c"num-ops", c"ops done in slices");

/// Which part of what is alive at the peak has to be inside of a region.
const LEAST_SHARE: u64 = 8;
/// Which part of that has to be what products and the like make, which any back end stores, or functions that are too costly
/// to compute for each reader. Where all is cheap, elementwise and summed up, a back end may have none of it where the
/// model has much: of `triplet_loss_gradient` XLA for an H100 stores 6 MiB of 516 (`cargo xtask bench model`).
const STORED_SHARE: u64 = 16;
/// In how many shares what is alive at the peak falls when two regions are compared: of evolution strategies the one over members leaves a
/// boolean more outside than the one over samples. Not measured against other numbers.
const SHARES: u64 = 64;
/// What is needed again after a sum of all slices is computed again where that takes no longer than moving it so many times: as in
/// `--slimhlo-rematerialize`, not measured against others.
const MOVES: u64 = 8;
/// How many regions are done one after another of parts of what was joined: a natural gradient has two, its matrix and its direction. Not
/// measured against others.
const PHASES: usize = 3;
/// How many of the largest values at the peak a region is grown from.
const SEEDS: usize = 6;

/// From where a region grows: an op's first result, by the op's [number](known::numbered), the dimension that is sliced, in how many slices at
/// most, and how many sums of all slices come before the region.
struct Seed {
    number: usize,
    dim: usize,
    units: i64,
    sums: usize,
}

impl Pass for BatchSlices {
    const ARGUMENT: &'static str = "slimhlo-batch-slices";
    const STATISTICS: &'static [Statistic] = &[LOOPS, OPS];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if self.target.rates().is_none() || is_partitioned(root) {
            return Ok(Changed::No);
        }
        if !self.parts {
            let done = self.once(root, context);
            if done && self.and_before {
                Self { after_sums: false, ..self.clone() }.once(root, context);
            }
            return Ok(done.into());
        }
        if !unstack::with_sums(root) {
            return Ok(Changed::No);
        }
        // Slices of what was joined of arguments, say: what they are of is nothing that a part has to wait for.
        add_simplify_rules(Patterns::new(), root, &|_| ()).apply(root, &Greedy::folding(false))?;
        // What parts are needed for before sums, and after.
        (0..PHASES).all(|_| self.once(root, context));
        Ok(Changed::Yes)
    }
}

impl BatchSlices {
    /// Does the best region in slices; false if there is none.
    fn once<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> bool {
        // Slices of any size are of the same region.
        let question = if self.after_sums { "slices after sums" } else { "batch-slices" };
        let find = || best(root, self.target, self.after_sums);
        let best = known::once(question, root, self.target, find);
        let Some(Seed { number, dim, units, sums }) = *best else { return false };
        let seed = known::numbered(root).get(number).and_then(|op| ir::first_result(*op));
        let best = seed.and_then(|seed| {
            let block = defining_op(seed)?.block();
            let sight = Sight::all(root, self.target, self.after_sums)
                .find(|sight| Some(sight.body.block) == block)?;
            let seeds: Vec<Value> = sight.seeds().collect();
            let mut regions = sight.grown(seed, (dim, units), &seeds)?.regions.into_iter();
            sight.choice(regions.find(|(waits, _)| *waits == sums)?.1)
        });
        let Some(best) = best else { return false };
        let Some(turns) = best.turns(self.chunk_bytes.0) else { return false };
        context.count(&LOOPS, 1);
        context.count(&OPS, best.region.members.len() as u64);
        emit::run(&best.region, turns, &Builder::new(root));
        true
    }
}

/// A region, and the bytes of what is alive at the peak that would stay inside.
struct Choice<'c, 'a> {
    region: Region<'c, 'a>,
    inside: u64,
    /// The same without what is added up in all turns.
    saved: u64,
}

/// The best region so far: from where it grows, bytes at the peak that stay inside, and by what it is compared with others.
#[derive(Clone, Copy)]
struct Best<'c, 'a> {
    /// In shares of what is alive at the peak; and bytes of all that stays inside.
    rank: (u64, u64),
    saved: u64,
    seed: Value<'c, 'a>,
    dim: usize,
    units: i64,
    /// How many sums of all slices come before it.
    sums: usize,
}

impl Choice<'_, '_> {
    /// The fewest slices of which one takes no more than `most` bytes, or the most that there can be.
    fn turns(&self, most: u64) -> Option<i64> {
        let divisors = (2..=self.region.units).filter(|turns| self.region.units % turns == 0);
        let enough = |turns: &i64| self.inside / turns.cast_unsigned() <= most;
        let mut last = None;
        for turns in divisors {
            last = Some(turns);
            if enough(&turns) {
                break;
            }
        }
        last
    }
}

/// Into how many slices a dimension of each size falls beside those of one element: for dimensions that are several for a while.
struct Splits(Table<i64, SmallVec<[i64; 2]>>);

impl Splits {
    fn of_all<'c: 'a, 'a>(body: &Body<'c, 'a>) -> Self {
        let mut splits: Table<i64, SmallVec<[i64; 2]>> = Table::default();
        let size = |(value, dim): Dim<'c, 'a>| Some(*ir::plain(value)?.shape.get(dim)?);
        for op in body.ops.iter().filter(|op| op_name(**op) == "stablehlo.reshape") {
            let Some(Related { regrouped, .. }) = related(*op) else { continue };
            for (from, to) in regrouped {
                for (one, several) in [(&from, &to), (&to, &from)] {
                    // The outermost of several is what a slice is of: those inside lie side by side.
                    let (&[one], [outermost, ..]) = (&one[..], &several[..]) else { continue };
                    let Some((all, outermost)) = size(one).zip(size(*outermost)) else { continue };
                    let known = splits.entry(all).or_default();
                    if !known.contains(&outermost) {
                        known.push(outermost);
                    }
                }
            }
        }
        Self(splits)
    }

    /// One element each, then what else there is.
    fn of(&self, size: i64) -> impl Iterator<Item = i64> {
        std::iter::once(size).chain(self.0.get(&size).into_iter().flatten().copied())
    }
}

/// From where the region grows that has most inside at the peak, in the function's own block or in the body of the loop
/// that runs then.
fn best<'c: 'a, 'a>(root: OperationRef<'c, 'a>, target: Target, after_sums: bool) -> Option<Seed> {
    let best =
        Sight::all(root, target, after_sums).filter_map(|sight| sight.best()).max_by_key(|(saved, _)| *saved);
    best.map(|(_, seed)| seed)
}

/// A block of a function, and what is alive as it runs.
struct Sight<'c, 'a> {
    root: OperationRef<'c, 'a>,
    target: Target,
    profile: Profile<'c, 'a>,
    body: Body<'c, 'a>,
    ties: Rc<Ties<'c, 'a>>,
    /// What it costs to compute ops again, if what has to wait for sums is looked for.
    prices: Option<Rc<Prices>>,
}

impl<'c: 'a, 'a> Sight<'c, 'a> {
    /// The function's own block, the body of the loop that runs at its peak, and so on; but for those that are to be left
    /// alone.
    fn all(root: OperationRef<'c, 'a>, target: Target, after_sums: bool) -> impl Iterator<Item = Self> {
        let ties = Rc::new(Ties::new(root));
        let prices =
            target.rates().filter(|_| after_sums).map(|rates| Rc::new(Prices::new(root, target, rates)));
        memory::profiles(root, target).into_iter().filter_map(move |(block, profile)| {
            let body = Body::of(block)?;
            let stays = body.ops.iter().any(|op| has_effects(*op));
            (!stays).then(|| Self {
                root,
                target,
                profile,
                body,
                ties: Rc::clone(&ties),
                prices: prices.clone(),
            })
        })
    }

    /// Bytes that an op's results have at the peak.
    fn alive(&self, op: OperationRef<'c, 'a>) -> u64 {
        self.profile.alive.get(&ir::op_key(op)).copied().unwrap_or_default()
    }

    /// The largest values at the peak.
    fn seeds(&self) -> impl Iterator<Item = Value<'c, 'a>> + use<'c, 'a> {
        let mut seeds: Vec<(u64, Value<'c, 'a>)> = self
            .body
            .ops
            .iter()
            .filter_map(|op| Some((self.alive(*op), ir::first_result(*op)?)))
            .filter(|(bytes, _)| *bytes > 0)
            .collect();
        seeds.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        seeds.into_iter().take(SEEDS).map(|(_, seed)| seed)
    }

    /// What can be done with a value a slice of its dimension at a time, and where others of the largest are.
    fn grown(
        &self,
        seed: Value<'c, 'a>,
        (dim, units): (usize, i64),
        others: &[Value<'c, 'a>],
    ) -> Option<Grown<'c, 'a>> {
        let rules = Rules {
            units,
            storage: self.target.storage(),
            ties: Rc::clone(&self.ties),
            f32: Type::float32(context_of(self.root)),
        };
        match &self.prices {
            None => Region::around(&self.body, &rules, (seed, dim)),
            Some(prices) => {
                let price = |op| price(op, prices);
                Region::after_sums(&self.body, &rules, (seed, dim), others, &price)
            }
        }
    }

    /// A region, if it has enough inside.
    fn choice(&self, region: Region<'c, 'a>) -> Option<Choice<'c, 'a>> {
        let total: u64 = self.profile.alive.values().sum();
        let inside: u64 = region.inner().map(|op| self.alive(op)).sum();
        let mut saved = inside.saturating_sub(region.added());
        if self.prices.is_some() {
            // What leaves is there in all turns, too, and was stored in another form at the peak, maybe.
            let leaving = region.leaving().filter(|(op, _)| self.alive(*op) == 0);
            saved = saved.saturating_sub(leaving.map(|(_, bytes)| bytes).sum());
        }
        let costly =
            region.inner().filter(|op| class::is_costly(op_name(*op)) && class::is_elementwise(op_name(*op)));
        let stored = region.stored() + costly.map(|op| self.alive(op)).sum::<u64>();
        let enough = inside > total / LEAST_SHARE && saved > 0 && stored > inside / STORED_SHARE;
        enough.then_some(Choice { region, inside, saved })
    }

    /// From where the region grows that has most inside at the peak, and bytes that stay inside. Of several with as much, the one that has
    /// most inside at other times: weights of each member of a population are sliced along with it, but whole in each slice of a batch.
    fn best(&self) -> Option<(u64, Seed)> {
        let total = self.profile.alive.values().sum::<u64>().max(1);
        // As good as the same if no more than a share of what is alive makes the difference.
        let share = |saved: u64| saved.saturating_mul(SHARES).div_ceil(total);
        let mut best: Option<Best<'c, 'a>> = None;
        // What regions of so many units have sliced already.
        let mut sliced: FxHashSet<(usize, usize, i64)> = FxHashSet::default();
        let mut reached: Vec<Reach> = Vec::new();
        let splits = Splits::of_all(&self.body);
        let seeds: Vec<Value<'c, 'a>> = self.seeds().collect();
        for &seed in &seeds {
            let Some(tensor) = ir::plain(seed) else { continue };
            let sizes = tensor.shape.iter().enumerate();
            let units = sizes.flat_map(|(dim, &size)| splits.of(size).map(move |units| (dim, size, units)));
            for (dim, size, units) in units {
                if units < 2
                    || sliced.contains(&(ir::key(seed), dim, units))
                    || reached.iter().any(|reach| reach.has(seed, dim, size / units))
                {
                    continue;
                }
                let Some(Grown { regions, reach }) = self.grown(seed, (dim, units), &seeds) else { continue };
                reached.push(reach);
                for (sums, region) in regions {
                    sliced.extend(region.all().map(|(value, dim)| (ir::key(value), dim, units)));
                    let Some(Choice { saved, region, .. }) = self.choice(region) else { continue };
                    let inside =
                        region.inner().map(|op| op.results().map(|of| ir::bytes(of.into())).sum::<i64>());
                    let inside: u64 = inside.map(i64::cast_unsigned).sum();
                    let rank = (share(saved), inside);
                    if best.is_none_or(|best| rank > best.rank) {
                        best = Some(Best { rank, saved, seed, dim, units, sums });
                    }
                }
            }
        }
        let Best { saved, seed, dim, units, sums, .. } = best?;
        let made_by = ir::op_key(defining_op(seed)?);
        let number = known::numbered(self.root).iter().position(|op| ir::op_key(*op) == made_by)?;
        Some((saved, Seed { number, dim, units, sums }))
    }
}

/// What it costs to do an op again in a loop after sums, as [`MOVES`] says.
fn price<'c: 'a, 'a>(op: OperationRef<'c, 'a>, prices: &Prices) -> Option<u64> {
    let seconds = prices.of(op)?;
    let operand = op.operands().next().filter(|_| op_name(op) == "stablehlo.reduce");
    let on_the_fly = operand.and_then(defining_op).is_some_and(|maker| class::is_fusible(op_name(maker)));
    // What is summed up is computed again as well, and read from nowhere.
    let read = operand.filter(|_| on_the_fly).map_or(0.0, |of| prices.bytes(of) as f64);
    let seconds = (seconds - read / prices.rates.bytes).max(0.0);
    Some(prices.cost(seconds, MOVES))
}
