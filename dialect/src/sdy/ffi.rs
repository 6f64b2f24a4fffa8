// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The C functions of `include/slimhlo-c/SdyAttributes.h` behind safe functions. [`super::attrs`] is what to use.

use crate::ffi::{option, slice_of, text};
use melior::ir::attribute::FlatSymbolRefAttribute;
use melior::ir::{Attribute, AttributeLike, Location, OperationRef, Value, ValueLike};
use melior::{ContextRef, StringRef};
use mlir_sys::{
    MlirAttribute, MlirContext, MlirLocation, MlirOperation, MlirStringRef, mlirFlatSymbolRefAttrGetValue,
    mlirOpOperandGetNextUse, mlirOpOperandIsNull, mlirValueGetFirstUse,
};

/// Values as they cross over.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct List<T> {
    data: *const T,
    size: isize,
}

impl<T> List<T> {
    /// The C side copies the values before it returns.
    fn of(values: &[T]) -> Self {
        // A slice is at most isize::MAX bytes long.
        Self { data: values.as_ptr(), size: values.len() as isize }
    }

    /// # Safety
    /// The list must come from a context that lives for `'c`.
    unsafe fn get<'c>(self) -> &'c [T] {
        // SAFETY: given by the caller.
        unsafe { slice_of(self.data, self.size) }.unwrap_or_default()
    }
}

/// What a reader of each kind returns in C and in Rust, and the way from one to the other.
macro_rules! reader {
    (@raw attributes) => { List<MlirAttribute> };
    (@raw list) => { List<i64> };
    (@raw int) => { i64 };
    (@raw case) => { i32 };
    (@raw flag) => { bool };
    (@raw text) => { MlirStringRef };
    (@raw attribute) => { MlirAttribute };
    (@cooked attributes) => { &'c [MlirAttribute] };
    (@cooked list) => { &'c [i64] };
    (@cooked text) => { &'c str };
    (@cooked attribute) => { Option<Attribute<'c>> };
    (@cooked $plain:ident) => { reader!(@raw $plain) };
    (@cook attributes $raw:expr) => { $raw.get() };
    (@cook list $raw:expr) => { $raw.get() };
    (@cook text $raw:expr) => { text($raw) };
    (@cook attribute $raw:expr) => { option($raw) };
    (@cook $plain:ident $raw:expr) => { $raw };
}

macro_rules! readers {
    ($($kind:ident $name:ident = $c_name:ident;)*) => {
        unsafe extern "C" {
            $(fn $c_name(attribute: MlirAttribute) -> reader!(@raw $kind);)*
        }
        $(
            pub(crate) fn $name<'c>(attribute: Attribute<'c>) -> reader!(@cooked $kind) {
                // SAFETY: readers take any live attribute, and what they return lives as long as its context.
                unsafe { reader!(@cook $kind $c_name(attribute.to_raw())) }
            }
        )*
    };
}

readers! {
    flag is_all_to_all_param = slimhloSdyAttributeIsAAllToAllParam;
    flag is_all_to_all_param_list = slimhloSdyAttributeIsAAllToAllParamList;
    flag is_axis_ref = slimhloSdyAttributeIsAAxisRef;
    flag is_axis_ref_list = slimhloSdyAttributeIsAAxisRefList;
    flag is_axis_to_propagation_details = slimhloSdyAttributeIsAAxisToPropagationDetails;
    flag is_dim_mapping = slimhloSdyAttributeIsADimMapping;
    flag is_dimension_sharding = slimhloSdyAttributeIsADimensionSharding;
    flag is_edge_value_ref = slimhloSdyAttributeIsAEdgeValueRef;
    flag is_list_of_axis_ref_lists = slimhloSdyAttributeIsAListOfAxisRefLists;
    flag is_manual_axes = slimhloSdyAttributeIsAManualAxes;
    flag is_mesh = slimhloSdyAttributeIsAMesh;
    flag is_mesh_axis = slimhloSdyAttributeIsAMeshAxis;
    flag is_op_sharding_rule = slimhloSdyAttributeIsAOpShardingRule;
    flag is_propagation_edges = slimhloSdyAttributeIsAPropagationEdges;
    flag is_propagation_one_step = slimhloSdyAttributeIsAPropagationOneStep;
    flag is_sub_axis_info = slimhloSdyAttributeIsASubAxisInfo;
    flag is_tensor_mapping = slimhloSdyAttributeIsATensorMapping;
    flag is_tensor_sharding = slimhloSdyAttributeIsATensorSharding;
    flag is_tensor_sharding_per_value = slimhloSdyAttributeIsATensorShardingPerValue;
    attributes all_to_all_param_axes = slimhloSdyAllToAllParamGetAxes;
    int all_to_all_param_source = slimhloSdyAllToAllParamGetSrcDim;
    int all_to_all_param_target = slimhloSdyAllToAllParamGetTgtDim;
    attributes all_to_all_params = slimhloSdyAllToAllParamListGetValue;
    text axis_ref_name = slimhloSdyAxisRefGetName;
    attribute axis_ref_sub_axis = slimhloSdyAxisRefGetSubAxisInfo;
    attributes axis_ref_list = slimhloSdyAxisRefListGetValue;
    attribute propagated_axis = slimhloSdyAxisToPropagationDetailsGetAxisName;
    attribute propagation_source = slimhloSdyAxisToPropagationDetailsGetSource;
    attributes propagation_targets = slimhloSdyAxisToPropagationDetailsGetTargets;
    list factor_indices = slimhloSdyDimMappingGetFactorIndices;
    attributes dimension_axes = slimhloSdyDimensionShardingGetAxes;
    flag dimension_is_closed = slimhloSdyDimensionShardingGetIsClosed;
    int dimension_priority = slimhloSdyDimensionShardingGetPriority;
    int edge_index = slimhloSdyEdgeValueRefGetIndex;
    flag edge_is_result = slimhloSdyEdgeValueRefIsResult;
    attributes axis_ref_lists = slimhloSdyListOfAxisRefListsGetValue;
    attributes manual_axes = slimhloSdyManualAxesGetValue;
    attributes mesh_axes = slimhloSdyMeshGetAxes;
    list mesh_device_ids = slimhloSdyMeshGetDeviceIds;
    text mesh_axis_name = slimhloSdyMeshAxisGetName;
    int mesh_axis_size = slimhloSdyMeshAxisGetSize;
    list factor_sizes = slimhloSdyOpShardingRuleGetFactorSizes;
    attributes operand_mappings = slimhloSdyOpShardingRuleGetOperandMappings;
    attributes result_mappings = slimhloSdyOpShardingRuleGetResultMappings;
    list reduction_factors = slimhloSdyOpShardingRuleGetReductionFactors;
    list need_replication_factors = slimhloSdyOpShardingRuleGetNeedReplicationFactors;
    list permutation_factors = slimhloSdyOpShardingRuleGetPermutationFactors;
    list blocked_propagation_factors = slimhloSdyOpShardingRuleGetBlockedPropagationFactors;
    flag rule_is_custom = slimhloSdyOpShardingRuleGetIsCustom;
    attributes propagation_steps = slimhloSdyPropagationEdgesGetValue;
    int step_index = slimhloSdyPropagationOneStepGetStepIndex;
    attributes step_axes = slimhloSdyPropagationOneStepGetAxisEntries;
    int sub_axis_pre_size = slimhloSdySubAxisInfoGetPreSize;
    int sub_axis_size = slimhloSdySubAxisInfoGetSize;
    attributes dim_mappings = slimhloSdyTensorMappingGetDimMappings;
    attribute sharding_mesh = slimhloSdyTensorShardingGetMeshOrRef;
    attributes sharding_dims = slimhloSdyTensorShardingGetDimShardings;
    attributes sharding_replicated = slimhloSdyTensorShardingGetReplicatedAxes;
    attributes sharding_unreduced = slimhloSdyTensorShardingGetUnreducedAxes;
    attributes shardings = slimhloSdyTensorShardingPerValueGetShardings;
    case comparison_direction = slimhloChloComparisonDirectionGetValue;
    case comparison_type = slimhloChloComparisonTypeGetValue;
    case precision = slimhloChloPrecisionGetValue;
    flag is_ragged_dot = slimhloChloAttributeIsARaggedDotDimensionNumbers;
    list ragged_lhs_batching = slimhloChloRaggedDotDimensionNumbersGetLhsBatchingDimensions;
    list ragged_rhs_batching = slimhloChloRaggedDotDimensionNumbersGetRhsBatchingDimensions;
    list ragged_lhs_contracting = slimhloChloRaggedDotDimensionNumbersGetLhsContractingDimensions;
    list ragged_rhs_contracting = slimhloChloRaggedDotDimensionNumbersGetRhsContractingDimensions;
    list ragged_lhs_ragged = slimhloChloRaggedDotDimensionNumbersGetLhsRaggedDimensions;
    list ragged_rhs_group = slimhloChloRaggedDotDimensionNumbersGetRhsGroupDimensions;
}

unsafe extern "C" {
    fn slimhloSdyMeshAxisAttrGet(location: MlirLocation, name: MlirStringRef, size: i64) -> MlirAttribute;
    fn slimhloSdyMeshAttrGet(
        location: MlirLocation,
        axes: List<MlirAttribute>,
        device_ids: List<i64>,
    ) -> MlirAttribute;
    fn slimhloSdySubAxisInfoAttrGet(context: MlirContext, pre_size: i64, size: i64) -> MlirAttribute;
    fn slimhloSdyAxisRefAttrGet(
        context: MlirContext,
        name: MlirStringRef,
        sub_axis_info: MlirAttribute,
    ) -> MlirAttribute;
    fn slimhloSdyAxisRefListAttrGet(context: MlirContext, axes: List<MlirAttribute>) -> MlirAttribute;
    fn slimhloSdyListOfAxisRefListsAttrGet(context: MlirContext, lists: List<MlirAttribute>)
    -> MlirAttribute;
    fn slimhloSdyManualAxesAttrGet(context: MlirContext, names: List<MlirAttribute>) -> MlirAttribute;
    fn slimhloSdyDimensionShardingAttrGet(
        context: MlirContext,
        axes: List<MlirAttribute>,
        is_closed: bool,
        priority: i64,
    ) -> MlirAttribute;
    fn slimhloSdyTensorShardingAttrGet(
        context: MlirContext,
        mesh_or_ref: MlirAttribute,
        dim_shardings: List<MlirAttribute>,
        replicated_axes: List<MlirAttribute>,
        unreduced_axes: List<MlirAttribute>,
    ) -> MlirAttribute;
    fn slimhloSdyTensorShardingPerValueAttrGet(
        context: MlirContext,
        shardings: List<MlirAttribute>,
    ) -> MlirAttribute;
    fn slimhloSdyLookupMesh(op: MlirOperation, name: MlirStringRef) -> MlirAttribute;
    fn slimhloFunctionGetValueAttribute(
        op: MlirOperation,
        is_result: bool,
        index: isize,
        name: MlirStringRef,
    ) -> MlirAttribute;
    fn slimhloIsFunction(op: MlirOperation) -> bool;
    fn slimhloIsCall(op: MlirOperation) -> bool;
}

fn raw(context: ContextRef<'_>) -> MlirContext {
    // SAFETY: the reference, which is to the local `context`, does not leave this function.
    unsafe { context.to_ref() }.to_raw()
}

const NULL: MlirAttribute = MlirAttribute { ptr: std::ptr::null() };

pub(crate) fn new_mesh_axis<'c>(location: Location<'c>, name: &str, size: i64) -> Option<Attribute<'c>> {
    // SAFETY: the location is alive and the name is copied; an invalid axis comes back null.
    unsafe { option(slimhloSdyMeshAxisAttrGet(location.to_raw(), StringRef::new(name).to_raw(), size)) }
}

pub(crate) fn new_mesh<'c>(
    location: Location<'c>,
    axes: &[MlirAttribute],
    device_ids: &[i64],
) -> Option<Attribute<'c>> {
    // SAFETY: all attributes are alive and the lists are copied; an invalid mesh comes back null.
    unsafe { option(slimhloSdyMeshAttrGet(location.to_raw(), List::of(axes), List::of(device_ids))) }
}

pub(crate) fn new_sub_axis_info<'c>(
    context: ContextRef<'c>,
    pre_size: i64,
    size: i64,
) -> Option<Attribute<'c>> {
    // SAFETY: the context is alive.
    unsafe { option(slimhloSdySubAxisInfoAttrGet(raw(context), pre_size, size)) }
}

pub(crate) fn new_axis_ref<'c>(
    context: ContextRef<'c>,
    name: &str,
    sub_axis_info: Option<Attribute<'c>>,
) -> Option<Attribute<'c>> {
    let sub_axis_info = sub_axis_info.map_or(NULL, |info| info.to_raw());
    // SAFETY: context and attribute are alive and the name is copied.
    unsafe { option(slimhloSdyAxisRefAttrGet(raw(context), StringRef::new(name).to_raw(), sub_axis_info)) }
}

/// Builders that take one list.
macro_rules! list_builders {
    ($($name:ident = $c_name:ident;)*) => {
        $(
            pub(crate) fn $name<'c>(context: ContextRef<'c>, elements: &[MlirAttribute]) -> Option<Attribute<'c>> {
                // SAFETY: context and attributes are alive and the list is copied; elements of another kind give null.
                unsafe { option($c_name(raw(context), List::of(elements))) }
            }
        )*
    };
}

list_builders! {
    new_axis_ref_list = slimhloSdyAxisRefListAttrGet;
    new_list_of_axis_ref_lists = slimhloSdyListOfAxisRefListsAttrGet;
    new_manual_axes = slimhloSdyManualAxesAttrGet;
    new_tensor_sharding_per_value = slimhloSdyTensorShardingPerValueAttrGet;
}

pub(crate) fn new_dimension_sharding<'c>(
    context: ContextRef<'c>,
    axes: &[MlirAttribute],
    is_closed: bool,
    priority: Option<i64>,
) -> Option<Attribute<'c>> {
    let priority = priority.unwrap_or(-1);
    // SAFETY: context and attributes are alive and the list is copied; elements of another kind give null.
    unsafe { option(slimhloSdyDimensionShardingAttrGet(raw(context), List::of(axes), is_closed, priority)) }
}

pub(crate) fn new_tensor_sharding<'c>(
    context: ContextRef<'c>,
    mesh_or_ref: Attribute<'c>,
    [dims, replicated, unreduced]: [&[MlirAttribute]; 3],
) -> Option<Attribute<'c>> {
    // SAFETY: context and attributes are alive and the lists are copied; elements of another kind give null.
    unsafe {
        option(slimhloSdyTensorShardingAttrGet(
            raw(context),
            mesh_or_ref.to_raw(),
            List::of(dims),
            List::of(replicated),
            List::of(unreduced),
        ))
    }
}

/// The mesh of this name in the symbol table nearest to `op`.
pub(crate) fn lookup_mesh<'c>(op: OperationRef<'c, '_>, name: &str) -> Option<Attribute<'c>> {
    // SAFETY: the op is alive; no mesh comes back null.
    unsafe { option(slimhloSdyLookupMesh(op.to_raw(), StringRef::new(name).to_raw())) }
}

/// The attribute of this name of argument `index` of a function; `None` if `op` is none.
pub(crate) fn argument_attribute<'c>(
    op: OperationRef<'c, '_>,
    index: usize,
    name: &str,
) -> Option<Attribute<'c>> {
    let index = isize::try_from(index).ok()?;
    // SAFETY: the op is alive; a missing attribute comes back null.
    unsafe {
        option(slimhloFunctionGetValueAttribute(op.to_raw(), false, index, StringRef::new(name).to_raw()))
    }
}

/// Whether `op` defines a function.
pub(crate) fn is_function(op: OperationRef<'_, '_>) -> bool {
    // SAFETY: the op is alive.
    unsafe { slimhloIsFunction(op.to_raw()) }
}

/// Whether `op` calls a function.
pub(crate) fn is_call(op: OperationRef<'_, '_>) -> bool {
    // SAFETY: the op is alive.
    unsafe { slimhloIsCall(op.to_raw()) }
}

/// Whether `value` is used exactly once.
pub(crate) fn has_one_use(value: Value<'_, '_>) -> bool {
    // SAFETY: the value is alive; the next use is asked for only where there is a first one.
    unsafe {
        let first = mlirValueGetFirstUse(value.to_raw());
        !mlirOpOperandIsNull(first) && mlirOpOperandIsNull(mlirOpOperandGetNextUse(first))
    }
}

/// An attribute out of a list that a reader returned.
pub(crate) fn attribute<'c>(raw: MlirAttribute) -> Attribute<'c> {
    // SAFETY: lists hold live attributes only, and their lifetime is tied to the context by the reader.
    unsafe { Attribute::from_raw(raw) }
}

/// The name that a symbol reference holds.
pub(crate) fn symbol_name<'c>(reference: FlatSymbolRefAttribute<'c>) -> &'c str {
    // SAFETY: the attribute is a symbol reference and its name is uniqued storage of the context.
    unsafe { text(mlirFlatSymbolRefAttrGetValue(reference.to_raw())) }
}
