// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A shard computed as a whole: what is read is laid over each other first, received strips over the device's own part, then
//! the expression is computed once for all of it, then the results of different expressions are laid over each other.
//!
//! ```text
//! left  = select(first column, received from the left,  own moved right by one)
//! right = select(last column,  received from the right, own moved left by one)
//! result = select(edges of the array, fill, right - left)
//! ```
//!
//! Each step is elementwise, a pad or a slice, so back ends fuse all of it into what reads the result, or write it in one
//! sweep. Cells that a device does not need hold whatever is there.

use super::super::classes::{Class, Devices, Read};
use super::super::moves::{Box_, Expr, Index, Source};
use super::{Body, corners, shape_of};
use crate::ir::element_of;
use melior::ir::r#type::IntegerType;
use melior::ir::{TypeLike, Value, ValueLike};
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;
use slimhlo_dialect::types::Tensor;

/// Boxes of a shard on some devices.
type Parts = Vec<(Box_, Devices)>;

/// One of the values that are laid over each other.
struct Layer<'c, 'a> {
    /// A value as large as the frame, or a scalar fill, by number.
    what: Result<Value<'c, 'a>, usize>,
    /// Where in the shard the value lies.
    frame: Box_,
    /// Where it is needed.
    parts: Parts,
}

/// A strip that devices get from others.
struct Strip {
    window: Box_,
    offset: Vec<i64>,
    /// From which device (second) each device (first) gets it.
    from: Vec<(usize, usize)>,
    parts: Parts,
}

impl Strip {
    fn read(&self, source: Source) -> Read {
        let (low, size) = corners(&self.window);
        let start = low.iter().zip(&self.offset).map(|(low, offset)| low + offset).collect();
        Read { source, start, size, from: self.from.clone() }
    }
}

impl<'c: 'a, 'a> Body<'c, 'a, '_> {
    /// Whether a shard may be computed as a whole: all that classes read is as they fill it but for a distance, of types that have
    /// a zero. Back ends that widen bfloat16 store what they widen, and are given what is cut into boxes.
    pub(super) fn is_overlay(&self, classes: &[Class], rank: usize) -> bool {
        let widened = self.inputs.iter().any(|input| element_of(input.r#type()).is_bf16());
        !widened
            && classes.iter().all(|class| {
                let mut reads = Vec::new();
                self.exprs[class.piece].reads(&mut reads);
                reads.iter().all(|(source, index)| {
                    let Source::Input(input) = *source else { return false };
                    let element = element_of(self.inputs[input].r#type());
                    index.len() == rank
                        && index
                            .iter()
                            .enumerate()
                            .all(|(dim, at)| matches!(at, Index::Plus { dim: along, .. } if *along == dim))
                        && (IntegerType::try_from(element).is_ok() || element.is_float())
                })
            })
    }

    /// A shard of this shape in which each device finds what the classes say. If several ops read it, it is made to be stored
    /// once: the largest layer is updated in place by the others.
    pub(super) fn whole(
        &mut self,
        classes: &[Class],
        shape: &[i64],
        is_shared: bool,
    ) -> Option<Value<'c, 'a>> {
        let mut groups: Vec<(usize, Vec<&Class>)> = Vec::new();
        for class in classes {
            match groups.iter_mut().find(|(piece, _)| *piece == class.piece) {
                Some((_, group)) => group.push(class),
                None => groups.push((class.piece, vec![class])),
            }
        }
        let mut foreseen = Vec::new();
        for (_, group) in &groups {
            for read in 0..group[0].reads.len() {
                let (_, strips) = self.parted(group, read);
                foreseen.extend(strips.into_iter().map(|strip| strip.read(group[0].reads[read].source)));
            }
        }
        self.foresee(foreseen);
        let mut layers = Vec::with_capacity(groups.len());
        for (piece, group) in groups {
            let parts: Parts =
                group.iter().map(|class| (class.local.clone(), class.devices.clone())).collect();
            let frame = around(&parts);
            let expr = self.exprs[piece];
            let what = match expr {
                Expr::Fill(fill) => Err(*fill),
                _ => {
                    let (_, size) = corners(&frame);
                    let count = group[0].reads.len();
                    let mut leaves = Vec::with_capacity(count);
                    for read in 0..count {
                        let in_place = is_shared && matches!(expr, Expr::Read(..));
                        leaves.push(self.leaf(&group, read, &frame, in_place)?);
                    }
                    let mut leaves = leaves.into_iter();
                    Ok(self.expr(expr, &mut |_, _| leaves.next().expect("one per read"), &size))
                }
            };
            layers.push(Layer { what, frame, parts });
        }
        let shard: Box_ = shape.iter().map(|&size| (0, size)).collect();
        self.overlay(layers, &shard, is_shared)
    }

    /// What the classes of one expression read in one place of it.
    fn leaf(&mut self, group: &[&Class], read: usize, frame: &Box_, in_place: bool) -> Option<Value<'c, 'a>> {
        let source = group[0].reads[read].source;
        let Source::Input(input) = source else { return None };
        let own = self.inputs[input];
        let (near, strips) = self.parted(group, read);
        if self.may_slide
            && !in_place
            && let Some(dim) = side_by_side(&near, &strips, frame, shape_of(own))
        {
            return Some(self.beside(own, (source, &near[0].0, &strips), frame, dim));
        }
        let mut layers = Vec::new();
        for (offset, parts) in near {
            layers.push(Layer { what: Ok(self.moved(own, &offset, frame)?), frame: frame.clone(), parts });
        }
        for strip in strips {
            let value = self.read(&strip.read(source));
            layers.push(Layer { what: Ok(value), frame: strip.window, parts: strip.parts });
        }
        self.overlay(layers, frame, in_place)
    }

    /// A device's own part, at a distance, between the strips that it gets, along one dimension of the frame.
    fn beside(
        &mut self,
        own: Value<'c, 'a>,
        (source, offset, strips): (Source, &[i64], &[Strip]),
        frame: &Box_,
        dim: usize,
    ) -> Value<'c, 'a> {
        let mut middle = frame.clone();
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        for strip in strips {
            let value = self.read(&strip.read(source));
            if strip.window[dim].0 == frame[dim].0 {
                middle[dim].0 = strip.window[dim].1;
                before.push(value);
            } else {
                middle[dim].1 = strip.window[dim].0;
                behind.push(value);
            }
        }
        let (low, size) = corners(&middle);
        let start: Vec<i64> = low.iter().zip(offset).map(|(low, offset)| low + offset).collect();
        before.push(self.slice(own, &start, &size));
        before.extend(behind);
        self.build.concatenate(&before, dim, self.location)
    }

    /// Of what the classes of one expression read in one place of it: what devices have, by distance, and what they get.
    fn parted(&self, group: &[&Class], read: usize) -> (Vec<(Vec<i64>, Parts)>, Vec<Strip>) {
        let devices = self.mesh.grid.devices();
        let mut near: Vec<(Vec<i64>, Parts)> = Vec::new();
        let mut strips: Vec<Strip> = Vec::new();
        for class in group {
            let read = &class.reads[read];
            let offset: Vec<i64> =
                read.start.iter().zip(&class.local).map(|(start, (low, _))| start - low).collect();
            let mut here = Devices::none(devices);
            let mut there = Devices::none(devices);
            let mut from = Vec::new();
            for &(to, source) in &read.from {
                if to == source {
                    here.insert(to);
                } else {
                    there.insert(to);
                    from.push((to, source));
                }
            }
            if here.count() > 0 {
                let part = (class.local.clone(), here);
                match near.iter_mut().find(|(other, _)| *other == offset) {
                    Some((_, parts)) => parts.push(part),
                    None => near.push((offset.clone(), vec![part])),
                }
            }
            if !from.is_empty() {
                let parts = vec![(class.local.clone(), there)];
                strips.push(Strip { window: class.local.clone(), offset, from, parts });
            }
        }
        (near, joined(strips))
    }

    /// An array of which each element in the frame is the element of `value` at a distance; zero where there is none.
    fn moved(&mut self, value: Value<'c, 'a>, offset: &[i64], frame: &Box_) -> Option<Value<'c, 'a>> {
        let there: Box_ = frame
            .iter()
            .zip(offset)
            .zip(shape_of(value))
            .map(|(((low, high), offset), size)| ((low + offset).max(0), (high + offset).min(*size)))
            .collect();
        let (start, size) = corners(&there);
        let part = self.slice(value, &start, &size);
        let here: Box_ =
            there.iter().zip(offset).map(|((low, high), offset)| (low - offset, high - offset)).collect();
        let zero = self.zero(element_of(value.r#type()))?;
        Some(self.extended(part, &here, frame, zero))
    }

    /// A value in one box of a larger one.
    pub(super) fn extended(
        &self,
        value: Value<'c, 'a>,
        here: &Box_,
        frame: &Box_,
        padding: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        if here == frame {
            return value;
        }
        let low: Vec<i64> = here.iter().zip(frame).map(|(here, frame)| here.0 - frame.0).collect();
        let high: Vec<i64> = here.iter().zip(frame).map(|(here, frame)| frame.1 - here.1).collect();
        let interior = vec![0; low.len()];
        let ty = Tensor::get(&corners(frame).1, element_of(value.r#type()), None);
        self.build.pad(value, padding, [&low, &high, &interior], ty, self.location)
    }

    /// Lays values over each other, so that each part shows where it is needed: by choosing element by element, or by
    /// updates of the largest.
    fn overlay(
        &mut self,
        mut layers: Vec<Layer<'c, 'a>>,
        frame: &Box_,
        in_place: bool,
    ) -> Option<Value<'c, 'a>> {
        layers.iter_mut().for_each(|layer| simplify(&mut layer.parts));
        let all: Vec<Parts> = layers.iter().map(|layer| layer.parts.clone()).collect();
        let need = |layer: &Layer| -> i64 {
            let share = |(window, devices): &(Box_, Devices)| volume(window) * devices.count() as i64;
            layer.parts.iter().map(share).sum()
        };
        let base = layers
            .iter()
            .enumerate()
            .max_by_key(|(index, layer)| (layer.what.is_ok(), need(layer), std::cmp::Reverse(*index)))?
            .0;
        let mut fills = layers.iter().filter_map(|layer| layer.what.err());
        let fill = fills.next().filter(|_| fills.next().is_none());
        let mut result = match layers[base].what {
            Err(fill) => self.filled(fill, &corners(frame).1),
            Ok(value) => {
                let padding = match fill {
                    Some(fill) => self.fills[fill].0,
                    None => self.zero(element_of(value.r#type()))?,
                };
                self.extended(value, &layers[base].frame, frame, padding)
            }
        };
        let inside = layers[base].frame.clone();
        // Fills are last: they are the cheapest to choose.
        let mut order: Vec<usize> = (0..layers.len()).filter(|&layer| layer != base).collect();
        order.sort_by_key(|&layer| layers[layer].what.is_err());
        for index in order {
            let layer = &layers[index];
            let mut places: Vec<(Box_, Option<Devices>)> = Vec::new();
            for (window, devices) in &layer.parts {
                // The padding is this fill.
                let shown = if fill.is_some() && layer.what.is_err() {
                    let Some(shown) = common(window, &inside) else { continue };
                    shown
                } else {
                    window.clone()
                };
                let others = all.iter().enumerate().filter(|(other, _)| *other != index);
                let contested = others
                    .flat_map(|(_, parts)| parts)
                    .any(|(other, needed)| common(other, &shown).is_some() && !needed.is_within(devices));
                places.push((shown, contested.then(|| devices.clone())));
            }
            if places.is_empty() {
                continue;
            }
            if in_place {
                for (window, devices) in &places {
                    result = self.put_layer(layer, window, devices.as_ref(), frame, result);
                }
                continue;
            }
            let (_, size) = corners(frame);
            let value = match layer.what {
                Err(fill) => self.filled(fill, &size),
                Ok(value) => {
                    let zero = self.zero(element_of(value.r#type()))?;
                    self.extended(value, &layer.frame, frame, zero)
                }
            };
            result = match places.as_slice() {
                [(window, Some(devices))] if window == frame => self.select(devices, value, result),
                _ => match self.mask(&places, frame) {
                    Some(mask) => self.build.select(mask, value, result, self.location),
                    None => value,
                },
            };
        }
        Some(result)
    }

    /// `array`, which is as large as the frame, with a layer in one place of it, on some devices if they are given.
    fn put_layer(
        &mut self,
        layer: &Layer<'c, 'a>,
        window: &Box_,
        devices: Option<&Devices>,
        frame: &Box_,
        array: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let (_, size) = corners(window);
        let within = |frame: &Box_| -> Vec<i64> {
            window.iter().zip(frame).map(|(window, frame)| window.0 - frame.0).collect()
        };
        let start = within(frame);
        let value = match layer.what {
            Err(fill) => self.filled(fill, &size),
            Ok(value) => self.slice(value, &within(&layer.frame), &size),
        };
        match devices {
            Some(devices) if window == frame => return self.select(devices, value, array),
            Some(devices) => return self.put_on(devices, value, array, &start),
            None if window == frame => return value,
            None => {}
        }
        let starts: Vec<_> = start.iter().map(|&at| self.start(at)).collect();
        self.build.dynamic_update_slice(array, value, &starts, self.location)
    }

    /// Where in the frame an element is in one of these places, on devices that are in its set, if there is one; nothing where
    /// all are. Its place is compared, which back ends do where the mask is used: a `true` in a pad they would store where two
    /// use it.
    pub(super) fn mask(&mut self, places: &[(Box_, Option<Devices>)], frame: &Box_) -> Option<Value<'c, 'a>> {
        let (build, location) = (self.build, self.location);
        let size = corners(frame).1;
        let booleans = Tensor::get(&size, IntegerType::new(self.context, 1).into(), None);
        let integers = Tensor::get(&size, build.i64_type(), None);
        let mut parts = Vec::with_capacity(places.len());
        for (window, devices) in places {
            let mut conditions = Vec::new();
            for (dim, (window, frame)) in window.iter().zip(frame).enumerate() {
                let (low, high, size) = (window.0 - frame.0, window.1 - frame.0, frame.1 - frame.0);
                let bounds = match high - low {
                    whole if whole == size => [None, None],
                    1 => [Some((ComparisonDirection::Eq, low)), None],
                    _ => [
                        (low > 0).then_some((ComparisonDirection::Ge, low)),
                        (high < size).then_some((ComparisonDirection::Lt, high)),
                    ],
                };
                for (direction, bound) in bounds.into_iter().flatten() {
                    let place = build.iota(integers, dim, location);
                    let bound = build.broadcast_scalar(self.start(bound), integers, location);
                    conditions.push(build.compare(direction, place, bound, location));
                }
            }
            if let Some(devices) = devices {
                conditions.push(build.broadcast_scalar(self.predicate(devices), booleans, location));
            }
            let both = |left, right| build.binary("stablehlo.and", left, right, location);
            parts.push(conditions.into_iter().reduce(both)?);
        }
        parts.into_iter().reduce(|left, right| build.binary("stablehlo.or", left, right, location))
    }
}

/// The dimension along which strips lie before or behind all that devices need of their own part, which is all between them: a back
/// end computes such a concatenation in what reads it, and stores it once, while it stores each of the pads it would choose from.
fn side_by_side(near: &[(Vec<i64>, Parts)], strips: &[Strip], frame: &Box_, tile: &[i64]) -> Option<usize> {
    let ([(offset, parts)], [first, others @ ..]) = (near, strips) else { return None };
    (others.len() < 2).then_some(())?;
    let dim = (0..frame.len()).find(|&dim| first.window[dim] != frame[dim])?;
    let mut middle = frame.clone();
    for strip in strips {
        let (low, high) = strip.window[dim];
        let is_across = (0..frame.len()).all(|other| other == dim || strip.window[other] == frame[other]);
        match is_across {
            true if low == middle[dim].0 && high < middle[dim].1 => middle[dim].0 = high,
            true if high == middle[dim].1 && low > middle[dim].0 => middle[dim].1 = low,
            _ => return None,
        }
    }
    let is_between =
        |(window, _): &(Box_, Devices)| window[dim].0 >= middle[dim].0 && window[dim].1 <= middle[dim].1;
    let is_there = |at: usize| middle[at].0 + offset[at] >= 0 && middle[at].1 + offset[at] <= tile[at];
    // Two on one side would have been taken for one on either.
    let is_apart = others
        .iter()
        .all(|other| (other.window[dim].0 == frame[dim].0) != (first.window[dim].0 == frame[dim].0));
    (parts.iter().all(is_between) && (0..frame.len()).all(is_there) && is_apart).then_some(dim)
}

/// Strips that one exchange can bring: at the same distance, from the same devices, side by side or one in the other.
fn joined(strips: Vec<Strip>) -> Vec<Strip> {
    let mut done: Vec<Strip> = Vec::with_capacity(strips.len());
    for mut strip in strips {
        // What has grown may be joined again.
        while let Some((index, (window, from))) =
            done.iter().enumerate().find_map(|(index, other)| Some((index, together(&strip, other)?)))
        {
            let mut other = done.swap_remove(index);
            other.parts.append(&mut strip.parts);
            strip = Strip { window, from, ..other };
        }
        done.push(strip);
    }
    done
}

/// Where two strips are as one, and from where it comes, if no device gets more for it than both.
fn together(left: &Strip, right: &Strip) -> Option<(Box_, Vec<(usize, usize)>)> {
    if left.offset != right.offset {
        return None;
    }
    let window: Box_ = left
        .window
        .iter()
        .zip(&right.window)
        .map(|(left, right)| (left.0.min(right.0), left.1.max(right.1)))
        .collect();
    let both = common(&left.window, &right.window).map_or(0, |window| volume(&window));
    if volume(&window) != volume(&left.window) + volume(&right.window) - both {
        return None;
    }
    let mut from = left.from.clone();
    for &(to, source) in &right.from {
        match from.iter().find(|(other, _)| *other == to) {
            Some((_, other)) if *other == source => {}
            Some(_) => return None,
            None => from.push((to, source)),
        }
    }
    // Devices that get only one of them get the other for nothing, which is worth it for an exchange less if it is there
    // anyway.
    if left.window != right.window && (from.len() > left.from.len() || from.len() > right.from.len()) {
        return None;
    }
    let rounds = |from: &[(usize, usize)]| {
        let read =
            Read { source: Source::Input(0), start: Vec::new(), size: Vec::new(), from: from.to_vec() };
        read.rounds().map(|rounds| rounds.len())
    };
    let most = rounds(&left.from)?.max(rounds(&right.from)?);
    (rounds(&from)? <= most).then_some((window, from))
}

/// Joins parts that are the same box, or are side by side on the same devices.
fn simplify(parts: &mut Parts) {
    let mut done: Parts = Vec::with_capacity(parts.len());
    for mut part in parts.drain(..) {
        while let Some((index, window)) = done.iter().enumerate().find_map(|(index, (window, devices))| {
            if *window == part.0 {
                return Some((index, window.clone()));
            }
            let both = around(&[(window.clone(), devices.clone()), part.clone()]);
            (*devices == part.1 && volume(&both) == volume(window) + volume(&part.0)).then_some((index, both))
        }) {
            let (_, devices) = done.swap_remove(index);
            part.0 = window;
            part.1.add(&devices);
        }
        done.push(part);
    }
    *parts = done;
}

/// The least box around some.
fn around(parts: &[(Box_, Devices)]) -> Box_ {
    let mut all = parts[0].0.clone();
    for (window, _) in &parts[1..] {
        for (all, one) in all.iter_mut().zip(window) {
            *all = (all.0.min(one.0), all.1.max(one.1));
        }
    }
    all
}

/// What two boxes have in common.
fn common(left: &Box_, right: &Box_) -> Option<Box_> {
    left.iter()
        .zip(right)
        .map(|(left, right)| {
            let both = (left.0.max(right.0), left.1.min(right.1));
            (both.0 < both.1).then_some(both)
        })
        .collect()
}

fn volume(window: &Box_) -> i64 {
    window.iter().map(|(low, high)| high - low).product()
}
