// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-stream`: what is only reduced, scattered or contracted is computed a chunk at a time and never stored whole.
//!
//! # What it matches
//!
//! A `reduce` over, a `scatter` of updates along, or a `dot_general` that contracts a long dimension, whose input is computed
//! from other values in a way that is independent along that dimension, and would take much memory on its way; and a
//! `dot_general` or `reduce` whose small result, or what elementwise ops make of it, can be computed in parts from parts of
//! large operands (softmax attention, log-sum-exp per row, argmax, say), as can the largest of each row (`chlo.top_k`):
//!
//! ```mlir
//! %rows = "stablehlo.gather"(%table, %indices) ...       // tensor<1000000000xf32>, stored
//! %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0]
//! ```
//!
//! becomes
//!
//! ```mlir
//! %loop:4 = stablehlo.while(%i = %c0, %sum = %zero, %table_ = %table, %indices_ = %indices)
//!   cond { %i < %whole_chunks }
//!   do {
//!     %some = stablehlo.dynamic_slice %indices_, %i, ...
//!     %rows = "stablehlo.gather"(%table_, %some) ...     // one chunk
//!     %part = stablehlo.reduce(%rows init: %zero) ...
//!     stablehlo.return %i + chunk, %sum + %part, %table_, %indices_
//!   }
//! ```
//!
//! and, if the chunk does not divide the dimension, the same once more for the rest after the loop. Accumulators are carried,
//! so that a scatter goes on updating one buffer in place; parts of a dot's result are put into theirs by
//! `dynamic_update_slice`. Consumers in a block that share costly producers along the same
//! dimension share a loop; what needs the result of one of them before the last is moved after the loop, if it is elementwise.
//! Two sums of the same values, along rows and along columns, that are added in the end (the two gradients of a distance) share
//! one, too: they are added after it.
//!
//! Independent along a dimension are: elementwise ops, broadcasts, iota, splats, slices and pads (along the streamed dimension,
//! too: a chunk is then one of the operand from further on, and what is not from it is masked by position), concatenation along
//! another one, reshapes that keep the units apart, transposes, reversals of other dimensions, gathers (along
//! batch dimensions of their indices), scatters along dimensions paired with their indices', reductions, windows and sorts of
//! other dimensions, the batch of a convolution, dots (along batch and free dimensions), and loops whose turns are (`ops/loops.rs`:
//! JAX's random numbers, say). All else is a value that is there, and is sliced.
//!
//! What a loop makes of hardly anything, or what elementwise ops make of that, is put in its place in chunks, too: random numbers
//! take no more than their result.
//!
//! A scatter of one element per row into a splat (the gradient of picking one logit per row) is made a comparison first
//! (`one_hot.rs`).
//!
//! # What is computed again
//!
//! Scores and logits are needed by a forward pass and by its gradient. A value that is much larger than what it is computed
//! from, all of whose uses can be streamed, is computed in each of their loops and stored in none (`outside.rs` says when);
//! dots only up to as many multiplications as the loop does anyway, which is at most one more forward dot for a gradient. Small
//! results on the way that something else needs (the maximum and the sum of a softmax) come out of the loop as well. So do sums
//! over gathered rows (the scores of a graph's edges) where half of arguments and results has room for them; what is made of them is
//! computed again from those.
//!
//! Cheap arithmetic that several reductions of a chunk read is computed for each of them, and arithmetic on a table whose rows
//! are gathered is done on the rows (`beside.rs`): neither is stored. Cheap arithmetic that leads to a chain of scatters and, outside, to
//! no more than arithmetic and the indices of gathers is computed in both places. A consumer whose result's users went into another loop
//! is streamed by itself in its turn.
//!
//! # Loops in loops
//!
//! Where all is independent along a batch dimension, but a unit of it takes much, an outer loop runs over that dimension, and
//! the pass goes over its body again: heads outside, queries inside; rows outside, columns inside. Where nothing else is done in the outer
//! one both become one (`collapse.rs`), if turns take time. It is no way to do with less than one
//! loop would if something large that the one loop computes in chunks would have to be there before the outer one.
//!
//! # Why it is right
//!
//! Each element is computed by the same ops from the same elements. Only the order of accumulation changes, which
//! StableHLO leaves open; for combiners whose order shows (a scatter that sets) chunks run along the slowest scatter
//! dimension, so that even the order stays. In a chain of scatters each chunk of all of them is added before the next chunk: only for
//! one combiner, associative and commutative, all along. Reductions stream only if their body is a single known associative and commutative
//! op; where an initial value is not its identity, it is taken once. Sums and products of floats below 32 bits accumulate in
//! f32, and so do contractions: a chunk's end must not round where one reduction (or a back end's scatter, which widens it too)
//! did not. Maxima, minima and what is set, of bf16 and 8-bit floats, are scattered in f32, too, which makes no difference to
//! them: a back end that does so itself would convert all of the result in each turn. Of complex numbers only sums go in parts:
//! times one changes a part that is infinite, and they have no order.
//! A dot with an algorithm is contracted in parts only if they are added up in the type that the algorithm names.
//!
//! # Why it pays
//!
//! What counts as stored, and so as saved: results of gather, concatenate, dot and reduce; what scatter, gather and dot
//! read, if it is computed; and elementwise values that two of the above need, where back ends that do not compute twice store
//! them, and what the memory model says that others store at the peak (`held.rs`). An elementwise chain into one reduce is
//! fused by most back ends: nothing is stored, and nothing is done. But XLA for CPU
//! hands a sum, maximum or minimum of floats to a library that knows arithmetic of floats alone, and reduces integers in tiles:
//! what is selected, compared or a sine, and what is counted, is stored if it is made of much less (`outside.rs`).
//! The loop is made if it saves more than four times `chunk-bytes`. Chunks take about `chunk-bytes`: with the default of
//! 4 MiB some hundred thousand rows of an index, at nanoseconds each, against microseconds for a turn of the loop.
//!
//! Dots in the loops take their larger operand as it lies (`order.rs`): what a turn would have to transpose first is a chunk of
//! scores or weights otherwise. A product as large as a table is added to its sum a part at a time (`parts.rs`): a loop over rows of a
//! large vocabulary's loss has logits computed once, for the loss and for both its gradients, and stores neither the logits nor a
//! second table. Dots of narrow floats with wider results take the forms that XLA for CPU can run (`wide.rs`).
//!
//! Chunks are smaller in programs of little memory (a 64th of arguments and results, up to twice that for the cost of a turn
//! to be no matter, if it is little of what is saved), and larger where dots would have too few
//! rows to be fast (up to eight times `chunk-bytes`, an eighth of what is saved, an eighth of arguments and results; where a
//! large sum is rewritten in each turn, up to four times as much, and a quarter of what is saved; where such dots read
//! more than `chunk-bytes` again in each turn, half of arguments and results, and eight times `chunk-bytes`). Chunks with
//! dots take `chunk-bytes` if that is no more than a quarter of those (an eighth where dots are of narrow floats, which are widened first):
//! back ends spread an op over threads only if it is large. They are powers of two where that leaves little over, and else divide
//! the dimension, or nearly: much that is left over would be put into a loop of its own, of short turns. Where a turn mostly copies
//! updates that are there, and chunks are not as large as they are to be anywhere, what it copies fits into a processor's cache.
//!
//! In programs of so little memory that chunks would be smaller than `chunk-bytes` even so, a loop in a loop takes up to a quarter of
//! what it saves, and is not made where all that it would take apart is no more than `chunk-bytes`, about: turns of little work
//! are done by one thread. Nor is it where its chunks would not lie in one piece, or where it would take chunks apart that were made
//! large because of what dots read again. Arithmetic between products leaves out a head or a batch of one (`ones.rs`).
//!
//! # Where it does not pay
//!
//! Loops that add up products of narrow floats are not made where all turns together rewrite more of the sums than the loop saves: they
//! take longer than one product, for which back ends widen both operands once. What cheap arithmetic makes of the program's
//! arguments, such as indices without their signs, is not stored for two loops: each makes it of the same chunk again.
//!
//! XLA for CPU hands a dot, plain arithmetic and reductions of it, and one dot more to a library that stores nothing between
//! them, if they are not in a loop: such attention without a mask is left alone, except where operands have to be transposed
//! first. XLA for CPU has no slices of bf16 either: it would make an f32 copy of all that a loop slices, before the loop. A barrier with
//! the loop's counter keeps it from that, and the slice alone is widened. JAX hides producers behind private functions (`jnp.clip`): run `--inline` first.
//!
//! A scatter of updates that are there reads them in place, but a loop copies each part of them. Where all that it would save are
//! indices of a quarter of their bytes, a hundredth of arguments and results, that is most of the work, and nothing is done. Nor is
//! where a search (a reduction of several operands) computes what it searches from slices, and the loop saves less than half of
//! that: looking up for each element where the slice is takes longer than the search.
//!
//! Results of bf16 and 8-bit floats are not updated in place either where back ends know no moves of them: each turn rewrites them.
//! So turns take a quarter of such results at least, within the same limits.
//!
//! Rows that take the work of several elementary functions go through a branch that is always taken before they are put in their place: XLA
//! for CPU divides a fusion among cores, but not one that ends in an update in place.
//!
//! # What it costs
//!
//! Reducing the order of accumulation to chunks, and computing again what is cheap and also used elsewhere. A plan
//! looks at no more than a fixed number of producers, and each consumer at a fixed number of those before it: the pass
//! is linear in its module. Where more producers lead up into a network's layers, a plan ends at values that dots are computed from
//! and that are small beside its largest.
//!
//! Consumers are visited from the last one upwards: what is further down takes more producers along. In the first round none
//! takes slices of a large value (a softmax, a gelu's gradient) that is elementwise made of a dot much larger than its operands:
//! with what others do in that round, nothing may need it whole any more.
//!
//! # When it must not fire
//!
//! * Along dimensions that a partitioner may cut, and around ops for which devices would have to talk to each other in each turn
//!   (`cuts.rs`); in programs for several partitions whose shardings are not of the `sdy` dialect. What is inside of manual
//!   computations over a whole mesh is one device's, and streamed as in any program.
//! * Consumers or producers with discardable attributes (shardings): what a chunk's sharding would be is unknown.
//! * Dynamic shapes, encodings, element types that are no plain numbers, reducers that use values from around them.
//! * A costly producer that something else needs whole is there anyway: it is sliced, and not counted as saved.
//! * Where what is sliced besides arguments is four times what the loop would save: all of it is there as long as the loop runs.
//! * A sum that is compared with itself, as JAX compares scores with their maximum for its gradient, is computed once (`ties.rs`): a
//!   chunk of one has the bits it is looked for by if all that compares it is in the same turn, and else the sum is there and sliced.
//! * What is inside of a loop made by this pass takes less than the threshold: a second run changes nothing.

mod beside;
mod choose;
mod collapse;
mod consumer;
pub(crate) mod cuts;
pub(crate) mod emit;
mod held;
mod one_hot;
mod ones;
mod order;
mod outside;
pub(crate) mod own_shards;
mod parts;
pub(crate) mod plan;
mod sizes;
mod wide;

use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::rewrite::{take_body, walk};
use crate::shards::is_partitioned;
use crate::tables::{Keys, Marked};
use crate::target::Target;
use crate::ties::Ties;
use choose::Rewrite;
use choose::neighbours::Neighbours;
use consumer::Consumer;
use cuts::Cuts;
use held::Held;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, Type};
use sizes::{ROUNDS, Sizes};
use slimhlo_dialect::ffi::{self, op_name};
use std::cell::Cell;
use std::rc::Rc;

crate::pass_options! {
    /// Compute what is only reduced, scattered or contracted a chunk at a time.
    ///
    /// Where a large intermediate (a gather's result, concatenated indices, updates, attention scores, logits) exists
    /// only to be reduced, scattered or contracted along a dimension, or to be mapped to a smaller dot's result, its producers and its consumers become a `while` over chunks of that dimension,
    /// which carries the accumulators in place. Consumers that share costly producers share a loop; what a chunk leaves
    /// over is done after it. Only the order of accumulation changes; sums of bf16 and f16 accumulate in f32.
    ///
    /// ```mlir
    /// %rows = "stablehlo.gather"(%table, %indices) ...
    /// %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0]
    /// // becomes
    /// %loop:4 = stablehlo.while(%i = %c0, %acc = %zero, %t = %table, %n = %indices) ...
    /// ```
    pub struct Stream {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// How much the temporaries of one chunk may take, about.
        pub chunk_bytes: Bytes = Bytes(4 << 20),
        /// Go on until another run would find nothing to do; what runs this pass until nothing changes need not ask for it.
        pub settle: bool = true,
    }
}

const LOOPS: Statistic = Statistic::new(c"num-loops", c"loops over chunks");
const CONSUMERS: Statistic = Statistic::new(c"num-consumers", c"reductions and scatters done in chunks");

/// Which part of a program's arguments and results a loop may store rather than compute dots again.
const SPARE: i64 = 2;
/// How many consumers before one are asked whether they share its producers.
const NEIGHBOURS: usize = 64;
/// In how many of the [`ROUNDS`] consumers outside of the loops made are gone over again, too.
const FULL_ROUNDS: usize = 3;
/// How often all rounds are done at most until they find nothing.
const RUNS: usize = 6;

impl Pass for Stream {
    const ARGUMENT: &'static str = "slimhlo-stream";
    const STATISTICS: &'static [Statistic] = &[LOOPS, CONSUMERS];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        // What was made of a loop's body, its dots' operands in another order among it, may be worth loops of its own.
        let runs = if self.settle { RUNS } else { 1 };
        let made = (0..runs).take_while(|_| self.run_once(root, context)).count();
        Ok(Changed::from(made > 0))
    }
}

impl Stream {
    /// Makes the loops that there are to be made; whether it changed anything.
    fn run_once(&self, root: OperationRef<'_, '_>, context: &PassContext<'_>) -> bool {
        if is_partitioned(root) {
            let cuts = Cuts::new(root);
            let least = self.sizes(cuts.floor).least_saved;
            if let Some(original) = own_shards::run(root, &cuts, least) {
                let before = own_shards::loops(root);
                self.make_loops(root, context);
                if own_shards::loops(root) > before {
                    return true;
                }
                // It was in vain.
                if let (Ok(to), Ok(from)) = (root.region(0), original.region(0)) {
                    take_body(to, from);
                }
            }
        }
        self.make_loops(root, context)
    }

    /// How large chunks are to be, in bytes, in a program of so many bytes of arguments and results.
    fn sizes(&self, floor: i64) -> Sizes {
        let asked = i64::try_from(self.chunk_bytes.0).unwrap_or(i64::MAX);
        if self.target.rates().is_some() { Sizes::as_asked(asked) } else { Sizes::of_program(asked, floor) }
    }

    /// All consumers that a loop may pay for, in order; after the first rounds those in the loops made.
    fn consumers<'c: 'a, 'a>(
        &self,
        root: OperationRef<'c, 'a>,
        cuts: &Rc<Cuts<'c>>,
        round: usize,
        chunk_bytes: i64,
    ) -> Vec<Consumer<'c, 'a>> {
        let f32_type = Type::float32(crate::rewrite::context_of(root));
        let mut consumers = Vec::new();
        walk(root, |op| {
            let mut ways = Consumer::all(op, f32_type);
            if !self.target.storage().widens {
                ways.iter_mut().for_each(Consumer::scatter_as_it_is);
            }
            ways.retain_mut(|way| way.is_local(cuts));
            // Nothing on the way to it can be worth a loop if it has hardly an element to take.
            // What is left after the second round is in the loops made.
            let nested = || op.parent_operation().is_some_and(|parent| op_name(parent) == "stablehlo.while");
            if round < FULL_ROUNDS || nested() {
                consumers.extend(ways.into_iter().filter(|way| way.may_pay(chunk_bytes)));
            }
            WalkResult::Advance
        });
        consumers
    }

    fn make_loops(&self, root: OperationRef<'_, '_>, context: &PassContext<'_>) -> bool {
        let storage = self.target.storage();
        let partitioned = is_partitioned(root);
        let mut cuts = Rc::new(if partitioned { Cuts::new(root) } else { Cuts::default() });
        let floor = if partitioned { cuts.floor } else { floor(root) };
        let sizes = self.sizes(floor);
        let least = sizes.least_saved;
        let mut changed = one_hot::run(root, &Builder::new(root), least);
        changed |= order::fold(root, &Builder::new(root), least);
        // A loop may leave its producers to one other consumer, for which a loop pays only then.
        let facts: Rc<plan::Facts> = Rc::default();
        let held = Rc::new(Held::of(root, self.target));
        let mut loops = Vec::new();
        // The consumers that were gone over in the last round after its last loop was made.
        let mut settled: Vec<Consumer> = Vec::new();
        for round in 0..ROUNDS {
            if partitioned && (round > 0 || changed) {
                cuts = Rc::new(Cuts::new(root));
            }
            facts.set_cuts(&cuts);
            let mut consumers = self.consumers(root, &cuts, round, sizes.chunk_bytes);
            let mut rewrite = Rewrite {
                build: Builder::new(root),
                target: self.target,
                sizes,
                floor,
                cuts: Rc::clone(&cuts),
                spare: floor / SPARE,
                patient: round == 0,
                waited: Cell::new(false),
                loops: std::mem::take(&mut loops),
                gone: Keys::default(),
                just_gone: Marked::default(),
                facts: Rc::clone(&facts),
                held: Rc::clone(&held),
                ties: Ties::new(root),
                neighbours: Neighbours::default(),
            };
            let same =
                consumers.iter().zip(&settled).take_while(|(now, before)| now.is_unchanged(before)).count();
            let (done, last_made) = go_over(&mut rewrite, &mut consumers, same, context);
            let more = last_made.is_some();
            changed |= more;
            settled.clear();
            if let Some(last_made) = last_made.filter(|_| !rewrite.waited.get()) {
                let left = consumers[..last_made]
                    .iter()
                    .zip(&done)
                    .filter(|(consumer, done)| !**done && !rewrite.is_gone(consumer));
                settled.extend(left.map(|(consumer, _)| consumer.clone()));
            }
            // A second round is another one than the first only in that nothing waits in it.
            let waited = rewrite.waited.get();
            loops = rewrite.loops;
            if !more && (round > 0 || !waited) {
                break;
            }
            // Dots in the loops made may be worth loops of their own as they will be.
            if loops.iter().filter(|made| order::run(**made, &rewrite.build)).count() > 0 {
                // What is known of values is not to be taken for what is known of others at their addresses.
                facts.clear();
            }
            facts.next_round();
        }
        let build = Builder::new(root);
        if self.target.rates().is_some() {
            collapse::run(&mut loops, &build);
        }
        for made in loops {
            if storage.widens {
                wide::run(made, &build);
            }
            ones::run(made, &build);
        }
        changed
    }
}

/// Streams what is worth it of some consumers, the first `same` of which have been gone over as they are: which of them are in loops
/// now, and the first of the last group, if any.
fn go_over<'c: 'a, 'a>(
    rewrite: &mut Rewrite<'c, 'a>,
    consumers: &mut [Consumer<'c, 'a>],
    same: usize,
    context: &PassContext<'_>,
) -> (Vec<bool>, Option<usize>) {
    let mut done = vec![false; consumers.len()];
    let mut last_made = None;
    // From the last one upwards: what is further down takes more of its producers along, earlier consumers among them.
    for first in (0..consumers.len()).rev() {
        let source = consumers[first].source;
        let seen = consumers.get(first + 1).is_some_and(|next| next.source == source);
        if seen || done[first] {
            continue;
        }
        // All that is left has been gone over since what is there last changed.
        if last_made.is_none() && first < same {
            break;
        }
        let mut rest = Vec::with_capacity(NEIGHBOURS);
        for next in (0..=first).rev() {
            if done[next] || !rewrite.renew(&mut consumers[next]) {
                continue;
            }
            // Of several results of one op each has its place in the same loop.
            if consumers[next].source != source || source.result_count() > 1 {
                rest.push(next);
                if rest.len() == NEIGHBOURS {
                    break;
                }
            }
        }
        if rewrite.is_gone(&consumers[first]) {
            continue;
        }
        if let Some(group) = rewrite.stream(consumers, first, rest) {
            context.count(&LOOPS, 1);
            context.count(&CONSUMERS, group.len() as u64);
            group.into_iter().for_each(|index| done[index] = true);
            last_made = Some(first);
        }
    }
    (done, last_made)
}

/// Bytes of the arguments and results of the largest function: less the program cannot need.
fn floor(root: OperationRef<'_, '_>) -> i64 {
    let mut most = 0;
    walk(root, |op| {
        if op_name(op) != "func.func" {
            return WalkResult::Advance;
        }
        let types = ffi::attribute_of(op, "function_type").and_then(ffi::function_type);
        let all = types.map(|(arguments, results)| arguments.into_iter().chain(results).map(ir::type_bytes));
        most = most.max(all.map_or(0, |all| all.fold(0, i64::saturating_add)));
        WalkResult::Skip
    });
    most
}
