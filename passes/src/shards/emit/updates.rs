// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Updates of an array in place: what each class of devices writes, and updates that can be one.

use super::super::classes::{Class, Devices, Read};
use super::super::moves::{Box_, Expr, Index, Source};
use super::exchange::{is_one_to_one, reads_from};
use super::{Body, Written, corners, shape_of};
use crate::ir::element_of;
use melior::ir::{Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::types::Tensor;

impl<'c: 'a, 'a, 'r> Body<'c, 'a, 'r> {
    /// Begins updating an input in place.
    pub fn update(&mut self, input: usize) {
        self.latest = Some(self.inputs[input]);
        self.versions = vec![self.inputs[input]];
    }

    /// Writes what the classes say into the array being updated; gives it as it then is.
    pub fn write(&mut self, classes: &[Class]) -> Value<'c, 'a> {
        let mut latest = self.latest.expect("an update has begun");
        let version = self.versions.len();
        if let Some(filled) = self.filled_by_place(classes, latest) {
            self.latest = Some(filled);
            self.written.extend(classes.iter().map(|class| Written {
                version,
                local: class.local.clone(),
                devices: class.devices.clone(),
            }));
            self.versions.push(filled);
            return filled;
        }
        let can_pair = can_pair(latest.r#type());
        let classes = self.in_parts(classes);
        let mut next = 0;
        while let Some(class) = classes.get(next) {
            let can_join = |class: &Class| can_pair && !self.reads_what_it_writes(class);
            let rest = &classes[next..];
            let is_pair = matches!(rest, [one, other, ..] if are_pair(one, other) && can_join(other));
            let (value, count) = match alike(rest, can_join) {
                _ if !can_join(class) => (self.put(class, latest), 1),
                1 if is_pair => {
                    let value = self.value_of_both(class, &rest[1]);
                    (self.put_at_each(&rest[..2], value, latest), 2)
                }
                1 => (self.put(class, latest), 1),
                alike => (self.put_alike(&rest[..alike], latest), alike),
            };
            latest = value;
            self.latest = Some(latest);
            self.written.extend(rest[..count].iter().map(|class| Written {
                version,
                local: class.local.clone(),
                devices: class.devices.clone(),
            }));
            next += count;
        }
        self.versions.push(latest);
        latest
    }

    /// `array` with a scalar in more places of tiles than two: chosen by place, in one step.
    fn filled_by_place(&mut self, classes: &[Class], array: Value<'c, 'a>) -> Option<Value<'c, 'a>> {
        let fill_of = |class: &Class| match self.exprs[class.piece] {
            Expr::Fill(fill) => Some(*fill),
            _ => None,
        };
        let fill = classes.first().and_then(fill_of).filter(|_| classes.len() > 2)?;
        classes.iter().all(|class| fill_of(class) == Some(fill)).then_some(())?;
        let shape = shape_of(array).to_vec();
        let group: Vec<&Class> = classes.iter().collect();
        let windows = self.windows(&group, &shape);
        let masks = windows.iter().map(|windows| self.mask_by_device(windows, &shape)).collect();
        let value = self.filled(fill, &shape);
        Some(self.chosen(masks, value, array))
    }

    /// `array` with what a class says.
    fn put(&mut self, class: &Class, array: Value<'c, 'a>) -> Value<'c, 'a> {
        let value = self.value(class);
        let (start, size) = corners(&class.local);
        let whole = size == shape_of(array);
        let everywhere = class.devices.count() == self.mesh.grid.devices();
        if !whole
            && self.reads_what_it_writes(class)
            && let Some(moved) = self.put_by_place(class, value, array)
        {
            return moved;
        }
        let update = |body: &mut Self| {
            let starts: Vec<_> = start.iter().map(|&at| body.start(at)).collect();
            body.build.dynamic_update_slice(array, value, &starts, body.location)
        };
        match (everywhere, whole) {
            (true, true) => value,
            (true, false) => update(self),
            (false, true) => self.select(&class.devices, value, array),
            // A back end that widens bfloat16 does not update it in place, but selects elementwise in place.
            (false, false) if element_of(array.r#type()).is_bf16() => {
                let updated = update(self);
                self.select(&class.devices, updated, array)
            }
            (false, false) => self.put_on(&class.devices, value, array, &start),
        }
    }

    /// Whether a device reads from the array being updated, itself, some of what the class then writes, at another
    /// place. A row that is repeated over itself stays what it was.
    fn reads_what_it_writes(&self, class: &Class) -> bool {
        let mut places = Vec::new();
        self.exprs[class.piece].reads(&mut places);
        class.reads.iter().zip(places).any(|(read, (_, index))| {
            let is_moved = |(dim, at): (usize, &Index)| match *at {
                Index::At(_) => false,
                Index::Plus { dim: along, .. } => along != dim || read.start[dim] != class.local[dim].0,
                Index::Minus { .. } => true,
            };
            matches!(read.source, Source::Version(_))
                && read.from.iter().any(|(to, from)| to == from)
                && reads_from(read, &class.local)
                && index.iter().enumerate().any(is_moved)
        })
    }

    /// Classes, some of them as several that are done one after the other; those that can be one update with the next
    /// still can.
    fn in_parts(&self, classes: &[Class]) -> Vec<Class> {
        let several = |class: &Class| {
            let parts = self.over_itself(class).or_else(|| self.too_wide(class));
            parts.unwrap_or_else(|| vec![class.clone()])
        };
        let mut all = Vec::with_capacity(classes.len());
        let mut rest = classes;
        while let [class, others @ ..] = rest {
            let own = several(class);
            let next = others.first().filter(|other| own.len() > 1 && are_pair(class, other)).map(several);
            match next.filter(|next| next.len() == own.len()) {
                Some(next) => {
                    all.extend(own.into_iter().zip(next).flat_map(|(one, other)| [one, other]));
                    rest = &others[1..];
                }
                None => {
                    all.extend(own);
                    rest = others;
                }
            }
        }
        all
    }

    /// The one part of the array being updated, or of another, that a class reads, and where.
    fn only_read<'k>(&self, class: &'k Class) -> Option<(&'k Read, &'r [Index])> {
        let mut places = Vec::new();
        self.exprs[class.piece].reads(&mut places);
        match (class.reads.as_slice(), places.as_slice()) {
            ([read], [(_, index)]) if can_pair(self.latest?.r#type()) => Some((read, index)),
            _ => None,
        }
    }

    /// A class that reads some of what it writes, a few places on along one dimension, as several that do not: parts as
    /// wide as that is far, in an order in which none overwrites what another has yet to read. `None` for all other
    /// classes, if they would be many, or if what is made of the array may as well choose.
    fn over_itself(&self, class: &Class) -> Option<Vec<Class>> {
        let (read, index) = self.only_read(class)?;
        let is_straight =
            |(dim, at): (usize, &Index)| matches!(at, Index::Plus { dim: along, .. } if *along == dim);
        let rank = class.local.len();
        let can = self.is_stored
            && index.len() == rank
            && index.iter().enumerate().all(is_straight)
            && read.is_local()
            && self.reads_what_it_writes(class);
        if !can {
            return None;
        }
        let mut moved = (0..rank).filter(|&dim| read.start[dim] != class.local[dim].0);
        let (Some(dim), None) = (moved.next(), moved.next()) else { return None };
        let by = class.local[dim].0 - read.start[dim];
        let mut parts = parts_of(class, index, dim, by.abs())?;
        if by > 0 {
            parts.reverse();
        }
        Some(parts)
    }

    /// A class that gets more of the array being updated from other devices than there is to be at once, as several
    /// that get less.
    fn too_wide(&self, class: &Class) -> Option<Vec<Class>> {
        let most = self.most_at_once?;
        let (read, index) = self.only_read(class)?;
        let elements: i64 = read.size.iter().product();
        let overwrites =
            class.devices.meets(&read.sources(self.mesh.grid.devices())) && reads_from(read, &class.local);
        let is_wide = matches!(read.source, Source::Version(_)) && !read.is_local() && elements > most;
        (is_wide && !overwrites).then_some(())?;
        let extent = |dim: usize| class.local[dim].1 - class.local[dim].0;
        let dim = index.iter().filter_map(|at| at.dim()).max_by_key(|&dim| extent(dim))?;
        let count = elements / extent(dim);
        let widest = most / count;
        let parts = (widest > 0).then(|| (extent(dim) + widest - 1) / widest)?;
        parts_of(class, index, dim, (extent(dim) + parts - 1) / parts)
    }

    /// `array` with the value of a class, chosen element by element. An update of what is read a few places on in the
    /// same array would do were it not that XLA for CPU may do both in one kernel and in place, once a reshape stands
    /// behind it: jaxlib 0.10.2 gives wrong elements for `x.at[30:44].set(x[28:42])[None]`, too. `None` for elements
    /// that have no zero.
    fn put_by_place(
        &mut self,
        class: &Class,
        value: Value<'c, 'a>,
        array: Value<'c, 'a>,
    ) -> Option<Value<'c, 'a>> {
        let frame: Box_ = shape_of(array).iter().map(|&size| (0, size)).collect();
        let zero = self.zero(element_of(array.r#type()))?;
        let wide = self.extended(value, &class.local, &frame, zero);
        let everywhere = class.devices.count() == self.mesh.grid.devices();
        let devices = (!everywhere).then(|| class.devices.clone());
        let mask = self.mask(&[(class.local.clone(), devices)], &frame)?;
        Some(self.build.select(mask, wide, array, self.location))
    }

    /// `array` with what classes say that differ in where they put it: computed once, of what each device has itself.
    fn put_alike(&mut self, classes: &[Class], array: Value<'c, 'a>) -> Value<'c, 'a> {
        let mut all = classes[0].clone();
        for class in &classes[1..] {
            all.devices.add(&class.devices);
            for (read, other) in all.reads.iter_mut().zip(&class.reads) {
                read.from.extend(&other.from);
            }
        }
        let value = self.value(&all);
        self.put_at_each(classes, value, array)
    }

    /// `array` with `value` where classes of different devices have their boxes, which are of its size: one update, at a place
    /// that depends on the device.
    fn put_at_each(
        &mut self,
        classes: &[Class],
        value: Value<'c, 'a>,
        array: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let mut devices = classes[0].devices.clone();
        classes[1..].iter().for_each(|class| devices.add(&class.devices));
        let starts = self.starts_by_device(|device| {
            let class = classes.iter().find(|class| class.devices.contains(device));
            corners(&class.unwrap_or(&classes[0]).local).0
        });
        let mut value = value;
        if devices.count() < self.mesh.grid.devices() {
            let kept = self.build.dynamic_slice(array, &starts, value.r#type(), self.location);
            value = self.select(&devices, value, kept);
        }
        self.build.dynamic_update_slice(array, value, &starts, self.location)
    }

    /// What the devices of two classes put into their boxes, which are of one size.
    fn value_of_both(&mut self, one: &Class, other: &Class) -> Value<'c, 'a> {
        match (self.exprs[one.piece], self.exprs[other.piece]) {
            (Expr::Fill(fill), Expr::Fill(second)) if fill == second => return self.value(one),
            (Expr::Read(_, index), Expr::Read(_, second)) if are_oriented_alike(index, second) => {
                if let Some(value) = self.read_both(&one.reads[0], &other.reads[0]) {
                    return self.oriented(value, index, &corners(&one.local).1);
                }
            }
            _ => {}
        }
        let value = self.value(one);
        let second = self.value(other);
        self.select(&one.devices, value, second)
    }

    /// Two parts of one array, each on the devices that need it, if no device has to give both.
    fn read_both(&mut self, one: &Read, other: &Read) -> Option<Value<'c, 'a>> {
        let devices = self.mesh.grid.devices();
        let (sources, others) = (one.sources(devices), other.sources(devices));
        let array = self.array(one);
        let can = array == self.array(other)
            && one.size == other.size
            && !sources.meets(&others)
            && one.is_local() == other.is_local()
            && (one.is_local() || is_one_to_one(one) && is_one_to_one(other));
        can.then_some(())?;
        let both = Read { from: one.from.iter().chain(&other.from).copied().collect(), ..one.clone() };
        let value = if one.start == other.start {
            self.part(&both, array)
        } else {
            let starts = self.starts_by_device(|device| {
                if others.contains(device) { other.start.clone() } else { one.start.clone() }
            });
            let ty = Tensor::get(&one.size, element_of(array.r#type()), None);
            self.build.dynamic_slice(array, &starts, ty, self.location)
        };
        if one.is_local() {
            return Some(value);
        }
        let pairs: Vec<_> = both.from.iter().map(|(to, from)| (*from, *to)).collect();
        Some(self.permute(value, &pairs))
    }

    /// `array` with `value` at `start` on the devices of a set; the others write again what they have, and do so somewhere else.
    /// A back end that sees a slice at a place it knows in the way of the update writes all of the array.
    pub(super) fn put_on(
        &mut self,
        devices: &Devices,
        value: Value<'c, 'a>,
        array: Value<'c, 'a>,
        start: &[i64],
    ) -> Value<'c, 'a> {
        let starts = self.starts_on(devices, array, start, shape_of(value));
        let kept = self.build.dynamic_slice(array, &starts, value.r#type(), self.location);
        let value = self.select(devices, value, kept);
        self.build.dynamic_update_slice(array, value, &starts, self.location)
    }
}

/// Parts of a class that are so wide along a dimension, the last one perhaps less, if they are few.
fn parts_of(class: &Class, index: &[Index], dim: usize, width: i64) -> Option<Vec<Class>> {
    /// Each is a kernel, or more.
    const PARTS: i64 = 4;
    let (low, high) = class.local[dim];
    // A row alone would be computed again for each that reads what it is put into.
    (width > 1 && high - low <= PARTS * width).then_some(())?;
    let part = |from: i64| {
        let to = high.min(from + width);
        let mut part = class.clone();
        part.local[dim] = (from, to);
        for (at, place) in index.iter().enumerate().filter(|(_, place)| place.dim() == Some(dim)) {
            part.reads[0].start[at] +=
                if matches!(place, Index::Minus { .. }) { high - to } else { from - low };
            part.reads[0].size[at] = to - from;
        }
        part
    };
    let count = (high - low + width - 1) / width;
    Some((0..count).map(|number| part(low + number * width)).collect())
}

/// Whether arrays of this type are updated at places that depend on the device; back ends that widen bfloat16 select instead.
fn can_pair(ty: Type<'_>) -> bool {
    !element_of(ty).is_bf16()
}

/// Whether one update can do what two classes do: on different devices, in boxes of one size, a part of the shard.
fn are_pair(one: &Class, other: &Class) -> bool {
    let (start, size) = corners(&one.local);
    let (other_start, other_size) = corners(&other.local);
    size == other_size && start != other_start && !one.devices.meets(&other.devices)
}

/// How many of the first classes do the same on different devices, of what these have themselves, and put it in different
/// places: an update inside of an array, whose parts come out even, is in another corner of each shard.
fn alike(classes: &[Class], can_join: impl Fn(&Class) -> bool) -> usize {
    let is_alike = |at: &usize| {
        let (one, other) = (&classes[0], &classes[*at]);
        let is_same = |(read, other): (&Read, &Read)| {
            (read.source, &read.start, &read.size) == (other.source, &other.start, &other.size)
                && read.is_local()
                && other.is_local()
        };
        one.piece == other.piece
            && can_join(other)
            && classes[..*at].iter().all(|before| are_pair(before, other))
            && one.reads.iter().zip(&other.reads).all(is_same)
    };
    1 + (1..classes.len()).take_while(is_alike).count()
}

/// Updates of an array, one after the other, made one where they can be: what the second reads is not what the first writes,
/// both are on different devices, and nothing reads what is between them.
pub fn merged(steps: Vec<Vec<Class>>, ty: Type<'_>, devices: usize) -> Vec<Vec<Class>> {
    let mut last_reader = vec![0; steps.len() + 1];
    for (step, read) in reads_of(&steps) {
        if let Source::Version(version) = read.source {
            last_reader[version] = step;
        }
    }
    let mut done: Vec<Vec<Class>> = Vec::with_capacity(steps.len());
    // What each version is called as steps are made one.
    let mut numbers: Vec<usize> = vec![0];
    for (step, mut classes) in steps.into_iter().enumerate() {
        let can = can_pair(ty)
            && last_reader[step] <= step
            && match (done.last().map(Vec::as_slice), classes.as_slice()) {
                (Some([one]), [other]) => {
                    let meets = |read: &Read| {
                        read.source == Source::Version(step)
                            && one.devices.meets(&read.sources(devices))
                            && reads_from(read, &one.local)
                    };
                    are_pair(one, other) && !other.reads.iter().any(meets)
                }
                _ => false,
            };
        if can {
            numbers[step] -= 1;
        }
        for read in classes.iter_mut().flat_map(|class| &mut class.reads) {
            if let Source::Version(version) = &mut read.source {
                *version = numbers[*version];
            }
        }
        match done.last_mut().filter(|_| can) {
            Some(before) => before.extend(classes),
            None => done.push(classes),
        }
        numbers.push(done.len());
    }
    done
}

fn reads_of(steps: &[Vec<Class>]) -> impl Iterator<Item = (usize, &Read)> {
    let numbered = steps.iter().enumerate();
    numbered.flat_map(|(step, classes)| {
        classes.iter().flat_map(move |class| class.reads.iter().map(move |read| (step, read)))
    })
}

/// Whether what is read is turned alike.
fn are_oriented_alike(one: &[Index], other: &[Index]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_like(*other))
}
