// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Where an attribute of a StableHLO op is not simply the attribute of the same name in VHLO: which are spelled otherwise, which several
//! attributes of VHLO are one of StableHLO, and what stands in VHLO, which has no optional attributes, for one that is not there.
//!
//! Ops are named without their dialect and version.

/// How an attribute of StableHLO is spelled that is a tensor, a string or a boolean in VHLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As MLIR has it.
    Plain,
    /// `array<i64: ...>`, a tensor in VHLO.
    Numbers,
    /// `array<i1: ...>`, a tensor in VHLO.
    Booleans,
    /// A symbol, a string in VHLO.
    Symbol,
    /// An array of symbols, of strings in VHLO.
    Symbols,
    /// There or not, a boolean in VHLO.
    Unit,
}

/// How an attribute is spelled.
pub fn form(op: &str, attribute: &str) -> Form {
    match (op, attribute) {
        ("fft", "fft_length")
        | ("broadcast", "broadcast_sizes")
        | ("dynamic_slice" | "gather", "slice_sizes")
        | ("reverse" | "map" | "reduce", "dimensions")
        | ("transpose", "permutation")
        | ("pad", "edge_padding_low" | "edge_padding_high" | "interior_padding")
        | ("slice", "start_indices" | "limit_indices" | "strides")
        | ("broadcast_in_dim" | "dynamic_broadcast_in_dim", "broadcast_dimensions")
        | ("dynamic_broadcast_in_dim", "known_expanding_dimensions" | "known_nonexpanding_dimensions")
        | ("select_and_scatter" | "reduce_window", "window_dimensions" | "window_strides")
        | ("reduce_window", "base_dilations" | "window_dilations")
        | ("convolution" | "dynamic_conv", "lhs_dilation" | "rhs_dilation" | "window_strides") => {
            Form::Numbers
        }
        ("convolution" | "dynamic_conv", "window_reversal") => Form::Booleans,
        ("call", "callee") | ("composite", "decomposition") => Form::Symbol,
        ("custom_call", "called_computations") => Form::Symbols,
        (_, "use_global_device_ids") => Form::Unit,
        _ => Form::Plain,
    }
}

/// A part of a [`Group`]: its name in VHLO, and what it is.
pub type Part = (&'static str, PartKind);

/// What a part of a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A number.
    Number,
    /// A list of numbers.
    List,
    /// A type.
    Type,
    /// A boolean.
    Boolean,
}

use PartKind::*;

/// An attribute of StableHLO that is several of VHLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name in StableHLO.
    pub name: &'static str,
    /// What it is.
    pub what: What,
    /// Its parts, in the order of its builder.
    pub parts: &'static [Part],
}

/// What kind of attribute a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// `#stablehlo.conv`
    Conv,
    /// `#stablehlo.dot`
    Dot,
    /// `#stablehlo.dot_algorithm`
    Algorithm,
    /// `#stablehlo.gather`
    Gather,
    /// `#stablehlo.scatter`
    Scatter,
    /// `#stablehlo.channel_handle`, with its type if it has two parts
    Channel,
}

const CONV: Group = Group {
    name: "dimension_numbers",
    what: What::Conv,
    parts: &[
        ("input_batch_dimension", Number),
        ("input_feature_dimension", Number),
        ("input_spatial_dimensions", List),
        ("kernel_input_feature_dimension", Number),
        ("kernel_output_feature_dimension", Number),
        ("kernel_spatial_dimensions", List),
        ("output_batch_dimension", Number),
        ("output_feature_dimension", Number),
        ("output_spatial_dimensions", List),
    ],
};

const DOT: Group = Group {
    name: "dot_dimension_numbers",
    what: What::Dot,
    parts: &[
        ("lhs_batching_dimensions", List),
        ("rhs_batching_dimensions", List),
        ("lhs_contracting_dimensions", List),
        ("rhs_contracting_dimensions", List),
    ],
};

const ALGORITHM: Group = Group {
    name: "algorithm",
    what: What::Algorithm,
    parts: &[
        ("lhs_precision_type", Type),
        ("rhs_precision_type", Type),
        ("accumulation_type", Type),
        ("lhs_component_count", Number),
        ("rhs_component_count", Number),
        ("num_primitive_operations", Number),
        ("allow_imprecise_accumulation", Boolean),
    ],
};

const GATHER: Group = Group {
    name: "dimension_numbers",
    what: What::Gather,
    parts: &[
        ("offset_dims", List),
        ("collapsed_slice_dims", List),
        ("operand_batching_dims", List),
        ("start_indices_batching_dims", List),
        ("start_index_map", List),
        ("index_vector_dim", Number),
    ],
};

const SCATTER: Group = Group {
    name: "scatter_dimension_numbers",
    what: What::Scatter,
    parts: &[
        ("update_window_dims", List),
        ("inserted_window_dims", List),
        ("input_batching_dims", List),
        ("scatter_indices_batching_dims", List),
        ("scatter_dims_to_operand_dims", List),
        ("index_vector_dim", Number),
    ],
};

/// Of a channel, collectives keep the number alone.
const CHANNEL: Group =
    Group { name: "channel_handle", what: What::Channel, parts: &[("channel_id", Number)] };

const TYPED_CHANNEL: Group = Group {
    name: "channel_handle",
    what: What::Channel,
    parts: &[("channel_id", Number), ("channel_type", Number)],
};

/// The groups of an op.
pub fn groups(op: &str) -> &'static [Group] {
    match op {
        "convolution" | "dynamic_conv" => &[CONV],
        "dot_general" => &[DOT, ALGORITHM],
        "gather" | "dynamic_gather" => &[GATHER],
        "scatter" => &[SCATTER],
        "send" | "recv" => &[TYPED_CHANNEL],
        "all_gather"
        | "all_reduce"
        | "all_to_all"
        | "collective_broadcast"
        | "collective_permute"
        | "reduce_scatter" => &[CHANNEL],
        _ => &[],
    }
}

/// What stands in VHLO for an attribute that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// `false`
    False,
    /// A number of 64 bits.
    Number(i64),
    /// The empty string.
    Text,
    /// The empty string or dictionary.
    TextOrDictionary,
    /// The empty array.
    Array,
    /// Two empty arrays, of which neither is left out alone.
    Layouts,
    /// The empty dictionary.
    Dictionary,
    /// No numbers.
    NoNumbers,
    /// The first case of an enum.
    FirstCase(&'static str),
    /// The calling convention that came first.
    ApiOriginal,
    /// DEFAULT for both operands.
    Precisions,
    /// A one per dimension of a window.
    Ones,
    /// Two zeros per dimension of a window.
    Zeros,
    /// A `false` per dimension of a window.
    Falses,
    /// The usual accuracy.
    Accuracy,
    /// No type.
    NoType,
}

/// What stands for an attribute, by its name in VHLO, that a StableHLO op may lack.
pub fn default(op: &str, attribute: &str) -> Option<Default> {
    let found = match (op, attribute) {
        ("func", "sym_visibility") => Default::Text,
        ("func", "arg_attrs" | "res_attrs") => Default::Array,
        (_, "use_global_device_ids") => Default::False,
        ("send" | "recv", "channel_id") => return None,
        (_, "channel_id") => Default::Number(0),
        ("cholesky", "lower") => Default::False,
        ("compare", "compare_type") => Default::FirstCase("comparison_type_v1"),
        ("composite", "version") => Default::Number(0),
        ("composite", "composite_attributes") => Default::Dictionary,
        ("convolution" | "dynamic_conv", "window_strides" | "lhs_dilation" | "rhs_dilation") => Default::Ones,
        ("convolution" | "dynamic_conv", "padding") => Default::Zeros,
        ("convolution" | "dynamic_conv", "window_reversal") => Default::Falses,
        ("convolution" | "dynamic_conv" | "dot_general" | "dot", "precision_config") => Default::Precisions,
        ("custom_call", "has_side_effect") => Default::False,
        ("custom_call", "backend_config") => Default::TextOrDictionary,
        ("custom_call", "api_version") => Default::ApiOriginal,
        ("custom_call", "called_computations" | "output_operand_aliases") => Default::Array,
        ("custom_call", "operand_layouts" | "result_layouts") => Default::Layouts,
        ("dot_general", name) if ALGORITHM.parts.iter().any(|part| part.0 == name) => Default::NoType,
        (_, "result_accuracy") => Default::Accuracy,
        ("dynamic_broadcast_in_dim", "known_expanding_dimensions" | "known_nonexpanding_dimensions") => {
            Default::NoNumbers
        }
        ("gather" | "dynamic_gather" | "scatter", "indices_are_sorted") => Default::False,
        ("scatter", "unique_indices") => Default::False,
        // Versions of before there were any.
        ("gather" | "dynamic_gather", "operand_batching_dims" | "start_indices_batching_dims")
        | ("scatter", "input_batching_dims" | "scatter_indices_batching_dims") => Default::NoNumbers,
        ("infeed", "infeed_config") | ("outfeed", "outfeed_config") => Default::Text,
        ("infeed", "layout") => Default::Array,
        ("send" | "recv", "is_host_transfer") => Default::False,
        ("send" | "recv", "source_target_pairs") => Default::NoNumbers,
        ("reduce_window", "window_strides" | "base_dilations" | "window_dilations") => Default::Ones,
        ("select_and_scatter", "window_strides") => Default::Ones,
        ("reduce_window" | "select_and_scatter", "padding") => Default::Zeros,
        ("sort", "dimension") => Default::Number(-1),
        ("sort", "is_stable") => Default::False,
        _ => return None,
    };
    Some(found)
}
