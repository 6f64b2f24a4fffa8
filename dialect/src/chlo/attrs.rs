// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Typed views of the attributes of the `chlo` dialect.

use crate::sdy::ffi;
use melior::ir::Attribute;

/// The roles of the dimensions of `ragged_dot`: `#chlo.ragged_dot<...>`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RaggedDotDimensionNumbers<'c>(Attribute<'c>);

impl<'c> RaggedDotDimensionNumbers<'c> {
    /// Views `attribute`, if it is of this kind.
    pub fn view(attribute: Attribute<'c>) -> Option<Self> {
        ffi::is_ragged_dot(attribute).then_some(Self(attribute))
    }

    /// Left batching dimensions.
    pub fn lhs_batching(self) -> &'c [i64] {
        ffi::ragged_lhs_batching(self.0)
    }

    /// Right batching dimensions.
    pub fn rhs_batching(self) -> &'c [i64] {
        ffi::ragged_rhs_batching(self.0)
    }

    /// Left dimensions summed over.
    pub fn lhs_contracting(self) -> &'c [i64] {
        ffi::ragged_lhs_contracting(self.0)
    }

    /// Right dimensions summed over.
    pub fn rhs_contracting(self) -> &'c [i64] {
        ffi::ragged_rhs_contracting(self.0)
    }

    /// Left dimension that is cut into groups.
    pub fn lhs_ragged(self) -> &'c [i64] {
        ffi::ragged_lhs_ragged(self.0)
    }

    /// Right dimension that runs over the groups.
    pub fn rhs_group(self) -> &'c [i64] {
        ffi::ragged_rhs_group(self.0)
    }
}

macro_rules! enumeration {
    ($(#[$attribute:meta])* $name:ident = $reader:ident { $($(#[$case_attribute:meta])* $case:ident = $value:literal,)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$case_attribute])* $case,)*
        }

        impl $name {
            /// The case that `attribute` holds, if it is of this kind.
            pub fn view(attribute: Attribute<'_>) -> Option<Self> {
                match ffi::$reader(attribute) {
                    $($value => Some(Self::$case),)*
                    _ => None,
                }
            }
        }
    };
}

enumeration! {
    /// Which relation `broadcast_compare` tests.
    ComparisonDirection = comparison_direction {
        /// Equal.
        Eq = 0,
        /// Not equal.
        Ne = 1,
        /// Greater or equal.
        Ge = 2,
        /// Greater.
        Gt = 3,
        /// Less or equal.
        Le = 4,
        /// Less.
        Lt = 5,
    }
}

enumeration! {
    /// Which order `broadcast_compare` follows.
    ComparisonType = comparison_type {
        /// That of the element type.
        NoType = 0,
        /// That of IEEE 754 comparisons.
        Float = 1,
        /// That of all bit patterns of floats.
        TotalOrder = 2,
        /// That of signed integers.
        Signed = 3,
        /// That of unsigned integers.
        Unsigned = 4,
    }
}

enumeration! {
    /// How exact a multiplication must be.
    Precision = precision {
        /// As the device likes best.
        Default = 0,
        /// Between the two.
        High = 1,
        /// As exact as the device can.
        Highest = 2,
    }
}
