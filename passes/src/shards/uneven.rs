// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Arrays that do not come out even, padded at their ends so that a manual computation can take and give them.
//!
//! Partitioners hold them like this already: all tiles are as large as the first, and what is beyond the end of the array is
//! nobody's. So a pad to what comes out even, and the slice that takes it back, cost no more than a choice by position in the kernel
//! that reads them, and nothing where the one undoes the other.

use super::layout::{Known, SHARDING, reordered};
use super::mesh::{Layout, Mesh};
use super::moves::{is_bare, is_elementwise, plain};
use crate::ir::{self, Builder};
use crate::rewrite::{defining_op, set_attribute};
use crate::splat::Splat;
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{TensorShardingPerValue, View};
use slimhlo_dialect::types::Tensor;

/// `value` with as much after its ends as makes its parts come out even, before the insertion point. What is made is added to `made`.
pub fn padded<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    known: &Known<'c>,
    (value, layout): &(Value<'c, 'a>, Layout),
    made: &mut Vec<Value<'c, 'a>>,
    location: Location<'c>,
) -> Option<Value<'c, 'a>> {
    let tensor = plain(*value)?;
    let even = layout.even_shape(tensor.shape, &known.mesh.grid)?;
    if even == tensor.shape {
        return Some(*value);
    }
    if let Some(whole) = trimmed_from(*value).filter(|whole| ffi::shape(whole.r#type()) == Some(&even))
        && known.layout(whole) == Some(layout)
    {
        return Some(whole);
    }
    let zero = build.zeros(Tensor::get(&[], tensor.element, None), location);
    let none = vec![0; even.len()];
    let high: Vec<i64> = even.iter().zip(tensor.shape).map(|(even, size)| even - size).collect();
    let ty = Tensor::get(&even, tensor.element, None);
    let value = build.pad(*value, zero, [&none, &high, &none], ty, location);
    annotate(build, &known.mesh, value, layout)?;
    made.extend([value, zero]);
    Some(value)
}

/// The first so many elements of `value` along each dimension, at the insertion point.
pub fn trimmed<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    mesh: &Mesh<'c>,
    (value, layout): (Value<'c, 'a>, &Layout),
    ty: Type<'c>,
    location: Location<'c>,
) -> Value<'c, 'a> {
    let rank = layout.0.len();
    let value = build.slice(value, &vec![0; rank], ty, location);
    annotate(build, mesh, value, layout);
    value
}

/// Says of an op how its result is laid out.
pub fn annotate<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    mesh: &Mesh<'c>,
    value: Value<'c, 'a>,
    layout: &Layout,
) -> Option<()> {
    let context = build.context();
    let said = TensorShardingPerValue::new(context, &[mesh.sharding(context, layout)?])?;
    set_attribute(defining_op(value)?, SHARDING, said.attribute());
    Some(())
}

/// What a slice that only leaves away what is at the ends takes it from.
pub fn trimmed_from<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<Value<'c, 'a>> {
    defining_op(value).filter(|op| is_trim(*op))?.operands().next()
}

/// Whether an op only leaves away what is at the ends of an array.
pub(crate) fn is_trim(op: OperationRef<'_, '_>) -> bool {
    let starts = || ir::i64_array(op, "start_indices").is_some_and(|starts| starts.iter().all(|&at| at == 0));
    op_name(op) == "stablehlo.slice" && ir::is_dense(op) && starts()
}

/// An array that was cut off at its ends, its dimensions put in another order or given some of one element: that done before. Gives what
/// `computed_whole` does.
pub fn reordered_whole<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    known: &Known<'c>,
    op: OperationRef<'c, 'a>,
) -> Option<(Value<'c, 'a>, Value<'c, 'a>, Layout)> {
    let result = ir::first_result(op).filter(|_| is_bare(op))?;
    let layout = known.layout(result)?.clone();
    let part = op.operands().next()?;
    (reordered(op, op_name(op), known.layout(part)?)? == layout).then_some(())?;
    let shape = plain(result)?.shape;
    let even = layout.even_shape(shape, &known.mesh.grid).filter(|even| even != shape)?;
    let whole = trimmed_from(part).filter(|whole| known.layout(*whole) == known.layout(part))?;
    let all = known.layout(part)?.even_shape(plain(part)?.shape, &known.mesh.grid)?;
    (plain(whole)?.shape == all).then_some(())?;
    build.set_insertion_point_before(op);
    let ty = Tensor::get(&even, ir::element_of(result.r#type()), None);
    let whole = ir::first_result(build.copy_with(op, &[whole], &[], &[ty]))?;
    annotate(build, &known.mesh, whole, &layout)?;
    let left = trimmed(build, &known.mesh, (whole, &layout), result.r#type(), op.location());
    Some((whole, left, layout))
}

/// An op computed for arrays that were cut off at their ends, computed before that is done instead: what is computed of what is
/// beyond the ends is left away then. Gives the op on whole arrays and what is left of it, both laid out alike; `None` if an operand
/// is something else.
pub fn computed_whole<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    known: &Known<'c>,
    op: OperationRef<'c, 'a>,
) -> Option<(Value<'c, 'a>, Value<'c, 'a>, Layout)> {
    let result = ir::first_result(op).filter(|_| is_elementwise(op) && is_bare(op))?;
    let layout = known.layout(result)?.clone();
    let shape = plain(result)?.shape;
    let even = layout.even_shape(shape, &known.mesh.grid).filter(|even| even != shape)?;
    let whole_of = |value: Value<'c, 'a>| {
        let whole = trimmed_from(value)?;
        (ffi::shape(whole.r#type()) == Some(&even) && known.layout(whole) == Some(&layout)).then_some(whole)
    };
    let scalar_of = |value: Value<'c, 'a>| Splat::of(value).filter(Splat::is_constant);
    op.operands().find_map(whole_of)?;
    let can = |value: Value<'c, 'a>| {
        ir::is_rank_zero(value) || whole_of(value).is_some() || scalar_of(value).is_some()
    };
    op.operands().all(can).then_some(())?;
    let location = op.location();
    build.set_insertion_point_before(op);
    let operands: Vec<_> = op
        .operands()
        .map(|value| {
            if ir::is_rank_zero(value) {
                return Some(value);
            }
            whole_of(value).or_else(|| {
                let ty = Tensor::get(&even, ir::element_of(value.r#type()), None);
                let scalar = scalar_of(value)?.materialize(build, location);
                Some(build.broadcast_scalar(scalar, ty, location))
            })
        })
        .collect::<Option<_>>()?;
    let element = ir::element_of(result.r#type());
    let copy = build.copy_with(op, &operands, &[], &[Tensor::get(&even, element, None)]);
    let whole = ir::first_result(copy)?;
    annotate(build, &known.mesh, whole, &layout)?;
    build.set_insertion_point_before(op);
    let left = trimmed(build, &known.mesh, (whole, &layout), result.r#type(), location);
    Some((whole, left, layout))
}
