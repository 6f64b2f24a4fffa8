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

use super::manual::looked_up;
use super::mesh::Grid;
use crate::ir::{self, Builder};
use crate::rewrite::{defining_op, is_unused, walk};
use melior::ir::attribute::{BoolAttribute, DenseElementsAttribute, IntegerAttribute};
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, OperationRef, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;

const PERMUTE: &str = "stablehlo.collective_permute";
/// How many exchanges of one array are compared with another.
const GROUPS: usize = 16;

/// A part of an array that devices send.
struct Sent<'c, 'a> {
    op: OperationRef<'c, 'a>,
    /// Where it begins on each device, by dimension.
    starts: Vec<Vec<i64>>,
    size: Vec<i64>,
    /// Which device sends to which.
    pairs: FxHashMap<usize, usize>,
}

/// Parts that can be sent at once.
struct Group<'c, 'a> {
    members: Vec<Sent<'c, 'a>>,
    pairs: FxHashMap<usize, usize>,
    /// From where to where in its array each sender sends.
    ranges: FxHashMap<usize, Vec<(i64, i64)>>,
    size: Vec<i64>,
}

/// Makes exchanges in a manual computation one where they can be; says how many are gone.
pub(crate) fn share_exchanges<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    grid: &Grid,
    computation: OperationRef<'c, 'a>,
) -> u64 {
    // By block and array.
    let mut groups: Vec<((usize, usize), Value<'c, 'a>, Group<'c, 'a>)> = Vec::new();
    let mut found: FxHashMap<(usize, usize), Vec<usize>> = FxHashMap::default();
    walk(computation, |op| {
        if op_name(op) == PERMUTE
            && let Some((array, sent)) = read(op, grid.devices())
            && let Some(block) = op.block()
        {
            let key = (block.to_raw().ptr as usize, ir::key(array));
            let own = found.entry(key).or_default();
            let sent = own.iter().rev().take(GROUPS).try_fold(sent, |sent, &at| {
                match groups[at].2.joined(sent, shape_of(array)) {
                    Ok(()) => Err(()),
                    Err(sent) => Ok(sent),
                }
            });
            if let Ok(sent) = sent {
                own.push(groups.len());
                groups.push((key, array, Group::of(sent)));
            }
        }
        WalkResult::Advance
    });
    let mut gone = 0;
    for (_, array, group) in groups {
        if group.members.len() > 1 {
            gone += group.members.len() as u64 - 1;
            group.make(build, grid, array);
        }
    }
    gone
}

/// What an exchange sends of which array.
fn read<'c: 'a, 'a>(op: OperationRef<'c, 'a>, devices: usize) -> Option<(Value<'c, 'a>, Sent<'c, 'a>)> {
    let numbers = DenseElementsAttribute::try_from(ffi::attribute_of(op, "source_target_pairs")?).ok()?;
    let number =
        |index: usize| numbers.i64_element(index).ok().and_then(|device| usize::try_from(device).ok());
    let pairs: FxHashMap<usize, usize> = (0..numbers.len() / 2)
        .map(|at| Some((number(2 * at)?, number(2 * at + 1)?)))
        .collect::<Option<_>>()?;
    (!pairs.is_empty() && pairs.iter().all(|(from, to)| *from < devices && *to < devices)).then_some(())?;
    let value = op.operands().next()?;
    let size = ffi::shape(value.r#type())?.to_vec();
    let cut = defining_op(value).filter(|cut| {
        op_name(*cut) == "stablehlo.dynamic_slice" && cut.block() == op.block()
            || op_name(*cut) == "stablehlo.slice" && ir::is_dense(*cut)
    });
    let Some(cut) = cut else {
        let starts = vec![vec![0; size.len()]; devices];
        return Some((value, Sent { op, starts, size, pairs }));
    };
    let array = cut.operands().next()?;
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
    Some((array, Sent { op, starts, size, pairs }))
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
        Self { pairs: sent.pairs.clone(), ranges, size: sent.size.clone(), members: vec![sent] }
    }

    /// Takes a part in, or gives it back if it cannot go with the others or more would be sent.
    fn joined(&mut self, sent: Sent<'c, 'a>, shape: &[i64]) -> Result<(), Sent<'c, 'a>> {
        let mut targets: FxHashMap<usize, usize> = self.pairs.iter().map(|(from, to)| (*to, *from)).collect();
        let is_one_to_one = sent.pairs.iter().all(|(from, to)| {
            self.pairs.get(from).is_none_or(|other| other == to)
                && *targets.entry(*to).or_insert(*from) == *from
        });
        if !is_one_to_one || shape.len() != sent.size.len() {
            return Err(sent);
        }
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
        let size: Vec<i64> = (0..shape.len()).map(longest).collect();
        let volume = |size: &[i64]| size.iter().product::<i64>();
        if volume(&size) > volume(&self.size) + volume(&sent.size) {
            return Err(sent);
        }
        self.pairs.extend(&sent.pairs);
        self.ranges = ranges;
        self.size = size;
        self.members.push(sent);
        Ok(())
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

    /// Puts one exchange in the place of all.
    fn make(self, build: &Builder<'c, 'a>, grid: &Grid, array: Value<'c, 'a>) {
        let shape = shape_of(array);
        let devices = grid.devices();
        let first = self.members[0].op;
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
        for member in self.members {
            let cut = member.op.operands().next().and_then(defining_op);
            build.erase(member.op);
            if let Some(cut) = cut.filter(|cut| op_name(*cut) == "stablehlo.dynamic_slice" && is_unused(*cut))
            {
                build.erase(cut);
            }
        }
    }

    /// What a member received, of what all of them do.
    fn part(
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
        if member.pairs.len() == self.pairs.len() {
            return value;
        }
        let boolean = IntegerType::new(build.context(), 1).into();
        let table: Vec<Attribute<'c>> = (0..devices)
            .map(|device| BoolAttribute::new(build.context(), gets(device).is_some()).into())
            .collect();
        let is_one = looked_up(build, partition, &table, boolean, location);
        let zeros = build.zeros(ty, location);
        build.insert("stablehlo.select", &[is_one, value, zeros], &[], ty, location)
    }
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
