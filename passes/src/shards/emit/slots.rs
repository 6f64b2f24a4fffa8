// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What devices read in one place of an expression, sorted into what the same ops make.

use super::super::moves::{Box_, Index};
use super::places::Places;
use super::rounds::{Key, Wanted};
use rustc_hash::FxHashMap;

/// What one device finds in a box of its tile: from which device, and where in that one's tile.
#[derive(Clone, Debug)]
pub(super) struct Share {
    pub window: Box_,
    pub from: usize,
    pub start: Vec<i64>,
    pub size: Vec<i64>,
}

/// A share of each device, or of some, that are made by the same ops.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    pub shares: FxHashMap<usize, Share>,
    /// The exchange that brings it, by number; none if devices have it.
    pub exchange: Option<usize>,
    /// Whether nothing of it is needed: it is there because another leaf joins it to the same array, which is then
    /// one array.
    pub is_spare: bool,
    /// Whether it is of devices' own, and another leaf joins as much to it.
    pub is_joined_alike: bool,
    /// How much is taken of what devices have themselves, along each dimension of the input.
    pub widths: Vec<i64>,
}

/// Says how much of its tile of an input a device takes along each dimension: all of it, or as much as one needs at most where that
/// is half of it or less. Leaves that are joined alike take as much, so that what is made of it is one array.
pub(super) fn narrow(leaves: Vec<&mut (usize, &[Index], Vec<Slot>)>, tile_of: impl Fn(usize) -> Vec<i64>) {
    let most_of = |slot: &Slot, rank: usize| {
        let along = |dim: usize| slot.shares.values().map(|share| share.size[dim]).max().unwrap_or(0);
        (0..rank).map(along).collect::<Vec<i64>>()
    };
    let is_alike = |slot: &&Slot| slot.exchange.is_none() && slot.is_joined_alike;
    let mut alike: FxHashMap<usize, Vec<i64>> = FxHashMap::default();
    for (input, _, slots) in &leaves {
        for slot in slots.iter().filter(is_alike) {
            let most = most_of(slot, tile_of(*input).len());
            let all = alike.entry(*input).or_insert_with(|| vec![0; most.len()]);
            all.iter_mut().zip(most).for_each(|(all, most)| *all = (*all).max(most));
        }
    }
    for (input, _, slots) in leaves {
        for slot in slots.iter_mut().filter(|slot| slot.exchange.is_none()) {
            let tile = tile_of(*input);
            let own = most_of(slot, tile.len());
            let most = alike.get(input).filter(|_| slot.is_joined_alike).cloned().unwrap_or(own);
            let width = |(tile, most): (i64, i64)| if 2 * most <= tile { most.max(1) } else { tile };
            slot.widths = tile.into_iter().zip(most).map(width).collect();
        }
    }
}

/// The least box of the tile around what devices need of a slot, of which a part of this size begins at `lows`.
pub(super) fn frame_of(slot: &Slot, lows: &Places, size: &[i64], shape: &[i64]) -> Option<Box_> {
    let along = |(dim, &tile): (usize, &i64)| {
        let from = slot.shares.values().map(|share| share.window[dim].0).min()?;
        let to = slot.shares.values().map(|share| share.window[dim].1).max()?;
        let own = slot.shares.keys().filter_map(|device| lows.get(device));
        let end = own.map(|low| low[dim] + size[dim]).max()?;
        Some((from, to.min(end).clamp(from + 1, tile)))
    };
    shape.iter().enumerate().map(along).collect()
}

/// Elements of what a part of this size at `lows` is padded to, so that each device finds it where it needs it of the
/// tile (see `placed`): back ends store that, but where places are alike.
fn padded_to(slot: &Slot, lows: &Places, size: &[i64], shape: &[i64]) -> Option<i64> {
    let frame = frame_of(slot, lows, size, shape)?;
    let mut differ = false;
    let mut elements = 1;
    for (dim, (from, to)) in frame.into_iter().enumerate() {
        let places = || slot.shares.keys().filter_map(|device| lows.get(device)).map(|low| low[dim] - from);
        let (first, last) = (places().min()?, places().max()?);
        differ |= first < last;
        elements *= match first < last {
            true => last.max(0) + size[dim] + (to - from - first - size[dim]).max(0),
            false => to - from,
        };
    }
    Some(if differ { elements } else { 0 })
}

/// A slot in two, if some devices need a part of this size near one end of the tile and the others near the other: padded
/// to all that is between, it would take twice as much or more.
pub(super) fn apart(slot: &Slot, lows: &Places, size: &[i64], shape: &[i64]) -> Vec<Slot> {
    let halves = || {
        let whole = padded_to(slot, lows, size, shape)?;
        let along = |dim: usize| {
            let mut ranges: Vec<(i64, i64)> = slot.shares.values().map(|share| share.window[dim]).collect();
            ranges.sort_unstable();
            let mut end = ranges.first()?.1;
            let mut widest = (0, 0);
            for (low, high) in ranges {
                widest = widest.max((low - end, low));
                end = end.max(high);
            }
            (widest.0 > 0).then_some((widest, dim))
        };
        let ((_, border), dim) = (0..shape.len()).filter_map(along).max()?;
        let side = |is_low: bool| {
            let is_in = |share: &Share| (share.window[dim].0 < border) == is_low;
            let shares = slot.shares.iter().filter(|(_, share)| is_in(share));
            Slot { shares: shares.map(|(device, share)| (*device, share.clone())).collect(), ..slot.clone() }
        };
        let halves = vec![side(true), side(false)];
        let parts: Option<i64> = halves.iter().map(|half| padded_to(half, lows, size, shape)).sum();
        (whole > 0 && 2 * parts? <= whole).then_some(halves)
    };
    halves().unwrap_or_else(|| vec![slot.clone()])
}

impl Share {
    /// What has to be sent for it; none if the device has it.
    pub fn wanted(&self, to: usize, key: Key) -> Option<Wanted> {
        let part = self.start.iter().zip(&self.size).map(|(start, size)| (*start, start + size)).collect();
        (self.from != to).then_some(Wanted { key, to, from: self.from, part })
    }
}

impl Slot {
    /// Elements that devices need of it, in all.
    pub fn need(&self) -> i64 {
        self.shares.values().map(|share| volume(&share.window)).sum()
    }

    /// By how much more is sent if it is to hold a share as well.
    pub fn growth(&self, share: &Share) -> i64 {
        let mut size = vec![0; share.size.len()];
        for share in self.shares.values() {
            size.iter_mut().zip(&share.size).for_each(|(size, own)| *size = (*size).max(*own));
        }
        let before: i64 = size.iter().product();
        size.iter_mut().zip(&share.size).for_each(|(size, own)| *size = (*size).max(*own));
        size.iter().product::<i64>() - before
    }
}

/// Of leaves of one array that all need something of others, each gets what the others get, too: what is joined to
/// the array is then the same for all, and stored once. It is of use only where devices have something of the array
/// themselves.
pub(super) fn add_spares(mut leaves: Vec<&mut (usize, &[Index], Vec<Slot>)>) {
    let is_straight = |index: &[Index]| index.iter().all(|at| matches!(at, Index::Plus { .. }));
    let own = |slots: &[Slot]| slots.iter().position(|slot| slot.exchange.is_none());
    for at in 0..leaves.len() {
        for other in (0..leaves.len()).filter(|&other| other != at) {
            let (one, second) = (&leaves[at], &leaves[other]);
            let is_alike = one.0 == second.0
                && is_straight(one.1)
                && one.1.len() == second.1.len()
                && one.1.iter().zip(second.1).all(|(one, second)| one.is_like(*second));
            let (Some(here), Some(there)) = (own(&one.2), own(&second.2)) else { continue };
            if !is_alike || one.2.len() < 2 || second.2.len() < 2 {
                continue;
            }
            let new = |slot: &&Slot| {
                slot.exchange.is_some()
                    && !slot.is_spare
                    && one.2.iter().all(|own| own.exchange != slot.exchange)
            };
            let moved = |slot: &Slot| {
                let shares = slot.shares.iter().filter_map(|(device, share)| {
                    let (here, there) =
                        (one.2[here].shares.get(device)?, second.2[there].shares.get(device)?);
                    let mut share = share.clone();
                    for (dim, along) in
                        one.1.iter().enumerate().filter_map(|(dim, at)| Some((dim, at.dim()?)))
                    {
                        let low = |share: &Share| share.window[along].0 - share.start[dim];
                        let by = low(here) - low(there);
                        share.window[along].0 += by;
                        share.window[along].1 += by;
                    }
                    Some((*device, share))
                });
                Slot {
                    shares: shares.collect(),
                    exchange: slot.exchange,
                    is_spare: true,
                    is_joined_alike: false,
                    widths: Vec::new(),
                }
            };
            let spares: Vec<Slot> = second.2.iter().filter(new).map(moved).collect();
            leaves[at].2[here].is_joined_alike = true;
            leaves[at].2.extend(spares.into_iter().filter(|slot| !slot.shares.is_empty()));
        }
    }
}

/// Adds what a device reads to what it reads already, joined where both are from one place and side by side.
pub(super) fn add_share(shares: &mut Vec<Share>, mut share: Share, index: &[Index]) {
    let distance = |share: &Share| -> Vec<i64> {
        let dims = index.iter().enumerate();
        dims.map(|(dim, at)| match *at {
            Index::At(_) => share.start[dim],
            Index::Plus { dim: along, .. } => share.start[dim] - share.window[along].0,
            Index::Minus { dim: along, .. } => share.start[dim] + share.window[along].1,
        })
        .collect()
    };
    while let Some((at, window)) = shares.iter().enumerate().find_map(|(at, other)| {
        let same = other.from == share.from && distance(other) == distance(&share);
        Some((at, union(&other.window, &share.window).filter(|_| same)?))
    }) {
        let other = shares.swap_remove(at);
        for dim in 0..share.start.len() {
            let end = (share.start[dim] + share.size[dim]).max(other.start[dim] + other.size[dim]);
            share.start[dim] = share.start[dim].min(other.start[dim]);
            share.size[dim] = end - share.start[dim];
        }
        share.window = window;
    }
    shares.push(share);
}

/// Boxes with those joined that are one in the other or side by side.
pub(super) fn joined(boxes: Vec<Box_>) -> Vec<Box_> {
    let mut done: Vec<Box_> = Vec::with_capacity(boxes.len());
    for mut window in boxes {
        while let Some((at, both)) =
            done.iter().enumerate().find_map(|(at, other)| Some((at, union(other, &window)?)))
        {
            done.swap_remove(at);
            window = both;
        }
        done.push(window);
    }
    done
}

/// Two boxes as one, if that holds nothing else.
fn union(left: &Box_, right: &Box_) -> Option<Box_> {
    let both: Box_ =
        left.iter().zip(right).map(|(left, right)| (left.0.min(right.0), left.1.max(right.1))).collect();
    let common: i64 = left
        .iter()
        .zip(right)
        .map(|(left, right)| (left.1.min(right.1) - left.0.max(right.0)).max(0))
        .product();
    (volume(&both) == volume(left) + volume(right) - common).then_some(both)
}

pub(super) fn volume(window: &Box_) -> i64 {
    window.iter().map(|(low, high)| high - low).product()
}
