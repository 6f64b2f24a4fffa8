// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! In which order kernels run between which devices exchange something.
//!
//! XLA for GPUs then orders anew what it has ordered for memory, so that devices compute while they wait for each other
//! (its latency hiding scheduler), and looks at memory only where that is about to run out. It goes from the results
//! back: of what nothing waits for any more it takes what ends an exchange, then what need not wait for one to end, what
//! more seconds of exchanges lead to, what lasts about as long as an exchange still does, what lets others come next,
//! and, if all that is alike, what came last. An exchange begins as early as it may if none leads to it, and one at a
//! time is under way. What is independent of each other and of a kind is exchanged together, up to 30 MiB, as a walk from
//! the results meets it. What is compared when is as in openxla/xla's `latency_hiding_scheduler.cc`, and what it reckons a
//! loop or a step to take as in `sol_latency_estimator.cc`; what kernels and exchanges take is by our own rates of the chip.

use super::fuse::{Kernel, Kernels};
use super::graph::{Class, Graph, Id};
use super::lists::{Ids, Lists};
use super::schedule::{before, walk};
use super::time::{TOGETHER, handed_over, product};
use crate::target::Rates;
use slimhlo_dialect::ffi::op_name;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nanoseconds.
type Time = u64;

/// From one op to the next, and what starting or ending an exchange takes.
const STEP: Time = 1_000;

/// What the estimate takes a loop or a branch for.
const UNKNOWN: Time = 10;

/// The same kernels in the order in which their back end then runs them; as they are if nothing is exchanged between them.
pub(super) fn hide(graph: &Graph<'_, '_>, kernels: &Kernels, order: Vec<Id>, rates: &Rates) -> Vec<Id> {
    let exchanged = |kernel: &Kernel| handed_over(graph, kernels, *kernel).is_some();
    if !kernels.kernels.iter().any(exchanged) {
        return order;
    }
    let groups = together(graph, kernels);
    let steps = Steps::new(graph, kernels, &order, (&groups, rates));
    let back = Back::new(&steps).order();
    let is_exchange = |step: Id| groups.of[step as usize].is_some();
    // An exchange has its result's memory from its start on.
    let begun = |step: Id| match steps.kinds[step as usize] {
        Kind::Start(group) => groups.all[group as usize].as_slice().to_vec(),
        Kind::Kernel => vec![step],
        Kind::Free if (step as usize) < kernels.kernels.len() && !is_exchange(step) => vec![step],
        Kind::End | Kind::Free => Vec::new(),
    };
    let is_given =
        |kernel: &Id| graph.nodes[kernels.kernels[*kernel as usize].node as usize].class == Class::Parameter;
    let given = order.iter().copied().filter(is_given);
    let hidden: Vec<Id> =
        given.chain(back.into_iter().rev().flat_map(begun).filter(|kernel| !is_given(kernel))).collect();
    // Groups of gathers and groups of sums may each have one that waits for one of the other: XLA makes no such groups.
    if hidden.len() < order.len() { order } else { hidden }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Kernel,
    /// What ends an exchange, and what starts that of a group of kernels.
    End,
    Start(Id),
    /// What takes no time: a result of several, a barrier, all results, what is given.
    Free,
}

/// Exchanges that happen at once.
struct Groups {
    all: Vec<Ids>,
    /// The group of a kernel.
    of: Vec<Option<Id>>,
}

/// See [`Groups`].
fn together(graph: &Graph<'_, '_>, kernels: &Kernels) -> Groups {
    let mut groups = Groups { all: Vec::new(), of: vec![None; kernels.kernels.len()] };
    // For each kernel the last group of each kind that it waits for, and that it is of.
    let mut behind = vec![[0; KINDS]; kernels.kernels.len()];
    // Of each kind the group that is not full, as the number after it, and its bytes.
    let mut open = [(0, 0u64); KINDS];
    for id in walk(graph, kernels, |reads| reads) {
        let mut last = [0; KINDS];
        for before in before(graph, kernels, id) {
            for (last, &behind) in last.iter_mut().zip(&behind[before as usize]) {
                *last = behind.max(*last);
            }
        }
        let kernel = kernels.kernels[id as usize];
        if handed_over(graph, kernels, kernel).is_some() {
            let kind = kind_of(graph, kernels, kernel);
            let (_, bytes) = kernels.bytes(graph, kernel);
            let (number, held) = kind.map_or((0, 0), |kind| open[kind]);
            let joins =
                kind.is_some_and(|kind| number > last[kind]) && held.saturating_add(bytes) <= TOGETHER;
            if !joins {
                groups.all.push(Ids::new());
            }
            let number = if joins { number } else { groups.all.len() as Id };
            groups.all[number as usize - 1].push(id);
            groups.of[id as usize] = Some(number - 1);
            if let Some(kind) = kind {
                open[kind] = (number, if joins { held + bytes } else { bytes });
                last[kind] = number;
            }
        }
        behind[id as usize] = last;
    }
    groups
}

/// Sums, gathers, and sums that are scattered.
const KINDS: usize = 3;

/// Of which kind an exchange is, if others of its kind may be had at once.
fn kind_of(graph: &Graph<'_, '_>, kernels: &Kernels, kernel: Kernel) -> Option<usize> {
    let node = &graph.nodes[kernel.node as usize];
    let (read, made) = kernels.bytes(graph, kernel);
    match (node.class, node.op.map_or("", |op| op_name(op))) {
        (Class::Exchange { summands: 0 | 1 }, _) | (_, "stablehlo.all_gather") => Some(1),
        (Class::Exchange { .. }, _) if made < read => Some(2),
        (_, "stablehlo.reduce_scatter") => Some(2),
        (Class::Exchange { .. }, _) | (_, "stablehlo.all_reduce") => Some(0),
        _ => None,
    }
}

/// What is put in order: kernels, results of those that have several, starts of exchanges, barriers, and the end.
struct Steps {
    kinds: Vec<Kind>,
    /// What each waits for.
    before: Lists,
    /// How many wait for each.
    after: Vec<u32>,
    cost: Vec<Time>,
    /// From the start of an exchange to its end.
    latency: Vec<Time>,
    /// Seconds of exchanges, one after the other, that lead to each.
    depth: Vec<Time>,
    /// Where each was before.
    position: Vec<u32>,
}

impl Steps {
    fn new(
        graph: &Graph<'_, '_>,
        kernels: &Kernels,
        order: &[Id],
        (groups, rates): (&Groups, &Rates),
    ) -> Self {
        let count = kernels.kernels.len();
        let mut kinds = vec![Kind::Kernel; count];
        let (mut cost, mut latency) = (vec![0; count], vec![0; count]);
        let mut part_of = vec![None; graph.values.len()];
        for (index, &kernel) in kernels.kernels.iter().enumerate() {
            match graph.nodes[kernel.node as usize].class {
                Class::Parameter | Class::Constant => kinds[index] = Kind::Free,
                Class::Loop | Class::Branch => cost[index] = UNKNOWN,
                _ => cost[index] = computing(graph, kernels, kernel, rates),
            }
            if groups.of[index].is_some() {
                kinds[index] = Kind::Free;
            } else if kernels.made(graph, kernel).count() > 1 {
                for value in kernels.made(graph, kernel) {
                    part_of[value as usize] = Some(kinds.len() as Id);
                    kinds.push(Kind::Free);
                }
            }
        }
        let barriers = kinds.len() as Id;
        kinds.resize(kinds.len() + graph.barred.len(), Kind::Free);
        let end = kinds.len() as Id;
        kinds.push(Kind::Free);
        // Each group's start and its end, which is its only kernel or hands all of them what they make.
        let mut ends = Vec::with_capacity(groups.all.len());
        for (group, exchanged) in groups.all.iter().enumerate() {
            let end = match exchanged.as_slice() {
                [only] => *only,
                _ => kinds.len() as Id,
            };
            kinds.resize(kinds.len().max(end as usize + 1), Kind::End);
            kinds[end as usize] = Kind::End;
            ends.push((kinds.len() as Id, end));
            kinds.push(Kind::Start(group as Id));
        }
        cost.resize(kinds.len(), 0);
        latency.resize(kinds.len(), 0);
        for (&(start, end), exchanged) in ends.iter().zip(&groups.all) {
            let bytes =
                exchanged.iter().filter_map(|&id| handed_over(graph, kernels, kernels.kernels[id as usize]));
            latency[end as usize] = nanoseconds(rates.exchange + bytes.sum::<f64>() / rates.link);
            (cost[start as usize], cost[end as usize]) = (STEP, STEP);
        }
        let maker =
            |value: Id| part_of[value as usize].or(kernels.of[graph.values[value as usize].node as usize]);
        let before = Lists::new(kinds.len(), |add| {
            for (index, &kernel) in kernels.kernels.iter().enumerate() {
                let index = index as Id;
                let (waits, through) =
                    groups.of[index as usize].map_or((index, index), |group| ends[group as usize]);
                if through != index {
                    add(index, through);
                }
                let reads = kernels.reads(kernel).iter().filter_map(|read| maker(read.value));
                reads.for_each(|before| add(waits, before));
                kernel.inside.after.into_iter().for_each(|barrier| add(waits, barriers + barrier));
                for value in kernels.made(graph, kernel) {
                    part_of[value as usize].into_iter().for_each(|part| add(part, index));
                }
            }
            ends.iter().for_each(|&(start, end)| add(end, start));
            for (barrier, values) in graph.barred.iter().enumerate() {
                let made = values.iter().filter_map(|&value| maker(value));
                made.for_each(|before| add(barriers + barrier as Id, before));
            }
            graph.results.iter().filter_map(|&value| maker(value)).for_each(|before| add(end, before));
        });
        let mut after = vec![0; kinds.len()];
        let mut position = vec![0; kinds.len()];
        for step in 0..kinds.len() as Id {
            before.of(step).iter().for_each(|&before| after[before as usize] += 1);
        }
        for (place, &kernel) in order.iter().enumerate() {
            position[kernel as usize] = place as u32;
            if let Some(group) = groups.of[kernel as usize] {
                let (start, end) = ends[group as usize];
                position[start as usize] = place as u32;
                position[end as usize] = place as u32;
            }
        }
        let mut steps = Self { kinds, before, after, cost, latency, depth: Vec::new(), position };
        steps.depth = steps.depths();
        steps
    }

    fn all(&self) -> std::ops::Range<Id> {
        0..self.kinds.len() as Id
    }

    /// See [`Steps::depth`].
    fn depths(&self) -> Vec<Time> {
        let mut depth = vec![0; self.kinds.len()];
        let mut waiting = self.after.clone();
        let mut sorted: Vec<Id> = self.all().filter(|&step| waiting[step as usize] == 0).collect();
        let mut next = 0;
        while let Some(&step) = sorted.get(next) {
            next += 1;
            for &before in self.before.of(step) {
                waiting[before as usize] -= 1;
                if waiting[before as usize] == 0 {
                    sorted.push(before);
                }
            }
        }
        for &step in sorted.iter().rev() {
            let before = self.before.of(step).iter().map(|&before| depth[before as usize]).max();
            depth[step as usize] = before.unwrap_or(0) + self.latency[step as usize];
        }
        depth
    }

    fn is_start(&self, step: Id) -> bool {
        matches!(self.kinds[step as usize], Kind::Start(_))
    }
}

fn nanoseconds(seconds: f64) -> Time {
    (seconds * 1e9) as Time
}

/// What a kernel takes by its bytes and its product.
fn computing(graph: &Graph<'_, '_>, kernels: &Kernels, kernel: Kernel, rates: &Rates) -> Time {
    let (read, made) = kernels.bytes(graph, kernel);
    let multiplying = kernel.inside.product.map_or(0.0, |id| {
        let node = &graph.nodes[id as usize];
        let made = graph.values.get(node.first as usize);
        node.op.zip(made).map_or(0.0, |(op, made)| product(op, made.elements, rates))
    });
    STEP + nanoseconds((read.saturating_add(made) as f64 / rates.bytes).max(multiplying))
}

/// The order, from its end.
struct Back<'s> {
    steps: &'s Steps,
    now: Time,
    /// How many that wait for each have not been taken,
    missing: Vec<u32>,
    /// and when the last of those that have may be handed what it makes; then when it was taken itself.
    ready: Vec<Time>,
    open: Vec<Id>,
    free: Vec<Id>,
    /// When what is open but has to wait need not any more.
    later: BinaryHeap<Reverse<Time>>,
    under_way: bool,
    /// Ends of exchanges among what is open.
    ends: u32,
}

impl<'s> Back<'s> {
    fn new(steps: &'s Steps) -> Self {
        Self {
            steps,
            now: 0,
            missing: steps.after.clone(),
            ready: vec![0; steps.kinds.len()],
            open: Vec::new(),
            free: Vec::new(),
            later: BinaryHeap::new(),
            under_way: false,
            ends: 0,
        }
    }

    fn order(mut self) -> Vec<Id> {
        let mut order = Vec::with_capacity(self.steps.kinds.len());
        let last = self.steps.all().filter(|&step| self.missing[step as usize] == 0);
        last.collect::<Vec<_>>().into_iter().for_each(|step| self.enter(step));
        while let Some(step) = self.next() {
            order.push(step);
            self.take(step);
        }
        order
    }

    fn enter(&mut self, step: Id) {
        let ready = &mut self.ready[step as usize];
        *ready = self.now.max(*ready);
        if self.steps.kinds[step as usize] == Kind::Free {
            self.free.push(step);
            return;
        }
        if *ready > self.now {
            self.later.push(Reverse(*ready));
        }
        self.ends += u32::from(self.steps.kinds[step as usize] == Kind::End);
        self.open.push(step);
    }

    fn next(&mut self) -> Option<Id> {
        if let Some(step) = self.free.pop() {
            return Some(step);
        }
        let may =
            |&(_, &step): &(usize, &Id)| !self.under_way || self.steps.kinds[step as usize] != Kind::End;
        let better =
            |best: (usize, Id), each: (usize, Id)| if self.is_better(each.1, best.1) { each } else { best };
        let open = self.open.iter().enumerate().filter(may).map(|(index, &step)| (index, step));
        let (index, step) = open.reduce(better)?;
        self.open.swap_remove(index);
        Some(step)
    }

    fn take(&mut self, step: Id) {
        let steps = self.steps;
        match steps.kinds[step as usize] {
            Kind::End => {
                self.under_way = true;
                self.ends -= 1;
            }
            Kind::Start(_) => self.under_way = false,
            _ => {}
        }
        let taken = self.now.max(self.ready[step as usize]);
        self.ready[step as usize] = taken;
        self.now = taken + steps.cost[step as usize];
        while self.later.peek().is_some_and(|&Reverse(ready)| ready < self.now) {
            self.later.pop();
        }
        let latency =
            if steps.kinds[step as usize] == Kind::End { steps.latency[step as usize] } else { STEP };
        for &before in steps.before.of(step) {
            let ready = &mut self.ready[before as usize];
            *ready = (*ready).max(taken + latency);
            self.missing[before as usize] -= 1;
            if self.missing[before as usize] == 0 {
                self.enter(before);
            }
        }
    }

    /// Whether one is taken rather than the other.
    fn is_better(&self, one: Id, other: Id) -> bool {
        let steps = self.steps;
        let both = |of: &dyn Fn(Id) -> u64| of(one).cmp(&of(other));
        let is_end = |step: Id| u64::from(steps.kinds[step as usize] == Kind::End);
        let held_up = |step: Id| u64::from(steps.is_start(step) && self.ends > 0);
        // It need not wait for anyone, and so may wait for long.
        let first = |step: Id| steps.is_start(step) && steps.depth[step as usize] == 0 && held_up(step) == 0;
        let stall = |step: Id| self.ready[step as usize].saturating_sub(self.now);
        let depth = |step: Id| steps.depth[step as usize];
        let by_rule = both(&is_end)
            .then_with(|| both(&|step| u64::from(!first(step))))
            .then_with(|| both(&stall).reverse())
            .then_with(|| both(&held_up))
            .then_with(|| both(&depth));
        if by_rule.is_ne() {
            return by_rule.is_gt();
        }
        if let Some(&Reverse(ready)) = self.later.peek() {
            let left = ready.saturating_sub(self.now);
            let wasted = |step: Id| left.abs_diff(steps.cost[step as usize]);
            if wasted(one) < wasted(other) && !steps.is_start(one) {
                return true;
            }
            if wasted(other) < wasted(one) && !steps.is_start(other) {
                return false;
            }
        }
        let waits_for_end = |step: Id| {
            let mut before = steps.before.of(step).iter();
            u64::from(before.any(|&before| steps.kinds[before as usize] == Kind::End))
        };
        let opens = |step: Id| {
            let before = steps.before.of(step).iter();
            before.filter(|&&before| self.missing[before as usize] == 1).count() as u64
        };
        let came = |step: Id| u64::from(steps.position[step as usize]);
        both(&waits_for_end).then_with(|| both(&opens)).then_with(|| both(&came)).is_gt()
    }
}
