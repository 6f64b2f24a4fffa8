// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enums of the `stablehlo` dialect. Each is stored in an attribute that prints as `#stablehlo<mnemonic CASE>`.

#ifndef SLIMHLO_STABLEHLO_ENUMS_TD
#define SLIMHLO_STABLEHLO_ENUMS_TD

include "mlir/IR/EnumAttr.td"
include "slimhlo/stablehlo/StablehloDialect.td"

class StableHLO_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::slimhlo::stablehlo";
  let genSpecializedAttr = 0;
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

def StableHLO_ComparisonDirection : StableHLO_Enum<"ComparisonDirection", "which relation `compare` tests", [
  I32EnumAttrCase<"EQ", 0>,
  I32EnumAttrCase<"NE", 1>,
  I32EnumAttrCase<"GE", 2>,
  I32EnumAttrCase<"GT", 3>,
  I32EnumAttrCase<"LE", 4>,
  I32EnumAttrCase<"LT", 5>,
]>;

def StableHLO_ComparisonDirectionAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_ComparisonDirection, "comparison_direction"> {
  let summary = "which relation `compare` tests between its two operands";
  let description = [{
    `EQ` and `NE` are defined for every element type; the four orderings are not for complex ones.

    Example: `#stablehlo<comparison_direction LT>`
  }];
}

def StableHLO_ComparisonType : StableHLO_Enum<"ComparisonType", "which order `compare` follows", [
  I32EnumAttrCase<"NOTYPE", 0>,
  I32EnumAttrCase<"FLOAT", 1>,
  I32EnumAttrCase<"TOTALORDER", 2>,
  I32EnumAttrCase<"SIGNED", 3>,
  I32EnumAttrCase<"UNSIGNED", 4>,
]>;

def StableHLO_ComparisonTypeAttr : EnumAttr<StableHLO_Dialect, StableHLO_ComparisonType, "comparison_type"> {
  let summary = "which order of the element type `compare` follows";
  let description = [{
    `FLOAT` is the IEEE-754 comparison, where a NaN equals nothing; `TOTALORDER` ranks -NaN < -Inf < ... < -0 < +0 < ... <
    +Inf < +NaN. `SIGNED` and `UNSIGNED` are for integers, booleans being unsigned. `NOTYPE` leaves the choice to the
    element type.

    Example: `#stablehlo<comparison_type TOTALORDER>`
  }];
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

def StableHLO_Precision : StableHLO_Enum<"Precision", "how exact a multiplication must be", [
  I32EnumAttrCase<"DEFAULT", 0>,
  I32EnumAttrCase<"HIGH", 1>,
  I32EnumAttrCase<"HIGHEST", 2>,
]>;

def StableHLO_PrecisionAttr : EnumAttr<StableHLO_Dialect, StableHLO_Precision, "precision"> {
  let summary = "how exactly a dot or convolution reads one of its operands";
  let description = [{
    `DEFAULT` is the fastest the device offers, `HIGHEST` the most exact, `HIGH` lies between. What they mean in bits is up
    to the device.

    Example: `#stablehlo<precision HIGHEST>`
  }];
}

def StableHLO_FftType : StableHLO_Enum<"FftType", "which Fourier transform", [
  I32EnumAttrCase<"FFT", 0>,
  I32EnumAttrCase<"IFFT", 1>,
  I32EnumAttrCase<"RFFT", 2>,
  I32EnumAttrCase<"IRFFT", 3>,
]>;

def StableHLO_FftTypeAttr : EnumAttr<StableHLO_Dialect, StableHLO_FftType, "fft_type"> {
  let summary = "which Fourier transform `fft` computes";
  let description = [{
    `FFT` and `IFFT` map complex to complex; `RFFT` maps real to complex and keeps the first half of the last dimension;
    `IRFFT` undoes that.

    Example: `#stablehlo<fft_type RFFT>`
  }];
}

def StableHLO_Transpose : StableHLO_Enum<"Transpose", "how a triangular matrix is applied", [
  I32EnumAttrCase<"TRANSPOSE_INVALID", 0>,
  I32EnumAttrCase<"NO_TRANSPOSE", 1>,
  I32EnumAttrCase<"TRANSPOSE", 2>,
  I32EnumAttrCase<"ADJOINT", 3>,
]>;

def StableHLO_TransposeAttr : EnumAttr<StableHLO_Dialect, StableHLO_Transpose, "transpose"> {
  let summary = "whether `triangular_solve` solves with the matrix, its transpose or its adjoint";
  let description = [{
    `TRANSPOSE_INVALID` can be written but no op accepts it.

    Example: `#stablehlo<transpose NO_TRANSPOSE>`
  }];
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

def StableHLO_RngDistribution : StableHLO_Enum<"RngDistribution", "which distribution `rng` samples", [
  I32EnumAttrCase<"UNIFORM", 1>,
  I32EnumAttrCase<"NORMAL", 2>,
]>;

def StableHLO_RngDistributionAttr : EnumAttr<StableHLO_Dialect, StableHLO_RngDistribution, "rng_distribution"> {
  let summary = "which distribution `rng` samples from";
  let description = [{
    For `UNIFORM` the op's operands are the bounds of the half-open interval, for `NORMAL` mean and standard deviation.

    Example: `#stablehlo<rng_distribution UNIFORM>`
  }];
}

def StableHLO_RngAlgorithm : StableHLO_Enum<"RngAlgorithm", "which generator `rng_bit_generator` runs", [
  I32EnumAttrCase<"DEFAULT", 0>,
  I32EnumAttrCase<"THREE_FRY", 1>,
  I32EnumAttrCase<"PHILOX", 2>,
]>;

def StableHLO_RngAlgorithmAttr : EnumAttr<StableHLO_Dialect, StableHLO_RngAlgorithm, "rng_algorithm"> {
  let summary = "which counter-based generator `rng_bit_generator` runs";
  let description = [{
    The algorithm fixes the size of the state: two words for `THREE_FRY`, two or three for `PHILOX`. `DEFAULT` leaves the
    choice, and so the bits, to the device.

    Example: `#stablehlo<rng_algorithm THREE_FRY>`
  }];
}

//===----------------------------------------------------------------------===//
// Custom calls and result accuracy
//===----------------------------------------------------------------------===//

/// Unlike the others this one is a plain i32 attribute in the text (`api_version = 4 : i32`).
def StableHLO_CustomCallApiVersionAttr
    : I32EnumAttr<"CustomCallApiVersion", "Custom call API version", [
  I32EnumAttrCase<"API_VERSION_UNSPECIFIED", 0>,
  I32EnumAttrCase<"API_VERSION_ORIGINAL", 1>,
  I32EnumAttrCase<"API_VERSION_STATUS_RETURNING", 2>,
  I32EnumAttrCase<"API_VERSION_STATUS_RETURNING_UNIFIED", 3>,
  I32EnumAttrCase<"API_VERSION_TYPED_FFI", 4>,
]> {
  let cppNamespace = "::slimhlo::stablehlo";
  let description = [{
    Which calling convention the target of a `custom_call` follows. Only `API_VERSION_TYPED_FFI` takes its
    `backend_config` as a dictionary; the older ones take a string.

    Example: `4 : i32`
  }];
}

def StableHLO_ResultAccuracyMode : StableHLO_Enum<"ResultAccuracyMode", "how a required accuracy is given", [
  I32EnumAttrCase<"DEFAULT", 0>,
  I32EnumAttrCase<"HIGHEST", 1>,
  I32EnumAttrCase<"TOLERANCE", 2>,
]>;

def StableHLO_ResultAccuracyModeAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_ResultAccuracyMode, "result_accuracy_mode"> {
  let summary = "how the accuracy of an elementwise function is asked for";
  let description = [{
    `DEFAULT` and `HIGHEST` name an implementation of the device; `TOLERANCE` lets the numbers of the enclosing
    `result_accuracy` decide.

    Example: `#stablehlo.result_accuracy_mode<HIGHEST>`
  }];
  let assemblyFormat = "`<` $value `>`";
}

#endif // SLIMHLO_STABLEHLO_ENUMS_TD
