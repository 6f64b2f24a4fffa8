// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! In which order kernels run.
//!
//! XLA for GPUs makes three orders and keeps the one with the least alive at its fullest step: a greedy list, which
//! takes of all kernels that could run the one that frees most, and two walks from the results to what they need,
//! operands in order or those first that most is made of (`DefaultMemoryScheduler` in openxla/xla). What comes out of a
//! barrier waits for all that goes in. A list of kernels that are not quite XLA's is easily led astray, so the
//! program's own order is a fourth. For a TPU, and for our own kernels, there are the own order and one walk.

use super::fuse::{Kernel, Kernels};
use super::graph::{Class, Graph, Id};
use super::lists::Lists;
use crate::target::Schedule;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Kernels in the order in which a back end runs them. `within` says how many bytes each needs for what its regions do.
pub(super) fn order(graph: &Graph<'_, '_>, kernels: &Kernels, within: &[u64], schedule: Schedule) -> Vec<Id> {
    match schedule {
        Schedule::FirstReady => first_ready(graph, kernels),
        Schedule::OwnOrWalk => {
            let walked = walk(graph, kernels, |reads| reads);
            least_alive(graph, kernels, within, [own(graph, kernels), walked])
        }
        Schedule::ListOrWalk => {
            let weights = Weights::of(graph, kernels);
            let by_weight = walk(graph, kernels, |reads| weights.heaviest_first(reads));
            let in_order = walk(graph, kernels, |reads| reads);
            let listed = Greedy::of(graph, kernels).order();
            least_alive(graph, kernels, within, [listed, by_weight, in_order, own(graph, kernels)])
        }
    }
}

/// Of several orders the first that keeps the least alive.
fn least_alive<const N: usize>(
    graph: &Graph<'_, '_>,
    kernels: &Kernels,
    within: &[u64],
    orders: [Vec<Id>; N],
) -> Vec<Id> {
    let alive = |order: &Vec<Id>| most_alive(graph, kernels, within, order);
    orders.into_iter().min_by_key(alive).unwrap_or_default()
}

fn is_parameter(graph: &Graph<'_, '_>, kernels: &Kernels, kernel: Id) -> bool {
    graph.nodes[kernels.kernels[kernel as usize].node as usize].class == Class::Parameter
}

/// The program's own order.
fn own(graph: &Graph<'_, '_>, kernels: &Kernels) -> Vec<Id> {
    let all = 0..kernels.kernels.len() as Id;
    let mut own: Vec<Id> = all.clone().filter(|&kernel| is_parameter(graph, kernels, kernel)).collect();
    own.extend(all.filter(|&kernel| !is_parameter(graph, kernels, kernel)));
    own
}

/// The kernel that makes a value.
fn producer(graph: &Graph<'_, '_>, kernels: &Kernels, value: Id) -> Option<Id> {
    kernels.of[graph.values[value as usize].node as usize]
}

/// What a kernel waits for: the kernels that make what it reads, in order, then those that make what the last barrier
/// before it waits for.
pub(super) fn before<'g>(
    graph: &'g Graph<'_, '_>,
    kernels: &'g Kernels,
    kernel: Id,
) -> impl Iterator<Item = Id> + 'g {
    let kernel = kernels.kernels[kernel as usize];
    let barred = kernel.inside.after.map(|barrier| graph.barred[barrier as usize].iter().copied());
    let reads = kernels.reads(kernel).iter().map(|read| read.value);
    reads.chain(barred.into_iter().flatten()).filter_map(|value| producer(graph, kernels, value))
}

/// Parameters, then each kernel after what it waits for, as a walk from the results meets them. `sorted` says in which
/// order a kernel's predecessors are met.
pub(super) fn walk(graph: &Graph<'_, '_>, kernels: &Kernels, sorted: impl Fn(Vec<Id>) -> Vec<Id>) -> Vec<Id> {
    let count = kernels.kernels.len();
    let mut order: Vec<Id> =
        (0..count as Id).filter(|&kernel| is_parameter(graph, kernels, kernel)).collect();
    let mut done = vec![false; count];
    order.iter().for_each(|&kernel| done[kernel as usize] = true);
    let has_effects = |kernel: &Id| graph.nodes[kernels.kernels[*kernel as usize].node as usize].effects;
    let results = graph.results.iter().filter_map(|&value| producer(graph, kernels, value)).collect();
    let wanted: Vec<Id> = sorted(results).into_iter().chain((0..count as Id).filter(has_effects)).collect();
    // A kernel, and what it waits for that has not been looked at, the next one last.
    let mut path: Vec<(Id, Vec<Id>)> = Vec::new();
    let enter = |kernel: Id| {
        let mut waits = sorted(before(graph, kernels, kernel).collect());
        waits.reverse();
        (kernel, waits)
    };
    for root in wanted.into_iter().chain(0..count as Id) {
        if !std::mem::replace(&mut done[root as usize], true) {
            path.push(enter(root));
        }
        while let Some((kernel, waits)) = path.last_mut() {
            let Some(next) = waits.pop() else {
                order.push(*kernel);
                path.pop();
                continue;
            };
            if !std::mem::replace(&mut done[next as usize], true) {
                path.push(enter(next));
            }
        }
    }
    order
}

/// How much there is behind each kernel.
struct Weights {
    /// Users beyond the first, and bytes, of a kernel and all that leads to it; what leads to it in several ways counts
    /// as often.
    of: Vec<(u64, u64)>,
}

impl Weights {
    fn of(graph: &Graph<'_, '_>, kernels: &Kernels) -> Self {
        let count = kernels.kernels.len();
        let mut users = vec![0u64; count];
        for kernel in 0..count as Id {
            before(graph, kernels, kernel).for_each(|before| users[before as usize] += 1);
        }
        let mut of: Vec<(u64, u64)> = Vec::with_capacity(count);
        // As many users, and bytes, as there are in all are enough.
        let (mut all, most_users) = (0u64, count as u64);
        for kernel in 0..count as Id {
            if is_parameter(graph, kernels, kernel) {
                of.push((0, 0));
                continue;
            }
            let bytes = made(graph, kernels, kernels.kernels[kernel as usize]);
            all = all.saturating_add(bytes);
            let own = (users[kernel as usize].saturating_sub(1), bytes);
            let sum = before(graph, kernels, kernel).fold(own, |(extra, bytes), before| {
                let (more, other) = of[before as usize];
                (extra.saturating_add(more), bytes.saturating_add(other))
            });
            of.push((sum.0.min(most_users), sum.1.min(all)));
        }
        Self { of }
    }

    fn heaviest_first(&self, mut kernels: Vec<Id>) -> Vec<Id> {
        kernels.sort_by_key(|&kernel| Reverse(self.of[kernel as usize]));
        kernels
    }
}

/// Bytes of what a kernel makes. A loop works on what it is given.
fn made(graph: &Graph<'_, '_>, kernels: &Kernels, kernel: Kernel) -> u64 {
    if graph.nodes[kernel.node as usize].class == Class::Loop {
        return 0;
    }
    kernels.bytes(graph, kernel).1
}

/// What is to be taken first: what frees most, then what most wait for, then what came last.
type Priority = (i64, i64, u64);

/// The greedy list.
struct Greedy<'g, 'c, 'a> {
    graph: &'g Graph<'c, 'a>,
    kernels: &'g Kernels,
    /// Kernels that read a value.
    readers: Lists,
    /// Kernels, then barriers, that wait for a kernel or a barrier, each as often as it does.
    waiting: Lists,
    /// How much each waits for.
    missing: Vec<u32>,
    /// How often a value will be read.
    unread: Vec<u32>,
    ready: BTreeMap<Priority, Id>,
    priorities: Vec<Option<Priority>>,
    came: u64,
}

impl<'g, 'c, 'a> Greedy<'g, 'c, 'a> {
    fn of(graph: &'g Graph<'c, 'a>, kernels: &'g Kernels) -> Self {
        let count = kernels.kernels.len();
        let all = count + graph.barred.len();
        let reads =
            |kernel: Id| kernels.reads(kernels.kernels[kernel as usize]).iter().map(|read| read.value);
        let readers = Lists::new(graph.values.len(), |add| {
            (0..count as Id).for_each(|kernel| reads(kernel).for_each(|value| add(value, kernel)));
        });
        let waiting = Lists::new(all, |add| {
            for kernel in 0..count as Id {
                let made = reads(kernel).filter_map(|value| producer(graph, kernels, value));
                made.for_each(|before| add(before, kernel));
                if let Some(barrier) = kernels.kernels[kernel as usize].inside.after {
                    add(count as Id + barrier, kernel);
                }
            }
            for (barrier, values) in graph.barred.iter().enumerate() {
                let made = values.iter().filter_map(|&value| producer(graph, kernels, value));
                made.for_each(|before| add(before, (count + barrier) as Id));
            }
        });
        let mut missing = vec![0; all];
        for before in 0..all as Id {
            waiting.of(before).iter().for_each(|&later| missing[later as usize] += 1);
        }
        let mut unread: Vec<u32> =
            (0..graph.values.len() as Id).map(|value| readers.of(value).len() as u32).collect();
        graph.results.iter().for_each(|&value| unread[value as usize] += 1);
        let priorities = vec![None; count];
        Self {
            graph,
            kernels,
            readers,
            waiting,
            missing,
            unread,
            ready: BTreeMap::new(),
            priorities,
            came: 0,
        }
    }

    fn order(mut self) -> Vec<Id> {
        let count = self.kernels.kernels.len();
        let all = count + self.graph.barred.len();
        let mut order = Vec::with_capacity(count);
        let (given, other): (Vec<Id>, Vec<Id>) = (0..all as Id)
            .filter(|&each| self.missing[each as usize] == 0)
            .partition(|&each| (each as usize) < count && is_parameter(self.graph, self.kernels, each));
        for each in other.into_iter().chain(given) {
            self.enter(each, &mut order);
        }
        while let Some((_, kernel)) = self.ready.pop_last() {
            self.priorities[kernel as usize] = None;
            self.take(kernel, &mut order);
        }
        order
    }

    /// What waits for nothing any more: a kernel may run, a barrier is passed, and what is given is there.
    fn enter(&mut self, each: Id, order: &mut Vec<Id>) {
        let mut pending = vec![each];
        while let Some(each) = pending.pop() {
            if (each as usize) < self.kernels.kernels.len() {
                if is_parameter(self.graph, self.kernels, each) {
                    self.take(each, order);
                } else {
                    self.came += 1;
                    let priority = self.priority(each, self.came);
                    self.ready.insert(priority, each);
                    self.priorities[each as usize] = Some(priority);
                }
            } else {
                self.pass(each, &mut pending);
            }
        }
    }

    /// Whoever waits for it waits for one less.
    fn pass(&mut self, each: Id, pending: &mut Vec<Id>) {
        for &later in self.waiting.of(each) {
            let missing = &mut self.missing[later as usize];
            *missing -= 1;
            if *missing == 0 {
                pending.push(later);
            }
        }
    }

    fn take(&mut self, kernel: Id, order: &mut Vec<Id>) {
        order.push(kernel);
        let kernels = self.kernels;
        for read in kernels.reads(kernels.kernels[kernel as usize]) {
            let unread = &mut self.unread[read.value as usize];
            *unread -= 1;
            if *unread == 1 {
                self.hurry(read.value);
            }
        }
        let mut ready = Vec::new();
        self.pass(kernel, &mut ready);
        ready.into_iter().for_each(|each| self.enter(each, order));
    }

    /// A value has one reader left: if that may run, it frees more than before.
    fn hurry(&mut self, value: Id) {
        for &reader in self.readers.of(value) {
            let Some(old) = self.priorities[reader as usize] else { continue };
            self.came += 1;
            let new = self.priority(reader, self.came);
            if (new.0, new.1) != (old.0, old.1) {
                self.ready.remove(&old);
                self.ready.insert(new, reader);
                self.priorities[reader as usize] = Some(new);
            }
        }
    }

    fn priority(&self, id: Id, came: u64) -> Priority {
        let kernel = self.kernels.kernels[id as usize];
        let node = &self.graph.nodes[kernel.node as usize];
        let elements =
            self.kernels.made(self.graph, kernel).map(|value| self.graph.values[value as usize].elements);
        // Numbers first, so that they are close together.
        if node.count == 1 && elements.sum::<u64>() == 1 {
            return (i64::MAX, i64::MAX, came);
        }
        let is_loop = node.class == Class::Loop;
        let carried = |value: Id| is_loop && node.operands[..node.count as usize].contains(&value);
        let mut freed = 0u64;
        for read in self.kernels.reads(kernel) {
            let content = &self.graph.values[read.value as usize];
            let given =
                matches!(self.graph.nodes[content.node as usize].class, Class::Parameter | Class::Constant);
            if self.unread[read.value as usize] == 1 && !given && !carried(read.value) {
                freed = freed.saturating_add(content.bytes);
            }
        }
        let made = made(self.graph, self.kernels, kernel);
        let gain =
            i64::try_from(freed).unwrap_or(i64::MAX).saturating_sub(i64::try_from(made).unwrap_or(i64::MAX));
        (gain, self.waiting.of(id).len() as i64, came)
    }
}

/// First come, first served: kernels run in the order in which their operands become ready.
fn first_ready(graph: &Graph<'_, '_>, kernels: &Kernels) -> Vec<Id> {
    const NONE: Id = Id::MAX;
    let count = kernels.kernels.len();
    // Each once, however many results of a kernel it reads.
    let users = Lists::new(count, |add| {
        let mut latest = vec![NONE; count];
        for (index, &kernel) in kernels.kernels.iter().enumerate() {
            for read in kernels.reads(kernel) {
                if let Some(producer) = producer(graph, kernels, read.value)
                    && std::mem::replace(&mut latest[producer as usize], index as Id) != index as Id
                {
                    add(producer, index as Id);
                }
            }
        }
    });
    let mut missing = vec![0u32; count];
    for kernel in 0..count as Id {
        users.of(kernel).iter().for_each(|&user| missing[user as usize] += 1);
    }
    // What is ready is also the queue of those whose users have not been looked at.
    let mut order = own(graph, kernels);
    order.retain(|&kernel| missing[kernel as usize] == 0);
    let mut next = 0;
    while let Some(&kernel) = order.get(next) {
        next += 1;
        for &user in users.of(kernel) {
            let missing = &mut missing[user as usize];
            *missing -= 1;
            if *missing == 0 {
                order.push(user);
            }
        }
    }
    order
}

/// Bytes alive at the fullest step, where results take the place of operands of their size, and of what a loop is
/// given, and nothing else shares memory.
fn most_alive(graph: &Graph<'_, '_>, kernels: &Kernels, within: &[u64], order: &[Id]) -> u64 {
    let mut last = vec![0u32; graph.values.len()];
    for (step, &kernel) in order.iter().enumerate() {
        let reads = kernels.reads(kernels.kernels[kernel as usize]);
        reads.iter().for_each(|read| last[read.value as usize] = step as u32);
    }
    graph.results.iter().for_each(|&value| last[value as usize] = u32::MAX);
    let (mut live, mut most) = (0u64, 0u64);
    for (step, &kernel) in order.iter().enumerate() {
        let inside = within[kernel as usize];
        let kernel = kernels.kernels[kernel as usize];
        let node = &graph.nodes[kernel.node as usize];
        if node.class == Class::Parameter {
            continue;
        }
        // A result takes the place of an operand of its size that ends here.
        let (mut added, mut replaced) = (0u64, 0u64);
        for made_by in kernels.nodes(kernel) {
            let made = graph.results_of(made_by).map(|value| graph.values[value as usize].bytes);
            let made = made.fold(0, u64::saturating_add);
            added = added.saturating_add(made);
            let replaces = node.class == Class::Loop
                || kernels.reads(kernel).iter().any(|read| {
                    read.pointwise
                        && read.of == made_by
                        && last[read.value as usize] == step as u32
                        && graph.values[read.value as usize].bytes == made
                });
            replaced = replaced.saturating_add(if replaces { made } else { 0 });
        }
        live = live.saturating_add(added);
        most = most.max(live.saturating_sub(replaced).saturating_add(inside));
        for read in kernels.reads(kernel) {
            let content = &graph.values[read.value as usize];
            let given = graph.nodes[content.node as usize].class == Class::Parameter;
            if last[read.value as usize] == step as u32 && !given {
                live = live.saturating_sub(content.bytes);
            }
        }
    }
    most
}
