// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Whether all values of a function have a size that is known, and that 64 bits hold.

use super::graph::{Class, Graph};
use super::{Unmodelled, argument_location};
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, Type, TypeLike};
use slimhlo_dialect::ffi::as_tuple;
use slimhlo_dialect::types::{Tensor, is_static};

/// The most bytes that anything may take: addresses are signed, in MLIR as on GPUs.
pub(super) const MOST: u64 = i64::MAX as u64;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    Known,
    Unknown,
    Sparse,
    TooLarge,
}

/// Fails with the first value that has no known size, or too large a one, in the order of the program.
pub(super) fn check<'c>(function: OperationRef<'c, '_>, graph: &Graph<'c, '_>) -> Result<(), Unmodelled<'c>> {
    for (at, &id) in graph.parameters.iter().enumerate() {
        let ty = graph.values[id as usize].ty;
        fits(ty, || argument_location(function, at))?;
    }
    region(function.location(), graph)
}

fn region<'c>(around: Location<'c>, graph: &Graph<'c, '_>) -> Result<(), Unmodelled<'c>> {
    for (at, node) in graph.nodes.iter().enumerate().filter(|(_, node)| node.live) {
        let location = node.op.map_or(around, |op| op.location());
        if node.class != Class::Parameter {
            for id in graph.results_of(at as u32) {
                fits(graph.values[id as usize].ty, || location)?;
            }
        }
        for inner in &node.regions {
            region(location, inner)?;
        }
    }
    Ok(())
}

fn fits<'c>(ty: Type<'c>, location: impl Fn() -> Location<'c>) -> Result<(), Unmodelled<'c>> {
    match size(ty) {
        Size::Known => Ok(()),
        Size::Unknown => Err(Unmodelled::Unknown(ty, location())),
        Size::Sparse => Err(Unmodelled::Sparse(ty, location())),
        Size::TooLarge => Err(Unmodelled::TooLarge(ty, location())),
    }
}

/// What is known of the bytes of a type. Where a dimension is 0 there are none, whatever the others are.
fn size(ty: Type<'_>) -> Size {
    if let Some(tuple) = as_tuple(ty) {
        let parts = (0..tuple.type_count()).filter_map(|index| tuple.r#type(index).ok()).map(size);
        return parts.max().unwrap_or(Size::Known);
    }
    // Tokens and the like take nothing; a tensor without a rank has a size that nobody knows.
    let Some(tensor) = Tensor::new(ty) else {
        return if ty.is_unranked_tensor() { Size::Unknown } else { Size::Known };
    };
    if tensor.is_sparse() {
        return Size::Sparse;
    }
    let bounds = tensor.bounds().unwrap_or(&[]);
    let sizes = tensor.shape.iter().enumerate().map(|(dim, &size)| {
        let bound = || bounds.get(dim).copied().filter(|&size| is_static(size));
        if is_static(size) { Some(size) } else { bound() }
    });
    if sizes.clone().any(|size| size == Some(0)) {
        return Size::Known;
    }
    let mut bytes = Some(super::graph::element_bytes(tensor.element));
    for size in sizes {
        let Some(size) = size else { return Size::Unknown };
        bytes = bytes.zip(u64::try_from(size).ok()).and_then(|(bytes, size)| bytes.checked_mul(size));
    }
    if bytes.is_some_and(|bytes| bytes <= MOST) { Size::Known } else { Size::TooLarge }
}
