// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which ops keep a dimension apart, found from one value on, both ways.

mod after;

use super::rules::{Results, Role, Rules, Sum};
use crate::body::Body;
use crate::ir::{self, Builder};
use crate::ops::access::Along;
use crate::ops::class::{self, Class};
use crate::rewrite::{defining_op, uses};
use crate::tables::{Keys, Table};
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::op_name;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Which part of what a region is grown from takes what is computed before the loop, at most, and in how many ops.
const SMALL: i64 = 16;
/// See [`SMALL`].
const FEW: usize = 64;
/// How often it is asked again what can be before the loop, once something turns out to be needed in it.
const ROUNDS: usize = 8;
/// In how many ops what leaves may be computed again of arguments instead.
const AGAIN: usize = 8;
/// The same where small parts are wanted: a normally distributed random number is some 150 ops.
const AGAIN_IN_PARTS: usize = 256;

/// An op of a region, and how it takes slices.
pub struct Member<'c, 'a> {
    /// The op.
    pub op: OperationRef<'c, 'a>,
    /// How it takes slices, and what comes of them.
    pub role: Role<'c>,
    /// It is done before the loop as well, for others.
    pub again: bool,
}

/// Ops that are done slice by slice, and what is around them.
pub struct Region<'c, 'a> {
    /// Elements of the dimension that is sliced, at most as many slices.
    pub units: i64,
    /// The ops, in order.
    pub members: Vec<Member<'c, 'a>>,
    /// Results that something else uses, or parts of which are added up.
    pub outputs: Vec<Output<'c, 'a>>,
    /// Those that something else had better compute again.
    pub again: Vec<Value<'c, 'a>>,
    /// The first op that needs one of these: the loop goes before it.
    pub anchor: OperationRef<'c, 'a>,
    /// Ops after that which need none: they go before the loop.
    pub early: Vec<OperationRef<'c, 'a>>,
    /// What the members' own results are, by key, for those that are slices.
    pub slices: Table<usize, Along>,
}

/// What a loop leaves.
pub struct Output<'c, 'a> {
    /// The value that it stands for.
    pub value: Value<'c, 'a>,
    /// The place of its op among the members.
    pub member: usize,
}

/// What grows from a value.
pub struct Grown<'c, 'a> {
    /// What can be done at once, each with how many sums of all slices come before it; none of those from which
    /// nothing would leave the loop.
    pub regions: Vec<(usize, Region<'c, 'a>)>,
    /// From where the same grows.
    pub reach: Reach,
}

/// Values that are sliced together: where all ops agree on how, each reaches all others.
pub struct Reach {
    sliced: Table<usize, Along>,
    agreed: bool,
    /// Bytes that what is left out took at most, if anything could have been.
    most: Option<i64>,
}

impl Reach {
    /// Whether what grows from a value's dimension, in slices of so many elements, is known to be the same.
    pub fn has(&self, seed: Value<'_, '_>, dim: usize, run: i64) -> bool {
        self.agreed
            && self.sliced.get(&ir::key(seed)) == Some(&Along { dim, run, from: 0 })
            && self.most.is_none_or(|most| most == little(seed))
    }
}

/// Bytes of what is computed before the loop, at most.
fn little(seed: Value<'_, '_>) -> i64 {
    ir::bytes(seed) / SMALL
}

impl<'c: 'a, 'a> Body<'c, 'a> {
    /// Whether a value is as well computed again where it is wanted: by few cheap ops, element by element, of arguments, or of `others`
    /// that leave the loop as well. If that is a small part of it, by any that back ends compute on the fly, of what is little.
    fn is_had_again(&self, value: Value<'c, 'a>, members: &Keys, others: &Keys) -> bool {
        let is_member = |op: OperationRef<'c, 'a>| members.contains(&ir::op_key(op));
        let little = ir::bytes(value) / SMALL;
        let is_cut = |user: OperationRef<'c, 'a>| {
            matches!(op_name(user), "stablehlo.slice" | "stablehlo.dynamic_slice")
                && ir::first_result(user).is_some_and(|part| ir::bytes(part) <= little)
        };
        let in_parts = uses(value).all(|used| is_member(used.user) || is_cut(used.user));
        let most = if in_parts { AGAIN_IN_PARTS } else { AGAIN };
        let (mut all, mut pending) = (BTreeSet::new(), vec![value]);
        while let Some(of) = pending.pop() {
            let Some(op) = defining_op(of) else { continue };
            let leaves = of != value && others.contains(&ir::key(of));
            if leaves || in_parts && !is_member(op) && ir::bytes(of) <= little {
                continue;
            }
            let class = Class::of(op_name(op));
            let cheap = class.free || class.elementwise && !class.costly || in_parts && class.fusible;
            let Some(place) = self.maker(of).filter(|_| cheap) else { return false };
            if all.insert(place) {
                pending.extend(op.operands());
            }
            if all.len() > most {
                return false;
            }
        }
        true
    }

    /// Whether an op of the block, or one inside of it, uses a value of another op of the block.
    fn takes(&self, op: OperationRef<'c, 'a>, is: &dyn Fn(Value<'c, 'a>) -> bool) -> bool {
        if op.operands().any(is) {
            return true;
        }
        let mut found = false;
        if op.region_count() > 0 {
            crate::rewrite::walk(op, |inner| {
                found |= inner.operands().any(is);
                if found { WalkResult::Interrupt } else { WalkResult::Advance }
            });
        }
        found
    }
}

/// Whether a region may have an op, which is to be a member with a role or, without one, takes a value that a member makes
/// with this dimension sliced.
pub type Admits<'r, 'c, 'a> = &'r dyn Fn(OperationRef<'c, 'a>, Result<&Role<'c>, usize>) -> bool;

/// Places that are to be looked at, the first of them first.
struct Pending {
    /// A bit for each place of a block.
    marks: Vec<u64>,
    /// No word before this one has any.
    first: usize,
}

impl Pending {
    fn insert(&mut self, place: usize) {
        self.marks[place / 64] |= 1 << (place % 64);
        self.first = self.first.min(place / 64);
    }

    fn pop(&mut self) -> Option<usize> {
        self.first += self.marks[self.first..].iter().position(|&word| word != 0)?;
        let word = &mut self.marks[self.first];
        let place = 64 * self.first + word.trailing_zeros() as usize;
        *word &= *word - 1;
        Some(place)
    }
}

/// A region in the making.
struct Growth<'b, 'c, 'a> {
    body: &'b Body<'c, 'a>,
    rules: &'b Rules<'c, 'a>,
    /// The value that it is grown from.
    seed: Value<'c, 'a>,
    roles: Vec<Option<Role<'c>>>,
    /// Values that are sliced, by key.
    sliced: Table<usize, Along>,
    /// Places that are to be looked at: those of ops that use what is sliced, and those of ops that make it.
    pending: Pending,
    /// Whether all that is sliced is sliced as all ops next to it would have it.
    agreed: bool,
}

impl<'b, 'c: 'a, 'a> Growth<'b, 'c, 'a> {
    /// All that can be reached from a value's dimension; none if `admits` says no of anything on the way.
    fn of_all(
        body: &'b Body<'c, 'a>,
        rules: &'b Rules<'c, 'a>,
        seed: Value<'c, 'a>,
        dim: usize,
        admits: Option<Admits<'_, 'c, 'a>>,
    ) -> Option<Self> {
        let along = rules.all_of(seed, dim)?;
        let (roles, sliced) = (vec![None; body.ops.len()], Table::default());
        let pending = Pending { marks: vec![0; body.ops.len().div_ceil(64)], first: 0 };
        let mut growth = Self { body, rules, seed, roles, sliced, pending, agreed: true };
        growth.slice(seed, along);
        growth.grow(admits)
    }

    fn slice(&mut self, value: Value<'c, 'a>, along: Along) {
        if let Some(before) = self.sliced.insert(ir::key(value), along) {
            self.agreed &= before == along;
            return;
        }
        let users = uses(value).filter_map(|used| self.body.own(used.user));
        users.chain(self.body.maker(value)).for_each(|place| self.pending.insert(place));
    }

    fn of(&self, value: Value<'c, 'a>) -> Option<Along> {
        self.sliced.get(&ir::key(value)).copied()
    }

    /// How an op takes part, by what is sliced of its results or its operands so far.
    fn role(&mut self, op: OperationRef<'c, 'a>) -> Option<Role<'c>> {
        let made = op
            .results()
            .enumerate()
            .find_map(|(number, result)| self.rules.of_result(op, number, self.of(result.into())?));
        let taken = || {
            let sliced =
                op.operands().enumerate().filter_map(|(index, value)| Some((index, self.of(value)?)));
            sliced.into_iter().find_map(|(index, along)| self.rules.of_operand(op, index, along))
        };
        let role = made.or_else(taken)?;
        // What one op takes in one way another may not make in another.
        let agrees =
            op.operands().zip(&role.operands).all(|(operand, along)| match (along, self.of(operand)) {
                (Some(along), Some(known)) => *along == known || !self.is_made(operand),
                (None, Some(_)) => !self.is_made(operand),
                _ => true,
            });
        self.agreed &= agrees;
        agrees.then_some(role)
    }

    /// Whether what is sliced of an op's operands and results is what a role of its says.
    fn is_as_sliced(&self, op: OperationRef<'c, 'a>, role: &Role<'c>) -> bool {
        let mut operands = op.operands().zip(&role.operands);
        operands.all(|(operand, along)| self.of(operand) == *along)
            && op.results().enumerate().all(|(number, result)| match &role.results {
                Results::Kept(results) => self.of(result.into()) == results.get(number).copied(),
                Results::Added(_) => self.of(result.into()).is_none(),
            })
    }

    /// Whether a value is made by a member so far.
    fn is_made(&self, value: Value<'c, 'a>) -> bool {
        self.body.maker(value).is_some_and(|place| self.roles[place].is_some())
    }

    fn grow(mut self, admits: Option<Admits<'_, 'c, 'a>>) -> Option<Self> {
        while let Some(place) = self.pending.pop() {
            let op = self.body.ops[place];
            if let Some(role) = &self.roles[place] {
                self.agreed = self.agreed && self.is_as_sliced(op, role);
                continue;
            }
            let role = self.role(op);
            // Asked at once: whoever has no use for the rest of a large region had better not have it grown.
            if let Some(admits) = admits {
                let asked = match &role {
                    Some(role) => Some(Ok(role)),
                    None => self.taken(op).map(Err),
                };
                if asked.is_some_and(|asked| !admits(op, asked)) {
                    return None;
                }
            }
            let Some(role) = role else { continue };
            if let Results::Kept(results) = &role.results {
                for (result, along) in op.results().zip(results) {
                    self.slice(result.into(), *along);
                }
            }
            for (operand, along) in op.operands().zip(&role.operands) {
                if let Some(along) = along {
                    self.slice(operand, *along);
                }
            }
            self.agreed = self.agreed && self.is_as_sliced(op, &role);
            self.roles[place] = Some(role);
        }
        Some(self)
    }

    /// Along which dimension an op takes what is sliced and made in the region, if it does.
    fn taken(&self, op: OperationRef<'c, 'a>) -> Option<usize> {
        let mut inside = op.operands().filter(|operand| *operand == self.seed || self.is_made(*operand));
        inside.find_map(|operand| self.of(operand)).map(|along| along.dim)
    }

    /// Leaves out sums that are had of arguments for little, with all that they are made of: they are there before the
    /// loop. What a loss is divided by, the number of words in a batch, is needed within it.
    /// Whether there are any such sums.
    fn leave_little(&mut self, most: i64) -> bool {
        let mut any = false;
        for place in 0..self.body.ops.len() {
            let is_sum = self.roles[place]
                .as_ref()
                .is_some_and(|role| matches!(role.results, Results::Added(Sum::Reduce { .. })));
            any |= is_sum;
            if is_sum && let Some(little) = self.little_before(place, most) {
                little.into_iter().for_each(|place| self.roles[place] = None);
            }
        }
        any
    }

    /// The places of all that an op is made of, with its own, if these are few cheap ops whose results take `most`
    /// bytes at most.
    fn little_before(&self, place: usize, mut most: i64) -> Option<BTreeSet<usize>> {
        let (mut all, mut pending) = (BTreeSet::new(), vec![place]);
        while let Some(place) = pending.pop() {
            if !all.insert(place) {
                continue;
            }
            let op = self.body.ops[place];
            let cheap = class::is_fusible(op_name(op))
                || matches!(op_name(op), "stablehlo.reduce" | "stablehlo.iota");
            most -= op.results().map(|result| ir::bytes(result.into())).sum::<i64>();
            if !cheap || most < 0 || all.len() > FEW {
                return None;
            }
            pending.extend(op.operands().filter_map(|operand| self.body.maker(operand)));
        }
        Some(all)
    }

    /// Leaves out what does not fit what it is made of; if all is done `at_once`, also what needs something that is
    /// there only after that: which ops do.
    fn settle(&mut self, at_once: bool) -> Vec<bool> {
        let body = self.body;
        let mut after = vec![false; body.ops.len()];
        for (place, &op) in body.ops.iter().enumerate() {
            let is_late = |value: Value<'c, 'a>| body.maker(value).is_some_and(|maker| after[maker]);
            let member = |value: Value<'c, 'a>| {
                let role = body.maker(value).map(|maker| self.roles[maker].as_ref());
                role.flatten().map(|role| matches!(role.results, Results::Kept(_)))
            };
            let fits = self.roles[place].as_ref().is_some_and(|role| {
                op.operands().zip(&role.operands).all(|(operand, along)| match (member(operand), along) {
                    (None, _) => true,
                    (Some(kept), Some(along)) => kept && self.of(operand) == Some(*along),
                    (Some(_), None) => false,
                })
            });
            let late = at_once && body.takes(op, &is_late);
            if fits && !late {
                continue;
            }
            after[place] = late || at_once && body.takes(op, &|value| member(value).is_some());
            self.roles[place] = None;
        }
        after
    }

    /// Leaves out what is made of what is outside, and wanted there: it can as well be there before. So can what is made, on the fly, of
    /// what back ends compute on the fly as well: for slices that would have to be stored.
    fn trim(&mut self) {
        let places = 0..self.body.ops.len();
        let wanted = places.filter(|&place| {
            self.is_kept(place) && self.users(place).any(|user| !user.is_some_and(|at| self.is_member(at)))
        });
        let mut cones: Vec<(usize, BTreeSet<usize>)> =
            wanted.filter_map(|place| Some((place, self.on_the_fly(place)?))).collect();
        for round in 0..ROUNDS {
            let all: BTreeSet<usize> = cones.iter().flat_map(|(_, cone)| cone).copied().collect();
            let heads: BTreeSet<usize> = cones.iter().map(|(place, _)| *place).collect();
            let stays = |at: &usize| self.users(*at).any(|user| user.is_none_or(|user| !all.contains(&user)));
            let needed: BTreeSet<usize> = all.difference(&heads).copied().filter(stays).collect();
            if needed.is_empty() {
                all.into_iter().for_each(|place| self.roles[place] = None);
                return;
            }
            let last = round + 2 >= ROUNDS;
            cones.retain(|(_, cone)| cone.len() == 1 || !last && cone.is_disjoint(&needed));
        }
    }

    fn is_member(&self, place: usize) -> bool {
        self.roles.get(place).is_some_and(Option::is_some)
    }

    fn is_kept(&self, place: usize) -> bool {
        self.roles[place].as_ref().is_some_and(|role| matches!(role.results, Results::Kept(_)))
    }

    /// The places of all that uses an op's results, if they have any.
    fn users(&self, place: usize) -> impl Iterator<Item = Option<usize>> + use<'b, 'c, 'a> {
        let body = self.body;
        let results: SmallVec<[Value<'c, 'a>; 2]> = body.ops[place].results().map(Value::from).collect();
        results.into_iter().flat_map(move |result| uses(result).map(move |used| body.place(used.user)))
    }

    /// The places of an op and of all in the region that it is made of, if back ends compute all of that within it.
    fn on_the_fly(&self, place: usize) -> Option<BTreeSet<usize>> {
        let (mut all, mut pending) = (BTreeSet::new(), vec![place]);
        while let Some(at) = pending.pop() {
            if !all.insert(at) {
                continue;
            }
            let makers = self.body.ops[at].operands().filter_map(|operand| self.body.maker(operand));
            pending.extend(makers.filter(|&maker| self.is_member(maker)));
            if all.len() > FEW {
                return None;
            }
        }
        let fused = |at: &usize| class::is_fusible(op_name(self.body.ops[*at]));
        let is_stored_for_slices = |value: Value<'c, 'a>| {
            self.body.maker(value).is_some_and(|maker| {
                let name = op_name(self.body.ops[maker]);
                let on_the_fly = fused(&maker) && !Class::of(name).free || name == "stablehlo.concatenate";
                let inside = |user: Option<usize>| user.is_some_and(|user| self.is_member(user));
                !self.is_member(maker) && on_the_fly && self.users(maker).all(inside)
            })
        };
        let stores = |at: &usize| self.body.ops[*at].operands().any(is_stored_for_slices);
        (all.len() == 1 || all.iter().all(fused) && all.iter().any(stores)).then_some(all)
    }
}

impl<'c: 'a, 'a> Growth<'_, 'c, 'a> {
    fn grown(self, regions: Vec<(usize, Region<'c, 'a>)>, most: Option<i64>) -> Grown<'c, 'a> {
        let Self { sliced, agreed, .. } = self;
        Grown { regions, reach: Reach { sliced, agreed, most } }
    }

    /// What can be done at once.
    fn at_once(&mut self) -> Option<Region<'c, 'a>> {
        self.settle(true);
        self.trim();
        let after = self.settle(true);
        let roles = std::mem::take(&mut self.roles);
        let region = Region::close(self.body, self.rules, roles, &after)?;
        Some(region.without_what_is_had_again(self.body)).filter(|region| !region.outputs.is_empty())
    }
}

impl<'c: 'a, 'a> Region<'c, 'a> {
    /// All that can be done slice by slice with `seed`, at once.
    pub fn around(
        body: &Body<'c, 'a>,
        rules: &Rules<'c, 'a>,
        (seed, dim): (Value<'c, 'a>, usize),
    ) -> Option<Grown<'c, 'a>> {
        let mut growth = Growth::of_all(body, rules, seed, dim, None)?;
        let most = little(seed);
        let sums = growth.leave_little(most);
        let region = growth.at_once();
        Some(growth.grown(region.map(|region| (0, region)).into_iter().collect(), sums.then_some(most)))
    }

    /// All that keeps the elements of `dim` of `seed` apart, whether or not it can be done at once: each op may be
    /// taken apart where it is. None if `admits` says no of any of it.
    pub fn apart(
        body: &Body<'c, 'a>,
        rules: &Rules<'c, 'a>,
        seed: Value<'c, 'a>,
        dim: usize,
        admits: Admits<'_, 'c, 'a>,
    ) -> Option<Self> {
        let mut growth = Growth::of_all(body, rules, seed, dim, Some(admits))?;
        let after = growth.settle(false);
        Self::close(body, rules, growth.roles, &after)
    }

    fn close(
        body: &Body<'c, 'a>,
        rules: &Rules<'c, 'a>,
        roles: Vec<Option<Role<'c>>>,
        after: &[bool],
    ) -> Option<Self> {
        let is_member: Vec<bool> = roles.iter().map(Option::is_some).collect();
        let mut members: Vec<Member<'c, 'a>> = Vec::new();
        let (mut outputs, mut slices) = (Vec::new(), Table::default());
        for (op, role) in body.ops.iter().zip(roles) {
            let Some(role) = role else { continue };
            for (number, result) in op.results().map(Value::from).enumerate() {
                let outside = uses(result).any(|used| {
                    body.place(used.user).is_none_or(|at| !is_member.get(at).copied().unwrap_or(false))
                });
                match &role.results {
                    Results::Kept(along) => {
                        slices.insert(ir::key(result), along[number]);
                        if outside {
                            outputs.push(Output { value: result, member: members.len() });
                        }
                    }
                    Results::Added(_) => outputs.push(Output { value: result, member: members.len() }),
                }
            }
            members.push(Member { op: *op, role, again: false });
        }
        let first = after.iter().position(|after| *after);
        let anchor = first.map_or(body.end, |first| body.ops[first]);
        let early = (first.unwrap_or(body.ops.len())..body.ops.len())
            .filter(|&place| !after[place] && !is_member[place])
            .map(|place| body.ops[place])
            .collect();
        let (units, again) = (rules.units, Vec::new());
        (!outputs.is_empty()).then_some(Self { units, members, outputs, again, anchor, early, slices })
    }

    /// The same, but that images which a layer reads, made of bytes, and the gradient of its filter reads after the
    /// loop do not leave it as floats, nor what is above zero beside what is left of it there.
    fn without_what_is_had_again(mut self, body: &Body<'c, 'a>) -> Self {
        let members = self.keys();
        let is_kept =
            |output: &Output<'c, 'a>| matches!(self.members[output.member].role.results, Results::Kept(_));
        let kept: Keys =
            self.outputs.iter().filter(|each| is_kept(each)).map(|each| ir::key(each.value)).collect();
        let (again, outputs): (Vec<_>, Vec<_>) = std::mem::take(&mut self.outputs)
            .into_iter()
            .partition(|output| is_kept(output) && body.is_had_again(output.value, &members, &kept));
        self.again = again.into_iter().map(|output| output.value).collect();
        self.outputs = outputs;
        self
    }

    /// Keys of the members' ops.
    pub fn keys(&self) -> Keys {
        self.members.iter().map(|member| ir::op_key(member.op)).collect()
    }

    /// Members whose results stay in the loop: all that is made of them is made there.
    pub fn inner(&self) -> impl Iterator<Item = OperationRef<'c, 'a>> {
        let out: Keys = self.outputs.iter().map(|output| ir::key(output.value)).collect();
        self.members
            .iter()
            .map(|member| member.op)
            .filter(move |op| !op.results().any(|result| out.contains(&ir::key(result.into()))))
    }

    /// All values that are slices, with the dimension.
    pub fn all(&self) -> impl Iterator<Item = (Value<'c, 'a>, usize)> {
        let results = self.members.iter().flat_map(|member| member.op.results()).map(Value::from);
        results.filter_map(|value| Some((value, self.slices.get(&ir::key(value))?.dim)))
    }

    /// Bytes of what members make that no back end computes within what reads it.
    pub fn stored(&self) -> u64 {
        let kernels = self.members.iter().map(|member| member.op).filter(|op| {
            matches!(
                op_name(*op),
                "stablehlo.dot_general"
                    | "stablehlo.convolution"
                    | "stablehlo.select_and_scatter"
                    | "stablehlo.reduce_window"
                    | "stablehlo.sort"
                    | "stablehlo.fft"
                    | "stablehlo.cholesky"
                    | "stablehlo.triangular_solve"
                    | "chlo.top_k"
            )
        });
        let made = kernels.flat_map(|op| op.results().map(Value::from).collect::<Vec<_>>());
        made.map(|value| ir::bytes(value).cast_unsigned()).sum()
    }

    /// Ops of which slices leave the loop, and bytes of all of these together.
    pub fn leaving(&self) -> impl Iterator<Item = (OperationRef<'c, 'a>, u64)> {
        let all = self.outputs.iter().map(|output| (&self.members[output.member], output.value));
        let kept = all.filter(|(member, _)| matches!(member.role.results, Results::Kept(_)));
        kept.map(|(member, value)| (member.op, ir::bytes(value).cast_unsigned()))
    }

    /// Bytes of what is added up, which is there in all turns.
    pub fn added(&self) -> u64 {
        let sums = self
            .outputs
            .iter()
            .filter(|output| matches!(self.members[output.member].role.results, Results::Added(_)));
        sums.map(|output| ir::bytes(output.value).cast_unsigned()).sum()
    }

    /// Moves what has to be there before the loop.
    pub fn make_room(&self, build: &Builder<'c, 'a>) {
        for op in &self.early {
            build.move_before(*op, self.anchor);
        }
    }
}
