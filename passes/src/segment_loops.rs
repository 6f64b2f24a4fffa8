// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-segment-loops`: what a loop stores of each turn for a backward loop is there for one segment of turns at a time.
//!
//! # What it matches
//!
//! Two `while` loops of a block, the second of which reads what the first one stores, slot by slot, from the last turn to the first: the
//! gradient of a `lax.scan` or `lax.fori_loop` over time steps or layers. What is stored may be no more than what each turn starts from, as
//! `--slimhlo-recompute-residuals` leaves it; that is still an array per turn:
//!
//! ```mlir
//! %forward:3 = stablehlo.while(%i = %c0, %x = %x0, %xs = %zeros)          // 100 turns, xs: tensor<100x512x512xf32>
//!   do { ... %xs with %x at %i; %x is stepped ... }
//! %backward:2 = stablehlo.while(%j = %c0, %y = %y0, %xs = %forward#2)
//!   do { %x = stablehlo.dynamic_slice %xs, 99 - %j, ...; ... }
//! ```
//!
//! becomes
//!
//! ```mlir
//! %first:2 = stablehlo.while(%m = 0 to 9, %x = %x0, %starts = %zeros)     // starts: tensor<9x512x512xf32>
//!   do { ... %starts with %x at %m; stablehlo.while(0 to 10, %x) { %x is stepped } ... }
//! %last:2 = stablehlo.while(%n = 0 to 10, %x = %first#0, %xs = %zeros)    // xs: tensor<10x512x512xf32>
//! %behind:2 = stablehlo.while(%n = 0 to 10, %y = %y0, %xs = %last#1)
//! %backward:3 = stablehlo.while(%m = 0 to 9, %y = %behind#0, %xs = %behind#1, %starts = %first#1)
//!   do {
//!     %x = stablehlo.dynamic_slice %starts, 8 - %m, ...
//!     %again:2 = stablehlo.while(%n = 0 to 10, %x = %x, %xs = %xs)        // the segment's forward turns, which store
//!     stablehlo.while(%n = 0 to 10, %y = %y, %xs = %again#1)              // and its backward turns
//!   }
//! ```
//!
//! where `%again` has of the forward turns only what the slots follow from. With a single segment there are no `%starts`: it starts where all
//! does.
//!
//! # Why it is right
//!
//! Turns are the same ops on the same operands, in the same order; each is told its own number. What was stored of a turn is what that turn
//! computes of what it started with, and does so again.
//!
//! # What it saves and costs
//!
//! Of `T` slots of `S` bytes there are `max(K, T - M K)`, and `M` states of `C` bytes, for `M` segments of `K` turns; both numbers
//! are chosen for the fewest bytes, which comes to about two square roots of `T` in place of it where slots are states. The price is
//! `M K` forward turns done again: `share` says how many in a hundred may be. (A. Griewank, "Achieving logarithmic growth of temporal
//! and spatial complexity in reverse automatic differentiation", 1992; this is its first level, and done to what it leaves it is the
//! next.)
//!
//! # When it must not fire
//!
//! * Turns that do what must not be done twice: effects, channels, random numbers that nobody can draw again.
//! * Loops that do not count, or by more than 1; a reader that does not go backwards; stacks that anything else reads, which stay.
//! * Programs for several partitions: what is computed twice would have to be sharded the same way both times.
//! * Less than a [`LEAST_SHARE`]th of the bytes of these stacks saved.

mod emit;
pub mod plan;
mod turns;

use crate::counted::Counter;
use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{Builder, bytes, plain};
use crate::ops::class::is_repeatable;
use crate::rewrite::ops_named;
use crate::shards::is_partitioned;
use crate::stacks::{Reader, Writer, order};
use melior::ir::OperationRef;
use melior::ir::operation::OperationLike;
use plan::{Plan, Sizes};
use turns::Turns;

crate::pass_options! {
    /// Store what a loop leaves for a backward one for one segment of turns at a time.
    ///
    /// Of a forward loop only what some turns start from is stored, and the last segment; the backward loop has each segment's forward
    /// turns done again before it goes through them.
    ///
    /// ```mlir
    /// %forward:3 = stablehlo.while(...)                    // stores tensor<100x512x512xf32>
    /// %backward = stablehlo.while(..., %xs = %forward#2)
    /// // becomes nine segments of ten turns, and ten that are not done again
    /// %first:2 = stablehlo.while(...)                      // stores tensor<9x512x512xf32>
    /// %last:2 = stablehlo.while(...)                       // stores tensor<10x512x512xf32>
    /// ```
    pub struct SegmentLoops {
        /// Of a loop's turns at most so many in a hundred are done again.
        pub share: u64 = 100,
    }
}

const LOOPS: Statistic = Statistic::new(c"num-loops", c"loops that store no more than one segment of turns");
const SAVED: Statistic =
    Statistic::new(c"bytes-saved", c"bytes that are no longer stored by one loop for another");

/// The least share of the bytes of a loop's stacks that has to be saved: below it loops are taken apart for little. Not measured
/// against others.
const LEAST_SHARE: u64 = 8;

impl Pass for SegmentLoops {
    const ARGUMENT: &'static str = "slimhlo-segment-loops";
    const STATISTICS: &'static [Statistic] = &[LOOPS, SAVED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let build = Builder::new(root);
        let mut saved = Vec::new();
        // Outer loops come after those in them, which copies take along as they are then.
        for op in ops_named(root, "stablehlo.while").into_iter().rev() {
            saved.extend(self.rewrite(op, &build));
        }
        context.count(&LOOPS, saved.len() as u64);
        context.count(&SAVED, saved.iter().sum());
        Ok(Changed::from(!saved.is_empty()))
    }
}

impl SegmentLoops {
    /// Has a loop store a segment at a time for the first of its readers for which that pays: how many bytes less.
    fn rewrite<'c: 'a, 'a>(&self, op: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<u64> {
        let writer = Writer::of(op)?;
        writer.readers().iter().find_map(|reader| {
            let counter = Counter::of(reader.op).filter(|counter| counter.turns() == writer.turns)?;
            let goes_back = order(&counter, reader.body, reader.turn)? != writer.order;
            let pieces = goes_back.then(|| Pieces::of(&writer, reader, counter))??;
            let slot =
                reader.stacks.iter().map(|(stack, _)| bytes(writer.stacks[*stack].slot).cast_unsigned());
            let (slot, state) = (slot.sum::<u64>(), pieces.again.state().map(|(_, bytes)| bytes).sum());
            let before = slot.saturating_mul(writer.turns.cast_unsigned());
            let sizes =
                Sizes { turns: writer.turns, slot, state, starts_free: pieces.again.starts_with_arguments() };
            let plan = Plan::of(sizes, self.share)?;
            let saved =
                before.checked_sub(plan.bytes).filter(|saved| *saved >= before.div_ceil(LEAST_SHARE))?;
            emit::rewrite(build, &pieces, plan);
            Some(saved)
        })
    }
}

/// What loops are put together of.
struct Pieces<'c, 'a> {
    /// Forward turns that store nothing for the reader.
    plain: Turns<'c, 'a>,
    /// Forward turns as they are.
    storing: Turns<'c, 'a>,
    /// Of forward turns what slots follow from.
    again: Turns<'c, 'a>,
    /// Backward turns.
    reading: Turns<'c, 'a>,
}

impl<'c: 'a, 'a> Pieces<'c, 'a> {
    /// Of two loops, the second of which counts like this; none if forward turns are not to be done twice. All have the stacks in one order.
    fn of(writer: &Writer<'c, 'a>, reader: &Reader<'c, 'a>, counter: Counter) -> Option<Self> {
        let written: Vec<usize> =
            reader.stacks.iter().map(|(stack, _)| writer.stacks[*stack].number).collect();
        let read: Vec<usize> = reader.stacks.iter().map(|(_, carried)| *carried).collect();
        let forward = |numbers: &[usize]| Turns::of(writer.op, writer.counter, &written, numbers);
        let others = |op: OperationRef<'c, 'a>, stacks: &[usize]| -> Vec<usize> {
            (0..op.operand_count()).filter(|number| !stacks.contains(number)).collect()
        };
        let again = forward(&written)?;
        let is_plain = |number: &usize| plain(again.argument(*number)).is_some();
        let fine = again.ops.iter().all(|op| is_repeatable(*op)) && again.carried.iter().all(is_plain);
        let reading = fine.then(|| Turns::of(reader.op, counter, &read, &others(reader.op, &[])))??;
        Some(Self {
            plain: forward(&others(writer.op, &written))?,
            storing: forward(&others(writer.op, &[]))?,
            again,
            reading,
        })
    }
}
