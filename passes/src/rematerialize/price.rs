// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How long it takes to do an op again.

use crate::ir;
use crate::ir::{bytes, plain};
use crate::memory::{EXPENSIVE, product_seconds};
use crate::ops::class::{self, is_costly, is_elementwise};
use crate::target::Rates;
use crate::ties;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// Seconds, as a kernel of its own if it is one; `None` for what is not to be done twice.
pub fn seconds(op: OperationRef<'_, '_>, rates: &Rates) -> Option<f64> {
    let result = ir::first_result(op).filter(|_| op.result_count() == 1)?;
    plain(result)?;
    let name = op_name(op);
    let elements = |value: melior::ir::Value<'_, '_>| {
        Tensor::new(value.r#type()).and_then(|tensor| tensor.element_count()).unwrap_or(0)
    };
    let made = bytes(result) as f64;
    let read: f64 = op.operands().map(|operand| bytes(operand) as f64).sum();
    let local = name.strip_prefix("stablehlo.").or_else(|| name.strip_prefix("chlo."))?;
    match local {
        "dot_general" | "convolution" if !ties::is_compared_with_itself(result) => {
            let computing = product_seconds(op, elements(result) as u64, rates);
            Some(rates.launch_in_graph + computing.max((read + made) / rates.bytes))
        }
        "reduce" if sums(op) => Some(rates.launch_in_graph + read / rates.bytes),
        "transpose" | "concatenate" | "gather" | "pad" | "dynamic_slice" => {
            Some(rates.launch_in_graph + 2.0 * made / rates.bytes)
        }
        _ if op.region_count() > 0 => None,
        // Computed within what reads it.
        _ if is_elementwise(name) || class::is_fusible(name) => {
            let each = if is_costly(name) { EXPENSIVE } else { 1.0 };
            Some(elements(result) as f64 * each / rates.elementwise)
        }
        _ => None,
    }
}

/// Whether a reduction is of one array by a body of one op, and nobody looks for its very bits.
fn sums(op: OperationRef<'_, '_>) -> bool {
    let body = op.region(0).ok().and_then(|region| region.first_block());
    body.is_some() && !op.results().any(|result| ties::is_compared_with_itself(result.into()))
}
