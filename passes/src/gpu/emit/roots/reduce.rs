// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Reductions by many threads.
//!
//! Where the last dimension stays, threads that follow each other have results that do: one each where these are
//! enough to busy the device, else several threads of a block for each (`Size::Column`). Where it is reduced, a warp
//! or a block computes a result. Where results are too few to busy the device even so, each reduction is cut into
//! chunks; a second launch combines what they came to, by way of scratch memory (`parts`). Rows are read several
//! neighbours at a time where they are aligned. The initial value goes into every result once. With one thread per
//! block the elements are combined in row-major order, chunk by chunk. Bodies are taken to be associative and
//! commutative, as everywhere on devices.
//!
//! Elementwise ops and reshapes may follow the reduction; they are computed where the result is.

use super::group::{Group, Merge, Size};
use super::parts::{self, Parts};
use super::reducer::{Reducer, bytes_of};
use super::serial::{merge, only_if, operand_tensor, result_tensor};
use super::{Launch, Result, map, scratch_count, store_results};
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::{BLOCK, Grids, Kernel};
use crate::ir;
use crate::rewrite::context_of;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi;
use slimhlo_dialect::types::Tensor;
use std::collections::HashSet;

/// How a reduction is spread over threads.
#[derive(Clone, Copy, Debug)]
struct Plan {
    results: i64,
    length: i64,
    /// Chunks of each reduction, and elements of a chunk.
    chunks: i64,
    chunk: i64,
    /// Who reduces a chunk.
    size: Size,
    /// Neighbours that a thread takes at once: they divide a chunk, and lie next to each other in rows.
    neighbours: i64,
    /// Results next to each other that a group has, so that its loads are of a word at least.
    beside: i64,
}

/// Bytes of the widest load.
const WIDEST: i64 = 16;
/// Bytes of a word.
const WORD: i64 = 4;
/// Most neighbours of a thread.
const MOST_NEIGHBOURS: i64 = 8;
/// Elements, or times as many neighbours, of a thread whose loads are in flight together.
const TOGETHER: i64 = 4;
const TOGETHER_NEIGHBOURS: i64 = 2;
/// Cost of an element up to which a thread takes several at once.
const LIGHT: u64 = 200;
/// Elements that are left to one thread, and those up to which a warp is enough.
const SHORT: i64 = 32;
const WARPS: i64 = 256;
/// Least elements of a thread of a chunk: two rounds of what it has in flight; and where a block has several results,
/// so many that what chunks come to is less than a hundredth of what they are made of.
const LEAST: i64 = 8;
const LEAST_OF_COLUMNS: i64 = 16;

fn plan<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Plan> {
    let shape = operand_tensor(op, 0)?.shape;
    let dims = ir::i64_array(op, "dimensions").unwrap_or_default();
    let results: i64 = result_tensor(op, 0)?.shape.iter().product();
    let length: i64 = dims.iter().map(|&dim| shape[dim as usize]).product();
    let last = (0..shape.len()).rev().find(|&dim| shape[dim] > 1).unwrap_or_default() as i64;
    let rows = dims.contains(&last);
    let widest = (0..op.result_count()).try_fold(1, |most, operand| -> Result<'c, i64> {
        Ok(most.max(bytes_of(operand_tensor(op, operand)?.element) as i64))
    })?;
    let grids = Grids::around(op);
    let mut beside = 1;
    while !rows && length >= SHORT && results < grids.threads() && 2 * beside * widest <= WORD {
        if shape[last as usize] % (2 * beside) != 0 {
            break;
        }
        beside *= 2;
    }
    let size = if length < SHORT || !rows && results >= grids.threads() {
        Size::Thread
    } else if !rows {
        Size::columns(results / beside)
    } else if length < WARPS || length < 4 * WARPS && results * 32 >= grids.threads() {
        Size::Warp
    } else {
        Size::Block
    };
    let chunks = match size {
        Size::Thread | Size::Warp => 1,
        Size::Block | Size::Column { .. } => {
            let blocks = (results / beside * size.threads() + BLOCK - 1) / BLOCK;
            let least = if size == Size::Block { LEAST } else { LEAST_OF_COLUMNS };
            (grids.busy() / blocks.max(1)).min(length / size.threads() / least).max(1)
        }
    };
    let chunk = ((length + chunks - 1) / chunks).max(1);
    // A block's chunks begin where its loads are aligned.
    let chunk = if size == Size::Block && chunks > 1 { (chunk + BLOCK - 1) / BLOCK * BLOCK } else { chunk };
    // None is empty.
    let chunks = ((length + chunk - 1) / chunk).max(1);
    let mut neighbours = if rows { MOST_NEIGHBOURS } else { 1 };
    for operand in 0..op.result_count() {
        let bytes = bytes_of(operand_tensor(op, operand)?.element) as i64;
        let several = |number: i64| {
            number * bytes <= WIDEST
                && shape[last as usize] % number == 0
                && (chunks == 1 || chunk % number == 0)
        };
        while neighbours > 1 && !several(neighbours) {
            neighbours /= 2;
        }
    }
    Ok(Plan { results, length, chunks, chunk, size, neighbours, beside })
}

/// Bytes of what the chunks come to, for each operand.
pub fn scratch<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<u64>> {
    let plan = plan(op)?;
    if plan.chunks == 1 {
        return Ok(vec![]);
    }
    let count = (plan.chunks * plan.results) as u64;
    Ok(Reducer::of(op)?.accumulator_bytes().iter().map(|bytes| bytes * count).collect())
}

/// How the reduction is spread with the scratch memory that its kernel has.
fn plan_in_kernel<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Plan> {
    let mut plan = plan(op)?;
    if scratch_count(op) < op.result_count() {
        (plan.chunks, plan.chunk) = (1, plan.length);
    }
    Ok(plan)
}

/// The launches of the kernel.
pub fn launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<Launch<'c>>> {
    if !is_pointwise(op) {
        return Ok(vec![]);
    }
    let plan = plan_in_kernel(op)?;
    let words = super::words_of_results(op);
    let groups = plan.results / plan.beside * plan.chunks;
    let mut launches = vec![Launch::of_groups(plan.size, groups, context_of(op), words * plan.beside)];
    if plan.chunks > 1 {
        let size = parts::size(plan.results);
        launches.push(Launch::of_groups(size, plan.results, context_of(op), words));
    }
    Ok(launches)
}

/// Writes one launch.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>, launch: usize) -> Result<'c, ()> {
    if !is_pointwise(op) {
        return map(kernel);
    }
    let plan = plan_in_kernel(op)?;
    let reducer = Reducer::of(op)?;
    match launch {
        0 => first_launch(kernel, op, &plan, &reducer),
        _ => {
            let parts =
                Parts { count: plan.chunks, results: plan.results, types: reducer.accumulators(kernel) };
            let merge =
                |left: &[Scalar<'c, 'a>], right: &[Scalar<'c, 'a>]| reducer.merge(kernel, left, right);
            parts.combine(kernel, &merge, &|position, sums| {
                store_results(kernel, op, position, &reducer.finish(kernel, sums)?)
            })
        }
    }
}

fn first_launch<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    op: OperationRef<'c, 'a>,
    plan: &Plan,
    reducer: &Reducer<'c, 'a>,
) -> Result<'c, ()> {
    let code = &kernel.code;
    let shape = operand_tensor(op, 0)?.shape;
    let result_shape = result_tensor(op, 0)?.shape;
    let dims = ir::i64_array(op, "dimensions").unwrap_or_default();
    let reduced: Vec<i64> = dims.iter().map(|&dim| shape[dim as usize]).collect();
    let group = Group::new(code, plan.size);
    let shared = (plan.size.shared_words(1) > 0).then(|| kernel.shared(0));
    let threads = plan.size.threads();
    let cost = op.operands().take(op.result_count()).map(|operand| kernel.cost(operand));
    let cost = cost.fold(0, u64::saturating_add);
    let (neighbours, together) = match plan.neighbours {
        _ if cost > LIGHT => (1, 1),
        1 => (1, TOGETHER),
        several => (several, TOGETHER_NEIGHBOURS),
    };
    // From here on counted in neighbours.
    let (length, chunk_length) = (plan.length / neighbours, plan.chunk / neighbours);
    let together = if chunk_length / threads < 2 * together { 1 } else { together };
    let groups = plan.results / plan.beside;
    let width = op.result_count();
    // Of each of the results beside each other.
    let merge_all = |left: &[Scalar<'c, 'a>], right: &[Scalar<'c, 'a>]| {
        let each = left.chunks(width).zip(right.chunks(width));
        let merged: Vec<_> =
            each.map(|(left, right)| reducer.merge(kernel, left, right)).collect::<Result<_>>()?;
        Ok(merged.concat())
    };
    group.tasks(code, groups * plan.chunks, |task| {
        // Results that follow each other are chunks of threads that do.
        let first_result = code.mul(code.rem(task, groups), code.index(plan.beside));
        let chunk = code.div(task, groups);
        let result = |number: i64| code.add(first_result, code.index(number));
        let outside: Vec<_> =
            (0..plan.beside).map(|number| kernel.indices(result_shape, result(number))).collect();
        let place = |number: Value<'c, 'a>, place: i64, outside: &[Value<'c, 'a>]| {
            let first = code.mul(number, code.index(neighbours));
            let inside = kernel.indices(&reduced, code.add(first, code.index(place)));
            merge(shape.len(), dims, &inside, outside)
        };
        let input = |number: Value<'c, 'a>| {
            let mut found = Vec::new();
            for outside in &outside {
                let mut elements = Vec::new();
                for neighbour in 0..neighbours {
                    elements.push(reducer.inputs(kernel, &place(number, neighbour, outside))?);
                }
                let mut elements = elements.into_iter();
                let first = elements.next().unwrap_or_default();
                found.extend(elements.try_fold(first, |sum, element| reducer.merge(kernel, &sum, &element))?);
            }
            Ok(found)
        };
        let inputs = |numbers: &[Value<'c, 'a>]| -> Result<'c, Vec<Vec<Scalar<'c, 'a>>>> {
            let places = numbers.iter().flat_map(|number| (0..neighbours).map(move |n| (*number, n)));
            for (number, neighbour) in places {
                for outside in &outside {
                    let index = place(number, neighbour, outside);
                    for operand in op.operands().take(width) {
                        kernel.prepare(operand, &index)?;
                    }
                }
            }
            numbers.iter().map(|number| input(*number)).collect()
        };
        let (from, to) = if plan.chunks == 1 {
            (code.index(0), code.index(length))
        } else {
            let from = code.mul(chunk, code.index(chunk_length));
            let to = code.add(from, code.index(chunk_length));
            (from, code.binary("arith.minui", to, code.index(length)))
        };
        let first = code.add(from, group.lane);
        let bounds = [first, to, group.threads];
        let is_first = (plan.chunks > 1).then(|| code.compare(Int::Eq, chunk, code.index(0)));
        let initial = vec![reducer.start(kernel)?; plan.beside as usize].concat();
        let sums = thread_sums(kernel, (initial, &merge_all), &group, is_first, bounds, together, &inputs)?;
        let live = code.binary("arith.minui", group.threads, code.sub(to, from));
        let sums = group.combine(kernel, sums, live, shared, &merge_all)?;
        group.leader(code, || {
            for (number, sums) in sums.chunks(width).enumerate() {
                let result = result(number as i64);
                if plan.chunks > 1 {
                    let place = code.add(code.mul(chunk, code.index(plan.results)), result);
                    for (number, (sum, ty)) in sums.iter().zip(reducer.accumulators(kernel)).enumerate() {
                        kernel.store(kernel.scratch_pointer(number), ty, place, *sum)?;
                    }
                } else {
                    store_results(kernel, op, result, &reducer.finish(kernel, sums)?)?;
                }
            }
            Ok(())
        })
    })
}

/// What the running thread comes to of the elements `[first, to, step]`: with the initial values in the first thread of
/// the first chunk, else with its first elements as start.
///
/// # Errors
/// What `merge` or `inputs` fails with.
pub fn thread_sums<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    (initial, merge): (Vec<Scalar<'c, 'a>>, &Merge<'_, 'c, 'a>),
    group: &Group<'c, 'a>,
    is_first_chunk: Option<Value<'c, 'a>>,
    [first, to, step]: [Value<'c, 'a>; 3],
    together: i64,
    inputs: &parts::Inputs<'_, 'c, 'a>,
) -> Result<'c, Vec<Scalar<'c, 'a>>> {
    let code = &kernel.code;
    let is_leader = (group.size != Size::Thread).then(|| code.compare(Int::Eq, group.lane, code.index(0)));
    let has_initial = super::window::both(code, is_first_chunk, is_leader);
    let (start, from) = match has_initial {
        None => (initial, first),
        Some(has_initial) => {
            let some = code.compare(Int::Ult, first, to);
            let other = code.binary("arith.xori", has_initial, code.integer(1, code.int(1)));
            let takes = code.binary("arith.andi", other, some);
            let carried = [initial, vec![Scalar::Real(first)]].concat();
            let mut start = only_if(kernel, Some(takes), carried, |_| {
                let elements = inputs(&[first])?.concat();
                Ok([elements, vec![Scalar::Real(code.add(first, step))]].concat())
            })?;
            let from = start.pop().map_or(first, Scalar::real);
            (start, from)
        }
    };
    parts::thread_loop(kernel, merge, start, [from, to, step], together, inputs)
}

/// Whether what is computed after the reduction is so element by element, in the same order of elements.
fn is_pointwise<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    let count = |value: Value<'c, 'a>| Tensor::new(value.r#type()).and_then(|tensor| tensor.element_count());
    let mut after: HashSet<usize> = op.results().map(|result| ir::key(result.into())).collect();
    let expected = op.results().next().and_then(|result| count(result.into()));
    let mut next = op.next_in_block();
    while let Some(current) = next {
        next = current.next_in_block();
        let uses: Vec<Value> =
            current.operands().filter(|operand| after.contains(&ir::key(*operand))).collect();
        let name = ffi::op_name(current);
        if name == "func.return" {
            return current.operands().all(|operand| count(operand) == expected);
        }
        if uses.is_empty() {
            continue;
        }
        let keeps_order = match name.strip_prefix("stablehlo.").unwrap_or(name) {
            "reshape" => true,
            "broadcast_in_dim" => {
                let dims = ir::i64_array(current, "broadcast_dimensions").unwrap_or_default();
                dims.is_sorted()
            }
            "transpose"
            | "reverse"
            | "slice"
            | "dynamic_slice"
            | "pad"
            | "concatenate"
            | "gather"
            | "reduce"
            | "reduce_window"
            | "dot"
            | "dot_general"
            | "convolution"
            | "dynamic_update_slice"
            | "broadcast" => false,
            _ => true,
        };
        let same_count = current.results().all(|result| count(result.into()) == expected);
        if !keeps_order || !same_count {
            return false;
        }
        after.extend(current.results().map(|result| ir::key(result.into())));
    }
    true
}
