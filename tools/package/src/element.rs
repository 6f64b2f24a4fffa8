// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Element types, by their MLIR spelling.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

macro_rules! element_types {
    ($($variant:ident $text:literal $bytes:literal,)*) => {
        /// The type of a tensor's elements, as it is stored in a buffer: row-major, little-endian, a boolean as one byte
        /// 0 or 1, integers and floats of fewer than eight bits one per byte, a complex number as real, imaginary.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ElementType {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
        }

        impl ElementType {
            /// Every element type.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The MLIR spelling, such as `f32`, `ui8` or `complex<f32>`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The bytes that one element takes in a buffer.
            #[must_use]
            pub fn bytes(self) -> u64 {
                match self { $(Self::$variant => $bytes,)* }
            }
        }
    };
}

element_types! {
    I1 "i1" 1,
    I2 "i2" 1,
    I4 "i4" 1,
    I8 "i8" 1,
    I16 "i16" 2,
    I32 "i32" 4,
    I64 "i64" 8,
    Ui2 "ui2" 1,
    Ui4 "ui4" 1,
    Ui8 "ui8" 1,
    Ui16 "ui16" 2,
    Ui32 "ui32" 4,
    Ui64 "ui64" 8,
    F4E2M1FN "f4E2M1FN" 1,
    F6E2M3FN "f6E2M3FN" 1,
    F6E3M2FN "f6E3M2FN" 1,
    F8E3M4 "f8E3M4" 1,
    F8E4M3 "f8E4M3" 1,
    F8E4M3FN "f8E4M3FN" 1,
    F8E4M3FNUZ "f8E4M3FNUZ" 1,
    F8E4M3B11FNUZ "f8E4M3B11FNUZ" 1,
    F8E5M2 "f8E5M2" 1,
    F8E5M2FNUZ "f8E5M2FNUZ" 1,
    F8E8M0FNU "f8E8M0FNU" 1,
    Bf16 "bf16" 2,
    F16 "f16" 2,
    F32 "f32" 4,
    F64 "f64" 8,
    Complex64 "complex<f32>" 8,
    Complex128 "complex<f64>" 16,
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ElementType {
    type Err = String;

    /// Reads the MLIR spelling.
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|element| element.name() == text);
        known.copied().ok_or_else(|| format!("unknown element type `{text}`"))
    }
}

impl Serialize for ElementType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ElementType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
