// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enums of the `chlo` dialect. Each is stored in an attribute that prints as `#chlo<mnemonic CASE>`.

#ifndef SLIMHLO_CHLO_ENUMS_TD
#define SLIMHLO_CHLO_ENUMS_TD

include "mlir/IR/EnumAttr.td"
include "slimhlo/chlo/ChloDialect.td"

class CHLO_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::slimhlo::chlo";
  let genSpecializedAttr = 0;
}

def CHLO_ComparisonDirection : CHLO_Enum<"ComparisonDirection", "which relation `broadcast_compare` tests", [
  I32EnumAttrCase<"EQ", 0>,
  I32EnumAttrCase<"NE", 1>,
  I32EnumAttrCase<"GE", 2>,
  I32EnumAttrCase<"GT", 3>,
  I32EnumAttrCase<"LE", 4>,
  I32EnumAttrCase<"LT", 5>,
]>;

def CHLO_ComparisonDirectionAttr : EnumAttr<Chlo_Dialect, CHLO_ComparisonDirection, "comparison_direction"> {
  let summary = "which relation `broadcast_compare` tests between its two operands";
  let description = [{
    Read from left to right: `LT` asks whether the left operand is less than the right one.

    Example: `#chlo<comparison_direction LT>`
  }];
}

def CHLO_ComparisonType : CHLO_Enum<"ComparisonType", "which order `broadcast_compare` follows", [
  I32EnumAttrCase<"NOTYPE", 0>,
  I32EnumAttrCase<"FLOAT", 1>,
  I32EnumAttrCase<"TOTALORDER", 2>,
  I32EnumAttrCase<"SIGNED", 3>,
  I32EnumAttrCase<"UNSIGNED", 4>,
]>;

def CHLO_ComparisonTypeAttr : EnumAttr<Chlo_Dialect, CHLO_ComparisonType, "comparison_type"> {
  let summary = "which order `broadcast_compare` follows";
  let description = [{
    `NOTYPE` leaves it to the element type. Of the two orders of floating-point numbers, `FLOAT` has every comparison
    with a NaN false (`NE` true) and both zeros equal; `TOTALORDER` sorts all bit patterns, -0 before +0 and NaNs at
    the ends.

    Example: `#chlo<comparison_type TOTALORDER>`
  }];
}

def CHLO_Precision : CHLO_Enum<"Precision", "how exact a multiplication must be", [
  I32EnumAttrCase<"DEFAULT", 0>,
  I32EnumAttrCase<"HIGH", 1>,
  I32EnumAttrCase<"HIGHEST", 2>,
]>;

def CHLO_PrecisionAttr : EnumAttr<Chlo_Dialect, CHLO_Precision, "precision"> {
  let summary = "how exactly `ragged_dot` reads one of its operands";
  let description = [{
    From fastest to most exact; what each means in bits is up to the device.

    Example: `#chlo<precision HIGHEST>`
  }];
}

#endif // SLIMHLO_CHLO_ENUMS_TD
