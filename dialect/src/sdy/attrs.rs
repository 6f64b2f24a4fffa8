// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Typed views of the attributes of the `sdy` dialect.
//!
//! A view is an [`Attribute`] that is known to be of one kind: `try_from` checks that, readers borrow from the context,
//! `new` builds. Where the parts may be invalid, `new` takes a location, reports there and gives `None`.

use super::ffi;
use crate::stablehlo::attrs::AsContext;
use melior::ir::attribute::{FlatSymbolRefAttribute, StringAttribute};
use melior::ir::{Attribute, AttributeLike, Location};
use mlir_sys::MlirAttribute;
use std::fmt;
use std::marker::PhantomData;

/// A view of an attribute.
pub trait View<'c>: Copy {
    /// Views `attribute`, if it is of this kind.
    fn view(attribute: Attribute<'c>) -> Option<Self>;

    /// What is viewed.
    fn attribute(self) -> Attribute<'c>;
}

impl<'c> View<'c> for StringAttribute<'c> {
    fn view(attribute: Attribute<'c>) -> Option<Self> {
        Self::try_from(attribute).ok()
    }

    fn attribute(self) -> Attribute<'c> {
        self.into()
    }
}

/// Views that an attribute holds a list of.
#[derive(Clone, Copy)]
pub struct List<'c, V> {
    raw: &'c [MlirAttribute],
    views: PhantomData<V>,
}

impl<'c, V: View<'c>> List<'c, V> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The view at `index`.
    pub fn get(&self, index: usize) -> Option<V> {
        self.raw.get(index).and_then(|&raw| V::view(ffi::attribute(raw)))
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = V> + Clone + use<'c, V> {
        self.raw.iter().filter_map(|&raw| V::view(ffi::attribute(raw)))
    }
}

fn raw<'c, V: View<'c>>(views: &[V]) -> Vec<MlirAttribute> {
    views.iter().map(|view| view.attribute().to_raw()).collect()
}

/// An attribute that is not of the kind asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no {1}")]
pub struct WrongKind(String, &'static str);

macro_rules! views {
    ($($(#[$attribute:meta])* $name:ident = $is:ident;)*) => {
        $(
            $(#[$attribute])*
            #[derive(Clone, Copy, PartialEq, Eq)]
            pub struct $name<'c>(Attribute<'c>);

            impl<'c> View<'c> for $name<'c> {
                fn view(attribute: Attribute<'c>) -> Option<Self> {
                    ffi::$is(attribute).then_some(Self(attribute))
                }

                fn attribute(self) -> Attribute<'c> {
                    self.0
                }
            }

            impl<'c> TryFrom<Attribute<'c>> for $name<'c> {
                type Error = WrongKind;

                fn try_from(attribute: Attribute<'c>) -> Result<Self, WrongKind> {
                    Self::view(attribute).ok_or_else(|| WrongKind(attribute.to_string(), stringify!($name)))
                }
            }

            impl<'c> From<$name<'c>> for Attribute<'c> {
                fn from(view: $name<'c>) -> Self {
                    view.0
                }
            }

            impl fmt::Display for $name<'_> {
                fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                    self.0.fmt(formatter)
                }
            }

            impl fmt::Debug for $name<'_> {
                fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                    self.0.fmt(formatter)
                }
            }
        )*
    };
}

views! {
    /// One axis of a mesh: `#sdy<mesh_axis"x"=2>`.
    MeshAxis = is_mesh_axis;
    /// An arrangement of devices along named axes: `#sdy.mesh<["x"=2, "y"=2]>`.
    Mesh = is_mesh;
    /// Which part of an axis is meant: `#sdy<sub_axis_info(2)4>`.
    SubAxisInfo = is_sub_axis_info;
    /// An axis or a part of one: `#sdy<axis_ref"x":(2)4>`.
    AxisRef = is_axis_ref;
    /// Axes, major to minor: `#sdy<axis_ref_list{"x", "y"}>`.
    AxisRefList = is_axis_ref_list;
    /// Axes for each dimension: `#sdy<list_of_axis_ref_lists[{"x"}, {}]>`.
    ListOfAxisRefLists = is_list_of_axis_ref_lists;
    /// Axes along which a computation is written per device: `#sdy<manual_axes{"x"}>`.
    ManualAxes = is_manual_axes;
    /// How one dimension is cut: `#sdy<dimension_sharding{"x", ?}p1>`.
    DimensionSharding = is_dimension_sharding;
    /// How a tensor is spread over a mesh: `#sdy.sharding<@mesh, [{"x"}, {}]>`.
    TensorSharding = is_tensor_sharding;
    /// One sharding for each value: `#sdy.sharding_per_value<[<@mesh, [{"x"}]>]>`.
    TensorShardingPerValue = is_tensor_sharding_per_value;
    /// The factors that one dimension is made of: `#sdy<dim_mapping ij>`.
    DimMapping = is_dim_mapping;
    /// The factors that the dimensions of a tensor are made of: `#sdy<tensor_mapping[i, jk]>`.
    TensorMapping = is_tensor_mapping;
    /// Which dimensions must be cut alike: `#sdy.op_sharding_rule<([i])->([i]) {i=8}>`.
    OpShardingRule = is_op_sharding_rule;
    /// One move of an all-to-all: `#sdy<all_to_all_param{"x"}: 0->1>`.
    AllToAllParam = is_all_to_all_param;
    /// All moves of an all-to-all: `#sdy<all_to_all_param_list[{"x"}: 0->1]>`.
    AllToAllParamList = is_all_to_all_param_list;
    /// An operand or result by number: `#sdy<edge_value_ref operand-0>`.
    EdgeValueRef = is_edge_value_ref;
    /// From where to where one axis was propagated.
    AxisToPropagationDetails = is_axis_to_propagation_details;
    /// What one step of propagation did at an op.
    PropagationOneStep = is_propagation_one_step;
    /// What each step of propagation did at an op.
    PropagationEdges = is_propagation_edges;
}

macro_rules! readers {
    ($($view:ident { $($(#[$attribute:meta])* $kind:ident $name:ident = $reader:ident $(of $element:ty)?;)* })*) => {
        $(
            impl<'c> $view<'c> {
                $(
                    $(#[$attribute])*
                    pub fn $name(self) -> readers!(@type $kind $($element)?) {
                        readers!(@read $kind ffi::$reader(self.0))
                    }
                )*
            }
        )*
    };
    (@type text) => { &'c str };
    (@type int) => { i64 };
    (@type flag) => { bool };
    (@type ints) => { &'c [i64] };
    (@type list $element:ty) => { List<'c, $element> };
    (@type option $element:ty) => { Option<$element> };
    (@read list $call:expr) => { List { raw: $call, views: PhantomData } };
    (@read option $call:expr) => { $call.and_then(View::view) };
    (@read $plain:ident $call:expr) => { $call };
}

readers! {
    MeshAxis {
        /// Name.
        text name = mesh_axis_name;
        /// Number of devices along it.
        int size = mesh_axis_size;
    }
    Mesh {
        /// Axes, major to minor.
        list axes = mesh_axes of MeshAxis<'c>;
        /// Devices in row-major order; empty if they count up.
        ints device_ids = mesh_device_ids;
    }
    SubAxisInfo {
        /// Product of the sizes of the more major parts.
        int pre_size = sub_axis_pre_size;
        /// Size of the part.
        int size = sub_axis_size;
    }
    AxisRef {
        /// Name of the axis.
        text name = axis_ref_name;
        /// Part that is meant; the whole axis if `None`.
        option sub_axis_info = axis_ref_sub_axis of SubAxisInfo<'c>;
    }
    AxisRefList {
        /// Axes, major to minor.
        list axes = axis_ref_list of AxisRef<'c>;
    }
    ListOfAxisRefLists {
        /// One list per dimension.
        list lists = axis_ref_lists of AxisRefList<'c>;
    }
    ManualAxes {
        /// Names of axes.
        list names = manual_axes of StringAttribute<'c>;
    }
    DimensionSharding {
        /// Axes along which the dimension is cut, major to minor.
        list axes = dimension_axes of AxisRef<'c>;
        /// Whether propagation must not add axes.
        flag is_closed = dimension_is_closed;
    }
    TensorSharding {
        /// One sharding per dimension.
        list dims = sharding_dims of DimensionSharding<'c>;
        /// Axes along which the tensor stays replicated.
        list replicated_axes = sharding_replicated of AxisRef<'c>;
        /// Axes along which the tensor is a sum still to be taken.
        list unreduced_axes = sharding_unreduced of AxisRef<'c>;
    }
    TensorShardingPerValue {
        /// One sharding per value.
        list shardings = shardings of TensorSharding<'c>;
    }
    DimMapping {
        /// Indices of factors, major to minor.
        ints factor_indices = factor_indices;
    }
    TensorMapping {
        /// One mapping per dimension.
        list dims = dim_mappings of DimMapping<'c>;
    }
    OpShardingRule {
        /// Size of each factor.
        ints factor_sizes = factor_sizes;
        /// One mapping per operand.
        list operand_mappings = operand_mappings of TensorMapping<'c>;
        /// One mapping per result.
        list result_mappings = result_mappings of TensorMapping<'c>;
        /// Factors that are summed over.
        ints reduction_factors = reduction_factors;
        /// Factors that must not be cut.
        ints need_replication_factors = need_replication_factors;
        /// Factors that need communication where they are cut.
        ints permutation_factors = permutation_factors;
        /// Factors that pass no sharding on.
        ints blocked_propagation_factors = blocked_propagation_factors;
        /// Whether the user gave it.
        flag is_custom = rule_is_custom;
    }
    AllToAllParam {
        /// Axes that move.
        list axes = all_to_all_param_axes of AxisRef<'c>;
        /// Dimension they leave.
        int source = all_to_all_param_source;
        /// Dimension they come to.
        int target = all_to_all_param_target;
    }
    AllToAllParamList {
        /// The moves.
        list params = all_to_all_params of AllToAllParam<'c>;
    }
    EdgeValueRef {
        /// Whether it is a result rather than an operand.
        flag is_result = edge_is_result;
        /// Its number.
        int index = edge_index;
    }
    AxisToPropagationDetails {
        /// The axis that was propagated.
        option axis = propagated_axis of AxisRef<'c>;
        /// The value that had it.
        option source = propagation_source of EdgeValueRef<'c>;
        /// The values that got it.
        list targets = propagation_targets of EdgeValueRef<'c>;
    }
    PropagationOneStep {
        /// Its place in the whole propagation.
        int index = step_index;
        /// One entry per axis.
        list axes = step_axes of AxisToPropagationDetails<'c>;
    }
    PropagationEdges {
        /// The steps.
        list steps = propagation_steps of PropagationOneStep<'c>;
    }
}

impl<'c> MeshAxis<'c> {
    /// Builds one; reports at `location` if the size is not positive.
    pub fn new(location: Location<'c>, name: &str, size: i64) -> Option<Self> {
        ffi::new_mesh_axis(location, name, size).and_then(Self::view)
    }
}

impl<'c> Mesh<'c> {
    /// Builds one; reports at `location` if axes and device ids do not make a mesh.
    pub fn new(location: Location<'c>, axes: &[MeshAxis<'c>], device_ids: &[i64]) -> Option<Self> {
        ffi::new_mesh(location, &raw(axes), device_ids).and_then(Self::view)
    }

    /// Whether everything is on one given device.
    pub fn is_maximal(self) -> bool {
        self.axes().is_empty() && self.device_ids().len() == 1
    }
}

impl<'c> SubAxisInfo<'c> {
    /// Builds one.
    pub fn new(context: impl AsContext<'c>, pre_size: i64, size: i64) -> Option<Self> {
        ffi::new_sub_axis_info(context.as_context(), pre_size, size).and_then(Self::view)
    }
}

impl<'c> AxisRef<'c> {
    /// Builds one; `sub_axis_info` is `None` for the whole axis.
    pub fn new(
        context: impl AsContext<'c>,
        name: &str,
        sub_axis_info: Option<SubAxisInfo<'c>>,
    ) -> Option<Self> {
        ffi::new_axis_ref(context.as_context(), name, sub_axis_info.map(View::attribute)).and_then(Self::view)
    }
}

impl<'c> AxisRefList<'c> {
    /// Builds one.
    pub fn new(context: impl AsContext<'c>, axes: &[AxisRef<'c>]) -> Option<Self> {
        ffi::new_axis_ref_list(context.as_context(), &raw(axes)).and_then(Self::view)
    }
}

impl<'c> ListOfAxisRefLists<'c> {
    /// Builds one.
    pub fn new(context: impl AsContext<'c>, lists: &[AxisRefList<'c>]) -> Option<Self> {
        ffi::new_list_of_axis_ref_lists(context.as_context(), &raw(lists)).and_then(Self::view)
    }
}

impl<'c> ManualAxes<'c> {
    /// Builds one.
    pub fn new(context: impl AsContext<'c>, names: &[StringAttribute<'c>]) -> Option<Self> {
        ffi::new_manual_axes(context.as_context(), &raw(names)).and_then(Self::view)
    }
}

impl<'c> DimensionSharding<'c> {
    /// Builds one.
    pub fn new(
        context: impl AsContext<'c>,
        axes: &[AxisRef<'c>],
        is_closed: bool,
        priority: Option<i64>,
    ) -> Option<Self> {
        ffi::new_dimension_sharding(context.as_context(), &raw(axes), is_closed, priority)
            .and_then(Self::view)
    }

    /// Priority in propagation, 0 first.
    pub fn priority(self) -> Option<i64> {
        Some(ffi::dimension_priority(self.0)).filter(|&priority| priority >= 0)
    }
}

impl<'c> TensorSharding<'c> {
    /// Builds one; `None` unless `mesh_or_ref` is a mesh or a flat symbol reference.
    pub fn new(
        context: impl AsContext<'c>,
        mesh_or_ref: Attribute<'c>,
        dims: &[DimensionSharding<'c>],
        replicated_axes: &[AxisRef<'c>],
        unreduced_axes: &[AxisRef<'c>],
    ) -> Option<Self> {
        let lists = [&*raw(dims), &*raw(replicated_axes), &*raw(unreduced_axes)];
        ffi::new_tensor_sharding(context.as_context(), mesh_or_ref, lists).and_then(Self::view)
    }

    /// The mesh, or a symbol reference to one.
    pub fn mesh_or_ref(self) -> Option<Attribute<'c>> {
        ffi::sharding_mesh(self.0)
    }

    /// The mesh, if it is written in place.
    pub fn inlined_mesh(self) -> Option<Mesh<'c>> {
        self.mesh_or_ref().and_then(Mesh::view)
    }

    /// The name of the mesh, unless it is written in place.
    pub fn mesh_name(self) -> Option<&'c str> {
        let reference = FlatSymbolRefAttribute::try_from(self.mesh_or_ref()?).ok()?;
        Some(ffi::symbol_name(reference))
    }
}

impl<'c> TensorShardingPerValue<'c> {
    /// Builds one.
    pub fn new(context: impl AsContext<'c>, shardings: &[TensorSharding<'c>]) -> Option<Self> {
        ffi::new_tensor_sharding_per_value(context.as_context(), &raw(shardings)).and_then(Self::view)
    }
}
