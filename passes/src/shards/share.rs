// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Parts of one array that go between the same devices, sent once.
//!
//! Several slices of a field, each made by a computation of its own, ask the same neighbours for columns that lie in or next to one another:
//!
//! ```text
//! %a = collective_permute(columns 0 to 3 of %own) [[1, 0], [2, 1]]
//! %b = collective_permute(columns 0 to 1 of %own) [[1, 0], [2, 1], [3, 2]]
//! ```
//!
//! Once the computations are one, so can the exchanges be: as wide as the widest, to all devices that need some of it, and each reads its
//! part of what it got. Devices that got nothing before, which is zeros, get zeros of a select. It is done where no more elements are
//! sent than before.
//!
//! What comes from one side for some devices and from the other for others goes along with what is sent to either side:
//!
//! ```text
//! %a = collective_permute(columns 0 to 3 of %own) [[1, 0], [2, 1], [3, 2]]
//! %b = collective_permute(columns 42 to 45 of %own) [[0, 1], [1, 2], [2, 3]]
//! %c = collective_permute(column 0 or 44 of %own) [[1, 0], [2, 3]]   // on device 0 a part of %a, on device 3 one of %b
//! ```
//!
//! So are stencils of uneven fields: each device has another distance to what it makes of its columns.
//!
//! A part of an array that an update elsewhere has changed is what it was before. It goes along with what was sent before the update, if no more
//! is sent at once for that: halos of a field whose shards are of three widths are one exchange for a side, not three, each put in its place
//! before the next. Of 1,600 modules (`test/oracle/sharded_fields.py`, seeds 401, 402, 411 and 412) 171 have fewer exchanges so, or narrower ones,
//! and none more.

use super::manual::looked_up;
use super::mesh::Grid;
use crate::ir::{self, Builder};
use crate::rewrite::{defining_op, is_unused, walk};
use melior::ir::attribute::{BoolAttribute, DenseElementsAttribute, IntegerAttribute};
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, Location, OperationRef, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;
use smallvec::SmallVec;

const PERMUTE: &str = "stablehlo.collective_permute";
/// How many exchanges of one array are compared with another.
const GROUPS: usize = 16;
/// How many updates of an array are looked through.
const VERSIONS: usize = 64;

/// A part of an array that devices send.
#[derive(Clone)]
struct Sent<'c, 'a> {
    op: OperationRef<'c, 'a>,
    /// How many exchanges come before it.
    order: usize,
    /// The array, and what it was before updates elsewhere, from the last to the first.
    versions: Vec<usize>,
    /// Where it begins on each device, by dimension.
    starts: Vec<Vec<i64>>,
    size: Vec<i64>,
    /// Which device sends to which.
    pairs: FxHashMap<usize, usize>,
}

/// From where to where in an array each sender sends, by dimension.
type Ranges = FxHashMap<usize, Vec<(i64, i64)>>;

/// Parts that can be sent at once.
struct Group<'c, 'a> {
    members: Vec<Sent<'c, 'a>>,
    /// Parts of which others bring the rest.
    shares: Vec<Sent<'c, 'a>>,
    pairs: FxHashMap<usize, usize>,
    ranges: Ranges,
    size: Vec<i64>,
}

/// Makes exchanges in a manual computation one where they can be; says how many are gone.
pub(crate) fn share_exchanges<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    grid: &Grid,
    computation: OperationRef<'c, 'a>,
) -> u64 {
    // By block and array.
    let mut groups: Vec<(Value<'c, 'a>, Group<'c, 'a>)> = Vec::new();
    let mut found: FxHashMap<(usize, usize), Vec<usize>> = FxHashMap::default();
    let mut order = 0;
    walk(computation, |op| {
        if op_name(op) == PERMUTE
            && let Some((array, sent)) = read(op, grid.devices(), order)
            && let Some(block) = op.block()
        {
            order += 1;
            let sent = Sent { versions: versions(op, array, &sent, grid.devices()), ..sent };
            let key = |array| (block.to_raw().ptr as usize, array);
            // Those of the array as it is first, then those of what it was.
            let known = sent
                .versions
                .iter()
                .flat_map(|version| found.get(&key(*version)).into_iter().flatten().rev());
            let known: SmallVec<[usize; GROUPS]> = known.copied().take(GROUPS).collect();
            let sent = known.into_iter().try_fold(sent, |sent, at| {
                let (own, group) = &mut groups[at];
                match group.joined(sent, *own == array, shape_of(array)) {
                    Ok(()) => Err(()),
                    Err(sent) => Ok(sent),
                }
            });
            if let Ok(sent) = sent {
                found.entry(key(ir::key(array))).or_default().push(groups.len());
                groups.push((array, Group::of(sent)));
            }
        }
        WalkResult::Advance
    });
    let mut gone = 0;
    for own in found.values().filter(|own| own.len() > 2) {
        for &at in own {
            gone += u64::from(hand_over(&mut groups, own, at));
        }
    }
    let mut handed: FxHashMap<usize, Handed<'c, 'a>> = FxHashMap::default();
    for (array, group) in groups {
        if group.members.len() + group.shares.len() > 1 {
            gone += (group.members.len() as u64).saturating_sub(1);
            group.make(build, grid, array, &mut handed);
        }
    }
    let mut handed: Vec<_> = handed.into_values().collect();
    handed.sort_unstable_by_key(|handed| handed.sent.order);
    handed.into_iter().for_each(|handed| handed.make(build, grid));
    gone
}

/// Has the parts of a group of one go along with other groups of the same array, of those at `own`, which send to the same devices; not if
/// these had to send more for it in all than it does.
fn hand_over<'c: 'a, 'a>(groups: &mut [(Value<'c, 'a>, Group<'c, 'a>)], own: &[usize], at: usize) -> bool {
    let (array, group) = &groups[at];
    let ([sent], []) = (&group.members[..], &group.shares[..]) else { return false };
    let (sent, shape) = (sent.clone(), shape_of(*array));
    let mut shares: Vec<(usize, Sent<'c, 'a>)> = Vec::new();
    for (&from, &to) in &sent.pairs {
        let goes = |other: &usize| {
            let other = &groups[*other].1;
            !other.members.is_empty() && other.pairs.get(&from) == Some(&to)
        };
        let range = sent.range(from);
        let more = |other: &usize| groups[*other].1.beyond(from, &range);
        let others = own.iter().copied().filter(|other| *other != at).take(GROUPS);
        let Some(other) = others.filter(goes).min_by_key(more) else {
            return false;
        };
        match shares.iter_mut().find(|(known, _)| *known == other) {
            Some((_, share)) => drop(share.pairs.insert(from, to)),
            None => shares.push((other, Sent { pairs: FxHashMap::from_iter([(from, to)]), ..sent.clone() })),
        }
    }
    let widened: Option<Vec<_>> =
        shares.iter().map(|(other, share)| groups[*other].1.widened(share, shape)).collect();
    let Some(widened) = widened else { return false };
    let volume = |size: &[i64]| size.iter().product::<i64>();
    let more: i64 = shares
        .iter()
        .zip(&widened)
        .map(|((other, _), (_, size))| volume(size) - volume(&groups[*other].1.size))
        .sum();
    if more >= volume(&sent.size) {
        return false;
    }
    for ((other, share), (ranges, size)) in shares.into_iter().zip(widened) {
        let other = &mut groups[other].1;
        (other.ranges, other.size) = (ranges, size);
        other.shares.push(share);
    }
    groups[at].1.members.clear();
    true
}

/// What came of an exchange that others bring: the exchange, and by whom it is brought to which devices.
struct Handed<'c, 'a> {
    sent: Sent<'c, 'a>,
    brought: Vec<(Vec<usize>, Value<'c, 'a>)>,
}

impl<'c: 'a, 'a> Handed<'c, 'a> {
    /// Puts in its place what others bring; devices to which none brings it have zeros.
    fn make(self, build: &Builder<'c, 'a>, grid: &Grid) {
        let (op, devices) = (self.sent.op, grid.devices());
        build.set_insertion_point_before(op);
        let mut partition = None;
        let zeros = || ir::first_result(op).map(|result| build.zeros(result.r#type(), op.location()));
        let is_whole = self.brought.iter().map(|(to, _)| to.len()).sum::<usize>() == devices;
        let mut result = if is_whole { None } else { zeros() };
        for (to, value) in self.brought {
            result = Some(match result {
                Some(below) => choose(
                    build,
                    &mut partition,
                    (devices, |device| to.contains(&device)),
                    (value, below),
                    op.location(),
                ),
                None => value,
            });
        }
        if let (Some(value), Some(old)) = (result, ir::first_result(op)) {
            build.replace_all_uses_with(old, value);
            erase(build, op);
        }
    }
}

/// Erases an exchange, and the slice that it sends.
fn erase<'c: 'a, 'a>(build: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) {
    let cut = op.operands().next().and_then(defining_op);
    build.erase(op);
    if let Some(cut) = cut.filter(|cut| op_name(*cut) == "stablehlo.dynamic_slice" && is_unused(*cut)) {
        build.erase(cut);
    }
}

/// What an exchange sends of which array.
fn read<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    devices: usize,
    order: usize,
) -> Option<(Value<'c, 'a>, Sent<'c, 'a>)> {
    let numbers = DenseElementsAttribute::try_from(ffi::attribute_of(op, "source_target_pairs")?).ok()?;
    let number =
        |index: usize| numbers.i64_element(index).ok().and_then(|device| usize::try_from(device).ok());
    let pairs: FxHashMap<usize, usize> = (0..numbers.len() / 2)
        .map(|at| Some((number(2 * at)?, number(2 * at + 1)?)))
        .collect::<Option<_>>()?;
    (!pairs.is_empty() && pairs.iter().all(|(from, to)| *from < devices && *to < devices)).then_some(())?;
    let value = op.operands().next()?;
    let size = ir::plain(value)?.shape.to_vec();
    let cut = defining_op(value).filter(|cut| {
        op_name(*cut) == "stablehlo.dynamic_slice" && cut.block() == op.block()
            || op_name(*cut) == "stablehlo.slice" && ir::is_dense(*cut)
    });
    let Some(cut) = cut else {
        let starts = vec![vec![0; size.len()]; devices];
        return Some((value, Sent { op, order, versions: Vec::new(), starts, size, pairs }));
    };
    let array = cut.operands().next().filter(|array| ir::plain(*array).is_some())?;
    let mut starts = vec![Vec::with_capacity(size.len()); devices];
    for (dim, &width) in size.iter().enumerate() {
        match op_name(cut) {
            "stablehlo.slice" => {
                let start = *ir::i64_array(cut, "start_indices")?.get(dim)?;
                starts.iter_mut().for_each(|starts| starts.push(start));
            }
            _ => {
                let table = numbers_of(cut.operands().nth(1 + dim)?, devices)?;
                let most = shape_of(array)[dim] - width;
                starts.iter_mut().zip(table).for_each(|(starts, at)| starts.push(at.clamp(0, most)));
            }
        }
    }
    Some((array, Sent { op, order, versions: Vec::new(), starts, size, pairs }))
}

/// An array, and what it was before updates that write nothing of what devices send of it.
fn versions<'c: 'a, 'a>(
    exchange: OperationRef<'c, 'a>,
    array: Value<'c, 'a>,
    sent: &Sent<'c, 'a>,
    devices: usize,
) -> Vec<usize> {
    let mut all = vec![ir::key(array)];
    let mut array = array;
    while let Some(base) = before_update(exchange, array, sent, devices).filter(|_| all.len() < VERSIONS) {
        all.push(ir::key(base));
        array = base;
    }
    all
}

/// What an array was before an update in the block of an exchange that writes nothing of what is sent.
fn before_update<'c: 'a, 'a>(
    exchange: OperationRef<'c, 'a>,
    array: Value<'c, 'a>,
    sent: &Sent<'c, 'a>,
    devices: usize,
) -> Option<Value<'c, 'a>> {
    let update = defining_op(array).filter(|op| op_name(*op) == "stablehlo.dynamic_update_slice")?;
    (update.block() == exchange.block()).then_some(())?;
    let (base, put) = (update.operands().next()?, update.operands().nth(1)?);
    let (shape, width) = (ir::plain(base)?.shape, ir::plain(put)?.shape);
    let starts: Vec<Vec<i64>> =
        update.operands().skip(2).map(|start| numbers_of(start, devices)).collect::<Option<_>>()?;
    let is_met = |&from: &usize| {
        sent.range(from).iter().zip(&starts).zip(shape.iter().zip(width)).all(
            |((range, starts), (all, width))| {
                let start = starts[from].clamp(0, all - width);
                range.0 < start + width && start < range.1
            },
        )
    };
    (!sent.pairs.keys().any(is_met)).then_some(base)
}

/// A number on each device: a constant, or one that is looked up by the number of the device.
fn numbers_of(value: Value<'_, '_>, devices: usize) -> Option<Vec<i64>> {
    if let Some(number) = ir::constant_integer(value) {
        return Some(vec![i64::try_from(number).ok()?; devices]);
    }
    let reshape = defining_op(value).filter(|op| op_name(*op) == "stablehlo.reshape")?;
    let slice =
        defining_op(reshape.operands().next()?).filter(|op| op_name(*op) == "stablehlo.dynamic_slice")?;
    let place = defining_op(slice.operands().nth(1)?)?;
    (op_name(place) == "stablehlo.partition_id").then_some(())?;
    let table = defining_op(slice.operands().next()?).filter(|op| op_name(*op) == "stablehlo.constant")?;
    let table = DenseElementsAttribute::try_from(ffi::attribute_of(table, "value")?).ok()?;
    (table.len() >= devices).then_some(())?;
    (0..devices).map(|device| table.i64_element(device).ok()).collect()
}

impl<'c: 'a, 'a> Group<'c, 'a> {
    fn of(sent: Sent<'c, 'a>) -> Self {
        let ranges = sent.pairs.keys().map(|&from| (from, sent.range(from))).collect();
        Self {
            pairs: sent.pairs.clone(),
            ranges,
            size: sent.size.clone(),
            members: vec![sent],
            shares: Vec::new(),
        }
    }

    /// Takes a part in, or gives it back if it cannot go with the others or more would be sent.
    ///
    /// The group is of an array that is the part's own, or was that once: then no more may be sent at once.
    fn joined(&mut self, sent: Sent<'c, 'a>, is_own: bool, shape: &[i64]) -> Result<(), Sent<'c, 'a>> {
        let mut targets: FxHashMap<usize, usize> = self.pairs.iter().map(|(from, to)| (*to, *from)).collect();
        let is_one_to_one = sent.pairs.iter().all(|(from, to)| {
            self.pairs.get(from).is_none_or(|other| other == to)
                && *targets.entry(*to).or_insert(*from) == *from
        });
        if !is_one_to_one || shape.len() != sent.size.len() {
            return Err(sent);
        }
        let Some((ranges, size)) = self.widened(&sent, shape) else { return Err(sent) };
        let volume = |size: &[i64]| size.iter().product::<i64>();
        let (one, other) = (volume(&self.size), volume(&sent.size));
        if volume(&size) > if is_own { one + other } else { one.max(other) } {
            return Err(sent);
        }
        self.pairs.extend(&sent.pairs);
        self.ranges = ranges;
        self.size = size;
        self.members.push(sent);
        Ok(())
    }

    /// From where to where each device sends, and how much, with another part as well.
    fn widened(&self, sent: &Sent<'c, 'a>, shape: &[i64]) -> Option<(Ranges, Vec<i64>)> {
        (shape.len() == sent.size.len()).then_some(())?;
        let mut ranges = self.ranges.clone();
        for &from in sent.pairs.keys() {
            let own = sent.range(from);
            let range = ranges.entry(from).or_insert_with(|| own.clone());
            for (range, own) in range.iter_mut().zip(&own) {
                *range = (range.0.min(own.0), range.1.max(own.1));
            }
        }
        let longest =
            |dim: usize| ranges.values().map(|range| range[dim].1 - range[dim].0).max().unwrap_or(0);
        let size = (0..shape.len()).map(longest).collect();
        Some((ranges, size))
    }

    /// How far a range goes beyond what a device sends anyway, in all dimensions.
    fn beyond(&self, from: usize, range: &[(i64, i64)]) -> i64 {
        let Some(own) = self.ranges.get(&from) else { return i64::MAX };
        own.iter().zip(range).map(|(own, range)| (own.0 - range.0).max(0) + (range.1 - own.1).max(0)).sum()
    }

    /// Where in its array each device begins to send.
    fn starts(&self, device: usize, shape: &[i64]) -> Vec<i64> {
        let begin = |range: &Vec<(i64, i64)>| {
            range
                .iter()
                .zip(shape)
                .zip(&self.size)
                .map(|((range, all), size)| range.0.min(all - size))
                .collect()
        };
        self.ranges.get(&device).map_or_else(|| vec![0; shape.len()], begin)
    }

    /// Puts one exchange in the place of all, and hands over what it brings of others.
    fn make(
        self,
        build: &Builder<'c, 'a>,
        grid: &Grid,
        array: Value<'c, 'a>,
        handed: &mut FxHashMap<usize, Handed<'c, 'a>>,
    ) {
        let shape = shape_of(array);
        let devices = grid.devices();
        let all = self.members.iter().chain(&self.shares);
        let Some(first) = all.min_by_key(|sent| sent.order).map(|sent| sent.op) else { return };
        let location = first.location();
        build.set_insertion_point_before(first);
        let mut partition = None;
        let i64_type = build.i64_type();
        let element = ir::element_of(array.r#type());
        let begins: Vec<Vec<i64>> = (0..devices).map(|device| self.starts(device, shape)).collect();
        let mut value = array;
        if self.size != shape {
            // What is sent is not cut out at a place that back ends know: see `Body::part`.
            let moving = (0..shape.len()).find(|&dim| shape[dim] > self.size[dim]);
            let starts: Vec<Value<'c, 'a>> = (0..shape.len())
                .map(|dim| {
                    let mut numbers: Vec<i64> = begins.iter().map(|begin| begin[dim]).collect();
                    let alike = numbers.iter().all(|at| *at == numbers[0]);
                    if alike && moving != Some(dim) {
                        return build.i64_constant(numbers[0], location);
                    }
                    if alike {
                        numbers.push(if numbers[0] == 0 { shape[dim] - self.size[dim] } else { 0 });
                    }
                    let table: Vec<Attribute<'c>> =
                        numbers.iter().map(|at| IntegerAttribute::new(i64_type, *at).into()).collect();
                    looked_up(build, &mut partition, &table, i64_type, location)
                })
                .collect();
            value = build.dynamic_slice(array, &starts, Tensor::get(&self.size, element, None), location);
        }
        let mut pairs: Vec<_> = self.pairs.iter().map(|(from, to)| [*from as i64, *to as i64]).collect();
        pairs.sort_unstable();
        let numbers: Vec<Attribute<'c>> =
            pairs.iter().flatten().map(|device| IntegerAttribute::new(i64_type, *device).into()).collect();
        let table = Tensor::get(&[pairs.len() as i64, 2], i64_type, None);
        let pairs = DenseElementsAttribute::new(table, &numbers).expect("a tensor type");
        let mut attributes = vec![("source_target_pairs", pairs.into())];
        attributes
            .extend(ffi::attribute_of(first, "channel_handle").map(|channel| ("channel_handle", channel)));
        let got = build.insert(PERMUTE, &[value], &attributes, value.r#type(), location);
        let sender: FxHashMap<usize, usize> = self.pairs.iter().map(|(from, to)| (*to, *from)).collect();
        for member in &self.members {
            // Where all is received first: what reads a part may stand anywhere behind it.
            let part = self.part(build, (member, &sender, &begins), got, &mut partition);
            let Some(result) = ir::first_result(member.op) else { continue };
            build.replace_all_uses_with(result, part);
        }
        for share in &self.shares {
            let part = self.place(build, (share, &sender, &begins), got, &mut partition);
            let to = share.pairs.values().copied().collect();
            let whole = || Handed { sent: share.clone(), brought: Vec::new() };
            handed.entry(share.order).or_insert_with(whole).brought.push((to, part));
        }
        self.members.into_iter().for_each(|member| erase(build, member.op));
    }

    /// What a member received, of what all of them do; zeros on devices to which it sends nothing.
    fn part(
        &self,
        build: &Builder<'c, 'a>,
        (member, sender, begins): (&Sent<'c, 'a>, &FxHashMap<usize, usize>, &[Vec<i64>]),
        got: Value<'c, 'a>,
        partition: &mut Option<Value<'c, 'a>>,
    ) -> Value<'c, 'a> {
        let value = self.place(build, (member, sender, begins), got, partition);
        if member.pairs.len() == self.pairs.len() {
            return value;
        }
        let gets = |device: usize| sender.get(&device).is_some_and(|from| member.pairs.contains_key(from));
        let zeros = build.zeros(value.r#type(), member.op.location());
        choose(build, partition, (begins.len(), gets), (value, zeros), member.op.location())
    }

    /// Where in what all members received lies what is for one; on other devices it is whatever is there.
    fn place(
        &self,
        build: &Builder<'c, 'a>,
        (member, sender, begins): (&Sent<'c, 'a>, &FxHashMap<usize, usize>, &[Vec<i64>]),
        got: Value<'c, 'a>,
        partition: &mut Option<Value<'c, 'a>>,
    ) -> Value<'c, 'a> {
        let location = member.op.location();
        let i64_type = build.i64_type();
        let element = ir::element_of(got.r#type());
        let ty = Tensor::get(&member.size, element, None);
        let gets = |device: usize| sender.get(&device).filter(|from| member.pairs.contains_key(from));
        let offset = |device: usize, dim: usize| {
            gets(device).map(|&from| member.starts[from][dim] - begins[from][dim])
        };
        let devices = begins.len();
        let mut value = got;
        if member.size != self.size {
            let offsets: Vec<Vec<i64>> = (0..member.size.len())
                .map(|dim| {
                    let any = (0..devices).find_map(|device| offset(device, dim)).unwrap_or(0);
                    (0..devices).map(|device| offset(device, dim).unwrap_or(any)).collect()
                })
                .collect();
            value = if offsets.iter().all(|offsets| offsets.iter().all(|at| *at == offsets[0])) {
                let start: Vec<i64> = offsets.iter().map(|offsets| offsets[0]).collect();
                build.slice(got, &start, ty, location)
            } else {
                let starts: Vec<Value<'c, 'a>> = offsets
                    .iter()
                    .map(|offsets| {
                        let table: Vec<Attribute<'c>> =
                            offsets.iter().map(|at| IntegerAttribute::new(i64_type, *at).into()).collect();
                        looked_up(build, partition, &table, i64_type, location)
                    })
                    .collect();
                build.dynamic_slice(got, &starts, ty, location)
            };
        }
        value
    }
}

/// A value on those of so many devices of which that is said, and another on the rest.
fn choose<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    partition: &mut Option<Value<'c, 'a>>,
    (devices, is_one): (usize, impl Fn(usize) -> bool),
    (value, other): (Value<'c, 'a>, Value<'c, 'a>),
    location: Location<'c>,
) -> Value<'c, 'a> {
    let boolean = IntegerType::new(build.context(), 1).into();
    let table: Vec<Attribute<'c>> =
        (0..devices).map(|device| BoolAttribute::new(build.context(), is_one(device)).into()).collect();
    let is_one = looked_up(build, partition, &table, boolean, location);
    build.insert("stablehlo.select", &[is_one, value, other], &[], value.r#type(), location)
}

impl Sent<'_, '_> {
    /// From where to where in its array a device sends.
    fn range(&self, device: usize) -> Vec<(i64, i64)> {
        self.starts[device].iter().zip(&self.size).map(|(start, size)| (*start, start + size)).collect()
    }
}

fn shape_of<'c>(value: Value<'c, '_>) -> &'c [i64] {
    ffi::shape(value.r#type()).expect("values here are ranked")
}
