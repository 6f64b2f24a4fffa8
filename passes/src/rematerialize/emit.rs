// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Does ops again, each right before the first that needs it, from what goes through a barrier before the window.

use super::Kept;
use super::choose::Choices;
use super::windows::Windows;
use crate::hold::barriers;
use crate::ir::{self, Builder};
use crate::ops::products::is_product;
use crate::rewrite::{defining_op, uses};
use crate::tables::{Keys, Table};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::op_name;
use std::ops::Range;

/// Somewhere a value is used: the place of the block's op, the op itself, as which operand.
type Place<'c, 'a> = (usize, OperationRef<'c, 'a>, usize);

/// Rewrites all windows; says how many ops are done again.
pub fn run<'c: 'a, 'a>(
    kept: &Kept<'c, 'a>,
    windows: &Windows,
    choices: &Choices,
    build: &Builder<'c, 'a>,
) -> usize {
    let mut wanted: Vec<Vec<(Place<'c, 'a>, Value<'c, 'a>)>> = vec![Vec::new(); windows.count()];
    for late in &kept.values {
        for used in uses(late.value) {
            let Some(place) = kept.body.place(used.user).filter(|&place| place >= kept.after) else {
                continue;
            };
            let window = windows.at(place);
            if !choices.has(kept, window, late.value) {
                wanted[window].push(((place, used.user, used.operand), late.value));
            }
        }
    }
    if wanted.iter().all(Vec::is_empty) {
        return 0;
    }
    kept.put_in_order(build);
    for wanted in &mut wanted {
        wanted.sort_by_key(|((place, user, operand), _)| (*place, ir::op_key(*user), *operand));
    }
    let firsts: Vec<Option<usize>> =
        wanted.iter().map(|wanted| wanted.first().map(|((place, ..), _)| *place)).collect();
    let mut again = 0;
    for (window, wanted) in wanted.into_iter().enumerate().rev() {
        let Some(first) = firsts[window] else { continue };
        let mut maker = Maker { kept, choices, build, window, made: Table::default(), again: 0 };
        // What windows made in which nothing is done again is held by the next one's barrier.
        let before = firsts[..window].iter().rev().find_map(|first| *first);
        let since = windows.start_before(window).min(before.unwrap_or(first));
        maker.hold(&wanted, since..first);
        for ((place, user, operand), value) in wanted {
            build.set_insertion_point_before(kept.body.ops[place]);
            let made = maker.make(value);
            build.set_operand(user, operand, made);
        }
        again += maker.again;
    }
    again
}

/// Makes values again in a window.
struct Maker<'m, 'c, 'a> {
    kept: &'m Kept<'c, 'a>,
    choices: &'m Choices,
    build: &'m Builder<'c, 'a>,
    window: usize,
    /// What values are called in the window.
    made: Table<usize, Value<'c, 'a>>,
    again: usize,
}

impl<'c: 'a, 'a> Maker<'_, 'c, 'a> {
    fn has(&self, value: Value<'c, 'a>) -> bool {
        self.choices.has(self.kept, self.window, value)
    }

    /// Lets what the window computes from go through a barrier at the place where it begins, together with what is
    /// computed last before: nothing is done again before that is there.
    fn hold(&mut self, wanted: &[(Place<'c, 'a>, Value<'c, 'a>)], before: Range<usize>) {
        let first = before.end;
        let mut leaves = self.leaves(wanted.iter().map(|(_, value)| *value).collect());
        let begins = self.kept.body.ops[first];
        let last = self.last_of(before);
        leaves.extend(&last);
        if leaves.is_empty() {
            // What is made of constants alone needs none.
            return;
        }
        self.build.set_insertion_point_before(begins);
        let held = barriers(&leaves, self.build, begins.location());
        let barrier = defining_op(held[0]).expect("it was made just now");
        for (value, held) in last.iter().zip(&held[leaves.len() - last.len()..]) {
            self.build.replace_uses(*value, *held, |user| {
                user != barrier && self.kept.body.place(user).is_none_or(|at| at >= first)
            });
        }
        self.made.extend(leaves.iter().map(|leaf| ir::key(*leaf)).zip(held));
    }

    /// Values that are there and that something is computed of. Arguments only where nothing else is: what is computed
    /// of arguments alone would be found to be the same.
    fn leaves(&self, mut pending: Vec<Value<'c, 'a>>) -> Vec<Value<'c, 'a>> {
        let (mut seen, mut leaves) = (Keys::default(), Vec::new());
        while let Some(value) = pending.pop() {
            if !seen.insert(ir::key(value)) {
                continue;
            }
            if self.has(value) {
                continue;
            }
            let op = defining_op(value).expect("arguments are there");
            let operands = op.operands();
            let (there, again): (Vec<Value>, Vec<Value>) = operands.partition(|operand| self.has(*operand));
            let is_kept = |value: &Value<'c, 'a>| {
                defining_op(*value).is_some_and(|op| op_name(op) != "stablehlo.constant")
            };
            let is_argument = |value: &Value<'c, 'a>| defining_op(*value).is_none();
            let any_kept = there.iter().any(is_kept) || !again.is_empty();
            // Counters stay as they are: back ends that look for the number of turns do not see through a barrier (XLA
            // for GPUs fails).
            let held = there
                .into_iter()
                .filter(|value| !ir::is_rank_zero(*value))
                .filter(|value| is_kept(value) || !any_kept && is_argument(value));
            for value in held {
                if seen.insert(ir::key(value)) {
                    leaves.push(value);
                }
            }
            pending.extend(again);
        }
        leaves
    }

    /// Products, sums and loops that are computed between two places, and used from the second on, and what they are added
    /// up in: XLA puts off what nothing waits for, gradients of parameters above all, and with them all that is computed
    /// again for them. What is handed to other devices counts as used from there on: exchanges are put together, and so put off
    /// themselves. It goes into the barrier, but comes out for nobody: the exchange need not wait.
    fn last_of(&self, before: Range<usize>) -> Vec<Value<'c, 'a>> {
        let first = before.end;
        let body = &self.kept.body;
        let is_last = |op: OperationRef<'c, 'a>, value: Value<'c, 'a>| {
            let stored = is_product(op) || matches!(op_name(op), "stablehlo.reduce" | "stablehlo.while");
            // What the block returns is stored, whatever makes it; a loop's counter is none of that (`leaves`).
            !ir::is_rank_zero(value)
                && uses(value).any(|used| match body.place(used.user) {
                    Some(at) => stored && (at >= first || op_name(used.user) == "stablehlo.all_reduce"),
                    None => used.user == body.end,
                })
        };
        let mut last = Vec::new();
        for place in before.rev() {
            let results = body.ops[place].results().map(Value::from);
            // What is made at the peak may be made again itself.
            let there = results.filter(|value| place >= self.kept.after || self.has(*value));
            last.extend(there.filter(|value| is_last(body.ops[place], *value)));
        }
        last
    }

    /// A value as the window has it.
    fn make(&mut self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        let mut made = std::mem::take(&mut self.made);
        let (value, again) = self.build.make_again(value, &mut made, |value| self.has(value));
        self.made = made;
        self.again += again;
        value
    }
}
