// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Loops that count their iterations: what `lax.scan`, `lax.fori_loop` and `lax.map` lower to, and what passes make.

use crate::ir::{self, Builder};
use crate::rewrite::{carry_attributes, defining_op, erase_argument, is_unused, take_body};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, Location, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;
use std::ops::Range;

/// How a `while` counts: one of the values it carries starts at a constant, grows by a constant in each turn, and the loop
/// goes on as long as it is less than a third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Which of the values that the loop carries.
    pub number: usize,
    /// What it is in the first turn.
    pub start: i64,
    /// What it is less than in each turn.
    pub end: i64,
    /// By how much it grows, at least 1.
    pub step: i64,
}

impl Counter {
    /// How the loop `op` counts; `None` if it does not, or if that is not known at compile time.
    pub fn of<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<Self> {
        let (condition, body) = blocks(op)?;
        let named = |value: Value<'c, 'a>, name: &str| defining_op(value).filter(|op| op_name(*op) == name);
        let constant = |value: Value<'c, 'a>| i64::try_from(ir::constant_integer(value)?).ok();
        let compare = named(condition.terminator()?.operands().next()?, "stablehlo.compare")?;
        let less = ComparisonDirection::try_from(ffi::attribute_of(compare, "comparison_direction")?).ok()?;
        let (counter, end) = (ir::operand(compare, 0)?, constant(ir::operand(compare, 1)?)?);
        let number = (0..op.operand_count()).find(|&index| {
            condition.argument(index).is_ok_and(|argument| Value::from(argument) == counter)
        })?;
        let start = constant(ir::operand(op, number)?)?;
        let add = named(body.terminator()?.operand(number).ok()?, "stablehlo.add")?;
        let counted: Value = body.argument(number).ok()?.into();
        let step = constant(ir::operand(add, 1)?)?;
        (less == ComparisonDirection::Lt && ir::operand(add, 0)? == counted && step >= 1).then_some(Self {
            number,
            start,
            end,
            step,
        })
    }

    /// How many turns there are.
    pub fn turns(&self) -> i64 {
        let span = i128::from(self.end) - i128::from(self.start);
        let turns = (span.max(0) + i128::from(self.step) - 1) / i128::from(self.step);
        i64::try_from(turns).unwrap_or(i64::MAX)
    }
}

/// The condition and the body of a `while`, if each is one block.
pub fn blocks<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<(BlockRef<'c, 'a>, BlockRef<'c, 'a>)> {
    let block = |index| op.region(index).ok()?.first_block().filter(|block| block.next_in_region().is_none());
    (op_name(op) == "stablehlo.while").then_some(())?;
    Some((block(0)?, block(1)?))
}

/// A counted loop that is being made: new ops go to its body until it is closed.
pub struct Open<'c, 'a, 'r> {
    /// What it counts, in the body: an i64.
    pub at: Value<'c, 'a>,
    /// What it carries besides, in the body.
    pub carried: Vec<Value<'c, 'a>>,
    op: OperationRef<'c, 'a>,
    by: i64,
    build: &'r Builder<'c, 'a>,
    location: Location<'c>,
}

impl<'c: 'a, 'a, 'r> Open<'c, 'a, 'r> {
    /// Begins a `while` that counts from `span.start` by `by` as long as it is less than `span.end`, and carries `initial` besides.
    pub fn new(
        build: &'r Builder<'c, 'a>,
        (span, by): (Range<i64>, i64),
        initial: &[Value<'c, 'a>],
        location: Location<'c>,
    ) -> Self {
        let mut operands = vec![build.i64_constant(span.start, location)];
        operands.extend(initial);
        let types: Vec<Type> = operands.iter().map(|operand| operand.r#type()).collect();
        let op = build.op_with_blocks("stablehlo.while", &operands, &types, &[&types, &types], location);
        let (condition, body) = blocks(op).expect("made with blocks");
        let arguments = |block: BlockRef<'c, 'a>| -> Vec<Value<'c, 'a>> {
            build.set_insertion_point_to_end(block);
            (0..types.len()).map(|index| block.argument(index).expect("made with arguments").into()).collect()
        };
        let at = arguments(condition)[0];
        let end = build.i64_constant(span.end, location);
        let goes_on = build.compare(ComparisonDirection::Lt, at, end, location);
        build.terminator("stablehlo.return", &[goes_on], location);
        let mut carried = arguments(body);
        let at = carried.remove(0);
        Self { at, carried, op, by, build, location }
    }

    /// Ends the body, which hands on `next`; new ops go behind the loop.
    pub fn close(self, next: &[Value<'c, 'a>]) -> OperationRef<'c, 'a> {
        let Self { at, op, by, build, location, .. } = self;
        let by = build.i64_constant(by, location);
        let mut all = vec![build.binary("stablehlo.add", at, by, location)];
        all.extend(next);
        build.terminator("stablehlo.return", &all, location);
        build.set_insertion_point_after(op);
        op
    }
}

/// The same loop with other values carried: without those of the numbers in `less`, which nothing else may use, and with `more`, which are
/// handed on from turn to turn.
pub fn recarry<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
    less: &[usize],
    more: &[Value<'c, 'a>],
) -> OperationRef<'c, 'a> {
    if less.is_empty() && more.is_empty() {
        return op;
    }
    let location = op.location();
    let stays: Vec<usize> = (0..op.operand_count()).filter(|number| !less.contains(number)).collect();
    let operand = |number: &usize| op.operand(*number).expect("an operand per result");
    let operands: Vec<Value> = stays.iter().map(operand).chain(more.iter().copied()).collect();
    let types: Vec<Type> = operands.iter().map(|operand| operand.r#type()).collect();
    build.set_insertion_point_before(op);
    let made = build.op_with_blocks("stablehlo.while", &operands, &types, &[&[], &[]], location);
    for index in 0..2 {
        take_body(made.region(index).expect("two regions"), op.region(index).expect("two regions"));
    }
    carry_attributes(op, made, &[]);
    let (condition, body) = blocks(made).expect("a loop of two blocks, as before");
    let end = body.terminator().expect("bodies end");
    let mut next: Vec<Value> =
        stays.iter().map(|number| end.operand(*number).expect("one per result")).collect();
    for value in more {
        condition.add_argument(value.r#type(), location);
        next.push(body.add_argument(value.r#type(), location));
    }
    let gone: Vec<Value> = less.iter().map(|number| end.operand(*number).expect("one per result")).collect();
    build.set_insertion_point_before(end);
    build.terminator("stablehlo.return", &next, end.location());
    build.erase(end);
    for value in gone {
        if let Some(op) = defining_op(value).filter(|op| is_unused(*op)) {
            build.erase_with_dead_producers(op, |_| ());
        }
    }
    let mut less = less.to_vec();
    less.sort_unstable();
    for number in less.into_iter().rev() {
        erase_argument(condition, number);
        erase_argument(body, number);
    }
    for (number, old) in stays.into_iter().enumerate() {
        let result = |op: OperationRef<'c, 'a>, number: usize| {
            Value::from(op.result(number).expect("a result per operand"))
        };
        build.replace_all_uses_with(result(op, old), result(made, number));
    }
    build.erase(op);
    made
}
