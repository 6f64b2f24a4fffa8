// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What results of dots, reductions and loops are made into on the way to what is wanted of them: chunks of that are put in their places.

use super::plan::bytes;
use super::{plan, turns};
use crate::ir::{self, discardable_attributes};
use crate::rewrite::{defining_op, users};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::op_name;

/// What a dot's result is made into by nothing but converts and ops with splats, as long as that grows no larger.
pub(super) fn root_of_dot<'c: 'a, 'a>(value: Value<'c, 'a>) -> Value<'c, 'a> {
    root_of(value, bytes(value), 16, |operand| {
        ir::splat_constant(operand).is_some() || is_splat_broadcast(operand)
    })
}

/// What a reduction's result is made into by elementwise ops alone, as long as that takes no more than `most` bytes.
pub(super) fn root_of_reduce<'c: 'a, 'a>(value: Value<'c, 'a>, most: i64) -> Value<'c, 'a> {
    root_of(value, most.max(bytes(value)), 16, |_| true)
}

/// What a loop's result is made into by elementwise ops, with nothing large that is there already, as long as it is no larger than
/// all that the loop makes.
pub(super) fn root_of_turns<'c: 'a, 'a>(op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> Value<'c, 'a> {
    let most = large_results(op).into_iter().map(bytes).fold(0, i64::saturating_add);
    root_of(value, most, 64, |operand| turns::is_made_of_little(operand, Some(op)))
}

/// Results of a loop that are no scalars and that something uses.
pub(super) fn large_results<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<Value<'c, 'a>> {
    let used = |value: &Value<'c, 'a>| crate::rewrite::uses(*value).next().is_some();
    let large = |value: &Value<'c, 'a>| plan::plain(*value).is_some_and(|tensor| tensor.rank() > 0);
    op.results().map(Value::from).filter(|value| used(value) && large(value)).collect()
}

fn is_splat_broadcast(value: Value<'_, '_>) -> bool {
    defining_op(value).is_some_and(|op| {
        op_name(op) == "stablehlo.broadcast_in_dim" && op.operand(0).is_ok_and(ir::is_rank_zero)
    })
}

/// Follows the only user of a value, and the only user of that, up to `longest`, while they keep its elements apart and `allows`
/// holds for what they take besides.
fn root_of<'c: 'a, 'a>(
    value: Value<'c, 'a>,
    most: i64,
    longest: usize,
    allows: impl Fn(Value<'c, 'a>) -> bool,
) -> Value<'c, 'a> {
    let mut current = value;
    for _ in 0..longest {
        let mut users = users(current);
        let (Some(user), None) = (users.next(), users.next()) else { break };
        let name = op_name(user);
        let keeps = matches!(name, "stablehlo.transpose" | "stablehlo.reshape")
            || (name == "stablehlo.bitcast_convert" && plan::keeps_shape(user))
            || (plan::is_elementwise(name) && user.operands().all(|other| other == current || allows(other)));
        if !keeps
            || user.result_count() != 1
            || !discardable_attributes(user).is_empty()
            || defining_op(current).is_none_or(|op| op.block() != user.block())
        {
            break;
        }
        let Ok(next) = user.result(0) else { break };
        let next: Value = next.into();
        if bytes(next) > most || plan::plain(next).is_none() {
            break;
        }
        current = next;
    }
    current
}
