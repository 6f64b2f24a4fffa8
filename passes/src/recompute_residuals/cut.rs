// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The fewest bytes that a loop has to store for another one to compute all it needs.
//!
//! Values of the body are nodes, and the bytes of a value are what it costs to cut it off from what needs it. What cannot be computed
//! again, or had better not be, is where flow begins; what the reader needs is where it ends: a minimum cut ([`crate::min_cut`]) is a cheapest
//! set of values to store.

use crate::ir;
use crate::ir::{bytes, plain};
use crate::min_cut::{ENDLESS, Network};
use crate::ops::class;
use crate::ops::products::is_product;
use crate::rematerialize::price::Prices;
use crate::rewrite::defining_op;
use crate::stacks::{Reader, Writer};
use crate::tables::{Keys, Table};
use crate::ties;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::op_name;

/// Nodes at most: a maximum flow is not linear.
const LARGEST: usize = 1 << 14;
/// How many times as large as what it is made of a product has to be for making it again to take no longer than storing it.
const GROWTH: i64 = 4;
/// Most multiplications per element of a product that is made again.
const DEEPEST: i64 = 128;

/// What to store.
pub struct Cut<'c, 'a> {
    /// Values of the body to be stored for the reader.
    pub stored: Vec<Value<'c, 'a>>,
    /// Bytes of them, per turn.
    pub bytes: u64,
    /// The ops to do again in the reader, each after those it needs.
    pub ops: Vec<OperationRef<'c, 'a>>,
}

/// Where the reader has a value of the writer's body from, if nothing is stored for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// A constant.
    Constant,
    /// From before both loops.
    Outside,
    /// What the writer carries as it is, by its number.
    HandedOn(usize),
    /// The number of the slot.
    Turn,
    /// A stack that there is in any case, by its number among the writer's.
    Stack(usize),
}

/// What may be done again beside what is computed on the fly.
#[derive(Clone, Copy)]
pub struct Again<'p> {
    /// Fourier transforms.
    pub transforms: bool,
    /// Products and convolutions whatever their size, for their prices, and how many times a byte may be moved for that.
    pub products: Option<(&'p Prices, u64)>,
    /// How many in a hundred of a reader's stacks may go.
    pub share: u64,
}

impl Again<'_> {
    /// What it costs to do an op again, in quarters of bytes; none if it is not to be.
    fn price(self, op: OperationRef<'_, '_>) -> Option<u64> {
        if is_cheap(op, self.transforms) {
            return Some(0);
        }
        let (prices, moves) = self.products.filter(|_| is_product(op) && !is_tied(op))?;
        Some(prices.cost(prices.of(op)?, moves))
    }
}

/// What is known of values of a writer's body.
pub struct Values<'w, 'c, 'a> {
    writer: &'w Writer<'c, 'a>,
    /// Stacks that stay, by their slots.
    kept: Table<usize, usize>,
    again: Again<'w>,
}

impl<'w, 'c: 'a, 'a> Values<'w, 'c, 'a> {
    /// For a reader: all that others need is stored anyway.
    pub fn new(writer: &'w Writer<'c, 'a>, reader: &Reader<'c, 'a>, again: Again<'w>) -> Self {
        let read: FxHashSet<usize> = reader.stacks.iter().map(|(stack, _)| *stack).collect();
        let kept = writer.stacks.iter().enumerate().filter(|(number, _)| !read.contains(number));
        let held = kept.flat_map(|(number, stack)| stack.held().map(move |value| (ir::key(value), number)));
        Self { writer, kept: held.collect(), again }
    }

    /// Where the reader has a value from.
    pub fn given(&self, value: Value<'c, 'a>) -> Option<Given> {
        if let Some(&stack) = self.kept.get(&ir::key(value)) {
            return Some(Given::Stack(stack));
        }
        if value == self.writer.turn {
            return Some(Given::Turn);
        }
        match defining_op(value) {
            Some(op) if op_name(op) == "stablehlo.constant" => Some(Given::Constant),
            Some(op) => (op.block() != Some(self.writer.body)).then_some(Given::Outside),
            None => match self.writer.carried(value) {
                Some((number, handed_on)) => handed_on.then_some(Given::HandedOn(number)),
                None => Some(Given::Outside),
            },
        }
    }

    /// The cheapest set of values to store for the slots that a reader needs.
    pub fn cut(&self, reader: &Reader<'c, 'a>) -> Option<Cut<'c, 'a>> {
        let needed: Vec<Value> =
            reader.stacks.iter().map(|(stack, _)| self.writer.stacks[*stack].slot).collect();
        let slots: Keys = needed.iter().map(|slot| ir::key(*slot)).collect();
        let going = needed.len() as u64 * self.again.share.min(100);
        let stays: Keys = needed[going.div_ceil(100) as usize..].iter().map(|slot| ir::key(*slot)).collect();
        let mut network = Network::default();
        let mut pending = Vec::new();
        let add = |network: &mut Network<'c, 'a>, pending: &mut Vec<_>, value: Value<'c, 'a>| {
            let price = || {
                // Where two cuts are of as many bytes, the one with fewer new stacks is cheaper.
                let new = u64::from(!slots.contains(&ir::key(value)));
                plain(value).map_or(ENDLESS, |_| bytes(value).cast_unsigned() * 4 + new)
            };
            if network.add(value, price) {
                pending.push(value);
            }
        };
        for slot in &needed {
            add(&mut network, &mut pending, *slot);
            network.need(*slot);
        }
        while let Some(value) = pending.pop() {
            if network.size() > LARGEST {
                return None;
            }
            if self.given(value).is_some() {
                continue;
            }
            let maker = defining_op(value).filter(|_| !stays.contains(&ir::key(value)));
            match maker.and_then(|op| Some((op, self.again.price(op)?))) {
                Some((op, price)) => {
                    if price > 0 {
                        network.price(value, price);
                    }
                    for operand in op.operands() {
                        add(&mut network, &mut pending, operand);
                        network.takes(value, operand);
                    }
                }
                None => network.price(value, ENDLESS),
            }
        }
        let stored = network.cut()?;
        let total = stored.iter().map(|value| bytes(*value).cast_unsigned()).sum();
        let ops = self.ops(&needed, &stored)?;
        Some(Cut { stored, bytes: total, ops })
    }

    /// The ops between what is stored or given and what is needed, in an order in which they can be done.
    fn ops(&self, needed: &[Value<'c, 'a>], stored: &[Value<'c, 'a>]) -> Option<Vec<OperationRef<'c, 'a>>> {
        let mut done: Keys = stored.iter().map(|value| ir::key(*value)).collect();
        let mut ops = Vec::new();
        // Twice each: first what it needs, then itself.
        let mut pending: Vec<(Value, bool)> = needed.iter().rev().map(|value| (*value, false)).collect();
        while let Some((value, ready)) = pending.pop() {
            if ready {
                ops.push(defining_op(value)?);
                continue;
            }
            if self.given(value).is_some() || !done.insert(ir::key(value)) {
                continue;
            }
            pending.push((value, true));
            pending.extend(defining_op(value)?.operands().map(|operand| (operand, false)));
        }
        Some(ops)
    }
}

/// Whether an op may be done again: back ends compute it on the fly, or it makes much out of little.
fn is_cheap(op: OperationRef<'_, '_>, transforms: bool) -> bool {
    if op.result_count() != 1 || op.region_count() > 0 {
        return false;
    }
    match op_name(op) {
        "stablehlo.concatenate" => true,
        "stablehlo.fft" => transforms,
        // What is compared with itself has to have the same bits wherever it is.
        "stablehlo.dot_general" => is_growing(op) && !is_tied(op),
        name => class::is_fusible(name),
    }
}

/// Whether what an op makes is compared with itself.
fn is_tied(op: OperationRef<'_, '_>) -> bool {
    op.results().any(|result| ties::is_compared_with_itself(result.into()))
}

/// Whether a product is much larger than its operands, as scores of queries and keys are, and of few multiplications per element.
fn is_growing(op: OperationRef<'_, '_>) -> bool {
    let made: i64 = op.results().map(|result| bytes(result.into())).sum();
    let read: i64 = op.operands().map(bytes).sum();
    let depth = || {
        let numbers = crate::ops::products::dot_numbers(op)?;
        let left = plain(ir::operand(op, 0)?)?;
        let sizes = numbers.lhs_contracting_dimensions().iter().map(|&dim| left.shape[dim as usize]);
        Some(sizes.product::<i64>())
    };
    made >= read.saturating_mul(GROWTH) && depth().is_some_and(|depth| depth <= DEEPEST)
}
