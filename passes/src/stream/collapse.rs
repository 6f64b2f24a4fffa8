// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A loop in a loop that only takes slices for it and puts its results in their places becomes one loop.
//!
//! Where a unit of one dimension takes too much, a loop over that dimension has another one in it, over a second one:
//!
//! ```mlir
//! while (%i) {
//!   %row = stablehlo.dynamic_slice %x, %c0, %i, %c0, sizes = [2, 1, 4096]
//!   %part = while (%j, %sum = %zeros) {
//!     %one = stablehlo.dynamic_slice %row, %j, %c0, %c0, sizes = [1, 1, 4096]
//!     stablehlo.dynamic_update_slice %sum, ... %one ..., %j, %c0, %c0
//!   }
//!   stablehlo.dynamic_update_slice %all, %part, %c0, %i, %c0
//! }
//! ```
//!
//! becomes
//!
//! ```mlir
//! while (%t) {                                      // as often as both together
//!   %i = %t / 2, %j = %t mod 2
//!   %one = stablehlo.dynamic_slice %x, %j, %i, %c0, sizes = [1, 1, 4096]
//!   stablehlo.dynamic_update_slice %all, ... %one ..., %j, %i, %c0
//! }
//! ```
//!
//! # Why it is right
//!
//! Slices of slices are slices: both are within what they are of, which is checked, so nothing is clamped. The inner
//! loop writes all of what it puts together, which is checked as well: what that was at first is no matter, and neither
//! is what lies in its place. The same ops run on the same elements in the same order.
//!
//! # Why it pays
//!
//! What slices, fills with zeros and puts in place once per iteration of the outer loop are kernels of their own, a dozen
//! for the gradient of an attention, and the slices and sums take memory. Where nobody knows what iterations cost, for
//! XLA for CPU, loops are left as they are.
//!
//! # When it must not fire
//!
//! * The inner loop needs a slice whole, adds something up, or hands on what the outer loop made.
//! * The outer loop computes anything else but numbers.

use crate::counted::{Counter, blocks};
use crate::ir::{self, Builder};
use crate::rewrite::{defining_op, is_unused, ops_in, uses};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;

const SLICE: &str = "stablehlo.dynamic_slice";
const UPDATE: &str = "stablehlo.dynamic_update_slice";

/// Makes one loop of each of these and the one that it is in, if nothing is between; the inner ones are gone.
pub fn run<'c: 'a, 'a>(loops: &mut Vec<OperationRef<'c, 'a>>, build: &Builder<'c, 'a>) {
    for made in loops.clone() {
        if let Some(outer) = made.parent_operation()
            && let Some(nest) = Nest::of(outer).filter(|nest| nest.inner == made)
        {
            loops.retain(|other| *other != made);
            nest.collapse(build);
        }
    }
}

/// A loop and the one in it.
struct Nest<'c, 'a> {
    outer: OperationRef<'c, 'a>,
    inner: OperationRef<'c, 'a>,
    outer_counter: Counter,
    inner_counter: Counter,
    outer_body: BlockRef<'c, 'a>,
    inner_body: BlockRef<'c, 'a>,
    placed: Vec<Placed<'c, 'a>>,
    taken: Vec<Taken<'c, 'a>>,
}

/// What the inner loop puts together, and the outer one puts in its place.
struct Placed<'c, 'a> {
    /// The update in the inner loop, and that of its result in the outer one.
    part: OperationRef<'c, 'a>,
    whole: OperationRef<'c, 'a>,
}

/// What the outer loop slices for the inner one to slice.
struct Taken<'c, 'a> {
    slice: OperationRef<'c, 'a>,
    of_slice: Vec<OperationRef<'c, 'a>>,
}

fn argument<'c: 'a, 'a>(block: BlockRef<'c, 'a>, index: usize) -> Option<Value<'c, 'a>> {
    block.argument(index).ok().map(Value::from)
}

/// The only use of a value: who, and as which operand.
fn only_use<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<(OperationRef<'c, 'a>, usize)> {
    let mut all = uses(value);
    all.next().filter(|_| all.next().is_none()).map(|only| (only.user, only.operand))
}

/// Where a slice or an update begins, for each dimension.
fn starts<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<Value<'c, 'a>> {
    op.operands().skip(if op_name(op) == SLICE { 1 } else { 2 }).collect()
}

fn is_zero(value: Value<'_, '_>) -> bool {
    ir::constant_integer(value) == Some(0)
}

impl<'c: 'a, 'a> Nest<'c, 'a> {
    fn of(outer: OperationRef<'c, 'a>) -> Option<Self> {
        let (_, outer_body) = blocks(outer)?;
        let inner = {
            let mut loops = ops_in(outer_body).filter(|op| op_name(*op) == "stablehlo.while");
            loops.next().filter(|_| loops.next().is_none())?
        };
        let (inner_condition, inner_body) = blocks(inner)?;
        let (outer_counter, inner_counter) = (Counter::of(outer)?, Counter::of(inner)?);
        let is_i64 = |counter: &Counter, op: OperationRef<'c, 'a>| {
            let ty = ir::operand(op, counter.number).map(|value| ir::element_of(value.r#type()));
            counter.start == 0 && counter.turns() > 0 && ty.is_some_and(|ty| ty.to_string() == "i64")
        };
        if !is_i64(&outer_counter, outer) || !is_i64(&inner_counter, inner) {
            return None;
        }
        let mut nest = Self {
            outer,
            inner,
            outer_counter,
            inner_counter,
            outer_body,
            inner_body,
            placed: Vec::new(),
            taken: Vec::new(),
        };
        for number in (0..inner.operand_count()).filter(|&number| number != inner_counter.number) {
            uses(argument(inner_condition, number)?).next().is_none().then_some(())?;
            nest.add(number)?;
        }
        uses(inner.result(inner_counter.number).ok()?.into()).next().is_none().then_some(())?;
        (!nest.placed.is_empty() && nest.does_nothing_else()).then_some(nest)
    }

    /// Notes what the inner loop carries as this number.
    fn add(&mut self, number: usize) -> Option<()> {
        let carried = argument(self.inner_body, number)?;
        let next = self.inner_body.terminator()?.operand(number).ok()?;
        let result: Value = self.inner.result(number).ok()?.into();
        if next != carried {
            let placed = self.placed(carried, next, result)?;
            self.placed.push(placed);
            return Some(());
        }
        uses(result).next().is_none().then_some(())?;
        let given = ir::operand(self.inner, number)?;
        let slice = defining_op(given).filter(|op| op.block() == Some(self.outer_body))?;
        if op_name(slice) != SLICE {
            return ir::plain(given).filter(|tensor| tensor.rank() == 0).map(|_| ());
        }
        only_use(given)?;
        let readers: Vec<_> = uses(carried).filter(|used| used.user != self.inner_body_end()).collect();
        let mut of_slice = Vec::new();
        for used in readers {
            let within =
                used.operand == 0 && op_name(used.user) == SLICE && self.stays_within(used.user, Some(slice));
            within.then_some(())?;
            of_slice.push(used.user);
        }
        self.taken.push(Taken { slice, of_slice });
        Some(())
    }

    fn inner_body_end(&self) -> OperationRef<'c, 'a> {
        self.inner_body.terminator().expect("it was asked for its operands")
    }

    /// What the inner loop puts together, every element of it, for the outer one to put in its place.
    fn placed(
        &self,
        carried: Value<'c, 'a>,
        next: Value<'c, 'a>,
        result: Value<'c, 'a>,
    ) -> Option<Placed<'c, 'a>> {
        let update = |value: Value<'c, 'a>| defining_op(value).filter(|op| op_name(*op) == UPDATE);
        let part = update(next).filter(|part| part.block() == Some(self.inner_body))?;
        (only_use(carried)? == (part, 0) && only_use(next)?.0 == self.inner_body_end()).then_some(())?;
        let (whole, operand) = only_use(result)?;
        (op_name(whole) == UPDATE && operand == 1 && whole.block() == Some(self.outer_body)).then_some(())?;
        let into = ir::operand(whole, 0)?;
        let (end, number) = only_use(whole.result(0).ok()?.into())?;
        let carries = Some(end) == self.outer_body.terminator() && argument(self.outer_body, number)? == into;
        (carries && only_use(into)? == (whole, 0)).then_some(())?;
        let counter = argument(self.inner_body, self.inner_counter.number)?;
        let (of, by) = (ir::plain(carried)?, ir::plain(ir::operand(part, 1)?)?);
        let mut counted = 0;
        for (dim, start) in starts(part).into_iter().enumerate() {
            let (of, by) = (of.shape[dim], by.shape[dim]);
            match () {
                () if is_zero(start) && by == of => {}
                () if start == counter
                    && by == self.inner_counter.step
                    && self.inner_counter.turns() * by == of =>
                {
                    counted += 1;
                }
                () => return None,
            }
        }
        (counted == 1 && self.stays_within(part, Some(whole))).then_some(Placed { part, whole })
    }

    /// Whether starts are counters or zero, and all of them leave room for what begins there.
    fn stays_within(&self, inner: OperationRef<'c, 'a>, outer: Option<OperationRef<'c, 'a>>) -> bool {
        let counters = [(self.inner_body, self.inner_counter), (self.outer_body, self.outer_counter)];
        counters.into_iter().zip([Some(inner), outer]).all(|((body, counter), op)| {
            let Some(op) = op else { return true };
            let of = ir::operand(op, 0).and_then(ir::plain);
            let part =
                if op_name(op) == SLICE { op.result(0).ok().map(Value::from) } else { ir::operand(op, 1) };
            let (Some(of), Some(part)) = (of, part.and_then(ir::plain)) else { return false };
            starts(op).into_iter().enumerate().all(|(dim, start)| {
                let last = match argument(body, counter.number) {
                    Some(counted) if counted == start => (counter.turns() - 1) * counter.step,
                    _ if is_zero(start) => 0,
                    _ => return false,
                };
                last + part.shape[dim] <= of.shape[dim]
            })
        })
    }

    /// Whether the outer loop has nothing in it but what was noted, numbers, and what the inner loop starts from.
    fn does_nothing_else(&self) -> bool {
        let Some(end) = self.outer_body.terminator() else { return false };
        ops_in(self.outer_body).all(|op| {
            let small =
                || op.results().all(|of| ir::plain(of.into()).is_some_and(|tensor| tensor.rank() == 0));
            let starts = || op.results().all(|of| uses(of.into()).all(|used| used.user == self.inner));
            op == end
                || op == self.inner
                || self.placed.iter().any(|placed| placed.whole == op)
                || self.taken.iter().any(|taken| taken.slice == op)
                || op.region_count() == 0 && (small() || op_name(op) == "stablehlo.constant")
                || op_name(op) == "stablehlo.broadcast_in_dim" && starts()
        })
    }

    fn collapse(self, build: &Builder<'c, 'a>) {
        let Some((counter, [outer, inner])) = self.counters(build) else { return };
        let all: Vec<_> = ops_in(self.inner_body).collect();
        let end = self.inner_body_end();
        let step = ir::operand(end, self.inner_counter.number).and_then(defining_op);
        for op in all {
            if op != end && Some(op) != step && !self.placed.iter().any(|placed| placed.part == op) {
                build.move_before(op, self.inner);
            }
        }
        let sums = |one: OperationRef<'c, 'a>, other: OperationRef<'c, 'a>| -> Vec<Value<'c, 'a>> {
            let sum = |(one, other): (Value<'c, 'a>, Value<'c, 'a>)| match () {
                () if is_zero(one) => other,
                () if is_zero(other) => one,
                () => build.binary("stablehlo.add", one, other, counter.location()),
            };
            starts(one).into_iter().zip(starts(other)).map(sum).collect()
        };
        for Taken { slice, of_slice } in &self.taken {
            for &part in of_slice {
                build.set_insertion_point_before(part);
                let places = sums(*slice, part);
                let Ok(from) = slice.operand(0) else { continue };
                build.set_operand(part, 0, from);
                places
                    .into_iter()
                    .enumerate()
                    .for_each(|(dim, start)| build.set_operand(part, 1 + dim, start));
            }
        }
        for Placed { part, whole } in &self.placed {
            build.set_insertion_point_before(*whole);
            let places = sums(*whole, *part);
            let Ok(value) = part.operand(1) else { continue };
            build.set_operand(*whole, 1, value);
            places.into_iter().enumerate().for_each(|(dim, start)| build.set_operand(*whole, 2 + dim, start));
        }
        for number in 0..self.inner.operand_count() {
            let given = if number == self.inner_counter.number {
                Some(inner)
            } else {
                ir::operand(self.inner, number)
            };
            if let (Some(carried), Some(given)) = (argument(self.inner_body, number), given) {
                build.replace_all_uses_with(carried, given);
            }
        }
        let uses_of_counter: Vec<_> = argument(self.outer_body, self.outer_counter.number)
            .map(|counted| uses(counted).filter(|used| !counter.is_of(used.user)).collect())
            .unwrap_or_default();
        uses_of_counter.into_iter().for_each(|used| build.set_operand(used.user, used.operand, outer));
        build.erase(self.inner);
        self.taken
            .iter()
            .map(|taken| taken.slice)
            .filter(|slice| is_unused(*slice))
            .for_each(|slice| build.erase(slice));
    }

    /// Lets the outer loop count the turns of both; what counts, and the numbers that each counted.
    fn counters(&self, build: &Builder<'c, 'a>) -> Option<(Counting<'c, 'a>, [Value<'c, 'a>; 2])> {
        let (condition, body) = blocks(self.outer)?;
        let number = self.outer_counter.number;
        let location = self.outer.location();
        let [outer_turns, inner_turns] =
            [self.outer_counter, self.inner_counter].map(|counter| counter.turns());
        let compare = defining_op(condition.terminator()?.operand(0).ok()?)?;
        let add = defining_op(body.terminator()?.operand(number).ok()?)?;
        let turn = argument(body, number)?;
        build.set_insertion_point_before(compare);
        build.set_operand(compare, 1, build.i64_constant(outer_turns.checked_mul(inner_turns)?, location));
        build.set_insertion_point_before(add);
        build.set_operand(add, 1, build.i64_constant(1, location));
        build.set_insertion_point_before(body.first_operation()?);
        let per_turn = build.i64_constant(inner_turns, location);
        let mut of_counter = vec![add];
        let mut counted = |name: &str, counter: &Counter| {
            let turns = build.binary(name, turn, per_turn, location);
            of_counter.extend(defining_op(turns));
            match counter.step {
                1 => turns,
                step => {
                    build.binary("stablehlo.multiply", turns, build.i64_constant(step, location), location)
                }
            }
        };
        let outer = counted("stablehlo.divide", &self.outer_counter);
        let inner = counted("stablehlo.remainder", &self.inner_counter);
        Some((Counting { ops: of_counter, location }, [outer, inner]))
    }
}

/// What counts the turns of both loops.
struct Counting<'c, 'a> {
    ops: Vec<OperationRef<'c, 'a>>,
    location: melior::ir::Location<'c>,
}

impl<'c: 'a, 'a> Counting<'c, 'a> {
    fn is_of(&self, op: OperationRef<'c, 'a>) -> bool {
        self.ops.contains(&op)
    }

    fn location(&self) -> melior::ir::Location<'c> {
        self.location
    }
}
