// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Making the manual computation: what each device does with its shards, and what it sends where.

mod by_device;
mod whole;

use super::classes::{Class, Devices, Read, product};
use super::layout::{Layout, Mesh, is_zero_bits};
use super::manual::{DEVICE_TO_DEVICE, looked_up, manual_computation};
use super::moves::{Box_, Expr, Index, Source};
use crate::ir::{self, Builder, element_of};
use crate::rewrite::defining_op;
use melior::Context;
use melior::ir::attribute::{BoolAttribute, DenseElementsAttribute, FloatAttribute, IntegerAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, Location, OperationRef, Type, TypeLike, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{AxisRef, DimensionSharding, TensorSharding};
use slimhlo_dialect::stablehlo::attrs::ChannelHandle;
use slimhlo_dialect::types::Tensor;

/// Into how many boxes a shard may be cut.
const CELLS: usize = 64;

/// The sharding that asks for a layout, with nothing left open.
pub fn sharding<'c>(context: &'c Context, mesh: &Mesh<'c>, layout: &Layout) -> Option<TensorSharding<'c>> {
    let dims = layout.0.iter().map(|axes| {
        let axes = axes.iter().map(|&axis| AxisRef::new(context, mesh.names[axis], None));
        DimensionSharding::new(context, &axes.collect::<Option<Vec<_>>>()?, true, None)
    });
    TensorSharding::new(context, mesh.reference, &dims.collect::<Option<Vec<_>>>()?, &[], &[])
}

/// A step of an update in place: part of the array is overwritten.
struct Written {
    version: usize,
    local: Box_,
    devices: Devices,
}

/// A manual computation under construction.
pub struct Body<'c, 'a, 'r> {
    build: &'r Builder<'c, 'a>,
    context: &'c Context,
    mesh: &'r Mesh<'c>,
    location: Location<'c>,
    op: OperationRef<'c, 'a>,
    /// How much of its tile of the result each device has something in.
    extents: Vec<Vec<i64>>,
    /// Whether tiles of the result and of what is read are of other sizes, or short at the ends.
    pub is_uneven: bool,
    /// Whether a tile may be made by places that each device looks up where that is not so.
    pub may_slide: bool,
    inputs: Vec<Value<'c, 'a>>,
    /// Scalars, and whether they are known to be zero in every bit.
    fills: Vec<(Value<'c, 'a>, bool)>,
    exprs: Vec<&'r Expr<'c, 'a>>,
    channel: &'r mut i64,
    partition: Option<Value<'c, 'a>>,
    predicates: FxHashMap<Devices, Value<'c, 'a>>,
    filled: FxHashMap<(usize, Vec<i64>), Value<'c, 'a>>,
    starts: FxHashMap<i64, Value<'c, 'a>>,
    /// Numbers that devices look up.
    tables: FxHashMap<Vec<i64>, Value<'c, 'a>>,
    /// What will be read of inputs from other devices, and what came of it.
    foreseen: Vec<(Read, Option<Value<'c, 'a>>)>,
    /// The array being updated, after so many updates.
    versions: Vec<Value<'c, 'a>>,
    latest: Option<Value<'c, 'a>>,
    written: Vec<Written>,
    /// How many exchanges there are.
    pub exchanges: u64,
    /// How many elements a device receives in them all; each device has room for all, whoever sends.
    pub received: i64,
}

impl<'c: 'a, 'a, 'r> Body<'c, 'a, 'r> {
    /// Opens a manual computation before `anchor` with one result of the type and layout given, but that it is padded at its ends
    /// until parts come out even, as inputs are. `fills` are scalars from outside.
    #[expect(clippy::too_many_arguments, reason = "these are the parts of the op")]
    pub fn open(
        build: &'r Builder<'c, 'a>,
        mesh: &'r Mesh<'c>,
        anchor: OperationRef<'c, 'a>,
        location: Location<'c>,
        inputs: &[(Value<'c, 'a>, Layout)],
        fills: &[Value<'c, 'a>],
        result: (Type<'c>, &Layout),
        exprs: Vec<&'r Expr<'c, 'a>>,
        channel: &'r mut i64,
    ) -> Option<Self> {
        let context = crate::rewrite::context_of(anchor);
        let scalar = Layout::whole(0);
        let is_constant = |value: Value<'c, 'a>| ir::splat_constant(value).is_some();
        let given = fills.iter().filter(|fill| !is_constant(**fill)).map(|fill| (*fill, &scalar));
        let operands: Vec<(Value<'c, 'a>, &Layout)> =
            inputs.iter().map(|(value, layout)| (*value, layout)).chain(given).collect();
        let (ty, layout) = result;
        let shape = ffi::shape(ty)?;
        let extents = layout.extents(shape, &mesh.grid)?;
        let even = Tensor::get(&layout.even_shape(shape, &mesh.grid)?, element_of(ty), None);
        let tile = layout.tile_shape(shape, &mesh.grid)?;
        let is_uneven = extents.iter().any(|extent| *extent != tile)
            || inputs.iter().any(|(value, layout)| {
                ffi::shape(value.r#type()).and_then(|shape| layout.tile_shape(shape, &mesh.grid)).as_ref()
                    != Some(&tile)
            });
        build.set_insertion_point_before(anchor);
        let (op, block) = manual_computation(build, mesh, &operands, &[(even, layout)], location)?;
        let mut arguments =
            (0..operands.len()).filter_map(|index| block.argument(index).ok().map(Value::from));
        let inputs = arguments.by_ref().take(inputs.len()).collect();
        let fills = fills
            .iter()
            .map(|&fill| match defining_op(fill).filter(|_| is_constant(fill)) {
                Some(constant) => {
                    let copy = build.copy_with(constant, &[], &[], &[fill.r#type()]);
                    let zero = ir::splat_constant(fill).is_some_and(is_zero_bits);
                    Some((copy.result(0).ok()?.into(), zero))
                }
                None => Some((arguments.next()?, false)),
            })
            .collect::<Option<_>>()?;
        Some(Self {
            build,
            context,
            mesh,
            location,
            op,
            extents,
            is_uneven,
            may_slide: false,
            inputs,
            fills,
            exprs,
            channel,
            partition: None,
            predicates: FxHashMap::default(),
            filled: FxHashMap::default(),
            starts: FxHashMap::default(),
            tables: FxHashMap::default(),
            foreseen: Vec::new(),
            versions: Vec::new(),
            latest: None,
            written: Vec::new(),
            exchanges: 0,
            received: 0,
        })
    }

    /// Returns `value` from the computation; gives its result outside.
    pub fn close(self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.build.terminator("sdy.return", &[value], self.location);
        self.op.result(0).expect("made with one result").into()
    }

    /// Takes it all back.
    pub fn abandon(self) {
        self.build.erase(self.op);
    }

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
        let mut next = 0;
        while let Some(class) = classes.get(next) {
            let second = classes.get(next + 1).filter(|other| can_pair && are_pair(class, other));
            latest = match second {
                Some(other) => self.put_both(class, other, latest),
                None => self.put(class, latest),
            };
            self.latest = Some(latest);
            for class in [class].into_iter().chain(second) {
                self.written.push(Written {
                    version,
                    local: class.local.clone(),
                    devices: class.devices.clone(),
                });
                next += 1;
            }
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

    /// `array` with what two classes of different devices say: one update, at a place that depends on the device.
    fn put_both(&mut self, one: &Class, other: &Class, array: Value<'c, 'a>) -> Value<'c, 'a> {
        let mut both = one.devices.clone();
        both.add(&other.devices);
        let mut value = self.value_of_both(one, other);
        let starts = self.starts_by_device(|device| {
            let class = if other.devices.contains(device) { other } else { one };
            corners(&class.local).0
        });
        if both.count() < self.mesh.grid.devices() {
            let kept = self.build.dynamic_slice(array, &starts, value.r#type(), self.location);
            value = self.select(&both, value, kept);
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
        if count > CELLS {
            return None;
        }
        let plain = self.is_plain(&classes);
        let is_made =
            |cell: &Box_| background.is_none() || classes.iter().any(|class| covers(&class.local, cell));
        if is_shared && let Some(updated) = self.updated(all, shape, plain) {
            return Some(updated);
        }
        if !plain && self.is_shifting(all) && !self.is_mostly_kept(all, shape) {
            return self.by_device(all, shape);
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
        let mut result = self.build.pad(value, padding, &start, &end, &interior, ty, self.location);
        for (cell, value) in inside {
            let Some(value) = value else { continue };
            let (start, _) = corners(cell);
            let starts: Vec<_> = start.iter().map(|&at| self.start(at)).collect();
            result = self.build.dynamic_update_slice(result, value, &starts, self.location);
        }
        Some(Some(result))
    }

    /// A scalar zero; `None` if the type has none that is written as a number.
    fn zero(&mut self, element: Type<'c>) -> Option<Value<'c, 'a>> {
        let zero: Attribute = match IntegerType::try_from(element) {
            Ok(integer) if integer.width() == 1 => BoolAttribute::new(self.context, false).into(),
            Ok(_) => IntegerAttribute::new(element, 0).into(),
            Err(_) if element.is_float() => FloatAttribute::new(self.context, element, 0.0).into(),
            Err(_) => return None,
        };
        let ty = Tensor::get(&[], element, None);
        let value = DenseElementsAttribute::new(ty, &[zero]).ok()?;
        Some(self.build.insert("stablehlo.constant", &[], &[("value", value.into())], ty, self.location))
    }

    /// What the devices of a class put into their box.
    fn value(&mut self, class: &Class) -> Value<'c, 'a> {
        let (_, size) = corners(&class.local);
        let mut reads = class.reads.iter();
        let mut leaf = |body: &mut Self, index: &[Index]| {
            let value = body.read(reads.next().expect("as many as in the expression"));
            body.oriented(value, index, &size)
        };
        self.expr(self.exprs[class.piece], &mut leaf, &size)
    }

    /// An expression computed for a box of this size; `leaf` gives what is read, from left to right.
    fn expr(
        &mut self,
        expr: &Expr<'c, 'a>,
        leaf: &mut dyn FnMut(&mut Self, &[Index]) -> Value<'c, 'a>,
        size: &[i64],
    ) -> Value<'c, 'a> {
        match expr {
            Expr::Fill(fill) => self.filled(*fill, size),
            Expr::Read(_, index) => leaf(self, index),
            Expr::Apply(op, arguments) => {
                let mut operands = Vec::with_capacity(arguments.len());
                for (operand, argument) in op.operands().zip(arguments) {
                    operands.push(match argument {
                        Expr::Fill(fill) if ir::is_rank_zero(operand) => self.fills[*fill].0,
                        _ => self.expr(argument, leaf, size),
                    });
                }
                let result = op.results().next().expect("elementwise ops have one result");
                let ty = Tensor::get(size, element_of(result.r#type()), None);
                let copy = self.build.copy_with(*op, &operands, &[], &[ty]);
                ir::remove_discardable_attributes(copy);
                copy.result(0).expect("as the original").into()
            }
        }
    }

    /// Says that parts of inputs will be read: those that lie in or next to one another, and go from the same devices to the
    /// same, are exchanged once.
    fn foresee(&mut self, reads: impl IntoIterator<Item = Read>) {
        for mut read in reads {
            if read.is_local() || !matches!(read.source, Source::Input(_)) {
                continue;
            }
            read.from.sort_unstable();
            // What has grown may be joined again.
            while let Some((index, both)) = self
                .foreseen
                .iter()
                .enumerate()
                .find_map(|(index, (other, _))| Some((index, read.joined(other)?)))
            {
                self.foreseen.swap_remove(index);
                read = both;
            }
            self.foreseen.push((read, None));
        }
    }

    /// The part of an array that is read, on the devices that need it.
    fn read(&mut self, read: &Read) -> Value<'c, 'a> {
        let mut from = read.from.clone();
        from.sort_unstable();
        let within = |wide: &Read| {
            wide.source == read.source
                && wide.from == from
                && (0..read.start.len()).all(|dim| {
                    wide.start[dim] <= read.start[dim]
                        && read.start[dim] + read.size[dim] <= wide.start[dim] + wide.size[dim]
                })
        };
        let Some(index) = self.foreseen.iter().position(|(wide, _)| within(wide)) else {
            return self.read_now(read);
        };
        let wide = self.foreseen[index].0.clone();
        let value = match self.foreseen[index].1 {
            Some(value) => value,
            None => self.read_now(&wide),
        };
        self.foreseen[index].1 = Some(value);
        let start: Vec<i64> = read.start.iter().zip(&wide.start).map(|(at, from)| at - from).collect();
        self.slice(value, &start, &read.size)
    }

    /// As `read`, whatever is foreseen.
    fn read_now(&mut self, read: &Read) -> Value<'c, 'a> {
        let array = self.array(read);
        let mut value = self.part(read, array);
        let rounds = read.rounds().expect("checked before anything was made");
        let direct = is_one_to_one(read);
        for pairs in rounds {
            let received = self.permute(value, &pairs);
            if direct {
                return received;
            }
            let mut receivers = Devices::none(self.mesh.grid.devices());
            pairs.iter().for_each(|(_, to)| receivers.insert(*to));
            value = self.select(&receivers, received, value);
        }
        value
    }

    /// The array to read this from.
    fn array(&self, read: &Read) -> Value<'c, 'a> {
        match read.source {
            Source::Input(input) => self.inputs[input],
            Source::Version(version) => self.version(version, read),
        }
    }

    /// A version of the array being updated, to read this from: the latest one if it holds the same there.
    fn version(&self, version: usize, read: &Read) -> Value<'c, 'a> {
        let sources = read.sources(self.mesh.grid.devices());
        let overwritten = self.written.iter().any(|written| {
            written.version > version && written.devices.meets(&sources) && reads_from(read, &written.local)
        });
        if overwritten { self.versions[version] } else { self.latest.expect("an update has begun") }
    }

    /// A part as read, with dimensions reversed, dropped and repeated as the result needs it.
    fn oriented(&mut self, value: Value<'c, 'a>, index: &[Index], size: &[i64]) -> Value<'c, 'a> {
        let element = element_of(value.r#type());
        let mut value = value;
        let backwards: Vec<i64> = index
            .iter()
            .enumerate()
            .filter(|(_, at)| matches!(at, Index::Minus { .. }))
            .map(|(dim, _)| dim as i64)
            .collect();
        if !backwards.is_empty() {
            let dimensions = self.build.i64_array(&backwards);
            let ty = value.r#type();
            value = self.build.insert(
                "stablehlo.reverse",
                &[value],
                &[("dimensions", dimensions)],
                ty,
                self.location,
            );
        }
        let dims: Vec<usize> = index.iter().filter_map(|at| at.dim()).collect();
        if dims.iter().copied().eq(0..size.len()) && index.len() == size.len() {
            return value;
        }
        let in_place = |(dim, at): (usize, &Index)| at.dim().map_or(size[dim] > 0, |along| along == dim);
        if index.len() == size.len() && index.iter().enumerate().all(in_place) {
            let dims: Vec<i64> = (0..size.len() as i64).collect();
            return self.broadcast(value, &dims, size);
        }
        if dims.len() < index.len() {
            let shape: Vec<i64> = dims.iter().map(|&dim| size[dim]).collect();
            value = self.build.reshape(value, Tensor::get(&shape, element, None), self.location);
        }
        let mut order: Vec<usize> = (0..dims.len()).collect();
        order.sort_by_key(|&at| dims[at]);
        if !order.is_sorted() {
            let shape: Vec<i64> = order.iter().map(|&at| size[dims[at]]).collect();
            let permutation: Vec<i64> = order.iter().map(|&at| at as i64).collect();
            let permutation = self.build.i64_array(&permutation);
            let ty = Tensor::get(&shape, element, None);
            value = self.build.insert(
                "stablehlo.transpose",
                &[value],
                &[("permutation", permutation)],
                ty,
                self.location,
            );
        }
        if dims.len() < size.len() {
            let dims: Vec<i64> = order.iter().map(|&at| dims[at] as i64).collect();
            value = self.broadcast(value, &dims, size);
        }
        value
    }

    fn broadcast(&self, value: Value<'c, 'a>, dims: &[i64], size: &[i64]) -> Value<'c, 'a> {
        let ty = Tensor::get(size, element_of(value.r#type()), None);
        let dims = [("broadcast_dimensions", self.build.i64_array(dims))];
        self.build.insert("stablehlo.broadcast_in_dim", &[value], &dims, ty, self.location)
    }

    fn slice(&self, value: Value<'c, 'a>, start: &[i64], size: &[i64]) -> Value<'c, 'a> {
        if shape_of(value) == size {
            return value;
        }
        let ty = Tensor::get(size, element_of(value.r#type()), None);
        self.build.slice(value, start, ty, self.location)
    }

    fn permute(&mut self, value: Value<'c, 'a>, pairs: &[(usize, usize)]) -> Value<'c, 'a> {
        self.exchanges += 1;
        self.received = self.received.saturating_add(shape_of(value).iter().product());
        let i64_type = self.build.i64_type();
        let mut pairs = pairs.to_vec();
        pairs.sort_unstable();
        let numbers: Vec<Attribute> = pairs
            .iter()
            .flat_map(|(from, to)| [*from, *to])
            .map(|device| IntegerAttribute::new(i64_type, device as i64).into())
            .collect();
        let table = Tensor::get(&[pairs.len() as i64, 2], i64_type, None);
        let pairs = DenseElementsAttribute::new(table, &numbers).expect("a tensor type");
        let channel = ChannelHandle::new(self.context, *self.channel, DEVICE_TO_DEVICE);
        *self.channel += 1;
        let attributes = [("source_target_pairs", pairs.into()), ("channel_handle", channel.into())];
        let ty = value.r#type();
        self.build.insert("stablehlo.collective_permute", &[value], &attributes, ty, self.location)
    }

    /// `yes` on the devices of a set, `no` on the others.
    fn select(&mut self, devices: &Devices, yes: Value<'c, 'a>, no: Value<'c, 'a>) -> Value<'c, 'a> {
        let predicate = self.predicate(devices);
        self.build.insert("stablehlo.select", &[predicate, yes, no], &[], yes.r#type(), self.location)
    }

    /// `array` with `value` at `start` on the devices of a set; the others write again what they have, and do so somewhere else.
    /// A back end that sees a slice at a place it knows in the way of the update writes all of the array.
    fn put_on(
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

    /// The part of an array that is read, on the devices that it is read from. What is sent is cut out at a place that depends
    /// on the device: a back end that knows the place computes an update of the array again for it, and keeps what was there
    /// before.
    fn part(&mut self, read: &Read, array: Value<'c, 'a>) -> Value<'c, 'a> {
        // A row at a known place of what has been updated would have the update computed again for it, from what was there before.
        let updated = matches!(read.source, Source::Version(_)) && !self.written.is_empty();
        let is_row = || shape_of(array).iter().zip(&read.size).any(|(&all, &part)| part == 1 && all > 1);
        if shape_of(array) == read.size || read.is_local() && !(updated && is_row()) {
            return self.slice(array, &read.start, &read.size);
        }
        let sources = read.sources(self.mesh.grid.devices());
        let starts = self.starts_on(&sources, array, &read.start, &read.size);
        let ty = Tensor::get(&read.size, element_of(array.r#type()), None);
        self.build.dynamic_slice(array, &starts, ty, self.location)
    }

    /// Where a part of this size of `array` starts: at `start` on the devices of a set, somewhere else on the others.
    fn starts_on(
        &mut self,
        devices: &Devices,
        array: Value<'c, 'a>,
        start: &[i64],
        size: &[i64],
    ) -> Vec<Value<'c, 'a>> {
        let free: Vec<i64> = shape_of(array).iter().zip(size).map(|(all, part)| all - part).collect();
        let moving = free.iter().position(|&free| free > 0);
        (0..start.len())
            .map(|dim| {
                if moving != Some(dim) {
                    return self.start(start[dim]);
                }
                let other = if start[dim] == 0 { free[dim] } else { 0 };
                let all = self.mesh.grid.devices();
                let mut numbers: Vec<i64> = (0..all)
                    .map(|device| if devices.contains(device) { start[dim] } else { other })
                    .collect();
                // The last number would be that of no device: a table of one number would be seen through.
                if devices.count() == all {
                    numbers.push(other);
                }
                self.tabled(numbers)
            })
            .collect()
    }

    /// Starts per dimension, looked up in a table where they are not the same on all devices.
    fn starts_by_device(&mut self, place: impl Fn(usize) -> Vec<i64>) -> Vec<Value<'c, 'a>> {
        let places: Vec<Vec<i64>> = (0..self.mesh.grid.devices()).map(place).collect();
        (0..places[0].len())
            .map(|dim| {
                let starts: Vec<i64> = places.iter().map(|place| place[dim]).collect();
                match starts.iter().all(|at| *at == starts[0]) {
                    true => self.start(starts[0]),
                    false => self.tabled(starts),
                }
            })
            .collect()
    }

    /// The number of this device.
    fn tabled(&mut self, numbers: Vec<i64>) -> Value<'c, 'a> {
        if let Some(value) = self.tables.get(&numbers) {
            return *value;
        }
        let i64_type = self.build.i64_type();
        let table: Vec<Attribute> =
            numbers.iter().map(|at| IntegerAttribute::new(i64_type, *at).into()).collect();
        let value = self.looked_up(&table, i64_type);
        self.tables.insert(numbers, value);
        value
    }

    /// The entry of this device in a table.
    fn looked_up(&mut self, table: &[Attribute<'c>], element: Type<'c>) -> Value<'c, 'a> {
        looked_up(self.build, &mut self.partition, table, element, self.location)
    }

    /// Whether this device is in a set: looked up in a table.
    fn predicate(&mut self, devices: &Devices) -> Value<'c, 'a> {
        if let Some(value) = self.predicates.get(devices) {
            return *value;
        }
        let boolean: Type = IntegerType::new(self.context, 1).into();
        let members: Vec<Attribute> = (0..self.mesh.grid.devices())
            .map(|device| BoolAttribute::new(self.context, devices.contains(device)).into())
            .collect();
        let value = self.looked_up(&members, boolean);
        self.predicates.insert(devices.clone(), value);
        value
    }

    fn filled(&mut self, fill: usize, size: &[i64]) -> Value<'c, 'a> {
        let scalar = self.fills[fill].0;
        if size.is_empty() {
            return scalar;
        }
        let (build, location) = (self.build, self.location);
        *self.filled.entry((fill, size.to_vec())).or_insert_with(|| {
            let ty = Tensor::get(size, element_of(scalar.r#type()), None);
            build.broadcast_scalar(scalar, ty, location)
        })
    }

    fn start(&mut self, at: i64) -> Value<'c, 'a> {
        let (build, location) = (self.build, self.location);
        *self.starts.entry(at).or_insert_with(|| build.i64_constant(at, location))
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

/// Whether each device that needs it gets it by the one exchange there is.
fn is_one_to_one(read: &Read) -> bool {
    let mut sources: Vec<usize> = read.from.iter().map(|(_, from)| *from).collect();
    sources.sort_unstable();
    !read.is_local() && sources.windows(2).all(|pair| pair[0] != pair[1])
}

/// Whether what is read is turned alike.
fn are_oriented_alike(one: &[Index], other: &[Index]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_like(*other))
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

/// Whether a part that is read meets a box of the shard.
fn reads_from(read: &Read, window: &Box_) -> bool {
    let parts = read.start.iter().zip(&read.size);
    window.iter().zip(parts).all(|((low, high), (start, size))| *low < start + size && start < high)
}

fn corners(window: &Box_) -> (Vec<i64>, Vec<i64>) {
    window.iter().map(|(low, high)| (*low, high - low)).unzip()
}

fn shape_of<'c>(value: Value<'c, '_>) -> &'c [i64] {
    ffi::shape(value.r#type()).expect("values here are ranked")
}

/// The number after all channels in use below `root`.
pub fn next_channel<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> i64 {
    let mut next = 1;
    crate::rewrite::walk(root, |op| {
        if op_name(op).starts_with("stablehlo.")
            && let Some(handle) = ffi::attribute_of(op, "channel_handle")
            && let Ok(handle) = ChannelHandle::try_from(handle)
        {
            next = next.max(handle.handle().saturating_add(1));
        }
        melior::ir::operation::WalkResult::Advance
    });
    next
}
