// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `sdy.propagation_edges`: what propagation notes down must be about values and axes that there are.

use super::attrs::{AxisToPropagationDetails, EdgeValueRef, PropagationEdges, PropagationOneStep};
use super::mesh::Axes;
use super::sharding::placement;
use crate::view::{OpError, Verdict};
use crate::{reject, require};
use melior::ir::OperationRef;
use melior::ir::operation::OperationLike;

/// All ends of edges.
fn ends<'c>(edges: PropagationEdges<'c>) -> impl Iterator<Item = EdgeValueRef<'c>> {
    edges
        .steps()
        .iter()
        .flat_map(|step: PropagationOneStep| step.axes().iter())
        .flat_map(|axis: AxisToPropagationDetails| axis.source().into_iter().chain(axis.targets().iter()))
}

/// Verifies the edges noted down at an op.
///
/// # Errors
/// The first edge that is wrong, and why.
pub fn verify<'c>(op: OperationRef<'c, '_>, edges: PropagationEdges<'c>) -> Verdict {
    let mut mesh: Option<Axes<'c>> = None;
    for end in ends(edges) {
        let Ok(index) = usize::try_from(end.index()) else { continue };
        // Asked for only where there is one: the error of a missing value holds the printed op.
        let value = match end.is_result() {
            true if index < op.result_count() => op.result(index).ok().map(Into::into),
            false if index < op.operand_count() => op.operand(index).ok(),
            _ => None,
        };
        let Some(value) = value else { continue };
        let Some(placement) = placement(op, value)? else { continue };
        match &mesh {
            None => mesh = Some(Axes::new(placement.mesh)),
            Some(mesh) => require!(
                mesh.mesh == placement.mesh,
                "is about values on mesh {} and on mesh {}",
                mesh.mesh,
                placement.mesh
            ),
        }
    }
    let Some(mesh) = mesh else { reject!("is about values without a sharding") };
    for axis in edges.steps().iter().flat_map(|step: PropagationOneStep| step.axes().iter()) {
        let Some(axis) = axis.axis() else { continue };
        require!(
            mesh.contains(axis.name()),
            "names axis \"{}\", which the mesh {} does not have",
            axis.name(),
            mesh.mesh
        );
    }
    for end in ends(edges) {
        let (side, count) =
            if end.is_result() { ("result", op.result_count()) } else { ("operand", op.operand_count()) };
        let known = usize::try_from(end.index()).is_ok_and(|index| index < count);
        require!(known, "names {side} #{}, but there are {count}", end.index());
    }
    Ok(())
}

/// Verifies the steps of an attribute under construction, flattened: for each step its index and number of axes; for
/// each axis the side and index of its source, the number of its targets, and the side and index of each.
///
/// # Errors
/// They end too early, or a number is beyond its range.
pub fn verify_parameters(parameters: &[i64]) -> Verdict {
    let mut rest = parameters.iter().copied();
    let mut next = || rest.next().ok_or_else(|| OpError("propagation edges end too early".into()));
    let mut indices = Vec::new();
    while let Ok(step) = next() {
        require!(step >= 0, "propagation step {step} has a negative index");
        require!(!indices.contains(&step), "propagation step {step} is there more than once");
        indices.push(step);
        for _ in 0..next()? {
            let source = (next()?, next()?);
            let mut targets = Vec::new();
            for _ in 0..next()? {
                let target = (next()?, next()?);
                require!(
                    target != source,
                    "propagation step {step} has an axis whose source is a target, too"
                );
                require!(
                    !targets.contains(&target),
                    "propagation step {step} has an axis with a target twice"
                );
                targets.push(target);
            }
        }
    }
    Ok(())
}
