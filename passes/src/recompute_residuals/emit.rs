// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Lets a loop store something else, and another compute from that what it read.

use super::cut::{Cut, Given, Values};
use crate::counted::recarry;
use crate::hold::{self, Way};
use crate::ir::bytes;
use crate::ir::{self, Builder};
use crate::ops::class::is_elementwise;
use crate::rewrite::{defining_op, users};
use crate::stacks::{self, Reader, Writer};
use crate::tables::{Keys, Table};
use crate::target::Storage;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;

/// Elementary functions from which on a value is held where it is read at several places.
const WORK: u32 = 2;

/// Makes `writer` store what `cut` says, and `reader` compute what it needs from that. Returns both loops as they are then.
pub fn rewrite<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    storage: &Storage,
    (writer, reader): (&Writer<'c, 'a>, &Reader<'c, 'a>),
    values: &Values<'_, 'c, 'a>,
    cut: &Cut<'c, 'a>,
) -> (OperationRef<'c, 'a>, OperationRef<'c, 'a>) {
    // What is to be stored may be in a stack already.
    let stack_of = |value: Value<'c, 'a>| {
        let mut known = reader.stacks.iter().map(|(number, _)| *number);
        known.find(|&number| writer.stacks[number].held().any(|held| held == value))
    };
    let stacks: Vec<Option<usize>> = cut.stored.iter().map(|value| stack_of(*value)).collect();
    let dropped: Vec<(usize, usize)> =
        reader.stacks.iter().copied().filter(|(stack, _)| !stacks.contains(&Some(*stack))).collect();

    let new: Vec<Value> =
        cut.stored.iter().zip(&stacks).filter(|(_, old)| old.is_none()).map(|(v, _)| *v).collect();
    let first_new = writer.op.operand_count();
    let op = store(build, writer, &new);
    let result = |number: usize| Value::from(op.result(number).expect("the loop has this result"));
    let mut numbers = first_new..;
    let slots: Vec<(Value, Value)> = (cut.stored.iter().zip(&stacks))
        .map(|(value, old)| {
            let number = old.map_or_else(|| numbers.next(), |stack| Some(writer.stacks[stack].number));
            (*value, result(number.expect("there are as many numbers as it takes")))
        })
        .collect();
    let outside = |given: Given, value: Value<'c, 'a>| match given {
        Given::Outside => Some(value),
        Given::HandedOn(number) => ir::operand(op, number),
        Given::Stack(stack) => Some(result(writer.stacks[stack].number)),
        Given::Constant | Given::Turn => None,
    };
    let reads = Reads { build, storage, writer, reader, values, location: reader.op.location() };
    let reader_op = reads.rewrite(cut, &slots, &dropped, &outside);
    let read: Vec<usize> = dropped.iter().map(|(_, carried)| *carried).collect();
    let reader_op = recarry(build, reader_op, &read, &[]);
    let written: Vec<usize> = dropped.iter().map(|(stack, _)| writer.stacks[*stack].number).collect();
    (recarry(build, op, &written, &[]), reader_op)
}

/// Gives a loop a stack for each of some values of its body, behind all else that it carries.
fn store<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    writer: &Writer<'c, 'a>,
    values: &[Value<'c, 'a>],
) -> OperationRef<'c, 'a> {
    let location = writer.op.location();
    build.set_insertion_point_before(writer.op);
    let starts: Vec<Value> =
        values.iter().map(|value| build.zeros(stacks::of(writer.turns, *value), location)).collect();
    let first = writer.op.operand_count();
    let op = recarry(build, writer.op, &[], &starts);
    let end = writer.body.terminator().expect("bodies end");
    build.set_insertion_point_before(end);
    for (number, value) in (first..).zip(values) {
        let stack: Value = writer.body.argument(number).expect("it was added").into();
        build.set_operand(end, number, stacks::put(build, stack, *value, writer.turn, location));
    }
    op
}

/// What a reader is rewritten by.
struct Reads<'r, 'c, 'a> {
    build: &'r Builder<'c, 'a>,
    storage: &'r Storage,
    writer: &'r Writer<'c, 'a>,
    reader: &'r Reader<'c, 'a>,
    values: &'r Values<'r, 'c, 'a>,
    /// The reader's, which may become another op.
    location: Location<'c>,
}

impl<'c: 'a, 'a> Reads<'_, 'c, 'a> {
    /// Computes again what was in the stacks that are dropped. `slots` are the stacks that hold what was cut, `outside` tells what
    /// else is there from before the reader.
    fn rewrite(
        &self,
        cut: &Cut<'c, 'a>,
        slots: &[(Value<'c, 'a>, Value<'c, 'a>)],
        dropped: &[(usize, usize)],
        outside: &dyn Fn(Given, Value<'c, 'a>) -> Option<Value<'c, 'a>>,
    ) -> OperationRef<'c, 'a> {
        let (build, reader) = (self.build, self.reader);
        let mut wanted: Vec<Value> = slots.iter().map(|(_, stack)| *stack).collect();
        // What was stored may be there as it is.
        let stored = dropped.iter().map(|(stack, _)| self.writer.stacks[*stack].slot);
        let asked = stored.chain(cut.ops.iter().flat_map(|op| op.operands()));
        let given = asked.filter_map(|value| Some((value, self.values.given(value)?)));
        let given: Vec<(Value, Given)> = given.collect();
        wanted.extend(given.iter().filter_map(|(value, given)| outside(*given, *value)));
        let (op, carried) = self.carry(&wanted);

        let reads: Vec<(usize, OperationRef)> = (dropped.iter())
            .flat_map(|(stack, carried)| reader.slices(*carried).into_iter().map(|slice| (*stack, slice)))
            .collect();
        let first = reads.iter().map(|(_, slice)| *slice);
        let Some(first) = first.reduce(|one, other| if ir::is_before(other, one) { other } else { one })
        else {
            return op;
        };
        build.set_insertion_point_before(first);
        let mut made: Table<usize, Value> = Table::default();
        for (value, stack) in slots {
            let argument = carried[&ir::key(*stack)];
            made.insert(ir::key(*value), self.slot(argument, *value));
        }
        for (value, given) in given {
            if made.contains_key(&ir::key(value)) {
                continue;
            }
            let there = || outside(given, value).map(|value| carried[&ir::key(value)]);
            let known = match given {
                Given::Turn => self.turn(),
                Given::Constant => self.constant(value),
                Given::Stack(_) => self.slot(there().expect("stacks are carried"), value),
                Given::Outside | Given::HandedOn(_) => there().expect("what is outside is carried"),
            };
            made.insert(ir::key(value), known);
        }
        for op in &cut.ops {
            let operands: Vec<Value> = op.operands().map(|operand| made[&ir::key(operand)]).collect();
            let types: Vec<Type> = op.results().map(|result| result.r#type()).collect();
            let copy = build.copy_with(*op, &operands, &[], &types);
            for (old, new) in op.results().zip(copy.results()) {
                made.insert(ir::key(old.into()), new.into());
            }
        }
        self.hold(&reads, &mut made);
        for (stack, slice) in reads {
            let now = made[&ir::key(self.writer.stacks[stack].slot)];
            build.replace_all_uses_with(slice.result(0).expect("a slice has a result").into(), now);
            build.erase(slice);
        }
        op
    }

    /// Keeps what takes elementary functions to compute, and is read at several places, from being computed once for each of them.
    fn hold(&self, reads: &[(usize, OperationRef<'c, 'a>)], made: &mut Table<usize, Value<'c, 'a>>) {
        let slots = reads.iter().filter_map(|(stack, slice)| {
            let read = slice.result(0).ok()?.into();
            let stack = &self.writer.stacks[*stack];
            let computed = stack.held().filter_map(|value| made.get(&ir::key(value)));
            let work = computed.map(|value| hold::work_before(*value)).max().unwrap_or(0);
            (work >= WORK && bytes(stack.slot) > 0 && is_moved(read)).then_some(stack.slot)
        });
        let mut slots: Vec<Value> = slots.collect();
        let mut seen = Keys::default();
        slots.retain(|slot| seen.insert(ir::key(*slot)));
        let parts: Vec<Value> = slots.iter().map(|slot| made[&ir::key(*slot)]).collect();
        let Some(first) = parts.first() else { return };
        let types: Vec<Type> = parts.iter().map(|part| part.r#type()).collect();
        let way = Way::of(self.storage, || hold::always(self.build, *first, self.location));
        let held = way.hold(self.build, &types, self.location, || parts);
        made.extend(slots.iter().map(|slot| ir::key(*slot)).zip(held));
    }

    /// Lets the reader carry values, and says what each is called in its body.
    fn carry(&self, wanted: &[Value<'c, 'a>]) -> (OperationRef<'c, 'a>, Table<usize, Value<'c, 'a>>) {
        let end = self.reader.body.terminator().expect("bodies end");
        let argument = |number: usize| Value::from(self.reader.body.argument(number).expect("it is carried"));
        let mut carried = Table::default();
        for (number, operand) in self.reader.op.operands().enumerate() {
            if end.operand(number) == Ok(argument(number)) {
                carried.entry(ir::key(operand)).or_insert_with(|| argument(number));
            }
        }
        let first = self.reader.op.operand_count();
        let mut new = Vec::new();
        for value in wanted {
            if !carried.contains_key(&ir::key(*value)) && !new.contains(value) {
                new.push(*value);
            }
        }
        let op = recarry(self.build, self.reader.op, &[], &new);
        for (number, value) in (first..).zip(&new) {
            carried.insert(ir::key(*value), argument(number));
        }
        (op, carried)
    }

    /// What a value was, from the stack that has it.
    fn slot(&self, stack: Value<'c, 'a>, value: Value<'c, 'a>) -> Value<'c, 'a> {
        stacks::take(self.build, stack, value.r#type(), self.reader.turn, self.location)
    }

    /// Which slot is read: slices take the nearest one that there is.
    fn turn(&self) -> Value<'c, 'a> {
        let turn = self.reader.turn;
        let (location, element) = (self.location, ir::element_of(turn.r#type()));
        let first = self.build.number(0.0, element, location);
        let last = self.build.number((self.writer.turns - 1) as f64, element, location);
        self.build.insert("stablehlo.clamp", &[first, turn, last], &[], turn.r#type(), location)
    }

    /// A constant, which may be one of the writer's body.
    fn constant(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        match defining_op(value).filter(|op| op.block() == Some(self.writer.body)) {
            Some(op) => {
                let copy = self.build.copy_with(op, &[], &[], &[value.r#type()]);
                copy.result(0).expect("a constant has a result").into()
            }
            None => value,
        }
    }
}

/// Whether elements of a value are read at other places than their own by what a back end may fuse with it: a stencil, or the gradient of
/// what was shifted.
fn is_moved(value: Value<'_, '_>) -> bool {
    /// Ops looked at.
    const NEAR: usize = 64;
    let mut pending = vec![value];
    let mut seen = Keys::default();
    while let Some(value) = pending.pop() {
        for user in users(value) {
            let name = op_name(user);
            if matches!(name, "stablehlo.pad" | "stablehlo.slice" | "stablehlo.concatenate") {
                return true;
            }
            if (is_elementwise(name) || name == "stablehlo.reshape")
                && seen.len() < NEAR
                && seen.insert(ir::op_key(user))
            {
                pending.extend(user.results().map(Value::from));
            }
        }
    }
    false
}
