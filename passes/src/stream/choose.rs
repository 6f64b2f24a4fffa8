// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which consumers share a loop, along which dimension, in chunks of what size; and whether it pays.
//!
//! For each way a consumer can be streamed, and each dimension, a plan is made and weighed: what is no longer stored, less
//! what the loop itself stores (accumulators in f32, a dot's part beside the accumulator it is added to, copies that back ends
//! make of operands which each chunk needs whole). The plan that leaves least wins. One that computes dots again has to
//! leave half of what the best one without does, and less by a part of the program's arguments and results that matters: it takes a
//! third more time, as a rule.

use super::beside::Sunk;
use super::cuts::Cuts;
use super::emit::{Loop, is_made_again};
use super::outside::{EXPANDS, Outside, is_exported, sources};
use super::plan::{self, Facts, Plan, Sought};
use super::{Consumer, GAIN, ROUNDS, Role, SMALL, STRETCH, Sizes};
use crate::ir::{self, Builder, bytes, is_narrow};
use crate::ops::access::{self, Source, Stop};
use crate::ops::class;
use crate::ops::products::{self, dot_numbers};
use crate::rewrite::{defining_op, is_unused, users};
use crate::simplify::site::is_kept_argument;
use crate::tables::{Keys, Marked, Table};
use crate::target::Target;
use crate::ties::Ties;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Rows that a dot in a chunk should have, so that it is computed as fast as the whole.
const ROWS: i64 = 256;
/// How much more a loop has to save whose dots have too few rows: each turn reads what it needs whole once more and rewrites
/// all it accumulates, for too little work.
const THIN: i64 = 4;
/// In how many turns at most a loop should compute narrow results, if a turn may take enough for that.
const TURNS_OF_NARROW: i64 = 4;
/// How many times what a loop saves the updates that its turns copy may be at most, where the program hardly gets smaller.
const COPIED: i64 = 4;
/// Bytes that a processor is sure to have in a cache of its own: where a turn copies updates first, they are best read again while
/// they are there.
const CACHED: i64 = 256 << 10;
/// Which part of a chunk may be left over, after as many as there would be of the largest power of two that fits.
const LEFT_OVER: i64 = 8;
/// How many times what a loop saves the values may be that it computes and searches at once.
const SEARCHED: i64 = 2;
/// Which part of a program's arguments and results is hardly anything beside them.
const SLACK: i64 = 100;
/// How many times what a loop of thin dots saves its turns may write of what they add up.
const REWRITTEN: i64 = 32;
/// How many times what a loop saves the temporaries may be that it takes slices of: all of them are there as long as it runs.
const KEPT: i64 = 4;
/// How many sizes of a chunk are tried for one that divides a dimension.
const MOST_DIVISORS: usize = 1 << 12;
/// Which part of what a loop saves its chunk may take for that.
const SHARE: i64 = 8;
/// The same where a large sum is rewritten in each turn, and how many times as much as elsewhere a chunk may take there.
const SHARE_OF_SUMS: i64 = 4;
const STRETCH_OF_SUMS: i64 = 4;

/// A plan that was found worth its loop.
struct Found<'c, 'a> {
    plan: Plan<'c, 'a>,
    group: Vec<(usize, Consumer<'c, 'a>)>,
    chunk: i64,
    /// Units of one that is no larger for the sake of a sum.
    least_chunk: i64,
    /// Bytes of temporaries of one unit.
    unit_bytes: i64,
    /// Bytes that need not be stored any more.
    saved: i64,
    /// Bytes that the loop stores besides its chunk.
    cost: i64,
    /// Whether it stores nothing besides its chunk.
    apart: bool,
    /// Whether dots are computed again whose results are needed elsewhere.
    again: bool,
    /// Whether a chunk takes about as much as it may.
    fits: bool,
    /// Whether its dots have too few rows to be fast.
    thin: bool,
    /// Whether it is arithmetic on chunks that do not lie in one piece.
    strided: bool,
    /// Bytes of one unit of what is sliced and of the results.
    around: i64,
    /// Seconds that its turns take for themselves, where the target has rates: to start kernels, and to read again what each takes whole.
    turns: f64,
    /// The first consumer's index and dimension.
    first: (usize, usize),
}

impl<'c: 'a, 'a> Found<'c, 'a> {
    /// Bytes the loop stores if its chunks are no larger than they have to be.
    fn leaves(&self) -> i64 {
        self.cost.saturating_add(self.unit_bytes.saturating_mul(self.chunk.min(self.least_chunk)))
    }

    /// Bytes of the largest value that another computes in chunks and it does not, but for arithmetic: that would be there whole.
    fn leaves_whole(&self, other: &Self) -> i64 {
        let mut known = Keys::default();
        for chunk in self.plan.chunks.iter().filter(|chunk| chunk.source.is_op()) {
            known.insert(ir::key(chunk.value));
        }
        let mut most = 0;
        for chunk in other.plan.chunks.iter().filter(|chunk| chunk.source.is_op()) {
            if !chunk.kind.fusible && !known.contains(&ir::key(chunk.value)) {
                most = most.max(chunk.size);
            }
        }
        most
    }

    /// Whether it is better than another.
    fn beats(&self, other: &Self, chunk_bytes: i64, spare: i64) -> bool {
        let net = |found: &Self| {
            let net = found.saved.saturating_sub(found.leaves());
            // To compute dots again takes longer than thin ones do.
            if found.thin && self.again == other.again { net / THIN } else { net }
        };
        // Less than a chunk's difference is no difference: the first way and dimension is the natural one.
        let margin = match (self.again, other.again) {
            (true, false) => (other.leaves() / 2).max(spare).max(chunk_bytes),
            (false, true) => -(self.leaves() / 2).max(spare),
            _ => chunk_bytes,
        };
        let more = net(self).saturating_sub(net(other));
        if self.turns > 0.0 && self.again == other.again && more.abs() <= margin.max(net(other) / SMALL) {
            return self.turns < other.turns;
        }
        if other.strided && !self.strided && self.again == other.again {
            more >= -margin.max(net(other) / SLACK)
        } else {
            more > margin
        }
    }
}

/// Consumers that go together.
struct Gathered<'c, 'a> {
    /// The plan of them all.
    plan: Plan<'c, 'a>,
    group: Vec<(usize, Consumer<'c, 'a>)>,
    /// Values it slices because they are dots' results of no size.
    there: Keys,
    /// Whether one that shares costly producers was left out because the first one's result is made of its own.
    barred: bool,
}

pub struct Rewrite<'c, 'a> {
    pub build: Builder<'c, 'a>,
    /// What compiles the program.
    pub target: Target,
    /// What chunks may take.
    pub sizes: Sizes,
    /// Bytes of the program's arguments and results.
    pub floor: i64,
    /// What a partitioner may cut.
    pub cuts: Rc<Cuts<'c>>,
    /// How much more it may store than one that computes dots again.
    pub spare: i64,
    /// Whether loops that would take slices of what may not have to be stored can wait for another round.
    pub patient: bool,
    /// Whether one did.
    pub waited: Cell<bool>,
    /// Loops that were made.
    pub loops: Vec<OperationRef<'c, 'a>>,
    /// Ops that were erased.
    pub gone: Keys,
    /// Those of them that went with the last loop.
    pub just_gone: Marked,
    /// What is known about values.
    pub facts: Rc<Facts<'c, 'a>>,
    /// What is compared with itself.
    pub ties: Ties<'c, 'a>,
    /// What is known about consumers before the one that is planned, until the next loop is made.
    pub neighbours: Neighbours<'c, 'a>,
}

/// A consumer's index, the dimension it is streamed along, and its units.
type Way = (usize, usize, i64);

/// What is known about consumers as others are asked whether they share producers with them.
#[derive(Default)]
pub struct Neighbours<'c, 'a> {
    /// Ops a few steps up, by the consumer's source.
    above: RefCell<Above>,
    /// What each computes by itself, or why it cannot be streamed so. In order, so that those whose turn is over can go.
    alone: RefCell<BTreeMap<Way, Result<Rc<Alone<'c, 'a>>, Stop>>>,
}

/// Ops a few steps up from consumers' sources, by these.
#[derive(Default)]
struct Above {
    known: Table<usize, Marked>,
    /// The consumers that were asked about first, in order, with their sources.
    asked: BTreeSet<(usize, usize)>,
}

/// A consumer's plan, without any other's.
struct Alone<'c, 'a> {
    plan: Plan<'c, 'a>,
    /// Results of dots that are sliced, see [`Outside::condensed`].
    there: Keys,
    /// Bytes of the largest chunk that is computed.
    largest: i64,
    /// What is not free to compute again: its place in the plan.
    values: Vec<usize>,
    /// The ops it looked at. It holds as long as they do.
    ops: Vec<usize>,
}

impl<'c: 'a, 'a> Neighbours<'c, 'a> {
    /// Whether a consumer is computed from one of some ops, a few steps up.
    fn comes_from(&self, index: usize, consumer: &Consumer<'c, 'a>, others: &Marked) -> bool {
        let Above { known, asked } = &mut *self.above.borrow_mut();
        let source = ir::op_key(consumer.source);
        let above = known.entry(source).or_insert_with(|| {
            asked.insert((index, source));
            above(consumer.source)
        });
        above.meets(others)
    }

    /// Forgets consumers behind `first`, whose turn it is: nobody asks for them again, and the plans of all consumers of a large
    /// module are more than it itself.
    fn pass(&mut self, first: usize) {
        self.alone.get_mut().split_off(&(first + 1, 0, i64::MIN));
        let Above { known, asked } = self.above.get_mut();
        for (_, source) in asked.split_off(&(first + 1, 0)) {
            known.remove(&source);
        }
    }

    /// Forgets what was known of ops that are gone, of what is computed from them, and of consumers from `first` on, whose turn
    /// is over: what is left are those near the next.
    fn forget(&mut self, gone: &Marked, first: usize) {
        let Above { known, asked } = self.above.get_mut();
        known.retain(|op, above| !gone.contains(*op) && !above.meets(gone));
        asked.retain(|(_, op)| known.contains_key(op));
        self.alone.get_mut().retain(|&(index, ..), alone| {
            index < first && alone.as_ref().is_ok_and(|alone| alone.ops.iter().all(|op| !gone.contains(*op)))
        });
    }
}

impl<'c: 'a, 'a> Rewrite<'c, 'a> {
    /// Whether a consumer has been erased, or part of it.
    pub fn is_gone(&self, consumer: &Consumer<'c, 'a>) -> bool {
        [consumer.source, consumer.op].iter().any(|op| self.gone.contains(&ir::op_key(*op)))
            || consumer.links.iter().any(|link| self.gone.contains(&ir::op_key(link.op)))
    }

    /// Whether a consumer is still there: its source, and what is made of that, which may be taken back to the source itself.
    pub fn renew(&self, consumer: &mut Consumer<'c, 'a>) -> bool {
        let links = consumer.links.iter().map(|link| link.op);
        if links.chain([consumer.source]).any(|op| self.gone.contains(&ir::op_key(op))) {
            return false;
        }
        if self.gone.contains(&ir::op_key(consumer.op)) {
            let Some(renewed) = consumer.at_source(&self.cuts) else { return false };
            *consumer = renewed;
        }
        true
    }

    /// Streams a consumer and those that share its producers; says which, if it was worth it.
    pub fn stream(
        &mut self,
        consumers: &[Consumer<'c, 'a>],
        first: usize,
        rest: Vec<usize>,
    ) -> Option<Vec<usize>> {
        self.neighbours.pass(first);
        self.facts.trim();
        let mut best: Option<Found<'c, 'a>> = None;
        // Those that take and store nothing whole, whatever their chunks take: a loop in the body can do the rest.
        let mut apart: Vec<Found<'c, 'a>> = Vec::new();
        // The least that a unit of another takes, to judge what that loop would.
        let mut others: Vec<(usize, usize, i64)> = Vec::new();
        // One op may be streamed in several ways; they follow each other.
        let ways = (0..=first).rev().take_while(|&way| consumers[way].source == consumers[first].source);
        for way in ways.filter(|&way| !self.is_gone(&consumers[way])) {
            for &dim in &consumers[way].dims {
                let Some(found) = self.plan(consumers, (way, consumers[way].along(dim)), &rest) else {
                    continue;
                };
                others.push((way, dim, found.unit_bytes));
                if found.fits {
                    if best.as_ref().is_none_or(|best| found.beats(best, self.sizes.chunk_bytes, self.spare))
                    {
                        best = Some(found);
                    }
                } else if found.apart {
                    apart.push(found);
                }
            }
        }
        let mut outer: Option<Found<'c, 'a>> = None;
        let again = best.as_ref().is_some_and(|best| best.again);
        for mut found in apart.into_iter().filter(|found| again || !found.again) {
            let (way, dim) = found.first;
            let units = found.plan.units;
            let inner =
                others.iter().filter(|other| (other.0, other.1) != (way, dim)).map(|other| other.2).min();
            let within = |bytes: i64| (self.sizes.chunk_bytes / bytes.max(1)).clamp(1, units / 2);
            found.chunk = match inner {
                // What the rest is sliced from and put into has to fit, and one unit of the loop inside.
                Some(inner) => within(found.around).min(within(inner / units)),
                None if best.is_none() => 1,
                None => continue,
            };
            found.chunk = 1 << found.chunk.ilog2();
            if names_products_of_vectors(&found.plan, &found.group, found.chunk) {
                continue;
            }
            if outer.as_ref().is_none_or(|outer| found.around < outer.around) {
                outer = Some(found);
            }
        }
        let mut found = match (best, outer) {
            (Some(best), Some(outer))
                if best.leaves() > self.sizes.chunk_bytes.saturating_mul(2)
                    && outer.saved >= best.saved / 2
                    && !outer.strided
                    && outer.leaves_whole(&best) <= outer.saved / SMALL =>
            {
                outer
            }
            (Some(best), _) => best,
            (None, outer) => outer?,
        };
        found.group.sort_by_key(|(index, _)| *index);
        let group: Vec<_> = found.group.iter().map(|(_, consumer)| consumer.clone()).collect();
        let last = last_of(group.iter().map(|consumer| consumer.op))?;
        let members: Vec<_> = group.iter().map(|consumer| consumer.op).collect();
        let outside = Outside::of(&found.plan, &found.group);
        let dying = outside.dying(&found.plan);
        let early = early_users(&members, &dying)?;
        let sunk = Sunk::all(&found.plan, &dying);
        for op in &early {
            self.build.move_before(*op, last);
        }
        let anchor = early.first().copied().unwrap_or(last);
        let made = Loop {
            build: &self.build,
            storage: self.target.storage(),
            plan: &found.plan,
            consumers: &group,
            chunk: found.chunk,
            part: (
                self.sizes.chunk_bytes.max(self.sizes.stretch / 4),
                found.unit_bytes.saturating_mul(found.chunk),
            ),
            sunk: &sunk,
        };
        let (made, results) = made.emit(anchor);
        self.loops.push(made);
        for (consumer, result) in group.iter().zip(results) {
            self.facts.replaced(consumer.result());
            self.build.replace_all_uses_with(consumer.result(), result);
        }
        let producers: Vec<_> = found
            .plan
            .chunks
            .iter()
            .filter_map(|chunk| Some((defining_op_key(chunk.value)?, chunk.value)))
            .collect();
        for consumer in &group {
            let scatters: Vec<_> = consumer.scatters().collect();
            for op in scatters.into_iter().rev() {
                if !self.gone.contains(&ir::op_key(op)) && is_unused(op) {
                    self.erase(op);
                }
            }
        }
        for (key, value) in producers.into_iter().rev() {
            if self.gone.contains(&key) {
                continue;
            }
            if let Some(op) = defining_op(value).filter(|op| is_unused(*op)) {
                self.erase(op);
            }
        }
        self.ties.forget();
        self.neighbours.forget(&std::mem::take(&mut self.just_gone), first);
        Some(found.group.into_iter().map(|(index, _)| index).filter(|&index| index != usize::MAX).collect())
    }

    fn erase(&mut self, op: OperationRef<'c, 'a>) {
        let Self { gone, just_gone, .. } = self;
        let facts = &self.facts;
        // What is known of values inside is not to be taken for what is known of others at their addresses.
        if matches!(op_name(op), "stablehlo.while" | "stablehlo.if" | "stablehlo.case") {
            facts.clear();
            self.loops.retain(|made| ir::op_key(*made) != ir::op_key(op));
        }
        self.build.erase_with_dead_producers(op, |value| {
            if let Some(op) = defining_op_key(value) {
                gone.insert(op);
                just_gone.insert(op);
            }
            facts.forget(value);
        });
    }

    /// A plan for a consumer along its dimension, and for those that share costly producers with it.
    fn plan(
        &self,
        consumers: &[Consumer<'c, 'a>],
        first: (usize, Consumer<'c, 'a>),
        rest: &[usize],
    ) -> Option<Found<'c, 'a>> {
        let way = (first.0, first.1.dim);
        let gathered = self.gather(consumers, first.clone(), rest)?;
        // Of two sums of the same rows that are added up in the end, the other one could not go along: both do without what is made
        // of them, which is little.
        if gathered.barred
            && let Some(apart) = self.at_source(&first.1)
            && let Some(together) = self.gather(consumers, (first.0, apart), rest)
            && together.group.len() > gathered.group.len()
            && let Some(found) = self.settled(together, way)
            && found.fits
        {
            return Some(found);
        }
        self.settled(gathered, way)
    }

    fn settled(&self, gathered: Gathered<'c, 'a>, way: (usize, usize)) -> Option<Found<'c, 'a>> {
        let Gathered { plan, group, there, .. } = gathered;
        let mut handed_out = true;
        let found = self.settle(plan.clone(), group.clone(), there.clone(), way, &mut handed_out);
        if found.is_some() || !handed_out {
            return found;
        }
        self.settle(plan, group, there, way, &mut false)
    }

    /// The consumers that go together with the first.
    fn gather(
        &self,
        consumers: &[Consumer<'c, 'a>],
        first: (usize, Consumer<'c, 'a>),
        rest: &[usize],
    ) -> Option<Gathered<'c, 'a>> {
        let mut units = first.1.units();
        let mut alone = self.alone(first.0, &first.1, units);
        if let Err(Stop::Retry(fewer)) = alone {
            units = fewer;
            alone = self.alone(first.0, &first.1, units);
        }
        let alone = alone.ok()?;
        let (mut plan, mut there) = (alone.plan.clone(), alone.there.clone());
        let mut group = vec![first];
        for _ in 0..ROUNDS {
            let condensed = if there.is_empty() { Vec::new() } else { Outside::condensed(&plan, &group) };
            if condensed.is_empty() {
                break;
            }
            there.extend(condensed.into_iter().map(ir::key));
            plan = self.replan(units, &group, &there).ok()?;
            there.extend(condensed_before(&mut plan));
        }
        // What it could save at most is soon known, and mostly too little.
        let largest = plan.chunks.iter().filter(|chunk| chunk.source.is_op()).map(|chunk| chunk.size);
        // A scatter reads updates that are all alike from memory, too.
        let alike = plan.chunks.iter().filter(|chunk| chunk.source == Source::Splat).map(|chunk| chunk.size);
        let alike = alike.filter(|_| matches!(group[0].1.role, Role::Scatter));
        let most = largest.clone().chain(alike).fold(widened(&plan, &group), i64::saturating_add);
        if most <= self.sizes.chunk_bytes.saturating_mul(GAIN) {
            return None;
        }
        let matters = largest.max().unwrap_or(0) / 4;
        let shared: Marked = plan
            .chunks
            .iter()
            .filter(|chunk| chunk.source.is_op() && chunk.size >= matters)
            .filter_map(|chunk| chunk.op.map(ir::op_key))
            .collect();
        // What is large may be computed on the fly: a dot of what the first consumer takes is no small matter.
        let taken: Vec<_> = group[0].1.inputs().into_iter().map(|(value, _)| unmoved(value)).collect();
        let takes_the_same = |consumer: &Consumer<'c, 'a>| {
            consumer.source.operands().any(|operand| taken.contains(&unmoved(operand)))
        };
        let may_join = |index: usize, consumer: &Consumer<'c, 'a>| {
            (!consumer.is_dot || consumer.takes >= matters || takes_the_same(consumer))
                && self.neighbours.comes_from(index, consumer, &shared)
        };
        let (mut wanted, mut sought) = self.worth_sharing(&plan);
        let mut barred = false;
        for &next in rest {
            // Few of the plan's ops are wanted, so they are asked for first.
            let consumer = &consumers[next];
            let takes_some = || {
                [consumer.source, consumer.op].iter().any(|op| wanted.contains(ir::op_key(*op)))
                    || self.neighbours.comes_from(next, consumer, &wanted)
            };
            if wanted.is_empty() || !takes_some() || !may_join(next, consumer) {
                continue;
            }
            if let Some(joined) = self.join(&group, next, &consumers[next], &plan, &sought, &mut barred) {
                // Its own result is computed, whatever was thought of it before.
                if there.remove(&ir::key(consumer.value)) {
                    group.push((next, joined));
                    plan = self.replan(units, &group, &there).ok()?;
                } else {
                    plan.keep(joined.source);
                    plan.keep(joined.op);
                    joined.plan(&mut plan, &there).ok()?;
                    group.push((next, joined));
                }
                if plan.cut_short {
                    there.extend(Outside::narrows(&plan, &group).into_iter().map(ir::key));
                    plan = self.replan(units, &group, &there).ok()?;
                }
                there.extend(condensed_before(&mut plan));
                let condensed = Outside::condensed(&plan, &group);
                if !condensed.is_empty() {
                    there.extend(condensed.into_iter().map(ir::key));
                    plan = self.replan(units, &group, &there).ok()?;
                    there.extend(condensed_before(&mut plan));
                }
                (wanted, sought) = self.worth_sharing(&plan);
            }
        }
        Some(Gathered { plan, group, there, barred })
    }

    /// Chunks of a plan that it pays to compute once for several consumers, one of which two have to share: their ops, and what
    /// looks for them.
    fn worth_sharing(&self, plan: &Plan<'c, 'a>) -> (Marked, Sought<'c, 'a>) {
        let computed = || plan.chunks.iter().enumerate().filter(|(_, chunk)| chunk.source.is_op());
        let largest = computed().map(|(_, chunk)| chunk.size).max().unwrap_or(0);
        let matters = (largest / 2).max(self.sizes.chunk_bytes);
        let worth = || computed().filter(|(_, chunk)| chunk.size >= matters && !chunk.kind.free);
        let ops = worth().filter_map(|(_, chunk)| chunk.op.map(ir::op_key)).collect();
        (ops, self.facts.seek(plan, worth().map(|(at, _)| at)))
    }

    /// A plan for a group, with or without handing out values that the loop computes on its way, as `export` says; it tells
    /// whether any were.
    fn settle(
        &self,
        mut plan: Plan<'c, 'a>,
        mut group: Vec<(usize, Consumer<'c, 'a>)>,
        mut there: Keys,
        way: (usize, usize),
        export: &mut bool,
    ) -> Option<Found<'c, 'a>> {
        let exporting = std::mem::take(export);
        let units = plan.units;
        // Values that are needed whole by others are there: found out only once it is known who is in the group.
        for _ in 0..ROUNDS {
            let outside = Outside::of(&plan, &group);
            let (needed, largest) = outside.needed_whole(&plan, &group, self.spare, &self.ties);
            let mut more = false;
            // What is handed out has turned out to be there, or small beside nothing any more.
            group.retain(|(index, member)| {
                let kept = *index != usize::MAX
                    || plan.position_of_all(member.value, member.dim).is_some_and(|at| {
                        plan.chunks[at].source.is_op() && is_exported(bytes(member.value), largest[at])
                    });
                if !kept {
                    there.insert(ir::key(member.value));
                    more = true;
                }
                kept
            });
            let needed: Vec<_> =
                needed.into_iter().filter(|(value, _)| !there.contains(&ir::key(*value))).collect();
            more |= !needed.is_empty();
            let wanted =
                needed.iter().filter(|(_, exported)| exporting && *exported).map(|(value, _)| *value);
            let handed_out = self.export(&group, wanted.collect(), &plan, &outside);
            // What they are computed from may turn out to be needed by nothing else.
            *export |= !handed_out.is_empty();
            if handed_out.is_empty() {
                there.extend(needed.iter().map(|(value, _)| ir::key(*value)));
            }
            group.extend(handed_out.into_iter().map(|place| (usize::MAX, place)));
            if !more {
                return self.weigh(plan, group, way, &there, &outside);
            }
            plan = self.replan(units, &group, &there).ok()?;
            there.extend(condensed_before(&mut plan));
            // From what is there now, a dot's result may be no larger than what it is computed from.
            let condensed = Outside::condensed(&plan, &group);
            if !condensed.is_empty() {
                there.extend(condensed.into_iter().map(ir::key));
                plan = self.replan(units, &group, &there).ok()?;
                there.extend(condensed_before(&mut plan));
            }
        }
        None
    }

    /// A plan for a group in which what is `there` is sliced.
    fn replan(
        &self,
        units: i64,
        group: &[(usize, Consumer<'c, 'a>)],
        there: &Keys,
    ) -> Result<Plan<'c, 'a>, Stop> {
        let mut plan = Plan::with(units, &self.facts);
        for (_, consumer) in group {
            plan.keep(consumer.source);
            plan.keep(consumer.op);
        }
        for (_, consumer) in group {
            consumer.plan(&mut plan, there)?;
        }
        Ok(plan)
    }

    /// Those of some values that the loop computes on its way and something outside needs which it can hand out: what uses
    /// them outside comes after the loop, or can.
    fn export(
        &self,
        group: &[(usize, Consumer<'c, 'a>)],
        values: Vec<Value<'c, 'a>>,
        plan: &Plan<'c, 'a>,
        outside: &Outside<'c, 'a>,
    ) -> Vec<Consumer<'c, 'a>> {
        const MOST: usize = 16;
        let block = group[0].1.op.block();
        let members: Vec<_> = group.iter().map(|(_, member)| member.op).collect();
        let mut places: Vec<_> = values
            .into_iter()
            .filter_map(|value| {
                let chunk = plan.chunks.iter().find(|chunk| chunk.value == value)?;
                let place = Consumer::place(defining_op(value)?, value)?.along(chunk.along.dim);
                let fits = plan.all_of(value, place.dim).ok()? == chunk.along
                    && place.op.block() == block
                    && !members.contains(&place.op);
                fits.then_some(place)
            })
            .collect();
        // Without one that cannot be handed out, others may not either.
        while !places.is_empty() && places.len() + members.len() <= MOST {
            let cut = places.iter().map(|place| ir::key(place.value)).collect();
            let dying = outside.only_inside(plan, &cut);
            let before = places.len();
            places.retain(|place| {
                let with: Vec<_> = members.iter().copied().chain([place.op]).collect();
                early_users(&with, &dying).is_some()
            });
            if places.len() == before {
                return places;
            }
        }
        Vec::new()
    }

    /// The consumer as a member of the group, if it shares costly producers and can be done at the same time; tells whether it could
    /// with the first member's source instead of what is made of that.
    fn join(
        &self,
        group: &[(usize, Consumer<'c, 'a>)],
        index: usize,
        consumer: &Consumer<'c, 'a>,
        plan: &Plan<'c, 'a>,
        sought: &Sought<'c, 'a>,
        barred: &mut bool,
    ) -> Option<Consumer<'c, 'a>> {
        let block = consumer.op.block();
        if group[0].1.op.block() != block || group.iter().any(|(_, member)| member.is_the_same(consumer)) {
            return None;
        }
        let computed = plan.chunks.iter().filter(|chunk| chunk.source.is_op());
        let largest = computed.map(|chunk| chunk.size).max().unwrap_or(0);
        for &dim in &consumer.dims {
            let joined = consumer.along(dim);
            // Most share nothing, which is known before there is a plan of theirs.
            let leads = |(value, dim)| {
                plan.all_of(value, dim).is_ok_and(|along| self.facts.leads_to(value, along, sought))
            };
            if !joined.inputs().into_iter().any(leads) {
                continue;
            }
            let Ok(own) = self.alone(index, &joined, plan.units) else { continue };
            let matters = (own.largest.max(largest) / 2).max(self.sizes.chunk_bytes);
            let shares = own.values.iter().map(|&at| &own.plan.chunks[at]).any(|chunk| {
                chunk.size >= matters
                    && plan
                        .position(chunk.value, chunk.along)
                        .is_some_and(|at| plan.chunks[at].source.is_op())
            });
            if !shares {
                continue;
            }
            // The loop goes to the last consumer: what uses the results of the others has to come after it.
            let mut members: Vec<_> =
                group.iter().map(|(_, member)| member.op).chain([consumer.op]).collect();
            if early_users(&members, &Keys::default()).is_some() {
                return Some(joined);
            }
            // What is made of its result may need another member's.
            if let Some(apart) = self.at_source(&joined) {
                members[group.len()] = apart.op;
                if early_users(&members, &Keys::default()).is_some() {
                    return Some(apart);
                }
            }
            members[0] = group[0].1.source;
            *barred |= early_users(&members, &Keys::default()).is_some();
        }
        None
    }

    /// A consumer without what is made of its source's result, along the same dimension.
    fn at_source(&self, consumer: &Consumer<'c, 'a>) -> Option<Consumer<'c, 'a>> {
        let apart = consumer.at_source(&self.cuts)?;
        let same = apart.op != consumer.op
            && apart.value.r#type() == consumer.value.r#type()
            && apart.dims.contains(&consumer.dim);
        same.then(|| apart.along(consumer.dim))
    }

    /// What a consumer would compute in chunks by itself.
    fn alone(
        &self,
        index: usize,
        consumer: &Consumer<'c, 'a>,
        units: i64,
    ) -> Result<Rc<Alone<'c, 'a>>, Stop> {
        let way = (index, consumer.dim, units);
        if let Some(known) = self.neighbours.alone.borrow().get(&way) {
            return known.clone();
        }
        let group = [(index, consumer.clone())];
        let found = self.replan(units, &group, &Keys::default()).and_then(|mut plan| {
            let mut there = condensed_before(&mut plan);
            if plan.cut_short {
                there.extend(Outside::narrows(&plan, &group).into_iter().map(ir::key));
                plan = self.replan(units, &group, &there).map_err(|_| Stop::No)?;
                there.extend(condensed_before(&mut plan));
            }
            let condensed = Outside::condensed(&plan, &group);
            if !condensed.is_empty() {
                there.extend(condensed.into_iter().map(ir::key));
                plan = self.replan(units, &group, &there).map_err(|_| Stop::No)?;
                there.extend(condensed_before(&mut plan));
            }
            let computed = || plan.chunks.iter().enumerate().filter(|(_, chunk)| chunk.source.is_op());
            let largest = computed().map(|(_, chunk)| chunk.size).max().unwrap_or(0);
            let values = computed().filter(|(_, chunk)| !chunk.kind.free).map(|(at, _)| at).collect();
            let wholes = plan.wholes.iter().filter_map(|whole| defining_op_key(*whole));
            let ops = plan.chunks.iter().filter_map(|chunk| chunk.op.map(ir::op_key)).chain(wholes).collect();
            Ok(Rc::new(Alone { plan, there, largest, values, ops }))
        });
        self.neighbours.alone.borrow_mut().insert(way, found.clone());
        found
    }

    /// The plan with its chunk, if the loop saves enough.
    fn weigh(
        &self,
        plan: Plan<'c, 'a>,
        group: Vec<(usize, Consumer<'c, 'a>)>,
        first: (usize, usize),
        there: &Keys,
        outside: &Outside<'c, 'a>,
    ) -> Option<Found<'c, 'a>> {
        if !is_ahead(&plan, &group, outside) {
            return None;
        }
        // Others may yet turn out to need a large value in loops alone, too: to take slices of it would keep it whole.
        let waits = |chunk: &plan::Chunk<'c, 'a>| {
            chunk.source == Source::Slice
                && class::is_elementwise(chunk.name)
                && chunk.size > self.sizes.chunk_bytes.saturating_mul(GAIN)
                && is_made_of_less(chunk.value)
        };
        if self.patient && plan.chunks.iter().any(|chunk| waits(chunk)) {
            self.waited.set(true);
            return None;
        }
        let (sources, temporaries) = sources(&plan);
        // All of large sums is read and written again in each turn: that wants large chunks.
        let added_up = group
            .iter()
            .filter(|(_, consumer)| matches!(consumer.role, Role::Contract) && consumer.widen.is_none())
            .map(|(_, consumer)| bytes(consumer.result()))
            .fold(0, i64::saturating_add);
        let sums = added_up > self.sizes.stretch;
        // A loop that adds up one of two gradients and puts chunks of the other in their places is held against one that does it the
        // other way around: both have to see what is stored alike.
        let contracts = group.iter().any(|(_, consumer)| matches!(consumer.role, Role::Contract));
        let large = group.iter().any(|(_, consumer)| {
            consumer.is_dot && !is_narrow(consumer.result()) && bytes(consumer.result()) > self.sizes.stretch
        });
        let stored = outside.stored(&plan, &group, &sources, contracts && large, self.target.storage());
        let mut saved: i64 = 0;
        let unit_bytes = Outside::most_at_once(&plan, &group, &stored) / plan.units;
        // An elementwise value computed from one that is there takes its place, if nothing else needs that any more.
        let reuses: Vec<bool> = plan
            .chunks
            .iter()
            .enumerate()
            .map(|(at, chunk)| {
                // A loop updates what it started from.
                let in_place = chunk.kind.fusible || chunk.name == "stablehlo.while";
                in_place && temporaries[at] > chunk.size / 4
            })
            .collect();
        // One that is had in chunks of two dimensions saves its memory once.
        let mut counted = Keys::default();
        for (at, (chunk, stored)) in plan.chunks.iter().zip(&stored).enumerate() {
            let size = chunk.size;
            match chunk.source {
                Source::Slice => {
                    // Sliced, a value that was computed on the fly has to be stored.
                    let fused = chunk.kind.fusible;
                    let padded = plan.beyond(chunk) != (0, 0);
                    if padded || (fused && !there.contains(&ir::key(chunk.value))) {
                        saved = saved.saturating_sub(size);
                    }
                }
                _ if *stored && !reuses[at] && counted.insert(ir::key(chunk.value)) => {
                    saved = saved.saturating_add(size)
                }
                _ => {}
            }
        }
        let carried = carried_besides(&plan);
        let unit_bytes = unit_bytes.saturating_add(carried / plan.units);
        let widens = self.target.storage().widens;
        let widened = if widens { widened(&plan, &group) } else { 0 };
        saved = saved.saturating_add(widened).saturating_add(carried);
        let mut stored_whole: i64 = 0;
        for whole in &plan.wholes {
            let fused = defining_op(*whole).is_some_and(|op| class::is_fusible(op_name(op)));
            if fused && !is_made_again(*whole) {
                stored_whole = stored_whole.saturating_add(bytes(*whole));
            }
        }
        // What was computed on the fly and is as large as what it was for is better left alone.
        if stored_whole > saved / SMALL {
            return None;
        }
        saved -= stored_whole;
        if self.target.storage().is_library() && is_library_fused(&plan, &group) {
            saved = plan.chunks.iter().filter_map(|chunk| chunk.op).map(shuffled).sum();
        }
        let unit_bytes = unit_bytes.saturating_add(widened / plan.units);
        let copies = copies(&plan);
        let mut stored_besides = copies;
        for (_, consumer) in &group {
            let result = bytes(consumer.result());
            let wide = if consumer.widen.is_some() { 2 * result } else { 0 };
            stored_besides = stored_besides.saturating_add(match consumer.role {
                Role::Scatter => wide,
                // Beside the accumulator there is a part of the product, see `parts.rs`.
                Role::Contract if wide == 0 => result.min(self.sizes.chunk_bytes),
                // A sum of narrow floats takes as long as if there were all of it.
                Role::Contract => wide.saturating_add(wide),
                Role::Reduce { .. } => wide,
                Role::Place => 0,
            });
        }
        let cost = stored_besides;
        let apart = stored_besides == 0;
        if self.target.rates().is_some() {
            let kernels = stored.iter().filter(|stored| **stored).count() + group.len();
            let found = Weighed { saved, cost, unit_bytes, copies: copies > 0, apart, kernels };
            return self.as_bytes_allow(plan, group, first, outside, found);
        }
        let mut threshold = self.sizes.chunk_bytes.saturating_mul(GAIN);
        let in_loop = group.iter().any(|(_, consumer)| is_in_loop(consumer.op));
        let reads_again = read_again(&plan) > self.sizes.whole_chunk;
        let farthest = (self.floor / 2).min(self.sizes.whole_chunk.saturating_mul(STRETCH));
        if in_loop {
            // A chunk that was made larger for the sake of its dots is not taken apart again.
            threshold = threshold.max(self.sizes.stretch.saturating_mul(2));
            if group.iter().any(|(_, consumer)| sums_up(consumer.op, self.sizes.stretch)) {
                let most = self.sizes.stretch.saturating_mul(STRETCH_OF_SUMS).min(self.floor / 2);
                threshold = threshold.max(most);
            }
        }
        let dots = group.iter().any(|(_, consumer)| consumer.is_dot)
            || plan.chunks.iter().any(|chunk| chunk.source.is_op() && chunk.kind.dot);
        let net = saved.saturating_sub(cost);
        if net <= threshold || plan.units < 2 {
            return None;
        }
        if in_loop && reads_again && unit_bytes.saturating_mul(plan.units) <= farthest + farthest / SHARE {
            return None;
        }
        if saved.saturating_mul(KEPT) <= sliced_temporaries(&plan) {
            return None;
        }
        let copied = copied_updates(&plan, &group);
        let mostly_copies = saved <= self.floor / SLACK && saved.saturating_mul(COPIED) <= copied;
        if !dots && (mostly_copies || saved.saturating_mul(SEARCHED) <= searched(&plan)) {
            return None;
        }
        // A turn has a cost of its own, which less would not be worth.
        // Narrow products are widened first, so that a chunk of theirs takes more.
        let narrow =
            |chunk: &plan::Chunk<'c, 'a>| chunk.source.is_op() && chunk.kind.dot && is_narrow(chunk.value);
        let narrow = dots && plan.chunks.iter().any(|chunk| narrow(chunk));
        let dot_turn = if narrow { self.sizes.dot_turn.min(self.floor / SHARE) } else { self.sizes.dot_turn };
        let turn = if dots { self.sizes.least_turn.max(dot_turn) } else { self.sizes.least_turn };
        // One with loops in it has the costs of all of theirs.
        let loops = plan.chunks.iter().any(|chunk| chunk.source.is_op() && chunk.name == "stablehlo.while");
        let turn = if loops { turn.max(self.sizes.loop_turn) } else { turn };
        // Each turn rewrites narrow results, not just its part of them.
        let rewritten = rewritten(&group) / TURNS_OF_NARROW;
        let turn = turn.max(rewritten.min(self.sizes.stretch).min(self.floor / SHARE));
        // In a program of so little memory that a chunk's size follows from it, turns are short.
        let short = self.floor / SHARE < self.sizes.whole_chunk;
        let nested = short && in_loop;
        // The loop around has made its chunks of that size.
        let outer = self.sizes.whole_chunk.saturating_add(self.sizes.whole_chunk / SHARE);
        let outer = turn.max(outer.min(self.floor / SHARE * 3));
        if nested && dots && unit_bytes.saturating_mul(plan.units) <= outer {
            return None;
        }
        let share = if nested { SHARE / 2 } else { SHARE };
        // Each scatter of a chain is a kernel of its own, and what computes its indices and updates is another.
        let scatters = group.iter().map(|(_, consumer)| consumer.links.len() as i64).max().unwrap_or(0) + 1;
        let least = turn.saturating_mul(scatters).min(net / share);
        let most = self.sizes.chunk_bytes.max(least) / unit_bytes.max(1);
        // For dots that would be too thin, more.
        let stretch = if sums { self.sizes.stretch.saturating_mul(2) } else { self.sizes.stretch };
        let stretch = stretch.min(net / share);
        let wanted = wanted_units(&plan, &group);
        // A little more may be the next power of two, which thin dots are worth where it is no large part of the program.
        let more = stretch + stretch / SHARE;
        let rows = 1 << (more / unit_bytes.max(1)).max(1).ilog2();
        let is_thin = dots && rows < wanted && wanted < plan.units;
        let has_room = cost.saturating_add(unit_bytes.saturating_mul(rows)) <= self.floor / 5 * 2;
        let stretch = if is_thin && has_room { more.min(net / share) } else { stretch };
        // Where each turn reads more than caches hold, much more.
        let stretch = if is_thin && reads_again {
            stretch.max(farthest.saturating_sub(cost).min(net / share))
        } else {
            stretch
        };
        // What a unit takes is known but roughly: a little more does not matter.
        let units = |stretch: i64| {
            let room = if nested { stretch + stretch / SHARE } else { stretch };
            let wanted =
                if wanted <= room / unit_bytes.max(1) { wanted } else { stretch / unit_bytes.max(1) };
            most.max(wanted).clamp(1, plan.units)
        };
        // What a chunk takes beyond that for speed alone does not speak against its loop.
        let least_chunk = 1 << units(stretch).ilog2();
        let stretch = if sums {
            let most = self.sizes.stretch.saturating_mul(STRETCH_OF_SUMS).min(self.floor / 2);
            stretch.max(most.min(net / SHARE_OF_SUMS))
        } else {
            stretch
        };
        let mut most = units(stretch);
        // Where a chunk's size follows from the program's, what it copies stays in a cache. In larger programs what is no longer
        // stored is worth more than that, and a turn of so little is nothing for a back end with many threads.
        if !dots && self.sizes.chunk_bytes < self.sizes.whole_chunk && copied >= saved {
            most = most.min(CACHED / unit_bytes.max(1)).max(1);
        }
        // A power of two: sizes often are, too, and then nothing is left over.
        let mut chunk: i64 = 1 << most.ilog2();
        if plan.units / chunk < 2 {
            chunk = 1 << (plan.units / 2).ilog2();
        }
        chunk = evened(plan.units, chunk, most, copies > 0);
        if names_products_of_vectors(&plan, &group, chunk) {
            return None;
        }
        // What a turn adds to takes longer than it should where it is of narrow floats, see `narrow_sums`.
        if narrow_sums(&group).saturating_mul(plan.units / chunk) > saved {
            return None;
        }
        // Nor where turns of few rows write all of a sum many times for what they save, as where scores are added up over features.
        let thin = chunk.saturating_mul(4) < wanted.min(plan.units);
        if thin && added_up.saturating_mul(plan.units / chunk) / REWRITTEN > saved {
            return None;
        }
        let fits = unit_bytes.saturating_mul(chunk) <= threshold.max(stretch);
        let strided = is_strided(&plan);
        if strided && in_loop {
            return None;
        }
        let around = around(&plan, &group);
        let again = computes_dots_again(&plan, outside);
        Some(Found {
            plan,
            group,
            chunk,
            least_chunk,
            unit_bytes,
            saved,
            cost,
            apart,
            again,
            fits,
            thin,
            strided,
            around,
            turns: 0.0,
            first,
        })
    }
}

/// What a loop saves and stores, in bytes.
struct Weighed {
    saved: i64,
    cost: i64,
    unit_bytes: i64,
    /// Whether each chunk needs copies of what it takes whole.
    copies: bool,
    apart: bool,
    /// Kernels of a turn, about.
    kernels: usize,
}

impl<'c: 'a, 'a> Rewrite<'c, 'a> {
    /// The plan in as few turns as the bytes allow, for back ends that take time for each; whether that is worth its time is for those
    /// to say who know all of the function.
    fn as_bytes_allow(
        &self,
        plan: Plan<'c, 'a>,
        group: Vec<(usize, Consumer<'c, 'a>)>,
        first: (usize, usize),
        outside: &Outside<'c, 'a>,
        weighed: Weighed,
    ) -> Option<Found<'c, 'a>> {
        let Weighed { saved, cost, unit_bytes, copies, apart, kernels } = weighed;
        let net = saved.saturating_sub(cost);
        if net <= self.sizes.least_saved || plan.units < 2 {
            return None;
        }
        let strided = is_strided(&plan);
        if strided && group.iter().any(|(_, consumer)| is_in_loop(consumer.op)) {
            return None;
        }
        let most = (self.sizes.chunk_bytes / unit_bytes.max(1)).clamp(1, plan.units / 2);
        let chunk = evened(plan.units, 1 << most.ilog2(), most, copies);
        if names_products_of_vectors(&plan, &group, chunk) {
            return None;
        }
        let fits = unit_bytes.saturating_mul(chunk) <= self.sizes.chunk_bytes.saturating_mul(2);
        let around = around(&plan, &group);
        let again = computes_dots_again(&plan, outside);
        let least_chunk = chunk;
        let thin = false;
        let turns = self.seconds_of_turns(&plan, plan.units / chunk, kernels);
        Some(Found {
            plan,
            group,
            chunk,
            least_chunk,
            unit_bytes,
            saved,
            cost,
            apart,
            again,
            fits,
            thin,
            strided,
            around,
            turns,
            first,
        })
    }
}

impl<'c: 'a, 'a> Rewrite<'c, 'a> {
    /// Seconds that so many turns take for themselves.
    fn seconds_of_turns(&self, plan: &Plan<'c, 'a>, turns: i64, kernels: usize) -> f64 {
        // What counts turns and slices.
        const BESIDES: usize = 3;
        let Some(rates) = self.target.rates() else { return 0.0 };
        let mut whole: i64 = 0;
        for chunk in plan.chunks.iter().filter(|chunk| chunk.source.is_op() && chunk.kind.dot) {
            let Some(op) = chunk.op else { continue };
            let taken = op.operands().zip(chunk.source.operands()).filter(|(_, along)| along.is_none());
            whole = taken.map(|(operand, _)| bytes(operand)).fold(whole, i64::saturating_add);
        }
        // Read in another order, written, and read by the product.
        let each = (kernels + BESIDES) as f64 * rates.launch + 3.0 * whole as f64 / rates.bytes;
        turns as f64 * each
    }
}

/// Bytes of one unit of what a plan slices, of small sums on its way, and of its results.
fn around<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    let small =
        |value: &Value<'c, 'a>| defining_op(*value).is_none_or(|op| op_name(op) == "stablehlo.reduce");
    let taken = plan.chunks.iter().filter(|chunk| chunk.source == Source::Slice || small(&chunk.value));
    let results = group.iter().map(|(_, consumer)| bytes(consumer.result()));
    taken.map(|chunk| chunk.size).chain(results).fold(0, i64::saturating_add) / plan.units
}

/// Whether a plan computes dots that something outside needs, too.
fn computes_dots_again<'c: 'a, 'a>(plan: &Plan<'c, 'a>, outside: &Outside<'c, 'a>) -> bool {
    let mut computed = plan.chunks.iter().zip(&outside.needed);
    computed.any(|(chunk, needed)| chunk.source.is_op() && *needed && chunk.kind.dot)
}

/// A chunk of at least so many units, about, and at most so many that leaves nothing over, or little. What is left over is done
/// once more beside the loop: it would need copies of its own of what is needed `whole`, and if it is much, a loop of its own, of
/// short turns.
fn evened(units: i64, least: i64, most: i64, whole: bool) -> i64 {
    let rest = units % least;
    if rest == 0 || !whole && rest <= least / LEFT_OVER {
        return least;
    }
    let most = most.min(units / 2).max(least);
    let least_even = if whole { least / 2 } else { least - least / 4 };
    let divisor = (least_even.max(1)..=most).rev().take(MOST_DIVISORS).find(|part| units % part == 0);
    let even = units / (units / most + 1);
    let little = even > 0 && units % even <= even / LEFT_OVER;
    divisor.or(little.then_some(even)).unwrap_or(least)
}

/// Bytes of the results that a loop puts in their places and that back ends without moves of 8-bit floats or bf16 rewrite whole for
/// each part: what they do in a wider type is no update in place.
fn rewritten<'c: 'a, 'a>(group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    let half = |value: Value<'c, 'a>| {
        Tensor::new(value.r#type()).is_some_and(|tensor| tensor.element.to_string() == "f16")
    };
    let places = group.iter().filter(|(_, consumer)| matches!(consumer.role, Role::Place));
    let values = places.map(|(_, consumer)| consumer.result());
    values.filter(|value| is_narrow(*value) && !half(*value)).map(bytes).fold(0, i64::saturating_add)
}

/// Bytes, in f32, of the products of narrow floats that a loop adds up. Each turn reads and writes all of them, and multiplies for them
/// in ways that are slower than a back end's for the whole, which widens both operands at once: if all turns together move more of them
/// than the loop saves, that is a lot of time for little memory.
fn narrow_sums<'c: 'a, 'a>(group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    let sums = group
        .iter()
        .filter(|(_, consumer)| matches!(consumer.role, Role::Contract) && consumer.widen.is_some());
    sums.map(|(_, consumer)| bytes(consumer.result()).saturating_mul(2)).fold(0, i64::saturating_add)
}

/// Bytes that loops in a plan carry in chunks and that nothing in the plan asks for.
fn carried_besides(plan: &Plan<'_, '_>) -> i64 {
    let mut counted = Keys::default();
    let mut besides: i64 = 0;
    for chunk in plan.chunks.iter().filter(|chunk| chunk.source.is_op() && chunk.name == "stablehlo.while") {
        let Some(op) = chunk.op.filter(|op| counted.insert(ir::op_key(*op))) else { continue };
        for (result, along) in op.results().map(Value::from).zip(chunk.source.operands()) {
            if along.is_some_and(|along| plan.position(result, along).is_none()) {
                besides = besides.saturating_add(bytes(result));
            }
        }
    }
    besides
}

/// Bytes of the updates that are there already: a scatter reads them where they are, but a loop has to copy each part of them.
fn copied_updates<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    let scatters = group.iter().filter(|(_, consumer)| matches!(consumer.role, Role::Scatter));
    scatters
        .flat_map(|(_, consumer)| consumer.inputs())
        .filter_map(|(value, dim)| plan.position_of_all(value, dim))
        .filter(|&at| plan.chunks[at].source == Source::Slice)
        .map(|at| plan.chunks[at].size)
        .fold(0, i64::saturating_add)
}

/// Bytes of what reductions of several operands (the position of a minimum, say) take that is arithmetic on slices: back ends
/// compute it in the reduction's own loop, which is much slower if it has to look up where the slice is for each element.
fn searched(plan: &Plan<'_, '_>) -> i64 {
    let mut sliced: Vec<bool> = Vec::with_capacity(plan.chunks.len());
    for (at, chunk) in plan.chunks.iter().enumerate() {
        let computed = chunk.source.is_op() && chunk.kind.fusible;
        sliced.push(chunk.source == Source::Slice || computed && plan.operands(at).any(|from| sliced[from]));
    }
    let several = |chunk: &plan::Chunk<'_, '_>| {
        chunk.source.is_op()
            && chunk.name == "stablehlo.reduce"
            && chunk.op.is_some_and(|op| op.result_count() > 1)
    };
    // The results of a reduction each have their chunk.
    let mut counted = Keys::default();
    plan.chunks
        .iter()
        .enumerate()
        .filter(|(_, chunk)| several(chunk) && chunk.op.is_some_and(|op| counted.insert(ir::op_key(op))))
        .flat_map(|(at, _)| plan.operands(at))
        .filter(|&from| sliced[from])
        .map(|from| plan.chunks[from].size)
        .fold(0, i64::saturating_add)
}

/// Whether a plan is arithmetic and reductions alone, and chunks of the largest values are many short runs of elements: each turn
/// then reads and writes memory with gaps, and reduces with strides.
fn is_strided(plan: &Plan<'_, '_>) -> bool {
    let computed = || plan.chunks.iter().filter(|chunk| chunk.source.is_op());
    let largest = computed().map(|chunk| chunk.size).max().unwrap_or(0);
    computed().all(|chunk| chunk.kind.fusible || chunk.name == "stablehlo.reduce")
        && computed().filter(|chunk| chunk.size == largest).any(|chunk| {
            ir::plain(chunk.value)
                .is_some_and(|tensor| tensor.shape[..chunk.along.dim].iter().any(|&size| size > 1))
        })
}

/// The values that a plan slices because earlier plans found them condensed.
fn condensed_before(plan: &mut Plan<'_, '_>) -> Keys {
    std::mem::take(&mut plan.condensed).into_iter().map(ir::key).collect()
}

/// Whether all that a loop takes is there before it: nothing of it is computed from the loop's own results.
fn is_ahead<'c: 'a, 'a>(
    plan: &Plan<'c, 'a>,
    group: &[(usize, Consumer<'c, 'a>)],
    outside: &Outside<'c, 'a>,
) -> bool {
    let members: Vec<_> = group.iter().map(|(_, member)| member.op).collect();
    let Some(early) = early_users(&members, &outside.dying(plan)) else { return false };
    let late: Keys = early.iter().chain(&members).map(|op| ir::op_key(*op)).collect();
    let slices = plan.chunks.iter().filter(|chunk| chunk.source == Source::Slice).map(|chunk| chunk.value);
    slices
        .chain(plan.wholes.iter().copied())
        .all(|value| defining_op_key(value).is_none_or(|op| !late.contains(&op)))
}

/// The dimensions of a dot: of its operands those that are only the left's, only the right's, and contracted.
struct DotDims {
    left: Vec<usize>,
    right: Vec<usize>,
}

fn dot_dims(op: OperationRef<'_, '_>) -> Option<DotDims> {
    let numbers = dot_numbers(op)?;
    let free = |index: usize, batch: &[i64], contracted: &[i64]| -> Option<Vec<usize>> {
        let rank = ir::plain(op.operands().nth(index)?)?.rank();
        Some(
            (0..rank)
                .filter(|&dim| ![batch, contracted].iter().any(|of| of.contains(&(dim as i64))))
                .collect(),
        )
    };
    Some(DotDims {
        left: free(0, numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions())?,
        right: free(1, numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions())?,
    })
}

/// How many units the dots of a plan would like a chunk to have.
fn wanted_units<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    let mut wanted = 1;
    let mut note = |rows_of_all: i64| {
        let rows = (rows_of_all / plan.units).max(1);
        wanted = wanted.max((ROWS + rows - 1) / rows);
    };
    let product = |value: Value<'c, 'a>, dims: &[usize]| {
        Tensor::new(value.r#type())
            .map_or(1, |tensor| dims.iter().map(|&dim| tensor.shape[dim]).fold(1i64, i64::saturating_mul))
    };
    for chunk in &plan.chunks {
        let Some(op) = chunk.op.filter(|_| chunk.kind.dot) else {
            continue;
        };
        let (Some(dims), [left, right]) = (dot_dims(op), chunk.source.operands()) else { continue };
        match (left, right, op.operand(0), op.operand(1)) {
            (Some(_), None, Ok(operand), _) => note(product(operand, &dims.left)),
            (None, Some(_), _, Ok(operand)) => note(product(operand, &dims.right)),
            _ => {}
        }
    }
    for (_, consumer) in group {
        if matches!(consumer.role, Role::Contract)
            && let (Some(numbers), Ok(left)) = (dot_numbers(consumer.op), consumer.op.operand(0))
        {
            let dims: Vec<usize> =
                numbers.lhs_contracting_dimensions().iter().map(|&dim| dim as usize).collect();
            note(product(left, &dims));
        }
    }
    wanted
}

/// Bytes of what a plan takes slices of that is no argument.
fn sliced_temporaries(plan: &Plan<'_, '_>) -> i64 {
    let sliced = plan.chunks.iter().filter(|chunk| chunk.source == Source::Slice);
    let mut counted = Keys::default();
    let temporaries =
        sliced.filter(|chunk| !is_kept_argument(chunk.value) && counted.insert(ir::key(chunk.value)));
    temporaries.map(|chunk| chunk.size).fold(0, i64::saturating_add)
}

/// Bytes of the largest operand that dots in a plan take whole: each turn reads it again.
fn read_again(plan: &Plan<'_, '_>) -> i64 {
    let mut most = 0;
    for chunk in plan.chunks.iter().filter(|chunk| chunk.kind.dot) {
        let Some(op) = chunk.op else { continue };
        let operands = op.operands().zip(chunk.source.operands());
        let whole = operands.filter(|(_, along)| along.is_none()).map(|(operand, _)| bytes(operand));
        most = most.max(whole.max().unwrap_or(0));
    }
    most
}

/// Whether chunks would make a vector of an operand of a dot that names its algorithm: XLA for CPU computes such a product in
/// a fusion, where it knows no algorithms, and refuses the program.
fn names_products_of_vectors<'c: 'a, 'a>(
    plan: &Plan<'c, 'a>,
    group: &[(usize, Consumer<'c, 'a>)],
    chunk: i64,
) -> bool {
    let named = |op: OperationRef<'c, 'a>| ffi::attribute_of(op, "algorithm").is_some();
    let product = |value: Value<'c, 'a>, dims: &[usize]| {
        Tensor::new(value.r#type())
            .map_or(1, |tensor| dims.iter().map(|&dim| tensor.shape[dim]).fold(1i64, i64::saturating_mul))
    };
    let rest = plan.units % chunk;
    let least = if rest == 0 { chunk } else { rest };
    let shrinks = |all: i64| all > 1 && (all / plan.units).saturating_mul(least) <= 1;
    let planned = plan.chunks.iter().any(|part| {
        let Some(op) = part.op.filter(|op| part.kind.dot && named(*op)) else {
            return false;
        };
        let (Some(dims), [left, right]) = (dot_dims(op), part.source.operands()) else { return false };
        match (left, right, op.operand(0), op.operand(1)) {
            (Some(_), None, Ok(operand), _) => shrinks(product(operand, &dims.left)),
            (None, Some(_), _, Ok(operand)) => shrinks(product(operand, &dims.right)),
            _ => false,
        }
    });
    let contracted = |op: OperationRef<'c, 'a>| {
        let (Some(numbers), Ok(left)) = (dot_numbers(op), op.operand(0)) else { return 1 };
        let dims: Vec<usize> = numbers.lhs_contracting_dimensions().iter().map(|&dim| dim as usize).collect();
        product(left, &dims)
    };
    planned
        || group.iter().any(|(_, member)| {
            matches!(member.role, Role::Contract) && named(member.op) && shrinks(contracted(member.op))
        })
}

/// Bytes of a dot's operands whose dimensions are not in an order that back ends take as it is: batch dimensions first, and
/// what is contracted next to each other at an end.
fn shuffled(op: OperationRef<'_, '_>) -> i64 {
    (0..2)
        .filter(|&index| is_shuffled(op, index))
        .filter_map(|index| op.operands().nth(index))
        .map(bytes)
        .sum()
}

fn is_shuffled(op: OperationRef<'_, '_>, index: usize) -> bool {
    if op_name(op) != "stablehlo.dot_general" {
        return false;
    }
    let (Some(numbers), Ok(operand)) = (dot_numbers(op), op.operand(index)) else { return false };
    let Some(tensor) = Tensor::new(operand.r#type()) else { return false };
    let (batch, contracted) = if index == 0 {
        (numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions())
    } else {
        (numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions())
    };
    let kept: Vec<i64> = (0..tensor.rank() as i64).filter(|&dim| tensor.shape[dim as usize] != 1).collect();
    let role = |dim: &i64| {
        if batch.contains(dim) {
            0
        } else if contracted.contains(dim) {
            1
        } else {
            2
        }
    };
    let roles: Vec<i32> = kept.iter().map(role).collect();
    let batch_first = roles.iter().skip_while(|&&role| role == 0).all(|&role| role != 0);
    let mut turns = roles.iter().filter(|&&role| role != 0).collect::<Vec<_>>();
    turns.dedup();
    !batch_first || turns.len() > 2
}

/// Whether an operand of a dot has what is contracted where a plain product of matrices has not.
fn is_turned(op: OperationRef<'_, '_>, index: usize) -> bool {
    let (Some(numbers), Some(dims), Ok(operand)) = (dot_numbers(op), dot_dims(op), op.operand(index)) else {
        return false;
    };
    let Some(tensor) = Tensor::new(operand.r#type()) else { return false };
    let (contracted, free) = if index == 0 {
        (numbers.lhs_contracting_dimensions(), dims.left)
    } else {
        (numbers.rhs_contracting_dimensions(), dims.right)
    };
    // A plain matrix is taken either way.
    if tensor.shape.iter().filter(|&&size| size != 1).count() <= 2 {
        return false;
    }
    let contracted = contracted.iter().map(|&dim| dim as usize).find(|&dim| tensor.shape[dim] != 1);
    let free = free.into_iter().find(|&dim| tensor.shape[dim] != 1);
    contracted
        .zip(free)
        .is_some_and(|(contracted, free)| if index == 0 { contracted < free } else { free < contracted })
}

/// Bytes of the copies that back ends make of what dots in chunks need whole: in f32 where there is no narrow dot, and
/// in the order they want.
fn copies<'c: 'a, 'a>(plan: &Plan<'c, 'a>) -> i64 {
    let mut copied: Table<usize, i64> = Table::default();
    for chunk in &plan.chunks {
        let Some(op) = chunk.op.filter(|_| chunk.kind.dot) else {
            continue;
        };
        for (index, (operand, along)) in op.operands().zip(chunk.source.operands()).enumerate() {
            let Some(tensor) = ir::plain(operand) else { continue };
            let narrow =
                tensor.element.is_float() && ir::element_bytes(tensor.element).is_some_and(|size| size < 4);
            if along.is_none() && (narrow || is_shuffled(op, index) || is_turned(op, index)) {
                copied.insert(ir::key(operand), if narrow { 2 * bytes(operand) } else { bytes(operand) });
            }
        }
    }
    copied.values().fold(0, |sum, size| sum.saturating_add(*size))
}

/// Whether what a value is elementwise made of is a dot's result that is much larger than the dot's operands, as scores are.
fn is_made_of_less<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    const MOST: usize = 32;
    let size = bytes(value);
    let mut seen = Keys::default();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        let Some(op) = defining_op(value) else { continue };
        let name = op_name(op);
        if name == "stablehlo.dot_general" {
            let taken = op.operands().map(bytes).fold(0, i64::saturating_add);
            if taken.saturating_mul(EXPANDS) <= op.results().map(|result| bytes(result.into())).sum() {
                return true;
            }
        } else if class::is_fusible(name) {
            let large = op.operands().filter(|operand| bytes(*operand) >= size / 2);
            pending.extend(large.filter(|operand| seen.len() < MOST && seen.insert(ir::key(*operand))));
        }
    }
    false
}

/// Whether back ends are likely to compute a chain of dots, and the softmax between them, without storing what is between: all
/// that a dot is made into is reductions, at least one, and arithmetic of values that are not small, up to one other dot, which
/// is a product of matrices, and dimensions change their order only where the first dot could have made it.
///
/// The memory model says the same of XLA's library for CPU (`memory/fuse.rs`): it begins with a reduction, and takes along
/// what is around it. Scores that are made into weights by elementwise ops alone are stored.
fn is_library_fused<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> bool {
    const LONGEST: usize = 64;
    /// Elements that arithmetic has to have for the library to take it: that of statistics of fewer rows is not.
    const FEWEST: i64 = 4096;
    const NOT: [&str; 6] = [
        "stablehlo.select",
        "stablehlo.compare",
        "stablehlo.iota",
        "stablehlo.concatenate",
        "stablehlo.pad",
        "stablehlo.slice",
    ];
    let is_fused = |op: OperationRef<'c, 'a>| {
        let name = op_name(op);
        matches!(name, "stablehlo.dot_general" | "stablehlo.reduce")
            || (class::is_fusible(name) && !NOT.contains(&name))
    };
    let is_dot = |op: OperationRef<'c, 'a>| op_name(op) == "stablehlo.dot_general";
    // In loops, XLA does not do so.
    if group.iter().any(|(_, consumer)| is_in_loop(consumer.op)) {
        return false;
    }
    let mut seen: Keys = Keys::default();
    let mut pending = Vec::new();
    for chunk in &plan.chunks {
        let Some(op) = chunk.op.filter(|_| chunk.source.is_op()) else { continue };
        if !is_fused(op) {
            return false;
        }
        if is_dot(op) && group.iter().all(|(_, consumer)| consumer.op != op && consumer.source != op) {
            pending.push(op);
        }
    }
    if pending.len() != 1 {
        return false;
    }
    let (mut ends, mut reductions) = (0, 0);
    while let Some(op) = pending.pop() {
        for user in op.results().flat_map(|result| users(result.into())) {
            if !seen.insert(ir::op_key(user)) {
                continue;
            }
            if !is_fused(user) || seen.len() > LONGEST {
                return false;
            }
            match op_name(user) {
                "stablehlo.dot_general" => {
                    if !products::is_matrix_product(user) {
                        return false;
                    }
                    ends += 1;
                    continue;
                }
                "stablehlo.reduce" => reductions += 1,
                // A product's transpose is the product the other way round, if either side has one dimension.
                "stablehlo.transpose" => {
                    let sides = is_dot(op).then(|| dot_dims(op)).flatten();
                    if !sides.is_some_and(|sides| sides.left.len() == 1 && sides.right.len() == 1) {
                        return false;
                    }
                }
                _ => {
                    let elements = user
                        .result(0)
                        .ok()
                        .and_then(|result| Tensor::new(Value::from(result).r#type())?.element_count());
                    if elements.is_some_and(|count| count < FEWEST) {
                        return false;
                    }
                }
            }
            pending.push(user);
        }
    }
    ends == 1 && reductions > 0
}

/// Bytes of the copies in f32 of what dots in a loop's body take whole, and would take a chunk of: back ends without narrow dots
/// make them before the loop. What is taken from the loop's own values is small, or seen to elsewhere.
fn widened<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
    if !group.iter().all(|(_, consumer)| is_in_loop(consumer.op)) {
        return 0;
    }
    let mut taken: Table<usize, i64> = Table::default();
    let mut note = |operand: Value<'c, 'a>, along: Option<access::Along>| {
        let sliced = along
            .and_then(|along| plan.position(operand, along))
            .is_some_and(|at| plan.chunks[at].source == Source::Slice);
        if sliced && defining_op(operand).is_none() && is_narrow(operand) {
            taken.insert(ir::key(operand), bytes(operand).saturating_mul(2));
        }
    };
    for chunk in plan.chunks.iter().filter(|chunk| chunk.source.is_op()) {
        if let Some(op) = defining_op(chunk.value).filter(|op| op_name(*op) == "stablehlo.dot_general") {
            op.operands().zip(chunk.source.operands()).for_each(|(operand, along)| note(operand, *along));
        }
    }
    for (_, consumer) in group.iter().filter(|(_, consumer)| matches!(consumer.role, Role::Contract)) {
        for (operand, dim) in consumer.inputs() {
            note(operand, plan.all_of(operand, dim).ok());
        }
    }
    taken.values().fold(0, |sum, size| sum.saturating_add(*size))
}

/// Whether the loop around an op adds products up to values of more than `large` bytes.
fn sums_up(op: OperationRef<'_, '_>, large: i64) -> bool {
    const MOST: usize = 64;
    let is_sum = |value: Value<'_, '_>| {
        bytes(value) > large
            && defining_op(value).is_some_and(|op| matches!(op_name(op), "stablehlo.add" | "stablehlo.while"))
    };
    is_in_loop(op)
        && op
            .block()
            .and_then(|block| block.terminator())
            .is_some_and(|end| end.operands().take(MOST).any(is_sum))
}

fn is_in_loop(op: OperationRef<'_, '_>) -> bool {
    op.parent_operation().is_some_and(|parent| op_name(parent) == "stablehlo.while")
}

/// What a value is but for the order of its dimensions.
fn unmoved<'c: 'a, 'a>(value: Value<'c, 'a>) -> Value<'c, 'a> {
    let moved = defining_op(value)
        .filter(|op| matches!(op_name(*op), "stablehlo.transpose" | "stablehlo.reshape"))
        .and_then(|op| op.operand(0).ok());
    moved.unwrap_or(value)
}

fn last_of<'c: 'a, 'a>(ops: impl Iterator<Item = OperationRef<'c, 'a>>) -> Option<OperationRef<'c, 'a>> {
    ops.reduce(|last, op| if last != op && ir::is_before(last, op) { op } else { last })
}

/// What an op is computed from, a few steps up.
fn above(op: OperationRef<'_, '_>) -> Marked {
    const MOST: usize = 48;
    let mut seen = 0;
    let mut found = Marked::default();
    let mut pending = std::collections::VecDeque::from([op]);
    while let Some(op) = pending.pop_front() {
        for from in op.operands().filter_map(defining_op) {
            let key = ir::op_key(from);
            if found.insert(key) && seen < MOST {
                seen += 1;
                pending.push_back(from);
            }
        }
    }
    found
}

fn defining_op_key(value: Value<'_, '_>) -> Option<usize> {
    defining_op(value).map(ir::op_key)
}

/// The op around `op`, or itself, that is in the block of `other`.
fn in_block_of<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    other: OperationRef<'c, 'a>,
) -> Option<OperationRef<'c, 'a>> {
    let mut current = Some(op);
    while let Some(op) = current {
        if op.block() == other.block() {
            return Some(op);
        }
        current = op.parent_operation();
    }
    None
}

/// What uses the consumers' results before the last of them and has to be moved there, in order; `None` if that cannot be
/// done, because it is no mere elementwise op or the last consumer needs it. What the loop takes in for good does not count.
fn early_users<'c: 'a, 'a>(
    members: &[OperationRef<'c, 'a>],
    dying: &Keys,
) -> Option<Vec<OperationRef<'c, 'a>>> {
    const MOST: usize = 16;
    let last = last_of(members.iter().copied())?;
    let mut early: Vec<OperationRef<'c, 'a>> = Vec::new();
    let mut pending = members.to_vec();
    while let Some(op) = pending.pop() {
        for user in op.results().flat_map(|result| users(result.into())) {
            let user = in_block_of(user, last)?;
            if user != last && ir::is_before(last, user)
                || early.contains(&user)
                || dying.contains(&ir::op_key(user))
            {
                continue;
            }
            if members.contains(&user) || !class::is_fusible(op_name(user)) || early.len() == MOST {
                return None;
            }
            early.push(user);
            pending.push(user);
        }
    }
    early.sort_by(|left, right| {
        if left == right {
            std::cmp::Ordering::Equal
        } else if ir::is_before(*left, *right) {
            std::cmp::Ordering::Less
        } else {
            std::cmp::Ordering::Greater
        }
    });
    Some(early)
}
