// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What each kernel reads, and what it computes on the way.

use super::super::graph::{Class, Graph, Id, Reduce};
use super::{Fusion, Inside, Kernel, Kernels, NOBODY, Piece, Read};
use crate::ir::i64_array;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// More reads than these of what is computed on the fly are not told apart: the others count as the first ones do.
const MOST_READS: usize = 96;

/// Ops of a kernel that take parts of the same value, so many of them each by itself.
const MOST_PARTS: usize = 8;

/// What kernels read, and what is computed on the fly in them; the last piece grows.
struct Reads<'g, 'c, 'a> {
    graph: &'g Graph<'c, 'a>,
    all: Vec<Read>,
    /// For each read the one before it of the same value.
    before: Vec<u32>,
    /// Where each value was last put; true of the last piece if that is one of its own.
    at: Vec<u32>,
    /// Where the last piece begins.
    first: usize,
}

impl<'g, 'c, 'a> Reads<'g, 'c, 'a> {
    fn new(graph: &'g Graph<'c, 'a>) -> Self {
        let at = vec![0; graph.values.len()];
        Self { graph, all: Vec::new(), before: Vec::new(), at, first: 0 }
    }

    fn begin(&mut self) {
        self.first = self.all.len();
    }

    /// The last piece's last read of a value.
    fn last_of(&self, value: Id) -> Option<usize> {
        let place = self.at[value as usize] as usize;
        (place >= self.first && self.all.get(place).is_some_and(|known| known.value == value))
            .then_some(place)
    }

    /// Adds a read to the last piece, which is `of` a node: what is read for the same op is read once, but that op itself reads each
    /// of its operands. There is room for no more than `MOST_READS` unless the node is `stored`.
    fn add(&mut self, read: Read, node: Id, stored: bool) {
        let last = self.last_of(read.value);
        let (mut place, mut parts) = (last, 0);
        while let Some(at) = place {
            parts += 1;
            if self.all[at].by == read.by {
                return match read.by == node {
                    true => join(&mut self.all[at], read, self.graph),
                    false => once(&mut self.all[at], read),
                };
            }
            place = Some(self.before[at] as usize).filter(|&before| before != NOBODY as usize);
        }
        match last {
            Some(last) if parts >= MOST_PARTS => join(&mut self.all[last], read, self.graph),
            _ if !stored && self.all.len() - self.first >= MOST_READS => {}
            _ => self.push(read, last),
        }
    }

    fn push(&mut self, read: Read, before: Option<usize>) {
        self.at[read.value as usize] = self.all.len() as u32;
        self.before.push(before.map_or(NOBODY, |before| before as u32));
        self.all.push(read);
    }

    fn piece(&self) -> Piece {
        Piece { first: self.first as u32, count: (self.all.len() - self.first) as u32 }
    }

    fn truncate(&mut self) {
        self.all.truncate(self.first);
        self.before.truncate(self.first);
    }
}

/// Adds to a read another one of the same value, of elements that are read once.
pub(super) fn once(known: &mut Read, other: Read) {
    known.pointwise &= other.pointwise;
    known.bytes = known.bytes.max(other.bytes);
    known.again = known.again.max(other.again);
}

/// Adds to a read another one of the same value: what both take is read again.
fn join(known: &mut Read, other: Read, graph: &Graph<'_, '_>) {
    let all = graph.values[known.value as usize].bytes;
    let bytes = known.bytes.saturating_add(other.bytes);
    known.pointwise &= other.pointwise;
    known.bytes = bytes.min(all);
    let twice = bytes.saturating_sub(known.bytes);
    known.again = known.again.saturating_add(other.again).saturating_add(twice);
}

impl Fusion<'_, '_, '_> {
    /// What each kernel reads, for each op that asks for other elements than it is asked for by itself, and has inside.
    pub(super) fn collect(&self) -> Kernels {
        let count = self.graph.nodes.len();
        let mut of = vec![None; count];
        let mut kernels: Vec<Kernel> = Vec::new();
        let mut reads = Reads::new(self.graph);
        // Of nodes that are computed on the fly.
        let mut through = vec![Piece::default(); count];
        let mut inside: Vec<Inside> = Vec::with_capacity(count);
        for (index, node) in self.graph.nodes.iter().enumerate() {
            inside.push(self.inside_alone(index as Id));
            if !node.live {
                continue;
            }
            reads.begin();
            self.read(index as Id, &mut reads, &through, &mut inside);
            if self.storage.weighs_copies && self.stored[index] {
                self.spread(&mut reads, &of, &kernels);
            }
            if self.inlined[index] {
                let piece = reads.piece();
                through[index] = Piece { count: piece.count.min(MOST_READS as u32), ..piece };
            }
            if self.stored[index] && node.class != Class::Constant {
                of[index] = Some(kernels.len() as Id);
                kernels.push(Kernel {
                    node: index as Id,
                    work: 0.0,
                    inside: inside[index],
                    reads: reads.piece(),
                    beside: Piece::default(),
                });
            } else if !self.inlined[index] {
                reads.truncate();
            }
        }
        Kernels { kernels, of, reads: reads.all, beside: Vec::new(), in_rows: self.in_rows() }
    }

    /// The same with one read of each value, and with what kernels compute.
    pub(super) fn settle(&self, mut kernels: Kernels) -> Kernels {
        let leaders =
            |node: Id| kernels.of[node as usize].map(|kernel| kernels.kernels[kernel as usize].node);
        let work = self.work(leaders);
        let mut reads = Reads::new(self.graph);
        let parts = std::mem::take(&mut kernels.reads);
        for kernel in &mut kernels.kernels {
            kernel.work = work[kernel.node as usize];
            reads.begin();
            for &part in &parts[kernel.reads.range()] {
                match reads.last_of(part.value) {
                    Some(known) => join(&mut reads.all[known], part, self.graph),
                    None => reads.push(part, None),
                }
            }
            kernel.reads = reads.piece();
        }
        Kernels { reads: reads.all, ..kernels }
    }

    /// What a node has inside if all else is read.
    fn inside_alone(&self, index: Id) -> Inside {
        let node = &self.graph.nodes[index as usize];
        let reduces = node.class == Class::Reduce(Reduce::Kernel);
        Inside {
            product: matches!(node.class, Class::Dot { .. }).then_some(index),
            after: node.after,
            reduction: reduces.then_some(index),
            rows: self.along_rows[index as usize],
            fused: false,
        }
    }

    /// Adds what a node reads, or what is read for what it is made of; the last piece is the node's.
    fn read(&self, index: Id, reads: &mut Reads<'_, '_, '_>, through: &[Piece], inside: &mut [Inside]) {
        let node = &self.graph.nodes[index as usize];
        let stored = self.stored[index as usize];
        for (place, &operand) in node.operands.iter().enumerate() {
            let producer = self.node_of(operand);
            if self.class(producer) == Class::Constant {
                continue;
            }
            let pointwise = self.is_pointwise(index, place);
            let content = &self.graph.values[operand as usize];
            let taken = self.taken(index, place);
            // What kernels do along rows reads each of these once.
            let at_its_place = pointwise || self.along_rows[index as usize];
            let whole = if at_its_place { NOBODY } else { index };
            if !(self.inlined[producer as usize] && self.may_inline(producer, index, place)) {
                let again = self.taken_again(node, place);
                let (taker, bytes, by) = (index, taken, whole);
                let read = Read { value: operand, pointwise, of: index, bytes, again, taker, by };
                reads.add(read, index, stored);
                continue;
            }
            let other = inside[producer as usize];
            let own = &mut inside[index as usize];
            own.after = own.after.max(other.after);
            own.product = own.product.or(other.product);
            own.reduction = own.reduction.or(other.reduction.filter(|_| pointwise));
            own.rows |= other.rows;
            own.fused = true;
            let share = (taken as f64 / content.bytes.max(1) as f64).min(1.0);
            for read in through[producer as usize].range() {
                let read = reads.all[read];
                let bytes = (read.bytes as f64 * share) as u64;
                let again = (read.again as f64 * share) as u64;
                let by = if at_its_place { read.by } else { index };
                // Of what an update writes over, only the elements at the same places may be read.
                let replaced = node.class == Class::Update && node.operands[0] == read.value;
                let pointwise = read.pointwise && (pointwise || replaced);
                reads.add(Read { pointwise, of: index, bytes, again, by, ..read }, index, stored);
            }
        }
    }

    /// Whether a node needs of its operand at `place`, for each of its elements, the one at the same place.
    fn is_pointwise(&self, index: Id, place: usize) -> bool {
        let node = &self.graph.nodes[index as usize];
        let elements = |value: Id| self.graph.values.get(value as usize).map_or(0, |value| value.elements);
        matches!(node.class, Class::Map(_)) && elements(node.operands[place]) == elements(node.first)
            || place == 0 && (node.class == Class::Update || self.replaced[index as usize])
    }

    /// What a kernel reads beside a reduction of the same by rows (a softmax) is read by rows: back ends reduce in the same kernel.
    fn spread(&self, reads: &mut Reads<'_, '_, '_>, of: &[Option<Id>], kernels: &[Kernel]) {
        let mut reduced = Vec::new();
        for read in &reads.all[reads.first..] {
            let producer = self.node_of(read.value);
            if self.class(producer) == Class::Reduce(Reduce::Kernel)
                && self.graph.values[read.value as usize].elements > 1
                && let Some(kernel) = of[producer as usize]
            {
                let piece = kernels[kernel as usize].reads.range();
                reduced.extend(reads.all[piece].iter().map(|read| read.value));
            }
        }
        for read in &mut reads.all[reads.first..] {
            read.pointwise &= !reduced.contains(&read.value);
        }
    }
}

/// Whether an op is a transpose whose elements are read one by one: neither does the last dimension stay the last, nor are there two
/// that are exchanged, which goes in tiles (`GetDescriptionForTiledTransposeEmitter` in openxla/xla).
pub(super) fn scatters(op: OperationRef<'_, '_>) -> bool {
    // Of 8 and more elements, not of 4 (`referee.py --target h100`, of modules like those in `test/print-memory/gpu-transposes.mlir`).
    const LEAST: i64 = 8;
    // Each op of a module is asked.
    if op_name(op) != "stablehlo.transpose" {
        return false;
    }
    let of = op.operands().next().and_then(|operand| Tensor::new(operand.r#type()));
    let from = i64_array(op, "permutation");
    let (Some(shape), Some(from)) = (of.map(|tensor| tensor.shape), from) else { return false };
    // Dimensions of the result as parts of the operand's that go together: the first of each, and its elements.
    let mut parts: Vec<(i64, i64)> = Vec::new();
    let mut next = -1;
    for &dim in from.iter().filter(|&&dim| shape[dim as usize] != 1) {
        match parts.last_mut() {
            Some((_, elements)) if dim == next => *elements *= shape[dim as usize],
            _ => parts.push((dim, shape[dim as usize])),
        }
        next = (dim + 1..shape.len() as i64).find(|&dim| shape[dim as usize] != 1).unwrap_or(-1);
    }
    let last = parts.iter().map(|&(dim, _)| dim).max();
    if parts.last().map(|&(dim, _)| dim) == last {
        return false;
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&at| parts[at].0);
    let exchanged = matches!(order[..], [1, 0] | [0, 2, 1] | [2, 1, 0]);
    let (first, second) = (parts[parts.len() - 1].1, parts[order[parts.len() - 1]].1);
    !exchanged || first.min(second) < LEAST
}
