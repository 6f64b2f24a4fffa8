// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Loops that store something in each turn, and loops that read it.
//!
//! What a forward loop stores for the backward one is an array with a slot for each turn, a stack: `lax.scan` hands its outputs on like that, and
//! gradients of loops their residuals.

use crate::counted::{Counter, blocks};
use crate::ir::{self, Builder, plain};
use crate::rewrite::{defining_op, users, uses};
use crate::tables::Table;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, Location, OperationRef, Type, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// An array with a slot for each turn of the loop that carries it, which that turn fills.
#[derive(Clone, Copy)]
pub struct Stack<'c, 'a> {
    /// Which of the values that the loop carries.
    pub number: usize,
    /// What is stored: the array's shape with one slot.
    pub slot: Value<'c, 'a>,
}

/// A loop that stores.
pub struct Writer<'c, 'a> {
    /// The `while`.
    pub op: OperationRef<'c, 'a>,
    /// Its body.
    pub body: BlockRef<'c, 'a>,
    /// How many turns it has, which is how many slots its stacks have.
    pub turns: i64,
    /// How it counts them.
    pub counter: Counter,
    /// The slot that a turn fills, a scalar of the body.
    pub turn: Value<'c, 'a>,
    /// In which order turns fill slots.
    pub order: Order,
    /// What it stores there, in the order that it carries it.
    pub stacks: Vec<Stack<'c, 'a>>,
    /// Numbers of what its body carries, and whether that is handed on from turn to turn as it is.
    carried: Table<usize, (usize, bool)>,
}

/// What a loop reads of another's stacks.
pub struct Reader<'c, 'a> {
    /// The `while`, in the block of the loop that stores.
    pub op: OperationRef<'c, 'a>,
    /// Its body.
    pub body: BlockRef<'c, 'a>,
    /// The slot that a turn reads, a scalar of the body.
    pub turn: Value<'c, 'a>,
    /// The stacks that it reads slot by slot and nothing else does anything with, as numbers among those of the loop that stores, with
    /// the number that each has among what the reader carries.
    pub stacks: Vec<(usize, usize)>,
}

impl<'c: 'a, 'a> Writer<'c, 'a> {
    /// What the loop `op` stores; `None` if nothing, or if it does not count its turns.
    pub fn of(op: OperationRef<'c, 'a>) -> Option<Self> {
        let counter = Counter::of(op)?;
        let (condition, body) = blocks(op)?;
        let turns = counter.turns();
        let end = body.terminator()?;
        let mut stacks = Vec::new();
        let mut carried = Table::default();
        let mut turn: Option<(Value, Order)> = None;
        for number in 0..op.operand_count() {
            let argument: Value = body.argument(number).ok()?.into();
            carried.insert(ir::key(argument), (number, end.operand(number) == Ok(argument)));
            let Some(update) = slot_update(argument, ir::operand(end, number)?) else { continue };
            let at: Value = ir::operand(update, 2)?;
            let tensor = plain(argument)?;
            let asked = uses(condition.argument(number).ok()?.into()).next().is_some();
            if asked || tensor.shape[0] != turns || turn.is_some_and(|(turn, _)| turn != at) {
                continue;
            }
            let known = turn.or_else(|| Some((at, order(&counter, body, at)?)));
            let Some(known) = known else { continue };
            turn = Some(known);
            stacks.push(Stack { number, slot: ir::operand(update, 1)? });
        }
        let (turn, order) = turn?;
        Some(Self { op, body, turns, counter, turn, order, stacks, carried })
    }

    /// Number of a value of the body among what the loop carries, and whether it hands that on from turn to turn as it is.
    pub fn carried(&self, value: Value<'c, 'a>) -> Option<(usize, bool)> {
        self.carried.get(&ir::key(value)).copied()
    }

    /// The loops that read its stacks, in the order in which they are first met.
    pub fn readers(&self) -> Vec<Reader<'c, 'a>> {
        let mut readers: Vec<Reader<'c, 'a>> = Vec::new();
        let mut by_op: FxHashMap<usize, usize> = FxHashMap::default();
        for (index, stack) in self.stacks.iter().enumerate() {
            let Some((op, body, turn, carried)) = self.reader_of(stack) else { continue };
            let reader = *by_op.entry(ir::op_key(op)).or_insert_with(|| {
                readers.push(Reader { op, body, turn, stacks: Vec::new() });
                readers.len() - 1
            });
            if readers[reader].turn == turn {
                readers[reader].stacks.push((index, carried));
            }
        }
        readers
    }

    /// The one loop that uses a stack, its body, the slot that each turn reads, and the stack's number there.
    fn reader_of(
        &self,
        stack: &Stack<'c, 'a>,
    ) -> Option<(OperationRef<'c, 'a>, BlockRef<'c, 'a>, Value<'c, 'a>, usize)> {
        let result: Value = self.op.result(stack.number).ok()?.into();
        let mut used = uses(result);
        let only = used.next()?;
        let op = only.user;
        if used.next().is_some() || op.block() != self.op.block() {
            return None;
        }
        let (condition, body) = blocks(op)?;
        let argument: Value = body.argument(only.operand).ok()?.into();
        let unread = |value: Value<'c, 'a>| uses(value).next().is_none();
        let end = body.terminator()?;
        if end.operand(only.operand) != Ok(argument)
            || !unread(op.result(only.operand).ok()?.into())
            || !unread(condition.argument(only.operand).ok()?.into())
        {
            return None;
        }
        let mut turn = None;
        for used in uses(argument) {
            if used.user == end && used.operand == only.operand {
                continue;
            }
            let at = slot_read(used.user, body).filter(|_| used.operand == 0)?;
            if turn.is_some_and(|turn| turn != at) {
                return None;
            }
            turn = Some(at);
        }
        // What is done with the number of the turn is done with numbers of that type.
        let turn = turn.filter(|turn| turn.r#type() == self.turn.r#type())?;
        Some((op, body, turn, only.operand))
    }
}

impl<'c: 'a, 'a> Reader<'c, 'a> {
    /// The slices that read a stack, given by its number among what the reader carries.
    pub fn slices(&self, carried: usize) -> Vec<OperationRef<'c, 'a>> {
        let argument = self.body.argument(carried).expect("readers carry their stacks");
        users(argument.into()).filter(|user| op_name(*user) == "stablehlo.dynamic_slice").collect()
    }
}

impl<'c: 'a, 'a> Stack<'c, 'a> {
    /// The values that a slot holds: what is stored, and that without the dimension of slots.
    pub fn held(&self) -> impl Iterator<Item = Value<'c, 'a>> {
        let inner = || {
            let op = defining_op(self.slot)?;
            let same = matches!(op_name(op), "stablehlo.reshape" | "stablehlo.broadcast_in_dim");
            let value: Value = ir::operand(op, 0).filter(|_| same && op.operand_count() == 1)?;
            let (slot, tensor) = (plain(self.slot)?, plain(value)?);
            (slot.shape[1..] == *tensor.shape && is_in_order(op)).then_some(value)
        };
        std::iter::once(self.slot).chain(inner())
    }
}

/// The type of a stack of so many values.
///
/// # Panics
/// If they are no plain tensors.
pub fn of<'c>(slots: i64, value: Value<'c, '_>) -> Type<'c> {
    let tensor = plain(value).expect("what is stored is a plain tensor");
    Tensor::get(&[&[slots], tensor.shape].concat(), tensor.element, None)
}

/// A stack with a value in one of its slots.
pub fn put<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    stack: Value<'c, 'a>,
    value: Value<'c, 'a>,
    slot: Value<'c, 'a>,
    location: Location<'c>,
) -> Value<'c, 'a> {
    let one = build.reshape(value, of(1, value), location);
    build.dynamic_update_slice(stack, one, &start(build, stack, slot, location), location)
}

/// What a stack has in one of its slots, as a value of type `ty`.
pub fn take<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    stack: Value<'c, 'a>,
    ty: Type<'c>,
    slot: Value<'c, 'a>,
    location: Location<'c>,
) -> Value<'c, 'a> {
    let whole = plain(stack).expect("stacks are plain tensors");
    let one = Tensor::get(&[&[1], &whole.shape[1..]].concat(), whole.element, None);
    let one = build.dynamic_slice(stack, &start(build, stack, slot, location), one, location);
    if one.r#type() == ty { one } else { build.reshape(one, ty, location) }
}

/// Where a slot begins.
fn start<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    stack: Value<'c, 'a>,
    slot: Value<'c, 'a>,
    location: Location<'c>,
) -> Vec<Value<'c, 'a>> {
    let rank = plain(stack).expect("stacks are plain tensors").rank();
    let mut start = vec![slot];
    if rank > 1 {
        start.resize(rank, build.number(0.0, ir::element_of(slot.r#type()), location));
    }
    start
}

/// Whether an op that gives its operand one more dimension leaves the others in their order.
fn is_in_order(op: OperationRef<'_, '_>) -> bool {
    op_name(op) == "stablehlo.reshape"
        || ir::i64_array(op, "broadcast_dimensions")
            .is_some_and(|dims| (1..).zip(dims).all(|(at, dim)| at == *dim))
}

/// The update of one slot that makes `next` out of `argument`, if nothing else uses either.
fn slot_update<'c: 'a, 'a>(argument: Value<'c, 'a>, next: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let op = defining_op(next).filter(|op| op_name(*op) == "stablehlo.dynamic_update_slice")?;
    let alone = |value: Value<'c, 'a>| uses(value).count() == 1;
    let whole = plain(argument)?;
    let slot = plain(ir::operand(op, 1)?)?;
    let fine = op.operand(0) == Ok(argument)
        && alone(argument)
        && alone(next)
        && whole.rank() > 0
        && slot.shape[0] == 1
        && slot.shape[1..] == whole.shape[1..]
        && starts_at_zero(op, 3);
    (fine && ir::discardable_attributes(op).is_empty()).then_some(op)
}

/// Which slot a slice in `body` reads, if it reads just one.
fn slot_read<'c: 'a, 'a>(op: OperationRef<'c, 'a>, body: BlockRef<'c, 'a>) -> Option<Value<'c, 'a>> {
    let fine = op_name(op) == "stablehlo.dynamic_slice"
        && op.block() == Some(body)
        && ir::discardable_attributes(op).is_empty()
        && starts_at_zero(op, 2);
    let whole = plain(ir::operand(op, 0).filter(|_| fine)?)?;
    let slot = plain(op.result(0).ok()?.into())?;
    (slot.shape[0] == 1 && slot.shape[1..] == whole.shape[1..]).then(|| ir::operand(op, 1))?
}

/// Whether all operands from a number on are 0.
fn starts_at_zero(op: OperationRef<'_, '_>, from: usize) -> bool {
    op.operands().skip(from).all(|start| ir::constant_integer(start) == Some(0))
}

/// In which order of turns a loop meets slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The first slot in the first turn.
    Rising,
    /// The last slot in the first turn.
    Falling,
}

/// The order in which a scalar of the body is each of 0, 1, ... up to the number of turns, once each; none if it is not.
pub fn order<'c: 'a, 'a>(counter: &Counter, body: BlockRef<'c, 'a>, value: Value<'c, 'a>) -> Option<Order> {
    let counted: Value = body.argument(counter.number).ok()?.into();
    let last = i128::from(counter.turns()) - 1;
    let start = i128::from(counter.start);
    match line(counted, value)? {
        (1, offset) if counter.step == 1 && start + offset == 0 => Some(Order::Rising),
        (-1, offset) if counter.step == 1 && offset - start == last => Some(Order::Falling),
        _ => None,
    }
}

/// The factor and the offset by which a scalar follows from `counted`, by additions and subtractions of constants.
fn line<'c: 'a, 'a>(counted: Value<'c, 'a>, value: Value<'c, 'a>) -> Option<(i128, i128)> {
    const LONGEST: usize = 16;
    let (mut factor, mut offset) = (1, 0);
    let mut current = value;
    for _ in 0..LONGEST {
        if current == counted {
            return Some((factor, offset));
        }
        let op = defining_op(current)?;
        let (left, right) = (ir::operand(op, 0)?, ir::operand(op, 1)?);
        let (known, other) = match ir::constant_integer(left) {
            Some(known) => (known, right),
            None => (ir::constant_integer(right)?, left),
        };
        match op_name(op) {
            "stablehlo.add" => offset += factor * known,
            "stablehlo.subtract" if other == left => offset -= factor * known,
            "stablehlo.subtract" => {
                offset += factor * known;
                factor = -factor;
            }
            _ => return None,
        }
        current = other;
    }
    None
}
