// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which rows of what a slab is made of.

use super::cone::{Cone, Member, operand_dims};
use crate::ir;
use crate::ir::plain;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::op_name;

/// Rows of a value: from `from` to before `to`. In a turn of the loop they are counted from where its slab begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rows {
    pub from: i64,
    pub to: i64,
}

impl Rows {
    /// How many.
    pub fn count(self) -> i64 {
        self.to - self.from
    }

    /// The same rows of something that begins `by` further on.
    pub fn after(self, by: i64) -> Self {
        Self { from: self.from - by, to: self.to - by }
    }

    /// Those that are in both.
    pub fn and(self, other: Self) -> Option<Self> {
        let (from, to) = (self.from.max(other.from), self.to.min(other.to));
        (from < to).then_some(Self { from, to })
    }

    /// Whether all of `other` are among them.
    pub fn contains(self, other: Self) -> bool {
        self.from <= other.from && other.to <= self.to
    }
}

/// Where slabs of `slab` rows may begin and end so that all are made alike.
pub struct Inside {
    slab: i64,
    pub low: i64,
    pub high: i64,
}

impl Inside {
    pub fn new(slab: i64) -> Self {
        Self { slab, low: i64::MIN, high: i64::MAX }
    }

    /// Rows of each slab have to be within `of`.
    fn keep(&mut self, rows: Rows, of: Rows) {
        self.low = self.low.max(of.from - rows.from);
        self.high = self.high.min(of.to - (rows.to - self.slab));
    }
}

/// The rows of each value of a cone that are needed, in pieces that neither meet nor overlap.
#[derive(Default)]
pub struct Needs(FxHashMap<usize, Vec<Rows>>);

impl Needs {
    /// What is needed for these rows of the targets; inside, or, without, wherever they are.
    pub fn of<'c: 'a, 'a>(
        cone: &Cone<'c, 'a>,
        wanted: impl Fn(&Member<'c, 'a>) -> Rows,
        mut inside: Option<&mut Inside>,
    ) -> Self {
        let mut needs = Self::default();
        for target in &cone.targets {
            let rows = wanted(target);
            if rows.count() > 0 {
                needs.0.entry(ir::key(target.value)).or_default().push(rows);
            }
        }
        for total in &cone.totals {
            let rows = wanted(total);
            if let Some(inside) = inside.as_deref_mut() {
                inside.keep(rows, all_of(total.value, total.dim));
            }
            if rows.count() > 0 {
                needs.0.entry(ir::key(total.value)).or_default().push(rows);
            }
        }
        for member in cone.members.iter().rev() {
            let Some(all) = needs.0.get_mut(&ir::key(member.value)) else { continue };
            merge(all);
            let all = all.clone();
            let Some(dims) = operand_dims(member.op, member.dim) else { continue };
            for rows in all {
                if let Some(inside) = inside.as_deref_mut() {
                    inside.keep(rows, all_of(member.value, member.dim));
                    if let Some(segment) = main_segment(member.op, member.dim) {
                        inside.keep(rows, segment.1);
                    }
                }
                for (operand, of) in pieces(*member, rows, inside.is_some()) {
                    let (Ok(value), Some(Some(dim))) = (member.op.operand(operand), dims.get(operand)) else {
                        continue;
                    };
                    if let Some(inside) = inside.as_deref_mut() {
                        inside.keep(of, all_of(value, *dim));
                    }
                    needs.0.entry(ir::key(value)).or_default().push(of);
                }
            }
        }
        needs
    }

    /// The rows needed of a value.
    pub fn rows(&self, value: Value<'_, '_>) -> &[Rows] {
        self.0.get(&ir::key(value)).map_or(&[], Vec::as_slice)
    }

    /// Lets all rows from the first to the last that are needed of a value be one piece, together with `also`; says which.
    pub fn join(&mut self, value: Value<'_, '_>, also: impl Fn(Rows) -> Rows) -> Option<Rows> {
        let pieces = self.0.get_mut(&ir::key(value))?;
        let (from, to) =
            (pieces.iter().map(|rows| rows.from).min()?, pieces.iter().map(|rows| rows.to).max()?);
        let all = also(Rows { from, to });
        *pieces = vec![all];
        Some(all)
    }

    /// How far rows reach beyond a slab of `slab` rows.
    pub fn halo(&self, slab: i64) -> i64 {
        self.0.values().flatten().map(|rows| (-rows.from).max(rows.to - slab)).max().unwrap_or(0)
    }
}

/// Pieces that meet or overlap become one.
fn merge(all: &mut Vec<Rows>) {
    all.sort_unstable();
    let mut merged: Vec<Rows> = Vec::with_capacity(all.len());
    for rows in all.drain(..) {
        match merged.last_mut().filter(|last| rows.from <= last.to) {
            Some(last) => last.to = last.to.max(rows.to),
            None => merged.push(rows),
        }
    }
    *all = merged;
}

/// All rows of a value.
pub fn all_of(value: Value<'_, '_>, dim: usize) -> Rows {
    Rows { from: 0, to: plain(value).map_or(0, |tensor| tensor.shape[dim]) }
}

/// The rows that a `dynamic_update_slice` replaces, and whether it replaces all of them; `None` if that is not known.
pub fn updated(op: OperationRef<'_, '_>, dim: usize) -> Option<(Rows, bool)> {
    let (array, update) = (plain(ir::operand(op, 0)?)?, plain(ir::operand(op, 1)?)?);
    let from = ir::window_start(ir::operand(op, 2 + dim), update.shape[dim], array.shape[dim])?;
    let whole = (0..array.rank()).all(|other| other == dim || array.shape[other] == update.shape[other]);
    Some((Rows { from, to: from + update.shape[dim] }, whole))
}

/// The rows of its result that each operand of a concatenation along `dim` makes.
pub fn joined<'c: 'a, 'a>(op: OperationRef<'c, 'a>, dim: usize) -> Option<Vec<Rows>> {
    if op_name(op) != "stablehlo.concatenate" || ir::constant_attribute(op, "dimension") != Some(dim as i64) {
        return None;
    }
    let mut from = 0;
    let segments = op.operands().map(|operand| {
        let rows = Rows { from, to: from + all_of(operand, dim).to };
        from = rows.to;
        rows
    });
    Some(segments.collect())
}

/// The rows of a pad's result that its operand makes.
pub fn unpadded(op: OperationRef<'_, '_>, dim: usize) -> Option<Rows> {
    if op_name(op) != "stablehlo.pad" {
        return None;
    }
    let low = ir::i64_array(op, "edge_padding_low")?[dim];
    Some(Rows { from: low, to: low + all_of(ir::operand(op, 0)?, dim).to })
}

/// Of the parts that an op's result falls into along `dim` the largest: its number among the operands, and its rows. Slabs inside are
/// made of it.
pub fn main_segment(op: OperationRef<'_, '_>, dim: usize) -> Option<(usize, Rows)> {
    if let Some(segments) = joined(op, dim) {
        // The first of the largest.
        return segments.into_iter().enumerate().max_by_key(|(at, rows)| (rows.count(), usize::MAX - at));
    }
    let end = all_of(ir::first_result(op)?, dim).to;
    let around = |rows: Rows| {
        let around = [Rows { from: 0, to: rows.from }, Rows { from: rows.to, to: end }];
        around.into_iter().max_by_key(|rows| rows.count())
    };
    if let Some(rows) = unpadded(op, dim) {
        // What is next to nothing but padding is padding.
        let padding = around(rows)?;
        return Some(if rows.count() >= padding.count() { (0, rows) } else { (1, padding) });
    }
    if op_name(op) == "stablehlo.dynamic_update_slice" {
        let (rows, _) = updated(op, dim)?;
        let largest = around(rows)?;
        return Some(if rows.count() >= largest.count() { (1, rows) } else { (0, largest) });
    }
    None
}

/// The part of some rows that an operand of an op makes which makes others of other operands.
pub fn part(
    op: OperationRef<'_, '_>,
    dim: usize,
    operand: usize,
    segment: Rows,
    rows: Rows,
    inside: bool,
) -> Option<Rows> {
    match inside {
        true => (main_segment(op, dim)?.0 == operand).then_some(rows),
        false => rows.and(segment),
    }
}

/// What rows of a member are made of: rows of operands, by number.
pub fn pieces(member: Member<'_, '_>, rows: Rows, inside: bool) -> Vec<(usize, Rows)> {
    let Member { op, dim, .. } = member;
    if let Some(segments) = joined(op, dim) {
        let part = |(at, segment): (usize, Rows)| {
            Some((at, part(op, dim, at, segment, rows, inside)?.after(segment.from)))
        };
        return segments.into_iter().enumerate().filter_map(part).collect();
    }
    if let Some(segment) = unpadded(op, dim) {
        let inner = part(op, dim, 0, segment, rows, inside);
        return inner.map(|inner| (0, inner.after(segment.from))).into_iter().collect();
    }
    match op_name(op) {
        "stablehlo.slice" => {
            let start = ir::i64_array(op, "start_indices").map_or(0, |starts| starts[dim]);
            vec![(0, rows.after(-start))]
        }
        "stablehlo.dynamic_update_slice" => {
            let Some((segment, whole)) = updated(op, dim) else { return Vec::new() };
            let update = part(op, dim, 1, segment, rows, inside);
            let mut pieces: Vec<(usize, Rows)> = match update {
                Some(update) if whole => {
                    let around = [Rows { to: update.from, ..rows }, Rows { from: update.to, ..rows }];
                    around.into_iter().filter(|rows| rows.count() > 0).map(|rows| (0, rows)).collect()
                }
                _ => vec![(0, rows)],
            };
            pieces.extend(update.map(|update| (1, update.after(segment.from))));
            pieces
        }
        _ => (0..op.operand_count()).map(|operand| (operand, rows)).collect(),
    }
}
