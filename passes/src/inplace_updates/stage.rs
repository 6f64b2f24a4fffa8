// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Reads before writes: which version each read of a chain takes, and the values that make the order known.

use super::chain::{Chain, FURTHEST, Read, Region};
use crate::hold;
use crate::ir::bytes;
use crate::ir::{self, Builder};
use crate::ops::class;
use crate::rewrite::{carry_attributes, defining_op, is_unused};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;
use std::collections::{BTreeMap, BTreeSet};

/// What is done about one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It reads this version, which the next update waits for, as it should.
    Direct(usize),
    /// It is read with others from this version, before the next update.
    Staged(usize),
    /// Likewise, and what later updates put there is taken from their values.
    Composed(usize),
}

impl Way {
    /// The version it is staged from, if it is.
    fn stage(self) -> Option<usize> {
        match self {
            Self::Direct(_) => None,
            Self::Staged(version) | Self::Composed(version) => Some(version),
        }
    }
}

/// What is done about a chain.
pub struct Order {
    /// One per read.
    ways: Vec<Way>,
    /// Updates whose whole value is staged, by version.
    values: BTreeSet<usize>,
}

impl Order {
    /// An order in which no version outlives the update of it; `None` if that is so already, or there is none.
    pub fn find(chain: &Chain<'_, '_>) -> Option<Self> {
        let fine = |read: &Read| read.feeds == Some(read.version + 1) && !chain.is_recomputed(read.version);
        if chain.reads.iter().all(fine) {
            return None;
        }
        let last = chain.updates.len();
        let mut ways = Vec::with_capacity(chain.reads.len());
        for read in &chain.reads {
            ways.push(if fine(read) { Way::Direct(read.version) } else { way_of(chain, read, last)? });
        }
        let stages: BTreeSet<usize> = ways.iter().filter_map(|way| way.stage()).collect();
        let mut values = BTreeSet::new();
        for &version in &stages {
            // The next update has to wait for the stage: by a read of its own, or else by its value.
            let feeds = |read: &Read| read.feeds == Some(version + 1);
            let own = |way: Way| chain.reads.iter().zip(&ways).position(|(read, w)| feeds(read) && *w == way);
            if own(Way::Staged(version)).is_some() {
                continue;
            }
            match own(Way::Direct(version)) {
                Some(index) if can_wait(chain, &chain.reads[index], version + 1) => {
                    ways[index] = Way::Staged(version);
                }
                _ => {
                    values.insert(version);
                }
            }
        }
        let order = Self { ways, values };
        (order.staged_bytes(chain) <= chain.bytes() / 2).then_some(order)
    }

    fn staged_bytes(&self, chain: &Chain<'_, '_>) -> i64 {
        let reads = chain.reads.iter().zip(&self.ways).filter(|(_, way)| way.stage().is_some());
        let value = |version: usize| chain.update(version).operand(1).map_or(i64::MAX / 8, bytes);
        let read = |read: &Read| read.op.result(0).map_or(i64::MAX / 8, |result| bytes(result.into()));
        reads.map(|(r, _)| read(r)).chain(self.values.iter().map(|&version| value(version + 1))).sum()
    }

    /// How many reads take another version or go by a stage.
    pub fn moved(&self, chain: &Chain<'_, '_>) -> usize {
        chain.reads.iter().zip(&self.ways).filter(|(read, way)| **way != Way::Direct(read.version)).count()
    }

    /// Brings the chain into this order.
    pub fn apply<'c: 'a, 'a>(&self, chain: &mut Chain<'c, 'a>, build: &Builder<'c, 'a>) {
        let mut stages: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, way) in self.ways.iter().enumerate() {
            match way {
                Way::Direct(version) if *version != chain.reads[index].version => {
                    let read = &chain.reads[index];
                    let anchor = read.feeds.map(|update| chain.update(update));
                    if let Some(anchor) = anchor {
                        let value = read_again(chain, read, *version, anchor, build);
                        replace_read(read, value, anchor, build);
                    }
                }
                Way::Direct(_) => {}
                Way::Staged(version) | Way::Composed(version) => {
                    stages.entry(*version).or_default().push(index);
                }
            }
        }
        for (version, reads) in stages {
            self.stage(chain, version, &reads, build);
        }
    }

    fn stage<'c: 'a, 'a>(
        &self,
        chain: &mut Chain<'c, 'a>,
        version: usize,
        reads: &[usize],
        build: &Builder<'c, 'a>,
    ) {
        let anchor = chain.update(version + 1);
        let location = anchor.location();
        let mut parts: Vec<Value<'c, 'a>> = reads
            .iter()
            .map(|&index| read_again(chain, &chain.reads[index], version, anchor, build))
            .collect();
        if self.values.contains(&version) {
            parts.push(anchor.operand(1).expect("updates have a value"));
        }
        let staged = hold::together(&parts, build, location);
        for (&index, value) in reads.iter().zip(&staged) {
            let read = &chain.reads[index];
            if let Way::Composed(_) = self.ways[index] {
                build.set_insertion_point_before(read.op);
                let value =
                    Pieces::of(chain, read, version).and_then(|pieces| pieces.compose(chain, *value, build));
                replace_in_place(read, value.expect("looked at when the way was chosen"), build);
            } else {
                replace_read(read, *value, anchor, build);
            }
        }
        for part in &parts {
            if let Some(op) = defining_op(*part).filter(|op| is_unused(*op)) {
                build.erase_with_dead_producers(op, |_| {});
            }
        }
        if self.values.contains(&version) {
            let value = *staged.last().expect("the value was staged");
            chain.updates[version].op = with_value(anchor, value, build);
        }
    }
}

/// What to do about a read that is not fine as it is.
fn way_of(chain: &Chain<'_, '_>, read: &Read<'_, '_>, last: usize) -> Option<Way> {
    // Versions it may take: the newest that is of use to the update it feeds, or any before the last.
    let newest = read.feeds.map_or(last - 1, |update| update - 1);
    let mut top = read.latest.min(newest);
    if top > read.version && !can_wait(chain, read, top + 1) {
        top = read.version;
    }
    let good = |version: &usize| !chain.is_recomputed(*version);
    // Where it is read later than now, what is computed from it has to wait as well.
    let possible = |version: &usize| *version < read.version || can_wait(chain, read, version + 1);
    if read.feeds == Some(top + 1) && good(&top) {
        return Some(Way::Direct(top));
    }
    if let Some(version) = (read.earliest..=top).rev().filter(good).find(possible) {
        return Some(Way::Staged(version));
    }
    let before = (0..read.earliest.min(read.version)).rev().take(FURTHEST);
    let version = before.into_iter().find(good)?;
    Pieces::of(chain, read, version).map(|_| Way::Composed(version))
}

/// What a read finds, as runs along one dimension: from an older version and from what updates since have put there.
struct Pieces<'r> {
    region: &'r Region,
    dim: usize,
    /// Where each run ends, and which update it comes of; 0 for the older version.
    runs: Vec<(i64, usize)>,
}

impl<'r> Pieces<'r> {
    /// Runs of what a read finds, from `version` on; `None` if updates overlap it in other ways.
    fn of(chain: &Chain<'_, '_>, read: &'r Read<'_, '_>, version: usize) -> Option<Self> {
        let region = read.region.as_ref()?;
        let rank = region.start.len();
        let mut pieces = Self { region, dim: 0, runs: vec![(*region.limit.first()?, 0)] };
        for update in version + 1..=read.version {
            let window = chain.updates[update - 1].window.as_ref()?;
            if !window.intersects(region) {
                continue;
            }
            let covers = |dim: &usize| {
                window.start[*dim] <= region.start[*dim] && region.limit[*dim] <= window.limit[*dim]
            };
            let mut partial = (0..rank).filter(|dim| !covers(dim));
            let Some(dim) = partial.next() else {
                pieces.runs = vec![(region.limit[pieces.dim], update)];
                continue;
            };
            if partial.next().is_some() || (pieces.runs.len() > 1 && dim != pieces.dim) {
                return None;
            }
            if dim != pieces.dim {
                pieces.dim = dim;
                pieces.runs[0].0 = region.limit[dim];
            }
            pieces.put(
                window.start[dim].max(region.start[dim]),
                window.limit[dim].min(region.limit[dim]),
                update,
            );
        }
        Some(pieces)
    }

    /// What is from `start` to `limit` comes of an update.
    fn put(&mut self, start: i64, limit: i64, update: usize) {
        let mut runs = Vec::with_capacity(self.runs.len() + 2);
        let mut from = self.region.start[self.dim];
        for &(end, source) in &self.runs {
            for (low, high, source) in [
                (from, end.min(start), source),
                (from.max(start), end.min(limit), update),
                (from.max(limit), end, source),
            ] {
                if low < high {
                    runs.push((high, source));
                }
            }
            from = end;
        }
        // Runs of the update that met where two old ones did are one.
        runs.dedup_by(|next, run| {
            let same = next.1 == run.1;
            if same {
                run.0 = next.0;
            }
            same
        });
        self.runs = runs;
    }

    /// The read's value, made of `old`, which is what it would have found in the older version.
    fn compose<'c: 'a, 'a>(
        &self,
        chain: &Chain<'c, 'a>,
        old: Value<'c, 'a>,
        build: &Builder<'c, 'a>,
    ) -> Option<Value<'c, 'a>> {
        let location = defining_op(old)?.location();
        let tensor = Tensor::new(old.r#type())?;
        let mut from = self.region.start[self.dim];
        let mut parts = Vec::with_capacity(self.runs.len());
        for &(end, update) in &self.runs {
            let mut shape = tensor.shape.to_vec();
            shape[self.dim] = end - from;
            let ty = Tensor::get(&shape, tensor.element, None);
            let mut start = self.region.start.clone();
            start[self.dim] = from;
            let (source, origin) = match update.checked_sub(1) {
                None => (old, &self.region.start),
                Some(index) => {
                    (chain.updates[index].op.operands().nth(1)?, &chain.updates[index].window.as_ref()?.start)
                }
            };
            start.iter_mut().zip(origin).for_each(|(at, origin)| *at -= origin);
            parts.push(if source.r#type() == ty {
                source
            } else {
                build.slice(source, &start, ty, location)
            });
            from = end;
        }
        Some(match parts[..] {
            [only] => only,
            _ => build.concatenate(&parts, self.dim, location),
        })
    }
}

/// Whether what is computed from a read can be moved to just before an update.
fn can_wait(chain: &Chain<'_, '_>, read: &Read<'_, '_>, update: usize) -> bool {
    let anchor = chain.update(update);
    read.cone.as_ref().is_some_and(|cone| {
        cone.iter().all(|op| {
            !ir::is_before(*op, anchor)
                || class::is_fusible(op_name(*op))
                || matches!(
                    op_name(*op),
                    "stablehlo.concatenate"
                        | "stablehlo.dot_general"
                        | "stablehlo.dynamic_update_slice"
                        | "stablehlo.gather"
                        | "stablehlo.reduce"
                )
        })
    })
}

/// The part that a read takes, of another version, just before `anchor`.
fn read_again<'c: 'a, 'a>(
    chain: &Chain<'c, 'a>,
    read: &Read<'c, 'a>,
    version: usize,
    anchor: OperationRef<'c, 'a>,
    build: &Builder<'c, 'a>,
) -> Value<'c, 'a> {
    build.set_insertion_point_before(anchor);
    let ty = read.op.result(0).expect("slices have a result").r#type();
    if let (Some(region), "stablehlo.dynamic_slice") = (&read.region, op_name(read.op)) {
        let value = build.slice(chain.version(version), &region.start, ty, read.op.location());
        if let Some(op) = defining_op(value) {
            carry_attributes(read.op, op, &[]);
        }
        return value;
    }
    let copy = build.copy_with(read.op, &[chain.version(version)], &[], &[ty]);
    copy.result(0).expect("slices have a result").into()
}

/// Lets `value` stand for a read, and what is computed from it wait until `anchor`.
fn replace_read<'c: 'a, 'a>(
    read: &Read<'c, 'a>,
    value: Value<'c, 'a>,
    anchor: OperationRef<'c, 'a>,
    build: &Builder<'c, 'a>,
) {
    for &op in read.cone.iter().flatten() {
        if ir::is_before(op, anchor) {
            build.move_before(op, anchor);
        }
    }
    replace_in_place(read, value, build);
}

fn replace_in_place<'c: 'a, 'a>(read: &Read<'c, 'a>, value: Value<'c, 'a>, build: &Builder<'c, 'a>) {
    if let Ok(result) = read.op.result(0) {
        build.replace_all_uses_with(result.into(), value);
    }
    build.erase_with_dead_producers(read.op, |_| {});
}

/// The same update with another value, in its place.
fn with_value<'c: 'a, 'a>(
    update: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    build: &Builder<'c, 'a>,
) -> OperationRef<'c, 'a> {
    build.set_insertion_point_before(update);
    let mut operands: Vec<Value<'c, 'a>> = update.operands().collect();
    operands[1] = value;
    let result = update.result(0).expect("updates have a result");
    let copy = build.copy_with(update, &operands, &[], &[result.r#type()]);
    build.replace_all_uses_with(result.into(), copy.result(0).expect("updates have a result").into());
    build.erase_with_dead_producers(update, |_| {});
    copy
}
