// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which parts of arrays devices send each other in one go.
//!
//! In one exchange each device sends to one at most, and gets from one at most, and all get as much as the one that
//! gets most. Tiles that do not lie over one another need strips of every width from both sides:
//!
//! ```text
//! device   0  1  2  3
//! from 1 to 0: 3, from 2 to 1: 2, from 3 to 2: 1
//! from 0 to 1: 1, from 1 to 2: 2, from 2 to 3: 3
//! ```
//!
//! One exchange to the left and one to the right bring 3 + 3. With the widest of both sides in one, and what fits
//! beside them, it is 3 + 2. What comes from one side alone is joined to what devices have by a concatenation, so
//! sides are mixed only where that saves more than a little of a tile ([`WORTH_MIXING`]).

use super::super::moves::Box_;
use melior::ir::Value;
use rustc_hash::FxHashMap;

/// Sides are mixed if such a share of a tile, or more, need then not be sent: XLA for CPU stores what is padded to be chosen,
/// which may be a tile more. Of 1,600 modules 39 differ by this in place of an eighth: by bytes sent 38 are better, and one
/// is worse, their temporaries are 10.26 MB in place of 10.21 together, and none takes more than XLA alone that did not
/// (`test/oracle/sharded_fields.py`, seeds 401, 402, 411 and 412). XLA for GPUs was not asked.
const WORTH_MIXING: i64 = 48;

/// The input that something is of, and, if it goes alone, what it is read for: an expression, and the place in it.
pub type Key = (usize, Option<(usize, usize)>);

/// A part of a tile that one device needs of another.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What it is a part of.
    pub key: Key,
    /// The device that needs it.
    pub to: usize,
    /// The device that has it.
    pub from: usize,
    /// Where it is in the tile of the device that has it.
    pub part: Box_,
}

impl Wanted {
    /// How far it goes, in devices.
    fn distance(&self) -> i64 {
        self.from as i64 - self.to as i64
    }
}

/// Parts of an array that devices send each other in one go: to which device from which, and from where to where.
pub struct Exchange<'c, 'a> {
    /// What they are parts of.
    pub key: Key,
    /// By the device that gets one: the one that sends it, and where it is there.
    pub parts: FxHashMap<usize, (usize, Box_)>,
    /// What devices get, once it is made.
    pub value: Option<Value<'c, 'a>>,
}

impl Exchange<'_, '_> {
    /// Whether a part comes with it.
    pub fn brings(&self, wanted: &Wanted) -> bool {
        self.key == wanted.key
            && self
                .parts
                .get(&wanted.to)
                .is_some_and(|(from, part)| *from == wanted.from && around(part, &wanted.part) == *part)
    }

    /// Elements that each device gets.
    pub fn elements(&self) -> i64 {
        elements(self.parts.values().map(|(_, part)| part))
    }

    /// How many more elements are sent if a part comes with it; `None` if it cannot.
    fn growth(&self, wanted: &Wanted) -> Option<i64> {
        let is_free = self.key == wanted.key
            && !self.parts.contains_key(&wanted.to)
            && self.parts.values().all(|(from, _)| *from != wanted.from);
        let all = || self.parts.values().map(|(_, part)| part).chain([&wanted.part]);
        is_free.then(|| elements(all()) - self.elements())
    }
}

/// The exchanges in which devices get all parts that are wanted for a tile of so many elements.
pub fn scheduled<'c, 'a>(wanted: &[Wanted], tile: i64) -> Vec<Exchange<'c, 'a>> {
    let mut parts = joined(wanted);
    let total = |exchanges: &[Exchange<'_, '_>]| exchanges.iter().map(Exchange::elements).sum::<i64>();
    let order = |part: &Wanted| (part.distance(), std::cmp::Reverse(volume(&part.part)), part.to);
    parts.sort_by_key(order);
    let by_side = coloured(&parts);
    parts.sort_by_key(|part| (std::cmp::Reverse(volume(&part.part)), part.distance(), part.to));
    let mixed = coloured(&parts);
    let (sides, both) = (total(&by_side), total(&mixed));
    let is_less = mixed.len() <= by_side.len() && both < sides && (sides - both) * WORTH_MIXING >= tile;
    if is_less { mixed } else { by_side }
}

/// Puts each part into the exchange that grows least by it, or into one of its own.
fn coloured<'c, 'a>(parts: &[Wanted]) -> Vec<Exchange<'c, 'a>> {
    let mut exchanges: Vec<Exchange<'c, 'a>> = Vec::new();
    let mut distances: Vec<i64> = Vec::new();
    for part in parts {
        let own = volume(&part.part);
        let best = exchanges
            .iter()
            .enumerate()
            .filter_map(|(number, exchange)| {
                let growth = exchange.growth(part).filter(|growth| *growth <= own)?;
                Some((growth, distances[number] != part.distance(), number))
            })
            .min();
        let received = (part.from, part.part.clone());
        match best {
            Some((_, _, number)) => {
                exchanges[number].parts.insert(part.to, received);
            }
            None => {
                let parts = FxHashMap::from_iter([(part.to, received)]);
                exchanges.push(Exchange { key: part.key, parts, value: None });
                distances.push(part.distance());
            }
        }
    }
    exchanges
}

/// Parts of which those that go the same way are one where that sends no more. What goes alone is not joined.
fn joined(wanted: &[Wanted]) -> Vec<Wanted> {
    let mut done: Vec<Wanted> = Vec::with_capacity(wanted.len());
    for part in wanted {
        let mut part = part.clone();
        // What has grown may be joined again.
        while let Some((at, both)) = done.iter().enumerate().find_map(|(at, other)| {
            let both = around(&other.part, &part.part);
            let is_same = other.key == part.key && (other.to, other.from) == (part.to, part.from);
            let is_no_more = volume(&both) <= volume(&other.part) + volume(&part.part);
            let can = if part.key.1.is_some() { other.part == part.part } else { is_no_more };
            (is_same && can).then_some((at, both))
        }) {
            done.swap_remove(at);
            part.part = both;
        }
        done.push(part);
    }
    done
}

/// Elements of the least box that holds each of some.
fn elements<'b>(parts: impl Iterator<Item = &'b Box_>) -> i64 {
    let mut size: Vec<i64> = Vec::new();
    for part in parts {
        size.resize(part.len(), 0);
        size.iter_mut().zip(part).for_each(|(size, (low, high))| *size = (*size).max(high - low));
    }
    size.iter().product()
}

/// The least box around two.
fn around(left: &Box_, right: &Box_) -> Box_ {
    left.iter().zip(right).map(|(left, right)| (left.0.min(right.0), left.1.max(right.1))).collect()
}

fn volume(window: &Box_) -> i64 {
    window.iter().map(|(low, high)| high - low).product()
}
