// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a kernel takes by how it falls into blocks of threads: too few of them for the columns that it reduces, or of rows that share a mask.

use super::assign::Plan;
use super::fuse::Kernel;
use super::graph::{Class, Graph, Id};
use super::stages::{first_of_several, left_for_one};
use crate::ir::i64_array;
use crate::target::{Rates, Storage};
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, TypeLike, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// Seconds that a reduction of columns takes with the blocks of threads that it has: each of some columns, and all of their rows. What else
/// its kernel stores is made by the same blocks.
pub(super) fn in_columns(
    graph: &Graph<'_, '_>,
    plan: &Plan,
    kernel: Kernel,
    (read, near): (f64, f64),
    (storage, rates): (&Storage, &Rates),
) -> f64 {
    let Some((columns, each)) = rates.columns.zip(storage.column_blocks) else { return 0.0 };
    let blocks = plan.kernels.computed(kernel).filter_map(|node| {
        let taken = columns_of(graph, node)?.max(1) as f64;
        (read >= taken).then(|| each.count(made_in_stages(graph, node, storage) * (read / taken)))
    });
    let Some(blocks) = blocks.min_by(f64::total_cmp) else { return 0.0 };
    let near = near.min(read);
    (near / columns.near + (read - near) / columns.far) / blocks
}

/// How many elements a node takes, if it reduces columns.
pub(super) fn columns_of(graph: &Graph<'_, '_>, node: Id) -> Option<u64> {
    let reduction = &graph.nodes[node as usize];
    let op = reduction.op.filter(|_| matches!(reduction.class, Class::Reduce(_)))?;
    let &of = reduction.operands.first()?;
    let across = match first_of_several(graph, node) {
        Some(is_of_rows) => !is_of_rows,
        None => goes_across(graph, op, of),
    };
    across.then(|| graph.values[of as usize].elements)
}

/// Elements that the first stage of a reduction makes, if it goes in several, or all of it.
pub(super) fn made_in_stages(graph: &Graph<'_, '_>, node: Id, storage: &Storage) -> f64 {
    let made = graph.values[graph.nodes[node as usize].first as usize].elements;
    left_for_one(graph, node, storage).max(1) as f64 * made as f64
}

/// Whether a reduction of a value goes across what lies side by side in memory: in the order of what it is a transpose of, since that is how
/// it is computed.
fn goes_across(graph: &Graph<'_, '_>, op: OperationRef<'_, '_>, of: Id) -> bool {
    // Not of the value's type, which may be of another shape.
    let shape = op.operands().next().and_then(|operand| Tensor::new(operand.r#type()));
    let (Some(dims), Some(shape)) = (i64_array(op, "dimensions"), shape) else { return false };
    let last = shape.shape.iter().rposition(|&size| size != 1);
    let reduces_last = last.is_none_or(|last| dims.contains(&(last as i64)));
    let mut value = of;
    while let Some(node) = graph.nodes.get(graph.values[value as usize].node as usize) {
        let elements = graph.values[value as usize].elements;
        let made_of = node.operands.iter().find(|&&id| graph.values[id as usize].elements == elements);
        match (node.class, made_of) {
            (Class::Map(_), Some(&before)) => value = before,
            (Class::Move, Some(_)) if node.op.is_some_and(moves_last) => return reduces_last,
            _ => break,
        }
    }
    !reduces_last
}

/// Whether an op is a transpose whose elements are not side by side as in its operand.
pub(super) fn moves_last(op: OperationRef<'_, '_>) -> bool {
    if op_name(op) != "stablehlo.transpose" {
        return false;
    }
    let of = op.operands().next().and_then(|operand| Tensor::new(operand.r#type()));
    let (Some(of), Some(order)) = (of, i64_array(op, "permutation")) else { return false };
    let last = of.shape.iter().rposition(|&size| size != 1);
    let now = order.iter().rfind(|&&dim| of.shape[dim as usize] != 1);
    last.map(|last| last as i64) != now.copied()
}

/// How many times as long a kernel takes for a mask of which several rows share one: XLA gives one block of threads these, and a row of the mask.
pub(super) fn shared_mask(graph: &Graph<'_, '_>, plan: &Plan, kernel: Kernel) -> f64 {
    // `SHARED_MASK` and `SHARED_MASK_ROWS` of `test/oracle/hlo_time.py`, which says what shows it.
    const TIMES: f64 = 1.9;
    const ROWS: u64 = 4;
    const NEAR: usize = 64;
    // Of long rows a block has a few, and shares the mask's only if it reads nothing else: softmax does, its gradient does not.
    const LONG: i64 = 1024;
    if !kernel.inside.rows {
        return 1.0;
    }
    let elements = |id: Id| graph.values[id as usize].elements;
    let made = graph.values[graph.nodes[kernel.node as usize].first as usize].ty;
    let is_long = Tensor::new(made).is_some_and(|made| made.shape.last().is_some_and(|&row| row > LONG));
    if is_long && plan.kernels.reads(kernel).iter().filter(|read| elements(read.value) > 1).count() > 1 {
        return 1.0;
    }
    // What is repeated for some rows only, and added to others as a number, is no such mask: XLA repeats it in the end.
    let most = plan.kernels.reads(kernel).iter().map(|read| elements(read.value)).max().unwrap_or(0);
    // What makes a number of each row has other tiles.
    if elements(graph.nodes[kernel.node as usize].first) < most {
        return 1.0;
    }
    let mut found = vec![kernel.node];
    let mut next = 0;
    while let Some(&at) = found.get(next) {
        next += 1;
        let node = &graph.nodes[at as usize];
        for &operand in &node.operands {
            let before = graph.values[operand as usize].node;
            let repeats =
                node.class == Class::Broadcast && elements(node.first) >= most.max(ROWS * elements(operand));
            if repeats && is_mask_made(graph, plan, operand) {
                return TIMES;
            }
            if plan.kernels.of[before as usize].is_none() && found.len() < NEAR && !found.contains(&before) {
                found.push(before);
            }
        }
    }
    1.0
}

/// Whether a kernel makes a mask of several rows itself, maybe in another shape.
fn is_mask_made(graph: &Graph<'_, '_>, plan: &Plan, mut value: Id) -> bool {
    let elements = graph.values[value as usize].elements;
    loop {
        let content = &graph.values[value as usize];
        let Some(node) = graph.nodes.get(content.node as usize) else { return false };
        match (node.class, node.operands.first()) {
            (Class::Broadcast | Class::Move, Some(&of)) if graph.values[of as usize].elements == elements => {
                value = of;
            }
            (Class::Map(_), _) => {
                let mask = Tensor::new(content.ty).filter(|mask| mask.rank() > 1);
                let integer = mask.map(|mask| mask.element).filter(|element| element.is_integer());
                let is_mask =
                    integer.is_some_and(|ty| IntegerType::try_from(ty).is_ok_and(|ty| ty.width() == 1));
                return is_mask && plan.kernels.of[content.node as usize].is_none();
            }
            _ => return false,
        }
    }
}
