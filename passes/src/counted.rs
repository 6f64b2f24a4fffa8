// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Loops that count their turns: what `lax.scan`, `lax.fori_loop` and `lax.map` lower to.

use crate::ir;
use crate::rewrite::defining_op;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Value};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;

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
        let (counter, end) = (compare.operand(0).ok()?, constant(compare.operand(1).ok()?)?);
        let number = (0..op.operand_count()).find(|&index| {
            condition.argument(index).is_ok_and(|argument| Value::from(argument) == counter)
        })?;
        let start = constant(op.operand(number).ok()?)?;
        let add = named(body.terminator()?.operand(number).ok()?, "stablehlo.add")?;
        let counted: Value = body.argument(number).ok()?.into();
        let step = constant(add.operand(1).ok()?)?;
        (less == ComparisonDirection::Lt && add.operand(0).ok()? == counted && step >= 1).then_some(Self {
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
