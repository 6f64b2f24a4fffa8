// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-take-turns`: fields that have nothing to do with one another are exchanged one after the other.
//!
//! # What it matches
//!
//! In a manual computation over all axes of a mesh, or in a loop in one, results that no op is common to, each made of
//! what other devices send:
//!
//! ```mlir
//! %part = stablehlo.dynamic_slice %a, %at, ...
//! %got = stablehlo.collective_permute %part
//! %first = ... %a, %got
//! %other = stablehlo.dynamic_slice %b, %place, ...
//! %next = stablehlo.collective_permute %other
//! %second = ... %b, %next
//! ```
//!
//! becomes
//!
//! ```mlir
//! %part = stablehlo.dynamic_slice %a, %at, ...
//! %got = stablehlo.collective_permute %part
//! %first = ... %a, %got
//! %one = stablehlo.slice %got ...
//! %turn = stablehlo.clamp %zero, %one, %zero      // of its bits
//! %then = stablehlo.add %place, %turn
//! %other = stablehlo.dynamic_slice %b, %then, ...
//! %next = stablehlo.collective_permute %other
//! %second = ... %b, %next
//! ```
//!
//! What is cut out to be sent for a field is cut out at a place that depends on what came last for the field before it, and so is
//! what a device takes of its own, where that is half of the array or more. An array that is updated and has to be kept is
//! copied by a branch that depends on it. And where several parts of one field are sent first, each of a quarter of it or
//! more, each but the first is cut out at a place that depends on what came for the one before it.
//! Fields of which more is made outside of the computation than each device does with its own part, or that are gathered in the end, come
//! last: that goes on beside whatever follows. Of the others
//! those come first of which parts are sent and received that take more than the result (the others' results are not there
//! yet, and their memory serves for that), then those that are updated where they are (a back end begins to copy them, if it has to, at
//! once), then those of the largest results (what is made of these for the program's boundary is over first).
//!
//! # Why it is right
//!
//! What is between zero and zero is zero, whatever it was: parts are cut out where they were. The branch is always taken (`hold.rs`).
//!
//! # Why it pays
//!
//! XLA for CPU runs what can run, all fields side by side: what is received for each, and what is made of it before it goes
//! where results have to be, is there at once. One after the other each has the memory that the one before it had. A loop
//! that fills the halos of one donated field of 54 x 39 x 3 numbers and rotates another on 8 devices takes one tile
//! besides them so, and two else (`test/oracle/sharded_fields.py --seed 200 --number 74`). What needs nothing of others XLA begins with:
//! with the copy of an argument that is updated, say, which is then there from the first. Halos of two fields of 4 x 300 x 117
//! numbers on 3 x 4 devices take 145 KB of temporaries where the copy waits, and 191 KB else (`--seed 5 --number 81`). Parts
//! of 41 and 25 of the 66 columns of a tile, one sent after the other, take 15.2 KB where both at once take 20.9 (`--seed 110 --number 53`).
//! A field of 3 x 60 x 288 numbers on 4 devices of which 56 columns of 72 are exchanged, before the halos of another: 107 KB, and
//! 186 the other way round (`--seed 3 --number 51`).
//!
//! # What it costs
//!
//! Exchanges of different fields no longer overlap. A number is computed per array received, and there is a branch per array that is
//! copied. One walk.
//!
//! # When it must not fire
//!
//! * Fields meet in some op, or one of them is not exchanged.
//! * What is sent is an array as it came: there is nothing to be cut out.
//! * Elements that are no integers or floats of 8 to 64 bits.
//! * For other back ends than XLA for CPU: these order by memory themselves, and exchanges take time there.

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold;
use crate::ir::{self, Builder};
use crate::ops::class;
use crate::rewrite::{defining_op, has_one_use, ops_in, users, walk};
use crate::shards::is_manual_throughout;
use crate::simplify::site::is_kept_argument;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, RegionLike, Value, ValueLike};
use petgraph::unionfind::UnionFind;
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{self, attribute_of, op_name};
use slimhlo_dialect::sdy::attrs::{TensorSharding, TensorShardingPerValue, View};
use std::cmp::Reverse;

crate::pass_options! {
    /// Exchange fields of manual computations that have nothing to do with one another one after the other.
    ///
    /// XLA for CPU runs what can run: what is received for several fields, and made of it, is there at once. What is cut
    /// out to be sent for a field is therefore cut out at a place that depends on what came last for the field before it.
    ///
    /// ```mlir
    /// %other = stablehlo.dynamic_slice %b, %place, ...
    /// // becomes
    /// %turn = stablehlo.clamp %zero, %bits_of_what_came, %zero
    /// %then = stablehlo.add %place, %turn
    /// %other = stablehlo.dynamic_slice %b, %then, ...
    /// ```
    pub struct TakeTurns;
}

const TURNS: Statistic = Statistic::new(c"num-turns", c"fields, and parts of them, that wait for another");

/// How many ops behind a computation are looked at.
const NEAR: usize = 8;

const PERMUTE: &str = "stablehlo.collective_permute";
const GATHER: &str = "stablehlo.all_gather";

impl Pass for TakeTurns {
    const ARGUMENT: &'static str = "slimhlo-take-turns";
    const STATISTICS: &'static [Statistic] = &[TURNS];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let mut blocks = Vec::new();
        walk(root, |op| {
            if is_manual_throughout(op) {
                walk(op, |inner| {
                    if inner == op || op_name(inner) == "stablehlo.while" {
                        let body = inner.regions().last().and_then(|region| region.first_block());
                        blocks.extend(body);
                    }
                    WalkResult::Advance
                });
                return WalkResult::Skip;
            }
            WalkResult::Advance
        });
        let build = Builder::new(root);
        let turns = blocks.into_iter().map(|block| take_turns(&build, block)).sum();
        context.count(&TURNS, turns);
        Ok(Changed::from(turns > 0))
    }
}

/// Ops of a block that belong together, in order.
struct Field<'c, 'a> {
    ops: Vec<OperationRef<'c, 'a>>,
    /// What is sent before anything is received.
    first: Vec<OperationRef<'c, 'a>>,
    /// What is received after all else.
    last: Vec<OperationRef<'c, 'a>>,
    /// What needs nothing that is received.
    ready: Vec<OperationRef<'c, 'a>>,
}

impl<'c: 'a, 'a> Field<'c, 'a> {
    /// Of some ops, with what they are made of by number.
    fn of(ops: Vec<OperationRef<'c, 'a>>) -> Self {
        let numbers: FxHashMap<usize, usize> =
            ops.iter().enumerate().map(|(number, op)| (ir::op_key(*op), number)).collect();
        let sources: Vec<Vec<usize>> = ops
            .iter()
            .map(|op| taken(*op).into_iter().filter_map(|from| numbers.get(&from).copied()).collect())
            .collect();
        let is_exchange = |number: usize| matches!(op_name(ops[number]), PERMUTE | GATHER);
        let mut is_behind = vec![false; ops.len()];
        for number in 0..ops.len() {
            is_behind[number] = sources[number].iter().any(|&from| is_exchange(from) || is_behind[from]);
        }
        let mut is_before = vec![false; ops.len()];
        for number in (0..ops.len()).rev() {
            if is_exchange(number) || is_before[number] {
                sources[number].iter().for_each(|&from| is_before[from] = true);
            }
        }
        let those = |others: &[bool]| -> Vec<_> {
            let ends = (0..ops.len()).filter(|&number| is_exchange(number) && !others[number]);
            ends.map(|number| ops[number]).collect()
        };
        let is_ready = |&number: &usize| !is_exchange(number) && !is_behind[number];
        let ready = (0..ops.len()).filter(is_ready).map(|number| ops[number]).collect();
        Self { first: those(&is_behind), last: those(&is_before), ready, ops }
    }

    fn is_updated(&self) -> bool {
        self.ops.iter().any(|op| op_name(*op) == "stablehlo.dynamic_update_slice")
    }

    /// Which of the block's results are its own.
    fn given(&self, end: OperationRef<'c, 'a>) -> Vec<usize> {
        let own: FxHashSet<usize> = self.ops.iter().map(|op| ir::op_key(*op)).collect();
        let is_own =
            |value: &Value<'c, 'a>| defining_op(*value).is_some_and(|op| own.contains(&ir::op_key(op)));
        end.operands().enumerate().filter(|(_, value)| is_own(value)).map(|(number, _)| number).collect()
    }

    /// What is stored to send and receive the largest part of those that are sent before anything is received: an array that is sent as
    /// it came is there in any case.
    fn widest(&self) -> i64 {
        let stored = self.first.iter().filter_map(|op| {
            let received = ir::bytes(ir::first_result(*op)?);
            Some(if cut_for(*op).is_some() { received.saturating_mul(2) } else { received })
        });
        stored.max().unwrap_or(0)
    }

    fn is_gathered(&self) -> bool {
        self.ops.iter().any(|op| op_name(*op) == GATHER)
    }

    /// What was received, where its bits can be looked at: what is updated in its place, when it has been.
    fn received(&self) -> Vec<Value<'c, 'a>> {
        let received = self.last.iter().filter_map(|op| ir::first_result(*op)).map(updated);
        received.filter(|value| hold::has_bits(*value)).collect()
    }

    /// What is cut out to be sent, each with a dimension along which the part is shorter than the array.
    fn parts(&self) -> Vec<(OperationRef<'c, 'a>, usize)> {
        let mut seen = FxHashSet::default();
        let parts = self.first.iter().filter_map(|op| cut_for(*op));
        let parts = parts.filter(|(cut, _)| seen.insert(ir::op_key(*cut)));
        parts.collect()
    }

    /// What is cut out for this device itself before anything is received and is as large as half of the array, each with a dimension.
    fn own(&self) -> Vec<(OperationRef<'c, 'a>, usize)> {
        let own =
            self.ready.iter().filter(|op| op_name(**op) == "stablehlo.dynamic_slice").filter_map(|op| {
                let (part, array) = (ir::first_result(*op)?, op.operands().next()?);
                let is_large = 2 * ir::bytes(part) >= ir::bytes(array) && ir::bytes(part) > 0;
                let (size, whole) = (ffi::shape(part.r#type())?, ffi::shape(array.r#type())?);
                Some((*op, (0..size.len()).find(|&dim| is_large && size[dim] < whole[dim])?))
            });
        own.collect()
    }

    /// Updates of arguments of the computation that the program has to keep: a back end copies those.
    fn copied(&self) -> Vec<(OperationRef<'c, 'a>, Value<'c, 'a>)> {
        let updates = self.ops.iter().filter(|op| op_name(**op) == "stablehlo.dynamic_update_slice");
        let of_kept =
            updates.filter_map(|op| Some((*op, op.operands().next().filter(|array| is_kept(*array))?)));
        of_kept.collect()
    }
}

/// Whether a value is an argument of a manual computation that is one of the program, and not given away.
fn is_kept(value: Value<'_, '_>) -> bool {
    let Some(argument) = ffi::as_block_argument(value) else { return false };
    let Some(owner) = argument.owner().parent_operation().filter(|owner| is_manual_throughout(*owner)) else {
        return false;
    };
    owner.operands().nth(argument.argument_number()).is_some_and(is_kept_argument)
}

/// Has fields of a block, and what is exchanged for each, wait for each other; says how often.
fn take_turns<'c: 'a, 'a>(build: &Builder<'c, 'a>, block: BlockRef<'c, 'a>) -> u64 {
    let mut ops: Vec<_> = ops_in(block).collect();
    let Some(end) = ops.pop() else { return 0 };
    let mut fields: Vec<_> =
        components(&ops).into_iter().map(Field::of).filter(|field| !field.first.is_empty()).collect();
    if fields.len() < 2 {
        return fields.iter().map(|field| one_by_one(build, field)).sum();
    }
    fields.sort_by_key(|field| {
        let given = field.given(end);
        let bytes = given.iter().map(|number| end.operands().nth(*number).map_or(0, ir::bytes)).max();
        let goes_on = field.is_gathered() || given.iter().any(|&number| goes_on(end, number));
        let is_wide = field.widest() > bytes.unwrap_or(i64::MAX);
        (goes_on, !is_wide, !field.is_updated(), Reverse(bytes))
    });
    let waits = |pair: &[Field<'c, 'a>]| !pair[0].received().is_empty() && !pair[1].parts().is_empty();
    if !fields.windows(2).any(waits) {
        return fields.iter().map(|field| one_by_one(build, field)).sum();
    }
    let mut turns = 0;
    let mut received: Vec<Value<'c, 'a>> = Vec::new();
    for field in &fields {
        field.ops.iter().for_each(|op| build.move_before(*op, end));
        turns += u64::from(!received.is_empty() && wait_for(build, field, &received));
        turns += one_by_one(build, field);
        received = field.received();
    }
    turns
}

/// Has a field wait for what was received for another; says whether there is something to wait with.
fn wait_for<'c: 'a, 'a>(build: &Builder<'c, 'a>, field: &Field<'c, 'a>, received: &[Value<'c, 'a>]) -> bool {
    let parts = field.parts();
    if parts.is_empty() {
        return false;
    }
    build.set_insertion_point_before(field.ops[0]);
    let location = field.ops[0].location();
    let turn = received
        .iter()
        .map(|value| hold::zero_of(build, *value))
        .reduce(|left, right| build.binary("stablehlo.add", left, right, location))
        .expect("something was received");
    let (own, copied) = (field.own(), field.copied());
    copy_then(build, &copied, turn);
    let sent: FxHashSet<usize> = parts.iter().map(|(cut, _)| ir::op_key(*cut)).collect();
    let own = own.into_iter().filter(|(cut, _)| !sent.contains(&ir::op_key(*cut)));
    for (cut, dim) in own.chain(parts.iter().copied()) {
        wait(build, cut, dim, turn);
    }
    true
}

/// Has large parts of one field that are sent before anything is received cut out one after the other has come; says how
/// many wait.
fn one_by_one<'c: 'a, 'a>(build: &Builder<'c, 'a>, field: &Field<'c, 'a>) -> u64 {
    /// Parts of less than this share of an array decide nothing.
    const LITTLE: i64 = 4;
    let mut before: Option<Value<'c, 'a>> = None;
    let mut waiting = 0;
    for exchange in field.first.iter().filter(|op| op_name(**op) == PERMUTE) {
        let Some((cut, dim)) = cut_for(*exchange) else { continue };
        let bytes = |value: Option<Value<'c, 'a>>| value.map_or(0, ir::bytes);
        let is_large = LITTLE * bytes(ir::first_result(cut)) >= bytes(cut.operands().next());
        let waits = |part: Value<'c, 'a>| is_large && has_one_use(part) && hold::has_bits(part);
        if !ir::first_result(cut).is_some_and(waits) {
            continue;
        }
        if let Some(received) = before {
            build.move_before(cut, *exchange);
            build.set_insertion_point_before(cut);
            let turn = hold::zero_of(build, received);
            wait(build, cut, dim, turn);
            waiting += 1;
        }
        before = ir::first_result(*exchange);
    }
    waiting
}

/// What cuts out the part that an exchange sends, and a dimension along which that is shorter than the array.
fn cut_for<'c: 'a, 'a>(exchange: OperationRef<'c, 'a>) -> Option<(OperationRef<'c, 'a>, usize)> {
    let part = exchange.operands().next()?;
    let cut = defining_op(part)?;
    let size = ffi::shape(part.r#type())?;
    let is_cut =
        op_name(cut) == "stablehlo.dynamic_slice" || op_name(cut) == "stablehlo.slice" && ir::is_dense(cut);
    let array = is_cut.then(|| ffi::shape(cut.operands().next()?.r#type())).flatten()?;
    Some((cut, (0..size.len()).find(|&dim| size[dim] < array[dim])?))
}

/// Ops that arrays flow between, by where they flow, in the order of the first of each. What is made of nothing but
/// constants and the number of the device connects nothing.
fn components<'c: 'a, 'a>(ops: &[OperationRef<'c, 'a>]) -> Vec<Vec<OperationRef<'c, 'a>>> {
    let numbers: FxHashMap<usize, usize> =
        ops.iter().enumerate().map(|(number, op)| (ir::op_key(*op), number)).collect();
    let mut is_made = vec![false; ops.len()];
    let mut connected = UnionFind::new(ops.len());
    for (number, op) in ops.iter().enumerate() {
        for from in taken(*op).into_iter().filter_map(|from| numbers.get(&from).copied()) {
            if is_made[from] {
                is_made[number] = true;
                connected.union(number, from);
            }
        }
        // In regions arrays may be read that are no operands.
        is_made[number] |= op.regions().next().is_some();
        is_made[number] |= op.operands().any(|operand| {
            let is_from_here =
                defining_op(operand).is_some_and(|from| numbers.contains_key(&ir::op_key(from)));
            !is_from_here && !ir::is_rank_zero(operand) && ir::splat_constant(operand).is_none()
        });
    }
    let mut all: Vec<Vec<OperationRef<'c, 'a>>> = Vec::new();
    let mut places: FxHashMap<usize, usize> = FxHashMap::default();
    for (number, op) in ops.iter().enumerate().filter(|(number, _)| is_made[*number]) {
        let place = *places.entry(connected.find_mut(number)).or_insert_with(|| {
            all.push(Vec::new());
            all.len() - 1
        });
        all[place].push(*op);
    }
    all
}

/// The ops that make what an op, or one in its regions, takes.
fn taken(op: OperationRef<'_, '_>) -> Vec<usize> {
    let mut from = Vec::new();
    walk(op, |inner| {
        from.extend(inner.operands().filter_map(defining_op).map(ir::op_key));
        WalkResult::Advance
    });
    from
}

/// What becomes of a value by updates in its place.
fn updated<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> Value<'c, 'a> {
    const LONGEST: usize = 64;
    for _ in 0..LONGEST {
        let is_of = |user: &OperationRef<'c, 'a>| {
            op_name(*user) == "stablehlo.dynamic_update_slice" && user.operands().next() == Some(value)
        };
        match users(value).find(is_of).and_then(ir::first_result) {
            Some(next) => value = next,
            None => break,
        }
    }
    value
}

/// Whether a result of a computation is read by more than what ends the program, and what each device does with its own part before.
fn goes_on<'c: 'a, 'a>(end: OperationRef<'c, 'a>, number: usize) -> bool {
    let computation = end.parent_operation().filter(|_| op_name(end) == "sdy.return");
    let Some(result) = computation.and_then(|op| op.results().nth(number)) else { return false };
    let layout = computation.and_then(|op| sharding_of(op, "out_shardings", number));
    !users(result.into()).all(|user| is_near_end(user, layout, NEAR))
}

/// Whether nothing but what ends the program reads what an op makes, or what further ops on each device make of it, all laid out
/// alike; what cuts off or adds something last may be laid out in another way.
fn is_near_end<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    layout: Option<TensorSharding<'c>>,
    steps: usize,
) -> bool {
    let name = op_name(op);
    let is_moved = matches!(name, "stablehlo.slice" | "stablehlo.pad");
    let all =
        |is: &dyn Fn(OperationRef<'c, 'a>) -> bool| op.results().all(|result| users(result.into()).all(is));
    let is_own = || {
        let known = is_moved || class::is_elementwise(name) || name == "sdy.sharding_constraint";
        let own = sharding_of(op, "sdy.sharding", 0)
            .or_else(|| TensorSharding::view(attribute_of(op, "sharding")?));
        known && layout.is_some() && own == layout
    };
    name == "func.return"
        || is_moved && all(&|user| op_name(user) == "func.return")
        || steps > 0 && is_own() && all(&|user| is_near_end(user, layout, steps - 1))
}

/// What a list of shardings that hangs on an op says of a value.
fn sharding_of<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    name: &str,
    number: usize,
) -> Option<TensorSharding<'c>> {
    TensorShardingPerValue::view(attribute_of(op, name)?)?.shardings().get(number)
}

/// Has a part cut out at a place to which `turn`, which is zero, is added along a dimension.
fn wait<'c: 'a, 'a>(build: &Builder<'c, 'a>, cut: OperationRef<'c, 'a>, dim: usize, turn: Value<'c, 'a>) {
    let location = cut.location();
    let (Some(array), Some(part)) = (cut.operands().next(), ir::first_result(cut)) else { return };
    build.set_insertion_point_before(cut);
    if op_name(cut) == "stablehlo.dynamic_slice" {
        let Some(place) = cut.operands().nth(1 + dim) else { return };
        let turn = match place.r#type() == turn.r#type() {
            true => turn,
            false => build.convert(turn, place.r#type(), location),
        };
        build.set_operand(cut, 1 + dim, build.binary("stablehlo.add", place, turn, location));
        return;
    }
    let starts = ir::i64_array(cut, "start_indices").unwrap_or_default();
    let mut starts: Vec<_> = starts.iter().map(|&at| build.i64_constant(at, location)).collect();
    starts[dim] = build.binary("stablehlo.add", starts[dim], turn, location);
    let waiting = build.dynamic_slice(array, &starts, part.r#type(), location);
    build.replace_all_uses_with(part, waiting);
    build.erase(cut);
}

/// Has arrays that updates are of, and that have to be kept, copied only when `turn` is there: in a branch.
fn copy_then<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    updates: &[(OperationRef<'c, 'a>, Value<'c, 'a>)],
    turn: Value<'c, 'a>,
) {
    let mut copies: FxHashMap<usize, Value<'c, 'a>> = FxHashMap::default();
    let mut held = None;
    for &(update, array) in updates.iter().filter(|(_, array)| hold::has_bits(*array)) {
        let location = update.location();
        let then = *held.get_or_insert_with(|| hold::always_after(build, turn, location));
        let copy = *copies.entry(ir::key(array)).or_insert_with(|| {
            if let Some(made) = defining_op(then) {
                build.set_insertion_point_after(made);
            }
            hold::by_branch(build, then, &[array.r#type()], location, || vec![array])[0]
        });
        build.set_operand(update, 0, copy);
    }
}
