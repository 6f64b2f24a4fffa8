// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! About how much elements take to compute: in additions, loads counting for four.

use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};

/// Work up to which a thread takes several elements.
pub const LIGHT: u64 = 2000;

/// About how much an element of an op takes besides its operands.
pub fn own_cost(op: OperationRef<'_, '_>) -> u64 {
    let name = op_name(op);
    let short = name.strip_prefix("stablehlo.").unwrap_or(name);
    let shape_of = |value: Option<Value<'_, '_>>| {
        let shape = value.and_then(|value| ffi::shape(value.r#type())).unwrap_or(&[]);
        shape.iter().fold(1_i64, |count, size| count.saturating_mul(*size))
    };
    match short {
        "constant" => 0,
        "reshape" | "broadcast_in_dim" | "transpose" | "slice" | "iota" | "convert" | "add" | "subtract"
        | "multiply" | "select" | "compare" | "and" | "or" | "not" | "negate" | "abs" | "maximum"
        | "minimum" => 1,
        "gather" => 16,
        "dynamic_slice" | "dynamic_update_slice" | "pad" | "concatenate" | "divide" | "sqrt" | "rsqrt" => 4,
        "reduce" | "reduce_window" | "dot_general" | "dot" | "convolution" | "while" | "case" | "if" => {
            // At least a loop, even if it is a short one.
            let (from, to) = (shape_of(op.operands().next()), shape_of(op.results().next().map(Into::into)));
            64_u64.saturating_add((from / to.max(1)).unsigned_abs().saturating_mul(4))
        }
        _ if name.starts_with("stablehlo.") => 8,
        _ => 32,
    }
}
