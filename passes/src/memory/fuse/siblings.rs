// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Kernels that store several results.
//!
//! Once all is fused that is computed on the fly, XLA for GPUs joins kernels that read the same value and go over as many elements
//! (siblings), and a kernel that makes a value with one that reads it; what is joined so is one launch, reads what its parts have in
//! common while it is in the cache, and stores all results at the same time (`MultiOutputFusion` in openxla/xla; which kernels can be
//! joined is what `FusionHeroesAreCompatible` and `ShapesCompatibleForMultiOutputFusion` say there).
//!
//! A kernel that makes a value is not joined with a sum of it that has too few blocks of threads to read all that the former reads: by XLA's own
//! reckoning that takes longer than both one after the other (`GpuPerformanceModel` there). Sums over several dimensions go over their
//! operand as if these were one; such a kernel is joined with one that goes over the dimensions as they are, and no more.
//!
//! XLA for TPUs does so with the kernels of products, too, which take along reductions of what they make, and joins reductions along any
//! dimensions (`Joins`). Two products it does not join, nor what a product is made of with it.
//!
//! Values are gone through from the last to the first. Kernels lie in an order in which they could run, and two of them are joined only
//! if no third one has to run between them; those that have to run after the first, of all between the two, then go behind both.

use super::super::blocks::{columns_of, made_in_stages};
use super::super::graph::{Class, Graph, Id, Reduce};
use super::super::lists::{Ids, Lists};
use super::super::stages::left_for_one;
use super::collect::once;
use super::{Kernel, Kernels, NOBODY, Piece, Read};
use crate::ir::i64_array;
use crate::target::{Joins, Storage};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, ValueLike};
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;
use smallvec::{SmallVec, smallvec};

/// Results and operands of a kernel, and its reductions, that XLA lets come together.
pub(super) const MOST_OPERANDS: usize = 96;
const MOST_REDUCTIONS: usize = 8;

/// Bytes of a value below which slices of it need nothing in common to be worth one kernel: XLA's figure.
const SMALL: u64 = 1024;

/// Kernels between two that are looked through for one that has to run there; kernels that are tried with one and cannot be joined; and
/// those that read what it reads and are looked at: further ones are mostly steps of the same computation, one after the other.
const FARTHEST: usize = 128;
const MOST_TRIED: usize = 8;
const MOST_SIBLINGS: usize = 64;

/// What decides over which elements a kernel goes, and how.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hero {
    /// Those of its results.
    Plain,
    /// Those that this node reduces.
    Reduction(Id),
    /// Those of its results in tiles.
    Transposed,
}

/// Kernels that have been joined, or one.
struct Group {
    kernels: Ids,
    hero: Hero,
    /// Over how many elements it goes.
    elements: u64,
    /// It goes over these as if several dimensions were one.
    flat: bool,
    /// More than one op.
    fused: bool,
    reductions: usize,
    /// One of its kernels multiplies.
    product: bool,
    /// Results and operands.
    operands: usize,
}

struct Joining<'k, 'g, 'c, 'a> {
    graph: &'g Graph<'c, 'a>,
    kernels: &'k Kernels,
    storage: &'static Storage,
    joins: Joins,
    /// Kernels that read a value.
    readers: Lists,
    /// Barriers that a value goes into, and kernels that wait for a barrier.
    barriers: Lists,
    behind: Lists,
    /// Which group a kernel is in; `None` for one that is never joined.
    groups: Vec<Option<Group>>,
    /// The kernel that stands for all of its group.
    leader: Vec<Id>,
    /// Leaders in an order in which groups could run, with gaps, and where each is.
    order: Vec<Id>,
    at: Vec<u32>,
    /// The last search that met a leader.
    met: Vec<u32>,
    searches: u32,
}

impl Kernels {
    /// The same with kernels joined as the back end joins them.
    pub(super) fn joined(
        self,
        graph: &Graph<'_, '_>,
        (storage, joins): (&'static Storage, Joins),
        slower: &[bool],
    ) -> Self {
        let mut joining = Joining::new(graph, &self, (storage, joins));
        for node in (0..graph.nodes.len() as Id).rev() {
            if let Some(kernel) = self.of[node as usize]
                && !matches!(graph.nodes[node as usize].class, Class::Constant)
                && (joins.products || !is_apart(graph, self.kernels[kernel as usize]))
            {
                graph.results_of(node).for_each(|value| joining.join_readers(value));
                if !slower[node as usize] {
                    joining.join_with_reader(kernel);
                }
            }
        }
        joining.kernels()
    }
}

impl<'k, 'g, 'c, 'a> Joining<'k, 'g, 'c, 'a> {
    fn new(
        graph: &'g Graph<'c, 'a>,
        kernels: &'k Kernels,
        (storage, joins): (&'static Storage, Joins),
    ) -> Self {
        let count = kernels.kernels.len();
        let readers = Lists::new(graph.values.len(), |add| {
            for (id, &kernel) in kernels.kernels.iter().enumerate() {
                kernels.reads(kernel).iter().for_each(|read| add(read.value, id as Id));
            }
        });
        let barriers = Lists::new(graph.values.len(), |add| {
            for (barrier, values) in graph.barred.iter().enumerate() {
                values.iter().for_each(|&value| add(value, barrier as Id));
            }
        });
        let behind = Lists::new(graph.barred.len(), |add| {
            for (id, kernel) in kernels.kernels.iter().enumerate() {
                kernel.inside.after.into_iter().for_each(|barrier| add(barrier, id as Id));
            }
        });
        let groups =
            (0..count as Id).map(|kernel| group_of(graph, kernels, kernel, (storage, joins))).collect();
        let all: Vec<Id> = (0..count as Id).collect();
        Self {
            graph,
            kernels,
            storage,
            joins,
            readers,
            barriers,
            behind,
            groups,
            leader: all.clone(),
            order: all.clone(),
            at: all,
            met: vec![0; count],
            searches: 0,
        }
    }

    /// Groups that read a value, each once, those first that have been joined, then those of several ops.
    fn reading(&mut self, value: Id) -> Ids {
        self.searches += 1;
        let mut reading = Ids::new();
        for &reader in self.readers.of(value) {
            let leader = self.leader[reader as usize];
            let is_new = std::mem::replace(&mut self.met[leader as usize], self.searches) != self.searches;
            if is_new && self.groups[leader as usize].is_some() {
                reading.push(leader);
            }
        }
        reading.sort_by_key(|&leader| std::cmp::Reverse(self.rank(leader)));
        reading
    }

    fn rank(&self, leader: Id) -> u8 {
        match &self.groups[leader as usize] {
            Some(group) if group.kernels.len() > 1 => 2,
            Some(group) if group.fused => 1,
            _ => 0,
        }
    }

    /// Joins kernels that read a value.
    fn join_readers(&mut self, value: Id) {
        if self.graph.values[value as usize].elements <= 1 {
            return;
        }
        let mut siblings = self.reading(value);
        siblings.retain(|&mut leader| !self.is_last(leader) && !self.multiplies(leader));
        let mut first = 0;
        while let Some(&one) = siblings.get(first) {
            first += 1;
            if self.rank(one) == 0 {
                break;
            }
            let (mut next, mut tried) = (first, 0);
            while tried < MOST_TRIED
                && next < first + MOST_SIBLINGS
                && let Some(&other) = siblings.get(next)
            {
                let fit = self.fit(one, other) && self.overlap(value, one, other);
                if fit && self.join(one, other, false) {
                    siblings.remove(next);
                } else {
                    tried += usize::from(fit);
                    next += 1;
                }
            }
        }
    }

    /// Joins a kernel that makes a value with the first that reads it, if it can be.
    fn join_with_reader(&mut self, kernel: Id) {
        let leader = self.leader[kernel as usize];
        let Some(group) = self.groups[leader as usize].as_ref() else { return };
        if group.kernels.len() > 1 || group.hero != Hero::Plain {
            return;
        }
        let node = self.kernels.kernels[kernel as usize].node;
        let mut reading: Ids = Ids::new();
        let (mut is_result, mut apart) = (false, false);
        for value in self.graph.results_of(node) {
            is_result |= self.graph.results.contains(&value);
            let is_apart = |&reader: &Id| self.groups[self.leader[reader as usize] as usize].is_none();
            apart |= self.readers.of(value).iter().any(is_apart);
            reading.extend(self.reading(value));
        }
        // One that only one kernel reads would have been computed within that if it could.
        if let [reader] = reading[..]
            && !is_result
            && !apart
            && self.rank(reader) < 2
        {
            return;
        }
        reading.sort_by_key(|&leader| std::cmp::Reverse(self.rank(leader)));
        for reader in reading {
            let fit = self.reads_once(kernel, reader) && !self.multiplies(reader) && self.fit(leader, reader);
            if fit && self.has_blocks_for(kernel, reader) && self.join(leader, reader, true) {
                break;
            }
        }
    }

    fn multiplies(&self, leader: Id) -> bool {
        self.groups[leader as usize].as_ref().is_some_and(|group| group.product)
    }

    /// Whether a group takes each element that a kernel makes no more than once: it would compute it as often.
    fn reads_once(&self, kernel: Id, reader: Id) -> bool {
        let made =
            |value: Id| self.kernels.of[self.graph.values[value as usize].node as usize] == Some(kernel);
        self.members(reader).iter().all(|&member| {
            let reads = self.kernels.reads(self.kernels.kernels[member as usize]);
            let reads = reads.iter().filter(|read| made(read.value));
            let (bytes, all) = reads.fold((0, 0), |(bytes, all), read| {
                (bytes + read.bytes + read.again, self.graph.values[read.value as usize].bytes.max(all))
            });
            bytes <= all
        })
    }

    /// Whether a group that reduces what a kernel makes has blocks of threads enough to read what that reads, too, in the time of both.
    fn has_blocks_for(&self, kernel: Id, reader: Id) -> bool {
        let Some(each) = self.storage.column_blocks else { return true };
        let members = self.members(reader);
        let nodes = members.iter().flat_map(|&id| self.kernels.computed(self.kernels.kernels[id as usize]));
        let blocks = nodes.filter(|&node| columns_of(self.graph, node).is_some()).map(|node| {
            let made = &self.graph.values[self.graph.nodes[node as usize].first as usize];
            let width = made.bytes as f64 / made.elements.max(1) as f64;
            each.count(made_in_stages(self.graph, node, self.storage) * width)
        });
        let Some(blocks) = blocks.min_by(f64::total_cmp) else { return true };
        let kernel = self.kernels.kernels[kernel as usize];
        let read: u64 = self.kernels.reads(kernel).iter().map(|read| read.bytes).sum();
        let made: u64 =
            self.kernels.made(self.graph, kernel).map(|id| self.graph.values[id as usize].bytes).sum();
        let slower = f64::max(1.0, each.busy / blocks);
        read as f64 * (slower - 1.0) <= made as f64 * slower + self.storage.launch_bytes as f64
    }

    /// Whether a kernel makes the only result of all, and nothing that is read: it is not looked at.
    fn is_last(&self, leader: Id) -> bool {
        let &[result] = &self.graph.results[..] else { return false };
        let mut made = self.kernels.made(self.graph, self.kernels.kernels[leader as usize]);
        self.readers.of(result).is_empty() && made.any(|value| value == result)
    }

    /// Whether two groups go over the same elements in the same way, and are not too many together.
    fn fit(&self, one: Id, other: Id) -> bool {
        let (Some(first), Some(second)) = (&self.groups[one as usize], &self.groups[other as usize]) else {
            return false;
        };
        let heroes = match (first.hero, second.hero) {
            (Hero::Reduction(one), Hero::Reduction(other)) => {
                !self.joins.alike || reduce_alike(self.graph, one, other)
            }
            (Hero::Reduction(_), Hero::Transposed) | (Hero::Transposed, Hero::Reduction(_)) => false,
            _ => true,
        };
        // Over the same dimensions, or two kernels that nobody has joined.
        let alike =
            !self.joins.alike || first.flat == second.flat || first.kernels.len() + second.kernels.len() == 2;
        heroes
            && alike
            && one != other
            && first.elements == second.elements
            && first.reductions + second.reductions <= MOST_REDUCTIONS
            && (first.operands + second.operands <= MOST_OPERANDS || self.united(one, other) <= MOST_OPERANDS)
    }

    /// Results and operands of two groups together, what both read counted once.
    fn united(&self, one: Id, other: Id) -> usize {
        let members = [self.members(one), self.members(other)].concat();
        let kernels = || members.iter().map(|&member| self.kernels.kernels[member as usize]);
        let read: FxHashSet<Id> =
            kernels().flat_map(|kernel| self.kernels.reads(kernel)).map(|read| read.value).collect();
        members.len() + read.len()
    }

    /// Whether two kernels may need the same elements of a value that both read: slices may have none in common.
    fn overlap(&self, value: Id, one: Id, other: Id) -> bool {
        if self.graph.values[value as usize].bytes < SMALL {
            return true;
        }
        let slice = |leader: Id| {
            let group = self.groups[leader as usize].as_ref()?;
            let &[kernel] = &group.kernels[..] else { return None };
            let reads = self.kernels.reads(self.kernels.kernels[kernel as usize]);
            let mut taking = reads.iter().filter(|read| read.value == value);
            let taker = taking.next().filter(|_| taking.next().is_none())?.taker;
            let op = self.graph.nodes[taker as usize].op.filter(|op| op_name(*op) == "stablehlo.slice")?;
            let of = op.operands().next()?;
            Some((of, i64_array(op, "start_indices")?, i64_array(op, "limit_indices")?))
        };
        let (Some((of, from, to)), Some((other_of, other_from, other_to))) = (slice(one), slice(other))
        else {
            return true;
        };
        // Slices of the same by way of others have other places.
        if of != other_of {
            return true;
        }
        let ends = from.iter().zip(to).zip(other_from.iter().zip(other_to));
        ends.into_iter().all(|((from, to), (other_from, other_to))| from < other_to && other_from < to)
    }

    /// Makes two groups one, unless a third has to run between them; `direct` if the second may read what the first makes.
    fn join(&mut self, one: Id, other: Id, direct: bool) -> bool {
        let (first, second) =
            if self.at[one as usize] < self.at[other as usize] { (one, other) } else { (other, one) };
        if self.later(first, second, direct).is_none() {
            return false;
        }
        let (from, to) = (self.at[first as usize] as usize, self.at[second as usize] as usize);
        let between: Vec<Id> = self.order[from + 1..to].to_vec();
        let (met, searches) = (&self.met, self.searches);
        let is_later = |leader: &Id| *leader != NOBODY && met[*leader as usize] == searches;
        let earlier = between.iter().copied().filter(|leader| *leader != NOBODY && !is_later(leader));
        let moved: Vec<Id> = earlier.chain([first]).chain(between.iter().copied().filter(is_later)).collect();
        let start = to + 1 - moved.len();
        self.order[from..start].fill(NOBODY);
        for (place, leader) in (start..).zip(moved) {
            self.order[place] = leader;
            self.at[leader as usize] = place as u32;
        }
        let united = self.united(first, second);
        if let Some(second) = self.groups[second as usize].take()
            && let Some(group) = &mut self.groups[first as usize]
        {
            second.kernels.iter().for_each(|&kernel| self.leader[kernel as usize] = first);
            group.kernels.extend(second.kernels);
            group.fused = true;
            group.flat |= second.flat;
            group.reductions += second.reductions;
            group.product |= second.product;
            group.operands = united;
            // A reduction binds most.
            if group.hero == Hero::Plain || matches!(second.hero, Hero::Reduction(_)) {
                group.hero = second.hero;
            }
        }
        true
    }

    /// Marks groups between two that have to run after the first; `None` if the second has to, or if there are too many to tell.
    fn later(&mut self, first: Id, second: Id, direct: bool) -> Option<()> {
        let end = self.at[second as usize];
        self.searches += 1;
        self.met[first as usize] = self.searches;
        let mut later: Ids = smallvec![first];
        let mut next = 0;
        while let Some(&leader) = later.get(next) {
            next += 1;
            for kernel in self.members(leader) {
                for value in self.kernels.made(self.graph, self.kernels.kernels[kernel as usize]) {
                    let behind = self.barriers.of(value).iter().flat_map(|&barrier| self.behind.of(barrier));
                    let waits = behind.map(|&reader| (reader, false));
                    let reads = self.readers.of(value).iter().map(|&reader| (reader, true));
                    for (reader, reads) in reads.chain(waits) {
                        let reader = self.leader[reader as usize];
                        if reader == second {
                            if !(direct && reads && leader == first) {
                                return None;
                            }
                        } else if self.at[reader as usize] < end
                            && std::mem::replace(&mut self.met[reader as usize], self.searches)
                                != self.searches
                        {
                            later.push(reader);
                        }
                    }
                }
            }
            if later.len() > FARTHEST {
                return None;
            }
        }
        Some(())
    }

    fn members(&self, leader: Id) -> Ids {
        match &self.groups[leader as usize] {
            Some(group) => group.kernels.clone(),
            None => smallvec![leader],
        }
    }

    /// All kernels, in an order in which they could run.
    fn kernels(self) -> Kernels {
        let mut made = Kernels {
            kernels: Vec::with_capacity(self.kernels.kernels.len()),
            of: vec![None; self.graph.nodes.len()],
            reads: Vec::with_capacity(self.kernels.reads.len()),
            beside: Vec::new(),
            in_rows: self.kernels.in_rows.clone(),
        };
        for &leader in self.order.iter().filter(|&&leader| leader != NOBODY) {
            let mut members = self.members(leader);
            members.sort_unstable();
            let id = made.kernels.len() as Id;
            let nodes = members.iter().map(|&member| self.kernels.kernels[member as usize].node);
            nodes.for_each(|node| made.of[node as usize] = Some(id));
            let kernel = self.kernel(&members, &mut made);
            made.kernels.push(kernel);
        }
        made
    }

    /// What comes of kernels that are joined, in the order in which they could run.
    fn kernel(&self, members: &[Id], made: &mut Kernels) -> Kernel {
        let old = |member: Id| self.kernels.kernels[member as usize];
        let (reads, beside) = (made.reads.len(), made.beside.len());
        let mut kernel = old(members[0]);
        for &member in members {
            let part = old(member);
            kernel.inside.after = kernel.inside.after.max(part.inside.after);
            kernel.inside.reduction = kernel.inside.reduction.or(part.inside.reduction);
            for &read in self.kernels.reads(part) {
                let maker = self.kernels.of[self.graph.values[read.value as usize].node as usize];
                if maker.is_some_and(|maker| members.contains(&maker)) {
                    continue;
                }
                let mut known = made.reads[reads..].iter_mut().filter(|known| known.value == read.value);
                match known.find(|known| known.by == read.by) {
                    // Two results cannot lie where it has been.
                    Some(known) => once(known, Read { pointwise: false, ..read }),
                    None => made.reads.push(read),
                }
            }
        }
        made.beside.extend(members[1..].iter().map(|&member| old(member).node));
        kernel.reads = Piece { first: reads as u32, count: (made.reads.len() - reads) as u32 };
        kernel.beside = Piece { first: beside as u32, count: members.len() as u32 - 1 };
        kernel
    }
}

/// Whether it is of a compiler of its own, as products of matrices and what goes along rows are: what reads it is not joined for that.
fn is_apart(graph: &Graph<'_, '_>, kernel: Kernel) -> bool {
    let product = kernel.inside.product.and_then(|product| graph.nodes[product as usize].op);
    kernel.inside.rows || product.is_some_and(|op| op_name(op) != "stablehlo.convolution")
}

/// A kernel as a group of its own, if it can be joined with others.
fn group_of(
    graph: &Graph<'_, '_>,
    kernels: &Kernels,
    id: Id,
    (storage, joins): (&Storage, Joins),
) -> Option<Group> {
    let kernel = kernels.kernels[id as usize];
    let node = &graph.nodes[kernel.node as usize];
    let inside = kernel.inside;
    let product = inside.product.is_some();
    if inside.rows || product && !joins.products || node.count != 1 {
        return None;
    }
    let is_transpose = node.op.is_some_and(|op| op_name(op) == "stablehlo.transpose");
    let hero = match node.class {
        Class::Map(_) => inside.reduction.map_or(Hero::Plain, Hero::Reduction),
        Class::Reduce(Reduce::Kernel) => Hero::Reduction(kernel.node),
        Class::Dot { .. } => Hero::Plain,
        Class::Move if is_transpose => Hero::Transposed,
        Class::Broadcast
        | Class::Iota
        | Class::Move
        | Class::Pad
        | Class::Read
        | Class::Gather
        | Class::Join { .. }
            if inside.fused =>
        {
            Hero::Plain
        }
        _ => return None,
    };
    let elements = |value: Id| graph.values[value as usize].elements;
    let over = match hero {
        Hero::Reduction(reduction) => elements(*graph.nodes[reduction as usize].operands.first()?),
        _ => elements(node.first),
    };
    let reductions = usize::from(matches!(hero, Hero::Reduction(_)));
    Some(Group {
        kernels: smallvec![id],
        hero,
        elements: over,
        flat: matches!(hero, Hero::Reduction(reduction) if is_flat(graph, reduction, storage)),
        fused: inside.fused,
        reductions,
        product,
        operands: 1 + kernel.reads.count as usize,
    })
}

/// Whether a reduction goes over several dimensions as if they were one, or over one as if it were several.
fn is_flat(graph: &Graph<'_, '_>, reduction: Id, storage: &Storage) -> bool {
    let node = &graph.nodes[reduction as usize];
    let Some(op) = node.op else { return false };
    let shape = op.operands().next().and_then(|operand| Tensor::new(operand.r#type()));
    let (Some(dims), Some(shape)) = (i64_array(op, "dimensions"), shape) else { return false };
    let reduced = (0..).zip(shape.shape).filter(|(dim, size)| **size != 1 && dims.contains(dim));
    let sizes: SmallVec<[u64; 4]> = reduced.map(|(_, &size)| size.unsigned_abs()).collect();
    let parts = left_for_one(graph, reduction, storage);
    match sizes[..] {
        [first, _] if parts > 1 => first != parts,
        _ => sizes.len() > 1 || parts > 1,
    }
}

/// Whether two reductions go over the same dimensions of arrays of the same shape.
fn reduce_alike(graph: &Graph<'_, '_>, one: Id, other: Id) -> bool {
    let ops = graph.nodes[one as usize].op.zip(graph.nodes[other as usize].op);
    let of = |op: OperationRef<'_, '_>| {
        let shape = op.operands().next().and_then(|operand| Tensor::new(operand.r#type()))?.shape.to_vec();
        Some((shape, i64_array(op, "dimensions")?.to_vec()))
    };
    ops.is_some_and(|(one, other)| of(one).is_some_and(|one| of(other) == Some(one)))
}
