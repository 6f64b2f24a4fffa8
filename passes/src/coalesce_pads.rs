// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-coalesce-pads`: what repeats one scalar around something becomes one pad.
//!
//! # What it matches
//!
//! * Splats (constants, or scalars seen through broadcasts, reshapes, transposes and converts) side by side in a
//!   `concatenate` become one, and one value between splats of one scalar becomes a `pad`:
//!
//! ```mlir
//! %r = stablehlo.concatenate %zeros, %x, %more_zeros, dim = 0
//!     : (tensor<3xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<9xf32>
//! // becomes
//! %r = stablehlo.pad %x, %zero, low = [3], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
//! ```
//!
//! * A concatenate of values padded alike along the other dimensions: a pad of their concatenate.
//! * Pads of pads with the same value, interior and negative padding included; pads of splats; slices of pads (the
//!   part of the operand that is left, or padding only); pads that only cut.
//! * `select` by a mask that is true within a box, or outside of one, between a value and one scalar. Masks are pads
//!   of bools, comparisons of an iota with a constant, and what `and`, `or`, `not` and broadcasts make of them.
//! * Elementwise ops on pads of one geometry and splats: a pad of the op on what is padded.
//! * Sums of two pads whose operands lie side by side, with neutral padding: a pad of their concatenate.
//! * A `reduce` of a pad with neutral padding, and a `dot_general` of two integer operands padded with zeros alike along what is
//!   summed over: the same of what is padded.
//!
//! # Why it is right
//!
//! A pad is a map from places to elements or its scalar, and all of these are compositions of such maps. Scalars are
//! "the same" only if they are one SSA value or constants with the same bits. Arithmetic moves into a pad only where the
//! op on a scalar and on an element of an array give the same bits on every device: what is approximated (`exponential`,
//! `tanh`, ...) stays outside. "Neutral" is meant bit by bit: 0.0 is not neutral in a sum of floats, as it turns -0.0
//! into 0.0, so that such sums of pads stay. In a `reduce` that starts from +0.0 it is, because no partial sum that meets
//! +0.0 is -0.0. One operand of a product padded with zeros says nothing: zero times an infinity is not zero. A reduction
//! over fewer elements may add them up in another order, which `reduce` and `dot_general` leave open.
//!
//! # Why it pays, and what it costs
//!
//! Fewer elements are computed and held: ops work on what is padded, and the pad itself is fused into what reads it by
//! every back end. Pads that something else uses stay where they are. Rules look at a bounded number of ops each; MLIR's
//! greedy driver applies them, together with those of `--slimhlo-simplify`.
//!
//! # When it must not fire
//!
//! * Values that are given up to the op that would become a pad (a donated argument, a temporary that a `select` can
//!   overwrite): a pad reads other places than it writes and cannot happen in place.
//! * Several values between splats: they stay a concatenate, which copies each value once.
//! * One value beside a lone element that is no constant: a concatenate copies both, a pad decides for each element.
//! * Sums of pads that overlap, or lie apart: one fused loop adds them up without any temporary; rows of slices and
//!   partial sums in its place would have to be put together again.
//! * Dynamic shapes, encodings, quantized types; ops with discardable attributes, unless one op takes the place of one.
//! * Programs for several partitions, outside of manual computations: what a pad or a concatenate means for shards is another
//!   pass's business.

mod region;
mod rules;

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::rewrite::{Greedy, Patterns};
use crate::shards::of_one_partition;
use crate::simplify::add_simplify_rules;
use crate::simplify::site::{Rules, add_rules};
use melior::ir::OperationRef;

crate::pass_options! {
    /// Merge splats and pads around values into single pads.
    ///
    /// Splats side by side in a concatenate become one, a value between splats of one scalar becomes a pad, pads of pads
    /// and slices of pads become one op, a choice by a mask that is a box becomes a pad, and elementwise ops, sums,
    /// reductions and dots of pads work on what is padded. Every bit is kept; only the order in which a reduction adds up
    /// may change. Programs for several partitions are left as they are, but for what is in manual computations.
    ///
    /// ```mlir
    /// %r = stablehlo.concatenate %zeros, %x, %more_zeros, dim = 0
    ///     : (tensor<3xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<9xf32>
    /// // becomes
    /// %r = stablehlo.pad %x, %zero, low = [3], high = [2], interior = [0]
    ///     : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
    /// ```
    pub struct CoalescePads {
        /// Go on until another run would find nothing to do; what runs this pass until nothing changes need not ask for it.
        pub settle: bool = true,
    }
}

const COALESCED: Statistic = Statistic::new(c"num-coalesced", c"ops merged into pads, or with them");

const RULES: Rules = &[
    ("stablehlo.abs", &[rules::elementwise_of_pads]),
    ("stablehlo.add", &[rules::elementwise_of_pads, rules::disjoint_sum]),
    ("stablehlo.and", &[rules::elementwise_of_pads, rules::disjoint_sum]),
    ("stablehlo.ceil", &[rules::elementwise_of_pads]),
    ("stablehlo.compare", &[rules::elementwise_of_pads]),
    ("stablehlo.complex", &[rules::elementwise_of_pads]),
    ("stablehlo.concatenate", &[rules::concatenate_of_splats, rules::concatenate_of_pads]),
    ("stablehlo.convert", &[rules::elementwise_of_pads]),
    ("stablehlo.dot_general", &[rules::dot_of_pads]),
    ("stablehlo.floor", &[rules::elementwise_of_pads]),
    ("stablehlo.imag", &[rules::elementwise_of_pads]),
    ("stablehlo.is_finite", &[rules::elementwise_of_pads]),
    ("stablehlo.maximum", &[rules::elementwise_of_pads, rules::disjoint_sum]),
    ("stablehlo.minimum", &[rules::elementwise_of_pads, rules::disjoint_sum]),
    ("stablehlo.multiply", &[rules::elementwise_of_pads, rules::disjoint_sum]),
    ("stablehlo.negate", &[rules::elementwise_of_pads]),
    ("stablehlo.not", &[rules::elementwise_of_pads]),
    ("stablehlo.or", &[rules::elementwise_of_pads, rules::disjoint_sum]),
    ("stablehlo.pad", &[rules::pad_of_pad]),
    ("stablehlo.real", &[rules::elementwise_of_pads]),
    ("stablehlo.reduce", &[rules::reduce_of_pad]),
    ("stablehlo.round_nearest_afz", &[rules::elementwise_of_pads]),
    ("stablehlo.round_nearest_even", &[rules::elementwise_of_pads]),
    ("stablehlo.select", &[rules::select_of_box, rules::elementwise_of_pads]),
    ("stablehlo.shift_left", &[rules::elementwise_of_pads]),
    ("stablehlo.shift_right_arithmetic", &[rules::elementwise_of_pads]),
    ("stablehlo.shift_right_logical", &[rules::elementwise_of_pads]),
    ("stablehlo.sign", &[rules::elementwise_of_pads]),
    ("stablehlo.subtract", &[rules::elementwise_of_pads]),
    ("stablehlo.xor", &[rules::elementwise_of_pads, rules::disjoint_sum]),
];

impl Pass for CoalescePads {
    const ARGUMENT: &'static str = "slimhlo-coalesce-pads";
    const STATISTICS: &'static [Statistic] = &[COALESCED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let count = |_: &str| context.count(&COALESCED, 1);
        let mut changed = Changed::No;
        for root in of_one_partition(root) {
            // What becomes a pad may be simplified further, and the other way around: one fixed point for both.
            let patterns = add_simplify_rules(Patterns::new(), root, &|_| {});
            let patterns = add_rules(patterns, RULES, &count);
            changed = changed | patterns.apply(root, &Greedy::folding(self.settle))?.changed;
        }
        Ok(changed)
    }
}
