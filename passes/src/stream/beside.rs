// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a loop computes from a value it would otherwise have to be given whole, or to store for several readers.
//!
//! * A value that is only gathered from, and is some cheap arithmetic of one stored value and of scalars, need not be there: rows are
//!   gathered of what it is computed from, and the arithmetic is done for each chunk of rows ([`Sunk`]). Gathers take
//!   elements as they are, so each element meets the same ops. Nothing is saved where the arithmetic could have been done in
//!   place, and nothing is lost; after a loop, back ends do not do it in place.
//! * A chunk of cheap arithmetic that expands what it is computed from and that several reductions read is computed
//!   for each of them ([`Readers`]): a back end fuses it with a reduction that is its only reader, and stores it
//!   for two. A barrier keeps the second copy from being merged with the first.

use super::consumer::{Consumer, Role};
use super::outside::is_small_reduction;
use super::plan::Plan;
use crate::ir::{self, bytes};
use crate::ops::access::Source;
use crate::ops::class::{self, is_costly};
use crate::rewrite::{defining_op, users};
use crate::tables::{Bits, Keys, Table};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::op_name;

/// Ops in a row that are done after a gather instead of before.
const MOST_SUNK: usize = 16;
/// How many times larger than the chunks it is computed from a value has to be to be computed for each reader.
const EXPANDS: i64 = 4;

/// A value that is gathered from, as elementwise ops on another one.
pub struct Sunk<'c, 'a> {
    /// The value.
    pub value: Value<'c, 'a>,
    /// What it is computed from.
    pub from: Value<'c, 'a>,
    /// The ops, in order. Each has one operand of the value's shape that is no splat, maybe twice.
    pub ops: Vec<OperationRef<'c, 'a>>,
    /// Scalars that they take.
    pub scalars: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Sunk<'c, 'a> {
    /// Those of the values a plan needs whole; `dying` are the ops that are left to the loop.
    pub fn all(plan: &Plan<'c, 'a>, dying: &Keys) -> Vec<Self> {
        let planned: Keys = plan
            .chunks
            .iter()
            .filter(|chunk| chunk.source.is_op() && chunk.name == "stablehlo.gather")
            .filter_map(|chunk| chunk.op.map(ir::op_key))
            .filter(|op| dying.contains(op))
            .collect();
        let only_gathered = |value: Value<'c, 'a>| {
            users(value).all(|user| {
                planned.contains(&ir::op_key(user))
                    && user.operands().enumerate().all(|(index, operand)| (operand == value) == (index == 0))
            })
        };
        plan.wholes
            .iter()
            .filter(|whole| only_gathered(**whole))
            .filter_map(|whole| Self::of(*whole))
            .collect()
    }

    fn of(value: Value<'c, 'a>) -> Option<Self> {
        let mut sunk = Self { value, from: value, ops: Vec::new(), scalars: Vec::new() };
        while let Some(op) = defining_op(sunk.from).filter(|op| class::is_fusible(op_name(*op))) {
            // What else uses it would have to be computed from it in its turn.
            let mut readers = users(sunk.from);
            let alone = sunk.from == value || readers.next().is_some() && readers.next().is_none();
            if !alone || !class::is_elementwise(op_name(op)) || is_costly(op_name(op)) {
                return None;
            }
            sunk.from = sunk.enter(op)?;
            sunk.ops.push(op);
            if sunk.ops.len() > MOST_SUNK {
                return None;
            }
        }
        sunk.ops.reverse();
        let moved = !sunk.ops.is_empty() && bytes(sunk.from) <= bytes(value);
        (moved && !ir::is_narrow(sunk.from)).then_some(sunk)
    }

    /// The only operand of an elementwise op that is no splat.
    fn enter(&mut self, op: OperationRef<'c, 'a>) -> Option<Value<'c, 'a>> {
        let shape = ir::plain(op.result(0).ok()?.into())?.shape;
        if op.result_count() != 1 || op.region_count() > 0 || !ir::discardable_attributes(op).is_empty() {
            return None;
        }
        let mut from = None;
        for operand in op.operands() {
            let tensor = ir::plain(operand)?;
            if ir::splat_constant(operand).is_some() {
                continue;
            }
            if let Some(scalar) = repeated(operand) {
                self.scalars.push(scalar);
            } else if tensor.shape != shape || from.is_some_and(|from| from != operand) {
                return None;
            } else {
                from = Some(operand);
            }
        }
        from
    }
}

/// The scalar that all elements of a value are, if it is no constant.
pub fn repeated<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<Value<'c, 'a>> {
    if ir::is_rank_zero(value) {
        return Some(value);
    }
    let op = defining_op(value).filter(|op| op_name(*op) == "stablehlo.broadcast_in_dim")?;
    ir::operand(op, 0).filter(|operand| ir::is_rank_zero(*operand))
}

/// Which reductions of a loop's body compute some of what they read for themselves. They are numbered by their chunk, and
/// consumers after all chunks.
#[derive(Default)]
pub struct Readers {
    /// What each of them computes, in order.
    copied: Table<usize, Vec<usize>>,
    /// Of the other chunks that only one of them reads, which.
    only: Vec<Option<usize>>,
    /// All reductions in the body.
    reductions: Vec<usize>,
}

impl Readers {
    /// All but the first reduction to read it compute again what is cheap.
    pub fn of<'c: 'a, 'a>(plan: &Plan<'c, 'a>, consumers: &[Consumer<'c, 'a>]) -> Self {
        let count = plan.chunks.len();
        let (kernels, stored, reductions) = kernels(plan, consumers);
        // Bytes of what is sliced, and whether nothing but cheap arithmetic is done on it.
        let mut sliced = vec![0i64; count];
        let mut cheap = vec![true; count];
        for at in 0..count {
            let chunk = &plan.chunks[at];
            match chunk.source {
                Source::Slice => sliced[at] = chunk.size,
                Source::Splat | Source::Iota => {}
                Source::Op(_) => {
                    cheap[at] = class::is_fusible(chunk.name) && !is_costly(chunk.name);
                    for from in plan.operands(at) {
                        cheap[at] &= cheap[from];
                        sliced[at] = sliced[at].saturating_add(sliced[from]);
                    }
                }
                Source::Pad(_) => cheap[at] = false,
            }
        }
        let again = |at: usize| {
            let chunk = &plan.chunks[at];
            matches!(chunk.source, Source::Op(_))
                && kernels[at].len() > 1
                && !stored[at]
                && cheap[at]
                && sliced[at].saturating_mul(EXPANDS) <= chunk.size
        };
        let shared: Vec<usize> = (0..count).filter(|&at| again(at)).collect();
        // What is only repeated is not stored because of them.
        if shared.iter().all(|&at| plan.chunks[at].kind.free) {
            return Self::default();
        }
        let reads = |reader: usize, at: usize| kernels[at].contains(reader);
        let mut copied: Table<usize, Vec<usize>> = Table::default();
        for &reader in &reductions {
            // The first to read one of them reads the one that all others see.
            let late = |at: usize| reductions.iter().any(|&other| other < reader && reads(other, at));
            let own: Vec<usize> =
                shared.iter().copied().filter(|&at| reads(reader, at) && late(at)).collect();
            if !own.is_empty() {
                copied.insert(reader, own);
            }
        }
        let only = (0..count)
            .map(|at| {
                let reader = if reductions.contains(&at) {
                    Some(at)
                } else {
                    kernels[at].iter().next().filter(|_| kernels[at].len() == 1 && !shared.contains(&at))
                };
                reader.filter(|reader| copied.contains_key(reader))
            })
            .collect();
        Self { copied, only, reductions }
    }

    /// What a reader computes for itself.
    pub fn copies(&self, reader: usize) -> &[usize] {
        self.copied.get(&reader).map_or(&[], Vec::as_slice)
    }

    /// Whether one of some chunks is among them.
    pub fn any_copied(&self, reader: usize, mut chunks: impl Iterator<Item = usize>) -> bool {
        let copied = self.copies(reader);
        !copied.is_empty() && chunks.any(|at| copied.contains(&at))
    }

    /// The reader that a chunk is for.
    pub fn of_chunk(&self, at: usize) -> Option<usize> {
        self.only.get(at).copied().flatten()
    }

    /// The last reduction before a chunk.
    pub fn before(&self, at: usize) -> Option<usize> {
        self.reductions.iter().copied().rfind(|&reduction| reduction < at)
    }
}

/// For each chunk the kernels that read it on the fly, whether one of them reads memory, and which kernels are reductions.
fn kernels<'c: 'a, 'a>(
    plan: &Plan<'c, 'a>,
    consumers: &[Consumer<'c, 'a>],
) -> (Vec<Bits>, Vec<bool>, Vec<usize>) {
    let count = plan.chunks.len();
    let mut kernels: Vec<Bits> = vec![Bits::default(); count];
    let mut stored = vec![false; count];
    let mut reductions: Vec<usize> = Vec::new();
    for (number, consumer) in consumers.iter().enumerate() {
        let reduces = matches!(consumer.role, Role::Reduce { .. });
        if reduces {
            reductions.push(count + number);
        }
        for (value, dim) in consumer.inputs() {
            if let Some(at) = plan.position_of_all(value, dim) {
                stored[at] |= !reduces;
                kernels[at].insert(count + number);
            }
        }
    }
    for at in (0..count).rev().filter(|&at| plan.chunks[at].source.is_op()) {
        let chunk = &plan.chunks[at];
        let kernel = !class::is_fusible(chunk.name) && !chunk.op.is_some_and(is_small_reduction);
        let reduces = chunk.name == "stablehlo.reduce";
        if kernel && reduces {
            reductions.push(at);
        }
        for from in plan.operands(at) {
            if kernel {
                stored[from] |= !reduces;
                kernels[from].insert(at);
            } else {
                let inherited = kernels[at].clone();
                kernels[from].extend(&inherited);
                stored[from] |= stored[at];
            }
        }
    }
    reductions.sort_unstable();
    (kernels, stored, reductions)
}
