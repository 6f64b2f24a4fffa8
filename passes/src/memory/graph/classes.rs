// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What each op is to a compiler that fuses.

use super::{Class, Map, bytes_of};
use crate::target::Storage;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{attribute_of, element_type};
use slimhlo_dialect::types::Tensor;

pub(super) fn has_effects(op: OperationRef<'_, '_>, name: &str) -> bool {
    match name {
        "custom_call" => attribute_of(op, "has_side_effect").is_some_and(|flag| flag.to_string() == "true"),
        "send" | "infeed" | "outfeed" | "recv" => true,
        _ => op.result_count() == 0,
    }
}

pub(super) fn class_of(op: OperationRef<'_, '_>, name: &str, storage: &Storage) -> Class {
    fn element<'c>(value: Option<Value<'c, '_>>) -> Option<Type<'c>> {
        element_type(value?.r#type())
    }
    let operand = element(op.operands().next());
    let float = |ty: Type<'_>| ty.is_f32() || ty.is_f64() || ty.is_f16() || ty.is_bf16();
    let map = |expensive, known: bool| {
        let library = known
            && operand.is_some_and(float)
            && element(op.result(0).ok().map(Value::from)).is_some_and(float);
        Class::Map(Map { expensive, library })
    };
    match name {
        "add" | "subtract" | "multiply" | "maximum" | "minimum" | "negate" | "convert" | "abs" | "ceil"
        | "floor" | "round_nearest_even" | "sign" | "square" => map(false, true),
        "and"
        | "bitcast_convert"
        | "clamp"
        | "compare"
        | "complex"
        | "count_leading_zeros"
        | "imag"
        | "is_finite"
        | "not"
        | "or"
        | "popcnt"
        | "real"
        | "reduce_precision"
        | "round_nearest_afz"
        | "select"
        | "shift_left"
        | "shift_right_arithmetic"
        | "shift_right_logical"
        | "xor" => map(false, false),
        "divide"
        | "exponential"
        | "exponential_minus_one"
        | "log"
        | "log_plus_one"
        | "logistic"
        | "power"
        | "rsqrt"
        | "sqrt"
        | "tanh"
        | "erf" => map(true, true),
        "atan2" | "cbrt" | "cosine" | "remainder" | "sine" | "tan" | "erf_inv" | "acos" | "acosh"
        | "asin" | "asinh" | "atan" | "atanh" | "cosh" | "sinh" | "digamma" | "lgamma" | "zeta"
        | "polygamma" | "bessel_i1e" | "conj" | "is_inf" | "is_neg_inf" | "is_pos_inf" | "next_after"
        | "erfc" | "map" => map(true, false),
        "broadcast_in_dim" | "broadcast" => Class::Broadcast,
        "iota" => Class::Iota,
        "pad" => Class::Pad,
        "concatenate" => Class::Join { alone: is_copied(op, storage) },
        "reverse" | "slice" | "transpose" | "reshape" | "real_dynamic_slice" => Class::Move,
        "dynamic_slice" => Class::Read,
        "gather" => Class::Gather,
        "dynamic_update_slice" => Class::Update,
        "scatter" => Class::Scatter,
        "tuple" | "get_tuple_element" | "partition_id" | "replica_id" => Class::Constant,
        _ => Class::Opaque,
    }
}

/// Whether the back end copies what a concatenation joins.
fn is_copied(op: OperationRef<'_, '_>, storage: &Storage) -> bool {
    let result = op.result(0).ok().and_then(|result| Tensor::new(result.r#type()));
    let dim = crate::ir::constant_attribute(op, "dimension").and_then(|dim| usize::try_from(dim).ok());
    op.operand_count() > storage.most_joined
        || result.zip(dim).is_some_and(|(result, dim)| storage.copies_rows_of(result.shape, dim))
}

/// Whether back ends compute what an op makes of constants: keys of random numbers, mostly, that are made of one another. What
/// is repeated they do not, but for a single element.
pub(super) fn is_folded(op: OperationRef<'_, '_>, class: Class) -> bool {
    match class {
        Class::Map(_) => true,
        Class::Move | Class::Join { .. } | Class::Broadcast => {
            let elements = op.results().map(|result| bytes_of(result.r#type()).1).max().unwrap_or_default();
            elements <= if class == Class::Broadcast { 1 } else { MOST_FOLDED }
        }
        _ => false,
    }
}

/// More elements than these need not be looked at: no key has as many.
const MOST_FOLDED: u64 = 1 << 10;
