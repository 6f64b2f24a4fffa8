// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which consumers share a loop, along which dimension, in chunks of what size; and whether it pays.
//!
//! For each way a consumer can be streamed, and each dimension, a plan is made and weighed: what is no longer stored, less
//! what the loop itself stores (accumulators in f32, a dot's part beside the accumulator it is added to, copies that back ends
//! make of operands which each chunk needs whole). The plan that leaves least wins. One that computes dots again has to
//! leave half of what the best one without does, and less by a part of the program's arguments and results that matters: it takes a
//! third more time, as a rule.

mod by_size;
mod dots;
mod found;
mod gather;
mod moved;
pub mod neighbours;
mod place;
mod weigh;

use super::beside::Sunk;
use super::consumer::{Consumer, SMALL};
use super::cuts::Cuts;
use super::emit::Loop;
use super::held::Held;
use super::outside::{Outside, is_exported};
use super::plan::{Facts, Plan};
use super::sizes::{ROUNDS, Sizes};
use crate::ir::{self, Builder, bytes};
use crate::rewrite::{defining_op, is_unused};
use crate::tables::{Keys, Marked};
use crate::target::Target;
use crate::ties::Ties;
use dots::names_products_of_vectors;
use found::Found;
use gather::{Gathered, condensed_before};
use melior::ir::OperationRef;
use place::{defining_op_key, early_users, last_of};
use slimhlo_dialect::ffi::op_name;
use std::cell::Cell;
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
    /// What is there at the peak of what there was at first.
    pub held: Rc<Held<'c, 'a>>,
    /// What is compared with itself.
    pub ties: Ties<'c, 'a>,
    /// What is known about consumers before the one that is planned, until the next loop is made.
    pub neighbours: neighbours::Neighbours<'c, 'a>,
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
        let mut found = self.best(consumers, first, &rest)?;
        found.group.sort_by_key(|(index, _)| *index);
        self.make(&found)?;
        self.ties.forget();
        self.neighbours.forget(&std::mem::take(&mut self.just_gone), first);
        Some(found.group.into_iter().map(|(index, _)| index).filter(|&index| index != usize::MAX).collect())
    }

    /// The best plan for a consumer and those that share its producers.
    fn best(&self, consumers: &[Consumer<'c, 'a>], first: usize, rest: &[usize]) -> Option<Found<'c, 'a>> {
        let mut best: Option<Found<'c, 'a>> = None;
        // Those that take and store nothing whole, whatever their chunks take: a loop in the body can do the rest.
        let mut apart: Vec<Found<'c, 'a>> = Vec::new();
        // The least that a unit of another takes, to judge what that loop would.
        let mut others: Vec<(usize, usize, i64)> = Vec::new();
        // One op may be streamed in several ways; they follow each other.
        let ways = (0..=first).rev().take_while(|&way| consumers[way].source == consumers[first].source);
        for way in ways.filter(|&way| !self.is_gone(&consumers[way])) {
            for &dim in &consumers[way].dims {
                let Some(found) = self.plan(consumers, (way, consumers[way].along(dim)), rest) else {
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
        let again = best.as_ref().is_some_and(|best| best.again);
        apart.retain(|found| again || !found.again);
        match (&best, self.outer(apart, &others, best.is_none())) {
            (Some(best), Some(outer))
                if best.leaves() <= self.sizes.chunk_bytes.saturating_mul(2)
                    || outer.saved < best.saved / 2
                    || outer.strided
                    || outer.leaves_whole(best) > outer.saved / SMALL => {}
            (_, Some(outer)) => return Some(outer),
            (_, None) => {}
        }
        best
    }

    /// Of plans that leave the rest to a loop inside, the one whose chunks take least; where it is all there is, whatever they are.
    fn outer(
        &self,
        apart: Vec<Found<'c, 'a>>,
        others: &[(usize, usize, i64)],
        alone: bool,
    ) -> Option<Found<'c, 'a>> {
        let mut outer: Option<Found<'c, 'a>> = None;
        for mut found in apart {
            let (way, dim) = found.first;
            let units = found.plan.units;
            let inner =
                others.iter().filter(|other| (other.0, other.1) != (way, dim)).map(|other| other.2).min();
            let within = |bytes: i64| (self.sizes.chunk_bytes / bytes.max(1)).clamp(1, units / 2);
            found.chunk = match inner {
                // What the rest is sliced from and put into has to fit, and one unit of the loop inside.
                Some(inner) => within(found.around).min(within(inner / units)),
                None if alone => 1,
                None => continue,
            };
            found.chunk = 1 << found.chunk.ilog2();
            if !names_products_of_vectors(&found.plan, &found.group, found.chunk)
                && outer.as_ref().is_none_or(|outer| found.around < outer.around)
            {
                outer = Some(found);
            }
        }
        outer
    }

    /// Makes a plan's loop, in place of all that it computes and nothing else needs.
    fn make(&mut self, found: &Found<'c, 'a>) -> Option<()> {
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
        let computed = found.plan.chunks.iter();
        let producers: Vec<_> =
            computed.filter_map(|chunk| Some((defining_op_key(chunk.value)?, chunk.value))).collect();
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
        Some(())
    }

    fn erase(&mut self, op: OperationRef<'c, 'a>) {
        let Self { gone, just_gone, .. } = self;
        let (facts, held) = (&self.facts, &self.held);
        // What is known of values inside is not to be taken for what is known of others at their addresses.
        if matches!(op_name(op), "stablehlo.while" | "stablehlo.if" | "stablehlo.case") {
            facts.clear();
            held.forget_all();
            self.loops.retain(|made| ir::op_key(*made) != ir::op_key(op));
        }
        self.build.erase_with_dead_producers(op, |value| {
            if let Some(op) = defining_op_key(value) {
                gone.insert(op);
                just_gone.insert(op);
                held.forget(op);
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
            return Some(Found { split: true, ..found });
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
            self.slice_condensed(&mut plan, &group, &mut there).ok()?;
        }
        None
    }
}
