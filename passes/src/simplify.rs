// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-simplify`: the algebra of ops that only move, choose or repeat elements.
//!
//! # What it matches
//!
//! What real modules need so that other passes see their patterns, where folding (which looks at one op and constants)
//! does not reach:
//! * slices of slices, concatenates, broadcasts, pads, updates, transposes, reshapes by ones and iotas; reshapes and transposes of one another and of
//!   broadcasts; broadcasts of broadcasts and of reshapes; reverses of broadcasts; pads of splats, pads that only cut;
//! * concatenates of concatenates, with empty operands, of neighbouring slices of one value;
//! * dots of transposed values; those that contract nothing, which are products of elements;
//! * conversions after conversions that lose nothing;
//! * comparisons, minima, maxima and clamps of integers whose ranges settle them (an iota against its bounds, the
//!   sign fix of an index that cannot be negative); comparisons with a limit that is kept by a maximum or minimum nearby; choices among what the same mask has chosen;
//! * `dynamic_slice` and `gather` at constant indices, gathers of one slice, starts clamped twice; sums, differences and products of floats that are the
//!   same everywhere, where rounding leaves no choice;
//! * `torch_index_select`, which is a gather;
//! * `dynamic_iota`, `dynamic_pad` and others like them, of a shape that is known after all;
//! * sharding constraints in programs for one device;
//! * floats times 1, plus -0.0, minus 0.0, over 1; reductions over dimensions of size 1 from a neutral value,
//!   and of a mask that is true or false everywhere.
//!
//! ```mlir
//! %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
//! %1 = stablehlo.slice %0 [5:7] : (tensor<8xf32>) -> tensor<2xf32>
//! // becomes
//! %1 = stablehlo.slice %y [1:3] : (tensor<4xf32>) -> tensor<2xf32>
//! ```
//!
//! # Why it is right
//!
//! Elements are moved, not computed. Where an arithmetic op goes, its other operand is neutral bit by bit: 0.0 is not
//! neutral in a sum of floats (`-0.0 + 0.0` is `0.0`), nor absorbing in a product. Integer ranges are those of exact
//! arithmetic, and the whole type where an op may wrap around.
//!
//! # Why it pays, and what it costs
//!
//! Fewer and smaller values. No op's work is done twice: what is looked through either goes away, because its one use
//! does, or was smaller in the first place. A value is not kept for longer in the place of a smaller one: a slice of
//! what a slice leaves is taken where the first was. Only what is there anyway, arguments that are not donated and
//! constants, is read later than before.
//!
//! MLIR's greedy driver applies the rules, each of which looks at a bounded number of ops.
//!
//! # When it must not fire
//!
//! * An update stays readable in its latest version only: a slice of an updated array reads the array before the update
//!   only if the update has no other user. Otherwise it could not happen in place any more.
//! * Dynamic shapes, encodings, quantized types.
//! * An op with discardable attributes is not looked through, nor removed; one made in its place takes them over.
//! * In programs for several partitions concatenates, pads and slices stay as they are: what each of them means for the
//!   shards of its operands was for the partitioner to say. (Inside of manual computations over all axes of the mesh it is not.)
//!   A gather of one slice becomes that slice there, too: `--slimhlo-exchange-shards` knows what to do with one.

pub(crate) mod concat;
pub(crate) mod dot;
pub(crate) mod dynamic;
pub(crate) mod index_select;
pub(crate) mod number;
pub(crate) mod shape;
pub(crate) mod site;
pub(crate) mod window;

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::rewrite::{Greedy, Patterns};
use crate::shards::{is_partitioned, of_one_partition, partitions};
use melior::ir::OperationRef;
use site::{Rules, add_rules};

crate::pass_options! {
    /// Simplify how elements are moved, chosen and repeated.
    ///
    /// Slices, reshapes, transposes, broadcasts, concatenates, pads and conversions of one another become fewer, dots of
    /// transposed values take what these are made from, integer comparisons and limits that ranges settle go, indices
    /// known at compile time become slices, and arithmetic that changes no bit is dropped. Constants are folded and merged
    /// along the way. Nothing is computed twice and nothing large is kept for longer.
    ///
    /// ```mlir
    /// %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    /// %1 = stablehlo.slice %0 [5:7] : (tensor<8xf32>) -> tensor<2xf32>
    /// // becomes
    /// %1 = stablehlo.slice %y [1:3] : (tensor<4xf32>) -> tensor<2xf32>
    /// ```
    pub struct Simplify {
        /// Only in modules for several partitions.
        pub partitioned_only: bool = false,
        /// Go on until another run would find nothing to do; what runs this pass until nothing changes need not ask for it.
        pub settle: bool = true,
    }
}

const SIMPLIFIED: Statistic = Statistic::new(c"num-simplified", c"ops replaced by simpler ones");

/// Rules that leave to each op's shards what they were.
const EVERYWHERE: Rules = &[
    ("stablehlo.abs", &[number::splat_arithmetic]),
    ("stablehlo.add", &[number::splat_arithmetic, number::neutral_operand]),
    ("stablehlo.broadcast", &[shape::broadcast_of_broadcast, shape::broadcast_of_reshape]),
    ("stablehlo.broadcast_in_dim", &[shape::broadcast_of_broadcast, shape::broadcast_of_reshape]),
    ("stablehlo.clamp", &[number::idle_limit]),
    ("stablehlo.compare", &[number::settled_compare, number::compare_of_limited]),
    ("stablehlo.convert", &[number::convert_of_convert]),
    ("stablehlo.divide", &[number::neutral_operand]),
    ("stablehlo.dot_general", &[dot::dot_of_nothing, dot::dot_of_transpose]),
    ("stablehlo.dynamic_broadcast_in_dim", &[dynamic::static_broadcast]),
    ("stablehlo.dynamic_gather", &[dynamic::static_gather]),
    ("stablehlo.dynamic_iota", &[dynamic::static_iota]),
    ("stablehlo.dynamic_pad", &[dynamic::static_pad]),
    ("stablehlo.dynamic_reshape", &[dynamic::static_reshape]),
    ("stablehlo.dynamic_slice", &[number::constant_dynamic_slice]),
    ("stablehlo.maximum", &[number::idle_limit]),
    ("stablehlo.minimum", &[number::idle_limit]),
    ("stablehlo.multiply", &[number::splat_arithmetic, number::neutral_operand]),
    ("stablehlo.negate", &[number::splat_arithmetic]),
    ("stablehlo.real_dynamic_slice", &[dynamic::static_slice]),
    ("stablehlo.reduce", &[number::reduce_of_splat]),
    ("stablehlo.reshape", &[shape::reshape_of_reshape, shape::move_of_splat]),
    ("stablehlo.reverse", &[shape::reverse_of_broadcast]),
    ("stablehlo.select", &[number::select_of_select]),
    ("stablehlo.subtract", &[number::splat_arithmetic, number::neutral_operand]),
    ("stablehlo.torch_index_select", &[index_select::gather_of_index_select]),
    (
        "stablehlo.transpose",
        &[shape::move_of_splat, shape::transpose_of_transpose, shape::transpose_of_broadcast],
    ),
];

/// Rules for programs of one partition.
const ONE_PARTITION: Rules = &[
    (
        "stablehlo.concatenate",
        &[
            concat::without_empty_operands,
            concat::concatenate_of_concatenate,
            concat::concatenate_of_all_slices,
            concat::concatenate_of_slices,
        ],
    ),
    ("stablehlo.dynamic_slice", &[number::clamped_start]),
    ("stablehlo.dynamic_update_slice", &[number::clamped_start]),
    ("stablehlo.gather", &[window::constant_gather, window::gather_of_one_window]),
    ("stablehlo.pad", &[shape::pad_of_splat, shape::pad_that_cuts]),
    ("stablehlo.reduce", &[number::trivial_reduce]),
    (
        "stablehlo.slice",
        &[
            shape::slice_of_slice,
            shape::slice_of_concatenate,
            shape::slice_of_broadcast,
            shape::slice_of_pad,
            shape::slice_of_update,
            shape::slice_of_iota,
            shape::slice_of_transpose,
            shape::slice_of_reshape,
        ],
    ),
];

/// Rules for programs of several partitions.
const PARTITIONED: Rules = &[("stablehlo.gather", &[window::constant_gather_of_shards])];

/// Rules for programs that say that they are for one device.
const ONE_DEVICE: Rules =
    &[("sdy.reshard", &[shape::idle_constraint]), ("sdy.sharding_constraint", &[shape::idle_constraint])];

/// Adds the rules that apply to `root`; `count` hears of each use of one.
pub(crate) fn add_simplify_rules<'c, 'p>(
    patterns: Patterns<'c, 'p>,
    root: OperationRef<'c, '_>,
    count: &'p (dyn Fn(&str) + 'p),
) -> Patterns<'c, 'p> {
    let patterns = add_rules(patterns, EVERYWHERE, count);
    let patterns = match partitions(root) {
        Some(1) => add_rules(patterns, ONE_DEVICE, count),
        _ => patterns,
    };
    add_rules(patterns, if is_partitioned(root) { PARTITIONED } else { ONE_PARTITION }, count)
}

impl Pass for Simplify {
    const ARGUMENT: &'static str = "slimhlo-simplify";
    const STATISTICS: &'static [Statistic] = &[SIMPLIFIED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let count = |_: &str| context.count(&SIMPLIFIED, 1);
        if self.partitioned_only && partitions(root).is_none_or(|partitions| partitions <= 1) {
            return Ok(Changed::No);
        }
        let mut changed = Changed::No;
        let shards = if is_partitioned(root) { of_one_partition(root) } else { Vec::new() };
        for root in shards.into_iter().chain([root]) {
            let patterns = add_simplify_rules(Patterns::new(), root, &count);
            changed = changed | patterns.apply(root, &Greedy::folding(self.settle))?.changed;
        }
        Ok(changed)
    }
}
