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
//! other dimensions, the batch of a convolution, dots (along batch and free dimensions), and loops whose turns are (`turns.rs`:
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
//! them: a back end that does so itself would convert all of the result in each turn.
//! A dot with an algorithm is contracted in parts only if they are added up in the type that the algorithm names.
//!
//! # Why it pays
//!
//! What counts as stored, and so as saved: results of gather, concatenate, dot and reduce; what scatter, gather and dot
//! read, if it is computed; and elementwise values that two of the above need, where back ends that do not compute twice store
//! them. An elementwise chain into one reduce is fused by most back ends: nothing is stored, and nothing is done. But XLA for CPU
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
pub(crate) mod cuts;
pub(crate) mod emit;
pub(crate) mod fast;
mod one_hot;
mod ones;
mod order;
mod outside;
pub(crate) mod own_shards;
mod parts;
pub(crate) mod plan;
mod roots;
pub(crate) mod turns;
mod wide;

use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder, discardable_attributes, dot_numbers, element_of};
use crate::rewrite::{defining_op, take_body, walk};
use crate::shards::is_partitioned;
use crate::target::Target;
use crate::ties::Ties;
use choose::{Neighbours, Rewrite};
use cuts::Cuts;
use fast::{Keys, Marked};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use plan::{Plan, Stop, bytes};
use roots::{large_results, root_of_dot, root_of_reduce, root_of_turns};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{DotAlgorithm, ScatterDimensionNumbers};
use slimhlo_dialect::types::Tensor;
use std::cell::Cell;
use std::collections::BTreeSet;
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

/// Bytes that chunks may take.
#[derive(Clone, Copy)]
struct Sizes {
    /// About how much a chunk may take.
    chunk_bytes: i64,
    /// The same where little memory does not matter.
    whole_chunk: i64,
    /// How much it should take if that is little beside what the loop saves.
    least_turn: i64,
    /// The same where a turn has dots in it.
    dot_turn: i64,
    /// The same where a turn has loops of its own.
    loop_turn: i64,
    /// How much it may take at most where dots would otherwise be too thin.
    stretch: i64,
    /// How much a loop has to save.
    least_saved: i64,
}

const LOOPS: Statistic = Statistic::new(c"num-loops", c"loops over chunks");
const CONSUMERS: Statistic = Statistic::new(c"num-consumers", c"reductions and scatters done in chunks");

/// How much more than a chunk a loop has to save.
const GAIN: i64 = 4;
/// How many times `chunk-bytes` a chunk may take where dots would be too thin otherwise.
const STRETCH: i64 = 8;
/// Which part of a program's arguments and results a chunk should not exceed, unless that is less than `LEAST_CHUNK` bytes.
const FLOOR_SHARE: i64 = 64;
const LEAST_CHUNK: i64 = 16 << 10;
/// Bytes that a turn of a loop should store for its own cost to be no matter: between these, a `TURN_SHARE`th of a program's
/// arguments and results, if `chunk-bytes` allows.
const LEAST_TURN: i64 = GAIN * LEAST_CHUNK;
const MOST_TURN: i64 = 1 << 20;
const TURN_SHARE: i64 = FLOOR_SHARE / 2;
/// The same for a turn with loops in it, which is to keep all threads busy.
const LOOP_SHARE: i64 = 16;
/// Which part of a program's arguments and results a loop may store rather than compute dots again.
const SPARE: i64 = 2;
/// How much smaller than what is reduced a result has to be to be no matter.
const SMALL: i64 = 4;
/// How many consumers before one are asked whether they share its producers.
const NEIGHBOURS: usize = 64;
/// How often a plan is made again for values that turned out to be needed whole, and all consumers are gone over again.
const ROUNDS: usize = 12;

/// In how many of these consumers outside of the loops made are gone over again, too.
const FULL_ROUNDS: usize = 3;
/// How often all rounds are done at most until they find nothing.
const RUNS: usize = 6;

/// How many scatters into one accumulator share a loop at most.
const MOST_LINKS: usize = 64;

/// What a consumer does with its chunks.
#[derive(Clone, Copy)]
enum Role {
    Reduce {
        /// The op that joins two partial results.
        combine: &'static str,
        /// What each chunk starts from, if not from the op's own initial value.
        identity: Option<f64>,
    },
    Scatter,
    /// A dot, streamed along contracted dimensions: the number is the left operand's.
    Contract,
    /// An op each chunk of whose result is computed by itself, and put in its place.
    Place,
}

/// A reduce, scatter or dot, to be streamed along a dimension; or what small results of theirs are made into.
#[derive(Clone)]
pub(crate) struct Consumer<'c, 'a> {
    /// The reduce, scatter or dot.
    source: OperationRef<'c, 'a>,
    /// The op whose result is wanted: the same, or the last of the elementwise ops that follow it.
    op: OperationRef<'c, 'a>,
    /// The result.
    value: Value<'c, 'a>,
    role: Role,
    /// The element type to accumulate in, if not the op's own.
    widen: Option<Type<'c>>,
    /// Dimensions it may be streamed along: of a reduction's operand, of a scatter's updates, of a dot's left operand or,
    /// where chunks of a result are put in their place, of the result.
    dims: Vec<usize>,
    /// The one it is.
    dim: usize,
    /// Bytes of the largest of its source's operands.
    takes: i64,
    /// Whether its source is a dot.
    is_dot: bool,
    /// Scatters before it, first to last, each into the result of the one before.
    links: Rc<[Link<'c, 'a>]>,
}

/// A scatter into whose result another one scatters.
struct Link<'c, 'a> {
    op: OperationRef<'c, 'a>,
    /// Dimensions its updates may be streamed along.
    dims: Vec<usize>,
}

impl<'c: 'a, 'a> Consumer<'c, 'a> {
    /// The ways in which an op can be one.
    fn all(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Vec<Self> {
        let ways = match op_name(op) {
            "stablehlo.dot_general" => Self::dot(op, f32_type),
            "stablehlo.reduce" => Self::reduce(op, f32_type),
            "stablehlo.scatter" => Self::scatter(op, f32_type),
            "chlo.top_k" => Self::top_k(op),
            "stablehlo.while" => Self::turns(op),
            _ => None,
        };
        ways.unwrap_or_default()
    }

    /// A scatter; and with those before it, each of which the next goes on with, if it is the last of several that combine alike:
    /// which update comes first is then no matter, and all can go into one accumulator a chunk at a time.
    fn scatter(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Option<Vec<Self>> {
        let last = Self::new(op, f32_type)?;
        if link_after(op).is_some() {
            return Some(vec![last]);
        }
        let sizes = |value: Option<Value<'c, 'a>>, dims: &[usize]| -> Vec<i64> {
            let shape = value.and_then(plan::plain).map(|tensor| tensor.shape);
            shape.map_or_else(Vec::new, |shape| dims.iter().map(|&dim| shape[dim]).collect())
        };
        let mut dims = last.dims.clone();
        let mut links = Vec::new();
        let mut takes = last.takes;
        let mut from = link_before(op);
        while let Some(link) = from.filter(|_| links.len() < MOST_LINKS) {
            let Some(way) = Self::new(link, f32_type) else { break };
            let known = sizes(way.streamed(), &way.dims);
            let both: Vec<usize> = dims
                .iter()
                .copied()
                .filter(|&dim| sizes(last.streamed(), &[dim]).iter().all(|size| known.contains(size)))
                .collect();
            if both.is_empty() {
                break;
            }
            dims = both;
            takes = takes.max(way.takes);
            links.push(Link { op: link, dims: way.dims });
            from = link_before(link);
        }
        if links.is_empty() {
            return Some(vec![last]);
        }
        links.reverse();
        let chain = Self { dims, takes, links: links.into(), ..last.clone() };
        Some(vec![last, chain])
    }

    fn dot(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Option<Vec<Self>> {
        if !discardable_attributes(op).is_empty() {
            return None;
        }
        let left = plan::plain(op.operands().next()?)?;
        plan::plain(op.operands().nth(1)?)?;
        let value: Value = op.result(0).ok()?.into();
        let result = plan::plain(value)?;
        let numbers = dot_numbers(op)?;
        let narrow = result.element.is_float() && plan::element_bytes(result.element)? < 4;
        let mut ways = Vec::new();
        // An algorithm names the type it accumulates in: parts are added up in no other.
        let accumulated = if narrow { f32_type } else { result.element };
        if ffi::attribute_of(op, "algorithm").is_none_or(|algorithm| accumulates_in(algorithm, accumulated)) {
            let dims = numbers.lhs_contracting_dimensions().iter().map(|&dim| dim as usize);
            let dims: Vec<usize> = dims.filter(|&dim| left.shape[dim] > 1).collect();
            let widen = narrow.then_some(f32_type);
            ways.push(Self::of(op, op, value, Role::Contract, widen, dims));
        }
        // A result larger than what it is made of is not what the memory goes into.
        if bytes(value) <= bytes(op.operands().next()?).max(bytes(op.operands().nth(1)?)) {
            ways.extend(Self::place(op, root_of_dot(value)));
        }
        ways.retain(|way| !way.dims.is_empty());
        Some(ways)
    }

    fn reduce(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Option<Vec<Self>> {
        if !discardable_attributes(op).is_empty() || !plan::is_closed(op) {
            return None;
        }
        for operand in op.operands() {
            plan::plain(operand)?;
        }
        let mut ways: Vec<Self> = Self::new(op, f32_type).into_iter().collect();
        let takes = bytes(op.operands().next()?);
        for result in op.results() {
            let value: Value = result.into();
            if crate::rewrite::uses(value).next().is_none() {
                continue;
            }
            let root = root_of_reduce(value, takes / SMALL);
            if bytes(root) <= takes / SMALL {
                ways.extend(Self::place(op, root));
            }
        }
        ways.retain(|way| !way.dims.is_empty());
        Some(ways)
    }

    /// The largest of each row: rows in chunks.
    fn top_k(op: OperationRef<'c, 'a>) -> Option<Vec<Self>> {
        if !discardable_attributes(op).is_empty() {
            return None;
        }
        let operand = op.operands().next()?;
        plan::plain(operand)?;
        let most = bytes(operand) / SMALL;
        let values =
            op.results().map(Value::from).filter(|value| crate::rewrite::uses(*value).next().is_some());
        let roots = values.filter(|value| bytes(*value) <= most).map(|value| root_of_reduce(value, most));
        let mut ways: Vec<Self> = roots.filter_map(|root| Self::place(op, root)).collect();
        ways.retain(|way| !way.dims.is_empty());
        Some(ways)
    }

    /// What a loop makes of little, such as random numbers, or what is made of that.
    fn turns(op: OperationRef<'c, 'a>) -> Option<Vec<Self>> {
        if !discardable_attributes(op).is_empty() || !turns::is_of_little(op) {
            return None;
        }
        let mut roots: Vec<Value<'c, 'a>> = Vec::new();
        for value in large_results(op) {
            let root = root_of_turns(op, value);
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        let mut ways: Vec<Self> = roots.into_iter().filter_map(|root| Self::place(op, root)).collect();
        ways.retain(|way| !way.dims.is_empty());
        Some(ways)
    }

    /// For back ends that scatter narrow floats as they are: each update rounds what it adds to, in chunks as in the whole.
    fn scatter_as_it_is(&mut self) {
        if matches!(self.role, Role::Scatter) {
            self.widen = None;
        }
    }

    /// Chunks of a value, put in their places.
    fn place(source: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> Option<Self> {
        let result = plan::plain(value)?;
        let op = defining_op(value)?;
        let dims = (0..result.rank()).filter(|&dim| result.shape[dim] > 1).collect();
        discardable_attributes(op).is_empty().then(|| Self::of(source, op, value, Role::Place, None, dims))
    }

    /// The same source's own result instead of what is made of it, along what no partitioner cuts.
    fn at_source(&self, cuts: &Cuts<'_>) -> Option<Self> {
        let value: Value<'c, 'a> = self.source.result(0).ok()?.into();
        let place = matches!(self.role, Role::Place) && self.source.result_count() == 1;
        if !place || !(self.is_dot || bytes(value) <= self.takes / SMALL) {
            return None;
        }
        let mut way = Self::place(self.source, value)?;
        way.is_local(cuts).then_some(way)
    }

    fn of(
        source: OperationRef<'c, 'a>,
        op: OperationRef<'c, 'a>,
        value: Value<'c, 'a>,
        role: Role,
        widen: Option<Type<'c>>,
        dims: Vec<usize>,
    ) -> Self {
        let takes = source.operands().map(bytes).max().unwrap_or(0);
        let is_dot = op_name(source) == "stablehlo.dot_general";
        Self { source, op, value, role, widen, dims, dim: 0, takes, is_dot, links: Rc::new([]) }
    }

    fn new(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Option<Self> {
        let name = op_name(op);
        if op.result_count() != 1 || !discardable_attributes(op).is_empty() || !plan::is_closed(op) {
            return None;
        }
        for operand in op.operands() {
            plan::plain(operand)?;
        }
        let element = element_of(op.result(0).ok()?.r#type());
        let combiner = combiner(op);
        let adds = matches!(combiner, Some("stablehlo.add" | "stablehlo.multiply"));
        let narrow = element.is_float() && plan::element_bytes(element)? < 4;
        // Back ends without moves of narrow floats would widen and narrow all of what is scattered into, in each turn.
        let moves = name == "stablehlo.scatter" && element.to_string() != "f16" && keeps_one(op, combiner);
        let widen = (narrow && (adds || moves)).then_some(f32_type);
        let (role, dims) = if name == "stablehlo.reduce" {
            let combine = combiner?;
            let dims = ir::i64_array(op, "dimensions")?.iter().map(|&dim| dim as usize).collect();
            (Role::Reduce { combine, identity: fresh_identity(op, combine, element)? }, dims)
        } else {
            (Role::Scatter, scatter_dims(op, combiner.is_some())?)
        };
        let value = op.result(0).ok()?.into();
        let mut consumer = Self::of(op, op, value, role, widen, dims);
        if widen.is_some()
            && let Role::Reduce { identity, combine } = &mut consumer.role
        {
            // The op's own initial value has the narrow type.
            *identity = Some(if *combine == "stablehlo.add" { -0.0 } else { 1.0 });
        }
        let shape = plan::plain(consumer.streamed()?)?.shape;
        consumer.dims.retain(|&dim| shape[dim] > 1);
        consumer.dims.sort_unstable();
        (!consumer.dims.is_empty()).then_some(consumer)
    }

    /// What is taken apart: the reduction's operand, the scatter's updates.
    fn streamed(&self) -> Option<Value<'c, 'a>> {
        match self.role {
            Role::Reduce { .. } | Role::Contract => self.op.operands().next(),
            Role::Scatter => self.op.operands().nth(2),
            Role::Place => Some(self.result()),
        }
    }

    /// Whether there can be something worth a loop on the way to it: a dot takes large values itself if so.
    fn may_pay(&self, chunk_bytes: i64) -> bool {
        self.takes.saturating_mul(if self.is_dot { 2 } else { 1 << 16 }) > chunk_bytes
    }

    /// Keeps the dimensions that no partitioner cuts; whether there are any, and no device has to talk to others for it. How a
    /// product is cut that loops add up one in another, partitioners do not find out from what it is added up of: a result of the
    /// program would be whole where it was in shards.
    fn is_local(&mut self, cuts: &Cuts<'_>) -> bool {
        let Some(value) = self.streamed() else { return false };
        self.dims.retain(|&dim| !cuts.is_cut(value, dim));
        let rank = plan::plain(self.result()).map_or(0, |tensor| tensor.rank());
        if matches!(self.role, Role::Contract) && (0..rank).any(|dim| cuts.is_cut(self.result(), dim)) {
            return false;
        }
        !self.dims.is_empty() && !cuts.is_foreign(self.source) && !cuts.is_foreign(self.op)
    }

    /// Whether two are ways of one op to the same result.
    fn is_the_same(&self, other: &Self) -> bool {
        let places = |consumer: &Self| matches!(consumer.role, Role::Place);
        self.value == other.value || (self.source == other.source && !(places(self) && places(other)))
    }

    /// Whether it is what another was, found by an earlier walk.
    fn is_unchanged(&self, other: &Self) -> bool {
        self.source == other.source
            && self.value == other.value
            && std::mem::discriminant(&self.role) == std::mem::discriminant(&other.role)
            && self.dims == other.dims
            && self.links.len() == other.links.len()
    }

    /// Along `dim`.
    fn along(&self, dim: usize) -> Self {
        Self { dim, ..self.clone() }
    }

    fn result(&self) -> Value<'c, 'a> {
        self.value
    }

    /// The scatters it is, in order.
    fn scatters(&self) -> impl Iterator<Item = OperationRef<'c, 'a>> + '_ {
        self.links.iter().map(|link| link.op).chain([self.op])
    }

    /// The first of them.
    fn first_scatter(&self) -> OperationRef<'c, 'a> {
        self.links.first().map_or(self.op, |link| link.op)
    }

    fn accumulator_type(&self) -> Type<'c> {
        let ty = self.result().r#type();
        match self.widen {
            Some(element) => Tensor::get(ffi::shape(ty).unwrap_or_default(), element, None),
            None => ty,
        }
    }

    /// The values it takes a chunk of, and along which dimension.
    fn inputs(&self) -> Vec<(Value<'c, 'a>, usize)> {
        let operand = |index| self.op.operand(index).expect("checked when the consumer was found");
        match self.role {
            Role::Reduce { .. } => vec![(operand(0), self.dim)],
            Role::Scatter => {
                let units = self.units();
                let chunked = |op: OperationRef<'c, 'a>, dim: usize| {
                    let numbers = scatter_numbers(op).expect("checked when the consumer was found");
                    let operand = |index| op.operand(index).expect("checked when the consumer was found");
                    [(operand(1), indices_dim(numbers, dim)), (operand(2), dim)]
                };
                let along = |link: &Link<'c, 'a>| {
                    let shape = link.op.operand(2).ok().and_then(plan::plain).map(|tensor| tensor.shape);
                    let mut dims = link.dims.iter().copied();
                    shape.and_then(|shape| dims.find(|&dim| shape[dim] == units))
                };
                let links = self.links.iter().flat_map(|link| {
                    chunked(link.op, along(link).expect("checked when the consumer was found"))
                });
                links.chain(chunked(self.op, self.dim)).collect()
            }
            Role::Contract => {
                let right = dot_numbers(self.op)
                    .and_then(|numbers| {
                        let dims = numbers.lhs_contracting_dimensions();
                        let pair = dims.iter().position(|&dim| dim == self.dim as i64)?;
                        Some(numbers.rhs_contracting_dimensions()[pair] as usize)
                    })
                    .expect("checked when the consumer was found");
                vec![(operand(0), self.dim), (operand(1), right)]
            }
            Role::Place => vec![(self.result(), self.dim)],
        }
    }

    /// Units along its dimension.
    fn units(&self) -> i64 {
        self.streamed().and_then(plan::plain).map_or(0, |tensor| tensor.shape[self.dim])
    }

    fn plan(&self, plan: &mut Plan<'c, 'a>, there: &Keys) -> Result<(), Stop> {
        for (value, dim) in self.inputs() {
            plan.add(value, plan.all_of(value, dim)?, there)?;
        }
        if matches!(self.role, Role::Reduce { identity: None, .. }) {
            plan.add_whole(self.op.operand(1).map_err(|_| Stop::No)?)?;
        }
        Ok(())
    }
}

/// Whether a dot's algorithm adds up products in this type.
fn accumulates_in<'c>(algorithm: Attribute<'c>, element: Type<'c>) -> bool {
    DotAlgorithm::try_from(algorithm).is_ok_and(|algorithm| algorithm.accumulation_type() == Some(element))
}

fn scatter_numbers<'c>(op: OperationRef<'c, '_>) -> Option<ScatterDimensionNumbers<'c>> {
    ffi::attribute_of(op, "scatter_dimension_numbers")?.try_into().ok()
}

/// The dimension of the scatter indices that belongs to a dimension of the updates that is no window dimension.
fn indices_dim(numbers: ScatterDimensionNumbers<'_>, dim: usize) -> usize {
    let batch = (0..dim).filter(|&dim| !numbers.update_window_dims().contains(&(dim as i64))).count();
    batch + usize::from(batch as i64 >= numbers.index_vector_dim())
}

/// The dimensions of a scatter's updates that may be taken in chunks.
fn scatter_dims(op: OperationRef<'_, '_>, commutes: bool) -> Option<Vec<usize>> {
    if op.operand_count() != 3 {
        return None;
    }
    let numbers = scatter_numbers(op)?;
    let updates = plan::plain(op.operands().nth(2)?)?;
    let mut dims = Vec::new();
    for dim in (0..updates.rank()).filter(|&dim| !numbers.update_window_dims().contains(&(dim as i64))) {
        // A dimension paired with one of the input does not accumulate: each chunk would have its own part.
        if !numbers.scatter_indices_batching_dims().contains(&(indices_dim(numbers, dim) as i64)) {
            dims.push(dim);
        }
        if !commutes && updates.shape[dim] > 1 {
            break;
        }
    }
    Some(dims)
}

/// The op that a reducer is, if it is just one that is associative and commutative.
pub(crate) fn combiner(op: OperationRef<'_, '_>) -> Option<&'static str> {
    const KNOWN: [&str; 6] = [
        "stablehlo.add",
        "stablehlo.multiply",
        "stablehlo.maximum",
        "stablehlo.minimum",
        "stablehlo.and",
        "stablehlo.or",
    ];
    let block = op.region(0).ok()?.first_block()?;
    let inner = block.first_operation()?;
    let name = KNOWN.into_iter().find(|name| *name == op_name(inner))?;
    let arguments: BTreeSet<usize> =
        [0, 1].iter().filter_map(|&index| block.argument(index).ok()).map(|a| ir::key(a.into())).collect();
    let operands: BTreeSet<usize> = inner.operands().map(ir::key).collect();
    let end = inner.next_in_block()?;
    let returned = end.operands().next()?;
    (block.argument_count() == 2
        && arguments == operands
        && discardable_attributes(inner).is_empty()
        && end.operand_count() == 1
        && end.next_in_block().is_none()
        && inner.result(0).is_ok_and(|result| Value::from(result) == returned))
    .then_some(name)
}

/// The scatter whose result this one goes on with, if nothing else needs that and both combine alike.
fn link_before<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let before = defining_op(op.operand(0).ok()?).filter(|before| op_name(*before) == "stablehlo.scatter")?;
    (link_after(before)? == op).then_some(before)
}

/// The scatter that goes on with this one's result, likewise.
fn link_after<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    if op.result_count() != 1 {
        return None;
    }
    let result: Value = op.result(0).ok()?.into();
    let mut uses = crate::rewrite::uses(result);
    let used = uses.next().filter(|used| used.operand == 0 && op_name(used.user) == "stablehlo.scatter")?;
    let alike = uses.next().is_none()
        && used.user.operand_count() == 3
        && used.user.block() == op.block()
        && discardable_attributes(used.user).is_empty()
        && discardable_attributes(op).is_empty()
        && combiner(op)? == combiner(used.user)?;
    alike.then_some(used.user)
}

/// Whether a scatter's region hands on one of its arguments as it is, so that the type it does so in is no matter.
fn keeps_one(op: OperationRef<'_, '_>, combiner: Option<&str>) -> bool {
    let block = || op.region(0).ok()?.first_block()?.first_operation();
    matches!(combiner, Some("stablehlo.maximum" | "stablehlo.minimum"))
        || block().is_some_and(|first| op_name(first) == "stablehlo.return")
}

/// What chunks of a reduction start from so that its initial value counts once: nothing special if the value may count
/// any number of times, otherwise the identity; `None` if that is not known.
pub(crate) fn fresh_identity(
    op: OperationRef<'_, '_>,
    combine: &str,
    element: Type<'_>,
) -> Option<Option<f64>> {
    fresh_identity_of(op, 1, combine, element)
}

/// The same where the initial value is another operand.
fn fresh_identity_of(
    op: OperationRef<'_, '_>,
    init: usize,
    combine: &str,
    element: Type<'_>,
) -> Option<Option<f64>> {
    let float = element.is_float();
    let (identity, same): (f64, &[&str]) = match combine {
        "stablehlo.add" if float => (-0.0, &["-0.000000e+00", "0.000000e+00"]),
        "stablehlo.add" => (0.0, &["0", "false"]),
        "stablehlo.multiply" if float => (1.0, &["1.000000e+00"]),
        "stablehlo.multiply" => (1.0, &["1", "true"]),
        _ => return Some(None),
    };
    let init = op.operands().nth(init)?;
    let text = ir::splat_constant(init).map(|element| element.to_string());
    let known = text.is_some_and(|text| same.contains(&text.split(" : ").next().unwrap_or_default().trim()));
    if known {
        return Some(None);
    }
    // What adding booleans means with another initial value is not for us to say.
    let boolean = element == Type::from(IntegerType::new(crate::rewrite::context_of(op), 1));
    (plan::element_bytes(element)? > 0 && !boolean).then_some(Some(identity))
}

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

    /// About how much a chunk may take in a program of so many bytes of arguments and results.
    fn chunk_of(&self, floor: i64) -> i64 {
        self.chunk_bytes().min((floor / FLOOR_SHARE).max(LEAST_CHUNK))
    }

    fn chunk_bytes(&self) -> i64 {
        i64::try_from(self.chunk_bytes.0).unwrap_or(i64::MAX).clamp(1, i64::MAX / (2 * GAIN))
    }

    /// How large chunks are to be, in bytes, in a program of so many bytes of arguments and results.
    fn sizes(&self, floor: i64) -> Sizes {
        let asked = self.chunk_bytes();
        if self.target.rates().is_some() {
            // What time a turn takes is judged by who asks for chunks of this size.
            return Sizes {
                chunk_bytes: asked,
                whole_chunk: asked,
                least_turn: asked,
                dot_turn: asked,
                loop_turn: asked,
                stretch: asked,
                least_saved: asked,
            };
        }
        // A program of little memory gets small chunks.
        let chunk_bytes = self.chunk_of(floor);
        Sizes {
            chunk_bytes,
            whole_chunk: asked,
            least_turn: (floor / TURN_SHARE).clamp(LEAST_TURN, MOST_TURN).min(asked),
            dot_turn: asked.min(floor / 4),
            loop_turn: asked.min((floor / LOOP_SHARE).max(MOST_TURN)),
            stretch: asked.saturating_mul(STRETCH).min(floor / 8).max(asked),
            least_saved: chunk_bytes.saturating_mul(GAIN),
        }
    }

    fn make_loops(&self, root: OperationRef<'_, '_>, context: &PassContext<'_>) -> bool {
        let f32_type = Type::float32(crate::rewrite::context_of(root));
        let storage = self.target.storage();
        let partitioned = is_partitioned(root);
        let mut cuts = Rc::new(if partitioned { Cuts::new(root) } else { Cuts::default() });
        let floor = if partitioned { cuts.floor } else { floor(root) };
        let sizes = self.sizes(floor);
        let least = sizes.least_saved;
        let chunk_bytes = sizes.chunk_bytes;
        let mut changed = one_hot::run(root, &Builder::new(root), least);
        changed |= order::fold(root, &Builder::new(root), least);
        // A loop may leave its producers to one other consumer, for which a loop pays only then.
        let facts: Rc<plan::Facts> = Rc::default();
        let mut loops = Vec::new();
        // The consumers that were gone over in the last round after its last loop was made.
        let mut settled: Vec<Consumer> = Vec::new();
        for round in 0..ROUNDS {
            let mut more = false;
            let mut consumers = Vec::new();
            if partitioned && (round > 0 || changed) {
                cuts = Rc::new(Cuts::new(root));
            }
            facts.set_cuts(&cuts);
            walk(root, |op| {
                let mut ways = Consumer::all(op, f32_type);
                if !storage.widens {
                    ways.iter_mut().for_each(Consumer::scatter_as_it_is);
                }
                ways.retain_mut(|way| way.is_local(&cuts));
                // Nothing on the way to it can be worth a loop if it has hardly an element to take.
                // What is left after the second round is in the loops made.
                let nested =
                    || op.parent_operation().is_some_and(|parent| op_name(parent) == "stablehlo.while");
                if round < FULL_ROUNDS || nested() {
                    consumers.extend(ways.into_iter().filter(|way| way.may_pay(chunk_bytes)));
                }
                WalkResult::Advance
            });
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
                ties: Ties::new(root),
                neighbours: Neighbours::default(),
            };
            let mut done = vec![false; consumers.len()];
            let mut last_made = 0;
            let same =
                consumers.iter().zip(&settled).take_while(|(now, before)| now.is_unchanged(before)).count();
            // From the last one upwards: what is further down takes more of its producers along, earlier consumers among them.
            for first in (0..consumers.len()).rev() {
                let source = consumers[first].source;
                let seen = consumers.get(first + 1).is_some_and(|next| next.source == source);
                if seen || done[first] {
                    continue;
                }
                // All that is left has been gone over since what is there last changed.
                if !more && first < same {
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
                if let Some(group) = rewrite.stream(&consumers, first, rest) {
                    context.count(&LOOPS, 1);
                    context.count(&CONSUMERS, group.len() as u64);
                    group.into_iter().for_each(|index| done[index] = true);
                    more = true;
                    last_made = first;
                }
            }
            changed |= more;
            settled.clear();
            if more && !rewrite.waited.get() {
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

/// Bytes of the arguments and results of the largest function: less the program cannot need.
fn floor(root: OperationRef<'_, '_>) -> i64 {
    let mut most = 0;
    walk(root, |op| {
        if op_name(op) != "func.func" {
            return WalkResult::Advance;
        }
        let types = ffi::attribute_of(op, "function_type").and_then(ffi::function_type);
        let all =
            types.map(|(arguments, results)| arguments.into_iter().chain(results).map(plan::type_bytes));
        most = most.max(all.map_or(0, |all| all.fold(0, i64::saturating_add)));
        WalkResult::Skip
    });
    most
}

/// Whether an op costs nothing to do again, wherever it is needed.
fn is_free(name: &str) -> bool {
    matches!(
        name,
        "stablehlo.broadcast_in_dim"
            | "stablehlo.constant"
            | "stablehlo.iota"
            | "stablehlo.reshape"
            | "stablehlo.slice"
    )
}

/// Whether an op is too costly to do twice.
pub(crate) fn is_costly(name: &str) -> bool {
    !ir::is_fusible(name)
        || (name.starts_with("chlo.") && name != "chlo.square")
        || matches!(
            name,
            "stablehlo.atan2"
                | "stablehlo.cbrt"
                | "stablehlo.cosine"
                | "stablehlo.exponential"
                | "stablehlo.exponential_minus_one"
                | "stablehlo.log"
                | "stablehlo.log_plus_one"
                | "stablehlo.logistic"
                | "stablehlo.power"
                | "stablehlo.sine"
                | "stablehlo.tan"
                | "stablehlo.tanh"
        )
}
