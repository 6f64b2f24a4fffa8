// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A tile made where each device reads at a distance of its own: arrays of other sizes than the result, or that do not come out even.
//!
//! Tiles of an array of 3056 elements on four devices begin at 764, 1528, 2292; those of 3057 at 765, 1530, 2295. What one is made of
//! the other then lies at another distance on each device, and strips that cross borders are as many, as wide and in as many places as
//! there are devices. All devices run one program, so places are looked up by device:
//!
//! ```text
//! %got = collective_permute of as much as any device needs, from where each has it
//! %own = the device's own tile, moved by as much as this device needs
//! select(from where on this device to where, %got moved there, %own)
//! ```
//!
//! A strip that is narrower on some devices is taken as wide as the widest. What is beyond an array's end nobody asks for.

use super::super::classes::{Class, Read};
use super::super::moves::{Box_, Expr, Index, Source};
use super::places::{Places, fitted};
use super::rounds::{Exchange, Key, scheduled};
use super::slots::{Share, Slot, add_share, add_spares, apart, frame_of, joined, narrow, volume};
use super::{Body, corners, shape_of};
use crate::ir::{self, element_of};
use melior::ir::{Value, ValueLike};
use rustc_hash::FxHashMap;

/// How many slots a leaf may have.
const SLOTS: usize = 8;

/// Parts that were joined: where devices find where all of them begin, and where what is left of them does.
pub(super) struct Joined<'c, 'a> {
    asked: Places,
    value: Value<'c, 'a>,
    lows: Places,
}

/// What is read in one place of an expression: the input, and what of it each device needs.
struct Leaf<'r> {
    input: usize,
    index: &'r [Index],
    shares: Vec<(usize, Share)>,
}

/// What a leaf is laid over.
#[derive(Clone, Copy)]
struct Below<'c, 'a> {
    value: Option<Value<'c, 'a>>,
    /// Whether the result is stored in any case.
    is_stored: bool,
    /// Whether several read what is made of it.
    is_shared: bool,
}

/// An expression that is computed for the whole tile, with the slots of what it reads, and where it is needed.
struct Layer<'r, 'c, 'a> {
    expr: &'r Expr<'c, 'a>,
    leaves: Vec<(usize, &'r [Index], Vec<Slot>)>,
    windows: Vec<FxHashMap<usize, Box_>>,
    need: i64,
}

impl<'c: 'a, 'a> Body<'c, 'a, '_> {
    /// Whether tiles of what is read and of the result do not lie over one another.
    pub(super) fn is_shifting(&self, classes: &[Class]) -> bool {
        classes.iter().enumerate().any(|(number, class)| {
            let others = classes[..number].iter().filter(|other| other.piece == class.piece);
            others.filter(|other| !class.devices.meets(&other.devices)).any(|other| {
                let is_same = class.local == other.local
                    && class.reads.iter().zip(&other.reads).all(|(one, other)| one.start == other.start);
                !is_same && (self.is_uneven || self.may_slide && do_slide(class, other))
            })
        })
    }

    /// A tile of this shape in which each device finds what the classes say. If it is stored in any case, small parts of it are put
    /// into the largest: what they would be padded for, to be chosen from, back ends would store as well.
    pub(super) fn by_device(
        &mut self,
        classes: &[Class],
        shape: &[i64],
        is_stored: bool,
    ) -> Option<Value<'c, 'a>> {
        let mut groups: Vec<(usize, Vec<&Class>)> = Vec::new();
        for class in classes {
            match groups.iter_mut().find(|(piece, _)| *piece == class.piece) {
                Some((_, group)) => group.push(class),
                None => groups.push((class.piece, vec![class])),
            }
        }
        let mut wanted = Vec::new();
        let mut found = Vec::with_capacity(groups.len());
        for (piece, group) in &groups {
            let mut reads = Vec::new();
            let expr = self.exprs[*piece];
            expr.reads(&mut reads);
            let mut leaves = Vec::with_capacity(reads.len());
            for (number, (source, index)) in reads.into_iter().enumerate() {
                let Source::Input(input) = source else { return None };
                let shares = self.shares(group, number, index);
                // What repeats one index goes alone.
                let is_row = index.iter().any(|at| matches!(at, Index::At(_)));
                let key = (input, is_row.then_some((*piece, number)));
                wanted.extend(shares.iter().filter_map(|(to, share)| share.wanted(*to, key)));
                leaves.push((Leaf { input, index, shares }, key));
            }
            found.push(leaves);
        }
        let mut exchanges = scheduled(&wanted, shape.iter().product());
        let mut layers = Vec::with_capacity(groups.len());
        for ((piece, group), leaves) in groups.into_iter().zip(found) {
            let mut slotted = Vec::with_capacity(leaves.len());
            for (leaf, key) in leaves {
                let slots = self.slots(&leaf, key, &exchanges, shape)?;
                slotted.push((leaf.input, leaf.index, slots));
            }
            let windows = self.windows(&group, shape);
            let need = windows.iter().flat_map(FxHashMap::values).map(volume).sum();
            layers.push(Layer { expr: self.exprs[piece], leaves: slotted, windows, need });
        }
        add_spares(layers.iter_mut().flat_map(|layer| &mut layer.leaves).collect());
        let tile_of = |input: usize| shape_of(self.inputs[input]).to_vec();
        narrow(layers.iter_mut().flat_map(|layer| &mut layer.leaves).collect(), tile_of);
        layers.sort_by_key(|layer| std::cmp::Reverse((layer.need, !matches!(layer.expr, Expr::Fill(_)))));
        let mut result = None;
        for layer in layers {
            if let (true, Expr::Read(..), [(input, index, slots)]) =
                (is_stored, layer.expr, layer.leaves.as_slice())
            {
                let below = Below { value: result, is_stored, is_shared: is_stored };
                result = Some(self.leaf_by_device((*input, index), slots, &mut exchanges, shape, below)?);
                continue;
            }
            let mut values = Vec::with_capacity(layer.leaves.len());
            for (input, index, slots) in &layer.leaves {
                let below = Below { value: None, is_stored: false, is_shared: is_stored };
                values.push(self.leaf_by_device((*input, index), slots, &mut exchanges, shape, below)?);
            }
            let mut values = values.into_iter();
            let value = self.expr(layer.expr, &mut |_, _| values.next().expect("one per read"), shape);
            result = Some(match result {
                None => value,
                Some(below) => {
                    let masks = layer.windows.iter().map(|windows| self.mask_by_device(windows, shape));
                    let masks: Vec<_> = masks.collect();
                    self.chosen(masks, value, below)
                }
            });
        }
        result
    }

    /// `value` where one of the masks says so; everywhere if one of them is no mask.
    pub(super) fn chosen(
        &self,
        masks: Vec<Option<Value<'c, 'a>>>,
        value: Value<'c, 'a>,
        below: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let masks: Option<Vec<_>> = masks.into_iter().collect();
        let or = |left, right| self.build.binary("stablehlo.or", left, right, self.location);
        match masks.and_then(|masks| masks.into_iter().reduce(or)) {
            Some(mask) => self.build.select(mask, value, below, self.location),
            None => value,
        }
    }

    /// A box, on to the end of the tile where nothing of the array is behind it.
    fn on_to_end(&self, device: usize, window: &Box_, shape: &[i64]) -> Box_ {
        let dims = window.iter().zip(&self.extents[device]).zip(shape);
        dims.map(|((&(low, high), &extent), &tile)| (low, if high >= extent { tile } else { high })).collect()
    }

    /// Where each device needs what classes of one expression make: maps of a box per device.
    pub(super) fn windows(&self, group: &[&Class], shape: &[i64]) -> Vec<FxHashMap<usize, Box_>> {
        let mut all: Vec<FxHashMap<usize, Box_>> = Vec::new();
        for device in 0..self.extents.len() {
            let own = group.iter().filter(|class| class.devices.contains(device));
            let boxes = own.map(|class| self.on_to_end(device, &class.local, shape)).collect();
            for window in joined(boxes) {
                match all.iter_mut().find(|map| !map.contains_key(&device)) {
                    Some(map) => {
                        map.insert(device, window);
                    }
                    None => all.push(FxHashMap::from_iter([(device, window)])),
                }
            }
        }
        all
    }

    /// What classes of one expression read in one place of it, by device, the largest parts of each first.
    fn shares(&self, group: &[&Class], number: usize, index: &[Index]) -> Vec<(usize, Share)> {
        let mut all = Vec::new();
        for device in 0..self.extents.len() {
            let mut shares: Vec<Share> = Vec::new();
            for class in group {
                let read = &class.reads[number];
                let Some(&(_, from)) = read.from.iter().find(|(to, _)| *to == device) else { continue };
                let share = Share {
                    window: class.local.clone(),
                    from,
                    start: read.start.clone(),
                    size: read.size.clone(),
                };
                add_share(&mut shares, share, index);
            }
            shares.sort_by_key(|share| std::cmp::Reverse(volume(&share.window)));
            all.extend(shares.into_iter().map(|share| (device, share)));
        }
        all
    }

    /// Puts what devices need of a leaf into as few slots as can be: what they have, and what each exchange brings.
    fn slots(
        &self,
        leaf: &Leaf<'_>,
        key: Key,
        exchanges: &[Exchange<'c, 'a>],
        shape: &[i64],
    ) -> Option<Vec<Slot>> {
        let mut slots: Vec<Slot> = Vec::new();
        for (device, share) in &leaf.shares {
            let exchange = match share.wanted(*device, key) {
                Some(wanted) => Some(exchanges.iter().position(|exchange| exchange.brings(&wanted))?),
                None => None,
            };
            let mut share = share.clone();
            let fits = |slot: &&mut Slot| slot.exchange == exchange && !slot.shares.contains_key(device);
            let best = slots.iter_mut().filter(fits).min_by_key(|slot| slot.growth(&share));
            share.window = self.on_to_end(*device, &share.window, shape);
            match best {
                Some(slot) => {
                    slot.shares.insert(*device, share);
                }
                None => slots.push(Slot {
                    shares: FxHashMap::from_iter([(*device, share)]),
                    exchange,
                    is_spare: false,
                    is_joined_alike: false,
                    widths: Vec::new(),
                }),
            }
            if slots.len() > SLOTS {
                return None;
            }
        }
        slots.sort_by_key(|slot| std::cmp::Reverse(slot.need()));
        Some(slots)
    }

    /// What is read in one place of an expression, as large as the tile, over what is below it.
    fn leaf_by_device(
        &mut self,
        (input, index): (usize, &[Index]),
        slots: &[Slot],
        exchanges: &mut [Exchange<'c, 'a>],
        shape: &[i64],
        below: Below<'c, 'a>,
    ) -> Option<Value<'c, 'a>> {
        let mut made = Vec::with_capacity(slots.len());
        for (number, slot) in slots.iter().enumerate() {
            let (value, lows) = self.slot(input, index, slot, exchanges, shape)?;
            made.push((number, value, lows));
        }
        let mut result = below.value;
        let mut taken = Vec::new();
        if let Some(at) = slots.iter().position(|slot| slot.exchange.is_none()).filter(|_| result.is_none()) {
            let (_, value, lows) = made.remove(at);
            let mut others: Vec<_> =
                made.iter().filter(|(number, ..)| slots[*number].exchange.is_some()).cloned().collect();
            // In one order for all that is read of the array.
            others.sort_by_key(|(number, value, _)| {
                let elements: i64 = shape_of(*value).iter().product();
                (std::cmp::Reverse(elements), slots[*number].exchange)
            });
            let own = (!below.is_shared).then_some(shape);
            let (value, lows, are_rows) = self.attached((value, lows), &others, slots, own, &mut taken);
            let is_one_of_several = are_rows && slots[at].is_joined_alike;
            taken.push(at);
            result = Some(self.placed(value, &lows, shape, is_one_of_several)?);
        }
        let is_left = |number: usize| !taken.contains(&number) && !slots[number].is_spare;
        for (number, value, lows) in made.iter().filter(|(number, ..)| is_left(*number)) {
            let slot = &slots[*number];
            if let Some(put) = result
                .filter(|_| below.is_stored)
                .and_then(|array| self.put_by_device(array, (*value, lows), slot, shape))
            {
                result = Some(put);
                continue;
            }
            // Where what comes of it is stored, so is all that is padded for it: once is less.
            let slots = match below.is_stored {
                true => vec![slot.clone()],
                false => apart(slot, lows, shape_of(*value), shape),
            };
            for slot in slots {
                let value = self.spread(*value, lows, &slot, shape)?;
                result = Some(match result {
                    None => value,
                    Some(below) => {
                        let windows =
                            slot.shares.iter().map(|(device, share)| (*device, share.window.clone()));
                        let mask = self.mask_by_device(&windows.collect(), shape);
                        self.chosen(vec![mask], value, below)
                    }
                });
            }
        }
        result
    }

    /// What a slot is made of, and where in its tile each device finds where that begins.
    fn slot(
        &mut self,
        input: usize,
        index: &[Index],
        slot: &Slot,
        exchanges: &mut [Exchange<'c, 'a>],
        shape: &[i64],
    ) -> Option<(Value<'c, 'a>, Places)> {
        // Where what there is begins and ends in the tile that it is of, by device.
        let (part, place): (Value<'c, 'a>, FxHashMap<usize, Box_>) = match slot.exchange {
            Some(number) => {
                let value = self.exchanged(&mut exchanges[number]);
                let size = shape_of(value);
                let tile = shape_of(self.inputs[input]);
                let parts = &exchanges[number].parts;
                let place = slot.shares.keys().map(|device| (*device, fitted(&parts[device].1, size, tile)));
                (value, place.collect())
            }
            None => {
                let tile = shape_of(self.inputs[input]);
                let place = |share: &Share| -> Box_ {
                    let dims = index.iter().enumerate();
                    dims.map(|(dim, at)| match at.dim() {
                        Some(_) => {
                            let low = share.start[dim].min(tile[dim] - slot.widths[dim]);
                            (low, low + slot.widths[dim])
                        }
                        None => (share.start[dim], share.start[dim] + 1),
                    })
                    .collect()
                };
                let place: FxHashMap<usize, Box_> =
                    slot.shares.iter().map(|(device, share)| (*device, place(share))).collect();
                let size: Vec<i64> = corners(place.values().next()?).1;
                let value = self.cut_out(self.inputs[input], &place, &size, false);
                (value, place)
            }
        };
        let mut size = shape.to_vec();
        for (dim, at) in index.iter().enumerate() {
            if let Some(along) = at.dim() {
                size[along] = shape_of(part)[dim];
            }
        }
        let lows: Places = slot
            .shares
            .iter()
            .map(|(device, share)| {
                let mut low = vec![0; shape.len()];
                for (dim, at) in index.iter().enumerate() {
                    let (from, to) = place[device][dim];
                    match *at {
                        Index::At(_) => {}
                        Index::Plus { dim: along, .. } => {
                            low[along] = share.window[along].0 - (share.start[dim] - from);
                        }
                        Index::Minus { dim: along, .. } => {
                            low[along] = share.window[along].0 - (to - (share.start[dim] + share.size[dim]));
                        }
                    }
                }
                (*device, low)
            })
            .collect();
        Some((self.oriented(part, index, &size), lows))
    }

    /// A value in a tile, where it is needed of it: in all of the tile, or in a small part that is padded.
    fn spread(
        &mut self,
        value: Value<'c, 'a>,
        lows: &Places,
        slot: &Slot,
        shape: &[i64],
    ) -> Option<Value<'c, 'a>> {
        let frame = frame_of(slot, lows, shape_of(value), shape)?;
        let moved = |low: &Vec<i64>| low.iter().zip(&frame).map(|(low, (from, _))| low - from).collect();
        let own = slot.shares.keys().filter_map(|device| Some((*device, moved(lows.get(device)?))));
        let placed = self.placed(value, &own.collect(), &corners(&frame).1, false)?;
        let zero = self.zero(element_of(value.r#type()))?;
        let whole: Box_ = shape.iter().map(|&size| (0, size)).collect();
        Some(self.extended(placed, &frame, &whole, zero))
    }

    /// `array` with a value put where it is needed, in place, if that is a small part of the tile. Where that is a back end is not to
    /// know: see `part`.
    fn put_by_device(
        &mut self,
        array: Value<'c, 'a>,
        (value, lows): (Value<'c, 'a>, &Places),
        slot: &Slot,
        shape: &[i64],
    ) -> Option<Value<'c, 'a>> {
        let frame = frame_of(slot, lows, shape_of(value), shape)?;
        let (from, size) = corners(&frame);
        let is_small = 2 * size.iter().product::<i64>() <= shape.iter().product();
        (is_small && !ir::is_narrow(array)).then_some(())?;
        let moved = |low: &Vec<i64>| low.iter().zip(&from).map(|(low, from)| low - from).collect();
        let lows = lows.iter().map(|(device, low)| (*device, moved(low))).collect();
        let windows = slot
            .shares
            .iter()
            .map(|(device, share)| {
                let dims = share.window.iter().zip(&frame);
                let within = dims.map(|(own, frame)| (own.0 - frame.0, own.1.min(frame.1) - frame.0));
                (*device, within.collect())
            })
            .collect();
        let placed = self.placed(value, &lows, &size, false)?;
        let places = FxHashMap::from_iter([(0, frame)]);
        let starts = self.starts_at(shape, &places, &size);
        let value = match self.mask_by_device(&windows, &size) {
            Some(mask) => {
                let kept = self.build.dynamic_slice(array, &starts, placed.r#type(), self.location);
                self.build.select(mask, placed, kept, self.location)
            }
            None => placed,
        };
        Some(self.build.dynamic_update_slice(array, value, &starts, self.location))
    }

    /// Joins to what devices have what they get and what lies just before or behind it on all of them, along one dimension. Gives what is
    /// joined, and whether rows are, which back ends copy into an array of their own; the slots taken are marked.
    /// What another leaf gets is joined only then. What one leaf has joined another joins a part of, if it has a tile of
    /// its `own` size to compute from it.
    fn attached(
        &mut self,
        (base, mut lows): (Value<'c, 'a>, Places),
        others: &[(usize, Value<'c, 'a>, Places)],
        slots: &[Slot],
        own: Option<&[i64]>,
        taken: &mut Vec<usize>,
    ) -> (Value<'c, 'a>, Places, bool) {
        let tile = shape_of(base).to_vec();
        let are_rows = |dim: usize| tile[..dim].iter().all(|&size| size == 1);
        let mut along = None;
        let mut parts = vec![base];
        let mut before = 0;
        for (number, value, theirs) in others {
            let size = shape_of(*value);
            let same =
                |dim: usize, low: &[i64], other: &[i64]| size[dim] == tile[dim] && low[dim] == other[dim];
            let fits = |dim: usize, distance: i64| {
                theirs.iter().all(|(device, other)| {
                    lows.get(device).is_none_or(|low| {
                        other[dim] - low[dim] == distance
                            && (0..tile.len()).all(|each| each == dim || same(each, low, other))
                    })
                }) && (0..tile.len()).all(|each| each == dim || size[each] == tile[each])
            };
            for dim in (0..tile.len()).filter(|dim| along.is_none_or(|along| along == *dim)) {
                if slots[*number].is_spare && !are_rows(dim) {
                    continue;
                }
                let (is_free_behind, is_free_before) = (parts.last() == Some(&base), parts[0] == base);
                let distance = if is_free_behind && fits(dim, tile[dim]) {
                    parts.push(*value);
                    tile[dim]
                } else if is_free_before && fits(dim, -size[dim]) {
                    parts.insert(0, *value);
                    before = size[dim];
                    -size[dim]
                } else {
                    continue;
                };
                along = Some(dim);
                taken.push(*number);
                for (device, other) in theirs {
                    lows.entry(*device).or_insert_with(|| {
                        let mut low = other.clone();
                        low[dim] -= distance;
                        low
                    });
                }
                break;
            }
        }
        let Some(dim) = along else { return (base, lows, false) };
        lows.values_mut().for_each(|low| low[dim] -= before);
        let key = (parts.iter().map(|part| ir::key(*part)).collect(), dim);
        let before = self.joined.get(&key).map(Vec::as_slice).unwrap_or_default();
        // What is read twice at one distance is one array.
        if let Some(same) = before.iter().find(|joined| joined.asked == lows) {
            return (same.value, same.lows.clone(), are_rows(dim));
        }
        let is_again = !before.is_empty();
        let asked = lows.clone();
        if let Some(shape) = own.filter(|_| is_again && !are_rows(dim)) {
            self.shorten(&mut parts, &mut lows, dim, shape[dim]);
        }
        let value = self.build.concatenate(&parts, dim, self.location);
        self.joined.entry(key).or_default().push(Joined { asked, value, lows: lows.clone() });
        (value, lows, are_rows(dim))
    }

    /// Leaves away of arrays that are joined what no device finds in a tile of this size: leaves that read the same at other
    /// distances then join other parts, where back ends would store what is one for all of them.
    fn shorten(&mut self, parts: &mut [Value<'c, 'a>], lows: &mut Places, dim: usize, size: i64) {
        let along = |part: &Value<'c, 'a>| shape_of(*part)[dim];
        let all: i64 = parts.iter().map(along).sum();
        // Of each part there is something left.
        let most = (parts.first().map_or(0, along) - 1, all - parts.last().map_or(0, along) + 1);
        let first = lows.values().map(|low| -low[dim]).min().unwrap_or(0).clamp(0, most.0);
        let end = lows.values().map(|low| size - low[dim]).max().unwrap_or(all).clamp(most.1, all);
        let mut at = 0;
        for part in parts.iter_mut() {
            let mut shape = shape_of(*part).to_vec();
            let (low, high) = (at, at + shape[dim]);
            at = high;
            let (from, to) = (low.max(first), high.min(end));
            let mut start = vec![0; shape.len()];
            start[dim] = from - low;
            shape[dim] = to - from;
            *part = self.slice(*part, &start, &shape);
        }
        lows.values_mut().for_each(|low| low[dim] += first);
    }

    /// The parts of an array that devices get by an exchange.
    fn exchanged(&mut self, exchange: &mut Exchange<'c, 'a>) -> Value<'c, 'a> {
        if let Some(value) = exchange.value {
            return value;
        }
        let array = self.inputs[exchange.key.0];
        let tile = shape_of(array);
        let mut size = vec![0; tile.len()];
        for (_, part) in exchange.parts.values() {
            for (size, (low, high)) in size.iter_mut().zip(part) {
                *size = (high - low).max(*size);
            }
        }
        let sent: FxHashMap<usize, Box_> =
            exchange.parts.values().map(|(from, part)| (*from, fitted(part, &size, tile))).collect();
        let value = self.cut_out(array, &sent, &size, true);
        let pairs: Vec<_> = exchange.parts.iter().map(|(to, (from, _))| (*from, *to)).collect();
        let value = self.permute(value, &pairs);
        exchange.value = Some(value);
        value
    }
}

/// Whether devices of two classes find what is in like boxes at other distances, or get as much less from others as is beyond an end.
fn do_slide(one: &Class, other: &Class) -> bool {
    let overlaps = one.local.iter().zip(&other.local).all(|(one, other)| one.0 < other.1 && other.0 < one.1);
    let distance = |class: &Class, read: &Read| -> Vec<i64> {
        read.start.iter().zip(&class.local).map(|(start, (low, _))| start - low).collect()
    };
    overlaps
        && one.reads.iter().zip(&other.reads).any(|(read, second)| {
            let is_sent = !read.is_local() && !second.is_local();
            is_sent || distance(one, read) != distance(other, second)
        })
}
