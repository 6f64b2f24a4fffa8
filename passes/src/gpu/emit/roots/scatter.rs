// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Scatters: one thread per element of the updates, which are computed on the fly.
//!
//! Many updates of a small target go through copies of it (`private`).
//!
//! Updates of which several may meet in one place are atomic where memory has the op, else tried by compare-and-swap;
//! plain loads and stores do where the op says that indices are unique. Updates whose window would not lie in the operand
//! as a whole are skipped, as XLA skips them. Where the order of updates must not matter but would (several operands that
//! change together, numbers wider than 64 bits, the deterministic mode) a thread goes through all updates that could meet:
//! there are as many threads as the updates have places along dimensions that no index moves.
//!
//! Blocks take updates that follow each other, so that one thread that runs all blocks one after the other applies the
//! updates in row-major order.

use super::atomic::{self, Update};
use super::group::{Group, Size};
use super::private::Private;
use super::serial::{nest, operand_tensor};
use super::{Launch, Result, copy_operands, deterministic, in_place, result_buffers};
use crate::framework::PassError;
use crate::gpu::emit::code::{Code, Int, Scalar};
use crate::gpu::emit::element::{Kernel, count_of};
use crate::gpu::emit::numbers;

use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Value};
use slimhlo_dialect::ffi;
use slimhlo_dialect::quant::Number;
use slimhlo_dialect::stablehlo::attrs::ScatterDimensionNumbers;

/// Updates of a thread whose loads are in flight together, and the cost of one up to which they are.
const TOGETHER: i64 = 4;
const LIGHT: u64 = 200;
/// Bytes of the widest load, most updates whose indices are loaded by it, and threads that there should be in any case.
const WIDEST: i64 = 16;
const MOST_NEIGHBOURS: i64 = 8;
const FEW: i64 = 132 * 2048;

/// Where in the operand an update goes, and whether it does (`None`: always).
type Target<'c, 'a> = (Vec<Value<'c, 'a>>, Option<Value<'c, 'a>>);

/// What the dimensions of a scatter are.
struct Scatter<'c, 'a> {
    op: OperationRef<'c, 'a>,
    numbers: ScatterDimensionNumbers<'c>,
    operands: usize,
    block: BlockRef<'c, 'a>,
    shape: &'c [i64],
    updates: &'c [i64],
    indices_rank: usize,
    unique: bool,
}

impl<'c: 'a, 'a> Scatter<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>) -> Result<'c, Self> {
        let operands = op.result_count();
        let numbers = ffi::attribute_of(op, "scatter_dimension_numbers")
            .and_then(|numbers| ScatterDimensionNumbers::try_from(numbers).ok())
            .ok_or_else(|| PassError::at(op, "has no dimension numbers"))?;
        let block = op
            .region(0)
            .ok()
            .and_then(|region| region.first_block())
            .ok_or_else(|| PassError::at(op, "has no body"))?;
        let unique = ffi::attribute_of(op, "unique_indices")
            .and_then(|unique| melior::ir::attribute::BoolAttribute::try_from(unique).ok())
            .is_some_and(|unique| unique.value());
        Ok(Self {
            op,
            numbers,
            operands,
            block,
            shape: operand_tensor(op, 0)?.shape,
            updates: operand_tensor(op, operands + 1)?.shape,
            indices_rank: operand_tensor(op, operands)?.rank(),
            unique,
        })
    }

    /// The operand dimension that update window dimension number `place` runs along.
    fn window_dims(&self) -> Vec<usize> {
        let gone = |dim: i64| {
            self.numbers.inserted_window_dims().contains(&dim)
                || self.numbers.input_batching_dims().contains(&dim)
        };
        (0..self.shape.len() as i64).filter(|&dim| !gone(dim)).map(|dim| dim as usize).collect()
    }

    /// Update dimensions along which no two updates can meet: those of windows that no index moves, and of batches.
    fn apart(&self) -> Vec<usize> {
        let windows = self.window_dims();
        let moved = self.numbers.scatter_dims_to_operand_dims();
        let mut apart: Vec<usize> = self
            .numbers
            .update_window_dims()
            .iter()
            .zip(&windows)
            .filter(|(_, dim)| !moved.contains(&(**dim as i64)))
            .map(|(update, _)| *update as usize)
            .collect();
        let scatter = self.scatter_dims();
        for &dim in self.numbers.scatter_indices_batching_dims() {
            apart.push(scatter[self.place_of_indices_dim(dim)]);
        }
        apart.sort_unstable();
        apart
    }

    /// Update dimensions that are not a window's.
    fn scatter_dims(&self) -> Vec<usize> {
        let window = self.numbers.update_window_dims();
        (0..self.updates.len()).filter(|dim| !window.contains(&(*dim as i64))).collect()
    }

    /// Which of the update's scatter dimensions a dimension of the indices is.
    fn place_of_indices_dim(&self, dim: i64) -> usize {
        (if dim > self.numbers.index_vector_dim() { dim - 1 } else { dim }) as usize
    }

    /// Where in the operand an update goes, and whether its window lies in it.
    fn target(&self, kernel: &Kernel<'c, 'a>, update: &[Value<'c, 'a>]) -> Result<'c, Target<'c, 'a>> {
        let code = &kernel.code;
        let scatter = self.scatter_dims();
        let vector = self.numbers.index_vector_dim() as usize;
        let indices = self.op.operand(self.operands)?;
        let element = operand_tensor(self.op, self.operands)?.element;
        let mut target = vec![code.index(0); self.shape.len()];
        let mut window = vec![1; self.shape.len()];
        for (dim, update_dim) in self.window_dims().into_iter().zip(self.numbers.update_window_dims()) {
            target[dim] = update[*update_dim as usize];
            window[dim] = self.updates[*update_dim as usize];
        }
        let batches = self.numbers.input_batching_dims().iter();
        for (dim, indices_dim) in batches.zip(self.numbers.scatter_indices_batching_dims()) {
            target[*dim as usize] = update[scatter[self.place_of_indices_dim(*indices_dim)]];
        }
        let mut within = None;
        for (number, dim) in self.numbers.scatter_dims_to_operand_dims().iter().enumerate() {
            let dim = *dim as usize;
            let mut at: Vec<Value> = scatter.iter().map(|dim| update[*dim]).collect();
            if vector < self.indices_rank {
                at.insert(vector, code.index(number as i64));
            }
            let start = kernel.element(indices, &at)?.real();
            let (start, valid) =
                checked_index(code, start, Number::of(element), self.shape[dim] - window[dim]);
            target[dim] = code.add(target[dim], start);
            within = super::window::both(code, within, valid);
        }
        Ok((target, within))
    }

    /// How updates are applied, and whether a thread must go through all that could meet.
    fn updates_of(&self, deterministic: bool) -> Result<'c, (Vec<Update>, bool)> {
        let updates: Vec<Update> = (0..self.operands)
            .map(|operand| Ok(atomic::update_of(self.block, operand_tensor(self.op, operand)?.element)))
            .collect::<Result<_>>()?;
        if self.unique {
            return Ok((vec![Update::Alone; self.operands], false));
        }
        let ordered = match updates[..] {
            [Update::Native(kind)] => deterministic && kind == 11,
            [Update::Alone] => true,
            [_] => deterministic,
            _ => true,
        };
        Ok((if ordered { vec![Update::Alone; self.operands] } else { updates }, ordered))
    }

    /// How updates go through copies of the target, if they are better.
    fn private(&self, deterministic: bool) -> Result<'c, Option<Private<'c>>> {
        if self.unique || self.updates_of(deterministic)?.1 {
            return Ok(None);
        }
        let Some(body) = atomic::only_op(self.block) else { return Ok(None) };
        let element = operand_tensor(self.op, 0)?.element;
        // Updates of one window are in different places.
        let window = self.numbers.update_window_dims();
        let windows = (0..self.updates.len()).rev().take_while(|dim| window.contains(&(*dim as i64)));
        let apart = windows.map(|dim| self.updates[dim]).product();
        let counts = [count_of(self.shape), count_of(self.updates), apart];
        Ok(Private::plan(self.op, body, element, counts))
    }

    /// The updates' elements at an index.
    fn values(&self, kernel: &Kernel<'c, 'a>, at: &[Value<'c, 'a>]) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let updates = (0..self.operands).map(|operand| self.op.operand(self.operands + 1 + operand));
        updates.map(|update| kernel.element(update?, at)).collect()
    }

    /// What the indices and the update of a place cost.
    fn cost(&self, kernel: &Kernel<'c, 'a>) -> Result<'c, u64> {
        let updates = (0..self.operands).map(|operand| self.op.operand(self.operands + 1 + operand));
        updates
            .chain([self.op.operand(self.operands)])
            .try_fold(0_u64, |cost, value| Ok(cost.saturating_add(kernel.cost(value?))))
    }

    /// How many updates that follow each other a thread takes, so that what it loads of the indices is as wide as loads
    /// are: of single elements only, since threads that write rows are better next to each other.
    fn neighbours(&self, kernel: &Kernel<'c, 'a>) -> Result<'c, i64> {
        let indices = operand_tensor(self.op, self.operands)?;
        let last = (0..self.updates.len()).rev().find(|dim| self.updates[*dim] > 1).unwrap_or_default();
        let vector = self.numbers.index_vector_dim() as usize;
        let in_line = vector + 1 >= indices.rank();
        if self.numbers.update_window_dims().contains(&(last as i64)) || !in_line {
            return Ok(1);
        }
        let cost = self.cost(kernel)?;
        let bytes = numbers::storage_bytes(indices.element).unwrap_or(16) as i64;
        let mut neighbours = if cost <= LIGHT { (WIDEST / bytes).clamp(1, MOST_NEIGHBOURS) } else { 1 };
        while neighbours > 1 && count_of(self.updates) / neighbours < FEW {
            neighbours /= 2;
        }
        Ok(neighbours)
    }

    /// How many updates a thread takes a block's threads apart, whose loads are then in flight together: of rows, whose
    /// neighbours neighbouring threads write, if all that happens where they go is one op of memory.
    fn several(&self, kernel: &Kernel<'c, 'a>, updates: &[Update], neighbours: i64) -> Result<'c, i64> {
        let is_one_op = updates.iter().all(|update| matches!(update, Update::Native(_) | Update::Alone));
        let is_worth_it = neighbours == 1 && count_of(self.updates) / TOGETHER >= FEW;
        Ok(if is_one_op && is_worth_it && self.cost(kernel)? <= LIGHT { TOGETHER } else { 1 })
    }

    /// What the body makes of an old value and an update.
    fn body(
        &self,
        kernel: &Kernel<'c, 'a>,
        old: Scalar<'c, 'a>,
        new: Scalar<'c, 'a>,
    ) -> Result<'c, Scalar<'c, 'a>> {
        let result = kernel.call_region(self.block, &[old, new])?;
        result.first().copied().ok_or_else(|| PassError::at(self.op, "has a body without results"))
    }
}

/// An integer of the program as an index that should be in `0..=last`, and whether it is (`None`: always).
pub fn checked_index<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    value: Value<'c, 'a>,
    number: Number<'_>,
    last: i64,
) -> (Value<'c, 'a>, Option<Value<'c, 'a>>) {
    use melior::ir::ValueLike;
    let Number::Integer { width, unsigned } = number else { return (value, None) };
    let ty = value.r#type();
    // The greatest number that the type has.
    let greatest = match (width, unsigned) {
        (64, _) => i64::MAX,
        (_, true) => (1 << width) - 1,
        (_, false) => (1 << (width - 1)) - 1,
    };
    let valid = if last < 0 {
        Some(code.integer(0, code.int(1)))
    } else if last >= greatest && (width < 64 || !unsigned) {
        (!unsigned).then(|| code.compare(Int::Sge, value, code.integer(0, ty)))
    } else {
        // Negative numbers are large ones without a sign.
        Some(code.compare(Int::Ule, value, code.integer(last, ty)))
    };
    (code.resize(value, code.index_type(), !unsigned), valid)
}

/// The launches: first a copy of operands that are not updated in place, if there are such.
pub fn launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>, deterministic: bool) -> Result<'c, Vec<Launch<'c>>> {
    let scatter = Scatter::of(op)?;
    let mut launches = Vec::new();
    if !in_place(op) {
        launches.push(Launch::of_threads(scatter.shape.iter().product()));
    }
    launches.push(match scatter.private(deterministic)? {
        Some(private) => {
            let (ty, count) = private.shared();
            Launch::of_blocks(private.blocks).with(ty, count)
        }
        None => Launch::of_threads(count_of(scatter.updates)),
    });
    Ok(launches)
}

/// Writes one launch.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>, launch: usize) -> Result<'c, ()> {
    if launch == 0 && !in_place(op) { copy_operands(kernel, op) } else { update(kernel, op) }
}

fn update<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<'c, ()> {
    let scatter = Scatter::of(op)?;
    let (updates, ordered) = scatter.updates_of(deterministic(kernel))?;
    let pointers = result_buffers(kernel, op)?;
    if ordered {
        let apart = scatter.apart();
        let together: Vec<usize> = (0..scatter.updates.len()).filter(|dim| !apart.contains(dim)).collect();
        let sizes = |dims: &[usize]| -> Vec<i64> { dims.iter().map(|dim| scatter.updates[*dim]).collect() };
        let threads: i64 = sizes(&apart).iter().product();
        return Group::new(&kernel.code, Size::Thread).tasks(&kernel.code, threads, |thread| {
            let outside = kernel.indices(&sizes(&apart), thread);
            nest(kernel, &sizes(&together), vec![], &mut |inside, carried| {
                let mut at = vec![thread; scatter.updates.len()];
                for (dim, value) in apart.iter().zip(&outside).chain(together.iter().zip(inside)) {
                    at[*dim] = *value;
                }
                let target = scatter.target(kernel, &at)?;
                apply(kernel, &scatter, &updates, &pointers, &at, target, None)?;
                Ok(carried)
            })?;
            Ok(())
        });
    }
    let count = count_of(scatter.updates);
    let private = scatter.private(deterministic(kernel))?;
    if let (Some(private), [update], [pointer]) = (private, &updates[..], &pointers[..]) {
        private.begin(kernel)?;
        let value = op.operand(scatter.operands + 1)?;
        let cost = kernel.cost(value).saturating_add(kernel.cost(op.operand(scatter.operands)?));
        let several = if cost <= LIGHT { TOGETHER } else { 1 };
        in_order_by(kernel, count, 1, several, &|numbers| {
            let mut found = Vec::with_capacity(numbers.len());
            if numbers.len() > 1 {
                for &number in numbers {
                    kernel.prepare(value, &kernel.indices(scatter.updates, number))?;
                }
            }
            for &number in numbers {
                let at = kernel.indices(scatter.updates, number);
                let (target, within) = scatter.target(kernel, &at)?;
                found.push((
                    number,
                    kernel.linear(scatter.shape, &target),
                    within,
                    kernel.element(value, &at)?,
                ));
            }
            for (number, place, within, value) in found {
                let write = || private.update(kernel, op, number, place, value);
                match within {
                    Some(within) => kernel.code.if_then(within, write)?,
                    None => write()?,
                }
            }
            Ok(())
        })?;
        return private.end(kernel, op, *update, *pointer, &|old, new| scatter.body(kernel, old, new));
    }
    let neighbours = scatter.neighbours(kernel)?;
    let several = scatter.several(kernel, &updates, neighbours)?;
    in_order_by(kernel, count, neighbours, several, &|linear| {
        let mut found = Vec::with_capacity(linear.len());
        for &linear in linear {
            let at = kernel.indices(scatter.updates, linear);
            let target = scatter.target(kernel, &at)?;
            found.push((at, target));
        }
        // What several updates need is loaded before the first of them is applied.
        let mut values = vec![None; found.len()];
        if found.len() > 1 {
            for (at, _) in &found {
                for operand in 0..scatter.operands {
                    kernel.prepare(op.operand(scatter.operands + 1 + operand)?, at)?;
                }
            }
            for (value, (at, _)) in values.iter_mut().zip(&found) {
                *value = Some(scatter.values(kernel, at)?);
            }
        }
        for ((at, target), values) in found.into_iter().zip(values) {
            apply(kernel, &scatter, &updates, &pointers, &at, target, values)?;
        }
        Ok(())
    })
}

/// Hands `count` tasks to the threads so that blocks have tasks that follow each other, and so have threads of a block.
pub fn in_order<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    count: i64,
    body: impl Fn(Value<'c, 'a>) -> Result<'c, ()>,
) -> Result<'c, ()> {
    in_order_by(kernel, count, 1, 1, &|tasks| tasks.iter().try_for_each(|task| body(*task)))
}

/// Like [`in_order`], with several tasks of a thread at a time, as long as there are so many: runs of `neighbours`, and
/// `several` runs that are a block's threads apart.
fn in_order_by<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    count: i64,
    neighbours: i64,
    several: i64,
    body: &dyn Fn(&[Value<'c, 'a>]) -> Result<'c, ()>,
) -> Result<'c, ()> {
    let code = &kernel.code;
    let (thread, threads) = (code.gpu("gpu.thread_id"), code.gpu("gpu.block_dim"));
    let (block, blocks) = (code.gpu("gpu.block_id"), code.gpu("gpu.grid_dim"));
    let runs = count / neighbours;
    let run = |number: Value<'c, 'a>| -> Vec<Value<'c, 'a>> {
        let first = code.mul(number, code.index(neighbours));
        (0..neighbours).map(|place| code.add(first, code.index(place))).collect()
    };
    // Rounds of all threads, each of a block after the other.
    let all = code.mul(blocks, threads);
    let rounds = code.binary("arith.ceildivui", code.index(runs), all);
    let share = code.mul(rounds, threads);
    let from = code.mul(block, share);
    let to = code.binary("arith.minui", code.add(from, share), code.index(runs));
    let mut first = code.add(from, thread);
    if several > 1 {
        let beyond = code.mul(threads, code.index(several - 1));
        let step = code.mul(threads, code.index(several));
        let last = code.while_loop(
            &[first],
            |task| Ok(code.compare(Int::Slt, code.add(task[0], beyond), to)),
            |task| {
                let tasks: Vec<_> = (0..several)
                    .flat_map(|number| run(code.add(task[0], code.mul(threads, code.index(number)))))
                    .collect();
                body(&tasks)?;
                Ok(vec![code.add(task[0], step)])
            },
        )?;
        first = last[0];
    }
    code.for_loop(first, to, threads, &[], |number, _| {
        body(&run(number))?;
        Ok(vec![])
    })?;
    if runs * neighbours < count {
        // What makes up no run comes last, in the last block.
        let is_last = code.compare(Int::Eq, code.add(block, code.index(1)), blocks);
        code.if_then(is_last, || {
            let first = code.add(thread, code.index(runs * neighbours));
            code.for_loop(first, code.index(count), threads, &[], |task, _| {
                body(&[task])?;
                Ok(vec![])
            })?;
            Ok(())
        })?;
    }
    Ok(())
}

/// Applies the update at an index, with the values it has there unless they are still to be computed.
fn apply<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    scatter: &Scatter<'c, 'a>,
    updates: &[Update],
    pointers: &[Value<'c, 'a>],
    at: &[Value<'c, 'a>],
    (target, within): Target<'c, 'a>,
    values: Option<Vec<Scalar<'c, 'a>>>,
) -> Result<'c, ()> {
    let code = &kernel.code;
    let write = || {
        let linear = kernel.linear(scatter.shape, &target);
        let values = values.map_or_else(|| scatter.values(kernel, at), Ok)?;
        if let ([update], [pointer], [value]) = (updates, pointers, &values[..]) {
            let element = operand_tensor(scatter.op, 0)?.element;
            let body = |old: Scalar<'c, 'a>| scatter.body(kernel, old, *value);
            return atomic::apply(kernel, *update, element, *pointer, linear, *value, &body);
        }
        let mut elements = Vec::new();
        for operand in 0..scatter.operands {
            elements.push(operand_tensor(scatter.op, operand)?.element);
        }
        let mut arguments: Vec<Scalar> = pointers
            .iter()
            .zip(&elements)
            .map(|(pointer, element)| kernel.load(*pointer, *element, linear))
            .collect::<Result<_>>()?;
        arguments.extend(values);
        let results = kernel.call_region(scatter.block, &arguments)?;
        for ((pointer, element), result) in pointers.iter().zip(&elements).zip(results) {
            kernel.store(*pointer, *element, linear, result)?;
        }
        Ok(())
    };
    match within {
        Some(within) => code.if_then(within, write),
        None => write(),
    }
}
