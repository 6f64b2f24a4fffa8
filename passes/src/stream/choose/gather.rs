// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which consumers go together: those that share what is costly with the first, and can be done at the same time.

use super::super::consumer::{Consumer, Role};
use super::super::outside::Outside;
use super::super::plan::{Plan, Sought};
use super::super::sizes::{GAIN, ROUNDS};
use super::Rewrite;
use super::moved::widened;
use super::neighbours::Alone;
use super::place::{defining_op_key, early_users};
use crate::ir;
use crate::ops::access::{Source, Stop};
use crate::rewrite::defining_op;
use crate::tables::{Keys, Marked};
use melior::ir::operation::OperationLike;
use melior::ir::{Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use std::rc::Rc;

/// Consumers that go together.
pub(super) struct Gathered<'c, 'a> {
    /// The plan of them all.
    pub plan: Plan<'c, 'a>,
    pub group: Vec<(usize, Consumer<'c, 'a>)>,
    /// Values it slices because they are dots' results of no size.
    pub there: Keys,
    /// Whether one that shares costly producers was left out because the first one's result is made of its own.
    pub barred: bool,
}

impl<'c: 'a, 'a> Rewrite<'c, 'a> {
    /// The consumers that go together with the first.
    pub(super) fn gather(
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
            if there.is_empty() || !self.slice_condensed(&mut plan, &group, &mut there).ok()? {
                break;
            }
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
                self.slice_condensed(&mut plan, &group, &mut there).ok()?;
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

    /// A plan for a group in which what is `there` is sliced.
    pub(super) fn replan(
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

    /// Has a plan slice what it would compute although a dot's result is no larger than what that is computed from; whether there is
    /// any.
    pub(super) fn slice_condensed(
        &self,
        plan: &mut Plan<'c, 'a>,
        group: &[(usize, Consumer<'c, 'a>)],
        there: &mut Keys,
    ) -> Result<bool, Stop> {
        let condensed = Outside::condensed(plan, group);
        if condensed.is_empty() {
            return Ok(false);
        }
        there.extend(condensed.into_iter().map(ir::key));
        *plan = self.replan(plan.units, group, there)?;
        there.extend(condensed_before(plan));
        Ok(true)
    }

    /// Those of some values that the loop computes on its way and something outside needs which it can hand out: what uses
    /// them outside comes after the loop, or can.
    pub(super) fn export(
        &self,
        group: &[(usize, Consumer<'c, 'a>)],
        values: Vec<Value<'c, 'a>>,
        plan: &Plan<'c, 'a>,
        outside: &Outside<'c, 'a>,
    ) -> Vec<Consumer<'c, 'a>> {
        const MOST: usize = 16;
        let block = group[0].1.op.block();
        let members: Vec<_> = group.iter().map(|(_, member)| member.op).collect();
        let most = MOST.saturating_sub(members.len());
        let mut places: Vec<_> = values
            .into_iter()
            .filter_map(|value| {
                let chunk = plan.chunks.iter().find(|chunk| ir::key(chunk.value) == ir::key(value))?;
                let place = Consumer::place(defining_op(value)?, value)?.along(chunk.along.dim);
                let fits = plan.all_of(value, place.dim).ok()? == chunk.along
                    && place.op.block() == block
                    && !members.contains(&place.op);
                fits.then_some(place)
            })
            // One more is too many.
            .take(most + 1)
            .collect();
        // Without one that cannot be handed out, others may not either.
        while !places.is_empty() && places.len() <= most {
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
            let shares = |joined: &Consumer<'c, 'a>| {
                joined.inputs().into_iter().any(leads) && self.shares(index, joined, plan, largest)
            };
            if !shares(&joined) {
                continue;
            }
            // The loop goes to the last consumer: what uses the results of the others has to come after it.
            let mut members: Vec<_> =
                group.iter().map(|(_, member)| member.op).chain([consumer.op]).collect();
            if early_users(&members, &Keys::default()).is_some() {
                return Some(joined);
            }
            // What is made of its result may need another member's, and may be all that it shares with that.
            if let Some(apart) = self.at_source(&joined) {
                members[group.len()] = apart.op;
                if early_users(&members, &Keys::default()).is_some() && shares(&apart) {
                    return Some(apart);
                }
            }
            members[0] = group[0].1.source;
            *barred |= early_users(&members, &Keys::default()).is_some();
        }
        None
    }

    /// Whether a consumer by itself computes what a plan does, too, and what is large beside the plan's `largest`.
    fn shares(&self, index: usize, consumer: &Consumer<'c, 'a>, plan: &Plan<'c, 'a>, largest: i64) -> bool {
        let Ok(own) = self.alone(index, consumer, plan.units) else { return false };
        let matters = (own.largest.max(largest) / 2).max(self.sizes.chunk_bytes);
        own.values.iter().map(|&at| &own.plan.chunks[at]).any(|chunk| {
            chunk.size >= matters
                && plan.position(chunk.value, chunk.along).is_some_and(|at| plan.chunks[at].source.is_op())
        })
    }

    /// A consumer without what is made of its source's result, along the same dimension.
    pub(super) fn at_source(&self, consumer: &Consumer<'c, 'a>) -> Option<Consumer<'c, 'a>> {
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
        let way = (index, consumer.dim, units, ir::op_key(consumer.op));
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
            self.slice_condensed(&mut plan, &group, &mut there).map_err(|_| Stop::No)?;
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
}

/// The values that a plan slices because earlier plans found them condensed.
pub(super) fn condensed_before(plan: &mut Plan<'_, '_>) -> Keys {
    std::mem::take(&mut plan.condensed).into_iter().map(ir::key).collect()
}

/// What a value is but for the order of its dimensions.
fn unmoved<'c: 'a, 'a>(value: Value<'c, 'a>) -> Value<'c, 'a> {
    let moved = defining_op(value)
        .filter(|op| matches!(op_name(*op), "stablehlo.transpose" | "stablehlo.reshape"))
        .and_then(|op| ir::operand(op, 0));
    moved.unwrap_or(value)
}
