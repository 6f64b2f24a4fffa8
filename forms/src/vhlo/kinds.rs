// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Every kind of attribute and of type of VHLO: its name, its number and its layout in bytecode, and since which version it is in
//! portable artifacts.

use super::ops::Since;

/// One part of an attribute or a type, in the order of bytecode. [`crate::wire::Parts`] holds it as is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// One of some words, by its place in the list; a number.
    Enum(&'static [&'static str]),
    /// A number, 0 or 1.
    Bool,
    /// A number.
    Signed,
    /// A number.
    Unsigned,
    /// How many, then numbers.
    List,
    /// The bits of a double, a number.
    Float,
    /// How many, then numbers.
    Floats,
    /// The text.
    Text,
    /// An attribute.
    Attribute,
    /// A number, 0 or 1, and as many attributes; so in bytecode, too.
    Flagged,
    /// The same; in bytecode it is MLIR's optional attribute.
    Optional,
    /// How many, then attributes.
    Attributes,
    /// How many, then twice as many attributes: keys and values.
    Pairs,
    /// A type.
    Type,
    /// How many, then types.
    Types,
    /// A number: the bits of a float of the type before it.
    FloatOfType,
    /// A number: an integer of the type before it.
    IntegerOfType,
    /// An attribute: the elements of a tensor of the type before it.
    DenseOfType,
}

use Field::*;

/// A kind of attribute or type.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name in text: `#vhlo.bool_v1`.
    pub name: &'static str,
    /// Its number in bytecode.
    pub code: u64,
    /// The first version of VHLO that has it.
    pub since: Since,
    /// What it is made of.
    pub fields: &'static [Field],
    /// The names of its fields in text, where they have names.
    pub names: &'static [&'static str],
}

const fn kind(name: &'static str, code: u64, since: Since, fields: &'static [Field]) -> Kind {
    Kind { name, code, since, fields, names: &[] }
}

const fn named(
    name: &'static str,
    code: u64,
    since: Since,
    fields: &'static [Field],
    names: &'static [&'static str],
) -> Kind {
    Kind { name, code, since, fields, names }
}

/// Attributes.
pub const ATTRIBUTES: &[Kind] = &[
    kind("array_v1", 1, (0, 9), &[Attributes]),
    kind("bool_v1", 2, (0, 9), &[Bool]),
    kind("comparison_direction_v1", 3, (0, 9), &[Enum(&["EQ", "NE", "GE", "GT", "LE", "LT"])]),
    kind("comparison_type_v1", 4, (0, 9), &[Enum(&["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"])]),
    kind(
        "api_version_v1",
        5,
        (0, 9),
        &[Enum(&[
            "API_VERSION_UNSPECIFIED",
            "API_VERSION_ORIGINAL",
            "API_VERSION_STATUS_RETURNING",
            "API_VERSION_STATUS_RETURNING_UNIFIED",
            "API_VERSION_TYPED_FFI",
        ])],
    ),
    kind("dict_v1", 6, (0, 9), &[Pairs]),
    kind("fft_type_v1", 7, (0, 9), &[Enum(&["FFT", "IFFT", "RFFT", "IRFFT"])]),
    kind("float_v1", 8, (0, 9), &[Type, FloatOfType]),
    kind("integer_v1", 9, (0, 9), &[Type, IntegerOfType]),
    named(
        "output_operand_alias_v1",
        10,
        (0, 9),
        &[List, Signed, List],
        &["outputTupleIndices", "operandIndex", "operandTupleIndices"],
    ),
    kind("precision_v1", 11, (0, 9), &[Enum(&["DEFAULT", "HIGH", "HIGHEST"])]),
    kind("rng_algorithm_v1", 12, (0, 9), &[Enum(&["DEFAULT", "THREE_FRY", "PHILOX"])]),
    // There is no 0.
    kind("rng_distribution_v1", 13, (0, 9), &[Enum(&["", "UNIFORM", "NORMAL"])]),
    kind("string_v1", 14, (0, 9), &[Text]),
    kind("tensor_v1", 15, (0, 9), &[Type, DenseOfType]),
    kind("transpose_v1", 16, (0, 9), &[Enum(&["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])]),
    kind("type_v1", 17, (0, 9), &[Type]),
    named("type_extensions_v1", 18, (0, 9), &[List], &["bounds"]),
    kind("result_accuracy_mode_v1", 19, (1, 9), &[Enum(&["DEFAULT", "HIGHEST", "TOLERANCE"])]),
    named(
        "result_accuracy_v1",
        20,
        (1, 9),
        &[Float, Float, Signed, Attribute],
        &["atol", "rtol", "ulps", "mode"],
    ),
    named("sub_axis_info_v1", 21, (1, 16), &[Signed, Signed], &["pre_size", "size"]),
    named("axis_ref_v1", 22, (1, 16), &[Attribute, Flagged], &["name", "sub_axis_info"]),
    named("replica_group_mesh_axes_v1", 23, (1, 16), &[Attribute, Attribute], &["mesh", "axes"]),
    named("mesh_axis_v1", 24, (1, 16), &[Attribute, Signed], &["name", "size"]),
    named("mesh_v1", 25, (1, 16), &[Attribute, Optional], &["axes", "device_ids"]),
];

/// Types. A tensor's shape comes before its elements, its encoding before both in bytecode; see [`super::codec`].
pub const TYPES: &[Kind] = &[
    kind("bool_v1", 0, (0, 9), &[]),
    kind("complex_v1", 1, (0, 9), &[Type]),
    kind("bf16_v1", 2, (0, 9), &[]),
    kind("f16_v1", 3, (0, 9), &[]),
    kind("f32_v1", 4, (0, 9), &[]),
    kind("f64_v1", 5, (0, 9), &[]),
    kind("f8E4M3FN_v1", 6, (0, 9), &[]),
    kind("f8E5M2_v1", 7, (0, 9), &[]),
    kind("func_v1", 8, (0, 9), &[Types, Types]),
    kind("index_v1", 9, (0, 9), &[]),
    kind("i4_v1", 10, (0, 9), &[]),
    kind("i8_v1", 11, (0, 9), &[]),
    kind("i16_v1", 12, (0, 9), &[]),
    kind("i32_v1", 13, (0, 9), &[]),
    kind("i64_v1", 14, (0, 9), &[]),
    kind("ui4_v1", 15, (0, 9), &[]),
    kind("ui8_v1", 16, (0, 9), &[]),
    kind("ui16_v1", 17, (0, 9), &[]),
    kind("ui32_v1", 18, (0, 9), &[]),
    kind("ui64_v1", 19, (0, 9), &[]),
    kind("tensor_v1", 20, (0, 9), &[List, Type]),
    // The same name: one with an encoding.
    kind("tensor_v1", 21, (0, 9), &[Attribute, List, Type]),
    kind("token_v1", 22, (0, 9), &[]),
    kind("tuple_v1", 23, (0, 9), &[Types]),
    // Flags, storage, expressed, scale, zero point, smallest and largest stored value.
    kind("quant_v1", 24, (0, 9), &[Unsigned, Type, Type, Float, Signed, Signed, Signed]),
    kind("unranked_tensor_v1", 25, (0, 9), &[Type]),
    kind("witness_v1", 26, (0, 9), &[]),
    kind("f8E4M3FNUZ_v1", 27, (0, 10), &[]),
    kind("f8E5M2FNUZ_v1", 28, (0, 10), &[]),
    kind("f8E4M3B11FNUZ_v1", 29, (0, 11), &[]),
    // Flags, storage, expressed, dimension, smallest and largest stored value, scales, zero points.
    kind("quant_per_axis_v1", 30, (0, 18), &[Unsigned, Type, Type, Unsigned, Signed, Signed, Floats, List]),
    kind("i2_v1", 31, (1, 2), &[]),
    kind("ui2_v1", 32, (1, 2), &[]),
    kind("none_v1", 33, (1, 6), &[]),
    // Its name is no misprint of ours.
    kind("tf31_v1", 34, (1, 6), &[]),
    kind("f8E4M3_v1", 35, (1, 7), &[]),
    kind("f8E3M4_v1", 36, (1, 7), &[]),
    kind("f4E2M1FN_v1", 37, (1, 8), &[]),
    kind("f6E2M3FN_v1", 38, (1, 8), &[]),
    kind("f6E3M2FN_v1", 39, (1, 8), &[]),
    kind("f8E8M0FNU_v1", 40, (1, 8), &[]),
    kind("buffer_v1", 41, (1, 13), &[List, Type]),
    kind("future_v1", 42, (1, 15), &[Types]),
];

/// The place of an attribute's kind in its table.
pub fn attribute(name: &str) -> usize {
    ATTRIBUTES.iter().position(|kind| kind.name == name).unwrap_or_else(|| unreachable!("no kind {name}"))
}

/// The place of a type's kind in its table; a tensor's without an encoding.
pub fn ty(name: &str) -> usize {
    TYPES.iter().position(|kind| kind.name == name).unwrap_or_else(|| unreachable!("no kind {name}"))
}
