// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Who needs what from whom: boxes cut at shard borders, and like cuts on different devices made one step.

use super::mesh::{Grid, Layout};
use super::moves::{Box_, Index, Piece, Source};
use rustc_hash::{FxHashMap, FxHashSet};

/// How many (device, box) pairs are looked at for one value.
const CELLS: usize = 1 << 16;
/// To how many devices one device may have to send the same part.
const FAN_OUT: usize = 8;

/// A set of devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Devices(Vec<u64>);

impl Devices {
    /// No device of so many.
    pub fn none(devices: usize) -> Self {
        Self(vec![0; devices.div_ceil(64)])
    }

    /// Adds one.
    pub fn insert(&mut self, device: usize) {
        self.0[device / 64] |= 1 << (device % 64);
    }

    /// Whether it is in.
    pub fn contains(&self, device: usize) -> bool {
        self.0[device / 64] >> (device % 64) & 1 == 1
    }

    /// How many are in.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether some device is in both.
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(left, right)| left & right != 0)
    }

    /// Whether all devices are in another, too.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own & !other == 0)
    }

    /// Adds those of another.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }
}

/// The part of one array that a class reads.
#[derive(Clone, Debug)]
pub struct Read {
    /// The array.
    pub source: Source,
    /// Where the part begins in the shard it is in.
    pub start: Vec<i64>,
    /// Its sizes.
    pub size: Vec<i64>,
    /// From which device (second) each device (first) gets it.
    pub from: Vec<(usize, usize)>,
}

impl Read {
    /// Whether all have it themselves.
    pub fn is_local(&self) -> bool {
        self.from.iter().all(|(to, from)| to == from)
    }

    /// Whether a device reads its part from this one, rather than from one that got it before.
    pub fn is_owner(&self, from: usize, to: usize) -> bool {
        self.from.contains(&(to, from))
    }

    /// The devices it is read on.
    pub fn sources(&self, devices: usize) -> Devices {
        let mut set = Devices::none(devices);
        self.from.iter().for_each(|(_, from)| set.insert(*from));
        set
    }

    /// The least part that holds this and another, if both are of one array, for the same devices from the same (in order), and
    /// side by side or one in the other.
    pub fn joined(&self, other: &Self) -> Option<Self> {
        (self.source == other.source && self.from == other.from).then_some(())?;
        let volume = |size: &[i64]| size.iter().product::<i64>();
        let (mut start, mut size, mut common) = (Vec::new(), Vec::new(), 1);
        for dim in 0..self.start.len() {
            let (low, high) = (self.start[dim], self.start[dim] + self.size[dim]);
            let (other_low, other_high) = (other.start[dim], other.start[dim] + other.size[dim]);
            start.push(low.min(other_low));
            size.push(high.max(other_high) - low.min(other_low));
            common *= (high.min(other_high) - low.max(other_low)).max(0);
        }
        let is_all = volume(&size) == volume(&self.size) + volume(&other.size) - common;
        is_all.then(|| Self { start, size, ..self.clone() })
    }

    /// Rounds of (from, to) in which it gets to where it is needed, sent by who owns it or by who got it before. In each, a
    /// device sends to one and receives from one at most. `None` if one device would have to send to too many.
    pub fn rounds(&self) -> Option<Vec<Vec<(usize, usize)>>> {
        if self.is_local() {
            return Some(Vec::new());
        }
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut at: FxHashMap<usize, usize> = FxHashMap::default();
        for &(to, from) in &self.from {
            let index = *at.entry(from).or_insert_with(|| {
                groups.push((from, Vec::new()));
                groups.len() - 1
            });
            groups[index].1.push(to);
        }
        if groups.iter().all(|(_, targets)| targets.len() == 1) {
            return Some(vec![groups.iter().map(|(from, targets)| (*from, targets[0])).collect()]);
        }
        if groups.iter().any(|(_, targets)| targets.len() > FAN_OUT) {
            return None;
        }
        // Who has each part, its owner first, and who waits for it.
        let mut spread: Vec<(Vec<usize>, std::vec::IntoIter<usize>)> = groups
            .into_iter()
            .map(|(from, mut targets)| {
                targets.retain(|&to| to != from);
                (vec![from], targets.into_iter())
            })
            .collect();
        let mut rounds: Vec<Vec<(usize, usize)>> = Vec::new();
        while spread.iter().any(|(_, waiting)| waiting.len() > 0) {
            let mut round: Vec<(usize, usize)> = Vec::new();
            let mut busy: FxHashSet<usize> = FxHashSet::default();
            let held: Vec<usize> = spread.iter().map(|(holders, _)| holders.len()).collect();
            // Each owns one part at most, but may have got another: that goes on where it has nothing of its own to send.
            for first in [true, false] {
                for ((holders, waiting), &held) in spread.iter_mut().zip(&held) {
                    let senders = if first { 0..1 } else { 1..held };
                    for sender in senders {
                        let from = holders[sender];
                        if busy.contains(&from) {
                            continue;
                        }
                        let Some(to) = waiting.next() else { break };
                        busy.insert(from);
                        holders.push(to);
                        round.push((from, to));
                    }
                }
            }
            rounds.push(round);
        }
        Some(rounds)
    }
}

/// What some devices do alike: fill a box of their shard from like places.
#[derive(Clone, Debug)]
pub struct Class {
    /// The box of the shard.
    pub local: Box_,
    /// The piece it is a part of, by number.
    pub piece: usize,
    /// What it reads, in the order of the expression.
    pub reads: Vec<Read>,
    /// Who does it.
    pub devices: Devices,
}

/// An array to be made, and how it is cut.
#[derive(Clone, Copy)]
pub struct Made<'l> {
    /// Sizes of all of it.
    pub shape: &'l [i64],
    /// How it is laid out.
    pub layout: &'l Layout,
    /// Sizes of a tile; those at the ends may be short.
    pub tile: &'l [i64],
}

/// Sorts the parts of pieces of an array into classes. `layouts` gives the layout and the tile of what is read.
/// `None` if there are more than `most` that read something.
///
/// What is beyond the end of an array nobody needs, so a device whose tile is short does what the others do where there is room
/// for it, and one that has nothing does anything.
pub fn classes<'l>(
    pieces: &[Piece<'_, '_>],
    Made { shape, layout, tile: local }: Made<'_>,
    grid: &Grid,
    layouts: impl Fn(Source) -> (&'l Layout, &'l [i64]),
    most: usize,
) -> Option<Vec<Class>> {
    let mut classes: Vec<Class> = Vec::new();
    let mut found: FxHashMap<(usize, Box_, Vec<Vec<i64>>), usize> = FxHashMap::default();
    let mut cells_left = CELLS;
    let devices = grid.devices();
    let parts: Vec<Vec<i64>> =
        (0..devices).map(|device| layout.0.iter().map(|axes| grid.part_of(device, axes)).collect()).collect();
    for (number, (window, expr)) in pieces.iter().enumerate() {
        // Pieces that differ in where they read may be alike on their devices.
        let number = pieces[..number].iter().position(|(_, other)| expr.is_like(other)).unwrap_or(number);
        let mut reads = Vec::new();
        expr.reads(&mut reads);
        let reads: Vec<_> = reads
            .into_iter()
            .map(|(source, index)| {
                let (layout, tile) = layouts(source);
                (source, index, layout, tile)
            })
            .collect();
        let borders = borders(window, &reads, grid);
        for (device, part_of) in parts.iter().enumerate() {
            let mut ranges = Vec::with_capacity(window.len());
            for (dim, &(low, high)) in window.iter().enumerate() {
                let own = part_of[dim] * local[dim];
                ranges.push(split(low.max(own), high.min(own + local[dim]), &borders[dim]));
            }
            if ranges.iter().any(Vec::is_empty) {
                continue;
            }
            for cell in product(&ranges) {
                cells_left = cells_left.checked_sub(1)?;
                let own: Vec<i64> = (0..cell.len()).map(|dim| part_of[dim] * local[dim]).collect();
                let sources: Vec<_> = reads.iter().map(|read| source_of(read, &cell, device, grid)).collect();
                let wide = at_ends(&cell, &own, shape, local);
                let key = wide
                    .into_iter()
                    .filter(|wide| {
                        reads.iter().zip(&sources).all(|(read, (_, from))| holds(read, wide, from))
                    })
                    .map(|wide| key_of(number, &wide, &own, &reads, &sources))
                    .find(|key| found.contains_key(key))
                    .unwrap_or_else(|| key_of(number, &cell, &own, &reads, &sources));
                let sources = sources.into_iter().map(|(from, _)| from);
                let class = match found.get(&key) {
                    Some(&class) => class,
                    None => {
                        let reads = reads.iter().zip(&key.2).map(|((source, index, ..), start)| Read {
                            source: *source,
                            start: start.clone(),
                            size: index
                                .iter()
                                .map(|at| at.dim().map_or(1, |dim| key.1[dim].1 - key.1[dim].0))
                                .collect(),
                            from: Vec::new(),
                        });
                        classes.push(Class {
                            local: key.1.clone(),
                            piece: number,
                            reads: reads.collect(),
                            devices: Devices::none(devices),
                        });
                        if classes.iter().filter(|class| !class.reads.is_empty()).count() > most {
                            return None;
                        }
                        found.insert(key, classes.len() - 1);
                        classes.len() - 1
                    }
                };
                let class = &mut classes[class];
                class.devices.insert(device);
                for (read, from) in class.reads.iter_mut().zip(sources) {
                    read.from.push((device, from));
                }
            }
        }
    }
    if local.iter().zip(&layout.0).zip(shape).any(|((tile, axes), size)| tile * grid.parts(axes) != *size) {
        for class in &mut classes {
            join_idle(class, &layout.extents(shape, grid)?);
        }
    }
    Some(classes)
}

/// What is read, where, and how it is laid out and cut.
type Reading<'e, 'l> = (Source, &'e [Index], &'l Layout, &'l [i64]);

/// The device that a box is read from, and where that one's tile begins.
fn source_of(
    (_, index, layout, tile): &Reading<'_, '_>,
    cell: &Box_,
    device: usize,
    grid: &Grid,
) -> (usize, Vec<i64>) {
    let mut from = device;
    let mut begins = Vec::with_capacity(index.len());
    for (dim, at) in index.iter().enumerate() {
        let (low, high) = at.dim().map_or((0, 1), |dim| cell[dim]);
        let part = at.lowest(low, high).div_euclid(tile[dim]);
        begins.push(if layout.0[dim].is_empty() { 0 } else { part * tile[dim] });
        if !layout.0[dim].is_empty() {
            from = grid.with_part(from, &layout.0[dim], part);
        }
    }
    (from, begins)
}

/// A box that ends where the array does, on to where the tile ends: along all such dimensions, or some of them.
fn at_ends(cell: &Box_, own: &[i64], shape: &[i64], tile: &[i64]) -> Vec<Box_> {
    let is_short = |&dim: &usize| cell[dim].1 == shape[dim] && cell[dim].1 < own[dim] + tile[dim];
    let mut all = vec![cell.clone()];
    for dim in (0..cell.len()).filter(is_short) {
        for at in 0..all.len() {
            let mut wide = all[at].clone();
            wide[dim].1 = own[dim] + tile[dim];
            all.push(wide);
        }
    }
    all.into_iter().skip(1).rev().collect()
}

/// Whether all that a box reads is in the tile that begins there.
fn holds((_, index, _, tile): &Reading<'_, '_>, cell: &Box_, begins: &[i64]) -> bool {
    index.iter().enumerate().all(|(dim, at)| {
        let (low, high) = at.dim().map_or((0, 1), |dim| cell[dim]);
        let lowest = at.lowest(low, high) - begins[dim];
        0 <= lowest && lowest + (high - low) <= tile[dim]
    })
}

/// What is alike in a class: the piece, the box of the tile, and where in tiles it reads.
fn key_of(
    number: usize,
    cell: &Box_,
    own: &[i64],
    reads: &[Reading<'_, '_>],
    sources: &[(usize, Vec<i64>)],
) -> (usize, Box_, Vec<Vec<i64>>) {
    let here = cell.iter().zip(own).map(|((low, high), own)| (low - own, high - own)).collect();
    let starts = reads.iter().zip(sources).map(|((_, index, ..), (_, begins))| {
        let start = index.iter().zip(begins).map(|(at, begins)| {
            let (low, high) = at.dim().map_or((0, 1), |dim| cell[dim]);
            at.lowest(low, high) - begins
        });
        start.collect()
    });
    (number, here, starts.collect())
}

/// Adds devices that have nothing in the class's box, if then all do the same.
fn join_idle(class: &mut Class, extents: &[Vec<i64>]) {
    let has = |extent: &[i64]| class.local.iter().zip(extent).all(|((low, _), extent)| low < extent);
    let mut missing = (0..extents.len()).filter(|&device| !class.devices.contains(device));
    if missing.all(|device| !has(&extents[device])) {
        (0..extents.len()).for_each(|device| class.devices.insert(device));
    }
}

/// Per dimension of the array, where shards that are read end, within the window.
fn borders(window: &Box_, reads: &[Reading<'_, '_>], grid: &Grid) -> Vec<Vec<i64>> {
    let mut borders = vec![Vec::new(); window.len()];
    for (_, index, layout, tile) in reads {
        for (dim, at) in index.iter().enumerate() {
            let Some(along) = at.dim() else { continue };
            for part in 1..grid.parts(&layout.0[dim]) {
                borders[along].extend(at.border(part * tile[dim]));
            }
        }
    }
    for dim in &mut borders {
        dim.sort_unstable();
        dim.dedup();
    }
    borders
}

/// `low..high` cut at borders (sorted); nothing if it is empty.
fn split(low: i64, high: i64, borders: &[i64]) -> Vec<(i64, i64)> {
    let mut ranges = Vec::new();
    let mut from = low;
    let first = borders.partition_point(|&border| border <= low);
    for &border in borders[first..].iter().take_while(|&&border| border < high) {
        ranges.push((from, border));
        from = border;
    }
    if from < high {
        ranges.push((from, high));
    }
    ranges
}

/// All boxes made of one range per dimension.
pub fn product(ranges: &[Vec<(i64, i64)>]) -> Vec<Box_> {
    ranges.iter().fold(vec![Vec::new()], |boxes, ranges| {
        boxes
            .iter()
            .flat_map(|prefix| {
                ranges.iter().map(|range| {
                    let mut cell = prefix.clone();
                    cell.push(*range);
                    cell
                })
            })
            .collect()
    })
}
