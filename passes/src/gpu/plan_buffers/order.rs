// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Orders in which the items of a block can run.

use super::model::{Id, Kind, Model};
use std::collections::{BTreeSet, HashMap, HashSet};

/// How an order is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// As the program has it.
    Program,
    /// Next, what frees most.
    Frees,
}

/// All of them.
pub const STRATEGIES: &[Strategy] = &[Strategy::Program, Strategy::Frees];

/// Puts the items of each block into an order in which everything is made before it is read. What frees no memory,
/// since it reads nothing that is ours, comes just before it is needed: what zeros lie in is somebody else's until
/// then.
pub fn order(model: &mut Model<'_, '_>, strategy: Strategy, aliases: &[Option<usize>]) {
    for block in 0..model.blocks.len() {
        if model.blocks[block].items.len() < 3 {
            continue;
        }
        let reads = Reads::of(model, block);
        let mut needs = Needs::of(model, block, &reads);
        needs.add_writes(model, block, &reads, aliases);
        let items = &model.blocks[block].items;
        let frees_nothing = |at: usize| {
            at + 1 < items.len()
                && model.items[items[at]].blocks.is_empty()
                && reads.values[at].iter().all(|&id| !is_ours(model, id, block))
        };
        needs.put_off((0..items.len()).map(frees_nothing).collect());
        let order = match strategy {
            Strategy::Program => needs.run(InOrder),
            Strategy::Frees => needs.run(Frees::new(model, block, &reads)),
        };
        model.blocks[block].items = order.into_iter().map(|at| items[at]).collect();
    }
}

/// What the items of a block read, by their place in it.
struct Reads {
    /// By item: the values.
    values: Vec<Vec<Id>>,
    /// By value, the one behind views: the items, in order.
    readers: HashMap<Id, Vec<usize>>,
}

impl Reads {
    fn of(model: &Model<'_, '_>, block: usize) -> Self {
        let mut this = Self { values: Vec::new(), readers: HashMap::new() };
        for (at, &item) in model.blocks[block].items.iter().enumerate() {
            let mut found = Vec::new();
            reads(model, item, &mut found);
            found.sort_unstable();
            found.dedup();
            for &id in &found {
                let all = this.readers.entry(base(model, id)).or_default();
                if all.last() != Some(&at) {
                    all.push(at);
                }
            }
            this.values.push(found);
        }
        this
    }

    /// What an item reads, each value behind views once.
    fn bases(&self, model: &Model<'_, '_>, at: usize) -> Vec<Id> {
        let mut found: Vec<Id> = self.values[at].iter().map(|&id| base(model, id)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// What a value shares memory with: the value behind its views.
fn base(model: &Model<'_, '_>, mut id: Id) -> Id {
    while let Some(item) = model.values[id].item
        && model.items[item].kind == Kind::View
    {
        id = model.items[item].operands[0];
    }
    id
}

/// All values that an item reads, in its regions too.
fn reads(model: &Model<'_, '_>, item: usize, found: &mut Vec<Id>) {
    found.extend(&model.items[item].operands);
    for &block in &model.items[item].blocks {
        for &inner in &model.blocks[block].items {
            reads(model, inner, found);
        }
    }
}

/// What values of a block will be written over, if all goes well: the state of a loop by the next one, donated
/// arguments by results.
fn written_over(model: &Model<'_, '_>, block: usize, aliases: &[Option<usize>]) -> HashMap<Id, Id> {
    let part = &model.blocks[block];
    let Some(&end) = part.items.last() else { return HashMap::new() };
    let given = model.items[end].operands.iter().copied().enumerate();
    let is_body = part.parent.is_some_and(|parent| {
        model.items[parent].kind == Kind::While && model.items[parent].blocks.get(1) == Some(&block)
    });
    given
        .filter_map(|(index, value)| {
            let parameter = match block {
                0 => aliases.get(index).copied().flatten()?,
                _ if is_body => index,
                _ => return None,
            };
            Some((value, *part.parameters.get(parameter)?))
        })
        .collect()
}

/// What the items of a block need from one another, by their place in it.
struct Needs {
    before: Vec<BTreeSet<usize>>,
    after: Vec<BTreeSet<usize>>,
    /// Items that run just before the first that needs them.
    late: Vec<bool>,
}

impl Needs {
    /// What is read has to be made before, and the end comes last.
    fn of(model: &Model<'_, '_>, block: usize, reads: &Reads) -> Self {
        let items = &model.blocks[block].items;
        let count = items.len();
        let place: HashMap<usize, usize> = items.iter().enumerate().map(|(at, &item)| (item, at)).collect();
        let empty = vec![BTreeSet::new(); count];
        let mut this = Self { before: empty.clone(), after: empty, late: vec![false; count] };
        for (at, found) in reads.values.iter().enumerate() {
            let producers =
                found.iter().filter_map(|&id| model.values[id].item.and_then(|item| place.get(&item)));
            for &producer in producers {
                this.add(producer, at);
            }
        }
        for at in 0..count - 1 {
            this.add(at, count - 1);
        }
        this
    }

    fn add(&mut self, first: usize, second: usize) {
        self.before[second].insert(first);
        self.after[first].insert(second);
    }

    /// What changes a value in place waits for the others that read it, unless they wait for it.
    fn add_writes(&mut self, model: &Model<'_, '_>, block: usize, reads: &Reads, aliases: &[Option<usize>]) {
        let items = &model.blocks[block].items;
        let targets = written_over(model, block, aliases);
        for (at, &item) in items.iter().enumerate() {
            let item = &model.items[item];
            let mut changed: Vec<Id> =
                item.in_place.iter().flatten().map(|&operand| base(model, item.operands[operand])).collect();
            for (result, candidates) in item.results.iter().zip(&item.may_share) {
                if let Some(target) = targets.get(result)
                    && candidates.iter().any(|&operand| item.operands[operand] == *target)
                {
                    changed.push(*target);
                }
            }
            if item.kind == Kind::While {
                changed.extend(item.operands.iter().map(|&operand| base(model, operand)));
            }
            changed.sort_unstable();
            changed.dedup();
            for id in changed {
                let others = reads.readers.get(&id).map_or(&[][..], Vec::as_slice);
                if others.iter().all(|&other| other == at) {
                    continue;
                }
                let behind = reachable(&self.after, at);
                for &other in others {
                    if other != at && !behind.contains(&other) && other != items.len() - 1 {
                        self.add(other, at);
                    }
                }
            }
        }
    }

    /// Lets some items run just before the first that needs them.
    fn put_off(&mut self, late: Vec<bool>) {
        for at in (0..late.len()).filter(|&at| late[at]) {
            // What needs it needs all that it needs.
            for &first in &self.before[at].clone() {
                for &second in &self.after[at].clone() {
                    self.add(first, second);
                }
            }
        }
        self.late = late;
    }

    /// Runs what is ready, as `choose` says.
    fn run(&self, mut choose: impl Choose) -> Vec<usize> {
        let missed = |at: usize| self.before[at].iter().filter(|&&other| !self.late[other]).count();
        let mut missing: Vec<usize> = (0..self.before.len()).map(missed).collect();
        let is_ready = |at: &usize, missing: &[usize]| missing[*at] == 0 && !self.late[*at];
        let mut ready: BTreeSet<usize> = (0..missing.len()).filter(|at| is_ready(at, &missing)).collect();
        let mut order = Vec::with_capacity(missing.len());
        let mut done = vec![false; missing.len()];
        while let Some(next) = choose.next(&ready) {
            ready.remove(&next);
            self.emit(next, &mut done, &mut order);
            for &other in &self.after[next] {
                missing[other] -= 1;
                if is_ready(&other, &missing) {
                    ready.insert(other);
                }
            }
        }
        order
    }

    /// Puts an item behind those that it needs and that have waited for it.
    fn emit(&self, at: usize, done: &mut [bool], order: &mut Vec<usize>) {
        for &other in self.before[at].iter().filter(|&&other| self.late[other]) {
            if !done[other] {
                self.emit(other, done, order);
            }
        }
        done[at] = true;
        order.push(at);
    }
}

/// Chooses what runs next.
trait Choose {
    /// The next one of those that are ready.
    fn next(&mut self, ready: &BTreeSet<usize>) -> Option<usize>;
}

/// The order of the program.
struct InOrder;

impl Choose for InOrder {
    fn next(&mut self, ready: &BTreeSet<usize>) -> Option<usize> {
        ready.first().copied()
    }
}

/// What grows memory least comes next; of equals, what comes first in the program.
struct Frees<'m, 'c, 'a> {
    model: &'m Model<'c, 'a>,
    block: usize,
    reads: &'m Reads,
    /// By value: how many items are still to read it.
    left: HashMap<Id, usize>,
}

impl<'m, 'c: 'a, 'a> Frees<'m, 'c, 'a> {
    fn new(model: &'m Model<'c, 'a>, block: usize, reads: &'m Reads) -> Self {
        let left = reads.readers.iter().map(|(&id, all)| (id, all.len())).collect();
        Self { model, block, reads, left }
    }

    /// By how much memory grows if an item runs now.
    fn growth(&self, at: usize) -> i128 {
        let item = &self.model.items[self.model.blocks[self.block].items[at]];
        let bytes = |id: Id| i128::from(self.model.values[id].bytes);
        let made: i128 = if matches!(item.kind, Kind::View | Kind::Table) {
            0
        } else {
            item.results.iter().map(|&id| bytes(id)).sum()
        };
        let freed = self.reads.bases(self.model, at).into_iter();
        let freed: i128 = freed
            .filter(|&id| self.left.get(&id) == Some(&1) && is_ours(self.model, id, self.block))
            .map(bytes)
            .sum();
        made - freed
    }
}

impl Choose for Frees<'_, '_, '_> {
    fn next(&mut self, ready: &BTreeSet<usize>) -> Option<usize> {
        let chosen = ready.iter().copied().min_by_key(|&at| (self.growth(at), at))?;
        for id in self.reads.bases(self.model, chosen) {
            if let Some(left) = self.left.get_mut(&id) {
                *left -= 1;
            }
        }
        Some(chosen)
    }
}

/// Whether memory is free when a value of this block is not needed any more.
fn is_ours(model: &Model<'_, '_>, id: Id, block: usize) -> bool {
    let value = &model.values[id];
    value.block == block
        && match value.item {
            Some(item) => model.items[item].kind != Kind::Table,
            None => {
                block != 0
                    || model.blocks[0]
                        .parameters
                        .iter()
                        .position(|&parameter| parameter == id)
                        .is_some_and(|index| model.donated[index])
            }
        }
}

fn reachable(after: &[BTreeSet<usize>], from: usize) -> HashSet<usize> {
    let mut found = HashSet::new();
    let mut pending = vec![from];
    while let Some(next) = pending.pop() {
        for &other in &after[next] {
            if found.insert(other) {
                pending.push(other);
            }
        }
    }
    found
}
