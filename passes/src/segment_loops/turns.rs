// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Turns of a loop, done in another one.

use crate::counted::{Counter, Open, blocks};
use crate::ir::{self, Builder, bytes};
use crate::rewrite::{captures, carry_attributes, defining_op, ops_in};
use crate::tables::{Keys, Table};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;

/// What turns of a loop do, or some of it.
pub struct Turns<'c, 'a> {
    /// The `while`.
    pub op: OperationRef<'c, 'a>,
    /// How it counts.
    pub counter: Counter,
    /// What is done, in order.
    pub ops: Vec<OperationRef<'c, 'a>>,
    /// Numbers of what is carried for that, without the counter and stacks.
    pub carried: Vec<usize>,
    /// Numbers of stacks, which are of as many slots as there are turns, in the order in which they were named; none if no turn touches them.
    pub stacks: Vec<usize>,
    body: BlockRef<'c, 'a>,
    end: OperationRef<'c, 'a>,
}

/// Which slot a turn of a piece touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// The first one in the first turn.
    Forward,
    /// The last one in the first turn.
    Backward,
}

/// Turns that are to be done.
pub struct Piece<'c, 'a> {
    /// How many.
    pub turns: i64,
    /// What the counter is in the first one.
    pub first: Value<'c, 'a>,
    /// Which slots are touched.
    pub slots: Slots,
}

/// What a loop carries.
#[derive(Clone)]
pub struct State<'c, 'a> {
    /// Beside the counter and the stacks.
    pub carried: Vec<Value<'c, 'a>>,
    /// Arrays of slots, at least as many as there are turns.
    pub stacks: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> State<'c, 'a> {
    /// All of it.
    pub fn all(&self) -> Vec<Value<'c, 'a>> {
        [&*self.carried, &*self.stacks].concat()
    }

    /// Of what [`Self::all`] is the same number of values.
    pub fn like(&self, mut values: Vec<Value<'c, 'a>>) -> Self {
        let stacks = values.split_off(self.carried.len());
        Self { carried: values, stacks }
    }
}

impl<'c: 'a, 'a> Turns<'c, 'a> {
    /// What turns of a counted loop do so that what it carries by the numbers `wanted` comes out right. `stacks` are numbers of arrays of slots.
    pub fn of(
        op: OperationRef<'c, 'a>,
        counter: Counter,
        stacks: &[usize],
        wanted: &[usize],
    ) -> Option<Self> {
        let (_, body) = blocks(op)?;
        let end = body.terminator()?;
        let number_of: Table<usize, usize> = (0..op.operand_count())
            .filter_map(|number| Some((ir::key(body.argument(number).ok()?.into()), number)))
            .collect();
        let (mut numbers, mut needed) = (Keys::default(), Keys::default());
        let mut pending = Vec::new();
        let mut open = wanted.to_vec();
        loop {
            while let Some(number) = open.pop() {
                // What it counts follows from the turn.
                if number != counter.number && numbers.insert(number) {
                    pending.push(ir::operand(end, number)?);
                }
            }
            let Some(value) = pending.pop() else { break };
            match (number_of.get(&ir::key(value)), defining_op(value)) {
                (Some(number), _) => open.push(*number),
                (None, Some(op)) if op.block() == Some(body) => {
                    if needed.insert(ir::op_key(op)) {
                        pending.extend(op.operands());
                        pending.extend(captures(op));
                    }
                }
                (None, _) => {}
            }
        }
        let others = (0..op.operand_count()).filter(|number| !stacks.contains(number));
        let carried = others.filter(|number| numbers.contains(number)).collect();
        let stacks = stacks.iter().copied().filter(|number| numbers.contains(number)).collect();
        let ops = ops_in(body).filter(|op| needed.contains(&ir::op_key(*op))).collect();
        Some(Self { op, counter, ops, carried, stacks, body, end })
    }

    /// What is carried and changes from turn to turn: its number, and bytes.
    pub fn state(&self) -> impl Iterator<Item = (usize, u64)> {
        self.carried.iter().filter(|number| !self.is_handed_on(**number)).map(|&number| {
            let argument = self.argument(number);
            (number, bytes(argument).cast_unsigned())
        })
    }

    /// Whether what the first turn starts from is arguments of a function, which stay where they are.
    pub fn starts_with_arguments(&self) -> bool {
        self.state().all(|(number, _)| defining_op(self.initial(number)).is_none())
    }

    /// What it carries by a number before the first turn.
    pub fn initial(&self, number: usize) -> Value<'c, 'a> {
        self.op.operand(number).expect("an operand per result")
    }

    /// That in a turn.
    pub fn argument(&self, number: usize) -> Value<'c, 'a> {
        self.body.argument(number).expect("an argument per operand").into()
    }

    /// Whether a turn hands on by a number what it had.
    fn is_handed_on(&self, number: usize) -> bool {
        self.end.operand(number) == Ok(self.argument(number))
    }

    /// Does some turns in a loop of their own: what is carried then.
    pub fn run(
        &self,
        build: &Builder<'c, 'a>,
        piece: &Piece<'c, 'a>,
        initial: &State<'c, 'a>,
    ) -> State<'c, 'a> {
        let location = self.op.location();
        let open = Open::new(build, (0..piece.turns, 1), &initial.all(), location);
        let counted = self.argument(self.counter.number);
        let counts = counted.r#type();
        let (at, values) = (open.at, open.carried.clone());
        let as_counter = build.convert(at, counts, location);
        let turn = build.binary("stablehlo.add", piece.first, as_counter, location);
        let mut now: Table<usize, Value> = [(ir::key(counted), turn)].into_iter().collect();
        let numbers = self.carried.iter().chain(&self.stacks);
        now.extend(
            numbers.clone().zip(values).map(|(number, value)| (ir::key(self.argument(*number)), value)),
        );
        let slot = match piece.slots {
            Slots::Forward => at,
            Slots::Backward => {
                let last = build.i64_constant(piece.turns - 1, location);
                build.binary("stablehlo.subtract", last, at, location)
            }
        };
        let stacks: Keys = self.stacks.iter().map(|number| ir::key(self.argument(*number))).collect();
        for op in &self.ops {
            let copy = build.copy_renamed(*op, &mut now);
            let index = match op_name(*op) {
                "stablehlo.dynamic_update_slice" => 2,
                "stablehlo.dynamic_slice" => 1,
                _ => continue,
            };
            let (Ok(of), Ok(old)) = (op.operand(0), copy.operand(index)) else { continue };
            if !stacks.contains(&ir::key(of)) {
                continue;
            }
            build.set_insertion_point_before(copy);
            build.set_operand(copy, index, build.convert(slot, old.r#type(), location));
            build.set_insertion_point_after(copy);
            if index == 2 {
                let (stack, made) =
                    (copy.operand(0).expect("it updates"), copy.result(0).expect("it updates"));
                build.set_type(made.into(), stack.r#type());
            }
        }
        let next = |number: &usize| {
            let value = self.end.operand(*number).expect("one per operand");
            now.get(&ir::key(value)).copied().unwrap_or(value)
        };
        let next: Vec<Value> = numbers.map(next).collect();
        let made = open.close(&next);
        carry_attributes(self.op, made, &[]);
        initial.like(made.results().skip(1).map(Value::from).collect())
    }
}
