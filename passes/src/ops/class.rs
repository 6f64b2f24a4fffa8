// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What each op is, in one table: whether back ends compute it on the fly, whether it keeps elements apart, what it costs to do again.
//!
//! What is not in the table (reductions, products, loops, ops of other dialects) is stored by every back end, and too costly to do twice.

use crate::ir::plain;
use crate::rewrite::walk;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, TypeLike, Value};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{attribute_of, op_name};
use std::sync::LazyLock;

/// What an op is, by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Back ends compute it on the fly inside its users, so that its result needs no memory of its own.
    pub fusible: bool,
    /// Each element of its result is made of the elements in the same place.
    pub elementwise: bool,
    /// It costs nothing to do again, wherever it is needed.
    pub free: bool,
    /// It is too costly to do twice.
    pub costly: bool,
    /// A library of reductions knows it, if it is one of floats: XLA for CPU's.
    pub arithmetic: bool,
    /// It contracts two operands, which back ends leave to a library.
    pub dot: bool,
}

/// What back ends neither fuse nor do twice.
pub const STORED: Class =
    Class { fusible: false, elementwise: false, free: false, costly: true, arithmetic: false, dot: false };
const ARITHMETIC: Class =
    Class { fusible: true, elementwise: true, costly: false, arithmetic: true, ..STORED };
/// Elementwise, but no arithmetic of floats.
const CHOICE: Class = Class { arithmetic: false, ..ARITHMETIC };
/// An elementary function: tens of instructions.
const ELEMENTARY: Class = Class { costly: true, ..ARITHMETIC };
/// One that a library of reductions does not know.
const FUNCTION: Class = Class { costly: true, ..CHOICE };
/// Elements in other places.
const MOVE: Class = Class { elementwise: false, ..CHOICE };
/// The same elements more often, or in another shape.
const SPREAD: Class = Class { arithmetic: true, ..MOVE };

/// Ops of StableHLO, by name.
pub const STABLEHLO: &[(&str, Class)] = &[
    ("abs", ARITHMETIC),
    ("add", ARITHMETIC),
    ("and", ARITHMETIC),
    ("atan2", FUNCTION),
    ("bitcast_convert", MOVE),
    ("broadcast", SPREAD),
    ("broadcast_in_dim", Class { free: true, ..SPREAD }),
    ("cbrt", FUNCTION),
    ("ceil", ARITHMETIC),
    ("clamp", CHOICE),
    ("compare", CHOICE),
    ("complex", ARITHMETIC),
    ("constant", Class { free: true, ..SPREAD }),
    ("convert", ARITHMETIC),
    ("cosine", FUNCTION),
    ("count_leading_zeros", ARITHMETIC),
    ("divide", ARITHMETIC),
    ("dot_general", Class { dot: true, ..STORED }),
    ("dynamic_slice", MOVE),
    ("exponential", ELEMENTARY),
    ("exponential_minus_one", ELEMENTARY),
    ("floor", ARITHMETIC),
    ("imag", ARITHMETIC),
    ("iota", Class { free: true, ..SPREAD }),
    ("is_finite", CHOICE),
    ("log", ELEMENTARY),
    ("log_plus_one", ELEMENTARY),
    ("logistic", ELEMENTARY),
    ("maximum", ARITHMETIC),
    ("minimum", ARITHMETIC),
    ("multiply", ARITHMETIC),
    ("negate", ARITHMETIC),
    ("not", ARITHMETIC),
    ("or", ARITHMETIC),
    ("pad", MOVE),
    ("popcnt", ARITHMETIC),
    ("power", ELEMENTARY),
    ("real", ARITHMETIC),
    ("reduce_precision", ARITHMETIC),
    ("remainder", CHOICE),
    ("reshape", Class { free: true, ..SPREAD }),
    ("reverse", MOVE),
    ("round_nearest_afz", CHOICE),
    ("round_nearest_even", ARITHMETIC),
    ("rsqrt", ARITHMETIC),
    ("select", CHOICE),
    ("shift_left", ARITHMETIC),
    ("shift_right_arithmetic", ARITHMETIC),
    ("shift_right_logical", ARITHMETIC),
    ("sign", ARITHMETIC),
    ("sine", FUNCTION),
    ("slice", Class { free: true, ..MOVE }),
    ("sqrt", ARITHMETIC),
    ("subtract", ARITHMETIC),
    ("tan", FUNCTION),
    ("tanh", ELEMENTARY),
    ("transpose", MOVE),
    ("xor", ARITHMETIC),
];

/// Ops of CHLO, by name: back ends are given what they decompose into.
pub const CHLO: &[(&str, Class)] = &[
    ("acos", FUNCTION),
    ("acosh", FUNCTION),
    ("asin", FUNCTION),
    ("asinh", FUNCTION),
    ("atan", FUNCTION),
    ("atanh", FUNCTION),
    ("bessel_i1e", FUNCTION),
    ("cosh", FUNCTION),
    ("digamma", FUNCTION),
    ("erf", FUNCTION),
    ("erf_inv", FUNCTION),
    ("erfc", FUNCTION),
    ("lgamma", FUNCTION),
    ("sinh", FUNCTION),
    ("square", CHOICE),
];

/// All of them, by full name: every pass asks of every op.
static CLASSES: LazyLock<FxHashMap<String, Class>> = LazyLock::new(|| {
    let tables = [("stablehlo", STABLEHLO), ("chlo", CHLO)].into_iter();
    let named = |(dialect, table): (&'static str, &'static [(&'static str, Class)])| {
        table.iter().map(move |(name, class)| (format!("{dialect}.{name}"), *class))
    };
    tables.flat_map(named).collect()
});

impl Class {
    /// The class of ops of this name.
    pub fn of(name: &str) -> Self {
        CLASSES.get(name).copied().unwrap_or(STORED)
    }
}

/// Whether back ends compute ops of this name on the fly inside their users, so that their results need no memory of their own.
pub fn is_fusible(name: &str) -> bool {
    Class::of(name).fusible
}

/// Whether ops of this name work on each element by itself.
pub fn is_elementwise(name: &str) -> bool {
    Class::of(name).elementwise
}

/// Whether ops of this name are too costly to do twice.
pub fn is_costly(name: &str) -> bool {
    Class::of(name).costly
}

/// Whether a library of reductions knows an op: arithmetic of floats, and what it is made of.
pub fn is_arithmetic(op: OperationRef<'_, '_>) -> bool {
    let name = op_name(op);
    let float = |value: Value<'_, '_>| plain(value).is_some_and(|tensor| tensor.element.is_float());
    Class::of(name).arithmetic
        && (matches!(name, "stablehlo.broadcast_in_dim" | "stablehlo.iota" | "stablehlo.constant")
            || (op.operands().all(float) && op.results().all(|result| float(result.into()))))
}

/// Whether an op, with all in it, may be done once more to the same end: it has no effects, talks to no other device, and draws no lots.
pub fn is_repeatable(op: OperationRef<'_, '_>) -> bool {
    let stays = walk(op, |inner| {
        let name = op_name(inner);
        let talks = has_effects(inner) && !name.starts_with("sdy.")
            || attribute_of(inner, "channel_handle").is_some()
            || name == "stablehlo.rng";
        if talks { WalkResult::Interrupt } else { WalkResult::Advance }
    });
    stays != WalkResult::Interrupt
}

/// Whether an op has to stay where it is beside others.
pub fn has_effects(op: OperationRef<'_, '_>) -> bool {
    matches!(
        op_name(op),
        "stablehlo.infeed"
            | "stablehlo.outfeed"
            | "stablehlo.send"
            | "stablehlo.recv"
            | "stablehlo.create_token"
            | "stablehlo.after_all"
    ) || op_name(op) == "stablehlo.custom_call"
        && attribute_of(op, "has_side_effect").is_some_and(|flag| flag.to_string() == "true")
        || !op_name(op).starts_with("stablehlo.") && !op_name(op).starts_with("chlo.")
}

/// Whether an op has devices wait for each other, by its name with the dialect or without.
pub fn is_collective(name: &str) -> bool {
    matches!(
        name.strip_prefix("stablehlo.").unwrap_or(name),
        "all_gather"
            | "all_reduce"
            | "all_to_all"
            | "collective_broadcast"
            | "collective_permute"
            | "reduce_scatter"
    )
}
