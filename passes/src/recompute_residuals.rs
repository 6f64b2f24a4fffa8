// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-recompute-residuals`: what a loop stores of each turn for another loop is computed again from less.
//!
//! # What it matches
//!
//! Two `while` loops of a block, the first of which stores something in each turn that the second reads turn by turn: what
//! JAX makes of the gradient of a `lax.scan` or `lax.fori_loop` over layers or time steps. The first one's turns go forward
//! and store all that the backward ones, the second's, will ask for, each value as an array with a slot per turn:
//!
//! ```mlir
//! %forward:4 = stablehlo.while(%i = %c0, %x = %x0, %as = %zeros, %bs = %zeros)       // as, bs: tensor<50x512x512xf32>
//!   do {
//!     %a = stablehlo.tanh %x
//!     %b = stablehlo.multiply %a, %a
//!     ... %as with %a at %i, %bs with %b at %i ...
//!   }
//! %backward = stablehlo.while(%j = ..., %as = %forward#2, %bs = %forward#3, ...)
//!   do {
//!     %a = stablehlo.dynamic_slice %as, %j, ...
//!     %b = stablehlo.dynamic_slice %bs, %j, ...
//! ```
//!
//! becomes
//!
//! ```mlir
//! %forward:3 = stablehlo.while(%i = %c0, %x = %x0, %as = %zeros)
//! %backward = stablehlo.while(%j = ..., %as = %forward#2, ...)
//!   do {
//!     %a = stablehlo.dynamic_slice %as, %j, ...
//!     %b = stablehlo.multiply %a, %a
//! ```
//!
//! What is stored instead is a minimum cut through the forward turn (`cut.rs`): the fewest bytes from which all that was
//! stored follows by arithmetic, moves of elements, and products that are much larger than their operands (scores of queries and
//! keys). Constants, what both loops are given, and slices of that by the number of the turn are free.
//!
//! # Why it is right
//!
//! The ops are the same, and so are their operands: a slot holds what its turn computed, every slot is written by its turn once,
//! and the reader's turn reads that same slot of each stack. No value is rounded otherwise.
//!
//! # Why it pays
//!
//! Without it a step of some ten nonlinear operations stores some ten fields per turn, where its state would do. Arithmetic
//! on what is in the cache is faster than writing it to memory and reading it back. Attention's weights go, which are the square of the
//! length; and what is left in both loops can be done in chunks (`--slimhlo-stream`).
//!
//! # What it costs
//!
//! The forward turn's arithmetic, once more; never a product of two matrices that is not much larger than they are, a convolution,
//! a reduction, a sort, a loop or a call. With `transforms` also its Fourier transforms: a spectral solver's state is of a few
//! coefficients, of which a turn makes a field and its derivatives, each by a transform. A back end's library reads and writes them a few times for that, so the
//! pipeline asks for it apart, and weighs the time: where all of it takes too long, a `share` of the stacks goes, and the others are stored as they
//! were. With `moves` also any product or convolution of matrices, for the seconds that it
//! takes on the target: layers in a loop, whose second product is as large as its operand, keep their input alone. The cut is a maximum flow over the values of one body: not linear, but few of its values matter,
//! and bodies of more than some thousand are left alone.
//!
//! What takes elementary functions and is read at other places than its own, as by the gradient of a stencil or a shift, goes through a
//! branch that is always taken, or a barrier where that is enough (`hold.rs`): XLA for CPU would fuse it with what reads it and compute it once for each place, several
//! times over. Elsewhere a back end may do with it what it likes. A back end that does not fuse so loses a copy of one turn's values.
//!
//! # When it must not fire
//!
//! * A stack that anything else reads stays, and is read by the second loop, too, if it helps.
//! * Slots that are not all written, or whose number does not follow from the count of turns by adding constants.
//! * Less than a [`LEAST_SHARE`]th of the bytes of these stacks saved.
//! * Programs for several partitions: what is computed twice would have to be sharded the same way both times.
//! * Barriers: `jax.checkpoint` has said already what to store.

mod cut;
mod emit;

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::bytes;
use crate::ir::{self, Builder};
use crate::rematerialize::price::Prices;
use crate::rewrite::walk;
use crate::shards::is_partitioned;
use crate::stacks::Writer;
use crate::tables::Table;
use crate::target::{Storage, Target};
use cut::{Again, Values};
use melior::ir::OperationRef;
use melior::ir::operation::WalkResult;
use slimhlo_dialect::ffi::op_name;

crate::pass_options! {
    /// Let a loop compute again what another one stored for it, where that follows from less.
    ///
    /// The gradient of a loop over layers or time steps reads what each forward turn has stored. Of the values of a
    /// forward turn those are stored instead that take the fewest bytes, and the backward turn computes the others from them.
    ///
    /// ```mlir
    /// %a = stablehlo.dynamic_slice %as, %j, ...
    /// %b = stablehlo.dynamic_slice %bs, %j, ...
    /// // becomes, if the forward turn had computed %b that way,
    /// %a = stablehlo.dynamic_slice %as, %j, ...
    /// %b = stablehlo.multiply %a, %a
    /// ```
    pub struct RecomputeResiduals {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// Fourier transforms are computed again, too.
        pub transforms: bool = false,
        /// Of the stacks that one loop reads of another at most so many in a hundred go, the first ones: what is computed again takes time.
        pub share: u64 = 100,
        /// Products and convolutions are computed again where that takes no longer than moving so many times the bytes that it
        /// saves to be stored; 0: where they are much larger than their operands. Only on targets whose rates are known.
        pub moves: u64 = 0,
    }
}

const STACKS: Statistic =
    Statistic::new(c"num-stacks", c"arrays that are no longer stored by one loop for another");
const SAVED: Statistic =
    Statistic::new(c"bytes-saved", c"bytes that are no longer stored by one loop for another");

/// The least share of a loop's stacks that has to be saved.
const LEAST_SHARE: u64 = 16;

impl Pass for RecomputeResiduals {
    const ARGUMENT: &'static str = "slimhlo-recompute-residuals";
    const STATISTICS: &'static [Statistic] = &[STACKS, SAVED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let rates = self.target.rates().filter(|_| self.moves > 0);
        if is_partitioned(root) || self.moves > 0 && rates.is_none() {
            return Ok(Changed::No);
        }
        let build = Builder::new(root);
        let prices = rates.map(|rates| Prices::new(root, self.target, rates));
        let again = Again {
            transforms: self.transforms,
            products: prices.as_ref().map(|prices| (prices, self.moves)),
            share: self.share,
        };
        let mut loops = Loops::of(root);
        let mut changed = false;
        for index in 0..loops.ops.len() {
            while let Some(saved) = loops.rewrite(index, self.target.storage(), again, &build) {
                changed = true;
                context.count(&STACKS, saved.stacks);
                context.count(&SAVED, saved.bytes);
                if self.share < 100 {
                    // Of what is left it would take a share again.
                    break;
                }
            }
        }
        Ok(Changed::from(changed))
    }
}

/// All loops there are, and where each is among them.
struct Loops<'c, 'a> {
    ops: Vec<OperationRef<'c, 'a>>,
    places: Table<usize, usize>,
}

/// What a rewrite saved.
struct Saved {
    stacks: u64,
    bytes: u64,
}

impl<'c: 'a, 'a> Loops<'c, 'a> {
    fn of(root: OperationRef<'c, 'a>) -> Self {
        let mut ops = Vec::new();
        walk(root, |op| {
            if op_name(op) == "stablehlo.while" {
                ops.push(op);
            }
            WalkResult::Advance
        });
        let places = ops.iter().enumerate().map(|(index, op)| (ir::op_key(*op), index)).collect();
        Self { ops, places }
    }

    /// Lets the loop of a number store less for the first of its readers for which that pays.
    fn rewrite(
        &mut self,
        index: usize,
        storage: &Storage,
        again: Again<'_>,
        build: &Builder<'c, 'a>,
    ) -> Option<Saved> {
        let writer = Writer::of(self.ops[index])?;
        writer.readers().iter().find_map(|reader| {
            let stacks = || reader.stacks.iter().map(|(number, _)| writer.stacks[*number].slot);
            let before: u64 = stacks().map(|slot| bytes(slot).cast_unsigned()).sum();
            let values = Values::new(&writer, reader, again);
            let cut = values.cut(reader)?;
            let saved =
                before.checked_sub(cut.bytes).filter(|saved| *saved >= before.div_ceil(LEAST_SHARE))?;
            let count = reader.stacks.len().saturating_sub(cut.stored.len());
            let (reads, writes) = (ir::op_key(reader.op), ir::op_key(writer.op));
            let (writer_op, reader_op) = emit::rewrite(build, storage, (&writer, reader), &values, &cut);
            for (old, new) in [(writes, writer_op), (reads, reader_op)] {
                if let Some(place) = self.places.remove(&old) {
                    self.ops[place] = new;
                    self.places.insert(ir::op_key(new), place);
                }
            }
            Some(Saved { stacks: count as u64, bytes: saved * writer.turns.cast_unsigned() })
        })
    }
}
