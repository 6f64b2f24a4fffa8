// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What attributes and types are made of in bytecode, dialect by dialect, by their numbers.

use crate::vhlo::kinds::{self, Field};

/// One part of an attribute or a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A number.
    Number,
    /// A signed number.
    Signed,
    /// How many, then signed numbers.
    Signeds,
    /// How many, then signed numbers: a tensor's sizes.
    Shape,
    /// A byte.
    Bool,
    /// How many, then bytes.
    Bools,
    /// The bits of so wide a number.
    Bits(u32),
    /// The bits of a number of the type before it.
    BitsOfType,
    /// How many, then the bits of doubles.
    Doubles,
    /// A string.
    Text,
    /// How many, then bytes.
    Blob,
    /// The bytes of as many elements as the type before it has.
    ElementsOfType,
    /// As many bytes as a number before it says of elements of the type before that.
    CountedElements,
    /// Whether it is one string, and as many strings as the type before it has elements.
    StringsOfType,
    /// An attribute.
    Attribute,
    /// Whether there is one, and it.
    OptionalAttribute,
    /// A number, zero or one, and as many attributes.
    FlaggedAttribute,
    /// A byte, zero or one, and as many attributes.
    BoolAttribute,
    /// How many, then attributes.
    Attributes,
    /// How many, then twice as many attributes.
    Pairs,
    /// A byte that says whether more follows: how many, then attributes.
    OptionalAttributes,
    /// A byte that says whether more follows: how many, then numbers.
    OptionalNumbers,
    /// A byte that says whether a number follows.
    OptionalNumber,
    /// A type.
    Type,
    /// How many, then types.
    Types,
    /// A resource.
    Resource,
    /// At most so many numbers, after how many.
    Few(usize),
    /// The attribute of elements that was read before last gives the places, of which the last gives values:
    /// a sparse tensor.
    Sparse,
}

use Part::*;

/// Parts of one kind.
pub type Layout = &'static [Part];

/// What there is no attribute or type of.
const NONE: Option<Layout> = None;

/// Numbers of builtin types that matter to constants.
pub mod builtin {
    pub const INTEGER: u64 = 0;
    pub const INDEX: u64 = 1;
    /// bf16, f16, f32, f64, f80, f128.
    pub const FLOATS: std::ops::Range<u64> = 3..9;
    pub const WIDTHS: [u32; 6] = [16, 16, 32, 64, 80, 128];
    pub const COMPLEX: u64 = 9;
    pub const NONE: u64 = 12;
    pub const FUNCTION: u64 = 2;
    pub const TENSOR: u64 = 13;
    pub const ENCODED_TENSOR: u64 = 14;
    pub const TUPLE: u64 = 15;
    pub const UNRANKED_TENSOR: u64 = 18;
    pub const VECTOR: u64 = 19;
    pub const SCALABLE_VECTOR: u64 = 20;
}

const BUILTIN_ATTRIBUTES: &[Layout] = &[
    &[Attributes],                         // array
    &[Pairs],                              // dictionary
    &[Text],                               // string
    &[Text, Type],                         // string with a type
    &[Attribute],                          // symbol
    &[Attribute, Attributes],              // nested symbol
    &[Type],                               // type
    &[],                                   // unit
    &[Type, BitsOfType],                   // integer
    &[Type, BitsOfType],                   // float
    &[Attribute, Attribute],               // location of a call
    &[Attribute, Number, Number],          // location in a file
    &[Attributes],                         // fused location
    &[Attributes, Attribute],              // with metadata
    &[Attribute, Attribute],               // named location
    &[],                                   // unknown location
    &[Type, Resource],                     // dense_resource
    &[Type, Number, CountedElements],      // array of numbers
    &[Type, ElementsOfType],               // dense
    &[Type, StringsOfType],                // dense of strings
    &[Type, Attribute, Attribute, Sparse], // sparse
    &[Attribute],                          // distinct
    &[Attribute, Few(4)],                  // range in a file
];

const BUILTIN_TYPES: &[Layout] = &[
    &[Number],                 // integer
    &[],                       // index
    &[Types, Types],           // function
    &[],                       // bf16
    &[],                       // f16
    &[],                       // f32
    &[],                       // f64
    &[],                       // f80
    &[],                       // f128
    &[Type],                   // complex
    &[Shape, Type, Attribute], // memref
    &[Attribute, Shape, Type, Attribute],
    &[],                       // none
    &[Shape, Type],            // tensor
    &[Attribute, Shape, Type], // with an encoding
    &[Types],                  // tuple
    &[Type],                   // memref without a rank
    &[Attribute, Type],
    &[Type],               // tensor without a rank
    &[Shape, Type],        // vector
    &[Bools, Shape, Type], // with scalable sizes
];

const QUANT_TYPES: &[Option<Layout>] = &[
    NONE,
    Some(&[Number, Type, Signed, Signed]),
    Some(&[Number, Type, Type, Signed, Signed]),
    Some(&[Type, Bits(64), Bits(64)]),
    Some(&[Number, Type, Type, Bits(64), Signed, Signed, Signed]),
    Some(&[Number, Type, Type, Number, Signed, Signed, Doubles, Signeds]),
    Some(&[Number, Type, Type, Signed, Signed, Signeds, Signeds, Attribute, Attribute]),
];

/// See `crate::stablehlo`.
const STABLEHLO_ATTRIBUTES: &[Option<Layout>] = &[
    NONE,
    Some(&[Signed, Signed]),
    Some(&[Number]),
    Some(&[Number]),
    Some(&[Signed, Signed, Signeds, Signed, Signed, Signeds, Signed, Signed, Signeds]),
    Some(&[Signeds, Signeds, Signeds, Signeds]),
    Some(&[Number]),
    Some(&[Signeds, Signeds, Signeds, Signeds, Signeds, Signed]),
    Some(&[Number]),
    Some(&[Number]),
    Some(&[Number]),
    Some(&[Signeds, Signeds, Signeds, Signeds, Signeds, Signed]),
    Some(&[Number]),
    Some(&[Signeds]),
    Some(&[Signeds, Signed, Signeds]),
    Some(&[Type, Type, Type, Signed, Signed, Signed, Bool]),
    Some(&[Number]),
    Some(&[Bits(64), Bits(64), Signed, Attribute]),
    Some(&[Attribute, Attributes]),
    Some(&[Signed, Signed]),
    Some(&[Text, BoolAttribute]),
    Some(&[Text, Signed]),
    Some(&[Attribute, BoolAttribute]),
];

const STABLEHLO_TYPES: &[Layout] = &[&[], &[Types]];

const CHLO_ATTRIBUTES: &[Layout] = &[&[Number], &[Number]];

/// See `crate::sdy`.
const SDY_ATTRIBUTES: &[Layout] = &[
    &[Attributes],
    &[Text, Signed],
    &[Attributes, Signeds],
    &[Signed, Signed],
    &[Text, OptionalAttribute],
    &[Attributes, Bool, Number],
    &[Attribute, Attributes, Attributes],
    &[Attributes],
    &[Signeds],
    &[Attributes],
    &[Signeds, Attributes, Attributes, Signeds, Signeds, Signeds, Signeds, Bool],
    &[Attributes],
    &[Attributes],
    &[Attributes, Signed, Signed],
    &[Attributes],
    &[Attribute, Attributes, Attributes, Attributes],
    &[Attributes],
];

/// Debug information and what loops are annotated with.
const LLVM_ATTRIBUTES: &[Layout] = &[
    &[Number, Text, Number, Number],
    &[Attribute, Number, Attribute, OptionalAttribute, Bool, Number, Number],
    &[
        OptionalAttribute,
        Bool,
        Number,
        OptionalAttribute,
        OptionalAttribute,
        Number,
        OptionalAttribute,
        OptionalAttribute,
        Number,
        Number,
        Number,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttributes,
    ],
    &[
        Number,
        OptionalAttribute,
        OptionalAttribute,
        Number,
        Number,
        Number,
        OptionalNumber,
        OptionalAttribute,
    ],
    &[Number, OptionalNumbers],
    &[OptionalAttributes],
    &[Text, Text],
    &[
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        Attribute,
        Number,
        Attribute,
        Bool,
        Bool,
        Number,
    ],
    &[Attribute, OptionalAttribute],
    &[Number, Attribute, Attribute, OptionalAttribute, Number, OptionalAttribute, OptionalAttributes],
    &[Attribute, OptionalAttribute, OptionalAttribute, Number],
    &[Attribute, OptionalAttribute, Number, Number],
    &[Attribute, OptionalAttribute, Number],
    &[Attribute, OptionalAttribute, OptionalAttribute, Number, Number, Number, OptionalAttribute, Number],
    &[OptionalAttribute, OptionalAttribute, Bool],
    &[
        OptionalAttribute,
        Bool,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        Number,
        Number,
        Number,
        OptionalAttribute,
        OptionalAttributes,
        OptionalAttributes,
    ],
    &[OptionalAttribute, OptionalAttribute, OptionalAttribute, OptionalAttribute],
    &[Number, OptionalAttributes],
    &[
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttribute,
        OptionalAttributes,
    ],
];

/// The parts of an attribute, or of a type, of a number; `None` if the dialect has none of it that is known
/// here.
pub fn layout(dialect: &[u8], code: u64, is_type: bool) -> Option<Vec<Part>> {
    let index = usize::try_from(code).ok()?;
    let all = match (dialect, is_type) {
        (b"builtin", false) => Some(*BUILTIN_ATTRIBUTES.get(index)?),
        (b"builtin", true) => Some(*BUILTIN_TYPES.get(index)?),
        (b"quant", true) => *QUANT_TYPES.get(index)?,
        (b"stablehlo", false) => *STABLEHLO_ATTRIBUTES.get(index)?,
        (b"stablehlo", true) => Some(*STABLEHLO_TYPES.get(index)?),
        (b"chlo", false) => Some(*CHLO_ATTRIBUTES.get(index)?),
        (b"sdy", false) => Some(*SDY_ATTRIBUTES.get(index)?),
        (b"llvm", false) => Some(*LLVM_ATTRIBUTES.get(index)?),
        (b"vhlo", _) => return vhlo(code, is_type),
        _ => None,
    };
    all.map(<[Part]>::to_vec)
}

fn vhlo(code: u64, is_type: bool) -> Option<Vec<Part>> {
    let table = if is_type { kinds::TYPES } else { kinds::ATTRIBUTES };
    let kind = table.iter().find(|kind| kind.code == code)?;
    let part = |field: &Field| match field {
        Field::Enum(_) | Field::Bool | Field::Unsigned => Number,
        Field::Signed => Signed,
        Field::List => Signeds,
        Field::Float => Bits(64),
        Field::Floats => Doubles,
        Field::Text => Text,
        Field::Attribute => Attribute,
        Field::Flagged => FlaggedAttribute,
        Field::Optional => OptionalAttribute,
        Field::Attributes => Attributes,
        Field::Pairs => Pairs,
        Field::Type => Type,
        Field::Types => Types,
        Field::FloatOfType | Field::IntegerOfType => BitsOfType,
        // How many there are to be is looked at where it becomes an attribute.
        Field::DenseOfType => Blob,
    };
    Some(kind.fields.iter().map(part).collect())
}

/// The width in bits of the numbers of a type of `vhlo`; `None` if it has none.
pub fn vhlo_width(code: u64) -> Option<u32> {
    let kind = kinds::TYPES.iter().find(|kind| kind.code == code)?;
    crate::vhlo::types::width_of(kind.name)
}
