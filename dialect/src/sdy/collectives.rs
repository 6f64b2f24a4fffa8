// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Collectives: the sharding of the operand and the axes of the op must lead to the sharding of the result.

use super::attrs::{AllToAllParamList, AxisRefList, ListOfAxisRefLists, TensorSharding, View};
use super::mesh::{Axes, Part, append, first_overlap, normalized, piece_count, remove_suffix};
use super::sharding::{self, Placement, at, resolve_all};
use crate::first::same_types;
use crate::rules::{Folded, Rules, Table};
use crate::view::{OpError, OpView, Verdict};
use crate::{reject, require};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef};

/// Operand and result are of one type.
const SAME_TYPES: Rules = Rules::NONE.verify_first(same_types);

/// Rules of the collectives.
pub const TABLE: Table = &[
    ("sdy.all_gather", SAME_TYPES.verify(verify_all_gather).fold(fold_identity)),
    ("sdy.all_slice", SAME_TYPES.verify(verify_all_slice).fold(fold_all_slice)),
    ("sdy.all_to_all", SAME_TYPES.verify(verify_all_to_all)),
    ("sdy.all_reduce", SAME_TYPES.verify(verify_all_reduce).fold(fold_identity)),
    ("sdy.collective_permute", SAME_TYPES.verify(verify_collective_permute).fold(fold_collective_permute)),
    ("sdy.reduce_scatter", SAME_TYPES.verify(verify_reduce_scatter).fold(fold_identity)),
    ("sdy.sharded_to_unreduced", SAME_TYPES.verify(verify_sharded_to_unreduced)),
    ("sdy.replicated_to_unreduced", SAME_TYPES.verify(verify_replicated_to_unreduced)),
];

/// What may stand on an operand without a sharding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// The op takes it for not cut at all.
    Uncut,
    /// The op needs one.
    Error,
}

/// Whether operand and result must be on the same mesh.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meshes {
    Same,
    /// The mesh may change in the order of its devices.
    Permuted,
}

/// Both ends of a collective, resolved against the mesh of the result.
struct Ends<'c> {
    axes: Axes<'c>,
    from: Placement<'c>,
    to: Placement<'c>,
    /// What cuts each dimension of the operand.
    from_dims: Vec<Vec<Part>>,
    /// What cuts each dimension of the result.
    to_dims: Vec<Vec<Part>>,
}

impl<'c> Ends<'c> {
    /// Reads both ends and verifies what holds for all collectives.
    fn new<'a>(view: &OpView<'c, 'a>, missing: Missing, meshes: Meshes) -> Result<Self, OpError>
    where
        'c: 'a,
    {
        let Some(op) = view.operation() else { reject!("has no place in a module yet") };
        let out = view.attribute("out_sharding").and_then(TensorSharding::view);
        let Some(out) = out else { reject!("attribute 'out_sharding' must be a sharding") };
        at("out_sharding", sharding::verify(op, out, view.result_type(0)?))?;
        let to = Placement::new(op, out)?;

        let from = match at("sharding of the operand", sharding::placement(op, view.operand(0)?))? {
            Some(from) => from,
            None if missing == Missing::Uncut => to.uncut(),
            None => reject!("needs an operand with a sharding to start from, but it has none"),
        };
        match meshes {
            Meshes::Same => require!(
                from.mesh == to.mesh,
                "out_sharding is on mesh {}, but the operand is on mesh {}",
                to.mesh,
                from.mesh
            ),
            Meshes::Permuted if from.mesh_or_ref == to.mesh_or_ref => {}
            Meshes::Permuted => {
                require!(
                    from.mesh != to.mesh,
                    "out_sharding is on a mesh of another name than the operand's, but of the same devices: {}",
                    to.mesh
                );
                let names = |placement: &Placement<'c>| -> Vec<(&'c str, i64)> {
                    placement.mesh.axes().iter().map(|axis| (axis.name(), axis.size())).collect()
                };
                require!(
                    names(&from) == names(&to),
                    "out_sharding is on mesh {}, whose axes are not those of the operand's mesh {}",
                    to.mesh,
                    from.mesh
                );
            }
        }
        require!(
            from.dims.len() == to.dims.len(),
            "out_sharding has {} dimensions, but the operand's sharding has {}",
            to.dims.len(),
            from.dims.len()
        );
        let axes = Axes::new(to.mesh);
        let resolve = |placement: &Placement<'c>| -> Result<Vec<Vec<Part>>, OpError> {
            placement.dims.iter().map(|dim| resolve_all(&axes, &dim.axes)).collect()
        };
        let (from_dims, to_dims) = (at("sharding of the operand", resolve(&from))?, resolve(&to)?);
        Ok(Self { axes, from, to, from_dims, to_dims })
    }

    /// Rejects a result that is not cut along `expected`.
    fn expect(&self, expected: &[Vec<Part>]) -> Verdict {
        for (index, (expected, actual)) in expected.iter().zip(&self.to_dims).enumerate() {
            require!(
                expected == actual,
                "out_sharding cuts dimension {index} along {}, but the operand's sharding leads to {}",
                self.axes.show_list(actual),
                self.axes.show_list(expected)
            );
        }
        Ok(())
    }

    /// One list of axes per dimension, by which the op is told what to do.
    fn axes_per_dim<'a>(&self, view: &OpView<'c, 'a>, name: &str) -> Result<Vec<Vec<Part>>, OpError>
    where
        'c: 'a,
    {
        let Some(lists) = view.attribute(name).and_then(ListOfAxisRefLists::view) else {
            reject!("attribute '{name}' must hold one list of axes per dimension")
        };
        let lists = lists.lists();
        require!(
            lists.len() == self.to_dims.len(),
            "{name} has {} entries, but out_sharding has {} dimensions",
            lists.len(),
            self.to_dims.len()
        );
        let parts: Vec<Vec<Part>> = at(
            name,
            lists
                .iter()
                .map(|list: AxisRefList| self.axes.resolve_list(list.axes()))
                .collect::<Result<_, _>>(),
        )?;
        at(name, self.axes.check_disjoint(parts.iter().map(Vec::as_slice)))?;
        Ok(parts)
    }

    /// One list of axes for the whole tensor, in the order of the mesh.
    fn axes_of_all<'a>(&self, view: &OpView<'c, 'a>, name: &str) -> Result<Vec<Part>, OpError>
    where
        'c: 'a,
    {
        let Some(list) = view.attribute(name).and_then(AxisRefList::view) else {
            reject!("attribute '{name}' must be a list of axes")
        };
        let parts = at(name, self.axes.resolve_list(list.axes()))?;
        at(name, self.axes.check_disjoint([parts.as_slice()]))?;
        at(name, self.axes.check_sorted(&parts, "axes"))?;
        Ok(parts)
    }

    /// Takes axes off the end of what cuts each dimension.
    fn gather(&self, name: &str, per_dim: &[Vec<Part>]) -> Result<Vec<Vec<Part>>, OpError> {
        let mut dims = self.from_dims.clone();
        for (index, (dim, axes)) in dims.iter_mut().zip(per_dim).enumerate() {
            for &axis in axes.iter().rev() {
                require!(
                    remove_suffix(dim, axis),
                    "{name}: dimension {index} of the operand is cut along {}, whose end is not {}",
                    self.axes.show_list(&self.from_dims[index]),
                    self.axes.show(axis)
                );
            }
        }
        Ok(dims)
    }

    /// Appends axes to what cuts each dimension.
    fn slice(&self, per_dim: &[Vec<Part>]) -> Vec<Vec<Part>> {
        let mut dims = self.from_dims.clone();
        for (dim, axes) in dims.iter_mut().zip(per_dim) {
            axes.iter().for_each(|&axis| append(dim, axis));
        }
        dims
    }

    /// Rejects a result whose unreduced axes are not those of the operand and `added`.
    fn expect_unreduced(&self, added: impl IntoIterator<Item = Part>) -> Verdict {
        let mut expected = self.operand_unreduced()?;
        expected.extend(added);
        let (expected, actual) = (normalized(expected), normalized(self.result_unreduced()?));
        require!(
            expected == actual,
            "out_sharding is unreduced along {}, but the operand's sharding leads to {}",
            self.axes.show_list(&actual),
            self.axes.show_list(&expected)
        );
        Ok(())
    }

    fn operand_unreduced(&self) -> Result<Vec<Part>, OpError> {
        resolve_all(&self.axes, &self.from.unreduced)
    }

    fn result_unreduced(&self) -> Result<Vec<Part>, OpError> {
        resolve_all(&self.axes, &self.to.unreduced)
    }
}

fn verify_all_gather(view: &OpView<'_, '_>) -> Verdict {
    let ends = Ends::new(view, Missing::Error, Meshes::Same)?;
    let axes = ends.axes_per_dim(view, "gathering_axes")?;
    ends.expect(&ends.gather("gathering_axes", &axes)?)
}

fn verify_all_slice(view: &OpView<'_, '_>) -> Verdict {
    let ends = Ends::new(view, Missing::Uncut, Meshes::Same)?;
    let axes = ends.axes_per_dim(view, "slicing_axes")?;
    ends.expect(&ends.slice(&axes))
}

fn verify_reduce_scatter(view: &OpView<'_, '_>) -> Verdict {
    let ends = Ends::new(view, Missing::Uncut, Meshes::Same)?;
    let axes = ends.axes_per_dim(view, "reduce_scatter_axes")?;
    ends.expect(&ends.slice(&axes))
}

fn verify_sharded_to_unreduced(view: &OpView<'_, '_>) -> Verdict {
    let ends = Ends::new(view, Missing::Error, Meshes::Same)?;
    let axes = ends.axes_per_dim(view, "axes")?;
    ends.expect(&ends.gather("axes", &axes)?)?;
    ends.expect_unreduced(axes.into_iter().flatten())
}

fn verify_all_reduce(view: &OpView<'_, '_>) -> Verdict {
    let ends = Ends::new(view, Missing::Uncut, Meshes::Same)?;
    let axes = ends.axes_of_all(view, "reduction_axes")?;
    require!(
        ends.from.mesh_or_ref == ends.to.mesh_or_ref,
        "out_sharding names another mesh than the operand's sharding"
    );
    ends.expect(&ends.from_dims)?;
    let replicated = resolve_all(&ends.axes, &ends.from.replicated)?;
    let kept = ends.from_dims.iter().flatten().chain(&replicated).copied();
    if let Some(part) = first_overlap(&axes, kept) {
        reject!("reduction_axes: the operand is cut or replicated along {}", ends.axes.show(part));
    }
    if let Some(part) = first_overlap(&axes, ends.result_unreduced()?) {
        reject!("reduction_axes: out_sharding is unreduced along {}", ends.axes.show(part));
    }
    Ok(())
}

fn verify_replicated_to_unreduced(view: &OpView<'_, '_>) -> Verdict {
    let ends = Ends::new(view, Missing::Error, Meshes::Same)?;
    let axes = ends.axes_of_all(view, "axes")?;
    require!(!axes.is_empty(), "axes must not be empty");
    require!(ends.from.dims == ends.to.dims, "out_sharding must cut dimensions like the operand's sharding");
    if let Some(part) = first_overlap(&axes, ends.from_dims.iter().flatten().copied()) {
        reject!("axes: the operand is cut along {}", ends.axes.show(part));
    }
    if let Some(part) = first_overlap(&axes, ends.operand_unreduced()?) {
        reject!("axes: the operand is unreduced along {} already", ends.axes.show(part));
    }
    ends.expect_unreduced(axes)
}

fn verify_all_to_all(view: &OpView<'_, '_>) -> Verdict {
    let ends = Ends::new(view, Missing::Error, Meshes::Same)?;
    let Some(params) = view.attribute("params").and_then(AllToAllParamList::view) else {
        reject!("attribute 'params' must hold the moves of an all-to-all")
    };
    let params = params.params();
    require!(!params.is_empty(), "params must not be empty");

    let rank = ends.to_dims.len();
    let dimension = |what: &str, number: i64| {
        let index = usize::try_from(number).ok().filter(|&index| index < rank);
        index.ok_or_else(|| {
            OpError(format!("params: {what} dimension {number} is not one of the {rank} there are"))
        })
    };
    let mut dims = ends.from_dims.clone();
    let mut used = vec![false; rank];
    let mut last_source = None;
    let mut moves = Vec::new();
    for param in params.iter() {
        let axes = at("params", ends.axes.resolve_list(param.axes()))?;
        let (source, target) = (dimension("source", param.source())?, dimension("target", param.target())?);
        for number in [source, target] {
            require!(!used[number], "params: dimension {number} is in more than one move");
            used[number] = true;
        }
        require!(
            last_source.is_none_or(|last| last < source),
            "params: source dimension {source} must come before the one in front of it"
        );
        last_source = Some(source);
        moves.push((source, target, axes));
    }
    at("params", ends.axes.check_disjoint(moves.iter().map(|(.., axes)| axes.as_slice())))?;
    for (source, target, axes) in &moves {
        for &axis in axes.iter().rev() {
            require!(
                remove_suffix(&mut dims[*source], axis),
                "params: dimension {source} of the operand is cut along {}, whose end is not {}",
                ends.axes.show_list(&ends.from_dims[*source]),
                ends.axes.show(axis)
            );
        }
        axes.iter().for_each(|&axis| append(&mut dims[*target], axis));
    }
    ends.expect(&dims)
}

fn verify_collective_permute(view: &OpView<'_, '_>) -> Verdict {
    let ends = Ends::new(view, Missing::Error, Meshes::Permuted)?;
    for (index, (from, to)) in ends.from_dims.iter().zip(&ends.to_dims).enumerate() {
        require!(
            piece_count(from) == piece_count(to),
            "out_sharding cuts dimension {index} into {} pieces, but the operand is cut into {}",
            piece_count(to),
            piece_count(from)
        );
    }
    Ok(())
}

/// Whether a collective is told to do nothing.
fn has_no_axes(op: OperationRef<'_, '_>) -> bool {
    let names = ["gathering_axes", "slicing_axes", "reduce_scatter_axes", "reduction_axes"];
    names.iter().filter_map(|name| crate::ffi::attribute_of(op, name)).any(|attribute| {
        AxisRefList::view(attribute).is_some_and(|list| list.axes().is_empty())
            || ListOfAxisRefLists::view(attribute)
                .is_some_and(|lists| lists.lists().iter().all(|list: AxisRefList| list.axes().is_empty()))
    })
}

fn fold_identity<'c, 'a>(
    op: OperationRef<'c, 'a>,
    _operands: &[Option<Attribute<'c>>],
) -> Option<Vec<Folded<'c, 'a>>> {
    if has_no_axes(op) { Some(vec![Folded::Value(op.operand(0).ok()?)]) } else { None }
}

/// Besides the identity: slicing what was just gathered along the same axes.
fn fold_all_slice<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Option<Attribute<'c>>],
) -> Option<Vec<Folded<'c, 'a>>> {
    if let Some(folded) = fold_identity(op, operands) {
        return Some(folded);
    }
    let gather = crate::ffi::as_result(op.operand(0).ok()?)?.owner();
    if crate::ffi::op_name(gather) != "sdy.all_gather"
        || crate::ffi::attribute_of(gather, "gathering_axes") != crate::ffi::attribute_of(op, "slicing_axes")
    {
        return None;
    }
    let source = gather.operand(0).ok()?;
    let before = sharding::placement(gather, source).ok()??;
    let after = crate::ffi::attribute_of(op, "out_sharding").and_then(TensorSharding::view)?;
    let after = Placement::new(op, after).ok()?;
    (before == after).then(|| vec![Folded::Value(source)])
}

/// A permutation to the sharding that the operand has anyway.
fn fold_collective_permute<'c, 'a>(
    op: OperationRef<'c, 'a>,
    _operands: &[Option<Attribute<'c>>],
) -> Option<Vec<Folded<'c, 'a>>> {
    let operand = op.operand(0).ok()?;
    let before = sharding::placement(op, operand).ok()??;
    let after = crate::ffi::attribute_of(op, "out_sharding").and_then(TensorSharding::view)?;
    let after = Placement::new(op, after).ok()?;
    (before == after).then(|| vec![Folded::Value(operand)])
}
