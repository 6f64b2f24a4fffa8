// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-rematerialize`: what is kept for long is computed again where it is needed, if that costs little.
//!
//! # What it matches
//!
//! A function at whose peak (by the [memory model](crate::memory)) values are alive that only much later ops need:
//! what the forward part of an unrolled training step keeps for the backward part, layer by layer.
//!
//! ```mlir
//! %scores = stablehlo.dot_general %q, %k                       // [4, 8, 512, 512]
//! %p = ... softmax of %scores
//! ...                                                          // other layers, the loss: the peak
//! %d = stablehlo.dot_general %gradient, %v
//! %ds = ... %p, %d
//! ```
//!
//! becomes
//!
//! ```mlir
//! %scores = stablehlo.dot_general %q, %k
//! %p = ... softmax of %scores
//! ...
//! %d = stablehlo.dot_general %gradient, %v
//! %held:3 = stablehlo.optimization_barrier %q, %k, %d          // back ends would find that both are the same
//! %scores_again = stablehlo.dot_general %held#0, %held#1
//! %p_again = ... softmax of %scores_again
//! %ds = ... %p_again, %held#2
//! ```
//!
//! # How
//!
//! What is computed on the fly after the peak comes right before what reads it first. A step by tree maps updates all
//! first moments, then all second moments, then all parameters: in that order a gradient would be done again for each.
//!
//! Where a loop runs at a function's peak and the function itself has nothing to give, the same is done in the loop's
//! body, where what the loop is given is there.
//!
//! What comes after the peak falls into windows, between which as little as possible is alive that both need: layers,
//! mostly. From the last window to the first: what it needs from before the peak is kept, for its bytes, or computed
//! again from other values, for the seconds that takes; values that later windows keep are there anyway. A minimum cut
//! ([`crate::min_cut`]) finds the cheapest choice. So a window pays for all it computes again itself, and is begun
//! from what is small: the layer's input.
//!
//! Sums and extremes of rows that are computed in the kernel of what reads the rows, a softmax, say, have no memory of their own. To keep one
//! it would have to be stored, by a kernel that reads the rows once more: that is part of its price, and to do it again costs nothing where the
//! rows are done again.
//!
//! With `through` a value is also needed where what is computed of it on the fly is: the backward part of a
//! normalization reads a convolution's result in f32, which takes no memory, while the result in bf16 does. What is
//! computed on the fly cannot be kept then, only what it is made of. The pipeline tries both: windows differ.
//!
//! XLA's schedulers put off what nothing waits for: gradients of parameters, for which all that is computed again would stay.
//! So each window begins with all products and sums of the one before, and what a loop or the function adds them up in,
//! behind the barrier of what it computes from; the first one with what is computed at the peak.
//!
//! In a program for several devices a value counts as what one of them has of it, and computing it as what one of them
//! does, with what is then handed over ([`memory::OnDevice`]); what is summed over devices is summed window by window.
//!
//! # Why it is right
//!
//! The same ops are done on the same values. Where something is compared with its own sum ([`crate::ties`]), both sides are made
//! of the same computation of it (`versions.rs`). What goes through barriers (`jax.checkpoint`, what users name to be saved) is kept, not computed again; so
//! is what has effects, regions other than reductions', several results, or comes from other devices.
//!
//! # Why it pays, and what it costs
//!
//! Kept for all layers at once are their inputs, in place of all that is between. The price is time: a byte must be
//! saved for at most as long as moving it `moves` times takes, and a pipeline tries several prices and keeps what
//! costs least. Each window is a maximum flow over what is before it, up to what is kept.
//!
//! # When it must not fire
//!
//! * Nothing much is alive at the peak that only later ops need, or what would be kept instead is as large: less than
//!   a [`LEAST_SHARE`]th of what is alive would go.
//! * A loop's body without products.
//! * Back ends that drop barriers before they look for what is computed twice (`Storage::barriers_hold`), or whose
//!   rates nobody knows.

use crate::body::Body;
use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::memory::{self, Profile};
use crate::ops::class;
use crate::ops::products::is_product;
use crate::rewrite::{defining_op, uses};
use crate::tables::Keys;
use crate::target::Target;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, Value};
use slimhlo_dialect::ffi::op_name;

mod choose;
mod emit;
pub(crate) mod price;
mod versions;
mod windows;

use choose::Choices;
use price::Prices;
use windows::Windows;

crate::pass_options! {
    /// Compute again, where it is needed late, what would be kept for long.
    ///
    /// Values from before a function's peak that only ops after it need are kept, or computed again from others that
    /// are, whichever costs less: a minimum cut by bytes and by seconds on the target, for each part of what comes
    /// after the peak. A barrier keeps back ends from finding that both are the same. The same ops are done on the
    /// same values.
    ///
    /// ```mlir
    /// %p = ... softmax of %q times %k
    /// ... (the peak)
    /// %ds = ... %p, %d
    /// // becomes
    /// %held:3 = stablehlo.optimization_barrier %q, %k, %d
    /// %p_again = ... softmax of %held#0 times %held#1
    /// %ds = ... %p_again, %held#2
    /// ```
    pub struct Rematerialize {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// A value is computed again where that takes no longer than moving it so many times.
        pub moves: u64 = 8,
        /// So many in a hundred of the parts that what comes after the peak falls into, those nearest to it, have
        /// `near-moves` for `moves`: what is kept for them is gone soon, and it takes less of the time.
        pub near: u64 = 0,
        /// How many times a value may be moved in the time that it takes to compute it again near the peak.
        pub near_moves: u64 = 8,
        /// About how many parts what comes after the peak falls into.
        pub windows: u64 = 8,
        /// Also takes values that are needed late only by what is computed of them on the fly; does nothing where
        /// there are none.
        pub through: bool = false,
    }
}

const AGAIN: Statistic = Statistic::new(c"num-again", c"ops that are done again");
const SAVED: Statistic = Statistic::new(c"bytes-saved", c"bytes less that are alive at the peak");

/// The least share of what is alive at the peak that has to go.
const LEAST_SHARE: u64 = 16;

impl Pass for Rematerialize {
    const ARGUMENT: &'static str = "slimhlo-rematerialize";
    const STATISTICS: &'static [Statistic] = &[AGAIN, SAVED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let Some(rates) = self.target.rates().filter(|_| self.target.storage().barriers_hold) else {
            return Ok(Changed::No);
        };
        let prices = Prices::new(root, self.target, rates);
        for (block, profile) in memory::profiles(root, self.target) {
            let Some(mut kept) = Kept::of(block, profile) else { continue };
            if kept.is_loop_without_products() {
                continue;
            }
            kept.find_spans(self.through);
            if self.through && kept.light.is_empty() {
                continue;
            }
            if self.again(&kept, &prices, root, context) {
                return Ok(Changed::Yes);
            }
        }
        Ok(Changed::No)
    }
}

impl Rematerialize {
    /// How many times a value may be moved in the time that it takes to compute it again, in each window.
    fn moves_in(&self, windows: usize) -> Vec<u64> {
        let near = (windows as u64 * self.near).div_ceil(100);
        (0..windows as u64).map(|window| if window < near { self.near_moves } else { self.moves }).collect()
    }

    /// Computes again what one block keeps for long; whether that is anything.
    fn again<'c: 'a, 'a>(
        &self,
        kept: &Kept<'c, 'a>,
        prices: &Prices,
        root: OperationRef<'c, 'a>,
        context: &PassContext<'_>,
    ) -> bool {
        let windows = Windows::of(kept, self.windows);
        let choices = Choices::of(kept, &windows, &self.moves_in(windows.count()), prices);
        let alive: u64 = kept.profile.alive.values().sum();
        let saved = choices.saved(kept, prices);
        if saved == 0 || saved < alive / LEAST_SHARE {
            return false;
        }
        let again = emit::run(kept, &windows, &choices, &Builder::new(root));
        context.count(&AGAIN, again as u64);
        context.count(&SAVED, saved);
        again > 0
    }
}

/// What a function, or the body of a loop, keeps from before its peak for after it.
pub(crate) struct Kept<'c, 'a> {
    /// Its ops as they are to be taken. What is from outside of it is there.
    pub(crate) body: Body<'c, 'a>,
    /// The first place after the peak.
    pub(crate) after: usize,
    pub(crate) profile: Profile<'c, 'a>,
    /// Values that are returned: they are there whatever else happens.
    returned: Keys,
    /// Values from before the peak that something after it uses: each with the uses.
    pub(crate) values: Vec<Late<'c, 'a>>,
    /// Values that take memory at the peak, and that something after it is made of.
    spans: Vec<Span<'c, 'a>>,
    /// Values from before the peak that what comes after it computes on the fly of others.
    light: Keys,
}

/// A value that takes memory at the peak, and where it is needed after it.
struct Span<'c, 'a> {
    value: Value<'c, 'a>,
    /// The first place after the peak that needs it.
    first: usize,
    /// The last one.
    last: usize,
    /// What it takes at the peak.
    bytes: u64,
}

/// A value that is used late.
pub(crate) struct Late<'c, 'a> {
    pub(crate) value: Value<'c, 'a>,
    /// The places of the block's ops after the peak that use it, or have inside what does, in order.
    pub(crate) places: Vec<usize>,
    /// Bytes that it takes at the peak: none if it is computed on the fly.
    pub(crate) alive: u64,
}

impl<'c: 'a, 'a> Kept<'c, 'a> {
    pub(crate) fn of(block: BlockRef<'c, 'a>, profile: Profile<'c, 'a>) -> Option<Self> {
        let body = Body::of(block)?;
        let after = body.own(profile.peak?)? + 1;
        let returned = body.end.operands().map(ir::key).collect();
        let mut kept = Self {
            body,
            after,
            profile,
            returned,
            values: Vec::new(),
            spans: Vec::new(),
            light: Keys::default(),
        };
        kept.sink();
        kept.values = kept.late();
        Some(kept)
    }

    /// Whether it is a loop's body in which nothing is multiplied: what back ends store of elementwise ops, gathers and sums
    /// the model does not know well enough. Of neighbours_jax_md it has 52 MiB, and 37 in less time with some of it done
    /// again, where XLA for an H100 says 89 and 89 at 1.47 times the time (`cargo xtask bench corpus`).
    fn is_loop_without_products(&self) -> bool {
        let in_loop = self.body.block.parent_operation().is_some_and(|op| op_name(op) == "stablehlo.while");
        in_loop && !self.body.ops.iter().any(|op| is_product(*op))
    }

    /// Has each op after the peak that is computed on the fly come right before the first that reads it, in the
    /// body's order: back ends compute all that is made of one value at once.
    fn sink(&mut self) {
        let mut anchors: Vec<usize> = (0..self.body.ops.len()).collect();
        for place in (self.after..self.body.ops.len()).rev() {
            let op = self.body.ops[place];
            if !class::is_fusible(op_name(op)) || op.region_count() > 0 {
                continue;
            }
            let readers = op.results().flat_map(|result| uses(result.into()).collect::<Vec<_>>());
            let first = readers.filter_map(|used| self.body.place(used.user)).map(|at| anchors[at]).min();
            anchors[place] = first.unwrap_or(place);
        }
        // What reads an op has no earlier anchor, and comes later.
        let mut order: Vec<usize> = (0..self.body.ops.len()).collect();
        order.sort_by_key(|&place| (anchors[place], place));
        self.body.put(order.into_iter().map(|place| self.body.ops[place]).collect());
    }

    /// Has the block's ops come in the order of `body`.
    pub(crate) fn put_in_order(&self, build: &Builder<'c, 'a>) {
        self.body.ops[self.after..].iter().for_each(|op| build.move_before(*op, self.body.end));
    }

    fn late(&self) -> Vec<Late<'c, 'a>> {
        let mut late = Vec::new();
        for &op in &self.body.ops[..self.after] {
            if op_name(op) == "stablehlo.constant" {
                continue;
            }
            for result in op.results() {
                let value: Value = result.into();
                if self.returned.contains(&ir::key(value)) {
                    continue;
                }
                let users = uses(value).filter_map(|used| self.body.place(used.user));
                let mut places: Vec<usize> = users.filter(|&place| place >= self.after).collect();
                places.sort_unstable();
                places.dedup();
                if !places.is_empty() {
                    let alive = if op.result_count() == 1 { self.alive(op) } else { 0 };
                    late.push(Late { value, places, alive });
                }
            }
        }
        late
    }

    /// Finds what takes memory at the peak for what comes after it, in the order in which that needs it: itself, or
    /// `through` what is computed of it on the fly.
    fn find_spans(&mut self, through: bool) {
        let mut needed: Vec<Option<(usize, usize)>> = vec![None; self.after];
        let mut spans = Vec::new();
        for (place, &op) in self.body.ops[..self.after].iter().enumerate().rev() {
            let value = op.results().next().map(Value::from);
            let Some(value) = value.filter(|value| !self.returned.contains(&ir::key(*value))) else {
                continue;
            };
            if op_name(op) == "stablehlo.constant" {
                continue;
            }
            let users = op.results().flat_map(|result| uses(result.into()).collect::<Vec<_>>());
            let places = users.filter_map(|used| self.body.place(used.user));
            let needs = places.filter_map(|user| match needed.get(user) {
                None => Some((user, user)),
                // What is stored itself needs nothing any more.
                Some(late) => late.filter(|_| through && self.alive(self.body.ops[user]) == 0),
            });
            needed[place] = needs.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
            if let (Some((first, last)), true) = (needed[place], op.result_count() == 1) {
                match self.alive(op) {
                    0 if through && class::is_fusible(op_name(op)) => _ = self.light.insert(ir::key(value)),
                    0 => {}
                    bytes => spans.push(Span { value, first, last, bytes }),
                }
            }
        }
        spans.sort_by_key(|span| span.first);
        self.spans = spans;
    }

    /// The op that makes a value, if that is a sum or extreme of rows within the kernel of what reads the rows beside it.
    fn in_rows(&self, value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
        defining_op(value).filter(|op| self.profile.in_rows.contains(&ir::op_key(*op)))
    }

    /// Bytes that an op's results take at the peak.
    fn alive(&self, op: OperationRef<'c, 'a>) -> u64 {
        self.profile.alive.get(&ir::op_key(op)).copied().unwrap_or_default()
    }
}
