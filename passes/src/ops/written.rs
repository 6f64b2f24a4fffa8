// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which operands ops write into.

use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Value};
use slimhlo_dialect::ffi::op_name;

/// The operands that an op writes into, and that nothing is lost by giving it a buffer of its own for: of a loop those that its iterations
/// do not hand on as they are.
pub fn written(op: OperationRef<'_, '_>) -> Vec<usize> {
    match op_name(op) {
        "stablehlo.scatter" if op.operand_count() % 2 == 1 => (0..op.operand_count() / 2).collect(),
        "stablehlo.while" => {
            let body = op.region(1).ok().and_then(|region| region.first_block());
            let Some((body, end)) = body.and_then(|body| Some((body, body.terminator()?))) else {
                return Vec::new();
            };
            let handed_on = |index: usize, value: Value<'_, '_>| {
                body.argument(index).is_ok_and(|argument| Value::from(argument) == value)
            };
            let next = end.operands().enumerate();
            next.filter(|(index, value)| !handed_on(*index, *value)).map(|(index, _)| index).collect()
        }
        _ => Vec::new(),
    }
}
