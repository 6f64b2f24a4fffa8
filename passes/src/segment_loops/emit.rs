// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Loops of segments.

use super::Pieces;
use super::plan::Plan;
use super::turns::{Piece, Slots, State, Turns};
use crate::counted::Open;
use crate::hold;
use crate::ir::{self, Builder, plain};
use crate::stacks;
use crate::tables::Keys;
use melior::ir::operation::OperationLike;
use melior::ir::{Location, Value, ValueLike};
use slimhlo_dialect::types::Tensor;

/// Puts loops over segments in the place of both.
///
/// All segments and the rest have the same stacks, one after the other: each writes the slots that it reads, so that none has to be cleared, and
/// back ends do not keep several.
pub fn rewrite<'c: 'a, 'a>(build: &Builder<'c, 'a>, pieces: &Pieces<'c, 'a>, plan: Plan) {
    let (storing, reading) = (&pieces.storing, &pieces.reading);
    let segments = Segments { build, pieces, plan };
    build.set_insertion_point_before(storing.op);
    let (carried, starts) = segments.forward();
    let stacks = segments.empty_stacks(plan.length.max(plan.rest));
    let first = segments.count(storing, plan.segments * plan.length);
    let piece = Piece { turns: plan.rest, first, slots: Slots::Forward };
    let ends = storing.run(build, &piece, &State { carried, stacks });
    segments.hand_on(storing, &ends.carried);

    build.set_insertion_point_before(reading.op);
    let carried = reading.carried.iter().map(|number| reading.initial(*number)).collect();
    let piece = Piece { turns: plan.rest, first: segments.count(reading, 0), slots: Slots::Backward };
    let behind = reading.run(build, &piece, &State { carried, stacks: ends.stacks });
    let ends = segments.backward(behind, &starts);
    segments.hand_on(reading, &ends);
    build.erase(reading.op);
    build.erase(storing.op);
}

/// What loops are made of.
struct Segments<'p, 'c, 'a> {
    build: &'p Builder<'c, 'a>,
    pieces: &'p Pieces<'c, 'a>,
    plan: Plan,
}

impl<'c: 'a, 'a> Segments<'_, 'c, 'a> {
    /// The forward turns of all segments: what is carried behind them, and what each started from, an array for each of its values; none if
    /// there is one segment.
    fn forward(&self) -> (Vec<Value<'c, 'a>>, Vec<Value<'c, 'a>>) {
        let Self { build, pieces, plan } = *self;
        let (turns, location) = (&pieces.plain, pieces.plain.op.location());
        let initial: Vec<Value> = turns.carried.iter().map(|number| turns.initial(*number)).collect();
        let run = |first: Value<'c, 'a>, carried: Vec<Value<'c, 'a>>| {
            let piece = Piece { turns: plan.length, first, slots: Slots::Forward };
            turns.run(build, &piece, &State { carried, stacks: Vec::new() }).carried
        };
        if plan.segments == 1 {
            return (run(self.count(turns, 0), initial), Vec::new());
        }
        let saved: Vec<usize> = pieces.again.state().map(|(number, _)| number).collect();
        let all = |number: &usize| stacks::of(plan.segments, turns.argument(*number));
        let starts = saved.iter().map(|number| build.zeros(all(number), location));
        let initial: Vec<Value> = initial.into_iter().chain(starts).collect();
        let open = Open::new(build, (0..plan.segments, 1), &initial, location);
        let (at, mut carried) = (open.at, open.carried.clone());
        let starts = carried.split_off(turns.carried.len());
        let place = |number: &usize| turns.carried.iter().position(|carried| carried == number);
        let now = saved.iter().map(|number| carried[place(number).expect("forward turns carry all")]);
        let kept: Vec<Value> =
            now.zip(starts).map(|(value, starts)| stacks::put(build, starts, value, at, location)).collect();
        let next = run(self.first_of(turns, at, 0, location), carried);
        let made = open.close(&[next, kept].concat());
        let mut results: Vec<Value> = made.results().skip(1).map(Value::from).collect();
        let starts = results.split_off(turns.carried.len());
        (results, starts)
    }

    /// All segments backwards, from what is carried behind the rest: what is carried in the end.
    fn backward(&self, behind: State<'c, 'a>, starts: &[Value<'c, 'a>]) -> Vec<Value<'c, 'a>> {
        let Self { build, pieces, plan } = *self;
        let (again, turns, location) = (&pieces.again, &pieces.reading, pieces.reading.op.location());
        // From the first turn on, and from the last one back.
        let run = |firsts: [Value<'c, 'a>; 2], carried: Vec<Value<'c, 'a>>, back: State<'c, 'a>| {
            let piece = |first, slots| Piece { turns: plan.length, first, slots };
            let from = State { carried, stacks: back.stacks };
            let stacks = again.run(build, &piece(firsts[0], Slots::Forward), &from).stacks;
            turns.run(build, &piece(firsts[1], Slots::Backward), &State { carried: back.carried, stacks })
        };
        if plan.segments == 1 {
            let carried = self.later(&behind.carried);
            return run([self.count(again, 0), self.count(turns, plan.rest)], carried, behind).carried;
        }
        let initial = [&*behind.all(), starts].concat();
        let open = Open::new(build, (0..plan.segments, 1), &initial, location);
        let (at, mut inside) = (open.at, open.carried.clone());
        let starts = inside.split_off(initial.len() - starts.len());
        let last = build.i64_constant(plan.segments - 1, location);
        let segment = build.binary("stablehlo.subtract", last, at, location);
        let mut kept = again.state().zip(&starts).peekable();
        let carried =
            again.carried.iter().map(|&number| match kept.next_if(|((state, _), _)| *state == number) {
                Some((_, starts)) => {
                    stacks::take(build, *starts, again.argument(number).r#type(), segment, location)
                }
                None => again.initial(number),
            });
        let carried = carried.collect();
        let firsts =
            [self.first_of(again, segment, 0, location), self.first_of(turns, at, plan.rest, location)];
        let next = run(firsts, carried, behind.like(inside));
        let made = open.close(&[next.all(), starts].concat());
        made.results().skip(1).take(turns.carried.len()).map(Value::from).collect()
    }

    /// What the first turn starts from, once `behind` is there. Loops own what they carry: arguments are copied for them, and back ends would do that at
    /// once, and keep the copy. A choice by what is computed late is made late, and is the copy.
    fn later(&self, behind: &[Value<'c, 'a>]) -> Vec<Value<'c, 'a>> {
        let Self { build, pieces: Pieces { again, reading, .. }, .. } = *self;
        let location = again.op.location();
        let changes: Keys = again.state().map(|(number, _)| number).collect();
        let is_large = |number: usize| plain(again.initial(number)).is_some_and(|tensor| tensor.rank() > 0);
        // Scalars may count turns, and back ends know what those come to.
        let place = |number| reading.carried.iter().position(|carried| *carried == number);
        let computed = reading.state().max_by_key(|(_, bytes)| *bytes).and_then(|(number, _)| place(number));
        let waits = computed.map(|place| hold::always(build, behind[place], location));
        let later = |number: &usize| {
            let value = again.initial(*number);
            match waits.filter(|_| changes.contains(number) && is_large(*number)) {
                Some(waits) => build.select(waits, value, build.zeros(value.r#type(), location), location),
                None => value,
            }
        };
        again.carried.iter().map(later).collect()
    }

    /// What a loop counts in a turn.
    fn count(&self, turns: &Turns<'c, 'a>, turn: i64) -> Value<'c, 'a> {
        let element = ir::element_of(turns.argument(turns.counter.number).r#type());
        self.build.number((turns.counter.start + turn) as f64, element, turns.op.location())
    }

    /// What it counts in the first turn of a segment, `behind` so many turns.
    fn first_of(
        &self,
        turns: &Turns<'c, 'a>,
        segment: Value<'c, 'a>,
        behind: i64,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let build = self.build;
        let first = self.count(turns, behind);
        let length = build.i64_constant(self.plan.length, location);
        let before = build.binary("stablehlo.multiply", segment, length, location);
        build.binary("stablehlo.add", first, build.convert(before, first.r#type(), location), location)
    }

    /// Stacks of so many slots for what turns store.
    fn empty_stacks(&self, slots: i64) -> Vec<Value<'c, 'a>> {
        let turns = &self.pieces.storing;
        let stack = |number: &usize| {
            let whole = plain(turns.argument(*number)).expect("stacks are plain tensors");
            let ty = Tensor::get(&[&[slots], &whole.shape[1..]].concat(), whole.element, None);
            self.build.zeros(ty, turns.op.location())
        };
        turns.stacks.iter().map(stack).collect()
    }

    /// Puts what is carried behind all turns in the place of a loop's results.
    fn hand_on(&self, turns: &Turns<'c, 'a>, ends: &[Value<'c, 'a>]) {
        let result = |number: usize| Value::from(turns.op.result(number).expect("a result per operand"));
        for (number, end) in turns.carried.iter().zip(ends) {
            self.build.replace_all_uses_with(result(*number), *end);
        }
        let counted = turns.counter.number;
        self.build.replace_all_uses_with(result(counted), self.count(turns, turns.counter.turns()));
    }
}
