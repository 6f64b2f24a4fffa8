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
use melior::ir::{Type, TypeLike, ValueLike};
use slimhlo_dialect::types::Tensor;
use smallvec::SmallVec;

/// Bytes and elements of a value of this type where two dimensions are rounded up to a tile, those of which it takes the least, since a
/// back end that has tiles orders dimensions as they fit; `None` where there are none. Fewer rows than a tile has are rounded up to a
/// power of two.
pub(super) fn tiled(ty: Type<'_>, (rows, columns): (u64, u64)) -> Option<(u64, u64)> {
    let tensor = Tensor::new(ty).filter(|tensor| tensor.is_static() && columns > 1)?;
    let (bytes, elements) = bytes_of(ty);
    let sizes: SmallVec<[u64; 6]> =
        tensor.shape.iter().map(|&size| u64::try_from(size).unwrap_or(0)).collect();
    if sizes.len() < 2 || elements == 0 {
        return None;
    }
    let high = |size: u64| high(size, rows);
    let wide = |size: u64| size.next_multiple_of(columns);
    // Of each order the share that is padding is the product of two numbers, each of one dimension.
    let share = |padded: u64, size: u64| padded as f64 / size as f64;
    let pairs = (0..sizes.len()).flat_map(|row| (0..sizes.len()).map(move |column| (row, column)));
    let each = pairs.filter(|(row, column)| row != column);
    let of = |(row, column): (usize, usize)| {
        (share(high(sizes[row]), sizes[row]), share(wide(sizes[column]), sizes[column]))
    };
    let least = each.min_by(|&one, &other| {
        let [(a, b), (c, d)] = [one, other].map(of);
        (a * b).total_cmp(&(c * d))
    });
    let (row, column) = least?;
    let rest = elements / (sizes[row] * sizes[column]);
    let padded = rest.saturating_mul(high(sizes[row])).saturating_mul(wide(sizes[column]));
    Some((padded.saturating_mul(bytes / elements), elements))
}

/// Rounds arrays of rows up as they are written, the last two dimensions: what is gathered or scattered, and all of the same shape that is
/// made of such, or such of it, element by element. What is given and what is handed out lies as it fits.
pub(super) fn lay_rows(graph: &mut Graph<'_, '_>, (rows, columns): (u64, u64)) {
    let mut lies = vec![false; graph.values.len()];
    mark_rows(graph, &mut lies, 0..graph.nodes.len());
    mark_rows(graph, &mut lies, (0..graph.nodes.len()).rev());
    mark_rows(graph, &mut lies, 0..graph.nodes.len());
    graph.parameters.iter().chain(&graph.results).for_each(|&id| lies[id as usize] = false);
    for (content, _) in graph.values.iter_mut().zip(lies).filter(|(_, lies)| *lies) {
        let Some(tensor) = Tensor::new(content.ty).filter(|tensor| tensor.is_static()) else { continue };
        let Some((_, &[height, width])) = tensor.shape.split_last_chunk::<2>() else { continue };
        let [height, width] = [height, width].map(|size| u64::try_from(size).unwrap_or(0));
        let (bytes, elements) = bytes_of(content.ty);
        let outer = elements / (height * width).max(1);
        let all = outer.saturating_mul(high(height, rows)).saturating_mul(width.next_multiple_of(columns));
        content.bytes = all.saturating_mul(bytes / elements.max(1));
        content.full = content.bytes;
    }
    for node in &mut graph.nodes {
        node.regions.iter_mut().for_each(|region| lay_rows(region, (rows, columns)));
    }
}

/// Marks what is gathered or scattered, and what is connected to such element by element, as far as going through the nodes once in this
/// order tells.
fn mark_rows(graph: &Graph<'_, '_>, lies: &mut [bool], order: impl Iterator<Item = usize>) {
    let elements = |id: Id| graph.values.get(id as usize).map_or(0, |value| value.elements);
    for node in order.map(|at| &graph.nodes[at]).filter(|node| node.live) {
        let made = node.first..node.first + node.count;
        match node.class {
            Class::Gather => made.for_each(|id| lies[id as usize] = true),
            Class::Scatter => {
                let indices = node.operands.get(node.count as usize);
                let all = node.operands.iter().filter(|&id| Some(id) != indices).copied().chain(made);
                all.for_each(|id| lies[id as usize] = true);
            }
            Class::Map(_) => {
                let all = || node.operands.iter().copied().chain(made.clone());
                let same = || all().filter(|&id| elements(id) == elements(node.first));
                if same().any(|id| lies[id as usize]) {
                    same().for_each(|id| lies[id as usize] = true);
                }
            }
            _ => {}
        }
    }
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
        let is_single = Tensor::new(content.ty).is_some_and(|tensor| tensor.element.is_f32());
        let takes_half = |&user: &Id| {
            let user = &graph.nodes[user as usize];
            match user.class {
                Class::Dot { .. } => user
                    .op
                    .is_some_and(|op| !is_exact(op) && op.operands().all(|operand| of_f32(operand.r#type()))),
                Class::Move => is_narrow[user.first as usize],
                _ => false,
            }
        };
        let users = users.of(value);
        if is_single && !users.is_empty() && !is_result[value as usize] && users.iter().all(takes_half) {
            is_narrow[value as usize] = true;
        }
    }
    for (content, _) in graph.values.iter_mut().zip(is_narrow).filter(|(_, is_narrow)| *is_narrow) {
        content.bytes /= 2;
    }
    for node in &mut graph.nodes {
        node.regions.iter_mut().for_each(narrow);
    }
}

fn of_f32(ty: Type<'_>) -> bool {
    Tensor::new(ty).is_some_and(|tensor| tensor.element.is_f32())
}
