// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a kernel takes beside what it reads and makes: reductions in stages, with what the first leaves for the second, the places
//! that a sort takes along, and what a library multiplies in; and how often sorts and Fourier transforms go over memory.

use super::fuse::{Kernel, Kernels};
use super::graph::{Class, Graph, Id};
use crate::ir::{self, constant_attribute, i64_array, string_attribute};
use crate::ops::products::is_complex_product;
use crate::target::Storage;
use melior::ir::attribute::BoolAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, ValueLike};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use slimhlo_dialect::types::Tensor;
use std::cmp::Reverse;

/// Dimensions side by side that a reduction reduces: their elements, and whether the last dimension is among them.
struct Run {
    elements: u64,
    rows: bool,
    /// Parts that it is going to be written in; 1 if it is not.
    parts: u64,
}

/// All of them in the order in which they are reduced, if a node is a reduction; of dimensions of one element there is nothing to do.
fn runs(graph: &Graph<'_, '_>, node: Id) -> Vec<Run> {
    let node = &graph.nodes[node as usize];
    let dims =
        node.op.filter(|_| matches!(node.class, Class::Reduce(_))).and_then(|op| i64_array(op, "dimensions"));
    let shape = node.operands.first().and_then(|&id| Tensor::new(graph.values[id as usize].ty));
    let (Some(dims), Some(shape)) = (dims, shape.map(|tensor| tensor.shape)) else { return Vec::new() };
    let mut runs: Vec<Run> = Vec::new();
    let mut goes_on = false;
    let mut leads = None;
    for (dim, &size) in shape.iter().enumerate().filter(|&(_, &size)| size != 1) {
        let reduced = dims.contains(&(dim as i64));
        let size = u64::try_from(size).unwrap_or(0);
        match runs.last_mut().filter(|_| goes_on) {
            Some(run) if reduced => run.elements = run.elements.saturating_mul(size),
            _ if reduced => runs.push(Run { elements: size, rows: false, parts: u64::from(node.parts) }),
            _ => {}
        }
        goes_on = reduced;
        leads.get_or_insert(reduced);
    }
    if let Some(last) = runs.last_mut() {
        last.rows = goes_on;
    }
    // Rows of what is first are reduced first, or with it if it is few (`ReductionIsRaceFree` in openxla/xla); else the longest is.
    const FEW: u64 = 8;
    match &runs[..] {
        [few, Run { rows: true, .. }] if leads == Some(true) && few.elements <= FEW => drop(runs.remove(0)),
        [_, Run { rows: true, .. }] if leads == Some(true) => runs.reverse(),
        _ => runs.sort_by_key(|run| Reverse(run.elements)),
    }
    runs
}

impl Run {
    /// Elements that one stage can reduce.
    fn longest(&self, storage: &Storage) -> u64 {
        if self.rows { storage.longest_row } else { storage.longest_column }
    }

    /// Whether it takes two kernels.
    fn is_long(&self, storage: &Storage) -> bool {
        self.parts > 1 || self.elements > self.longest(storage)
    }

    /// Elements of it that its first stage leaves for one of the result, if there are two.
    fn left(&self, storage: &Storage) -> u64 {
        match self.parts {
            1 if self.is_long(storage) => parts(self.elements, self.longest(storage)),
            parts => parts,
        }
    }
}

/// How many kernels it takes to compute a node: a reduction of dimensions that are not side by side goes in one stage for each run of
/// them, and a run of many elements in two.
pub(super) fn stages(graph: &Graph<'_, '_>, node: Id, storage: &Storage) -> f64 {
    if storage.longest_row == 0 {
        return 1.0;
    }
    let sort = graph.nodes[node as usize].op.filter(|op| op_name(*op) == "stablehlo.sort");
    if let Some(sort) = sort {
        return passes(sort, storage);
    }
    let each = |run: &Run| if run.is_long(storage) { 2.0 } else { 1.0 };
    f64::max(1.0, runs(graph, node).iter().map(each).sum())
}

/// Of a reduction of dimensions that are not side by side, as a normalization by groups of channels has, whether what it
/// reduces first are rows.
pub(super) fn first_of_several(graph: &Graph<'_, '_>, node: Id) -> Option<bool> {
    let runs = runs(graph, node);
    runs.first().filter(|_| runs.len() > 1).map(|first| first.rows)
}

/// Into how many parts the first of two stages goes: the next divisor below the square root, and parts that one stage can do
/// (`TreeReductionRewriter` in openxla/xla).
fn parts(elements: u64, longest: u64) -> u64 {
    let root = elements.isqrt();
    if root > longest {
        return elements.div_ceil(longest);
    }
    let nearest = (root / 2 + 1..=root).rev().find(|&parts| elements.is_multiple_of(parts));
    nearest.unwrap_or(root).max(1)
}

/// Bytes that a kernel needs beside its results while it runs.
pub(super) fn workspace(graph: &Graph<'_, '_>, kernels: &Kernels, kernel: Kernel, storage: &Storage) -> u64 {
    let left = |node| left_by_first(graph, node, storage);
    let stages = kernels.nodes(kernel).map(left).fold(0, u64::saturating_add);
    let node = &graph.nodes[kernel.node as usize];
    let product = kernel.inside.product.and_then(|id| graph.nodes[id as usize].op);
    let library = product.filter(|op| is_complex_product(*op)).map_or(0, |_| storage.library_workspace);
    stages.saturating_add(library).saturating_add(node.op.map_or(0, |op| places(op, storage)))
}

/// Elements that the first stage of a reduction leaves for one of the result, if it goes in several; else 1.
pub(super) fn left_for_one(graph: &Graph<'_, '_>, node: Id, storage: &Storage) -> u64 {
    if storage.longest_row == 0 {
        return 1;
    }
    let runs = runs(graph, node);
    let left = |(at, run): (usize, &Run)| if at == 0 { run.left(storage) } else { run.elements };
    runs.iter().enumerate().map(left).fold(1, u64::saturating_mul)
}

/// Bytes of what the first stage of a reduction leaves for the others.
pub(super) fn left_by_first(graph: &Graph<'_, '_>, node: Id, storage: &Storage) -> u64 {
    let left = left_for_one(graph, node, storage);
    let made = graph.results_of(node).map(|id| graph.values[id as usize].bytes).fold(0, u64::saturating_add);
    if left > 1 { made.saturating_mul(left) } else { 0 }
}

/// Bytes of the numbers by which a sort keeps in order what it finds equal, if it is to: one of 32 bits for each element.
pub(super) fn places(op: OperationRef<'_, '_>, storage: &Storage) -> u64 {
    const EACH: u64 = 4;
    let is_stable = || {
        let attribute = attribute_of(op, "is_stable");
        attribute
            .and_then(|attribute| BoolAttribute::try_from(attribute).ok())
            .is_some_and(|flag| flag.value())
    };
    let sorts = storage.sorts_places && op_name(op) == "stablehlo.sort";
    if !sorts || !is_stable() {
        return 0;
    }
    let keys = op.operands().next().and_then(|operand| Tensor::new(operand.r#type()));
    let elements = keys.and_then(|tensor| tensor.element_count()).unwrap_or(0);
    u64::try_from(elements).unwrap_or(0).saturating_mul(EACH)
}

/// How often a sort goes over all that it sorts.
pub(super) fn passes(op: OperationRef<'_, '_>, storage: &Storage) -> f64 {
    let longest = sorted(op).unwrap_or(2).max(2) as u64;
    let stages = longest.next_power_of_two().ilog2();
    if storage.sorts_places {
        // A bitonic network: of each stage beyond a tile, the steps that reach beyond it, one by one, and the rest at once.
        const TILE: u32 = 11;
        return (TILE..stages).fold(1.0, |passes, stage| passes + f64::from(stage - TILE + 2));
    }
    // Each stage that no multiprocessor can do by itself goes over all.
    (longest as f64).log2().powi(2) / 8.0
}

/// How often a Fourier transform goes over memory: for each dimension.
pub(super) fn transformed(op: OperationRef<'_, '_>) -> f64 {
    i64_array(op, "fft_length").map_or(1.0, |lengths| lengths.len().max(1) as f64)
}

/// Operations of a Fourier transform, by the usual count (`test/oracle/hlo_time.py` has the same); of other ops none.
pub(super) fn transforming(op: OperationRef<'_, '_>) -> f64 {
    let made = op.results().next().filter(|_| op_name(op) == "stablehlo.fft");
    let elements = made
        .and_then(|result| Tensor::new(result.r#type())?.element_count())
        .map_or(0.0, |elements| elements as f64);
    5.0 * elements * elements.max(2.0).log2()
}

/// Operations of a sort, where the back end counts them: a bitonic network compares each element so often.
pub(super) fn comparing(op: OperationRef<'_, '_>, storage: &Storage) -> f64 {
    // Steps of a comparison and what follows on it (`SORT_STEPS` of `test/oracle/hlo_time.py`).
    const STEPS: f64 = 28.0;
    if !storage.counts_steps || op_name(op) != "stablehlo.sort" {
        return 0.0;
    }
    let stages = f64::from(sorted(op).unwrap_or(2).max(2).unsigned_abs().next_power_of_two().ilog2());
    first_elements(op) * stages * (stages + 1.0) / 2.0 * STEPS
}

/// Seconds of what goes on one column after another, or over all elements at once, in a library: factorizations and solutions of
/// matrices, and the largest of each row. `hlo_time.py` has the same figures of an H100, and says what shows them.
pub(crate) fn in_library(op: OperationRef<'_, '_>, storage: &Storage) -> f64 {
    const COLUMNS: [(&str, f64); 8] = [
        ("cholesky", 0.2e-6),
        ("potrf", 0.2e-6),
        ("triangular_solve", 0.1e-6),
        ("trsm", 0.1e-6),
        ("getrf", 2.5e-6),
        ("geqrf", 30e-6),
        ("orgqr", 30e-6),
        ("ungqr", 30e-6),
    ];
    // Matrices of so many columns are factorized all at once.
    const TOGETHER: f64 = 256.0;
    const TOGETHER_COLUMN: f64 = 1e-6;
    const TOP_K: f64 = 31e9;
    if !storage.counts_steps {
        return 0.0;
    }
    let name = op_name(op);
    if name == "chlo.top_k" {
        return first_elements(op) / TOP_K;
    }
    let called =
        if name == "stablehlo.custom_call" { string_attribute(op, "call_target_name") } else { Some(name) };
    let column = COLUMNS.iter().find(|(part, _)| called.is_some_and(|called| called.contains(part)));
    let matrix = op.operands().next().and_then(|operand| Tensor::new(operand.r#type()));
    let (Some((_, column)), Some(&[.., rows, columns])) = (column, matrix.map(|tensor| tensor.shape)) else {
        return 0.0;
    };
    let size = rows.min(columns).max(1) as f64;
    let batch = first_elements(op) / (rows.max(1) as f64 * columns.max(1) as f64);
    if size <= TOGETHER { TOGETHER_COLUMN * size } else { batch * size * column }
}

fn first_elements(op: OperationRef<'_, '_>) -> f64 {
    let first = op.operands().next().and_then(|operand| Tensor::new(operand.r#type()));
    first.and_then(|tensor| tensor.element_count()).unwrap_or(0) as f64
}

/// Elements along the dimension that is sorted.
fn sorted(op: OperationRef<'_, '_>) -> Option<i64> {
    let shape = Tensor::new(ir::operand(op, 0)?.r#type())?.shape;
    let dim = constant_attribute(op, "dimension").unwrap_or(-1);
    let dim = if dim < 0 { dim + shape.len() as i64 } else { dim };
    shape.get(usize::try_from(dim).ok()?).copied()
}
