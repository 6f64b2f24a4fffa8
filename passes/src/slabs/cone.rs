// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is computed in slabs together: results, and what they are made of that nothing else needs.

use super::SLABS;
use super::rows::{self, Inside, Needs, Rows};
use crate::ir::{self, discardable_attributes};
use crate::ir::{bytes, plain};
use crate::ops::access::{self, Along, Source};
use crate::ops::class::{self, is_costly, is_elementwise};
use crate::rewrite::{Use, defining_op, in_block, ops_in, uses};
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, Value, ValueLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::op_name;

/// Slabs have at least so many times as many rows as the halo, mostly ...
const LEAST: i64 = 4;
/// ... so many times.
const WANTED: i64 = 8;
/// Updates of a field before a step that are looked through.
const MOST_UPDATES: usize = 64;
/// A field that is overwritten for that alone is at least so many times as large as the slabs asked for: a smaller one stays in caches.
const LARGE: i64 = 4;
/// What takes no more reads of other values is computed wherever it is needed.
const FEW_READS: u32 = 3;
/// Reads that take as long as a function.
const COSTLY: u32 = 4;
/// Ops before a loop that are looked at.
const FAR: usize = 256;

/// What values take the place of; nothing for one that takes several.
pub type Olds<'c, 'a> = FxHashMap<usize, Option<Value<'c, 'a>>>;

/// A value computed in slabs.
#[derive(Clone, Copy)]
pub struct Member<'c, 'a> {
    pub op: OperationRef<'c, 'a>,
    pub value: Value<'c, 'a>,
    /// The dimension along which it is.
    pub dim: usize,
}

/// Results to compute together, and the ops that make them.
pub struct Cone<'c, 'a> {
    pub targets: Vec<Member<'c, 'a>>,
    /// What each target takes the place of, where that may be overwritten.
    pub olds: Vec<Option<Value<'c, 'a>>>,
    /// Reductions along the dimension of the slabs: the loop adds them up. Their values are what they reduce.
    pub totals: Vec<Member<'c, 'a>>,
    /// In program order.
    pub members: Vec<Member<'c, 'a>>,
    /// The extent of the smallest target.
    pub units: i64,
}

/// Whether an op is done again wherever it is needed.
fn is_free(op: OperationRef<'_, '_>) -> bool {
    matches!(op_name(op), "stablehlo.constant" | "stablehlo.iota" | "stablehlo.broadcast_in_dim")
}

/// Whether an op may be done later.
fn moves_freely(op: OperationRef<'_, '_>) -> bool {
    const MORE: [&str; 5] = [
        "stablehlo.reduce",
        "stablehlo.dot_general",
        "stablehlo.pad",
        "stablehlo.concatenate",
        "stablehlo.dynamic_update_slice",
    ];
    class::is_fusible(op_name(op)) || MORE.contains(&op_name(op))
}

/// For each operand along which dimension rows of an op's result are made of rows of it; none if it is used whole. `None` if
/// rows are not made of rows.
pub fn operand_dims(op: OperationRef<'_, '_>, dim: usize) -> Option<Vec<Option<usize>>> {
    let result = plain(ir::first_result(op)?)?;
    let name = op_name(op);
    match name {
        "stablehlo.constant" => return ir::splat_constant(ir::first_result(op)?).map(|_| Vec::new()),
        "stablehlo.iota" => return Some(Vec::new()),
        "stablehlo.slice" => return (ir::i64_array(op, "strides")?[dim] == 1).then(|| vec![Some(dim)]),
        "stablehlo.pad" => {
            return (ir::i64_array(op, "interior_padding")?[dim] == 0).then(|| vec![Some(dim), None]);
        }
        "stablehlo.concatenate" => return Some(vec![Some(dim); op.operand_count()]),
        "stablehlo.dynamic_update_slice" => {
            rows::updated(op, dim)?;
            return Some((0..op.operand_count()).map(|index| (index < 2).then_some(dim)).collect());
        }
        _ if class::is_fusible(name) && name != "stablehlo.dynamic_slice" => {}
        "stablehlo.reduce" | "stablehlo.transpose" | "stablehlo.reshape" | "stablehlo.reverse" => {}
        _ => return None,
    }
    let along = Along { dim, run: 1, from: 0 };
    let Ok(Source::Op(operands)) = access::source_of(op, 0, &result, along, result.shape[dim]) else {
        return None;
    };
    operands
        .iter()
        .map(|along| match along {
            Some(along) => (along.run == 1 && along.from == 0).then_some(Some(along.dim)),
            None => Some(None),
        })
        .collect()
}

impl<'c: 'a, 'a> Cone<'c, 'a> {
    /// What the targets are made of and nothing else needs; those that have ops in common together.
    pub fn all(
        block: BlockRef<'c, 'a>,
        targets: &[Member<'c, 'a>],
        totals: &[Member<'c, 'a>],
        olds: &Olds<'c, 'a>,
    ) -> Vec<Self> {
        let wanted: FxHashSet<usize> = targets.iter().map(|target| ir::key(target.value)).collect();
        let (found, places) = Self::found(block, targets, totals, &wanted);
        let total: FxHashSet<usize> = totals.iter().map(|total| ir::op_key(total.op)).collect();
        // Users are found before what they use.
        let mut group: Vec<usize> = (0..found.len()).collect();
        let operands = |at: usize| {
            let ops = found[at].op.operands().filter_map(defining_op);
            ops.filter_map(|op| places.get(&ir::op_key(op)).copied()).collect::<Vec<_>>()
        };
        for at in 0..found.len() {
            for operand in operands(at).into_iter().filter(|&operand| !is_free(found[operand].op)) {
                unite(&mut group, at, operand);
            }
        }
        // What reads a field is in the loop that overwrites it, or it could not.
        for at in 0..found.len() {
            let old = olds.get(&ir::key(found[at].value)).copied().flatten();
            let users = old.into_iter().flat_map(uses).map(|used| ir::op_key(used.user));
            for user in users.filter_map(|user| places.get(&user).copied()) {
                if wanted.contains(&ir::key(found[at].value)) && !is_free(found[user].op) {
                    unite(&mut group, at, user);
                }
            }
        }
        let mut cones: Vec<Self> = Vec::new();
        let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); found.len()];
        for at in 0..found.len() {
            let member = found[at];
            if !is_free(member.op) || wanted.contains(&ir::key(member.value)) {
                let own = *numbers.entry(root(&mut group, at)).or_insert_with(|| {
                    cones.push(Self {
                        targets: Vec::new(),
                        olds: Vec::new(),
                        totals: Vec::new(),
                        members: Vec::new(),
                        units: i64::MAX,
                    });
                    cones.len() - 1
                });
                users[at].push(own);
            }
            let mut own = std::mem::take(&mut users[at]);
            own.sort_unstable();
            own.dedup();
            for operand in operands(at).into_iter().filter(|&operand| is_free(found[operand].op)) {
                users[operand].extend(&own);
            }
            for number in own {
                if total.contains(&ir::op_key(member.op)) {
                    cones[number].totals.push(member);
                    continue;
                }
                cones[number].members.push(member);
                if wanted.contains(&ir::key(member.value)) {
                    let extent = plain(member.value).map_or(0, |tensor| tensor.shape[member.dim]);
                    cones[number].units = cones[number].units.min(extent);
                    cones[number].targets.push(member);
                    cones[number].olds.push(olds.get(&ir::key(member.value)).copied().flatten());
                }
            }
        }
        cones.retain(|cone| !cone.targets.is_empty());
        cones.iter_mut().for_each(|cone| {
            cone.members.reverse();
            cone.totals.reverse();
            cone.keep_what_others_read();
        });
        // Totals are there for the fields that can be overwritten with them.
        let in_vain = |cone: &Self| {
            !cone.totals.is_empty() && (cone.olds.iter().all(Option::is_none) || !cone.stands_alone())
        };
        if cones.iter().any(in_vain) {
            return Self::all(block, targets, &[], olds);
        }
        cones.retain(Self::stands_alone);
        cones
    }

    /// All that targets and totals are computed from slab by slab, users first, and the place of each op among that.
    fn found(
        block: BlockRef<'c, 'a>,
        targets: &[Member<'c, 'a>],
        totals: &[Member<'c, 'a>],
        wanted: &FxHashSet<usize>,
    ) -> (Vec<Member<'c, 'a>>, FxHashMap<usize, usize>) {
        let total: FxHashMap<usize, Member<'c, 'a>> =
            totals.iter().map(|total| (ir::op_key(total.op), *total)).collect();
        // The dimensions along which values are taken; none if they are taken in different ways.
        let mut taken: FxHashMap<usize, Option<usize>> =
            targets.iter().map(|target| (ir::key(target.value), Some(target.dim))).collect();
        let mut found: Vec<Member<'c, 'a>> = Vec::new();
        let mut places: FxHashMap<usize, usize> = FxHashMap::default();
        let mut retained: FxHashSet<usize> = FxHashSet::default();
        let ops: Vec<_> = ops_in(block).collect();
        for op in ops.into_iter().rev() {
            let Some(value) = ir::first_result(op).filter(|_| op.result_count() == 1) else {
                continue;
            };
            if let Some(total) = total.get(&ir::op_key(op)) {
                taken.entry(ir::key(total.value)).or_insert(Some(total.dim));
                places.insert(ir::op_key(op), found.len());
                found.push(*total);
                continue;
            }
            let Some(Some(dim)) = taken.get(&ir::key(value)).copied() else { continue };
            let alone = uses(value).all(|used| {
                let user = ir::op_key(used.user);
                places.contains_key(&user) && !retained.contains(&user)
            });
            let is_target = wanted.contains(&ir::key(value));
            let fits = plain(value).is_some_and(|tensor| dim < tensor.rank())
                && discardable_attributes(op).is_empty()
                && (alone || is_target || is_free(op));
            let Some(dims) = fits.then(|| operand_dims(op, dim)).flatten() else { continue };
            if !alone && !is_target {
                retained.insert(ir::op_key(op));
            }
            for (operand, dim) in op.operands().zip(dims) {
                let known = taken.entry(ir::key(operand)).or_insert(dim);
                if *known != dim {
                    *known = None;
                }
            }
            places.insert(ir::op_key(op), found.len());
            found.push(Member { op, value, dim });
        }
        (found, places)
    }

    /// Forgets about olds that may not be overwritten slab by slab: that something else reads, or as a whole. What the loop waits for may.
    fn keep_what_others_read(&mut self) {
        let members = self.members.iter().filter(|member| !is_free(member.op));
        let dims: FxHashMap<usize, usize> =
            members.map(|member| (ir::op_key(member.op), member.dim)).collect();
        let totals: FxHashMap<usize, usize> =
            self.totals.iter().map(|total| (ir::op_key(total.op), total.dim)).collect();
        for old in self.olds.iter_mut() {
            *old = old.map(|old| version_read(old, &dims));
        }
        let before = self.what_comes_before();
        let element = |value: Value<'c, 'a>| ir::element_of(value.r#type());
        // What is held is one value.
        let alike = self.targets.iter().all(|target| element(target.value) == element(self.targets[0].value));
        for (target, old) in self.targets.iter().zip(&mut self.olds) {
            let by_rows = |old: Value<'c, 'a>| {
                uses(old).all(|used| {
                    let user = ir::op_key(used.user);
                    let of_total = totals.get(&user).filter(|_| used.operand == 0).copied();
                    let of_member = || *operand_dims(used.user, *dims.get(&user)?)?.get(used.operand)?;
                    before.contains(&user) || of_total.or_else(of_member) == Some(target.dim)
                })
            };
            *old = old.filter(|old| alike && old.r#type() == target.value.r#type() && by_rows(*old));
        }
    }

    /// Whether rows are made of others than those in the same place: elementwise steps need no slabs to overwrite their fields.
    pub fn moves(&self) -> bool {
        self.members.iter().any(|member| {
            matches!(
                op_name(member.op),
                "stablehlo.slice"
                    | "stablehlo.pad"
                    | "stablehlo.concatenate"
                    | "stablehlo.dynamic_update_slice"
            )
        })
    }

    /// Whether something else reads a field that could be overwritten but for that.
    pub fn lacks_olds(&self, olds: &Olds<'c, 'a>) -> bool {
        let had = |target: &Member<'c, 'a>| olds.get(&ir::key(target.value)).copied().flatten().is_some();
        self.moves() && self.targets.iter().zip(&self.olds).any(|(target, old)| old.is_none() && had(target))
    }

    /// Ops around the cone that are done before the loop begins, wherever a back end fuses them: what waits for them is the loop alone, or
    /// they are reductions, which are done once. The time step that the fastest wave allows is made of fields so.
    fn what_comes_before(&self) -> FxHashSet<usize> {
        let own: FxHashSet<usize> =
            self.members.iter().chain(&self.totals).map(|member| ir::op_key(member.op)).collect();
        let block = self.anchor().block();
        let operands = self.members.iter().flat_map(|member| member.op.operands());
        let mut open: Vec<_> = operands.filter_map(defining_op).collect();
        let (mut seen, mut before) = (FxHashSet::default(), FxHashSet::default());
        if self.olds.iter().all(Option::is_none) || !self.moves() {
            return before;
        }
        while let Some(op) = open.pop() {
            let key = ir::op_key(op);
            if op.block() != block || own.contains(&key) || seen.len() >= FAR {
                continue;
            }
            let waits = |used: Use<'c, 'a>| {
                let user = ir::op_key(used.user);
                own.contains(&user) || before.contains(&user)
            };
            let comes_before = op_name(op) == "stablehlo.reduce"
                || op.results().flat_map(|result| uses(result.into())).all(waits);
            // Once when something needs it, and again when all of that comes before, too.
            if seen.insert(key) | (comes_before && before.insert(key)) {
                open.extend(op.operands().filter_map(defining_op));
            }
        }
        before
    }

    /// The last of the ops that compute results: the loop goes there.
    pub fn anchor(&self) -> OperationRef<'c, 'a> {
        let first = self.targets[0].op;
        let ops = self.targets.iter().chain(&self.totals).map(|member| member.op);
        ops.fold(first, |last, op| if ir::is_before(last, op) { op } else { last })
    }

    /// Whether the results can all be made where the last of them is: nothing that it takes needs one of them.
    fn stands_alone(&self) -> bool {
        self.users_before_anchor().is_some()
    }

    /// What needs a result and comes before the last of them: it can come after it as well, unless a result needs it in turn (`None`).
    pub fn users_before_anchor(&self) -> Option<Vec<OperationRef<'c, 'a>>> {
        let anchor = self.anchor();
        let own: FxHashSet<usize> =
            self.members.iter().chain(&self.totals).map(|member| ir::op_key(member.op)).collect();
        let totals: FxHashSet<usize> = self.totals.iter().map(|total| ir::op_key(total.op)).collect();
        let mut late = FxHashSet::default();
        let mut pending: Vec<OperationRef<'c, 'a>> =
            self.targets.iter().chain(&self.totals).map(|member| member.op).collect();
        let mut found = Vec::new();
        while let Some(op) = pending.pop() {
            for used in op.results().flat_map(|result| uses(result.into())) {
                let user = in_block(used.user, anchor.block())?;
                let key = ir::op_key(user);
                if own.contains(&key) {
                    // Members read other targets' rows.
                    let by_rows = own.contains(&ir::op_key(op)) && !totals.contains(&ir::op_key(op));
                    by_rows.then_some(())?;
                } else if !ir::is_before(anchor, user) && late.insert(key) {
                    moves_freely(user).then_some(())?;
                    found.push(user);
                    pending.push(user);
                }
            }
        }
        found.sort_by(|left, right| match ir::is_before(*left, *right) {
            true => std::cmp::Ordering::Less,
            false => std::cmp::Ordering::Greater,
        });
        Some(found)
    }

    /// Whether much is stored between the fields and the results, as far as is easily seen: the memory model has the last word.
    fn stores(&self) -> bool {
        let results: FxHashSet<usize> = self.targets.iter().map(|target| ir::key(target.value)).collect();
        let between = self.members.iter().filter(|member| {
            !is_free(member.op)
                && !results.contains(&ir::key(member.value))
                && match op_name(member.op) {
                    "stablehlo.concatenate" | "stablehlo.dynamic_update_slice" | "stablehlo.reduce" => true,
                    "stablehlo.pad" => true,
                    name => is_elementwise(name) && uses(member.value).nth(1).is_some(),
                }
        });
        // A field that is updated from itself: each part of it is stored before the update.
        let members: FxHashSet<usize> = self.members.iter().map(|member| ir::op_key(member.op)).collect();
        let parts = self.members.iter().filter(|member| {
            let slice = op_name(member.op) == "stablehlo.slice";
            let base = member.op.operands().next().filter(|_| slice);
            base.into_iter().flat_map(uses).any(|used| {
                used.operand == 0
                    && op_name(used.user) == "stablehlo.dynamic_update_slice"
                    && members.contains(&ir::op_key(used.user))
            })
        });
        let all =
            |values: &mut dyn Iterator<Item = Value<'c, 'a>>| values.map(bytes).fold(0, i64::saturating_add);
        all(&mut between.chain(parts).map(|member| member.value))
            >= all(&mut self.targets.iter().map(|target| target.value))
    }

    /// Values that are stored in each slab: several read them, and computing them for each would take reading more of other values. A
    /// back end that fuses whatever it can would do all of a stage for each neighbour that the next one reads, and that again for
    /// each of its neighbours.
    pub fn stored(&self, needs: &Needs) -> FxHashSet<usize> {
        let mut stored = FxHashSet::default();
        let totals = !self.totals.is_empty();
        let results: FxHashSet<usize> = self.targets.iter().map(|target| ir::key(target.value)).collect();
        let members: FxHashSet<usize> = self.members.iter().map(|member| ir::op_key(member.op)).collect();
        let mut reads: FxHashMap<usize, u32> = FxHashMap::default();
        for member in self.members.iter().filter(|member| !needs.rows(member.value).is_empty()) {
            let name = op_name(member.op);
            let mut operands: Vec<Value<'c, 'a>> =
                member.op.operands().filter(|value| !ir::is_rank_zero(*value)).collect();
            operands.sort_by_key(|value| ir::key(*value));
            operands.dedup();
            let of = operands.iter().map(|value| reads.get(&ir::key(*value)).copied().unwrap_or(1));
            let mut own = match name {
                _ if is_free(member.op) => 0,
                "stablehlo.concatenate" => of.max().unwrap_or(0),
                _ => of.fold(u32::from(is_costly(name)) * COSTLY, u32::saturating_add),
            };
            let users = uses(member.value).map(|used| used.user).filter(|user| {
                let value = ir::first_result(*user);
                members.contains(&ir::op_key(*user))
                    && value.is_some_and(|value| !needs.rows(value).is_empty())
            });
            // What is a result and goes into a total is read by the update and by the reduction.
            let twice = totals && results.contains(&ir::key(member.value));
            if own > FEW_READS && is_elementwise(name) && users.count() + usize::from(twice) > 1 {
                stored.insert(ir::key(member.value));
                own = 1;
            }
            reads.insert(ir::key(member.value), own);
        }
        stored
    }

    /// Rows of a slab, where the first one begins that is like all others, and how many there are of these.
    pub fn slabs(&self, slab_bytes: i64) -> Option<(i64, i64, i64)> {
        // How far rows reach beyond a slab does not depend on how many it has.
        let mut inside = Inside::new(self.units);
        let needs = Needs::of(self, |_| Rows { from: 0, to: self.units }, Some(&mut inside));
        let halo = needs.halo(self.units);
        let reaches = |rows: &Rows| rows.from < 0 || rows.to > self.units;
        let overwrites = self.olds.iter().flatten().any(|old| {
            needs.rows(*old).iter().any(reaches) && bytes(*old) >= slab_bytes.saturating_mul(LARGE)
        });
        if !self.moves() || !overwrites && !self.stores() {
            return None;
        }
        let row = self.members.iter().filter(|member| !is_free(member.op)).map(|member| {
            let extent = plain(member.value).map_or(1, |tensor| tensor.shape[member.dim]);
            bytes(member.value) / extent.max(1)
        });
        let row = row.max().unwrap_or(1).max(1);
        let slab = (WANTED * halo).max(slab_bytes / row).min(self.units / SLABS);
        if slab < (LEAST * halo).max(2) {
            return None;
        }
        // Where a field is overwritten, turns hand on a row before the slab at least.
        let first = i64::from(self.olds.iter().any(Option::is_some));
        let (low, high) = (inside.low.max(first), inside.high.min(self.units));
        let count = (high - low) / slab;
        // What is left goes to the slabs: the last rows are done by themselves.
        let slab = if count > 0 { (high - low) / count } else { slab };
        // Ends are a slab together, at most two.
        let rest = self.units - count * slab;
        (count >= 2 && rest <= 2 * slab + 2 * halo).then_some((slab, low, count))
    }
}

/// The first of a field's versions that some of the numbered ops read: it may have been updated in its place before.
fn version_read<'c: 'a, 'a>(old: Value<'c, 'a>, members: &FxHashMap<usize, usize>) -> Value<'c, 'a> {
    let mut version = old;
    for _ in 0..MOST_UPDATES {
        if uses(version).any(|used| members.contains_key(&ir::op_key(used.user))) {
            return version;
        }
        let update = uses(version)
            .find(|used| used.operand == 0 && op_name(used.user) == "stablehlo.dynamic_update_slice");
        match update.and_then(|update| ir::first_result(update.user)) {
            Some(result) => version = result,
            None => break,
        }
    }
    old
}

fn unite(group: &mut [usize], left: usize, right: usize) {
    let (left, right) = (root(group, left), root(group, right));
    group[left.max(right)] = left.min(right);
}

fn root(group: &mut [usize], mut at: usize) -> usize {
    while group[at] != at {
        group[at] = group[group[at]];
        at = group[at];
    }
    at
}
