// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The C functions of `include/slimhlo-c/Attributes.h` behind safe functions. [`super::attrs`] is what to use.

use crate::ffi::{option, slice_of, text};
use melior::ir::{Attribute, AttributeLike, Location, Type, TypeLike};
use melior::{Context, ContextRef, StringRef};
use mlir_sys::{MlirAttribute, MlirContext, MlirLocation, MlirStringRef, MlirType};

/// Numbers as they cross over.
#[repr(C)]
#[derive(Clone, Copy)]
struct List {
    data: *const i64,
    size: isize,
}

impl List {
    /// The C side copies the numbers before it returns.
    fn of(values: &[i64]) -> Self {
        // A slice is at most isize::MAX bytes long.
        Self { data: values.as_ptr(), size: values.len() as isize }
    }

    /// # Safety
    /// The list must come from a context that lives for `'c`.
    unsafe fn get<'c>(self) -> &'c [i64] {
        // SAFETY: given by the caller.
        unsafe { slice_of(self.data, self.size) }.unwrap_or_default()
    }
}

/// # Safety
/// `raw` must be null or a live type.
unsafe fn option_type<'c>(raw: MlirType) -> Option<Type<'c>> {
    // SAFETY: given by the caller.
    (!raw.ptr.is_null()).then(|| unsafe { Type::from_raw(raw) })
}

/// Names a context for as long as it lives: what the constructors of attributes take.
pub trait AsContext<'c>: Copy {
    /// The context.
    fn as_context(self) -> ContextRef<'c>;
}

impl<'c> AsContext<'c> for ContextRef<'c> {
    fn as_context(self) -> ContextRef<'c> {
        self
    }
}

impl<'c> AsContext<'c> for &'c Context {
    fn as_context(self) -> ContextRef<'c> {
        // SAFETY: the reference outlives 'c.
        unsafe { ContextRef::from_raw(self.to_raw()) }
    }
}

fn raw(context: ContextRef<'_>) -> MlirContext {
    // SAFETY: the reference, which is to the local `context`, does not leave this function.
    unsafe { context.to_ref() }.to_raw()
}

/// What a reader of each kind returns in C and in Rust, and the way from one to the other.
macro_rules! reader {
    (@raw is) => { bool };
    (@raw list) => { List };
    (@raw int) => { i64 };
    (@raw flag) => { bool };
    (@raw float) => { f64 };
    (@raw text) => { MlirStringRef };
    (@raw ty) => { MlirType };
    (@raw attribute) => { MlirAttribute };
    (@cooked list) => { &'c [i64] };
    (@cooked text) => { &'c str };
    (@cooked ty) => { Option<Type<'c>> };
    (@cooked attribute) => { Option<Attribute<'c>> };
    (@cooked $plain:ident) => { reader!(@raw $plain) };
    (@cook list $raw:expr) => { $raw.get() };
    (@cook text $raw:expr) => { text($raw) };
    (@cook ty $raw:expr) => { option_type($raw) };
    (@cook attribute $raw:expr) => { option($raw) };
    (@cook $plain:ident $raw:expr) => { $raw };
}

macro_rules! readers {
    ($($kind:ident $name:ident = $symbol:ident;)*) => {
        unsafe extern "C" {
            $(fn $symbol(attribute: MlirAttribute) -> reader!(@raw $kind);)*
        }
        $(
            #[allow(clippy::extra_unused_lifetimes)]
            pub(super) fn $name<'c>(attribute: Attribute<'c>) -> reader!(@cooked $kind) {
                // SAFETY: readers take any live attribute, and what they return lives as long as its context.
                unsafe { reader!(@cook $kind $symbol(attribute.to_raw())) }
            }
        )*
    };
}

readers! {
    is is_axis_ref = slimhloStablehloAttributeIsAAxisRef;
    text axis_ref_name = slimhloStablehloAxisRefGetName;
    attribute axis_ref_sub_axis_info = slimhloStablehloAxisRefGetSubAxisInfo;
    is is_channel_handle = slimhloStablehloAttributeIsAChannelHandle;
    int channel_handle_handle = slimhloStablehloChannelHandleGetHandle;
    int channel_handle_type = slimhloStablehloChannelHandleGetType;
    is is_conv = slimhloStablehloAttributeIsAConvDimensionNumbers;
    int conv_input_batch_dimension = slimhloStablehloConvDimensionNumbersGetInputBatchDimension;
    int conv_input_feature_dimension = slimhloStablehloConvDimensionNumbersGetInputFeatureDimension;
    list conv_input_spatial_dimensions = slimhloStablehloConvDimensionNumbersGetInputSpatialDimensions;
    int conv_kernel_input_feature_dimension = slimhloStablehloConvDimensionNumbersGetKernelInputFeatureDimension;
    int conv_kernel_output_feature_dimension = slimhloStablehloConvDimensionNumbersGetKernelOutputFeatureDimension;
    list conv_kernel_spatial_dimensions = slimhloStablehloConvDimensionNumbersGetKernelSpatialDimensions;
    int conv_output_batch_dimension = slimhloStablehloConvDimensionNumbersGetOutputBatchDimension;
    int conv_output_feature_dimension = slimhloStablehloConvDimensionNumbersGetOutputFeatureDimension;
    list conv_output_spatial_dimensions = slimhloStablehloConvDimensionNumbersGetOutputSpatialDimensions;
    is is_dot_algorithm = slimhloStablehloAttributeIsADotAlgorithm;
    ty dot_algorithm_lhs_precision_type = slimhloStablehloDotAlgorithmGetLhsPrecisionType;
    ty dot_algorithm_rhs_precision_type = slimhloStablehloDotAlgorithmGetRhsPrecisionType;
    ty dot_algorithm_accumulation_type = slimhloStablehloDotAlgorithmGetAccumulationType;
    int dot_algorithm_lhs_component_count = slimhloStablehloDotAlgorithmGetLhsComponentCount;
    int dot_algorithm_rhs_component_count = slimhloStablehloDotAlgorithmGetRhsComponentCount;
    int dot_algorithm_num_primitive_operations = slimhloStablehloDotAlgorithmGetNumPrimitiveOperations;
    flag dot_algorithm_allow_imprecise_accumulation = slimhloStablehloDotAlgorithmGetAllowImpreciseAccumulation;
    is is_dot = slimhloStablehloAttributeIsADotDimensionNumbers;
    list dot_lhs_batching_dimensions = slimhloStablehloDotDimensionNumbersGetLhsBatchingDimensions;
    list dot_rhs_batching_dimensions = slimhloStablehloDotDimensionNumbersGetRhsBatchingDimensions;
    list dot_lhs_contracting_dimensions = slimhloStablehloDotDimensionNumbersGetLhsContractingDimensions;
    list dot_rhs_contracting_dimensions = slimhloStablehloDotDimensionNumbersGetRhsContractingDimensions;
    is is_gather = slimhloStablehloAttributeIsAGatherDimensionNumbers;
    list gather_offset_dims = slimhloStablehloGatherDimensionNumbersGetOffsetDims;
    list gather_collapsed_slice_dims = slimhloStablehloGatherDimensionNumbersGetCollapsedSliceDims;
    list gather_operand_batching_dims = slimhloStablehloGatherDimensionNumbersGetOperandBatchingDims;
    list gather_start_indices_batching_dims = slimhloStablehloGatherDimensionNumbersGetStartIndicesBatchingDims;
    list gather_start_index_map = slimhloStablehloGatherDimensionNumbersGetStartIndexMap;
    int gather_index_vector_dim = slimhloStablehloGatherDimensionNumbersGetIndexVectorDim;
    is is_mesh = slimhloStablehloAttributeIsAMesh;
    attribute mesh_device_ids = slimhloStablehloMeshGetDeviceIds;
    is is_mesh_axis = slimhloStablehloAttributeIsAMeshAxis;
    text mesh_axis_name = slimhloStablehloMeshAxisGetName;
    int mesh_axis_size = slimhloStablehloMeshAxisGetSize;
    is is_output_operand_alias = slimhloStablehloAttributeIsAOutputOperandAlias;
    list output_operand_alias_output_tuple_indices = slimhloStablehloOutputOperandAliasGetOutputTupleIndices;
    int output_operand_alias_operand_index = slimhloStablehloOutputOperandAliasGetOperandIndex;
    list output_operand_alias_operand_tuple_indices = slimhloStablehloOutputOperandAliasGetOperandTupleIndices;
    is is_replica_group_mesh_axes = slimhloStablehloAttributeIsAReplicaGroupMeshAxes;
    attribute replica_group_mesh_axes_mesh = slimhloStablehloReplicaGroupMeshAxesGetMesh;
    attribute replica_group_mesh_axes_axes = slimhloStablehloReplicaGroupMeshAxesGetAxes;
    is is_result_accuracy = slimhloStablehloAttributeIsAResultAccuracy;
    float result_accuracy_atol = slimhloStablehloResultAccuracyGetAtol;
    float result_accuracy_rtol = slimhloStablehloResultAccuracyGetRtol;
    int result_accuracy_ulps = slimhloStablehloResultAccuracyGetUlps;
    attribute result_accuracy_mode_attribute = slimhloStablehloResultAccuracyGetMode;
    is is_scatter = slimhloStablehloAttributeIsAScatterDimensionNumbers;
    list scatter_update_window_dims = slimhloStablehloScatterDimensionNumbersGetUpdateWindowDims;
    list scatter_inserted_window_dims = slimhloStablehloScatterDimensionNumbersGetInsertedWindowDims;
    list scatter_input_batching_dims = slimhloStablehloScatterDimensionNumbersGetInputBatchingDims;
    list scatter_scatter_indices_batching_dims = slimhloStablehloScatterDimensionNumbersGetScatterIndicesBatchingDims;
    list scatter_scatter_dims_to_operand_dims = slimhloStablehloScatterDimensionNumbersGetScatterDimsToOperandDims;
    int scatter_index_vector_dim = slimhloStablehloScatterDimensionNumbersGetIndexVectorDim;
    is is_sub_axis_info = slimhloStablehloAttributeIsASubAxisInfo;
    int sub_axis_info_pre_size = slimhloStablehloSubAxisInfoGetPreSize;
    int sub_axis_info_size = slimhloStablehloSubAxisInfoGetSize;
    is is_type_extensions = slimhloStablehloAttributeIsATypeExtensions;
    list type_extensions_bounds = slimhloStablehloTypeExtensionsGetBounds;
}

/// The five functions of an enum. The names are looked up by tests only: Rust has its own table.
pub(super) struct EnumFunctions {
    get: unsafe extern "C" fn(MlirContext, i32) -> MlirAttribute,
    value: unsafe extern "C" fn(MlirAttribute) -> i32,
    #[cfg_attr(not(test), allow(dead_code))]
    to_string: unsafe extern "C" fn(i32) -> MlirStringRef,
    #[cfg_attr(not(test), allow(dead_code))]
    from_string: unsafe extern "C" fn(MlirStringRef) -> i32,
}

impl EnumFunctions {
    /// The attribute that holds the case of this number; `None` if there is no such case.
    pub(super) fn attribute<'c>(&self, context: ContextRef<'c>, value: i32) -> Option<Attribute<'c>> {
        // SAFETY: the context is alive; an unknown number gives null.
        unsafe { option((self.get)(raw(context), value)) }
    }

    /// The number of the case that an attribute holds; -1 if it holds none of this enum.
    pub(super) fn value(&self, attribute: Attribute<'_>) -> i32 {
        // SAFETY: the attribute is alive.
        unsafe { (self.value)(attribute.to_raw()) }
    }

    /// How the C++ side spells a case; empty if there is no such case.
    #[cfg(test)]
    pub(super) fn name(&self, value: i32) -> &'static str {
        // SAFETY: the names are literals.
        unsafe { text((self.to_string)(value)) }
    }

    /// The case that the C++ side spells like this; -1 if there is none.
    #[cfg(test)]
    pub(super) fn parse(&self, name: &str) -> i32 {
        // SAFETY: the text is only read during the call.
        unsafe { (self.from_string)(StringRef::new(name).to_raw()) }
    }
}

macro_rules! enums {
    ($($name:ident { $get:ident, $value:ident, $to_string:ident, $from_string:ident })*) => {
        unsafe extern "C" {
            $(
                fn $get(context: MlirContext, value: i32) -> MlirAttribute;
                fn $value(attribute: MlirAttribute) -> i32;
                fn $to_string(value: i32) -> MlirStringRef;
                fn $from_string(text: MlirStringRef) -> i32;
            )*
        }
        $(
            #[allow(non_upper_case_globals)]
            pub(super) static $name: EnumFunctions =
                EnumFunctions { get: $get, value: $value, to_string: $to_string, from_string: $from_string };
        )*
    };
}

enums! {
    comparison_direction {
        slimhloStablehloComparisonDirectionAttrGet, slimhloStablehloComparisonDirectionGetValue,
        slimhloStablehloComparisonDirectionToString, slimhloStablehloComparisonDirectionFromString
    }
    comparison_type {
        slimhloStablehloComparisonTypeAttrGet, slimhloStablehloComparisonTypeGetValue,
        slimhloStablehloComparisonTypeToString, slimhloStablehloComparisonTypeFromString
    }
    custom_call_api_version {
        slimhloStablehloCustomCallApiVersionAttrGet, slimhloStablehloCustomCallApiVersionGetValue,
        slimhloStablehloCustomCallApiVersionToString, slimhloStablehloCustomCallApiVersionFromString
    }
    fft_type {
        slimhloStablehloFftTypeAttrGet, slimhloStablehloFftTypeGetValue,
        slimhloStablehloFftTypeToString, slimhloStablehloFftTypeFromString
    }
    precision {
        slimhloStablehloPrecisionAttrGet, slimhloStablehloPrecisionGetValue,
        slimhloStablehloPrecisionToString, slimhloStablehloPrecisionFromString
    }
    result_accuracy_mode {
        slimhloStablehloResultAccuracyModeAttrGet, slimhloStablehloResultAccuracyModeGetValue,
        slimhloStablehloResultAccuracyModeToString, slimhloStablehloResultAccuracyModeFromString
    }
    rng_algorithm {
        slimhloStablehloRngAlgorithmAttrGet, slimhloStablehloRngAlgorithmGetValue,
        slimhloStablehloRngAlgorithmToString, slimhloStablehloRngAlgorithmFromString
    }
    rng_distribution {
        slimhloStablehloRngDistributionAttrGet, slimhloStablehloRngDistributionGetValue,
        slimhloStablehloRngDistributionToString, slimhloStablehloRngDistributionFromString
    }
    transpose {
        slimhloStablehloTransposeAttrGet, slimhloStablehloTransposeGetValue,
        slimhloStablehloTransposeToString, slimhloStablehloTransposeFromString
    }
}

unsafe extern "C" {
    fn slimhloStablehloMeshGetNumAxes(attribute: MlirAttribute) -> isize;
    fn slimhloStablehloMeshGetAxis(attribute: MlirAttribute, index: isize) -> MlirAttribute;
    fn slimhloStablehloAxisRefAttrGet(
        context: MlirContext,
        name: MlirStringRef,
        sub_axis_info: MlirAttribute,
    ) -> MlirAttribute;
    fn slimhloStablehloChannelHandleAttrGet(context: MlirContext, handle: i64, ty: i64) -> MlirAttribute;
    fn slimhloStablehloConvDimensionNumbersAttrGet(
        context: MlirContext,
        input_batch_dimension: i64,
        input_feature_dimension: i64,
        input_spatial_dimensions: List,
        kernel_input_feature_dimension: i64,
        kernel_output_feature_dimension: i64,
        kernel_spatial_dimensions: List,
        output_batch_dimension: i64,
        output_feature_dimension: i64,
        output_spatial_dimensions: List,
    ) -> MlirAttribute;
    fn slimhloStablehloDotAlgorithmAttrGet(
        location: MlirLocation,
        lhs_precision_type: MlirType,
        rhs_precision_type: MlirType,
        accumulation_type: MlirType,
        lhs_component_count: i64,
        rhs_component_count: i64,
        num_primitive_operations: i64,
        allow_imprecise_accumulation: bool,
    ) -> MlirAttribute;
    fn slimhloStablehloDotDimensionNumbersAttrGet(
        context: MlirContext,
        lhs_batching_dimensions: List,
        rhs_batching_dimensions: List,
        lhs_contracting_dimensions: List,
        rhs_contracting_dimensions: List,
    ) -> MlirAttribute;
    fn slimhloStablehloGatherDimensionNumbersAttrGet(
        context: MlirContext,
        offset_dims: List,
        collapsed_slice_dims: List,
        operand_batching_dims: List,
        start_indices_batching_dims: List,
        start_index_map: List,
        index_vector_dim: i64,
    ) -> MlirAttribute;
    fn slimhloStablehloMeshAttrGet(
        location: MlirLocation,
        axis_count: isize,
        axes: *const MlirAttribute,
        device_ids: MlirAttribute,
    ) -> MlirAttribute;
    fn slimhloStablehloMeshAxisAttrGet(context: MlirContext, name: MlirStringRef, size: i64)
    -> MlirAttribute;
    fn slimhloStablehloOutputOperandAliasAttrGet(
        context: MlirContext,
        output_tuple_indices: List,
        operand_index: i64,
        operand_tuple_indices: List,
    ) -> MlirAttribute;
    fn slimhloStablehloReplicaGroupMeshAxesAttrGet(
        location: MlirLocation,
        mesh: MlirAttribute,
        axes: MlirAttribute,
    ) -> MlirAttribute;
    fn slimhloStablehloResultAccuracyAttrGet(
        location: MlirLocation,
        atol: f64,
        rtol: f64,
        ulps: i64,
        mode: i32,
    ) -> MlirAttribute;
    fn slimhloStablehloScatterDimensionNumbersAttrGet(
        context: MlirContext,
        update_window_dims: List,
        inserted_window_dims: List,
        input_batching_dims: List,
        scatter_indices_batching_dims: List,
        scatter_dims_to_operand_dims: List,
        index_vector_dim: i64,
    ) -> MlirAttribute;
    fn slimhloStablehloSubAxisInfoAttrGet(context: MlirContext, pre_size: i64, size: i64) -> MlirAttribute;
    fn slimhloStablehloTypeExtensionsAttrGet(context: MlirContext, bounds: List) -> MlirAttribute;
    fn slimhloStablehloTypeIsAToken(ty: MlirType) -> bool;
    fn slimhloStablehloTokenTypeGet(context: MlirContext) -> MlirType;
    fn slimhloStablehloTypeIsAFuture(ty: MlirType) -> bool;
    fn slimhloStablehloFutureTypeGet(
        location: MlirLocation,
        count: isize,
        types: *const MlirType,
    ) -> MlirType;
    fn slimhloStablehloFutureTypeGetNumTypes(ty: MlirType) -> isize;
    fn slimhloStablehloFutureTypeGetType(ty: MlirType, index: isize) -> MlirType;
}

const NULL: MlirAttribute = MlirAttribute { ptr: std::ptr::null() };

/// The axes of a mesh; none if the attribute is another.
pub(super) fn mesh_axes<'c>(mesh: Attribute<'c>) -> Vec<Attribute<'c>> {
    // SAFETY: the attribute is alive; an axis beyond the last comes back null.
    unsafe {
        (0..slimhloStablehloMeshGetNumAxes(mesh.to_raw()))
            .filter_map(|index| option(slimhloStablehloMeshGetAxis(mesh.to_raw(), index)))
            .collect()
    }
}

pub(super) fn axis_ref<'c>(
    context: ContextRef<'c>,
    name: &str,
    sub_axis_info: Option<Attribute<'c>>,
) -> Attribute<'c> {
    let sub_axis_info = sub_axis_info.map_or(NULL, |info| info.to_raw());
    // SAFETY: everything is alive and the name is copied.
    unsafe {
        Attribute::from_raw(slimhloStablehloAxisRefAttrGet(
            raw(context),
            StringRef::new(name).to_raw(),
            sub_axis_info,
        ))
    }
}

pub(super) fn channel_handle<'c>(context: ContextRef<'c>, handle: i64, ty: i64) -> Attribute<'c> {
    // SAFETY: the context is alive.
    unsafe { Attribute::from_raw(slimhloStablehloChannelHandleAttrGet(raw(context), handle, ty)) }
}

/// Each tensor is given by its two dimensions that are not spatial and those that are.
pub(super) fn conv<'c>(
    context: ContextRef<'c>,
    (input, input_spatial): ([i64; 2], &[i64]),
    (kernel, kernel_spatial): ([i64; 2], &[i64]),
    (output, output_spatial): ([i64; 2], &[i64]),
) -> Attribute<'c> {
    // SAFETY: the context is alive and the lists are copied.
    unsafe {
        Attribute::from_raw(slimhloStablehloConvDimensionNumbersAttrGet(
            raw(context),
            input[0],
            input[1],
            List::of(input_spatial),
            kernel[0],
            kernel[1],
            List::of(kernel_spatial),
            output[0],
            output[1],
            List::of(output_spatial),
        ))
    }
}

/// Types are left, right, accumulation; counts are left components, right components, primitive operations.
pub(super) fn dot_algorithm<'c>(
    location: Location<'c>,
    types: [Type<'c>; 3],
    counts: [i64; 3],
    allow_imprecise_accumulation: bool,
) -> Option<Attribute<'c>> {
    let [lhs, rhs, accumulation] = types.map(|ty| ty.to_raw());
    // SAFETY: everything is alive; invalid numbers give null.
    unsafe {
        option(slimhloStablehloDotAlgorithmAttrGet(
            location.to_raw(),
            lhs,
            rhs,
            accumulation,
            counts[0],
            counts[1],
            counts[2],
            allow_imprecise_accumulation,
        ))
    }
}

/// Left and right batching, left and right contracting dimensions.
pub(super) fn dot<'c>(context: ContextRef<'c>, lists: [&[i64]; 4]) -> Attribute<'c> {
    let [lhs_batching, rhs_batching, lhs_contracting, rhs_contracting] = lists.map(List::of);
    // SAFETY: the context is alive and the lists are copied.
    unsafe {
        Attribute::from_raw(slimhloStablehloDotDimensionNumbersAttrGet(
            raw(context),
            lhs_batching,
            rhs_batching,
            lhs_contracting,
            rhs_contracting,
        ))
    }
}

/// Lists in the order of the attribute's parameters.
pub(super) fn gather<'c>(
    context: ContextRef<'c>,
    lists: [&[i64]; 5],
    index_vector_dim: i64,
) -> Attribute<'c> {
    let [offset, collapsed, operand_batching, indices_batching, map] = lists.map(List::of);
    // SAFETY: the context is alive and the lists are copied.
    unsafe {
        Attribute::from_raw(slimhloStablehloGatherDimensionNumbersAttrGet(
            raw(context),
            offset,
            collapsed,
            operand_batching,
            indices_batching,
            map,
            index_vector_dim,
        ))
    }
}

/// Lists in the order of the attribute's parameters.
pub(super) fn scatter<'c>(
    context: ContextRef<'c>,
    lists: [&[i64]; 5],
    index_vector_dim: i64,
) -> Attribute<'c> {
    let [window, inserted, input_batching, indices_batching, map] = lists.map(List::of);
    // SAFETY: the context is alive and the lists are copied.
    unsafe {
        Attribute::from_raw(slimhloStablehloScatterDimensionNumbersAttrGet(
            raw(context),
            window,
            inserted,
            input_batching,
            indices_batching,
            map,
            index_vector_dim,
        ))
    }
}

pub(super) fn mesh<'c>(
    location: Location<'c>,
    axes: impl Iterator<Item = Attribute<'c>>,
    device_ids: Option<Attribute<'c>>,
) -> Option<Attribute<'c>> {
    let axes: Vec<MlirAttribute> = axes.map(|axis| axis.to_raw()).collect();
    let device_ids = device_ids.map_or(NULL, |ids| ids.to_raw());
    // SAFETY: everything is alive and the axes are copied; attributes of the wrong kind give null.
    unsafe {
        option(slimhloStablehloMeshAttrGet(location.to_raw(), axes.len() as isize, axes.as_ptr(), device_ids))
    }
}

pub(super) fn mesh_axis<'c>(context: ContextRef<'c>, name: &str, size: i64) -> Attribute<'c> {
    // SAFETY: the context is alive and the name is copied.
    unsafe {
        Attribute::from_raw(slimhloStablehloMeshAxisAttrGet(
            raw(context),
            StringRef::new(name).to_raw(),
            size,
        ))
    }
}

pub(super) fn output_operand_alias<'c>(
    context: ContextRef<'c>,
    output_tuple_indices: &[i64],
    operand_index: i64,
    operand_tuple_indices: &[i64],
) -> Attribute<'c> {
    // SAFETY: the context is alive and the lists are copied.
    unsafe {
        Attribute::from_raw(slimhloStablehloOutputOperandAliasAttrGet(
            raw(context),
            List::of(output_tuple_indices),
            operand_index,
            List::of(operand_tuple_indices),
        ))
    }
}

pub(super) fn replica_group_mesh_axes<'c>(
    location: Location<'c>,
    mesh: Attribute<'c>,
    axes: Attribute<'c>,
) -> Option<Attribute<'c>> {
    // SAFETY: everything is alive; attributes of the wrong kind give null.
    unsafe {
        option(slimhloStablehloReplicaGroupMeshAxesAttrGet(location.to_raw(), mesh.to_raw(), axes.to_raw()))
    }
}

pub(super) fn result_accuracy(
    location: Location<'_>,
    atol: f64,
    rtol: f64,
    ulps: i64,
    mode: i32,
) -> Option<Attribute<'_>> {
    // SAFETY: the location's context is alive; invalid numbers give null.
    unsafe { option(slimhloStablehloResultAccuracyAttrGet(location.to_raw(), atol, rtol, ulps, mode)) }
}

pub(super) fn sub_axis_info<'c>(context: ContextRef<'c>, pre_size: i64, size: i64) -> Attribute<'c> {
    // SAFETY: the context is alive.
    unsafe { Attribute::from_raw(slimhloStablehloSubAxisInfoAttrGet(raw(context), pre_size, size)) }
}

pub(super) fn type_extensions<'c>(context: ContextRef<'c>, bounds: &[i64]) -> Attribute<'c> {
    // SAFETY: the context is alive and the bounds are copied.
    unsafe { Attribute::from_raw(slimhloStablehloTypeExtensionsAttrGet(raw(context), List::of(bounds))) }
}

pub(super) fn is_token(ty: Type<'_>) -> bool {
    // SAFETY: the type is alive.
    unsafe { slimhloStablehloTypeIsAToken(ty.to_raw()) }
}

pub(super) fn token<'c>(context: ContextRef<'c>) -> Type<'c> {
    // SAFETY: the context is alive.
    unsafe { Type::from_raw(slimhloStablehloTokenTypeGet(raw(context))) }
}

pub(super) fn is_future(ty: Type<'_>) -> bool {
    // SAFETY: the type is alive.
    unsafe { slimhloStablehloTypeIsAFuture(ty.to_raw()) }
}

pub(super) fn future<'c>(location: Location<'c>, types: &[Type<'c>]) -> Option<Type<'c>> {
    let types: Vec<MlirType> = types.iter().map(|ty| ty.to_raw()).collect();
    // SAFETY: everything is alive and the types are copied; invalid ones give null.
    unsafe {
        option_type(slimhloStablehloFutureTypeGet(location.to_raw(), types.len() as isize, types.as_ptr()))
    }
}

/// The types a future produces; none if the type is another.
pub(super) fn future_types<'c>(ty: Type<'c>) -> Vec<Type<'c>> {
    // SAFETY: the type is alive; an index beyond the last comes back null.
    unsafe {
        (0..slimhloStablehloFutureTypeGetNumTypes(ty.to_raw()))
            .filter_map(|index| option_type(slimhloStablehloFutureTypeGetType(ty.to_raw(), index)))
            .collect()
    }
}
