// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Sums that are compared with themselves, and of which computation both sides of a comparison are made.
//!
//! The gradient of `max(x, 0)` asks where `x` is equal to that ([`crate::ties`]). Where `x` is a product that is done again, and the
//! maximum is kept, both may differ by how the product was added up. Where the maximum is made again of the same product,
//! or both are kept, they cannot. So each value that a comparison reads is followed back to the sum: all ways have to lead to one
//! computation of it, the first one or that of a window.

use super::Kept;
use super::choose::Choices;
use super::windows::Windows;
use crate::ir;
use crate::rewrite::defining_op;
use crate::tables::{Keys, Table};
use crate::ties::{self, Compared};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};

/// Whose computation of a sum a value is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// Of none.
    None,
    /// Of the one that there is before the peak.
    First,
    /// Of a window's.
    Again(usize),
    /// Of several, or of nobody knows which.
    Torn,
}

impl Version {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, one) | (one, Self::None) => one,
            (one, other) if one == other => one,
            _ => Self::Torn,
        }
    }
}

/// What each window computes again, as far as the choice goes.
pub struct Again {
    windows: Vec<Keys>,
}

impl Again {
    pub fn of<'c: 'a, 'a>(kept: &Kept<'c, 'a>, windows: &Windows, choices: &Choices) -> Self {
        let again = |window: usize| {
            let needed =
                kept.values.iter().filter(|late| late.places.iter().any(|&at| windows.at(at) == window));
            let mut pending: Vec<Value> = needed.map(|late| late.value).collect();
            let mut seen = Keys::default();
            while let Some(value) = pending.pop() {
                if !choices.has(kept, window, value) && seen.insert(ir::key(value)) {
                    let Some(op) = defining_op(value) else { continue };
                    pending.extend(op.operands());
                }
            }
            seen
        };
        Self { windows: (0..windows.count()).map(again).collect() }
    }

    fn has(&self, value: Value<'_, '_>) -> bool {
        self.windows.iter().any(|window| window.contains(&ir::key(value)))
    }

    /// Sums that are done again, and that something is compared with itself of.
    pub fn tied<'c: 'a, 'a>(&self, kept: &Kept<'c, 'a>) -> Vec<(Value<'c, 'a>, Option<Compared<'c, 'a>>)> {
        let sums = kept.body.ops[..kept.after].iter().filter(|op| ties::may_be_tied(**op));
        let values = sums.flat_map(|op| op.results()).map(Value::from).filter(|value| self.has(*value));
        let compared = values.map(|value| (value, ties::comparisons(value)));
        compared.filter(|(_, compared)| compared.as_ref().is_none_or(|known| !known.by.is_empty())).collect()
    }

    /// Those of them that some comparison would meet in two versions.
    pub fn torn<'c: 'a, 'a>(
        &self,
        kept: &Kept<'c, 'a>,
        windows: &Windows,
        choices: &Choices,
    ) -> Vec<Value<'c, 'a>> {
        let is_torn = |sum: Value<'c, 'a>, compared: &Option<Compared<'c, 'a>>| {
            let Some(compared) = compared else { return true };
            let mut versions = Versions { kept, windows, choices, sum, compared, known: Table::default() };
            compared.by.iter().any(|op| self.places(kept, windows, *op).any(|at| versions.is_torn(*op, at)))
        };
        self.tied(kept)
            .into_iter()
            .filter(|(sum, compared)| is_torn(*sum, compared))
            .map(|(sum, _)| sum)
            .collect()
    }

    /// The windows that do an op: that of its place, or those that do it again; what is in a region nobody knows.
    fn places<'c: 'a, 'a>(
        &self,
        kept: &Kept<'c, 'a>,
        windows: &Windows,
        op: OperationRef<'c, 'a>,
    ) -> impl Iterator<Item = usize> {
        let late = kept.body.place(op).filter(|&place| place >= kept.after);
        let again = |window: &usize| {
            op.results().any(|result| self.windows[*window].contains(&ir::key(result.into())))
        };
        let found: Vec<usize> = match late {
            Some(place) => vec![windows.at(place)],
            None => (0..self.windows.len()).filter(again).collect(),
        };
        found.into_iter()
    }
}

/// Which computation of one sum values are made of.
struct Versions<'v, 'c, 'a> {
    kept: &'v Kept<'c, 'a>,
    windows: &'v Windows,
    choices: &'v Choices,
    sum: Value<'c, 'a>,
    compared: &'v Compared<'c, 'a>,
    known: Table<(usize, usize), Version>,
}

impl<'c: 'a, 'a> Versions<'_, 'c, 'a> {
    /// Whether the operands of a comparison, done in a window, are made of two.
    fn is_torn(&mut self, op: OperationRef<'c, 'a>, window: usize) -> bool {
        let is_inside = !self.kept.body.has(op);
        let versions = op.operands().map(|operand| self.of(operand, window));
        is_inside || versions.fold(Version::None, Version::and) == Version::Torn
    }

    /// What a value is made of that an op of a window reads.
    fn of(&mut self, value: Value<'c, 'a>, window: usize) -> Version {
        // Twice each: first what it is made of, then itself.
        let mut pending = vec![(value, window, false)];
        while let Some((value, window, ready)) = pending.pop() {
            let key = (ir::key(value), window);
            if self.known.contains_key(&key) {
                continue;
            }
            let (version, of) = self.step(value, window);
            if ready || of.is_empty() {
                let found = of.iter().map(|(value, window)| self.known.get(&(ir::key(*value), *window)));
                // What is made of itself is in no block.
                let found = found.map(|known| known.copied().unwrap_or(Version::Torn));
                let version = found.fold(version, Version::and);
                self.known.insert(key, version);
            } else {
                pending.push((value, window, true));
                pending.extend(of.into_iter().map(|(value, window)| (value, window, false)));
            }
        }
        self.known[&(ir::key(value), window)]
    }

    /// What is known of a value as such, and what else it is made of: values, each as a window reads it.
    fn step(&self, value: Value<'c, 'a>, window: usize) -> (Version, Vec<(Value<'c, 'a>, usize)>) {
        if !self.compared.made.contains(&ir::key(value)) {
            return (Version::None, Vec::new());
        }
        let Some((op, place)) = defining_op(value).and_then(|op| Some((op, self.kept.body.own(op)?))) else {
            return (Version::Torn, Vec::new());
        };
        let is_late = place >= self.kept.after;
        if !is_late && self.choices.has(self.kept, window, value) {
            return (Version::First, Vec::new());
        }
        let window = if is_late { self.windows.at(place) } else { window };
        if value == self.sum {
            return (Version::Again(window), Vec::new());
        }
        (Version::None, op.operands().map(|operand| (operand, window)).collect())
    }
}
