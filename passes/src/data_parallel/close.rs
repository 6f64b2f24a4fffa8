// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Making one device's program a manual computation under the signature that the function came with.

use super::WHOLE;
use super::open::BOUNDARY;
use crate::ir::Builder;
use crate::rewrite::{defining_op, ops_in, remove_attribute, set_attribute, uses};
use crate::shards::{Layout, Mesh, manual_computation, partitions};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Type, Value};
use slimhlo_dialect::ffi;
use slimhlo_dialect::sdy::attrs::{TensorShardingPerValue, View};

/// Closes a function; none if it is not open.
pub(super) fn run<'c: 'a, 'a>(function: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) -> Option<()> {
    let whole = ffi::attribute_of(function, WHOLE)?;
    let (inputs, outputs) = ffi::function_type(whole)?;
    let [(_, _, taken), (_, _, given)] = BOUNDARY;
    let shardings = |name: &str| TensorShardingPerValue::view(ffi::attribute_of(function, name)?);
    let (taken, given) = (shardings(taken)?, shardings(given)?);
    let mesh = Mesh::of(taken.shardings().get(0)?, function, partitions(function)?)?;
    let layouts = |of: TensorShardingPerValue<'c>| -> Option<Vec<Layout>> {
        of.shardings().iter().map(|sharding| mesh.layout(sharding)).collect()
    };
    let (taken, given) = (layouts(taken)?, layouts(given)?);
    wrap(function, build, &mesh, (&inputs, &taken), (&outputs, &given))?;
    set_attribute(function, "function_type", whole);
    for (name, kept, laid_out) in BOUNDARY {
        if let Some(said) = ffi::attribute_of(function, kept) {
            set_attribute(function, name, said);
            remove_attribute(function, kept);
        }
        remove_attribute(function, laid_out);
    }
    remove_attribute(function, WHOLE);
    Some(())
}

/// Types of values, and how these are laid out.
type Values<'c, 'r> = (&'r [Type<'c>], &'r [Layout]);

/// Makes all that a function does a manual computation. What it hands out as it came stays outside.
fn wrap<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    build: &Builder<'c, 'a>,
    mesh: &Mesh<'c>,
    (inputs, taken): Values<'c, '_>,
    (outputs, given): Values<'c, '_>,
) -> Option<()> {
    let block = function.region(0).ok()?.first_block()?;
    let end = block.terminator()?;
    let ops: Vec<_> = ops_in(block).filter(|op| *op != end).collect();
    let (mut operands, mut readers) = (Vec::new(), Vec::new());
    for (index, layout) in taken.iter().enumerate() {
        let argument: Value<'c, 'a> = block.argument(index).ok()?.into();
        let inside: Vec<_> = uses(argument).filter(|used| used.user != end).collect();
        build.set_type(argument, inputs[index]);
        if !inside.is_empty() {
            readers.push(inside);
            operands.push((argument, layout));
        }
    }
    let made: Vec<(usize, Value<'c, 'a>)> =
        end.operands().enumerate().filter(|(_, value)| defining_op(*value).is_some()).collect();
    let types: Vec<_> = made.iter().map(|&(index, _)| (outputs[index], &given[index])).collect();
    build.set_insertion_point_before(*ops.first().unwrap_or(&end));
    let (computation, body) = manual_computation(build, mesh, &operands, &types, function.location())?;
    for (index, readers) in readers.into_iter().enumerate() {
        let own = body.argument(index).ok()?.into();
        readers.into_iter().for_each(|used| build.set_operand(used.user, used.operand, own));
    }
    build.set_insertion_point_to_end(body);
    let values: Vec<_> = made.iter().map(|(_, value)| *value).collect();
    build.terminator("sdy.return", &values, function.location());
    let last = body.terminator()?;
    ops.into_iter().for_each(|op| build.move_before(op, last));
    for ((index, _), result) in made.iter().zip(computation.results()) {
        build.set_operand(end, *index, result.into());
    }
    Some(())
}
