// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A tile put together of boxes, or made by updates of the array that most of it is.

use super::super::CLASSES;
use super::super::classes::{Class, Devices, product};
use super::super::moves::{Box_, Expr, Index, Source};
use super::exchange::is_one_to_one;
use super::{Body, corners, shape_of};
use crate::ir::element_of;
use melior::ir::{TypeLike, Value, ValueLike};
use slimhlo_dialect::types::Tensor;

/// Into how many boxes a shard may be cut.
const CELLS: usize = 64;

impl<'c: 'a, 'a> Body<'c, 'a, '_> {
    /// An array of this shape in which each device fills what the classes say; `is_shared` if several ops read it.
    pub fn assemble(&mut self, all: &[Class], shape: &[i64], is_shared: bool) -> Option<Value<'c, 'a>> {
        // A single scalar is what is everywhere where nothing else is.
        let mut scalars = all.iter().filter_map(|class| match self.exprs[class.piece] {
            Expr::Fill(fill) => Some(*fill),
            _ => None,
        });
        let first = scalars.next();
        let background = first.filter(|first| scalars.all(|fill| fill == *first));
        let classes: Vec<&Class> = all
            .iter()
            .filter(|class| background.is_none() || !matches!(self.exprs[class.piece], Expr::Fill(_)))
            .collect();
        let ranges: Vec<Vec<(i64, i64)>> = shape
            .iter()
            .enumerate()
            .map(|(dim, &size)| {
                let mut borders: Vec<i64> = classes
                    .iter()
                    .flat_map(|class| [class.local[dim].0, class.local[dim].1])
                    .chain([0, size])
                    .collect();
                borders.sort_unstable();
                borders.dedup();
                borders.windows(2).map(|pair| (pair[0], pair[1])).collect()
            })
            .collect();
        let count = ranges.iter().try_fold(1usize, |count, ranges| count.checked_mul(ranges.len()))?;
        // Few enough for a step each.
        let is_short =
            count <= CELLS && all.iter().filter(|class| !class.reads.is_empty()).count() <= CLASSES;
        let plain = self.is_plain(&classes);
        let is_made =
            |cell: &Box_| background.is_none() || classes.iter().any(|class| covers(&class.local, cell));
        if is_short
            && is_shared
            && let Some(updated) = self.updated(all, shape, plain)
        {
            return Some(updated);
        }
        if !plain && self.is_shifting(all) && !(is_short && self.is_mostly_kept(all, shape)) {
            return self.by_device(all, shape, is_shared);
        }
        if !is_short {
            return None;
        }
        let made = product(&ranges).iter().filter(|cell| is_made(cell)).count();
        if !plain && made > 1 && self.is_overlay(all, shape.len()) {
            return self.whole(all, shape, is_shared);
        }
        if let Some(updated) = self.updated(all, shape, plain) {
            return Some(updated);
        }
        self.foresee(classes.iter().flat_map(|class| class.reads.iter().cloned()));
        let values: Vec<Option<Value<'c, 'a>>> = vec![None; classes.len()];
        let mut assembly = Assembly { classes, values, background };
        let mut cells = Vec::with_capacity(count);
        for cell in product(&ranges) {
            cells.push(self.cell(&mut assembly, &cell)?);
        }
        let filled = self.join(&ranges, cells, background, plain)?;
        Some(match filled {
            Some(value) => value,
            None => self.filled(background?, shape),
        })
    }

    /// Whether all devices do the same, and only read.
    fn is_plain(&self, classes: &[&Class]) -> bool {
        let devices = self.mesh.grid.devices();
        classes.iter().all(|class| {
            class.devices.count() == devices
                && matches!(self.exprs[class.piece], Expr::Read(_, index)
                    if index.iter().enumerate().all(|(dim, at)| matches!(at, Index::Plus { dim: to, .. } if *to == dim)))
        })
    }

    /// What is in a box of each shard; `Ok(None)` for nothing but the background.
    #[expect(clippy::option_option, reason = "the outer one is failure")]
    fn cell(&mut self, assembly: &mut Assembly<'c, 'a, '_>, cell: &Box_) -> Option<Option<Value<'c, 'a>>> {
        let (low, size) = corners(cell);
        let devices = self.mesh.grid.devices();
        // Classes that are all of one scalar are one, and those that keep the same part of what each device has.
        let mut layers: Vec<(Devices, usize)> = Vec::new();
        let mut covered = Devices::none(devices);
        for (index, class) in assembly.classes.iter().enumerate() {
            if !covers(&class.local, cell) {
                continue;
            }
            covered.add(&class.devices);
            let fill = |index: usize| match self.exprs[assembly.classes[index].piece] {
                Expr::Fill(fill) => Some(*fill),
                _ => None,
            };
            let alike = |other: usize| match fill(index) {
                Some(own) => fill(other) == Some(own),
                None => {
                    let place = self.own_place(class, &low);
                    place.is_some() && place == self.own_place(assembly.classes[other], &low)
                }
            };
            let same = layers.iter().position(|(_, other)| alike(*other));
            match same {
                Some(same) => layers[same].0.add(&class.devices),
                None => layers.push((class.devices.clone(), index)),
            }
        }
        // Who has nothing there needs nothing.
        let has = |extent: &Vec<i64>| low.iter().zip(extent).all(|(low, extent)| low < extent);
        let nobody = !self.extents.iter().any(has);
        if layers.is_empty() {
            return if nobody { Some(None) } else { assembly.background.map(|_| None) };
        }
        let all = (0..devices).all(|device| covered.contains(device) || !has(&self.extents[device]));
        if !all && assembly.background.is_none() {
            return None;
        }
        layers.sort_by_key(|(devices, _)| std::cmp::Reverse(devices.count()));
        let mut result = None;
        if !all {
            let only = layers.len() == 1 && {
                let class = assembly.classes[layers[0].1];
                // What nobody sends is received as zeros.
                let direct = matches!(self.exprs[class.piece], Expr::Read(..));
                self.fills[assembly.background?].1
                    && direct
                    && class.reads[0].rounds().is_some_and(|rounds| rounds.len() == 1)
                    && is_one_to_one(&class.reads[0])
            };
            if !only {
                result = Some(self.filled(assembly.background?, &size));
            }
        }
        for (devices, index) in layers {
            let class = assembly.classes[index];
            if let Some((input, place)) = self.own_place(class, &low) {
                let own = self.inputs[input];
                let value = self.slice(own, &place, &size);
                result = Some(match result {
                    None => value,
                    Some(below) => self.select(&devices, value, below),
                });
                continue;
            }
            let whole = match self.exprs[class.piece] {
                Expr::Fill(fill) => {
                    let value = self.filled(*fill, &size);
                    result = Some(match result {
                        None => value,
                        Some(below) => self.select(&devices, value, below),
                    });
                    continue;
                }
                _ => match assembly.values[index] {
                    Some(value) => value,
                    None => self.value(class),
                },
            };
            assembly.values[index] = Some(whole);
            let start: Vec<i64> = low.iter().zip(&class.local).map(|(low, (from, _))| low - from).collect();
            let value = self.slice(whole, &start, &size);
            result = Some(match result {
                None => value,
                Some(below) => self.select(&devices, value, below),
            });
        }
        Some(result)
    }

    /// Whether devices keep most of an array where it is.
    fn is_mostly_kept(&self, all: &[Class], shape: &[i64]) -> bool {
        self.versions.is_empty() && self.kept(all, shape).is_some()
    }

    /// An array that devices keep most of, with the rest written into it.
    fn updated(&mut self, all: &[Class], shape: &[i64], plain: bool) -> Option<Value<'c, 'a>> {
        if plain || !self.versions.is_empty() {
            return None;
        }
        let input = self.kept(all, shape)?;
        let mut written: Vec<Class> = all.iter().filter(|class| !self.keeps(class, input)).cloned().collect();
        for read in written.iter_mut().flat_map(|class| &mut class.reads) {
            if matches!(read.source, Source::Input(from) if from == input) {
                read.source = Source::Version(0);
            }
        }
        self.update(input);
        Some(self.write(&written))
    }

    /// Whether a class keeps what is in the same place of an input.
    fn keeps(&self, class: &Class, input: usize) -> bool {
        let (low, _) = corners(&class.local);
        self.own_place(class, &low) == Some((input, low))
    }

    /// The input that devices keep most of.
    fn kept(&self, all: &[Class], shape: &[i64]) -> Option<usize> {
        let elements = |class: &Class| -> i64 {
            let volume: i64 = class.local.iter().map(|(from, to)| to - from).product();
            volume.saturating_mul(class.devices.count() as i64)
        };
        let total: i64 = all.iter().map(elements).sum();
        let input = (0..self.inputs.len()).find(|&input| {
            let kept: i64 = all.iter().filter(|class| self.keeps(class, input)).map(elements).sum();
            shape_of(self.inputs[input]) == shape && kept > total / 2
        })?;
        // A back end that widens bfloat16 does not update it in place.
        if element_of(self.inputs[input].r#type()).is_bf16() {
            return None;
        }
        Some(input)
    }

    /// The array and where in it, if a class keeps what each of its devices has itself: of the box that begins at `low`.
    fn own_place(&self, class: &Class, low: &[i64]) -> Option<(usize, Vec<i64>)> {
        let Expr::Read(_, index) = self.exprs[class.piece] else { return None };
        let plain = index.len() == low.len()
            && index
                .iter()
                .enumerate()
                .all(|(dim, at)| matches!(at, Index::Plus { dim: to, .. } if *to == dim));
        let read = class.reads.first().filter(|read| plain && read.is_local())?;
        let Source::Input(input) = read.source else { return None };
        let begins = class.local.iter().map(|(from, _)| *from);
        Some((
            input,
            read.start.iter().zip(low).zip(begins).map(|((start, low), from)| start + low - from).collect(),
        ))
    }

    /// Puts boxes together, row-major over `ranges`; `Ok(None)` for nothing but the background.
    #[expect(clippy::option_option, reason = "the outer one is failure")]
    fn join(
        &mut self,
        ranges: &[Vec<(i64, i64)>],
        cells: Vec<Option<Value<'c, 'a>>>,
        background: Option<usize>,
        plain: bool,
    ) -> Option<Option<Value<'c, 'a>>> {
        let rank = ranges.len();
        if cells.iter().all(Option::is_none) {
            return Some(None);
        }
        let shape: Vec<i64> = ranges.iter().map(|ranges| ranges[ranges.len() - 1].1).collect();
        // The largest box is padded to the whole, and the others are put in: back ends write them in place, where they
        // would store what they concatenate.
        let boxes = product(ranges);
        let mut inside: Vec<(&Box_, Option<Value<'c, 'a>>)> = boxes.iter().zip(cells).collect();
        // Parts as they are read or received, side by side: back ends fuse such a concatenation.
        let mut cut = ranges.iter().enumerate().filter(|(_, ranges)| ranges.len() > 1).map(|(dim, _)| dim);
        if let (Some(dim), None) = (cut.next(), cut.next())
            && plain
        {
            let parts: Vec<_> = inside.iter().filter_map(|(_, value)| *value).collect();
            if parts.len() == inside.len() {
                return Some(Some(self.build.concatenate(&parts, dim, self.location)));
            }
        }
        let volume = |cell: &Box_| cell.iter().map(|(from, to)| to - from).product::<i64>();
        let largest = inside
            .iter()
            .enumerate()
            .filter(|(_, (_, value))| value.is_some())
            .max_by_key(|(index, (cell, _))| (volume(cell), std::cmp::Reverse(*index)))?
            .0;
        let (cell, value) = inside.swap_remove(largest);
        let value = value?;
        let (start, size) = corners(cell);
        if size == shape {
            return Some(Some(value));
        }
        let element = element_of(value.r#type());
        let ty = Tensor::get(&shape, element, None);
        let end: Vec<i64> = cell.iter().zip(&shape).map(|((_, to), size)| size - to).collect();
        let padding = match background {
            Some(fill) => self.fills[fill].0,
            // All of it is overwritten.
            None => self.zero(element)?,
        };
        let interior = vec![0; rank];
        let mut result = self.build.pad(value, padding, [&start, &end, &interior], ty, self.location);
        for (cell, value) in inside {
            let Some(value) = value else { continue };
            let (start, _) = corners(cell);
            let starts: Vec<_> = start.iter().map(|&at| self.start(at)).collect();
            result = self.build.dynamic_update_slice(result, value, &starts, self.location);
        }
        Some(Some(result))
    }
}

struct Assembly<'c, 'a, 'k> {
    classes: Vec<&'k Class>,
    values: Vec<Option<Value<'c, 'a>>>,
    background: Option<usize>,
}

/// Whether a box lies in another.
fn covers(outer: &Box_, inner: &Box_) -> bool {
    outer.iter().zip(inner).all(|(outer, inner)| outer.0 <= inner.0 && inner.1 <= outer.1)
}
