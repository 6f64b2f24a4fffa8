// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-hold-shared`: what devices compute from parts joined to their own, and read in several places, is there before it is read.
//!
//! # What it matches
//!
//! In a manual computation over all axes of a mesh, the result of an elementwise op that several ops read, there or where the
//! computation returns it, if what one kernel would compute it from is made of two or more `concatenate` and `pad` ops as large as half of it or more:
//!
//! ```mlir
//! %east = stablehlo.concatenate %own, %received
//! %west = stablehlo.concatenate %sent, %own
//! %difference = stablehlo.subtract %east, %west
//! %strip = stablehlo.dynamic_slice %difference, ...     // for another exchange
//! %result = stablehlo.add %difference, ...
//! ```
//!
//! becomes
//!
//! ```mlir
//! %difference = stablehlo.subtract %east, %west
//! %held = "stablehlo.if"(%always) ({ stablehlo.return %difference }, { ... })
//! %strip = stablehlo.dynamic_slice %held, ...
//! %result = stablehlo.add %held, ...
//! ```
//!
//! To a back end computations are one where what one of them returns is read in another, and what is computed between them is
//! part of that: it is held where it is made, or where the computation begins that reads it.
//!
//! So it does, in loops as well, with what is computed, or cut out, and then updated, and of which a part is cut out besides, if
//! it is made of what was updated, joined or padded:
//!
//! ```mlir
//! %new = stablehlo.dynamic_update_slice %x, %row, ...
//! %twice = stablehlo.add %new, %new
//! %part = stablehlo.dynamic_slice %twice, ...
//! %got = stablehlo.collective_permute %part
//! %next = stablehlo.dynamic_update_slice %twice, %got, ...
//! // becomes
//! %twice = stablehlo.add %new, %new
//! %held = "stablehlo.if"(%always) ({ stablehlo.return %twice }, { ... })
//! %part = stablehlo.dynamic_slice %held, ...
//! ...
//! ```
//!
//! So it does with a result that one op reads, the end of the computation, if the program returns it without what is beyond
//! its ends, and parts of that do not come out even along all axes: partitioners move columns between devices that are
//! along the others, then gather, and read the result for each.
//!
//! And, in loops as well, a part of an array that is then updated at another place, where a thin update has made the
//! array (one element along a dimension along which the array has more): it is cut out inside of the branch.
//!
//! ```mlir
//! %new = stablehlo.dynamic_update_slice %x, %row, ...
//! %part = stablehlo.dynamic_slice %new, ...
//! %got = stablehlo.collective_permute %part
//! %next = stablehlo.dynamic_update_slice %new, %got, ...
//! // becomes
//! %part = "stablehlo.if"(%always) ({ stablehlo.dynamic_slice %new, ... }, { ... })
//! ```
//!
//! Neither is a part computed with later that is put somewhere when the array has been updated: it is cut out inside of a branch before that, and
//! where the update goes depends on it. Numbers that say where the part is go along: in which order a block has them is nobody's meaning, and
//! `--slimhlo-take-turns` changes it.
//!
//! ```mlir
//! %new = stablehlo.dynamic_update_slice %x, %got, %place, ...
//! %part = stablehlo.slice %x ...
//! %next = stablehlo.dynamic_update_slice %new, %part, ...
//! // becomes
//! %part = "stablehlo.if"(%always) ({ stablehlo.slice %x ... }, { ... })
//! %zero = stablehlo.clamp %none, %bits_of_part, %none
//! %then = stablehlo.add %place, %zero
//! %new = stablehlo.dynamic_update_slice %x, %got, %then, ...
//! ```
//!
//! # Why it is right
//!
//! The branch is always taken (`hold.rs`), and hands on what it is given. What is between zero and zero is zero.
//!
//! # Why it pays
//!
//! XLA for CPU computes what is elementwise again in each kernel that reads it, but not what is joined or padded: that it stores
//! once for all. So it stores several arrays for one, and has them all at once. What a branch hands on it stores, and computes what it is
//! made of on the way. A stencil of a field of 3 x 190 x 161 numbers on 4 x 2 devices, rotated, takes 190 KiB of temporaries so, and
//! 560 KiB else (`test/oracle/sharded_fields.py --seed 7 --count 44 --only halo+stencil+rotate`).
//!
//! So are rotated numbers of 4 x 252 x 252 that a stencil joins and pads, where a wrap of the other dimension is another computation: 124 KiB
//! on 4 x 4 devices, and 376 KiB else (seed 402, module 118).
//!
//! What is made before an update XLA makes again for the part that is cut out, and so it does with the update where something
//! is computed of that in turn: both arrays are there for as long as what is received is on its way. Five updates
//! of 6 x 60 x 60 numbers by other parts of them in a loop on 3 x 4 devices, with sums in between, take 44 KB of temporaries
//! so, and 101 KB else (`test/oracle/sharded_fields.py --seed 107 --number 68`).
//!
//! What is less than the array by a dimension XLA takes for something small beside it, and the update for one that may
//! be computed again for each reader. The part it then cuts out of the array from before the update, which it keeps: a
//! copy of all of it. Ten updates of the halos of 57 x 36 numbers in a loop on 4 devices, two of them thin, take 1.6 KB
//! of temporaries so, and 17 KB else (seed 13, module 79).
//!
//! A part that is put where it belongs after another XLA cuts out there and then, of a copy of the array from before: all of it
//! for a part. A part of 37 columns moved twice within 4 x 84 x 114 numbers on 8 devices takes 119 KB of temporaries so, and 132 KB
//! else (`--kinds partial`, seed 1, module 8).
//!
//! # What it costs
//!
//! A branch per value. One walk; of each value that several read, and of each part of an array that is updated, some
//! ops before it are looked at.
//!
//! # When it must not fire
//!
//! * One op reads it, or one array is joined or padded for it: that is stored in its place, unless it is updated next.
//! * An update wrote as many dimensions as the array has, or nothing is updated after the part is cut out, or just that
//!   part is, whatever one of the two waits for.
//! * What is updated, and cut out only for a stencil of itself that is put into most of it: a kernel computes that as well.
//! * Elements that are no integers or floats of 8 to 64 bits.
//! * Outside of manual computations: it is decided by the number of the device, and programs for one device are what
//!   the other passes leave.
//! * For other back ends than XLA for CPU: these weigh what is computed again against what is stored.

mod between;
mod late;
mod thin;

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold;
use crate::ir::{self, Builder};
use crate::ops::class;
use crate::rewrite::{defining_op, users, uses, walk};
use crate::shards::{Mesh, is_manual_throughout, is_trim, only_returned, partitions};
use crate::splat::Splat;
use between::is_between_updates;
use late::{Late, read_late};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, Location, OperationRef, RegionLike, Value, ValueLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{TensorShardingPerValue, View};
use thin::is_of_thin_update;

crate::pass_options! {
    /// Store values of manual computations that several ops read, and that are made of several joined arrays.
    ///
    /// What is elementwise XLA for CPU computes again for each reader, from arrays that are joined or padded for it,
    /// all of which it stores. A value that a branch hands on is computed and stored once. A part of what a thin update
    /// has written, and another will, is cut out in a branch, or the first update would be computed again for it, and a
    /// copy kept of what there was before.
    ///
    /// ```mlir
    /// %difference = stablehlo.subtract %east, %west
    /// // becomes
    /// %difference = stablehlo.subtract %east, %west
    /// %held = "stablehlo.if"(%always) ({ stablehlo.return %difference }, { ... })
    /// ```
    pub struct HoldShared;
}

const HELD: Statistic = Statistic::new(c"num-held", c"values that are stored before they are read");

/// How many ops before a value, and behind it, are looked at.
const NEAR: usize = 64;

impl Pass for HoldShared {
    const ARGUMENT: &'static str = "slimhlo-hold-shared";
    const STATISTICS: &'static [Statistic] = &[HELD];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let mut computations = Vec::new();
        walk(root, |op| {
            if is_manual_throughout(op) {
                computations.push(op);
                return WalkResult::Skip;
            }
            WalkResult::Advance
        });
        let build = Builder::new(root);
        let pairs = computations.iter().flat_map(|computation| arguments(*computation));
        let given = pairs.map(|(value, given)| (ir::key(value), given)).collect();
        let mut held = 0;
        for computation in computations {
            held += hold_in(&build, computation, &given);
        }
        context.count(&HELD, held);
        Ok(Changed::from(held > 0))
    }
}

/// Holds what is to be held of a manual computation; says how many values that are.
fn hold_in<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    computation: OperationRef<'c, 'a>,
    given: &Given<'c, 'a>,
) -> u64 {
    let Some(block) = computation.regions().next().and_then(|region| region.first_block()) else { return 0 };
    let mut computed = Vec::new();
    let mut parts = Vec::new();
    let mut blocks = vec![block];
    walk(computation, |op| {
        if op_name(op) == "stablehlo.while" {
            blocks.extend(op.regions().last().and_then(|region| region.first_block()));
        }
        let is_parted = || {
            op.block() == Some(block) && class::is_elementwise(op_name(op)) && is_stored_in_parts(op, given)
        };
        if is_parted() || is_between_updates(op) {
            computed.push(op);
        } else if is_of_thin_update(op) && ir::first_result(op).is_some_and(hold::has_bits) {
            parts.push(op);
        }
        WalkResult::Advance
    });
    // In each block a condition of its own.
    let mut conditions: FxHashMap<usize, Value<'c, 'a>> = FxHashMap::default();
    let mut held = 0;
    for block in blocks {
        for late in read_late(block) {
            let always = always_in(build, &mut conditions, block, late.cut.location());
            hold_before(build, &late, always);
            held += 1;
        }
    }
    for value in computed_before(computation, given) {
        let always = always_in(build, &mut conditions, block, computation.location());
        if let Some(next) = defining_op(always).and_then(|op| op.next_in_block()) {
            build.set_insertion_point_before(next);
        }
        hand_on(build, value, always, computation.location(), || vec![value]);
        held += 1;
    }
    for (op, is_inside) in
        computed.into_iter().map(|op| (op, false)).chain(parts.into_iter().map(|op| (op, true)))
    {
        let Some(block) = op.block() else { continue };
        let always = always_in(build, &mut conditions, block, op.location());
        held += u64::from(hold_one(build, op, always, is_inside));
    }
    held
}

/// The condition of a block, made where that begins if there is none.
fn always_in<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    conditions: &mut FxHashMap<usize, Value<'c, 'a>>,
    block: BlockRef<'c, 'a>,
    location: Location<'c>,
) -> Value<'c, 'a> {
    *conditions.entry(block.to_raw().ptr as usize).or_insert_with(|| {
        if let Some(first) = block.first_operation() {
            build.set_insertion_point_before(first);
        }
        hold::always_on_device(build, location)
    })
}

/// Has all that read a value read what a branch hands on of what `make` makes in it, where ops go now; gives that.
fn hand_on<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    value: Value<'c, 'a>,
    always: Value<'c, 'a>,
    location: Location<'c>,
    make: impl FnOnce() -> Vec<Value<'c, 'a>>,
) -> Value<'c, 'a> {
    let readers: Vec<_> = uses(value).map(|used| (used.user, used.operand)).collect();
    let held = hold::by_branch(build, always, &[value.r#type()], location, make)[0];
    readers.into_iter().for_each(|(user, index)| build.set_operand(user, index, held));
    held
}

/// Makes a copy of an op.
fn again<'c: 'a, 'a>(build: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) -> Vec<Value<'c, 'a>> {
    let operands: Vec<_> = op.operands().collect();
    let types: Vec<_> = op.results().map(|result| result.r#type()).collect();
    ir::first_result(build.copy_with(op, &operands, &[], &types)).into_iter().collect()
}

/// Has all that read the result of an op read it as a branch hands it on; the op goes into the branch itself if it is
/// to be inside.
fn hold_one<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
    always: Value<'c, 'a>,
    is_inside: bool,
) -> bool {
    let (Some(value), Some(next)) = (ir::first_result(op), op.next_in_block()) else { return false };
    build.set_insertion_point_before(next);
    hand_on(build, value, always, op.location(), || if is_inside { again(build, op) } else { vec![value] });
    if is_inside {
        build.erase(op);
    }
    true
}

/// Has a part cut out in a branch before an update, which waits for it.
fn hold_before<'c: 'a, 'a>(build: &Builder<'c, 'a>, late: &Late<'c, 'a>, always: Value<'c, 'a>) {
    let &Late { cut, update, dim, ref behind } = late;
    let (Some(part), Some(place)) = (ir::first_result(cut), update.operands().nth(2 + dim)) else { return };
    behind.iter().for_each(|op| build.move_before(*op, update));
    build.set_insertion_point_before(cut);
    let location = cut.location();
    let held = hand_on(build, part, always, location, || again(build, cut));
    build.erase(cut);
    build.set_insertion_point_before(update);
    let zero = hold::zero_of(build, held);
    let zero = match zero.r#type() == place.r#type() {
        true => zero,
        false => build.convert(zero, place.r#type(), location),
    };
    build.set_operand(update, 2 + dim, build.binary("stablehlo.add", place, zero, location));
}

/// Whether several ops read what an op computes, and a back end would store two arrays or more, of half its size at least, to compute it for each.
fn is_stored_in_parts<'c: 'a, 'a>(op: OperationRef<'c, 'a>, given: &Given<'c, 'a>) -> bool {
    let value = ir::first_result(op).filter(|value| op.result_count() == 1 && hold::has_bits(*value));
    value.is_some_and(|value| (do_several_read(value) || is_gathered(value)) && is_of_parts(value, given))
}

/// Arguments of a computation that several ops in it read, and that are computed before it of two arrays or more that a back end would store
/// for each.
fn computed_before<'c: 'a, 'a>(
    computation: OperationRef<'c, 'a>,
    given: &Given<'c, 'a>,
) -> Vec<Value<'c, 'a>> {
    let is_computed = |&(value, before): &(Value<'c, 'a>, Value<'c, 'a>)| {
        let is_outside =
            |op: OperationRef<'c, 'a>| class::is_elementwise(op_name(op)) || op_name(op) == "stablehlo.pad";
        defining_op(before).is_some_and(is_outside)
            && hold::has_bits(value)
            && do_several_read(value)
            && is_of_parts(value, given)
    };
    arguments(computation).into_iter().filter(is_computed).map(|(value, _)| value).collect()
}

/// Whether a back end would store two arrays or more, of half its size at least, to compute a value in a kernel. What comes of another computation,
/// or goes into this one, is no less part of that kernel.
fn is_of_parts<'c: 'a, 'a>(value: Value<'c, 'a>, given: &Given<'c, 'a>) -> bool {
    let bytes = ir::bytes(value);
    let mut seen = FxHashSet::default();
    let mut pending = vec![value];
    let mut stored = 0;
    while let Some(value) = pending.pop() {
        if let Some(other) = across(value, given) {
            pending.push(other);
            continue;
        }
        let Some(producer) = defining_op(value).filter(|_| Splat::of(value).is_none()) else { continue };
        if seen.len() >= NEAR || !seen.insert(ir::op_key(producer)) {
            continue;
        }
        let is_inside =
            producer.block().and_then(|block| block.parent_operation()).is_some_and(is_manual_throughout);
        match op_name(producer) {
            "stablehlo.concatenate" | "stablehlo.pad" if is_inside => {
                stored += usize::from(2 * ir::bytes(value) >= bytes);
            }
            // What is beyond an array's ends is chosen there.
            "stablehlo.pad" => pending.extend(producer.operands().next()),
            name if class::is_fusible(name) => pending.extend(producer.operands()),
            _ => {}
        }
    }
    bytes > 0 && stored > 1
}

/// What computations are given for each of their arguments.
type Given<'c, 'a> = FxHashMap<usize, Value<'c, 'a>>;

/// The arguments of a computation, and what it is given for each.
fn arguments<'c: 'a, 'a>(computation: OperationRef<'c, 'a>) -> Vec<(Value<'c, 'a>, Value<'c, 'a>)> {
    let Some(block) = computation.regions().next().and_then(|region| region.first_block()) else {
        return Vec::new();
    };
    let values = (0..block.argument_count()).filter_map(|index| Some(block.argument(index).ok()?.into()));
    values.zip(computation.operands()).collect()
}

/// What a computation is given for one of its arguments, or returns as one of its results.
fn across<'c: 'a, 'a>(value: Value<'c, 'a>, given: &Given<'c, 'a>) -> Option<Value<'c, 'a>> {
    if let Some(given) = given.get(&ir::key(value)) {
        return Some(*given);
    }
    let computation = defining_op(value).filter(|op| op_name(*op) == "sdy.manual_computation")?;
    let number = computation.results().position(|result| Value::from(result) == value)?;
    let last = computation.regions().next()?.first_block()?.terminator()?;
    ir::operand(last, number)
}

/// Whether several ops read a value as it is, or all in another shape; what a computation returns may be read outside of it, without
/// what is beyond its ends, or in another computation.
fn do_several_read<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> bool {
    let mut is_outside = false;
    for _ in 0..NEAR {
        let mut readers = uses(value);
        let Some(reader) = readers.next() else { return false };
        if readers.any(|other| other.user != reader.user) {
            return true;
        }
        let next = match op_name(reader.user) {
            "stablehlo.transpose" | "stablehlo.reshape" => ir::first_result(reader.user),
            "stablehlo.slice" if is_outside && is_trim(reader.user) => ir::first_result(reader.user),
            "stablehlo.pad" if is_outside && reader.operand == 0 => ir::first_result(reader.user),
            "sdy.manual_computation" => {
                is_outside = false;
                let block = reader.user.regions().next().and_then(|region| region.first_block());
                block.and_then(|block| block.argument(reader.operand).ok()).map(Value::from)
            }
            "sdy.return" => {
                is_outside = true;
                let computation = reader.user.block().and_then(|block| block.parent_operation());
                computation.and_then(|op| op.results().nth(reader.operand).map(Value::from))
            }
            _ => None,
        };
        let Some(next) = next else { return false };
        value = next;
    }
    false
}

/// Whether a value is a result of a computation that the program returns without what is beyond its ends, where parts do
/// not come out even along all axes: partitioners move ends between devices that are along the others, then gather, and
/// read it for each of the two.
fn is_gathered<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    let only = |value: Value<'c, 'a>| {
        let mut readers = uses(value);
        readers.next().filter(|_| readers.next().is_none())
    };
    let Some(mut reader) = only(value) else { return false };
    // In another shape it is what it was.
    for _ in 0..NEAR {
        let is_shape = matches!(op_name(reader.user), "stablehlo.transpose" | "stablehlo.reshape");
        let Some(shaped) = ir::first_result(reader.user).filter(|_| is_shape) else { break };
        let Some(next) = only(shaped) else { return false };
        reader = next;
    }
    let parent = reader.user.block().and_then(|block| block.parent_operation());
    let Some(computation) = parent.filter(|_| op_name(reader.user) == "sdy.return") else { return false };
    let Some(whole) = computation.results().nth(reader.operand).map(Value::from) else { return false };
    users(whole).any(|trim| {
        ir::first_result(trim).is_some_and(|left| {
            op_name(trim) == "stablehlo.slice"
                && only_returned(left)
                && are_ends_moved(computation, reader.operand, left).unwrap_or(false)
        })
    })
}

/// Whether parts of a value at the program's boundary, which is some of a result of a computation, end elsewhere than
/// those of the result do.
fn are_ends_moved<'c: 'a, 'a>(
    computation: OperationRef<'c, 'a>,
    number: usize,
    value: Value<'c, 'a>,
) -> Option<bool> {
    let shardings = TensorShardingPerValue::view(ffi::attribute_of(computation, "out_shardings")?)?;
    let sharding = shardings.shardings().get(number)?;
    let mesh = Mesh::of(sharding, computation, partitions(computation)?)?;
    let layout = mesh.layout(sharding)?;
    let shape = ir::real(value)?.shape;
    let kept = layout.at_boundary(shape, &mesh)?;
    let (own, given) = (layout.tile_shape(shape, &mesh.grid)?, kept.local_shape(shape, &mesh.grid)?);
    let is_moved = |dim: usize| !kept.0[dim].is_empty() && given[dim] % own[dim].max(1) != 0;
    Some((0..shape.len()).any(is_moved))
}
