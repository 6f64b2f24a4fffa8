// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Steps done a slab at a time: what is independent along a dimension becomes a loop over it that overwrites its arrays.

use super::chain::{argument_attribute, is_donated};
use crate::counted::Open;
use crate::hold::Way;
use crate::ir::{self, Builder};
use crate::ir::{bytes, plain};
use crate::ops::access::{Along, Source};
use crate::ops::class::is_elementwise;
use crate::ops::loops;
use crate::rewrite::{defining_op, has_one_use, in_block, is_unused, location_of, uses, walk};
use crate::stream::emit::{Given, Leaf, Loop, Start};
use crate::stream::plan::{Chunk, Plan};
use crate::tables::Keys;
use crate::target::Storage;
use melior::ir::attribute::IntegerAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, Location, OperationRef, RegionLike, Type, Value, ValueLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;

/// How many slabs an array has to fall into.
const SLABS: i64 = 16;
/// Arrays of one step.
const MOST: usize = 64;
/// Ops between a result and what it is computed from: further up than this it is not followed.
const LONGEST: usize = 256;
/// A turn of the loop has at least this part of a chunk to do: it costs microseconds, the chunk milliseconds.
const LEAST: i64 = 16;

/// An array that may be overwritten, and what takes its place.
#[derive(Clone, Copy)]
pub struct Place<'c, 'a> {
    pub old: Value<'c, 'a>,
    pub new: Value<'c, 'a>,
}

/// A step and how to do it.
struct Step<'c, 'a> {
    places: Vec<Place<'c, 'a>>,
    plan: Plan<'c, 'a>,
    dim: usize,
    /// Units of a slab.
    slab: i64,
}

/// Makes all loops that pay; says how many.
pub fn run<'c: 'a, 'a>(
    root: OperationRef<'c, 'a>,
    build: &Builder<'c, 'a>,
    (chunk_bytes, min_bytes): (i64, i64),
    storage: &'static Storage,
) -> usize {
    let mut blocks = Vec::new();
    walk(root, |op| {
        match op_name(op) {
            "func.func" => blocks.extend(function_places(op)),
            "sdy.manual_computation" => blocks.extend(manual_places(op)),
            "stablehlo.while" if !loops::may_vanish(op) => blocks.extend(loop_places(op)),
            _ => {}
        }
        WalkResult::Advance
    });
    let mut loops = 0;
    for (block, mut places) in blocks {
        places.retain(|place| {
            place.old != place.new
                && place.old.r#type() == place.new.r#type()
                && plain(place.old).is_some()
                && bytes(place.old) >= min_bytes
                && defining_op(place.new).is_some_and(|op| op.block() == Some(block))
                && !is_updated_in_place(*place)
        });
        for group in groups(&places) {
            if let Some(step) = find(&group, chunk_bytes) {
                emit(&step, storage, build);
                loops += 1;
            }
        }
    }
    loops
}

/// Donated arguments of a function with the results that take their place.
pub fn function_places<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
) -> Option<(BlockRef<'c, 'a>, Vec<Place<'c, 'a>>)> {
    let block = function.region(0).ok()?.first_block()?;
    let end = block.terminator().filter(|end| matches!(op_name(*end), "func.return" | "stablehlo.return"))?;
    let results: Vec<Value<'c, 'a>> = end.operands().collect();
    let arguments = || (0..block.argument_count()).filter(|&index| is_donated(function, index));
    let mut taken = FxHashSet::default();
    let mut places = Vec::new();
    let mut donors = Vec::new();
    for index in arguments() {
        let old: Value = block.argument(index).ok()?.into();
        let named = argument_attribute(function, index, "tf.aliasing_output")
            .and_then(|attribute| IntegerAttribute::try_from(attribute).ok())
            .and_then(|number| usize::try_from(ffi::integer_value(number)).ok());
        match named.and_then(|number| Some((number, *results.get(number)?))) {
            Some((number, new)) => {
                taken.insert(number);
                places.push(Place { old, new });
            }
            None => donors.push(old),
        }
    }
    // A donor gives its memory to any result of its type.
    for old in donors {
        let fits = |number: &usize| !taken.contains(number) && results[*number].r#type() == old.r#type();
        if let Some(number) = (0..results.len()).find(fits) {
            taken.insert(number);
            places.push(Place { old, new: results[number] });
        }
    }
    Some((block, places))
}

/// Shards of donated arguments that a manual computation alone takes, with the shards of results that take their place.
pub fn manual_places<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<(BlockRef<'c, 'a>, Vec<Place<'c, 'a>>)> {
    let function = op.parent_operation().filter(|parent| op_name(*parent) == "func.func")?;
    let block = op.region(0).ok()?.first_block()?;
    let results: Vec<Value<'c, 'a>> = block.terminator()?.operands().collect();
    let (_, around) = function_places(function)?;
    let mut places = Vec::new();
    for Place { old, new } in around {
        let taken = op.operands().position(|operand| operand == old).filter(|_| has_one_use(old));
        let given = op.results().position(|result| Value::from(result) == new);
        if let (Some(taken), Some(given)) = (taken, given) {
            places.push(Place { old: block.argument(taken).ok()?.into(), new: *results.get(given)? });
        }
    }
    Some((block, places))
}

/// What a loop carries, with what it gives back for it.
pub fn loop_places<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<(BlockRef<'c, 'a>, Vec<Place<'c, 'a>>)> {
    let block = op.region(1).ok()?.first_block()?;
    let places = block
        .terminator()?
        .operands()
        .enumerate()
        .filter_map(|(index, new)| Some(Place { old: block.argument(index).ok()?.into(), new }))
        .collect();
    Some((block, places))
}

/// Whether the new contents are the old ones but for some updates.
fn is_updated_in_place(place: Place<'_, '_>) -> bool {
    let mut current = place.new;
    while let Some(op) = defining_op(current) {
        if op_name(op) != "stablehlo.dynamic_update_slice" {
            return false;
        }
        let Ok(operand) = op.operand(0) else { return false };
        current = operand;
    }
    current == place.old
}

/// Places that depend on each other, or on something in common, together.
fn groups<'c: 'a, 'a>(places: &[Place<'c, 'a>]) -> Vec<Vec<Place<'c, 'a>>> {
    let olds: FxHashMap<usize, usize> =
        places.iter().enumerate().map(|(index, place)| (ir::key(place.old), index)).collect();
    let mut group: Vec<usize> = (0..places.len()).collect();
    let mut owner: FxHashMap<usize, usize> = FxHashMap::default();
    for (index, place) in places.iter().enumerate() {
        let mut pending = vec![place.new];
        let mut budget = LONGEST;
        while let Some(value) = pending.pop() {
            if let Some(&other) = olds.get(&ir::key(value)) {
                merge(&mut group, index, other);
                continue;
            }
            let Some(op) = defining_op(value).filter(|_| budget > 0) else { continue };
            if let Some(other) = owner.insert(ir::key(value), index) {
                merge(&mut group, index, other);
                continue;
            }
            budget -= 1;
            // Constants tie nothing together.
            pending.extend(
                op.operands().filter(|operand| defining_op(*operand).is_none_or(|op| op.operand_count() > 0)),
            );
        }
    }
    let mut found: Vec<(usize, Vec<Place<'c, 'a>>)> = Vec::new();
    let mut known: FxHashMap<usize, usize> = FxHashMap::default();
    for (index, place) in places.iter().enumerate() {
        let number = *known.entry(group[index]).or_insert_with(|| {
            found.push((group[index], Vec::new()));
            found.len() - 1
        });
        found[number].1.push(*place);
    }
    found.into_iter().map(|(_, members)| members).filter(|members| members.len() <= MOST).collect()
}

fn merge(group: &mut [usize], left: usize, right: usize) {
    let (from, to) = (group[left].max(group[right]), group[left].min(group[right]));
    if from != to {
        group.iter_mut().filter(|number| **number == from).for_each(|number| *number = to);
    }
}

/// How to do a step a slab at a time, if it can be done and pays.
fn find<'c: 'a, 'a>(places: &[Place<'c, 'a>], chunk_bytes: i64) -> Option<Step<'c, 'a>> {
    let rank = places.iter().map(|place| plain(place.old).map_or(0, |tensor| tensor.rank())).min()?;
    (0..rank).find_map(|dim| along(places, dim, chunk_bytes))
}

fn along<'c: 'a, 'a>(places: &[Place<'c, 'a>], dim: usize, chunk_bytes: i64) -> Option<Step<'c, 'a>> {
    let units = plain(places[0].old)?.shape[dim];
    // One value cannot be in two places at once.
    let different: FxHashSet<usize> = places.iter().map(|place| ir::key(place.new)).collect();
    if different.len() < places.len() {
        return None;
    }
    let element = plain(places[0].old)?.element;
    let same = |place: &Place<'c, 'a>| {
        plain(place.old).is_some_and(|tensor| tensor.shape[dim] == units && tensor.element == element)
    };
    if units < SLABS || !places.iter().all(same) {
        return None;
    }
    let unit_bytes: i64 = places.iter().map(|place| bytes(place.old) / units).sum();
    let slab = (1..=units / SLABS).rev().find(|slab| {
        units % slab == 0 && (*slab == 1 || slab.checked_mul(unit_bytes).is_some_and(|b| b <= chunk_bytes))
    })?;
    if slab * unit_bytes < chunk_bytes / LEAST {
        return None;
    }
    let mut plan = Plan::new(units);
    for place in places {
        let along = plan.all_of(place.new, dim).ok()?;
        plan.add(place.new, along, &Keys::default()).ok()?;
    }
    // A slab is made of the same slab of everything else: what reaches beyond reads what another turn has overwritten.
    let reaches = |chunk: &Chunk| chunk.along.from != 0 || matches!(chunk.source, Source::Pad(_));
    if plan.chunks.iter().any(|chunk| reaches(chunk)) {
        return None;
    }
    (stands_alone(places, &plan, dim) && pays(places, &plan)?).then(|| Step {
        places: places.to_vec(),
        plan,
        dim,
        slab,
    })
}

/// Whether a loop may take all of the plan's ops along: nothing else reads the old arrays, and nothing that is computed
/// before the loop does.
fn stands_alone<'c: 'a, 'a>(places: &[Place<'c, 'a>], plan: &Plan<'c, 'a>, dim: usize) -> bool {
    let olds: FxHashSet<usize> = places.iter().map(|place| ir::key(place.old)).collect();
    let news: FxHashSet<usize> = places.iter().map(|place| ir::key(place.new)).collect();
    let taken: FxHashSet<usize> = plan
        .chunks
        .iter()
        .filter(|chunk| chunk.source != Source::Slice)
        .filter_map(|chunk| defining_op(chunk.value))
        .map(ir::op_key)
        .collect();
    let inside = |value: Value<'c, 'a>| uses(value).all(|used| taken.contains(&ir::op_key(used.user)));
    for chunk in &plan.chunks {
        let key = ir::key(chunk.value);
        let fine = match &chunk.source {
            _ if olds.contains(&key) => chunk.along.dim == dim && inside(chunk.value),
            Source::Slice => is_independent(chunk.value, &olds),
            // Made again for each slab, whoever else uses it.
            Source::Splat | Source::Iota => true,
            Source::Op(_) | Source::Pad(_) => {
                news.contains(&key) || inside(chunk.value) || is_independent(chunk.value, &olds)
            }
        };
        if !fine {
            return false;
        }
    }
    if !plan.wholes.iter().all(|whole| is_independent(*whole, &olds)) {
        return false;
    }
    // Arrays of the group that nothing in it reads may still be read elsewhere.
    if !places.iter().all(|place| inside(place.old)) {
        return false;
    }
    // The loop stands where the last of the new contents was computed: whoever uses one comes after.
    let Some(anchor) = last(places) else { return false };
    news_are_used_after(places, &taken, anchor)
}

fn news_are_used_after<'c: 'a, 'a>(
    places: &[Place<'c, 'a>],
    taken: &FxHashSet<usize>,
    anchor: OperationRef<'c, 'a>,
) -> bool {
    places.iter().all(|place| {
        uses(place.new).all(|used| {
            let Some(user) = in_block(used.user, anchor.block()) else { return false };
            taken.contains(&ir::op_key(used.user)) || ir::is_before(anchor, user)
        })
    })
}

/// The last of the ops that compute new contents.
fn last<'c: 'a, 'a>(places: &[Place<'c, 'a>]) -> Option<OperationRef<'c, 'a>> {
    let mut ops = places.iter().filter_map(|place| defining_op(place.new));
    let first = ops.next()?;
    Some(ops.fold(first, |last, op| if ir::is_before(last, op) { op } else { last }))
}

/// Whether a value is computed from none of the arrays, as far as that is easily seen.
fn is_independent(value: Value<'_, '_>, olds: &FxHashSet<usize>) -> bool {
    const BUDGET: usize = 64;
    let mut pending = vec![value];
    let mut seen = FxHashSet::default();
    while let Some(value) = pending.pop() {
        if olds.contains(&ir::key(value)) {
            return false;
        }
        if !seen.insert(ir::key(value)) {
            continue;
        }
        if seen.len() > BUDGET {
            return false;
        }
        if let Some(op) = defining_op(value) {
            if op.region_count() > 0 {
                return false;
            }
            pending.extend(op.operands());
        }
    }
    true
}

/// Whether new contents need old ones after these would have been overwritten: of neighbouring places, or of each other.
/// `None` where something in it costs more than moving it about: how to do that in parts is for others to say.
fn pays(places: &[Place<'_, '_>], plan: &Plan<'_, '_>) -> Option<bool> {
    let number: FxHashMap<usize, usize> =
        places.iter().enumerate().map(|(index, place)| (ir::key(place.old), index)).collect();
    let half = bytes(places[0].old) / 2;
    // Per value: arrays it needs in the same places, and in others.
    let mut needs: FxHashMap<usize, (u64, u64)> = FxHashMap::default();
    for chunk in &plan.chunks {
        let key = ir::key(chunk.value);
        let mut need = (0, 0);
        if let Some(&index) = number.get(&key) {
            need.0 = 1 << index;
        } else if let (Source::Op(_), Some(op)) = (&chunk.source, defining_op(chunk.value)) {
            for operand in op.operands() {
                let (same, other) = needs.get(&ir::key(operand)).copied().unwrap_or((0, 0));
                need = (need.0 | same, need.1 | other);
            }
            // What is small is there before anything is overwritten that depends on it.
            let keeps_places = bytes(chunk.value) < half
                || match op_name(op) {
                    "stablehlo.broadcast_in_dim" | "stablehlo.reshape" => true,
                    // The rest of the array stays where it was.
                    "stablehlo.dynamic_update_slice" => op.operand(1).is_ok_and(|value| bytes(value) < half),
                    "stablehlo.dot_general" | "stablehlo.scatter" | "stablehlo.while" => return None,
                    name => is_elementwise(name),
                };
            if !keeps_places {
                need = (0, need.0 | need.1);
            }
        }
        needs.insert(key, need);
    }
    let of = |place: &Place<'_, '_>| needs.get(&ir::key(place.new)).copied().unwrap_or((0, 0));
    let shifted = places.iter().any(|place| of(place).1 != 0);
    let each_other = places.iter().enumerate().any(|(index, place)| {
        places[..index]
            .iter()
            .enumerate()
            .any(|(before, other)| (of(place).0 >> before) & 1 == 1 && (of(other).0 >> index) & 1 == 1)
    });
    Some(shifted || each_other)
}

/// Makes the loop and lets its results take the place of the new contents.
fn emit<'c: 'a, 'a>(step: &Step<'c, 'a>, storage: &'static Storage, build: &Builder<'c, 'a>) {
    let Step { places, plan, dim, slab } = step;
    let Some(anchor) = last(places) else { return };
    let ops: Vec<_> = places.iter().filter_map(|place| defining_op(place.new)).collect();
    let location = location_of(&ops).unwrap_or(anchor.location());
    let olds: FxHashMap<usize, usize> =
        places.iter().enumerate().map(|(index, place)| (ir::key(place.old), index)).collect();
    let read: Vec<usize> =
        (0..places.len()).filter(|&index| plan.position_of_all(places[index].old, *dim).is_some()).collect();
    let mut captured: Vec<Value<'c, 'a>> = Vec::new();
    let sliced = plan.chunks.iter().filter(|chunk| chunk.source == Source::Slice).map(|chunk| chunk.value);
    for value in sliced.chain(plan.wholes.iter().copied()) {
        let known = olds.contains_key(&ir::key(value)) || ir::splat_constant(value).is_some();
        if !known && !captured.contains(&value) {
            captured.push(value);
        }
    }

    build.set_insertion_point_before(anchor);
    let carried: Vec<Value> = places.iter().map(|place| place.old).chain(captured.iter().copied()).collect();
    let turn = Open::new(build, (0..plan.units, *slab), &carried, location);
    let at = turn.at;
    let (arrays, given) = turn.carried.split_at(places.len());
    let mut wholes: FxHashMap<usize, Value<'c, 'a>> =
        captured.iter().map(|value| ir::key(*value)).zip(given.iter().copied()).collect();
    for whole in &plan.wholes {
        // Constants are made again inside the loop, which back ends see through better than through a carried value.
        if let Some(op) = defining_op(*whole).filter(|_| ir::splat_constant(*whole).is_some()) {
            let copy = build.copy_with(op, &[], &[], &[whole.r#type()]);
            wholes.insert(ir::key(*whole), copy.result(0).expect("constants have a result").into());
        }
    }
    let slabs = slabs(step, &read, (at, arrays), storage, build, location);
    let maker = Loop {
        build,
        // It makes chunks, and no loop of its own.
        storage,
        plan,
        consumers: &[],
        chunk: *slab,
        part: (i64::MAX, i64::MAX),
        sunk: &[],
    };
    let mut chunks: Vec<Value<'c, 'a>> = Vec::with_capacity(plan.chunks.len());
    // Everything else that is sliced came into the loop from outside.
    let leaf = |chunk: &Chunk<'c, 'a>| {
        let value = wholes.get(&ir::key(chunk.value)).copied().unwrap_or(chunk.value);
        (chunk.source == Source::Slice).then_some(Leaf { value, from: 0 })
    };
    let leaves = plan.chunks.iter().map(|chunk| leaf(chunk)).collect();
    let given_inside = Given { leaves, wholes };
    let mut done = FxHashMap::default();
    for (index, chunk) in plan.chunks.iter().enumerate() {
        let array = olds.get(&ir::key(chunk.value)).and_then(|index| read.iter().position(|r| r == index));
        chunks.push(match array {
            Some(position) => slabs[position],
            None => maker.chunk(index, Start::At(at), *slab, &given_inside, &chunks, &mut done),
        });
    }
    let mut next = Vec::new();
    for (place, array) in places.iter().zip(arrays) {
        let rank = plain(place.old).map_or(0, |tensor| tensor.rank());
        let new = chunks[plan.position_of_all(place.new, *dim).expect("new contents are planned")];
        next.push(build.dynamic_update_slice(
            *array,
            new,
            &starts(rank, *dim, at, build, location),
            location,
        ));
    }
    next.extend(given);
    let op = turn.close(&next);

    for (index, place) in places.iter().enumerate() {
        let result = op.result(1 + index).expect("a result per operand").into();
        build.replace_all_uses_with(place.new, result);
    }
    erase_dead(plan, build);
}

/// Where a slab begins that begins at `at` along a dimension.
fn starts<'c: 'a, 'a>(
    rank: usize,
    dim: usize,
    at: Value<'c, 'a>,
    build: &Builder<'c, 'a>,
    location: Location<'c>,
) -> Vec<Value<'c, 'a>> {
    let mut starts = vec![build.i64_constant(0, location); rank];
    starts[dim] = at;
    starts
}

/// The slabs that begin at `at` of those of the loop's arrays that are read.
fn slabs<'c: 'a, 'a>(
    step: &Step<'c, 'a>,
    read: &[usize],
    (at, arrays): (Value<'c, 'a>, &[Value<'c, 'a>]),
    storage: &'static Storage,
    build: &Builder<'c, 'a>,
    location: Location<'c>,
) -> Vec<Value<'c, 'a>> {
    let Step { plan, dim, slab, .. } = step;
    let slab_type =
        |value: Value<'c, 'a>| plan.chunk_type(value.r#type(), Along { dim: *dim, run: 1, from: 0 }, *slab);
    let slab_of = |index: usize| {
        let array = arrays[index];
        let rank = plain(array).map_or(0, |tensor| tensor.rank());
        build.dynamic_slice(array, &starts(rank, *dim, at, build, location), slab_type(array), location)
    };
    if let [only] = read {
        return vec![slab_of(*only)];
    }
    // All slabs are read before any is written. Slabs that are not held would be computed wherever one is used: an update would read
    // what the one before has written, or a copy of it.
    let types: Vec<Type> = read.iter().map(|&index| slab_type(arrays[index])).collect();
    let way = Way::of(storage, || {
        let end = build.i64_constant(plan.units, location);
        build.compare(ComparisonDirection::Lt, at, end, location)
    });
    way.hold(build, &types, location, || read.iter().map(|&index| slab_of(index)).collect())
}

/// Erases what was computed in one piece and is computed in slabs now.
fn erase_dead<'c: 'a, 'a>(plan: &Plan<'c, 'a>, build: &Builder<'c, 'a>) {
    let dead: Vec<_> = plan
        .chunks
        .iter()
        .rev()
        .filter(|chunk| chunk.source != Source::Slice)
        .filter_map(|chunk| defining_op(chunk.value))
        .collect();
    let mut gone = FxHashSet::default();
    for op in dead {
        if gone.insert(ir::op_key(op)) && is_unused(op) {
            build.erase(op);
        }
    }
    for op in plan.wholes.iter().filter_map(|whole| defining_op(*whole)).collect::<Vec<_>>() {
        if gone.insert(ir::op_key(op)) && is_unused(op) {
            build.erase_with_dead_producers(op, |_| {});
        }
    }
}
