// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How often loops run, and what they count.
//!
//! # What it matches
//!
//! A `while` that counts ([`Counter`]) up to what is known, in a type that has room for all that it counts. On it,
//!
//! * `slimhlo.turns` says how often it runs: nobody asks its condition;
//! * `slimhlo.counts`, an array of three, says which of the values that it carries is the counter, what that is in the
//!   first turn, and by how much it grows. The schedule knows it in each turn, so that no kernel has to add to it.
//!
//! ```mlir
//! %n:2 = stablehlo.while(%i = %zero, %a = %x) attributes {slimhlo.counts = array<i64: 0, 0, 1>, slimhlo.turns = 4 : i64}
//! ```
//!
//! # What becomes of it
//!
//! The counter lies at `counter0` or the like (`plan_buffers`), and what would be written there is no launch (`program.rs`).
//! The first value and the sum get ops that nobody else needs: for others they are computed as anything else is.
//!
//! # When it does not
//!
//! The counter is needed after the loop: it is one of the values that the loop leaves then.

use crate::counted::{self, Counter};
use crate::ir::{self, Builder};
use crate::rewrite::{context_of, defining_op, set_discardable_attribute, uses, walk};
use melior::ir::attribute::IntegerAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::types::Tensor;

/// What says of a loop how often it runs.
pub const TURNS: &str = "slimhlo.turns";

/// What says of a loop that runs so often what it counts.
const COUNTS: &str = "slimhlo.counts";

/// What the schedule counts for a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Which of the values that the loop carries.
    pub number: usize,
    /// What it is in the first turn.
    pub start: i64,
    /// By how much it grows.
    pub step: i64,
}

impl Counts {
    /// What a loop says of itself.
    pub fn of(op: OperationRef<'_, '_>) -> Option<Self> {
        let &[number, start, step] = ir::i64_array(op, COUNTS)? else { return None };
        Some(Self { number: usize::try_from(number).ok()?, start, step })
    }
}

/// Says of each loop how often it runs and what it counts, where that is known.
pub fn note<'c: 'a, 'a>(module: OperationRef<'c, 'a>, main: OperationRef<'c, 'a>) {
    let mut found = Vec::new();
    walk(main, |op| {
        if let Some(counter) = Counter::of(op)
            && let Some(most) = ir::operand(op, counter.number).and_then(largest)
            && i128::from(counter.start) + i128::from(counter.turns()) * i128::from(counter.step) <= most
        {
            found.push((op, counter));
        }
        WalkResult::Advance
    });
    let builder = Builder::new(module);
    let number = IntegerType::new(context_of(module), 64).into();
    for (op, counter) in found {
        set_discardable_attribute(op, TURNS, IntegerAttribute::new(number, counter.turns()).into());
        let Counter { number, start, step, .. } = counter;
        if let Ok(number) = i64::try_from(number)
            && own(&builder, op, counter.number).is_some()
        {
            set_discardable_attribute(op, COUNTS, builder.i64_array(&[number, start, step]));
        }
    }
}

/// Gives a loop's counter ops that nobody else needs. `None` if somebody needs what it is in the end.
fn own<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>, number: usize) -> Option<()> {
    let end = counted::blocks(op)?.1.terminator()?;
    let result: Value = op.result(number).ok()?.into();
    if uses(result).next().is_some() {
        return None;
    }
    for user in [op, end] {
        let value = ir::operand(user, number)?;
        let maker = defining_op(value)?;
        if uses(value).nth(1).is_some() {
            builder.set_insertion_point_before(user);
            let operands: Vec<Value> = maker.operands().collect();
            let copy = builder.copy_with(maker, &operands, &[], &[value.r#type()]);
            builder.set_operand(user, number, copy.result(0).ok()?.into());
        }
    }
    Some(())
}

/// The largest number that an integer type has for sure, whether it is signed or not.
fn largest(value: Value<'_, '_>) -> Option<i128> {
    let bits = Tensor::new(value.r#type())?.element.to_string();
    let bits: u32 = bits.trim_start_matches(['u', 's']).strip_prefix('i')?.parse().ok()?;
    (2..=64).contains(&bits).then(|| (1_i128 << (bits - 1)) - 1)
}
