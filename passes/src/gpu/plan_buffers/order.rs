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

/// Puts the items of each block into an order in which everything is made before it is read.
pub fn order(model: &mut Model<'_, '_>, strategy: Strategy, aliases: &[Option<usize>]) {
    for block in 0..model.blocks.len() {
        order_block(model, block, strategy, aliases);
    }
}

/// What the items of a block need from one another, by their place in it.
struct Needs {
    before: Vec<BTreeSet<usize>>,
    after: Vec<BTreeSet<usize>>,
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

/// What values of a block will be written over, if all goes well: the state of a loop by the next one, donated arguments by
/// results.
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

fn order_block(model: &mut Model<'_, '_>, block: usize, strategy: Strategy, aliases: &[Option<usize>]) {
    let items = model.blocks[block].items.clone();
    let count = items.len();
    if count < 3 {
        return;
    }
    let place: HashMap<usize, usize> = items.iter().enumerate().map(|(at, &item)| (item, at)).collect();
    let mut reading: Vec<Vec<Id>> = Vec::with_capacity(count);
    for &item in &items {
        let mut found = Vec::new();
        reads(model, item, &mut found);
        found.sort_unstable();
        found.dedup();
        reading.push(found);
    }
    // What a value shares memory with: the value behind its views.
    let base = |model: &Model<'_, '_>, mut id: Id| {
        while let Some(item) = model.values[id].item
            && model.items[item].kind == Kind::View
        {
            id = model.items[item].operands[0];
        }
        id
    };
    let mut needs = Needs { before: vec![BTreeSet::new(); count], after: vec![BTreeSet::new(); count] };
    let mut readers: HashMap<Id, Vec<usize>> = HashMap::new();
    for (at, found) in reading.iter().enumerate() {
        for &id in found {
            if let Some(item) = model.values[id].item
                && let Some(&producer) = place.get(&item)
            {
                needs.before[at].insert(producer);
                needs.after[producer].insert(at);
            }
            let id = base(model, id);
            let all = readers.entry(id).or_default();
            if all.last() != Some(&at) {
                all.push(at);
            }
        }
    }
    // The end comes last.
    for at in 0..count - 1 {
        needs.before[count - 1].insert(at);
        needs.after[at].insert(count - 1);
    }
    let targets = written_over(model, block, aliases);
    // What changes a value in place waits for the others that read it, unless they wait for it.
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
            let others: Vec<usize> = readers
                .get(&id)
                .map_or_else(Vec::new, |all| all.iter().copied().filter(|&other| other != at).collect());
            if others.is_empty() {
                continue;
            }
            let behind = reachable(&needs.after, at);
            for other in others {
                if !behind.contains(&other) && other != count - 1 {
                    needs.before[at].insert(other);
                    needs.after[other].insert(at);
                }
            }
        }
    }
    let order = match strategy {
        Strategy::Program => by(count, &needs, |_, ready| ready.iter().next().copied()),
        Strategy::Frees => {
            let mut left: HashMap<Id, usize> = readers.iter().map(|(&id, all)| (id, all.len())).collect();
            let mut last: Option<usize> = None;
            by(count, &needs, |_, ready| {
                if let Some(at) = last {
                    let mut seen = HashSet::new();
                    for &id in &reading[at] {
                        let id = base(model, id);
                        if seen.insert(id)
                            && let Some(left) = left.get_mut(&id)
                        {
                            *left -= 1;
                        }
                    }
                }
                // What grows memory least; of equals, what comes first.
                let chosen = ready.iter().copied().min_by_key(|&at| {
                    let item = &model.items[items[at]];
                    let made: i128 = if matches!(item.kind, Kind::View | Kind::Table) {
                        0
                    } else {
                        item.results.iter().map(|&id| i128::from(model.values[id].bytes)).sum()
                    };
                    let mut seen = HashSet::new();
                    let freed: i128 = reading[at]
                        .iter()
                        .map(|&id| base(model, id))
                        .filter(|&id| {
                            seen.insert(id) && left.get(&id) == Some(&1) && is_ours(model, id, block)
                        })
                        .map(|id| i128::from(model.values[id].bytes))
                        .sum();
                    (made - freed, at)
                });
                last = chosen;
                chosen
            })
        }
    };
    model.blocks[block].items = order.into_iter().map(|at| items[at]).collect();
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

/// Runs what is ready, as `choose` says.
fn by(
    count: usize,
    needs: &Needs,
    mut choose: impl FnMut(usize, &BTreeSet<usize>) -> Option<usize>,
) -> Vec<usize> {
    let mut missing: Vec<usize> = needs.before.iter().map(BTreeSet::len).collect();
    let mut ready: BTreeSet<usize> = (0..count).filter(|&at| missing[at] == 0).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(next) = choose(order.len(), &ready) {
        ready.remove(&next);
        order.push(next);
        for &other in &needs.after[next] {
            missing[other] -= 1;
            if missing[other] == 0 {
                ready.insert(other);
            }
        }
    }
    order
}
