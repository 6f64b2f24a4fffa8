// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is kept and what is computed again, window by window.

use super::price::Prices;
use super::versions::Again;
use super::windows::Windows;
use super::{Kept, Late};
use crate::ir;
use crate::ir::plain;
use crate::min_cut::{ENDLESS, Network};
use crate::rewrite::defining_op;
use crate::tables::Keys;
use melior::ir::Value;
use melior::ir::operation::OperationLike;
use slimhlo_dialect::ffi::op_name;
use std::collections::VecDeque;

/// Nodes of a window's network: a maximum flow is not linear. What is further away from what the window needs is not
/// computed again.
const LARGEST: usize = 1 << 13;

/// How often choices are made anew without what would be compared with another computation of itself, before nothing that is compared with
/// itself is computed again.
const TRIES: usize = 4;

/// What is decided.
pub struct Choices {
    /// For each window, values that are there: from before the peak on, for it or a later one.
    kept: Vec<Keys>,
}

impl Choices {
    /// From the last window to the first. A byte that is kept is worth the time of moving it `moves` times, for each window.
    ///
    /// What is compared with itself is computed again only where both sides of the comparison are made of the same computation.
    pub fn of<'c: 'a, 'a>(kept: &Kept<'c, 'a>, windows: &Windows, moves: &[u64], prices: &Prices) -> Self {
        let mut once = Keys::default();
        for round in 0.. {
            let choices = Self::but(&once, kept, windows, moves, prices);
            let again = Again::of(kept, windows, &choices);
            let more: Vec<Value> = match round < TRIES {
                true => again.torn(kept, windows, &choices),
                false => again.tied(kept).into_iter().map(|(sum, _)| sum).collect(),
            };
            if more.is_empty() {
                return choices;
            }
            once.extend(more.into_iter().map(ir::key));
        }
        unreachable!("there are finitely many sums")
    }

    /// The same, where some values are computed once.
    fn but<'c: 'a, 'a>(
        once: &Keys,
        kept: &Kept<'c, 'a>,
        windows: &Windows,
        moves: &[u64],
        prices: &Prices,
    ) -> Self {
        let mut needs: Vec<Vec<&Late>> = (0..windows.count()).map(|_| Vec::new()).collect();
        for late in &kept.values {
            let mut last = usize::MAX;
            for window in late.places.iter().map(|&place| windows.at(place)) {
                if window != last {
                    needs[window].push(late);
                    last = window;
                }
            }
        }
        let mut there = Keys::default();
        let mut all = vec![Keys::default(); windows.count()];
        for (window, needs) in needs.iter().enumerate().rev() {
            match cut(kept, needs, (&there, once), moves[window], prices) {
                Some(more) => there.extend(more.into_iter().map(ir::key)),
                None => there.extend(needs.iter().map(|late| ir::key(late.value))),
            }
            all[window].clone_from(&there);
        }
        Self { kept: all }
    }

    /// Whether a window has a value without computing it.
    pub fn has<'c: 'a, 'a>(&self, kept: &Kept<'c, 'a>, window: usize, value: Value<'c, 'a>) -> bool {
        self.kept[window].contains(&ir::key(value)) || is_there(kept, value)
    }

    /// Bytes less at the peak.
    pub fn saved(&self, kept: &Kept<'_, '_>, prices: &Prices) -> u64 {
        let Some(all) = self.kept.first() else { return 0 };
        let gone = kept.spans.iter().filter(|span| !all.contains(&ir::key(span.value)));
        let gone: u64 = gone.map(|span| span.bytes).sum();
        let early = kept.body.ops[..kept.after].iter().flat_map(|op| op.results()).map(Value::from);
        let new = early.filter(|value| {
            let stored = defining_op(*value).is_some_and(|op| kept.alive(op) > 0);
            all.contains(&ir::key(*value)) && !stored
        });
        gone.saturating_sub(new.map(|value| prices.bytes(value)).sum())
    }
}

/// Whether a value is there whatever is decided: given, constant, returned, or from outside of the block.
fn is_there<'c: 'a, 'a>(kept: &Kept<'c, 'a>, value: Value<'c, 'a>) -> bool {
    kept.returned.contains(&ir::key(value))
        || defining_op(value).is_none_or(|op| op_name(op) == "stablehlo.constant" || !kept.body.has(op))
}

/// The values to keep for a window beside those that are there.
fn cut<'c: 'a, 'a>(
    kept: &Kept<'c, 'a>,
    needs: &[&Late<'c, 'a>],
    (there, once): (&Keys, &Keys),
    moves: u64,
    prices: &Prices,
) -> Option<Vec<Value<'c, 'a>>> {
    let mut network = Network::default();
    let mut pending = VecDeque::new();
    let add = |network: &mut Network<'c, 'a>, pending: &mut VecDeque<_>, value: Value<'c, 'a>| {
        let far = network.size() > LARGEST;
        // What is computed on the fly would be so whoever kept it: what it is made of is there or not.
        let can_be_kept = plain(value).is_some() && (far || !kept.light.contains(&ir::key(value)));
        // What is kept of a row has to be stored: the rows are then read once more, by a kernel of its own.
        let apart = || {
            kept.in_rows(value).and_then(|op| prices.of(op)).map_or(0, |seconds| prices.cost(seconds, moves))
        };
        // Of choices of as many bytes, the one that keeps fewer values is better.
        let price = || match can_be_kept {
            true => prices.bytes(value).saturating_mul(4).saturating_add(apart()) + 1,
            false => ENDLESS,
        };
        if network.add(value, price) {
            pending.push_back((value, far));
        }
    };
    for late in needs {
        add(&mut network, &mut pending, late.value);
        network.need(late.value);
    }
    while let Some((value, far)) = pending.pop_front() {
        if there.contains(&ir::key(value)) || is_there(kept, value) {
            continue;
        }
        let op = defining_op(value).expect("arguments are there");
        match prices.of(op).filter(|_| !far && !once.contains(&ir::key(value))) {
            Some(seconds) => {
                // With what reads the rows beside it it is one kernel again.
                let price = if kept.in_rows(value).is_some() { 0 } else { prices.cost(seconds, moves) };
                network.price(value, price + 1);
                for operand in op.operands() {
                    add(&mut network, &mut pending, operand);
                    network.takes(value, operand);
                }
            }
            None => network.price(value, ENDLESS),
        }
    }
    network.cut()
}
