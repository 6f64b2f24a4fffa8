// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-unroll-rotations`: a loop whose values change places takes as many turns at once as it takes them to come back.
//!
//! # What it matches
//!
//! A `while` that counts its turns, and that hands on at one place what it carries at another: the last two states of a wave, of
//! a leapfrog or of any method of several steps.
//!
//! ```mlir
//! %w:3 = stablehlo.while(%i = %c0, %old = %a, %new = %b)      // 10 turns
//!   do {
//!     %next = ... %old, %new                                  // element by element in %old
//!     stablehlo.return %i1, %new, %next
//! ```
//!
//! becomes
//!
//! ```mlir
//! %w:3 = stablehlo.while(%i = %c0, %old = %a, %new = %b)      // 5 turns
//!   do {
//!     %next = ... %old, %new
//!     %then = ... %new, %next
//!     stablehlo.return %i2, %next, %then
//! ```
//!
//! # Why it is right
//!
//! The same turns happen in the same order on the same values. Turns that are left over happen before the loop.
//!
//! # Why it pays
//!
//! What a loop carries lies at one place for all turns. What changes places is copied, and as the two are needed at once, one of
//! them to memory of its own: 64 MiB for fields of that size, and a quarter of the time (`wave_steps` under XLA for an H100). After as many turns
//! as there are places each value is made where it belongs, in place of one that nobody needs any more.
//!
//! # What it costs
//!
//! The body's ops as often as there are places. One walk; linear in the ops of the bodies.
//!
//! # When it must not fire
//!
//! * Loops that do not count, or take fewer than two of the longer turns; more than four places.
//! * Values that change places of fewer than `least-bytes` bytes: copying these takes no time.
//! * Bodies of more than `most-ops` ops, which all have to be compiled again.
//! * Bodies with effects or channels between devices, which are known by their numbers.

use crate::counted::{Counter, blocks};
use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::ops::class;
use crate::rewrite::{ops_in, ops_named, walk};
use crate::tables::{Keys, Table};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;

crate::pass_options! {
    /// Take as many turns of a loop at once as it takes the values that change places to come back.
    ///
    /// A loop that hands on at one place what it carries at another needs a copy of it in each turn, and memory for that. After as many
    /// turns as there are places, each value is made in place of one that nobody needs any more.
    ///
    /// ```mlir
    /// stablehlo.return %i1, %new, %next           // of %old, %new; %next is made of both
    /// // becomes, %then being made of %new and %next
    /// stablehlo.return %i2, %next, %then
    /// ```
    pub struct UnrollRotations {
        /// How large a value that changes places has to be.
        pub least_bytes: Bytes = Bytes(64 << 10),
        /// Of how many ops a body may be.
        pub most_ops: u64 = 1024,
    }
}

const UNROLLED: Statistic = Statistic::new(c"num-loops", c"loops that take several turns at once");

/// More places than these are not known to be worth their ops.
const MOST_PLACES: i64 = 4;

impl Pass for UnrollRotations {
    const ARGUMENT: &'static str = "slimhlo-unroll-rotations";
    const STATISTICS: &'static [Statistic] = &[UNROLLED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let build = Builder::new(root);
        let mut count = 0;
        // Inner ones first: a turn of an outer one is copied with them.
        for op in ops_named(root, "stablehlo.while").into_iter().rev() {
            let Some(turns) = Turns::of(op, usize::try_from(self.most_ops).unwrap_or(usize::MAX)) else {
                continue;
            };
            let Some(period) = turns.period(i64::try_from(self.least_bytes.0).unwrap_or(i64::MAX)) else {
                continue;
            };
            if turns.counter.turns() >= 2 * period {
                turns.unroll(period, &build);
                count += 1;
            }
        }
        context.count(&UNROLLED, count);
        Ok(Changed::from(count > 0))
    }
}

/// A loop that counts its turns.
struct Turns<'c, 'a> {
    op: OperationRef<'c, 'a>,
    counter: Counter,
    /// What it carries, in the body.
    arguments: Vec<Value<'c, 'a>>,
    /// The ops of the body, in order, but for the last.
    ops: Vec<OperationRef<'c, 'a>>,
    end: OperationRef<'c, 'a>,
}

impl<'c: 'a, 'a> Turns<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>, most: usize) -> Option<Self> {
        let counter = Counter::of(op)?;
        let (_, body) = blocks(op)?;
        let end = body.terminator()?;
        let count = op.operand_count();
        let arguments: Option<Vec<Value>> =
            (0..count).map(|index| body.argument(index).ok().map(Value::from)).collect();
        let ops: Vec<OperationRef> = ops_in(body).take(most + 1).filter(|op| *op != end).collect();
        (ops.len() < most && is_repeatable(body)).then_some(Self {
            op,
            counter,
            arguments: arguments?,
            ops,
            end,
        })
    }

    /// For each place, that of the value that comes there, if the loop only hands it on.
    fn from(&self) -> Vec<Option<usize>> {
        let places: Table<usize, usize> =
            self.arguments.iter().enumerate().map(|(at, value)| (ir::key(*value), at)).collect();
        self.end.operands().map(|value| places.get(&ir::key(value)).copied()).collect()
    }

    /// After how many turns all values of so many bytes that change places are where they were, or have been made there; `None` if
    /// none does, or that takes too long.
    fn period(&self, least: i64) -> Option<i64> {
        let from = self.from();
        let goes_on: Keys =
            from.iter().enumerate().filter_map(|(to, from)| from.filter(|&from| from != to)).collect();
        let mut period = 1;
        for (place, value) in self.arguments.iter().enumerate() {
            if from[place].is_none_or(|other| other == place) || ir::bytes(*value) < least {
                continue;
            }
            let way: Vec<usize> =
                std::iter::successors(from[place], |&at| from[at].filter(|&next| next != at))
                    .take(self.arguments.len())
                    .take_while(|&at| at != place)
                    .collect();
            let first = way.last().and_then(|&last| from[last]);
            // Of those that go on each way has one that goes nowhere, but for a ring. What comes from a place whose value stays is the
            // same from some turn on.
            let is_end = !goes_on.contains(&place) && first.is_none() || first == Some(place);
            if !is_end {
                continue;
            }
            let own = i64::try_from(way.len() + 1).ok()?;
            period = (period / ir::gcd(period, own)).saturating_mul(own);
        }
        (1 < period && period <= MOST_PLACES).then_some(period)
    }

    /// Has each turn do what so many did.
    fn unroll(&self, period: i64, build: &Builder<'c, 'a>) {
        let Counter { number, start, step, .. } = self.counter;
        let location = self.op.location();
        let element = ir::element_of(self.arguments[number].r#type());
        let left = self.counter.turns() % period;
        let mut values: Vec<Value> = self.op.operands().collect();
        build.set_insertion_point_before(self.op);
        for _ in 0..left {
            values = self.turn(&values, build);
        }
        if left > 0 {
            values[number] = build.number((start + left * step) as f64, element, location);
            for (index, value) in values.iter().enumerate() {
                build.set_operand(self.op, index, *value);
            }
        }
        build.set_insertion_point_before(self.end);
        let mut values: Vec<Value> = self.end.operands().collect();
        for _ in 1..period {
            values = self.turn(&values, build);
        }
        let by = build.number((step * period) as f64, element, location);
        values[number] = build.binary("stablehlo.add", self.arguments[number], by, location);
        for (index, value) in values.iter().enumerate() {
            build.set_operand(self.end, index, *value);
        }
    }

    /// Another turn with these values: what comes of it.
    fn turn(&self, values: &[Value<'c, 'a>], build: &Builder<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let mut now: Table<usize, Value<'c, 'a>> =
            self.arguments.iter().zip(values).map(|(argument, value)| (ir::key(*argument), *value)).collect();
        for &op in &self.ops {
            build.copy_renamed(op, &mut now);
        }
        self.end.operands().map(|value| now.get(&ir::key(value)).copied().unwrap_or(value)).collect()
    }
}

/// Whether all ops of a block may happen twice as often in the text: nobody else hears of them, as custom calls may tell somebody.
fn is_repeatable(block: BlockRef<'_, '_>) -> bool {
    ops_in(block).all(|op| {
        let calls = walk(op, |inner| match op_name(inner) {
            "stablehlo.custom_call" => WalkResult::Interrupt,
            _ => WalkResult::Advance,
        });
        class::is_repeatable(op) && calls != WalkResult::Interrupt
    })
}
