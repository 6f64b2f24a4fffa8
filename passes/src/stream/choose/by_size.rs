// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A loop's chunk where the target's time is not known (XLA for CPU): as large as caches, products and sums want it, as a share of what
//! the loop saves and of the program's arguments and results.

use super::super::consumer::Consumer;
use super::super::plan::Plan;
use super::super::sizes::{GAIN, STRETCH};
use super::dots::{names_products_of_vectors, read_again, wanted_units};
use super::moved::{
    copied_updates, evened, is_strided, narrow_sums, rewritten, searched, sliced_temporaries, sums_up,
};
use super::place::is_in_loop;
use super::weigh::{Sized, Weighed};
use super::{
    CACHED, COPIED, KEPT, REWRITTEN, Rewrite, SEARCHED, SHARE, SHARE_OF_SUMS, SLACK, STRETCH_OF_SUMS,
    TURNS_OF_NARROW,
};
use crate::ir::is_narrow;

/// What decides about a plan's chunk.
pub(super) struct BySize<'r, 'c, 'a> {
    rewrite: &'r Rewrite<'c, 'a>,
    plan: &'r Plan<'c, 'a>,
    group: &'r [(usize, Consumer<'c, 'a>)],
    weighed: &'r Weighed,
    /// Whether the loop is one inside another.
    in_loop: bool,
    /// Whether it computes products.
    dots: bool,
    /// Whether each turn reads more than caches hold.
    reads_again: bool,
    /// Bytes of what it saves, less those of what it stores.
    net: i64,
    /// Bytes that a chunk takes at most, whatever for.
    farthest: i64,
    /// Bytes of the updates that each turn copies.
    copied: i64,
    /// Whether a chunk inside another loop is of a program of so little memory that a chunk's size follows from it: turns are short.
    nested: bool,
}

impl<'r, 'c: 'a, 'a> BySize<'r, 'c, 'a> {
    pub fn new(
        rewrite: &'r Rewrite<'c, 'a>,
        plan: &'r Plan<'c, 'a>,
        group: &'r [(usize, Consumer<'c, 'a>)],
        weighed: &'r Weighed,
    ) -> Self {
        let sizes = &rewrite.sizes;
        let in_loop = group.iter().any(|(_, consumer)| is_in_loop(consumer.op));
        let dots = group.iter().any(|(_, consumer)| consumer.is_dot)
            || plan.chunks.iter().any(|chunk| chunk.source.is_op() && chunk.kind.dot);
        Self {
            rewrite,
            plan,
            group,
            weighed,
            in_loop,
            dots,
            reads_again: read_again(plan) > sizes.whole_chunk,
            net: weighed.saved.saturating_sub(weighed.cost),
            farthest: (rewrite.floor / 2).min(sizes.whole_chunk.saturating_mul(STRETCH)),
            copied: copied_updates(plan, group),
            nested: rewrite.floor / SHARE < sizes.whole_chunk && in_loop,
        }
    }

    /// A chunk, if the loop is worth it.
    pub fn sized(&self) -> Option<Sized> {
        let threshold = self.threshold();
        if self.saves_too_little(threshold) {
            return None;
        }
        let turn = self.turn();
        if self.nested && self.dots && self.all_units() <= self.outer_chunk(turn) {
            return None;
        }
        let (least, most, stretch) = self.units(turn);
        // A power of two: sizes often are, too, and then nothing is left over.
        let mut chunk: i64 = 1 << most.ilog2();
        if self.plan.units / chunk < 2 {
            chunk = 1 << (self.plan.units / 2).ilog2();
        }
        chunk = evened(self.plan.units, chunk, most, self.weighed.copies);
        let thin = chunk.saturating_mul(4) < wanted_units(self.plan, self.group).min(self.plan.units);
        let strided = is_strided(self.plan);
        if self.rewrites_too_much(chunk, thin) || strided && self.in_loop {
            return None;
        }
        let fits = self.weighed.unit_bytes.saturating_mul(chunk) <= threshold.max(stretch);
        Some(Sized { chunk, least_chunk: 1 << least.ilog2(), fits, thin, strided, turns: 0.0 })
    }

    fn all_units(&self) -> i64 {
        self.weighed.unit_bytes.saturating_mul(self.plan.units)
    }

    /// Whether the loop adds up large products: that wants large chunks.
    fn sums(&self) -> bool {
        self.weighed.added_up > self.rewrite.sizes.stretch
    }

    /// Bytes that a chunk may take where large products are added up.
    fn most_of_sums(&self) -> i64 {
        self.rewrite.sizes.stretch.saturating_mul(STRETCH_OF_SUMS).min(self.rewrite.floor / 2)
    }

    /// Bytes that a loop has to save.
    fn threshold(&self) -> i64 {
        let sizes = &self.rewrite.sizes;
        let threshold = sizes.chunk_bytes.saturating_mul(GAIN);
        if !self.in_loop {
            return threshold;
        }
        // A chunk that was made larger for the sake of its dots is not taken apart again.
        let threshold = threshold.max(sizes.stretch.saturating_mul(2));
        if self.group.iter().any(|(_, consumer)| sums_up(consumer.op, sizes.stretch)) {
            threshold.max(self.most_of_sums())
        } else {
            threshold
        }
    }

    /// Whether a loop saves less than it is worth: too few bytes, or few beside what its turns would copy and search.
    fn saves_too_little(&self, threshold: i64) -> bool {
        let saved = self.weighed.saved;
        if self.net <= threshold || self.plan.units < 2 {
            return true;
        }
        if self.in_loop && self.reads_again && self.all_units() <= self.farthest + self.farthest / SHARE {
            return true;
        }
        if saved.saturating_mul(KEPT) <= sliced_temporaries(self.plan) {
            return true;
        }
        let mostly_copies =
            saved <= self.rewrite.floor / SLACK && saved.saturating_mul(COPIED) <= self.copied;
        !self.dots && (mostly_copies || saved.saturating_mul(SEARCHED) <= searched(self.plan))
    }

    /// Bytes that a turn should take: it has a cost of its own, which less would not be worth.
    fn turn(&self) -> i64 {
        let (sizes, floor) = (&self.rewrite.sizes, self.rewrite.floor);
        let computed = || self.plan.chunks.iter().filter(|chunk| chunk.source.is_op());
        // Narrow products are widened first, so that a chunk of theirs takes more.
        let narrow = self.dots && computed().any(|chunk| chunk.kind.dot && is_narrow(chunk.value));
        let dot_turn = if narrow { sizes.dot_turn.min(floor / SHARE) } else { sizes.dot_turn };
        let turn = if self.dots { sizes.least_turn.max(dot_turn) } else { sizes.least_turn };
        // One with loops in it has the costs of all of theirs.
        let loops = computed().any(|chunk| chunk.name == "stablehlo.while");
        let turn = if loops { turn.max(sizes.loop_turn) } else { turn };
        // Each turn rewrites narrow results, not just its part of them.
        let rewritten = rewritten(self.group) / TURNS_OF_NARROW;
        turn.max(rewritten.min(sizes.stretch).min(floor / SHARE))
    }

    /// Bytes of the chunk that the loop around has made.
    fn outer_chunk(&self, turn: i64) -> i64 {
        let whole = self.rewrite.sizes.whole_chunk;
        let outer = whole.saturating_add(whole / SHARE);
        turn.max(outer.min(self.rewrite.floor / SHARE * 3))
    }

    /// Units of a chunk: the fewest that do, and as many as are wanted for speed; and the bytes that it may take for that.
    fn units(&self, turn: i64) -> (i64, i64, i64) {
        let sizes = &self.rewrite.sizes;
        let unit_bytes = self.weighed.unit_bytes.max(1);
        let share = if self.nested { SHARE / 2 } else { SHARE };
        // Each scatter of a chain is a kernel of its own, and what computes its indices and updates is another.
        let links = self.group.iter().map(|(_, consumer)| consumer.links.len() as i64).max();
        let least = turn.saturating_mul(links.unwrap_or(0) + 1).min(self.net / share);
        let most = sizes.chunk_bytes.max(least) / unit_bytes;
        let wanted = wanted_units(self.plan, self.group);
        // What a unit takes is known but roughly: a little more does not matter.
        let units = |stretch: i64| {
            let room = if self.nested { stretch + stretch / SHARE } else { stretch };
            let wanted = if wanted <= room / unit_bytes { wanted } else { stretch / unit_bytes };
            most.max(wanted).clamp(1, self.plan.units)
        };
        let stretch = self.stretch(share, wanted);
        // What a chunk takes beyond that for speed alone does not speak against its loop.
        let fewest = units(stretch);
        let stretch = if self.sums() {
            stretch.max(self.most_of_sums().min(self.net / SHARE_OF_SUMS))
        } else {
            stretch
        };
        let mut most = units(stretch);
        // Where a chunk's size follows from the program's, what it copies stays in a cache. In larger programs what is no longer
        // stored is worth more than that, and a turn of so little is nothing for a back end with many threads.
        if !self.dots && sizes.chunk_bytes < sizes.whole_chunk && self.copied >= self.weighed.saved {
            most = most.min(CACHED / unit_bytes).max(1);
        }
        (fewest, most, stretch)
    }

    /// Bytes that a chunk may take so that products have as many rows as they want.
    fn stretch(&self, share: i64, wanted: i64) -> i64 {
        let Weighed { cost, unit_bytes, .. } = *self.weighed;
        let (sizes, floor) = (&self.rewrite.sizes, self.rewrite.floor);
        let stretch = if self.sums() { sizes.stretch.saturating_mul(2) } else { sizes.stretch };
        let stretch = stretch.min(self.net / share);
        // A little more may be the next power of two, which thin dots are worth where it is no large part of the program.
        let more = stretch + stretch / SHARE;
        let rows = 1 << (more / unit_bytes.max(1)).max(1).ilog2();
        let is_thin = self.dots && rows < wanted && wanted < self.plan.units;
        let has_room = cost.saturating_add(unit_bytes.saturating_mul(rows)) <= floor / 5 * 2;
        let stretch = if is_thin && has_room { more.min(self.net / share) } else { stretch };
        // Where each turn reads more than caches hold, much more.
        if is_thin && self.reads_again {
            stretch.max(self.farthest.saturating_sub(cost).min(self.net / share))
        } else {
            stretch
        }
    }

    /// Whether turns of so many units do what back ends cannot, or write all of what they add up too often for what they save.
    fn rewrites_too_much(&self, chunk: i64, thin: bool) -> bool {
        let turns = self.plan.units / chunk;
        let Weighed { saved, added_up, .. } = *self.weighed;
        names_products_of_vectors(self.plan, self.group, chunk)
            // What a turn adds to takes longer than it should where it is of narrow floats, see `narrow_sums`.
            || narrow_sums(self.group).saturating_mul(turns) > saved
            // Nor where turns of few rows write all of a sum many times, as where scores are added up over features.
            || thin && added_up.saturating_mul(turns) / REWRITTEN > saved
    }
}
