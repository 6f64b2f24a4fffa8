// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Typed views of the attributes and types of the `stablehlo` dialect.
//!
//! A view is an [`Attribute`] (or [`Type`]) that is known to be of one kind: `try_from` checks that, readers borrow from
//! the context, `new` builds. Where numbers may be invalid, `new` takes a location, reports there and gives `None`.

use super::ffi;
pub use super::ffi::AsContext;
use melior::ir::{Attribute, AttributeLike, Location, Type, TypeLike};
use mlir_sys::{MlirAttribute, MlirType};
use std::fmt;
use std::str::FromStr;

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

/// A text that is no case of an enum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is no {name}; one of {} is", cases.join(", "))]
pub struct UnknownCase {
    /// The enum.
    pub name: &'static str,
    /// What was given.
    pub text: String,
    /// What could have been.
    pub cases: &'static [&'static str],
}

macro_rules! enumeration {
    (
        $(#[$attribute:meta])*
        $name:ident = $functions:ident {
            $($(#[$case_attribute:meta])* $case:ident = $value:literal $text:literal,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum $name {
            $($(#[$case_attribute])* $case = $value,)*
        }

        impl $name {
            /// All cases.
            pub const ALL: &[Self] = &[$(Self::$case),*];
            const NAMES: &[&str] = &[$($text),*];

            /// How the case is spelled in the text.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$case => $text,)*
                }
            }

            /// The attribute that holds this case.
            pub fn attribute<'c>(self, context: impl AsContext<'c>) -> Attribute<'c> {
                ffi::$functions
                    .attribute(context.as_context(), self as i32)
                    .unwrap_or_else(|| unreachable!("both halves have the same cases"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownCase;

            fn from_str(text: &str) -> Result<Self, UnknownCase> {
                Self::ALL.iter().copied().find(|case| case.as_str() == text).ok_or_else(|| UnknownCase {
                    name: stringify!($name),
                    text: text.into(),
                    cases: Self::NAMES,
                })
            }
        }

        impl TryFrom<Attribute<'_>> for $name {
            type Error = melior::Error;

            fn try_from(attribute: Attribute<'_>) -> Result<Self, melior::Error> {
                let value = ffi::$functions.value(attribute);
                Self::ALL
                    .iter()
                    .copied()
                    .find(|&case| case as i32 == value)
                    .ok_or_else(|| melior::Error::AttributeExpected(stringify!($name), attribute.to_string()))
            }
        }
    };
}

enumeration! {
    /// Which relation `compare` tests.
    ComparisonDirection = comparison_direction {
        /// Equal.
        Eq = 0 "EQ",
        /// Not equal.
        Ne = 1 "NE",
        /// Greater or equal.
        Ge = 2 "GE",
        /// Greater.
        Gt = 3 "GT",
        /// Less or equal.
        Le = 4 "LE",
        /// Less.
        Lt = 5 "LT",
    }
}

enumeration! {
    /// Which order of the element type `compare` follows.
    ComparisonType = comparison_type {
        /// The element type's own.
        NoType = 0 "NOTYPE",
        /// IEEE-754, where a NaN equals nothing.
        Float = 1 "FLOAT",
        /// Every float has its place, NaNs and signed zeros too.
        TotalOrder = 2 "TOTALORDER",
        /// Integers with a sign.
        Signed = 3 "SIGNED",
        /// Integers without, and booleans.
        Unsigned = 4 "UNSIGNED",
    }
}

enumeration! {
    /// How exactly a dot or convolution reads an operand.
    Precision = precision {
        /// The fastest there is.
        Default = 0 "DEFAULT",
        /// In between.
        High = 1 "HIGH",
        /// The most exact there is.
        Highest = 2 "HIGHEST",
    }
}

enumeration! {
    /// Which Fourier transform `fft` computes.
    FftType = fft_type {
        /// Complex to complex.
        Fft = 0 "FFT",
        /// Its inverse.
        Ifft = 1 "IFFT",
        /// Real to the first half of the complex result.
        Rfft = 2 "RFFT",
        /// Its inverse.
        Irfft = 3 "IRFFT",
    }
}

enumeration! {
    /// How `triangular_solve` applies its matrix.
    Transpose = transpose {
        /// Not for use.
        TransposeInvalid = 0 "TRANSPOSE_INVALID",
        /// As it is.
        NoTranspose = 1 "NO_TRANSPOSE",
        /// Transposed.
        Transpose = 2 "TRANSPOSE",
        /// Transposed and conjugated.
        Adjoint = 3 "ADJOINT",
    }
}

enumeration! {
    /// Which distribution `rng` samples.
    RngDistribution = rng_distribution {
        /// Between two bounds.
        Uniform = 1 "UNIFORM",
        /// Of a mean and a standard deviation.
        Normal = 2 "NORMAL",
    }
}

enumeration! {
    /// Which generator `rng_bit_generator` runs.
    RngAlgorithm = rng_algorithm {
        /// The device's choice.
        Default = 0 "DEFAULT",
        /// Threefry.
        ThreeFry = 1 "THREE_FRY",
        /// Philox.
        Philox = 2 "PHILOX",
    }
}

enumeration! {
    /// Which calling convention a custom call's target follows. In the text it is an i32.
    CustomCallApiVersion = custom_call_api_version {
        /// None given.
        Unspecified = 0 "API_VERSION_UNSPECIFIED",
        /// The first one: buffers and an opaque string.
        Original = 1 "API_VERSION_ORIGINAL",
        /// The same, reporting failure.
        StatusReturning = 2 "API_VERSION_STATUS_RETURNING",
        /// The same for every device.
        StatusReturningUnified = 3 "API_VERSION_STATUS_RETURNING_UNIFIED",
        /// Typed arguments, attributes in a dictionary.
        TypedFfi = 4 "API_VERSION_TYPED_FFI",
    }
}

enumeration! {
    /// How the accuracy of an elementwise function is asked for.
    ResultAccuracyMode = result_accuracy_mode {
        /// The device's usual.
        Default = 0 "DEFAULT",
        /// The device's most exact.
        Highest = 1 "HIGHEST",
        /// Given in numbers.
        Tolerance = 2 "TOLERANCE",
    }
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

macro_rules! view {
    (
        $(#[$attribute:meta])*
        $name:ident($mnemonic:literal, $is:ident) {
            $($(#[$reader_attribute:meta])* $reader:ident: $ty:ty = $function:ident,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name<'c>(Attribute<'c>);

        impl<'c> $name<'c> {
            /// The attribute's name in the text.
            pub const MNEMONIC: &'static str = $mnemonic;

            $($(#[$reader_attribute])*
            pub fn $reader(self) -> $ty {
                ffi::$function(self.0)
            })*
        }

        impl<'c> TryFrom<Attribute<'c>> for $name<'c> {
            type Error = melior::Error;

            fn try_from(attribute: Attribute<'c>) -> Result<Self, melior::Error> {
                if ffi::$is(attribute) {
                    Ok(Self(attribute))
                } else {
                    Err(melior::Error::AttributeExpected($mnemonic, attribute.to_string()))
                }
            }
        }

        impl<'c> From<$name<'c>> for Attribute<'c> {
            fn from(view: $name<'c>) -> Self {
                view.0
            }
        }

        impl<'c> AttributeLike<'c> for $name<'c> {
            fn to_raw(&self) -> MlirAttribute {
                self.0.to_raw()
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
    };
}

view! {
    /// How `gather` maps indices to slices and slices to the result.
    GatherDimensionNumbers("stablehlo.gather", is_gather) {
        /// Result dimensions that run within a slice.
        offset_dims: &'c [i64] = gather_offset_dims,
        /// Operand dimensions of slice size 1 that the result does not have.
        collapsed_slice_dims: &'c [i64] = gather_collapsed_slice_dims,
        /// Operand dimensions paired with dimensions of the start indices.
        operand_batching_dims: &'c [i64] = gather_operand_batching_dims,
        /// Start index dimensions paired with dimensions of the operand.
        start_indices_batching_dims: &'c [i64] = gather_start_indices_batching_dims,
        /// Operand dimension that each number of an index vector offsets.
        start_index_map: &'c [i64] = gather_start_index_map,
        /// Start index dimension that holds the index vectors.
        index_vector_dim: i64 = gather_index_vector_dim,
    }
}

impl<'c> GatherDimensionNumbers<'c> {
    /// Builds the attribute.
    pub fn new(
        context: impl AsContext<'c>,
        offset_dims: &[i64],
        collapsed_slice_dims: &[i64],
        operand_batching_dims: &[i64],
        start_indices_batching_dims: &[i64],
        start_index_map: &[i64],
        index_vector_dim: i64,
    ) -> Self {
        let lists = [
            offset_dims,
            collapsed_slice_dims,
            operand_batching_dims,
            start_indices_batching_dims,
            start_index_map,
        ];
        Self(ffi::gather(context.as_context(), lists, index_vector_dim))
    }
}

view! {
    /// How `scatter` maps indices and updates to places of the input.
    ScatterDimensionNumbers("stablehlo.scatter", is_scatter) {
        /// Update dimensions that run within a window.
        update_window_dims: &'c [i64] = scatter_update_window_dims,
        /// Input dimensions of window size 1 that the updates do not have.
        inserted_window_dims: &'c [i64] = scatter_inserted_window_dims,
        /// Input dimensions paired with dimensions of the scatter indices.
        input_batching_dims: &'c [i64] = scatter_input_batching_dims,
        /// Scatter index dimensions paired with dimensions of the input.
        scatter_indices_batching_dims: &'c [i64] = scatter_scatter_indices_batching_dims,
        /// Input dimension that each number of an index vector offsets.
        scatter_dims_to_operand_dims: &'c [i64] = scatter_scatter_dims_to_operand_dims,
        /// Scatter index dimension that holds the index vectors.
        index_vector_dim: i64 = scatter_index_vector_dim,
    }
}

impl<'c> ScatterDimensionNumbers<'c> {
    /// Builds the attribute.
    pub fn new(
        context: impl AsContext<'c>,
        update_window_dims: &[i64],
        inserted_window_dims: &[i64],
        input_batching_dims: &[i64],
        scatter_indices_batching_dims: &[i64],
        scatter_dims_to_operand_dims: &[i64],
        index_vector_dim: i64,
    ) -> Self {
        let lists = [
            update_window_dims,
            inserted_window_dims,
            input_batching_dims,
            scatter_indices_batching_dims,
            scatter_dims_to_operand_dims,
        ];
        Self(ffi::scatter(context.as_context(), lists, index_vector_dim))
    }
}

view! {
    /// Which dimensions `dot_general` batches over and which it sums over.
    DotDimensionNumbers("stablehlo.dot", is_dot) {
        /// Left batching dimensions.
        lhs_batching_dimensions: &'c [i64] = dot_lhs_batching_dimensions,
        /// Right batching dimensions.
        rhs_batching_dimensions: &'c [i64] = dot_rhs_batching_dimensions,
        /// Left dimensions summed over.
        lhs_contracting_dimensions: &'c [i64] = dot_lhs_contracting_dimensions,
        /// Right dimensions summed over.
        rhs_contracting_dimensions: &'c [i64] = dot_rhs_contracting_dimensions,
    }
}

impl<'c> DotDimensionNumbers<'c> {
    /// Builds the attribute.
    pub fn new(
        context: impl AsContext<'c>,
        lhs_batching_dimensions: &[i64],
        rhs_batching_dimensions: &[i64],
        lhs_contracting_dimensions: &[i64],
        rhs_contracting_dimensions: &[i64],
    ) -> Self {
        let lists = [
            lhs_batching_dimensions,
            rhs_batching_dimensions,
            lhs_contracting_dimensions,
            rhs_contracting_dimensions,
        ];
        Self(ffi::dot(context.as_context(), lists))
    }
}

view! {
    /// In which arithmetic `dot_general` computes.
    DotAlgorithm("stablehlo.dot_algorithm", is_dot_algorithm) {
        /// Type the left operand is read in.
        lhs_precision_type: Option<Type<'c>> = dot_algorithm_lhs_precision_type,
        /// Type the right operand is read in.
        rhs_precision_type: Option<Type<'c>> = dot_algorithm_rhs_precision_type,
        /// Type products are added up in.
        accumulation_type: Option<Type<'c>> = dot_algorithm_accumulation_type,
        /// How many numbers of its precision type a left element is taken as.
        lhs_component_count: i64 = dot_algorithm_lhs_component_count,
        /// How many numbers of its precision type a right element is taken as.
        rhs_component_count: i64 = dot_algorithm_rhs_component_count,
        /// How many products of components are added up.
        num_primitive_operations: i64 = dot_algorithm_num_primitive_operations,
        /// Whether products may be added up in less than the accumulation type for a while.
        allow_imprecise_accumulation: bool = dot_algorithm_allow_imprecise_accumulation,
    }
}

/// What a [`DotAlgorithm`] is built of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DotAlgorithmParts<'c> {
    /// Type the left operand is read in.
    pub lhs_precision_type: Type<'c>,
    /// Type the right operand is read in.
    pub rhs_precision_type: Type<'c>,
    /// Type products are added up in.
    pub accumulation_type: Type<'c>,
    /// How many numbers of its precision type a left element is taken as.
    pub lhs_component_count: i64,
    /// How many numbers of its precision type a right element is taken as.
    pub rhs_component_count: i64,
    /// How many products of components are added up.
    pub num_primitive_operations: i64,
    /// Whether products may be added up in less than the accumulation type for a while.
    pub allow_imprecise_accumulation: bool,
}

impl<'c> DotAlgorithm<'c> {
    /// Builds the attribute; what no device is known to compute is reported at `location`.
    pub fn new(location: Location<'c>, parts: DotAlgorithmParts<'c>) -> Option<Self> {
        let types = [parts.lhs_precision_type, parts.rhs_precision_type, parts.accumulation_type];
        let counts = [parts.lhs_component_count, parts.rhs_component_count, parts.num_primitive_operations];
        ffi::dot_algorithm(location, types, counts, parts.allow_imprecise_accumulation).map(Self)
    }
}

view! {
    /// What each dimension of a convolution's input, kernel and output is.
    ConvDimensionNumbers("stablehlo.conv", is_conv) {
        /// Batch dimension of the input.
        input_batch_dimension: i64 = conv_input_batch_dimension,
        /// Feature dimension of the input.
        input_feature_dimension: i64 = conv_input_feature_dimension,
        /// Input dimension of each spatial dimension.
        input_spatial_dimensions: &'c [i64] = conv_input_spatial_dimensions,
        /// Kernel dimension of the input's features.
        kernel_input_feature_dimension: i64 = conv_kernel_input_feature_dimension,
        /// Kernel dimension of the output's features.
        kernel_output_feature_dimension: i64 = conv_kernel_output_feature_dimension,
        /// Kernel dimension of each spatial dimension.
        kernel_spatial_dimensions: &'c [i64] = conv_kernel_spatial_dimensions,
        /// Batch dimension of the output.
        output_batch_dimension: i64 = conv_output_batch_dimension,
        /// Feature dimension of the output.
        output_feature_dimension: i64 = conv_output_feature_dimension,
        /// Output dimension of each spatial dimension.
        output_spatial_dimensions: &'c [i64] = conv_output_spatial_dimensions,
    }
}

/// The roles of the dimensions of one tensor of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvTensor<'a> {
    /// The dimension labelled `b`, or `i` for a kernel.
    pub batch: i64,
    /// The dimension labelled `f`, or `o` for a kernel.
    pub feature: i64,
    /// The dimension of each spatial dimension.
    pub spatial: &'a [i64],
}

impl<'c> ConvDimensionNumbers<'c> {
    /// Builds the attribute. The kernel's `batch` is its input feature dimension, its `feature` the output feature one.
    pub fn new(
        context: impl AsContext<'c>,
        input: ConvTensor<'_>,
        kernel: ConvTensor<'_>,
        output: ConvTensor<'_>,
    ) -> Self {
        let [input, kernel, output] =
            [input, kernel, output].map(|tensor| ([tensor.batch, tensor.feature], tensor.spatial));
        Self(ffi::conv(context.as_context(), input, kernel, output))
    }

    /// The roles of the input's dimensions.
    pub fn input(self) -> ConvTensor<'c> {
        ConvTensor {
            batch: self.input_batch_dimension(),
            feature: self.input_feature_dimension(),
            spatial: self.input_spatial_dimensions(),
        }
    }

    /// The roles of the kernel's dimensions: input features, output features, spatial ones.
    pub fn kernel(self) -> ConvTensor<'c> {
        ConvTensor {
            batch: self.kernel_input_feature_dimension(),
            feature: self.kernel_output_feature_dimension(),
            spatial: self.kernel_spatial_dimensions(),
        }
    }

    /// The roles of the output's dimensions.
    pub fn output(self) -> ConvTensor<'c> {
        ConvTensor {
            batch: self.output_batch_dimension(),
            feature: self.output_feature_dimension(),
            spatial: self.output_spatial_dimensions(),
        }
    }
}

view! {
    /// The channel that ops of different programs or partitions meet on.
    ChannelHandle("stablehlo.channel_handle", is_channel_handle) {
        /// Number of the channel.
        handle: i64 = channel_handle_handle,
        /// 0 for none given, 1 for device to device, 2 for device to host, 3 for host to device.
        channel_type: i64 = channel_handle_type,
    }
}

impl<'c> ChannelHandle<'c> {
    /// Builds the attribute.
    pub fn new(context: impl AsContext<'c>, handle: i64, channel_type: i64) -> Self {
        Self(ffi::channel_handle(context.as_context(), handle, channel_type))
    }
}

view! {
    /// A result of a custom call that lies in the memory of an operand.
    OutputOperandAlias("stablehlo.output_operand_alias", is_output_operand_alias) {
        /// Path to the result.
        output_tuple_indices: &'c [i64] = output_operand_alias_output_tuple_indices,
        /// Number of the operand.
        operand_index: i64 = output_operand_alias_operand_index,
        /// Path within the operand.
        operand_tuple_indices: &'c [i64] = output_operand_alias_operand_tuple_indices,
    }
}

impl<'c> OutputOperandAlias<'c> {
    /// Builds the attribute.
    pub fn new(
        context: impl AsContext<'c>,
        output_tuple_indices: &[i64],
        operand_index: i64,
        operand_tuple_indices: &[i64],
    ) -> Self {
        Self(ffi::output_operand_alias(
            context.as_context(),
            output_tuple_indices,
            operand_index,
            operand_tuple_indices,
        ))
    }
}

view! {
    /// A part of a mesh axis: the middle one of `pre_size * size * rest`.
    SubAxisInfo("stablehlo.sub_axis_info", is_sub_axis_info) {
        /// Size of everything before it.
        pre_size: i64 = sub_axis_info_pre_size,
        /// Its size.
        size: i64 = sub_axis_info_size,
    }
}

impl<'c> SubAxisInfo<'c> {
    /// Builds the attribute.
    pub fn new(context: impl AsContext<'c>, pre_size: i64, size: i64) -> Self {
        Self(ffi::sub_axis_info(context.as_context(), pre_size, size))
    }
}

view! {
    /// A mesh axis by name, or a part of it.
    AxisRef("stablehlo.axis_ref", is_axis_ref) {
        /// Name of the axis.
        name: &'c str = axis_ref_name,
    }
}

impl<'c> AxisRef<'c> {
    /// Builds the attribute.
    pub fn new(context: impl AsContext<'c>, name: &str, sub_axis_info: Option<SubAxisInfo<'c>>) -> Self {
        Self(ffi::axis_ref(context.as_context(), name, sub_axis_info.map(Into::into)))
    }

    /// Which part of the axis is meant; `None` for all of it.
    pub fn sub_axis_info(self) -> Option<SubAxisInfo<'c>> {
        ffi::axis_ref_sub_axis_info(self.0).map(SubAxisInfo)
    }
}

view! {
    /// A named axis of a device mesh.
    MeshAxis("stablehlo.mesh_axis", is_mesh_axis) {
        /// Name of the axis.
        name: &'c str = mesh_axis_name,
        /// Number of devices along it.
        size: i64 = mesh_axis_size,
    }
}

impl<'c> MeshAxis<'c> {
    /// Builds the attribute.
    pub fn new(context: impl AsContext<'c>, name: &str, size: i64) -> Self {
        Self(ffi::mesh_axis(context.as_context(), name, size))
    }
}

view! {
    /// Devices arranged in a grid with named axes.
    Mesh("stablehlo.mesh", is_mesh) {
        /// The device at each place of the grid, as integer elements; `None` if numbered row by row.
        device_ids: Option<Attribute<'c>> = mesh_device_ids,
    }
}

impl<'c> Mesh<'c> {
    /// Builds the attribute. Without axes, or with `device_ids` that are not integer elements, it reports at `location`.
    pub fn new(
        location: Location<'c>,
        axes: &[MeshAxis<'c>],
        device_ids: Option<Attribute<'c>>,
    ) -> Option<Self> {
        ffi::mesh(location, axes.iter().map(|axis| axis.0), device_ids).map(Self)
    }

    /// The axes, outermost first.
    pub fn axes(self) -> Vec<MeshAxis<'c>> {
        ffi::mesh_axes(self.0).into_iter().map(MeshAxis).collect()
    }
}

view! {
    /// Replica groups given as axes of a mesh.
    ReplicaGroupMeshAxes("stablehlo.replica_group_mesh_axes", is_replica_group_mesh_axes) {
        /// A [`Mesh`] or the symbol of one.
        mesh: Option<Attribute<'c>> = replica_group_mesh_axes_mesh,
        /// The axes that a group runs along: an array, of [`AxisRef`]s if the op is valid.
        axes: Option<Attribute<'c>> = replica_group_mesh_axes_axes,
    }
}

impl<'c> ReplicaGroupMeshAxes<'c> {
    /// Builds the attribute; what is neither mesh nor array of axes is reported at `location`.
    pub fn new(location: Location<'c>, mesh: Attribute<'c>, axes: Attribute<'c>) -> Option<Self> {
        ffi::replica_group_mesh_axes(location, mesh, axes).map(Self)
    }
}

view! {
    /// Upper bounds of a tensor's dynamic dimensions, the encoding of its type.
    TypeExtensions("stablehlo.bounds", is_type_extensions) {
        /// Bound of each dimension, [`crate::DYNAMIC`] for none.
        bounds: &'c [i64] = type_extensions_bounds,
    }
}

impl<'c> TypeExtensions<'c> {
    /// Builds the attribute.
    pub fn new(context: impl AsContext<'c>, bounds: &[i64]) -> Self {
        Self(ffi::type_extensions(context.as_context(), bounds))
    }
}

view! {
    /// How accurate an elementwise function must be.
    ResultAccuracy("stablehlo.result_accuracy", is_result_accuracy) {
        /// Absolute tolerance.
        atol: f64 = result_accuracy_atol,
        /// Relative tolerance.
        rtol: f64 = result_accuracy_rtol,
        /// Tolerance in units in the last place.
        ulps: i64 = result_accuracy_ulps,
    }
}

impl<'c> ResultAccuracy<'c> {
    /// Builds the attribute; negative tolerances, and any without mode TOLERANCE, are reported at `location`.
    pub fn new(
        location: Location<'c>,
        atol: f64,
        rtol: f64,
        ulps: i64,
        mode: ResultAccuracyMode,
    ) -> Option<Self> {
        ffi::result_accuracy(location, atol, rtol, ulps, mode as i32).map(Self)
    }

    /// How the accuracy is given.
    pub fn mode(self) -> ResultAccuracyMode {
        ffi::result_accuracy_mode_attribute(self.0)
            .and_then(|mode| mode.try_into().ok())
            .unwrap_or(ResultAccuracyMode::Default)
    }
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

macro_rules! type_view {
    ($(#[$attribute:meta])* $name:ident($mnemonic:literal, $is:ident)) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $name<'c>(Type<'c>);

        impl<'c> TryFrom<Type<'c>> for $name<'c> {
            type Error = melior::Error;

            fn try_from(ty: Type<'c>) -> Result<Self, melior::Error> {
                if ffi::$is(ty) {
                    Ok(Self(ty))
                } else {
                    Err(melior::Error::TypeExpected($mnemonic, ty.to_string()))
                }
            }
        }

        impl<'c> From<$name<'c>> for Type<'c> {
            fn from(view: $name<'c>) -> Self {
                view.0
            }
        }

        impl<'c> TypeLike<'c> for $name<'c> {
            fn to_raw(&self) -> MlirType {
                self.0.to_raw()
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
    };
}

type_view! {
    /// An order between side effects.
    TokenType("stablehlo.token", is_token)
}

impl<'c> TokenType<'c> {
    /// The type.
    pub fn new(context: impl AsContext<'c>) -> Self {
        Self(ffi::token(context.as_context()))
    }
}

type_view! {
    /// Tensors that an operation under way will produce.
    FutureType("stablehlo.future", is_future)
}

impl<'c> FutureType<'c> {
    /// Builds the type; elements that are not ranked tensors are reported at `location`.
    pub fn new(location: Location<'c>, types: &[Type<'c>]) -> Option<Self> {
        ffi::future(location, types).map(Self)
    }

    /// What the finished operation produces.
    pub fn types(self) -> Vec<Type<'c>> {
        ffi::future_types(self.0)
    }
}

#[cfg(test)]
mod tests;
