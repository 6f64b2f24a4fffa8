// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Kernels that compute each element for itself: "map" kernels, all elements of their results; "update" kernels, those of a
//! slice that is written into a buffer in place.
//!
//! A thread takes several elements at once, computes all and then writes all, so that its loads are in flight together:
//! neighbours where they make up 16 bytes, which become one load and one store; else elements a whole grid apart. What is
//! read transposed goes by tiles (`tile`).

use super::code::Scalar;
use super::cost::LIGHT;
use super::element::{BLOCK, GRID, Kernel, count_of, tensor};
use super::{numbers, shape, tile};
use crate::framework::PassError;
use crate::ir;
use crate::rewrite::defining_op;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use std::collections::HashSet;

/// Bytes of the widest load and store.
const WIDEST: i64 = 16;
/// Elements of a thread where they are no neighbours.
const APART: i64 = 4;
/// Threads below which elements are better spread over more of them.
const FEW: i64 = BLOCK * GRID / 4;
/// How the elements of a kernel are dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share {
    /// Neighbouring elements of a thread; they divide `count` unless `any_count`.
    neighbours: i64,
    /// How many such runs it takes at a time.
    apart: i64,
}

impl Share {
    /// For `count` elements of `bytes` bytes whose innermost dimensions are multiples of `innermost`.
    fn new(count: i64, bytes: i64, innermost: i64, cost: u64) -> Self {
        let mut neighbours = (WIDEST / bytes.max(1)).clamp(1, 1 << innermost.trailing_zeros().min(4));
        while neighbours > 1 && count / neighbours < FEW {
            neighbours /= 2;
        }
        if cost > LIGHT {
            return Self { neighbours: 1, apart: 1 };
        }
        while neighbours > 1 && cost.saturating_mul(neighbours as u64) > LIGHT {
            neighbours /= 2;
        }
        let mut apart = (APART * 4 / bytes.max(4) / neighbours).clamp(1, APART);
        while apart > 1
            && (count / neighbours / apart < FEW || cost.saturating_mul((neighbours * apart) as u64) > LIGHT)
        {
            apart /= 2;
        }
        Self { neighbours, apart }
    }
}

/// Lets `body` take the row-major positions of all of `count` elements, several at a time.
fn deal<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    count: i64,
    share: Share,
    body: &dyn Fn(&[Value<'c, 'a>]) -> Result<(), PassError<'c>>,
) -> Result<(), PassError<'c>> {
    let code = &kernel.code;
    let Share { neighbours, apart } = share;
    let runs = count / neighbours;
    kernel.launch_for((runs / apart).max(count % neighbours).max(1));
    if count == 0 {
        return Ok(());
    }
    let (thread, threads) = (kernel.thread(), kernel.threads());
    let positions = |run: Value<'c, 'a>| -> Vec<Value<'c, 'a>> {
        let first = code.mul(run, code.index(neighbours));
        (0..neighbours).map(|place| code.add(first, code.index(place))).collect()
    };
    let mut first = thread;
    if apart > 1 {
        let beyond = code.mul(threads, code.index(apart - 1));
        let step = code.mul(threads, code.index(apart));
        let last = code.while_loop(
            &[thread],
            |run| Ok(code.compare(super::code::Int::Slt, code.add(run[0], beyond), code.index(runs))),
            |run| {
                let taken: Vec<_> = (0..apart)
                    .flat_map(|number| positions(code.add(run[0], code.mul(threads, code.index(number)))))
                    .collect();
                body(&taken)?;
                Ok(vec![code.add(run[0], step)])
            },
        )?;
        first = last[0];
    }
    if runs > 0 {
        code.for_loop(first, code.index(runs), threads, &[], |run, _| {
            body(&positions(run))?;
            Ok(vec![])
        })?;
    }
    if runs * neighbours < count {
        let from = code.add(thread, code.index(runs * neighbours));
        code.for_loop(from, code.index(count), threads, &[], |at, _| {
            body(&[at])?;
            Ok(vec![])
        })?;
    }
    Ok(())
}

/// How many buffers a value is computed from whose neighbours are neighbours of the value's own, in runs of `run` elements
/// that are aligned so; and how many others.
fn reads<'c: 'a, 'a>(values: &[Value<'c, 'a>], run: i64) -> (usize, usize) {
    let mut pending: Vec<(Value<'c, 'a>, bool)> = values.iter().map(|value| (*value, true)).collect();
    let mut seen = HashSet::new();
    let (mut straight, mut others) = (0, 0);
    while let Some((value, in_line)) = pending.pop() {
        let shape = ffi::shape(value.r#type()).unwrap_or(&[]);
        if count_of(shape) <= 1 || !seen.insert((ir::key(value), in_line)) {
            continue;
        }
        match defining_op(value) {
            Some(op) => pending.extend(op.operands().enumerate().filter_map(|(number, operand)| {
                Some((operand, in_line && stays_in_line(op, number, shape, run)?))
            })),
            None if in_line => straight += 1,
            None => others += 1,
        }
    }
    (straight, others)
}

/// Whether neighbours among an op's results come of neighbours of its operand; `None` if of one and the same element.
fn stays_in_line<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    number: usize,
    shape: &[i64],
    run: i64,
) -> Option<bool> {
    let operand = op.operands().nth(number).and_then(|operand| ffi::shape(operand.r#type())).unwrap_or(&[]);
    let array = |name: &str| ir::i64_array(op, name).unwrap_or_default();
    let last = |numbers: &[i64]| numbers.last().copied().unwrap_or(0);
    let aligned = last(operand) % run == 0;
    Some(match op_name(op) {
        "stablehlo.broadcast_in_dim" => {
            let dims = array("broadcast_dimensions");
            if last(dims) + 1 != shape.len() as i64 || last(operand) != last(shape) {
                return None;
            }
            dims.is_sorted()
        }
        "stablehlo.slice" => {
            last(array("strides")) == 1 && last(array("start_indices")) % run == 0 && aligned
        }
        "stablehlo.pad" => {
            last(array("edge_padding_low")) % run == 0 && last(array("interior_padding")) == 0 && aligned
        }
        // Runs that begin at a multiple of their length end within the same operand if all have whole runs.
        "stablehlo.concatenate" => op
            .operands()
            .all(|operand| ffi::shape(operand.r#type()).is_some_and(|operand| last(operand) % run == 0)),
        "stablehlo.dynamic_slice" | "stablehlo.dynamic_update_slice" => {
            number < 2 && last(operand) == last(shape) && aligned
        }
        "stablehlo.transpose" => last(array("permutation")) + 1 == shape.len() as i64 && aligned,
        "stablehlo.gather" => {
            // Rows that are taken whole.
            number == 0
                && last(array("slice_sizes")) == last(shape)
                && last(operand) == last(shape)
                && aligned
        }
        _ => {
            !shape::handles(op)
                || matches!(op_name(op), "stablehlo.reshape" | "stablehlo.optimization_barrier")
        }
    })
}

/// Whether elements are computed from those at the same position alone, so that shapes do not matter.
fn is_flat<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>) -> bool {
    let mut op = kernel.block().ok().and_then(|block| block.first_operation());
    while let Some(current) = op {
        let splat = || {
            ffi::attribute_of(current, "value")
                .and_then(slimhlo_dialect::dense::Dense::new)
                .is_some_and(|dense| dense.is_splat())
        };
        let from_scalar = || {
            current
                .operands()
                .next()
                .and_then(|operand| ffi::shape(operand.r#type()))
                .is_some_and(|shape| count_of(shape) == 1)
        };
        let flat = match op_name(current) {
            "func.return" | "stablehlo.reshape" | "stablehlo.optimization_barrier" => true,
            "stablehlo.constant" => splat(),
            "stablehlo.broadcast_in_dim" => from_scalar(),
            _ => !shape::handles(current),
        };
        if !flat {
            return false;
        }
        op = current.next_in_block();
    }
    true
}

/// Writes a "map" kernel.
pub fn emit_map<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>) -> Result<(), PassError<'c>> {
    let results = kernel.returned();
    let Some(&first) = results.first() else { return Ok(()) };
    let count = count_of(tensor(first)?.shape);
    let (mut bytes, mut innermost, mut cost) = (1, 0, 0_u64);
    let flat = is_flat(kernel);
    for &result in results {
        let ty = tensor(result)?;
        if count_of(ty.shape) != count {
            return Err(PassError::at(kernel.function, "has results of different numbers of elements"));
        }
        bytes = bytes.max(numbers::storage_bytes(ty.element).unwrap_or(16) as i64);
        innermost = if flat { 0 } else { innermost | innermost_of(ty.shape) };
        cost = cost.saturating_add(kernel.cost(result));
    }
    if let Some(tiling) = tile::plan(kernel)? {
        return tile::emit(kernel, &tiling);
    }
    let mut share = Share::new(count, bytes, innermost, cost);
    if share.neighbours > 1 {
        // Several narrow loads of neighbours, each of lines that the next takes again, are worse than narrow stores.
        let (straight, others) = reads(results, share.neighbours);
        if others > straight {
            share = Share::new(count, bytes, 1, cost);
        }
    }
    deal(kernel, count, share, &|positions| {
        let mut elements = Vec::with_capacity(results.len());
        if positions.len() > 1 {
            for &position in positions {
                for &result in results {
                    kernel.prepare(result, &kernel.indices(tensor(result)?.shape, position))?;
                }
            }
        }
        for &position in positions {
            let mut row: Vec<Scalar<'c, 'a>> = Vec::with_capacity(results.len());
            for &result in results {
                let index = kernel.indices(tensor(result)?.shape, position);
                row.push(kernel.element(result, &index)?);
            }
            elements.push(row);
        }
        for (number, &result) in results.iter().enumerate() {
            let element = tensor(result)?.element;
            for (&position, row) in positions.iter().zip(&elements) {
                kernel.store(kernel.result_pointer(number), element, position, row[number])?;
            }
        }
        Ok(())
    })
}

/// Size of the last dimension that has more than one element; 0 where there is none.
fn innermost_of(shape: &[i64]) -> i64 {
    shape.iter().rev().find(|size| **size != 1).copied().unwrap_or(0)
}

/// Writes an "update" kernel: each result is a `dynamic_update_slice` into a buffer that it shares with an argument.
pub fn emit_update<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>) -> Result<(), PassError<'c>> {
    let results = kernel.returned();
    let in_place = ir::i64_array(kernel.function, "slimhlo.in_place").unwrap_or_default();
    let [result] = results else {
        return Err(PassError::at(kernel.function, "is an update with other than one result"));
    };
    let op = defining_op(*result).filter(|op| op_name(*op) == "stablehlo.dynamic_update_slice");
    let op = op.ok_or_else(|| PassError::at(kernel.function, "is an update that does not return one"))?;
    let (target, update) = (op.operand(0)?, op.operand(1)?);
    let shares = usize::try_from(in_place.first().copied().unwrap_or(-1)).ok();
    if shares.is_none() || ffi::as_block_argument(target).map(|argument| argument.argument_number()) != shares
    {
        return Err(PassError::at(
            op,
            "is not in place: its operand has to be the argument that the result shares a buffer with",
        ));
    }
    let (whole, part) = (tensor(target)?, tensor(update)?);
    let count = count_of(part.shape);
    let bytes = numbers::storage_bytes(whole.element).unwrap_or(16) as i64;
    let starts = shape::starts(kernel, op, 2, whole.shape, part.shape)?;
    let mut innermost = innermost_of(part.shape) | whole.shape.last().copied().unwrap_or(0);
    if let Some(start) = starts.last() {
        innermost |= kernel.code.multiple(*start);
    }
    let share = Share::new(count, bytes, innermost, kernel.cost(update));
    deal(kernel, count, share, &|positions| {
        let mut elements = Vec::with_capacity(positions.len());
        if positions.len() > 1 {
            for &position in positions {
                kernel.prepare(update, &kernel.indices(part.shape, position))?;
            }
        }
        for &position in positions {
            let index = kernel.indices(part.shape, position);
            let element = kernel.element(update, &index)?;
            let at: Vec<_> =
                index.iter().zip(&starts).map(|(&at, &start)| kernel.code.add(start, at)).collect();
            elements.push((kernel.linear(whole.shape, &at), element));
        }
        for (position, element) in elements {
            kernel.store(kernel.result_pointer(0), whole.element, position, element)?;
        }
        Ok(())
    })
}
