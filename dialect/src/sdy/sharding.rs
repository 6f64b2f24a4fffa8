// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Shardings of values: whether one fits a type and a mesh, and which one a value has.

use super::attrs::{
    AxisRef, DimensionSharding, ManualAxes, Mesh, TensorSharding, TensorShardingPerValue, View,
};
use super::ffi;
use super::mesh::{Axes, Part};
use crate::ffi as common;
use crate::view::{OpError, Verdict};
use crate::{reject, require};
use melior::ir::attribute::StringAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, BlockLike, OperationRef, Type, Value};

/// The attribute by which ops of any dialect say how their results are sharded.
pub const SHARDING: &str = "sdy.sharding";

/// Says what an error is about: `place: error`.
pub(crate) fn at<T>(place: &str, result: Result<T, OpError>) -> Result<T, OpError> {
    result.map_err(|OpError(message)| OpError(format!("{place}: {message}")))
}

/// The mesh of a sharding as seen from `op`.
///
/// # Errors
/// There is no mesh of that name.
pub fn mesh_of<'c>(op: OperationRef<'c, '_>, sharding: TensorSharding<'c>) -> Result<Mesh<'c>, OpError> {
    if let Some(mesh) = sharding.inlined_mesh() {
        return Ok(mesh);
    }
    let name = sharding.mesh_name().unwrap_or_default();
    let mesh = ffi::lookup_mesh(op, name).and_then(Mesh::view);
    mesh.ok_or_else(|| OpError(format!("refers to mesh @{name}, but no sdy.mesh of that name is in scope")))
}

/// Names of the axes that the manual computations around `op` are manual on.
pub fn manual_axes_around<'c>(op: OperationRef<'c, '_>) -> Vec<&'c str> {
    let mut names = Vec::new();
    // Only references of the caller's own lifetime can be walked, which is all this needs.
    fn walk<'c>(op: OperationRef<'c, '_>, names: &mut Vec<&'c str>) {
        let Some(parent) = op.parent_operation() else { return };
        if common::op_name(parent) == "sdy.manual_computation" {
            names.extend(manual_axes_of(parent));
        }
        walk(parent, names);
    }
    walk(op, &mut names);
    names
}

/// Names of the axes that a manual computation is manual on.
pub fn manual_axes_of<'c>(op: OperationRef<'c, '_>) -> Vec<&'c str> {
    common::attribute_of(op, "manual_axes")
        .and_then(ManualAxes::view)
        .map(|axes| axes.names().iter().map(|name: StringAttribute| common::string_value(name)).collect())
        .unwrap_or_default()
}

/// The type whose dimensions a sharding of a value of type `ty` is about: that of the only element of a tuple.
///
/// # Errors
/// A tuple of more elements than one, or of none; how many.
pub fn sharded_type<'c>(ty: Type<'c>) -> Result<Type<'c>, OpError> {
    let Some(tuple) = common::as_tuple(ty) else { return Ok(ty) };
    match tuple.type_count() {
        1 => tuple.r#type(0).map_err(|error| OpError(error.to_string())),
        count => reject!("shards a tuple of {count} elements; only one of a single element can be sharded"),
    }
}

/// All axes that a sharding mentions, with repetitions.
fn all_axes<'c>(sharding: TensorSharding<'c>) -> impl Iterator<Item = AxisRef<'c>> {
    let dims = sharding.dims().iter().flat_map(|dim: DimensionSharding| dim.axes().iter());
    dims.chain(sharding.replicated_axes().iter()).chain(sharding.unreduced_axes().iter())
}

fn has_no_axis_lists(sharding: TensorSharding<'_>) -> bool {
    sharding.dims().is_empty()
        && sharding.replicated_axes().is_empty()
        && sharding.unreduced_axes().is_empty()
}

/// Verifies a sharding at `op` of a value of type `ty`.
///
/// # Errors
/// What is wrong with it, with the dimension or the axis.
pub fn verify<'c>(op: OperationRef<'c, '_>, sharding: TensorSharding<'c>, ty: Type<'c>) -> Verdict {
    let mesh = mesh_of(op, sharding)?;
    if mesh.is_maximal() {
        require!(
            has_no_axis_lists(sharding),
            "is on one device only, so it must be without dimensions and axes, but is {sharding}"
        );
        return Ok(());
    }
    let manual = manual_axes_around(op);
    if let Some(axis) = all_axes(sharding).find(|axis| manual.contains(&axis.name())) {
        reject!("uses axis \"{}\", on which a sdy.manual_computation around is manual", axis.name());
    }

    let ty = sharded_type(ty)?;
    let dims = sharding.dims();
    if common::element_type(ty).is_none() {
        require!(
            has_no_axis_lists(sharding),
            "is of a value of type {ty}, which has no dimensions, so it must be without dimensions and axes, but is {sharding}"
        );
        return Ok(());
    }
    let Some(shape) = common::shape(ty) else {
        reject!("is of a value of type {ty}, whose rank is not known")
    };
    require!(dims.len() == shape.len(), "has {} dimensions, but type {ty} has {}", dims.len(), shape.len());

    for (index, dim) in dims.iter().enumerate() {
        if let (true, true, Some(priority)) = (dim.axes().is_empty(), dim.is_closed(), dim.priority()) {
            reject!("gives dimension {index} priority {priority}, but it is closed and has no axes");
        }
    }
    check_axes(&Axes::new(mesh), sharding)
}

/// Verifies that the axes of a sharding are those of the mesh, each used once and written in one way.
fn check_axes<'c>(axes: &Axes<'c>, sharding: TensorSharding<'c>) -> Verdict {
    let mut lists = Vec::with_capacity(sharding.dims().len() + 2);
    for dim in sharding.dims().iter() {
        lists.push(axes.resolve_list(dim.axes())?);
    }
    let replicated = axes.resolve_list(sharding.replicated_axes())?;
    let unreduced = axes.resolve_list(sharding.unreduced_axes())?;
    axes.check_sorted(&replicated, "replicated axes")?;
    axes.check_sorted(&unreduced, "unreduced axes")?;
    lists.push(replicated);
    lists.push(unreduced);
    axes.check_disjoint(lists.iter().map(Vec::as_slice))
}

/// Verifies one sharding per value; `place` names the attribute.
///
/// # Errors
/// There are not as many as values, or what is wrong with one of them, with its number.
pub fn verify_per_value<'c>(
    op: OperationRef<'c, '_>,
    shardings: TensorShardingPerValue<'c>,
    types: &[Type<'c>],
    place: &str,
) -> Verdict {
    let shardings = shardings.shardings();
    // An op without results is somewhere, too: one sharding may say on which device.
    if let (true, 1, Some(sharding)) = (types.is_empty(), shardings.len(), shardings.get(0)) {
        at(place, mesh_of(op, sharding))?;
        require!(
            has_no_axis_lists(sharding),
            "{place}: is of no value, so it must be without dimensions and axes, but is {sharding}"
        );
        return Ok(());
    }
    require!(
        shardings.len() == types.len(),
        "{place}: there are {} shardings for {} values",
        shardings.len(),
        types.len()
    );
    for (index, (sharding, &ty)) in shardings.iter().zip(types).enumerate() {
        at(&format!("{place}[{index}]"), verify(op, sharding, ty))?;
    }
    Ok(())
}

/// How one dimension of a value is cut.
#[derive(Clone, PartialEq, Eq)]
pub struct Dim<'c> {
    /// Axes along which it is cut, major to minor.
    pub axes: Vec<AxisRef<'c>>,
    /// Whether propagation must not add axes.
    pub is_closed: bool,
    /// Priority in propagation.
    pub priority: Option<i64>,
}

impl<'c> From<DimensionSharding<'c>> for Dim<'c> {
    fn from(dim: DimensionSharding<'c>) -> Self {
        Self { axes: dim.axes().iter().collect(), is_closed: dim.is_closed(), priority: dim.priority() }
    }
}

/// A sharding taken apart, so that it can differ from what is written.
#[derive(Clone, PartialEq, Eq)]
pub struct Placement<'c> {
    /// The mesh, or the name of one, as written.
    pub mesh_or_ref: Option<Attribute<'c>>,
    /// The mesh.
    pub mesh: Mesh<'c>,
    /// One entry per dimension.
    pub dims: Vec<Dim<'c>>,
    /// Axes along which the value stays replicated.
    pub replicated: Vec<AxisRef<'c>>,
    /// Axes along which the value is a sum still to be taken.
    pub unreduced: Vec<AxisRef<'c>>,
}

impl<'c> Placement<'c> {
    /// Takes a sharding apart, as seen from `op`.
    ///
    /// # Errors
    /// Its mesh or an axis cannot be found.
    pub fn new(op: OperationRef<'c, '_>, sharding: TensorSharding<'c>) -> Result<Self, OpError> {
        Ok(Self {
            mesh_or_ref: sharding.mesh_or_ref(),
            mesh: mesh_of(op, sharding)?,
            dims: sharding.dims().iter().map(Dim::from).collect(),
            replicated: sharding.replicated_axes().iter().collect(),
            unreduced: sharding.unreduced_axes().iter().collect(),
        })
    }

    /// The same mesh with nothing cut.
    pub fn uncut(&self) -> Self {
        let dim = Dim { axes: Vec::new(), is_closed: true, priority: None };
        let dims = vec![dim; self.dims.len()];
        Self { dims, replicated: Vec::new(), unreduced: Vec::new(), ..self.clone() }
    }

    /// What is left inside a computation that is manual on some axes.
    fn without_axes(mut self, names: &[&str]) -> Self {
        let keep = |axis: &AxisRef<'c>| !names.contains(&axis.name());
        self.dims.iter_mut().for_each(|dim| dim.axes.retain(keep));
        self.replicated.retain(keep);
        self.unreduced.retain(keep);
        self
    }
}

/// Resolves axes that may come from different lists.
///
/// # Errors
/// The first that the mesh has not got.
pub fn resolve_all<'c>(axes: &Axes<'c>, references: &[AxisRef<'c>]) -> Result<Vec<Part>, OpError> {
    references.iter().map(|&reference| axes.resolve(reference)).collect()
}

fn per_value<'c>(op: OperationRef<'c, '_>, name: &str, index: usize) -> Option<TensorSharding<'c>> {
    let shardings = TensorShardingPerValue::view(common::attribute_of(op, name)?)?;
    shardings.shardings().get(index)
}

fn single<'c>(op: OperationRef<'c, '_>, name: &str) -> Option<TensorSharding<'c>> {
    TensorSharding::view(common::attribute_of(op, name)?)
}

/// The sharding that a result of `op` has, if any.
fn result_sharding<'c>(op: OperationRef<'c, '_>, index: usize) -> Option<TensorSharding<'c>> {
    match common::op_name(op) {
        "sdy.sharding_constraint" | "sdy.reshard" | "sdy.data_flow_edge" => single(op, "sharding"),
        "sdy.manual_computation" | "sdy.named_computation" => per_value(op, "out_shardings", index),
        "sdy.all_gather"
        | "sdy.all_slice"
        | "sdy.all_to_all"
        | "sdy.all_reduce"
        | "sdy.collective_permute"
        | "sdy.reduce_scatter"
        | "sdy.sharded_to_unreduced"
        | "sdy.replicated_to_unreduced" => single(op, "out_sharding"),
        _ => per_value(op, SHARDING, index),
    }
}

/// The sharding that `value` has as seen from `user`; `None` if it has none.
///
/// # Errors
/// It has one that cannot be taken apart.
pub fn placement<'c>(
    user: OperationRef<'c, '_>,
    value: Value<'c, '_>,
) -> Result<Option<Placement<'c>>, OpError> {
    let take_apart = |sharding: Option<TensorSharding<'c>>| {
        sharding.map(|sharding| Placement::new(user, sharding)).transpose()
    };
    if let Some(result) = common::as_result(value) {
        return take_apart(result_sharding(result.owner(), result.result_number()));
    }
    let Some(argument) = common::as_block_argument(value) else { return Ok(None) };
    let index = argument.argument_number();
    let block = argument.owner();
    let Some(owner) = block.parent_operation() else { return Ok(None) };
    if ffi::is_function(owner) {
        return take_apart(ffi::argument_attribute(owner, index, SHARDING).and_then(TensorSharding::view));
    }
    match common::op_name(owner) {
        "sdy.named_computation" => take_apart(per_value(owner, "in_shardings", index)),
        "sdy.manual_computation" => {
            let outer = take_apart(per_value(owner, "in_shardings", index))?;
            Ok(outer.map(|outer| outer.without_axes(&manual_axes_of(owner))))
        }
        // What a loop carries is sharded like what it returns.
        "stablehlo.while" => take_apart(per_value(owner, SHARDING, index)),
        _ => Ok(None),
    }
}
