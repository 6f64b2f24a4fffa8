// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is known about consumers as others are asked whether they share producers with them.

use super::super::consumer::Consumer;
use super::super::plan::Plan;
use crate::ir;
use crate::ops::access::Stop;
use crate::rewrite::defining_op;
use crate::tables::{Keys, Marked, Table};
use melior::ir::OperationRef;
use melior::ir::operation::OperationLike;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A consumer's index, the dimension it is streamed along, its units, and the op whose result is wanted: what is made of a sum and
/// the sum itself have the same index.
pub(super) type Way = (usize, usize, i64, usize);

/// What is known about consumers as others are asked whether they share producers with them.
#[derive(Default)]
pub struct Neighbours<'c, 'a> {
    /// Ops a few steps up, by the consumer's source.
    above: RefCell<Above>,
    /// What each computes by itself, or why it cannot be streamed so. In order, so that those whose turn is over can go.
    pub(super) alone: RefCell<BTreeMap<Way, Result<Rc<Alone<'c, 'a>>, Stop>>>,
}

/// Ops a few steps up from consumers' sources, by these.
#[derive(Default)]
struct Above {
    known: Table<usize, Marked>,
    /// The consumers that were asked about first, in order, with their sources.
    asked: BTreeSet<(usize, usize)>,
}

/// A consumer's plan, without any other's.
pub(super) struct Alone<'c, 'a> {
    pub plan: Plan<'c, 'a>,
    /// Results of dots that are sliced, see [`Outside::condensed`].
    pub there: Keys,
    /// Bytes of the largest chunk that is computed.
    pub largest: i64,
    /// What is not free to compute again: its place in the plan.
    pub values: Vec<usize>,
    /// The ops it looked at. It holds as long as they do.
    pub ops: Vec<usize>,
}

impl<'c: 'a, 'a> Neighbours<'c, 'a> {
    /// Whether a consumer is computed from one of some ops, a few steps up.
    pub(super) fn comes_from(&self, index: usize, consumer: &Consumer<'c, 'a>, others: &Marked) -> bool {
        let Above { known, asked } = &mut *self.above.borrow_mut();
        let source = ir::op_key(consumer.source);
        let above = known.entry(source).or_insert_with(|| {
            asked.insert((index, source));
            above(consumer.source)
        });
        above.meets(others)
    }

    /// Forgets consumers behind `first`, whose turn it is: nobody asks for them again, and the plans of all consumers of a large
    /// module are more than it itself.
    pub(super) fn pass(&mut self, first: usize) {
        self.alone.get_mut().split_off(&(first + 1, 0, i64::MIN, 0));
        let Above { known, asked } = self.above.get_mut();
        for (_, source) in asked.split_off(&(first + 1, 0)) {
            known.remove(&source);
        }
    }

    /// Forgets what was known of ops that are gone, of what is computed from them, and of consumers from `first` on, whose turn
    /// is over: what is left are those near the next.
    pub(super) fn forget(&mut self, gone: &Marked, first: usize) {
        let Above { known, asked } = self.above.get_mut();
        known.retain(|op, above| !gone.contains(*op) && !above.meets(gone));
        asked.retain(|(_, op)| known.contains_key(op));
        self.alone.get_mut().retain(|&(index, ..), alone| {
            index < first && alone.as_ref().is_ok_and(|alone| alone.ops.iter().all(|op| !gone.contains(*op)))
        });
    }
}

/// What an op is computed from, a few steps up.
fn above(op: OperationRef<'_, '_>) -> Marked {
    const MOST: usize = 48;
    let mut seen = 0;
    let mut found = Marked::default();
    let mut pending = std::collections::VecDeque::from([op]);
    while let Some(op) = pending.pop_front() {
        for from in op.operands().filter_map(defining_op) {
            let key = ir::op_key(from);
            if found.insert(key) && seen < MOST {
                seen += 1;
                pending.push_back(from);
            }
        }
    }
    found
}
