// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How arrays lie in memory, where that takes other bytes than their elements say: in tiles, or as narrower floats.
//!
//! XLA for TPUs orders the dimensions of each array so that little is padded, arguments' too, and multiplies f32 as bf16 unless more is
//! asked for, which it has stored: what a product or convolution alone reads is made in bf16 (`test/oracle/referee.py --target v5p` of the
//! reference program `message_passing`: rows that are gathered for a product are `bf16[2000000,128]`).

use super::super::lists::Lists;
use super::super::time::is_exact;
use super::{Class, Graph, Id, bytes_of};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, TypeLike, ValueLike};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use slimhlo_dialect::stablehlo::attrs::ConvDimensionNumbers;
use slimhlo_dialect::types::Tensor;
use smallvec::SmallVec;

/// Bytes and elements of a value of this type where two dimensions are rounded up to a tile, those of which it takes the least, since a
/// back end that has tiles orders dimensions as they fit; `None` where there are none. Fewer rows than a tile has are rounded up to a
/// power of two.
pub(super) fn tiled(ty: Type<'_>, tile: (u64, u64)) -> Option<(u64, u64)> {
    let tensor = Tensor::new(ty).filter(|tensor| tensor.is_static() && tile != (1, 1))?;
    let (bytes, elements) = bytes_of(ty);
    let sizes = sizes_of(tensor);
    let pairs = (0..sizes.len()).flat_map(|row| (0..sizes.len()).map(move |column| (row, column)));
    let each = pairs.filter(|(row, column)| row != column).map(|pair| padded(&sizes, pair, tile));
    Some((each.min()?.saturating_mul(bytes / elements.max(1)), elements))
}

/// The two dimensions of an array that lie in tiles: rows, then columns, or either.
#[derive(Clone, Copy)]
enum Lying {
    /// As they are written, the last two that have more than one element.
    Rows,
    /// These two, in the order that takes less.
    Pair(usize, usize),
}

/// Rounds up what may not lie as it fits: rows that are gathered or scattered lie as rows, and what is convolved has images and features in
/// its tiles; and so does all of the same shape that is made of such, or such of it, element by element. What is given and what is handed
/// out lies as it fits.
pub(super) fn lay(graph: &mut Graph<'_, '_>, tile: (u64, u64)) {
    let mut lies = vec![None; graph.values.len()];
    mark(graph, &mut lies, 0..graph.nodes.len());
    mark(graph, &mut lies, (0..graph.nodes.len()).rev());
    mark(graph, &mut lies, 0..graph.nodes.len());
    graph.parameters.iter().chain(&graph.results).for_each(|&id| lies[id as usize] = None);
    for (content, lying) in graph.values.iter_mut().zip(lies) {
        let sizes = Tensor::new(content.ty).filter(|tensor| tensor.is_static()).map(sizes_of);
        let Some((lying, sizes)) = lying.zip(sizes).filter(|(_, sizes)| sizes.len() > 1) else { continue };
        let padded = |row, column| padded(&sizes, (row, column), tile);
        // Dimensions of one element are no rows.
        let mut last = (0..sizes.len()).rev().filter(|&dim| sizes[dim] != 1);
        let elements = match lying {
            Lying::Rows => match last.next().zip(last.next()) {
                Some((column, row)) => padded(row, column),
                None => continue,
            },
            Lying::Pair(one, other) if one.max(other) < sizes.len() => {
                padded(one, other).min(padded(other, one))
            }
            Lying::Pair(..) => continue,
        };
        let (bytes, all) = bytes_of(content.ty);
        content.bytes = elements.saturating_mul(bytes / all.max(1));
        content.full = content.bytes;
    }
    for node in &mut graph.nodes {
        node.regions.iter_mut().for_each(|region| lay(region, tile));
    }
}

/// Marks how values lie, as far as going through the nodes once in this order tells; what is known first stays.
fn mark(graph: &Graph<'_, '_>, lies: &mut [Option<Lying>], order: impl Iterator<Item = usize>) {
    let elements = |id: Id| graph.values.get(id as usize).map_or(0, |value| value.elements);
    for node in order.map(|at| &graph.nodes[at]).filter(|node| node.live) {
        let made = node.first..node.first + node.count;
        let mut put = |id: Id, lying: Lying| _ = lies[id as usize].get_or_insert(lying);
        match node.class {
            Class::Gather => made.for_each(|id| put(id, Lying::Rows)),
            Class::Scatter => {
                let indices = node.operands.get(node.count as usize);
                let all = node.operands.iter().filter(|&id| Some(id) != indices).copied().chain(made);
                all.for_each(|id| put(id, Lying::Rows));
            }
            Class::Dot { .. } => {
                let pairs = node.op.and_then(convolved).into_iter().flatten();
                let all = node.operands.iter().copied().take(2).chain(made);
                all.zip(pairs).for_each(|(id, (one, other))| put(id, Lying::Pair(one, other)));
            }
            Class::Map(_) => {
                let all = || node.operands.iter().copied().chain(made.clone());
                let same = || all().filter(|&id| elements(id) == elements(node.first));
                if let Some(lying) = same().find_map(|id| lies[id as usize]) {
                    same().for_each(|id| _ = lies[id as usize].get_or_insert(lying));
                }
            }
            _ => {}
        }
    }
}

/// Of the operands and the result of a convolution the two dimensions that are no space.
fn convolved(op: OperationRef<'_, '_>) -> Option<[(usize, usize); 3]> {
    let numbers = attribute_of(op, "dimension_numbers").filter(|_| op_name(op) == "stablehlo.convolution")?;
    let numbers = ConvDimensionNumbers::try_from(numbers).ok()?;
    let pair = |one: i64, other: i64| Some((usize::try_from(one).ok()?, usize::try_from(other).ok()?));
    Some([
        pair(numbers.input_batch_dimension(), numbers.input_feature_dimension())?,
        pair(numbers.kernel_input_feature_dimension(), numbers.kernel_output_feature_dimension())?,
        pair(numbers.output_batch_dimension(), numbers.output_feature_dimension())?,
    ])
}

fn sizes_of(tensor: Tensor<'_>) -> SmallVec<[u64; 6]> {
    tensor.shape.iter().map(|&size| u64::try_from(size).unwrap_or(0)).collect()
}

/// Elements of an array of these sizes, if those of a row and of a column are rounded up to a tile.
fn padded(sizes: &[u64], (row, column): (usize, usize), (rows, columns): (u64, u64)) -> u64 {
    let each = sizes.iter().enumerate().map(|(dim, &size)| match dim {
        dim if dim == row => high(size, rows),
        dim if dim == column => size.next_multiple_of(columns),
        _ => size,
    });
    each.fold(1, u64::saturating_mul)
}

/// Rows of a tile's height and more, or fewer.
fn high(size: u64, rows: u64) -> u64 {
    if size < rows { size.next_power_of_two() } else { size.next_multiple_of(rows) }
}

/// Halves what is made of f32 for nothing but products that take no more of it than 16 bits, and what such is moved from.
pub(super) fn narrow(graph: &mut Graph<'_, '_>) {
    let count = graph.nodes.len();
    let users = Lists::new(graph.values.len(), |add| {
        for (index, node) in graph.nodes.iter().enumerate().filter(|(_, node)| node.live) {
            node.operands.iter().for_each(|&operand| add(operand, index as Id));
        }
    });
    let mut is_result = vec![false; graph.values.len()];
    graph.results.iter().for_each(|&id| is_result[id as usize] = true);
    let mut is_narrow = vec![false; graph.values.len()];
    for node in (0..count).rev() {
        let is_made = matches!(
            graph.nodes[node].class,
            Class::Map(_)
                | Class::Move
                | Class::Pad
                | Class::Join { .. }
                | Class::Read
                | Class::Gather
                | Class::Dot { .. }
        );
        let value = graph.nodes[node].first;
        let content = graph.values.get(value as usize).copied();
        let Some(content) =
            content.filter(|_| is_made && graph.nodes[node].live && graph.nodes[node].count == 1)
        else {
            continue;
        };
        let takes_half = |&user: &Id| {
            let user = &graph.nodes[user as usize];
            match user.class {
                Class::Dot { .. } => user
                    .op
                    .is_some_and(|op| !is_exact(op) && op.operands().all(|operand| of_f32(operand.r#type()))),
                Class::Move | Class::Pad => is_narrow[user.first as usize],
                Class::Map(_) => user.operands.len() == 1 && is_half(graph.values[user.first as usize].ty),
                _ => false,
            }
        };
        let users = users.of(value);
        is_narrow[value as usize] = of_f32(content.ty)
            && !users.is_empty()
            && !is_result[value as usize]
            && users.iter().all(takes_half);
    }
    for (content, _) in graph.values.iter_mut().zip(is_narrow).filter(|(_, is_narrow)| *is_narrow) {
        content.bytes /= 2;
    }
    for node in &mut graph.nodes {
        node.regions.iter_mut().for_each(narrow);
    }
}

fn is_half(ty: Type<'_>) -> bool {
    Tensor::new(ty).is_some_and(|tensor| tensor.element.is_bf16() || tensor.element.is_f16())
}

fn of_f32(ty: Type<'_>) -> bool {
    Tensor::new(ty).is_some_and(|tensor| tensor.element.is_f32())
}
