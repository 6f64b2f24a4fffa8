// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What has to wait for sums of all slices, and what of before these is computed again in it.

use super::{Grown, Growth, Member, Region, little};
use crate::batch_slices::rules::{Results, Role, Rules};
use crate::body::Body;
use crate::ir;
use crate::min_cut::{ENDLESS, Network};
use crate::ops::access::Along;
use crate::rewrite::{defining_op, walk};
use crate::tables::{Keys, Table};
use crate::ties;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::op_name;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Nodes of a network for what is computed again: a maximum flow is not linear.
const LARGEST: usize = 1 << 13;
/// How many regions are looked at that wait for sums, of one value's dimension.
const LEVELS: usize = 4;

/// What it costs to compute an op again, as a [`Network`] counts; none if that cannot be.
pub type Price<'r, 'c, 'a> = &'r dyn Fn(OperationRef<'c, 'a>) -> Option<u64>;

/// A value, and how it is sliced, if it is not taken whole.
type Sliced<'c, 'a> = (Value<'c, 'a>, Option<Along>);

impl<'c: 'a, 'a> Region<'c, 'a> {
    /// All that can be done slice by slice with `seed` once sums of all its slices are there, where one of the
    /// `wanted` is among it or what it takes. What it needs of before these is computed again, where that is worth
    /// its price.
    pub fn after_sums(
        body: &Body<'c, 'a>,
        rules: &Rules<'c, 'a>,
        (seed, dim): (Value<'c, 'a>, usize),
        wanted: &[Value<'c, 'a>],
        price: Price<'_, 'c, 'a>,
    ) -> Option<Grown<'c, 'a>> {
        let mut growth = Growth::of_all(body, rules, seed, dim, None)?;
        let most = little(seed);
        let sums = growth.leave_little(most);
        let waits = growth.waits();
        let later = growth.later(wanted, &waits);
        let all = if later.is_empty() { Vec::new() } else { growth.roles.clone() };
        let mut regions = Vec::new();
        for sums in later {
            let is_then = all.iter().zip(&waits).map(|(role, &waits)| role.clone().filter(|_| waits == sums));
            growth.roles = is_then.collect();
            let Some(region) = growth.at_once() else { continue };
            let before = Before { growth: &growth, roles: &all, waits: &waits, sums };
            regions.push((sums, before.again(region, price)));
        }
        Some(growth.grown(regions, sums.then_some(most)))
    }
}

impl<'c: 'a, 'a> Growth<'_, 'c, 'a> {
    /// Behind how many sums one of the wanted values is made, or slices of such a size are taken that are made
    /// before these: the most bytes first, [`LEVELS`] of them at most.
    fn later(&self, wanted: &[Value<'c, 'a>], waits: &[usize]) -> Vec<usize> {
        let large = wanted.iter().map(|value| ir::bytes(*value)).min().unwrap_or(i64::MAX);
        let mut bytes: Table<usize, i64> = Table::default();
        for (place, role) in self.roles.iter().enumerate() {
            let Some(role) = role else { continue };
            for (operand, along) in self.body.ops[place].operands().zip(&role.operands) {
                let Some(maker) = self.body.maker(operand).filter(|maker| self.is_kept(*maker)) else {
                    continue;
                };
                let taken = along.is_some() && self.of(operand) == *along && waits[maker] < waits[place];
                if taken && ir::bytes(operand) >= large {
                    *bytes.entry(waits[place]).or_default() += ir::bytes(operand);
                }
            }
        }
        for &value in wanted {
            if let Some(maker) =
                self.body.maker(value).filter(|maker| self.is_kept(*maker) && waits[*maker] > 0)
            {
                *bytes.entry(waits[maker]).or_default() += ir::bytes(value);
            }
        }
        let mut levels: Vec<(i64, usize)> = bytes.into_iter().map(|(level, bytes)| (bytes, level)).collect();
        levels.sort_unstable_by_key(|&(bytes, level)| (std::cmp::Reverse(bytes), level));
        levels.into_iter().take(LEVELS).map(|(_, level)| level).collect()
    }

    /// How many sums of all slices, one of the other, come before each op: a loop that does it has to wait for them.
    fn waits(&self) -> Vec<usize> {
        let body = self.body;
        let mut waits: Vec<usize> = Vec::with_capacity(body.ops.len());
        for (place, &op) in body.ops.iter().enumerate() {
            let role = self.roles[place].as_ref();
            let mut most = 0;
            let mut takes = |value: Value<'c, 'a>, along: Option<Along>| {
                let Some(maker) = body.maker(value) else { return };
                let slices = self.is_kept(maker)
                    && along.is_some()
                    && self.of(value) == along
                    && self.is_member(place);
                most = most.max(waits[maker] + usize::from(self.is_member(maker) && !slices));
            };
            for (index, operand) in op.operands().enumerate() {
                takes(operand, role.and_then(|role| role.operands.get(index).copied().flatten()));
            }
            if op.region_count() > 0 {
                walk(op, |inner| {
                    if inner != op {
                        inner.operands().for_each(|operand| takes(operand, None));
                    }
                    WalkResult::Advance
                });
            }
            waits.push(most);
        }
        waits
    }
}

/// What comes before sums that a region waits for.
struct Before<'b, 'c, 'a> {
    growth: &'b Growth<'b, 'c, 'a>,
    /// How ops of all regions take slices.
    roles: &'b [Option<Role<'c>>],
    /// How many sums come before each.
    waits: &'b [usize],
    /// How many come before the region.
    sums: usize,
}

impl<'c: 'a, 'a> Before<'_, 'c, 'a> {
    /// How an op takes slices that makes a value before the sums, in slices as the region would have them.
    fn maker(&self, value: Value<'c, 'a>, along: Option<Along>) -> Option<(usize, &Role<'c>)> {
        let place = self.growth.body.maker(value)?;
        let role = self.roles[place].as_ref().filter(|role| matches!(role.results, Results::Kept(_)))?;
        (self.waits[place] < self.sums && along.is_some() && self.growth.of(value) == along)
            .then_some((place, role))
    }

    /// What ops that might be done in the region take whole, or in other slices.
    fn otherwise(&self) -> Keys {
        let body = self.growth.body;
        let ops = body.ops.iter().zip(self.roles).zip(self.waits);
        let might = ops
            .filter(|(_, waits)| **waits <= self.sums)
            .filter_map(|((op, role), _)| Some((op, role.as_ref()?)));
        let takes = might.flat_map(|(op, role)| op.operands().zip(&role.operands));
        let other = takes.filter(|(operand, along)| {
            self.growth.of(*operand).is_some() && self.growth.of(*operand) != **along
        });
        other.map(|(operand, _)| ir::key(operand)).collect()
    }

    /// Whether something is compared with itself of what an op adds up: that has to have the same bits wherever it is.
    fn is_tied(&self, op: OperationRef<'c, 'a>) -> bool {
        let ties = &self.growth.rules.ties;
        ties::may_be_tied(op) && op.results().any(|result| ties.is_compared_with_itself(result.into()))
    }

    /// The region, with what is computed again in it of what comes before.
    fn again(&self, region: Region<'c, 'a>, price: Price<'_, 'c, 'a>) -> Region<'c, 'a> {
        let takes = region.members.iter().flat_map(|member| {
            let along = member.role.operands.iter().copied();
            member.op.operands().zip(along).collect::<SmallVec<[_; 2]>>()
        });
        let needed: Vec<Sliced> =
            takes.filter(|(operand, along)| self.maker(*operand, *along).is_some()).collect();
        match self.kept(&needed, price) {
            Some(kept) => self.with(region, &self.made_again(needed, &kept)),
            None => region,
        }
    }

    /// What is kept of what comes before, for these: the cheapest choice, by [`min_cut`](crate::min_cut).
    fn kept(&self, needed: &[Sliced<'c, 'a>], price: Price<'_, 'c, 'a>) -> Option<Keys> {
        let once = self.otherwise();
        let mut network = Network::default();
        let mut pending = Vec::new();
        let add = |network: &mut Network<'c, 'a>, pending: &mut Vec<_>, value, along| {
            // Of choices of as many bytes, the one that keeps fewer values is better.
            if network.add(value, || ir::bytes(value).cast_unsigned().saturating_mul(4) + 1) {
                pending.push((value, along));
            }
        };
        for &(value, along) in needed {
            add(&mut network, &mut pending, value, along);
            network.need(value);
        }
        while let Some((value, along)) = pending.pop() {
            // What is there anyway is given, and sliced; what counts places is made where it is wanted.
            let is_there = |op| matches!(op_name(op), "stablehlo.constant" | "stablehlo.iota");
            if defining_op(value).is_none_or(is_there) {
                continue;
            }
            let far = network.size() > LARGEST || once.contains(&ir::key(value));
            let made = self.maker(value, along).filter(|_| !far);
            let made = made.map(|(place, role)| (self.growth.body.ops[place], role));
            let made = made.filter(|(op, _)| !self.is_tied(*op));
            let Some((op, role, price)) = made.and_then(|(op, role)| Some((op, role, price(op)?))) else {
                network.price(value, ENDLESS);
                continue;
            };
            network.price(value, price + 1);
            for (operand, along) in op.operands().zip(&role.operands) {
                add(&mut network, &mut pending, operand, *along);
                network.takes(value, operand);
            }
        }
        Some(network.cut()?.into_iter().map(ir::key).collect())
    }

    /// The places of what is computed again, in their order.
    fn made_again(&self, needed: Vec<Sliced<'c, 'a>>, kept: &Keys) -> BTreeSet<usize> {
        let (mut again, mut pending) = (BTreeSet::new(), needed);
        while let Some((value, along)) = pending.pop() {
            let made = self.maker(value, along).filter(|_| !kept.contains(&ir::key(value)));
            let Some((place, role)) = made else { continue };
            if again.insert(place) {
                pending.extend(self.growth.body.ops[place].operands().zip(role.operands.iter().copied()));
            }
        }
        again
    }

    /// The region, and these ops among its members.
    fn with(&self, mut region: Region<'c, 'a>, again: &BTreeSet<usize>) -> Region<'c, 'a> {
        let body = self.growth.body;
        for &place in again {
            let (op, role) = (body.ops[place], self.roles[place].clone().expect("it has slices"));
            let Results::Kept(results) = &role.results else { continue };
            let slices = op.results().map(|result| ir::key(result.into())).zip(results.iter().copied());
            region.slices.extend(slices);
            region.members.push(Member { op, role, again: true });
        }
        region.members.sort_by_key(|member| body.own(member.op));
        let places: Table<usize, usize> =
            region.members.iter().enumerate().map(|(at, member)| (ir::op_key(member.op), at)).collect();
        for output in &mut region.outputs {
            let member = defining_op(output.value).expect("members make what leaves");
            output.member = places[&ir::op_key(member)];
        }
        region
    }
}
