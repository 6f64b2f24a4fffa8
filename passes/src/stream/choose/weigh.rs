// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a loop saves and what it stores besides its chunk; and its chunk, where the target takes time for each turn: as few turns as
//! the bytes allow.

use super::super::consumer::{Consumer, Role, SMALL};
use super::super::emit::is_made_again;
use super::super::outside::{Outside, sources};
use super::super::plan::{self, Plan};
use super::super::sizes::GAIN;
use super::Rewrite;
use super::by_size::BySize;
use super::dots::{
    computes_dots_again, copies, in_parts, is_library_fused, is_made_of_less, names_products_of_vectors,
    shuffled,
};
use super::found::Found;
use super::moved::{around, carried_besides, evened, gaps_matter, is_strided, widened};
use super::place::{is_ahead, is_in_loop};
use crate::ir::{self, bytes, is_narrow};
use crate::ops::access::Source;
use crate::ops::class;
use crate::rewrite::defining_op;
use crate::tables::Keys;
use melior::ir::operation::OperationLike;
use slimhlo_dialect::ffi::op_name;

/// What a loop saves and stores, in bytes.
pub(super) struct Weighed {
    /// Of what need not be stored any more.
    pub saved: i64,
    /// Of what the loop stores besides its chunk.
    pub cost: i64,
    /// Of the temporaries of one unit.
    pub unit_bytes: i64,
    /// Of the products that its turns add up: all of them is read and written again in each.
    pub added_up: i64,
    /// Whether each chunk needs copies of what it takes whole.
    pub copies: bool,
    /// Kernels of a turn, about.
    pub kernels: usize,
}

/// A chunk of so many units, and what follows from that. Fields as in [`Found`].
pub(super) struct Sized {
    pub chunk: i64,
    pub least_chunk: i64,
    pub fits: bool,
    pub thin: bool,
    pub strided: bool,
    pub turns: f64,
}

impl<'c: 'a, 'a> Rewrite<'c, 'a> {
    /// The plan with its chunk, if the loop saves enough.
    pub(super) fn weigh(
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
        if self.patient && plan.chunks.iter().any(|chunk| self.waits(chunk)) {
            self.waited.set(true);
            return None;
        }
        let weighed = self.weighed(&plan, &group, there, outside)?;
        let sized = if self.target.rates().is_some() {
            self.as_bytes_allow(&plan, &group, &weighed)?
        } else {
            BySize::new(self, &plan, &group, &weighed).sized()?
        };
        let Weighed { saved, cost, unit_bytes, .. } = weighed;
        let Sized { chunk, least_chunk, fits, thin, strided, turns } = sized;
        let around = around(&plan, &group);
        let again = computes_dots_again(&plan, outside);
        let apart = cost == 0;
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
            split: false,
            around,
            turns,
            first,
        })
    }

    /// Whether a large value that is sliced may yet turn out to be needed in loops alone: to take slices of it would keep it whole.
    fn waits(&self, chunk: &plan::Chunk<'c, 'a>) -> bool {
        chunk.source == Source::Slice
            && class::is_elementwise(chunk.name)
            && chunk.size > self.sizes.chunk_bytes.saturating_mul(GAIN)
            && is_made_of_less(chunk.value)
    }

    /// What the loop of a plan saves and stores; nothing where it would store as much of what is computed on the fly today.
    fn weighed(
        &self,
        plan: &Plan<'c, 'a>,
        group: &[(usize, Consumer<'c, 'a>)],
        there: &Keys,
        outside: &Outside<'c, 'a>,
    ) -> Option<Weighed> {
        let storage = self.target.storage();
        let (sources, temporaries) = sources(plan);
        let contracts = || group.iter().filter(|(_, consumer)| matches!(consumer.role, Role::Contract));
        let added_up = contracts()
            .filter(|(_, consumer)| consumer.widen.is_none())
            .map(|(_, consumer)| bytes(consumer.result()))
            .fold(0, i64::saturating_add);
        // A loop that adds up one of two gradients and puts chunks of the other in their places is held against one that does it the
        // other way around: both have to see what is stored alike.
        let large = group.iter().any(|(_, consumer)| {
            consumer.is_dot && !is_narrow(consumer.result()) && bytes(consumer.result()) > self.sizes.stretch
        });
        let alike = contracts().next().is_some() && large;
        let stored = outside.stored(plan, group, &sources, alike, (storage, &self.held));
        let unit_bytes = Outside::most_at_once(plan, group, &stored) / plan.units;
        let carried = carried_besides(plan);
        let widened = if storage.widens { widened(plan, group) } else { 0 };
        let mut saved = no_longer_stored(plan, &stored, &temporaries, there)
            .saturating_add(widened)
            .saturating_add(carried);
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
        if storage.is_library() && is_library_fused(plan, group) {
            saved = plan.chunks.iter().filter_map(|chunk| chunk.op).map(shuffled).sum();
        }
        let copies = copies(plan);
        Some(Weighed {
            saved,
            cost: copies.saturating_add(self.sums_besides(group)),
            unit_bytes: unit_bytes.saturating_add(carried / plan.units).saturating_add(widened / plan.units),
            added_up,
            copies: copies > 0,
            kernels: stored.iter().filter(|stored| **stored).count() + group.len(),
        })
    }

    /// Bytes that a loop stores besides its results for what it adds up.
    fn sums_besides(&self, group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
        let besides = |consumer: &Consumer<'c, 'a>| {
            let result = bytes(consumer.result());
            let wide = if consumer.widen.is_some() { 2 * result } else { 0 };
            match consumer.role {
                Role::Scatter => wide,
                // Beside the accumulator there is a part of the product, see `parts.rs`.
                Role::Contract if wide == 0 => result.min(self.sizes.chunk_bytes),
                // A sum of narrow floats takes as long as if there were all of it.
                Role::Contract => wide.saturating_add(wide),
                Role::Reduce { .. } => wide,
                Role::Place => 0,
            }
        };
        group.iter().map(|(_, consumer)| besides(consumer)).fold(0, i64::saturating_add)
    }

    /// In as few turns as the bytes allow, for back ends that take time for each; whether that is worth its time is for those to say
    /// who know all of the function.
    fn as_bytes_allow(
        &self,
        plan: &Plan<'c, 'a>,
        group: &[(usize, Consumer<'c, 'a>)],
        weighed: &Weighed,
    ) -> Option<Sized> {
        let Weighed { saved, cost, unit_bytes, copies, kernels, .. } = *weighed;
        let net = saved.saturating_sub(cost);
        if net <= self.sizes.least_saved || plan.units < 2 {
            return None;
        }
        let strided = is_strided(plan) && gaps_matter(plan, group, self.sizes.chunk_bytes);
        if strided && group.iter().any(|(_, consumer)| is_in_loop(consumer.op)) {
            return None;
        }
        let most = (self.sizes.chunk_bytes / unit_bytes.max(1)).clamp(1, plan.units / 2);
        let mut chunk = evened(plan.units, 1 << most.ilog2(), most, copies);
        if let Some(splits) = self.target.storage().splits_products {
            chunk = in_parts(splits, plan, group, chunk, copies);
        }
        if names_products_of_vectors(plan, group, chunk) {
            return None;
        }
        Some(Sized {
            chunk,
            least_chunk: chunk,
            fits: unit_bytes.saturating_mul(chunk) <= self.sizes.chunk_bytes.saturating_mul(2),
            thin: false,
            strided,
            turns: self.seconds_of_turns(plan, plan.units / chunk, kernels),
        })
    }

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
        let kernels = (kernels + BESIDES) as f64;
        // A chunk is to be so large that its kernels last longer than the host needs to start them.
        let each = kernels * rates.launch_in_graph + 3.0 * whole as f64 / rates.bytes;
        turns as f64 * each
    }
}

/// Bytes of what is there in chunks where it was whole, less those of what was computed on the fly and has to be there.
fn no_longer_stored(plan: &Plan<'_, '_>, stored: &[bool], temporaries: &[i64], there: &Keys) -> i64 {
    let mut saved: i64 = 0;
    // One that is had in chunks of two dimensions saves its memory once.
    let mut counted = Keys::default();
    for (at, (chunk, stored)) in plan.chunks.iter().zip(stored).enumerate() {
        let size = chunk.size;
        // An elementwise value computed from one that is there takes its place, if nothing else needs that any more; and a loop
        // updates what it started from.
        let in_place = chunk.kind.fusible || chunk.name == "stablehlo.while";
        let reuses = in_place && temporaries[at] > size / 4;
        match chunk.source {
            Source::Slice => {
                // Sliced, a value that was computed on the fly has to be stored.
                let fused = chunk.kind.fusible;
                let padded = plan.beyond(chunk) != (0, 0);
                if padded || (fused && !there.contains(&ir::key(chunk.value))) {
                    saved = saved.saturating_sub(size);
                }
            }
            _ if *stored && !reuses && counted.insert(ir::key(chunk.value)) => {
                saved = saved.saturating_add(size)
            }
            _ => {}
        }
    }
    saved
}
