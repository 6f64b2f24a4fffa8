// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of the `chlo` dialect. What they check and infer beyond these definitions is dialect/src/chlo.

#ifndef SLIMHLO_CHLO_OPS_TD
#define SLIMHLO_CHLO_OPS_TD

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "slimhlo/RustOp.td"
include "slimhlo/chlo/ChloAttrs.td"
include "slimhlo/chlo/ChloDialect.td"
include "slimhlo/chlo/ChloEnums.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def CHLO_Bool : TypeAlias<I1, "bool">;

def CHLO_Int : AnyTypeOf<
    [I<2>, I<4>, I<8>, I<16>, I<32>, I<64>, UI<2>, UI<4>, UI<8>, UI<16>, UI<32>, UI<64>],
    "signless or unsigned integer of 2, 4, 8, 16, 32 or 64 bits">;

def CHLO_Float : AnyTypeOf<
    [F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E3M4, F8E4M3, F8E4M3FN, F8E4M3FNUZ, F8E4M3B11FNUZ, F8E5M2, F8E5M2FNUZ,
     F8E8M0FNU, BF16, F16, F32, F64],
    "float of 4, 6, 8, 16, 32 or 64 bits">;

def CHLO_Complex : Type<
    CPred<"::llvm::isa<::mlir::ComplexType>($_self) && "
          "(::llvm::cast<::mlir::ComplexType>($_self).getElementType().isF32() || "
          "::llvm::cast<::mlir::ComplexType>($_self).getElementType().isF64())">,
    "complex number of two f32 or f64", "::mlir::ComplexType">;

def CHLO_Quantized : Type<
    CPred<"::llvm::isa<::mlir::quant::UniformQuantizedType, ::mlir::quant::UniformQuantizedPerAxisType>($_self) && "
          "::llvm::is_contained({2u, 4u, 8u, 16u, 32u}, "
          "::llvm::cast<::mlir::quant::QuantizedType>($_self).getStorageTypeIntegralWidth())">,
    "integer quantized per tensor or per axis", "::mlir::quant::QuantizedType">;

def CHLO_QuantizedPerTensor : Type<
    CPred<"::llvm::isa<::mlir::quant::UniformQuantizedType>($_self) && "
          "::llvm::is_contained({2u, 4u, 8u, 16u, 32u}, "
          "::llvm::cast<::mlir::quant::QuantizedType>($_self).getStorageTypeIntegralWidth())">,
    "integer quantized per tensor", "::mlir::quant::UniformQuantizedType">;

def CHLO_Tensor : TensorOf<[CHLO_Float, CHLO_Bool, CHLO_Int, CHLO_Complex, CHLO_Quantized]>;
def CHLO_BoolTensor : TensorOf<[CHLO_Bool]>;
def CHLO_BoolOrIntTensor : TensorOf<[CHLO_Bool, CHLO_Int]>;
def CHLO_FloatTensor : TensorOf<[CHLO_Float]>;
def CHLO_FloatOrComplexTensor : TensorOf<[CHLO_Float, CHLO_Complex]>;
def CHLO_ComplexTensor : TensorOf<[CHLO_Complex]>;
def CHLO_RankedBoolTensor : RankedTensorOf<[CHLO_Bool]>;
def CHLO_RankedIntTensor : RankedTensorOf<[CHLO_Int]>;
def CHLO_StaticTensor
    : StaticShapeTensorOf<[CHLO_Float, CHLO_Bool, CHLO_Int, CHLO_Complex, CHLO_QuantizedPerTensor]>;

def CHLO_PrecisionConfigAttr : TypedArrayAttrBase<CHLO_PrecisionAttr, "array of precisions">;

class CHLO_Op<string mnemonic, list<Trait> traits = []> : RustOp<Chlo_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

class CHLO_UnaryOp<string mnemonic, Type operandType, Type resultType>
    : CHLO_Op<mnemonic, [Pure, RustInferTypes]> {
  let arguments = (ins Arg<operandType, "tensor to map">:$operand);
  let results = (outs Res<resultType, "tensor of the same shape">:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

class CHLO_UnaryFloatOrComplexOp<string mnemonic>
    : CHLO_UnaryOp<mnemonic, CHLO_FloatOrComplexTensor, CHLO_FloatOrComplexTensor>;
class CHLO_UnaryFloatOp<string mnemonic> : CHLO_UnaryOp<mnemonic, CHLO_FloatTensor, CHLO_FloatTensor>;
class CHLO_UnaryPredicateOp<string mnemonic> : CHLO_UnaryOp<mnemonic, CHLO_FloatTensor, CHLO_BoolTensor>;

def CHLO_AsinAcosKernelOp : CHLO_UnaryOp<"_asin_acos_kernel", CHLO_ComplexTensor, CHLO_ComplexTensor> {
  let summary = "Common part of the complex inverse sine and cosine";
  let description = [{
    With `w` the result for `z`, `asin z` is `(atan2(re z, re w), sign(im z) * im w)` and `acos z` is
    `(atan2(re w, re z), -sign(im z) * im w)`; the inverse hyperbolic functions follow from `i * z`. Appears between the
    steps of a lowering only.

    Example:
    ```mlir
    %result = chlo._asin_acos_kernel %operand : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    ```
  }];
}

def CHLO_AcosOp : CHLO_UnaryFloatOrComplexOp<"acos"> {
  let summary = "Elementwise angle between 0 and pi whose cosine is the element";
  let description = [{
    Gives for each element the angle between 0 and pi whose cosine is the element.

    Example:
    ```mlir
    %result = chlo.acos %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_AcoshOp : CHLO_UnaryFloatOrComplexOp<"acosh"> {
  let summary = "Elementwise non-negative number whose hyperbolic cosine is the element";
  let description = [{
    Gives for each element the non-negative number whose hyperbolic cosine is the element (NaN below 1).

    Example:
    ```mlir
    %result = chlo.acosh %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_AsinOp : CHLO_UnaryFloatOrComplexOp<"asin"> {
  let summary = "Elementwise angle between -pi/2 and pi/2 whose sine is the element";
  let description = [{
    Gives for each element the angle between -pi/2 and pi/2 whose sine is the element.

    Example:
    ```mlir
    %result = chlo.asin %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_AsinhOp : CHLO_UnaryFloatOrComplexOp<"asinh"> {
  let summary = "Elementwise number whose hyperbolic sine is the element";
  let description = [{
    Gives for each element the number whose hyperbolic sine is the element.

    Example:
    ```mlir
    %result = chlo.asinh %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_AtanOp : CHLO_UnaryFloatOrComplexOp<"atan"> {
  let summary = "Elementwise angle between -pi/2 and pi/2 whose tangent is the element";
  let description = [{
    Gives for each element the angle between -pi/2 and pi/2 whose tangent is the element.

    Example:
    ```mlir
    %result = chlo.atan %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_AtanhOp : CHLO_UnaryFloatOrComplexOp<"atanh"> {
  let summary = "Elementwise number whose hyperbolic tangent is the element";
  let description = [{
    Gives for each element the number whose hyperbolic tangent is the element (NaN outside of [-1, 1]).

    Example:
    ```mlir
    %result = chlo.atanh %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_BesselI1eOp : CHLO_UnaryFloatOrComplexOp<"bessel_i1e"> {
  let summary = "Elementwise modified Bessel function of the first kind and order 1";
  let description = [{
    Gives for each element the modified Bessel function of the first kind and order 1, scaled by `exp(-|x|)`.

    Example:
    ```mlir
    %result = chlo.bessel_i1e %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_ConjOp : CHLO_UnaryFloatOrComplexOp<"conj"> {
  let summary = "Elementwise complex conjugate";
  let description = [{
    Gives for each element the complex conjugate: the imaginary part changes its sign, and a real number stays as it is.

    Example:
    ```mlir
    %result = chlo.conj %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_CoshOp : CHLO_UnaryFloatOrComplexOp<"cosh"> {
  let summary = "Elementwise hyperbolic cosine";
  let description = [{
    Gives for each element the hyperbolic cosine, `(exp(x) + exp(-x)) / 2`.

    Example:
    ```mlir
    %result = chlo.cosh %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_SinhOp : CHLO_UnaryFloatOrComplexOp<"sinh"> {
  let summary = "Elementwise hyperbolic sine";
  let description = [{
    Gives for each element the hyperbolic sine, `(exp(x) - exp(-x)) / 2`.

    Example:
    ```mlir
    %result = chlo.sinh %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_SquareOp : CHLO_UnaryFloatOrComplexOp<"square"> {
  let summary = "Elementwise product of the element with itself";
  let description = [{
    Gives for each element the product of the element with itself.

    Example:
    ```mlir
    %result = chlo.square %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_TanOp : CHLO_UnaryFloatOrComplexOp<"tan"> {
  let summary = "Elementwise tangent";
  let description = [{
    Gives for each element the tangent.

    Example:
    ```mlir
    %result = chlo.tan %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_DigammaOp : CHLO_UnaryFloatOp<"digamma"> {
  let summary = "Elementwise derivative of `lgamma`";
  let description = [{
    Gives for each element the derivative of `lgamma`.

    Example:
    ```mlir
    %result = chlo.digamma %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_ErfOp : CHLO_UnaryFloatOp<"erf"> {
  let summary = "Elementwise error function";
  let description = [{
    Gives for each element the error function, `2/sqrt(pi)` times the integral of `exp(-t*t)` from 0 to the element.

    Example:
    ```mlir
    %result = chlo.erf %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_ErfInvOp : CHLO_UnaryFloatOp<"erf_inv"> {
  let summary = "Elementwise number whose error function is the element";
  let description = [{
    Gives for each element the number whose error function is the element (NaN outside of [-1, 1]).

    Example:
    ```mlir
    %result = chlo.erf_inv %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_ErfcOp : CHLO_UnaryFloatOp<"erfc"> {
  let summary = "Elementwise one minus the error function";
  let description = [{
    Gives for each element one minus the error function, exact where that difference would cancel.

    Example:
    ```mlir
    %result = chlo.erfc %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_LgammaOp : CHLO_UnaryFloatOp<"lgamma"> {
  let summary = "Elementwise natural logarithm of the absolute value of the gamma function";
  let description = [{
    Gives for each element the natural logarithm of the absolute value of the gamma function.

    Example:
    ```mlir
    %result = chlo.lgamma %operand : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def CHLO_IsInfOp : CHLO_UnaryPredicateOp<"is_inf"> {
  let summary = "Elementwise whether the element is an infinity of either sign";
  let description = [{
    Gives for each element whether the element is an infinity of either sign.

    Example:
    ```mlir
    %result = chlo.is_inf %operand : tensor<4xf32> -> tensor<4xi1>
    ```
  }];
}

def CHLO_IsNegInfOp : CHLO_UnaryPredicateOp<"is_neg_inf"> {
  let summary = "Elementwise whether the element is minus infinity";
  let description = [{
    Gives for each element whether the element is minus infinity.

    Example:
    ```mlir
    %result = chlo.is_neg_inf %operand : tensor<4xf32> -> tensor<4xi1>
    ```
  }];
}

def CHLO_IsPosInfOp : CHLO_UnaryPredicateOp<"is_pos_inf"> {
  let summary = "Elementwise whether the element is plus infinity";
  let description = [{
    Gives for each element whether the element is plus infinity.

    Example:
    ```mlir
    %result = chlo.is_pos_inf %operand : tensor<4xf32> -> tensor<4xi1>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Two operands of one shape
//===----------------------------------------------------------------------===//

def CHLO_MulhiOp : CHLO_Op<"mulhi", [Pure, RustInferTypes]> {
  let summary = "Upper half of the elementwise product of integers";
  let description = [{
    Multiplies two integers of N bits as if in 2N bits and keeps the upper N.

    Example:
    ```mlir
    %result = chlo.mulhi %lhs, %rhs : tensor<4xui32>, tensor<4xui32> -> tensor<4xui32>
    ```
  }];
  let arguments = (ins
    Arg<CHLO_RankedIntTensor, "first factor">:$lhs,
    Arg<CHLO_RankedIntTensor, "second factor">:$rhs);
  let results = (outs Res<CHLO_RankedIntTensor, "upper halves of the products">:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

def CHLO_NextAfterOp : CHLO_Op<"next_after", [Pure, RustInferTypes]> {
  let summary = "Elementwise next floating-point number towards another";
  let description = [{
    Gives the number next to `x` in the direction of `y`, subnormal ones included; `y` itself where they are equal.

    Example:
    ```mlir
    %result = chlo.next_after %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Arg<CHLO_FloatTensor, "where to start">:$x, Arg<CHLO_FloatTensor, "where to go">:$y);
  let results = (outs Res<CHLO_FloatTensor, "one step on">:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)";
}

def CHLO_PolygammaOp : CHLO_Op<"polygamma", [Pure, RustInferTypes]> {
  let summary = "Elementwise polygamma function";
  let description = [{
    Gives the derivative of order `n` of `digamma`, at `x`.

    Example:
    ```mlir
    %result = chlo.polygamma %n, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Arg<CHLO_FloatTensor, "orders of the derivative">:$n, Arg<CHLO_FloatTensor, "points">:$x);
  let results = (outs Res<CHLO_FloatTensor, "values of the derivative">:$result);
  let assemblyFormat = "$n `,` $x attr-dict `:` type($n) `,` type($x) `->` type($result)";
}

def CHLO_ZetaOp : CHLO_Op<"zeta", [Pure, RustInferTypes]> {
  let summary = "Elementwise Hurwitz zeta function";
  let description = [{
    Gives the sum of `(q + n) ^ -x` over all integers n from 0 on.

    Example:
    ```mlir
    %result = chlo.zeta %x, %q : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Arg<CHLO_FloatTensor, "exponents">:$x, Arg<CHLO_FloatTensor, "offsets">:$q);
  let results = (outs Res<CHLO_FloatTensor, "sums">:$result);
  let assemblyFormat = "$x `,` $q attr-dict `:` type($x) `,` type($q) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Operands brought to one shape
//===----------------------------------------------------------------------===//

/// Without `broadcast_dimensions`, shapes line up at their last dimension and missing or size-1 dimensions are repeated;
/// with it, entry i is the dimension of the higher-ranked operand that dimension i of the other one lies along.
class CHLO_BroadcastOp<string mnemonic, Type operandType = CHLO_Tensor, Type resultType = CHLO_Tensor>
    : CHLO_Op<mnemonic, [RustPure, RustInferTypes]> {
  let arguments = (ins
    Arg<operandType, "left operand">:$lhs,
    Arg<operandType, "right operand">:$rhs,
    // Where the dimensions of the operand of lower rank go.
    OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions);
  let results = (outs Res<resultType, "tensor of the shape both were brought to">:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def CHLO_BroadcastAddOp : CHLO_BroadcastOp<"broadcast_add"> {
  let summary = "Elementwise sum of two operands brought to one shape";
  let description = [{
    Adds; on booleans this is a logical or.

    Example:
    ```mlir
    %result = chlo.broadcast_add %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastAtan2Op : CHLO_BroadcastOp<"broadcast_atan2"> {
  let summary = "Elementwise angle of the point (rhs, lhs) of two operands brought to one shape";
  let description = [{
    Gives the angle between the positive x axis and the point with x from `rhs` and y from `lhs`, in its quadrant.

    Example:
    ```mlir
    %result = chlo.broadcast_atan2 %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastDivideOp : CHLO_BroadcastOp<"broadcast_divide"> {
  let summary = "Elementwise quotient of two operands brought to one shape";
  let description = [{
    Divides `lhs` by `rhs`; integers round towards zero.

    Example:
    ```mlir
    %result = chlo.broadcast_divide %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastMaximumOp : CHLO_BroadcastOp<"broadcast_maximum"> {
  let summary = "Elementwise maximum of two operands brought to one shape";
  let description = [{
    Takes the larger element; a NaN in either one gives a NaN.

    Example:
    ```mlir
    %result = chlo.broadcast_maximum %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastMinimumOp : CHLO_BroadcastOp<"broadcast_minimum"> {
  let summary = "Elementwise minimum of two operands brought to one shape";
  let description = [{
    Takes the smaller element; a NaN in either one gives a NaN.

    Example:
    ```mlir
    %result = chlo.broadcast_minimum %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastMultiplyOp : CHLO_BroadcastOp<"broadcast_multiply"> {
  let summary = "Elementwise product of two operands brought to one shape";
  let description = [{
    Multiplies; on booleans this is a logical and.

    Example:
    ```mlir
    %result = chlo.broadcast_multiply %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastNextAfterOp : CHLO_BroadcastOp<"broadcast_next_after"> {
  let summary = "Elementwise next float towards rhs of two operands brought to one shape";
  let description = [{
    Gives the floating-point number next to `lhs` in the direction of `rhs`, subnormal ones included.

    Example:
    ```mlir
    %result = chlo.broadcast_next_after %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastPolygammaOp : CHLO_BroadcastOp<"broadcast_polygamma"> {
  let summary = "Elementwise polygamma function of two operands brought to one shape";
  let description = [{
    Gives the derivative of order `lhs` of `digamma`, at `rhs`.

    Example:
    ```mlir
    %result = chlo.broadcast_polygamma %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastPowerOp : CHLO_BroadcastOp<"broadcast_power"> {
  let summary = "Elementwise power of two operands brought to one shape";
  let description = [{
    Raises `lhs` to the power `rhs`.

    Example:
    ```mlir
    %result = chlo.broadcast_power %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastRemainderOp : CHLO_BroadcastOp<"broadcast_remainder"> {
  let summary = "Elementwise remainder of two operands brought to one shape";
  let description = [{
    Gives what is left of `lhs` after dividing by `rhs`; it has the sign of `lhs`.

    Example:
    ```mlir
    %result = chlo.broadcast_remainder %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastShiftLeftOp : CHLO_BroadcastOp<"broadcast_shift_left"> {
  let summary = "Elementwise left shift of two operands brought to one shape";
  let description = [{
    Shifts the bits of `lhs` up by `rhs` places; zeros come in.

    Example:
    ```mlir
    %result = chlo.broadcast_shift_left %lhs, %rhs : (tensor<2x4xi32>, tensor<4xi32>) -> tensor<2x4xi32>
    ```
  }];
}

def CHLO_BroadcastShiftRightArithmeticOp : CHLO_BroadcastOp<"broadcast_shift_right_arithmetic"> {
  let summary = "Elementwise arithmetic right shift of two operands brought to one shape";
  let description = [{
    Shifts the bits of `lhs` down by `rhs` places; copies of the sign bit come in.

    Example:
    ```mlir
    %result = chlo.broadcast_shift_right_arithmetic %lhs, %rhs : (tensor<2x4xi32>, tensor<4xi32>) -> tensor<2x4xi32>
    ```
  }];
}

def CHLO_BroadcastShiftRightLogicalOp : CHLO_BroadcastOp<"broadcast_shift_right_logical"> {
  let summary = "Elementwise logical right shift of two operands brought to one shape";
  let description = [{
    Shifts the bits of `lhs` down by `rhs` places; zeros come in.

    Example:
    ```mlir
    %result = chlo.broadcast_shift_right_logical %lhs, %rhs : (tensor<2x4xi32>, tensor<4xi32>) -> tensor<2x4xi32>
    ```
  }];
}

def CHLO_BroadcastSubtractOp : CHLO_BroadcastOp<"broadcast_subtract"> {
  let summary = "Elementwise difference of two operands brought to one shape";
  let description = [{
    Subtracts `rhs` from `lhs`.

    Example:
    ```mlir
    %result = chlo.broadcast_subtract %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastAndOp : CHLO_BroadcastOp<"broadcast_and", CHLO_BoolOrIntTensor> {
  let summary = "Elementwise and of two operands brought to one shape";
  let description = [{
    Ands bits, or booleans.

    Example:
    ```mlir
    %result = chlo.broadcast_and %lhs, %rhs : (tensor<2x4xi32>, tensor<4xi32>) -> tensor<2x4xi32>
    ```
  }];
}

def CHLO_BroadcastOrOp : CHLO_BroadcastOp<"broadcast_or", CHLO_BoolOrIntTensor> {
  let summary = "Elementwise or of two operands brought to one shape";
  let description = [{
    Ors bits, or booleans.

    Example:
    ```mlir
    %result = chlo.broadcast_or %lhs, %rhs : (tensor<2x4xi32>, tensor<4xi32>) -> tensor<2x4xi32>
    ```
  }];
}

def CHLO_BroadcastXorOp : CHLO_BroadcastOp<"broadcast_xor", CHLO_BoolOrIntTensor> {
  let summary = "Elementwise exclusive or of two operands brought to one shape";
  let description = [{
    Exclusive-ors bits, or booleans.

    Example:
    ```mlir
    %result = chlo.broadcast_xor %lhs, %rhs : (tensor<2x4xi32>, tensor<4xi32>) -> tensor<2x4xi32>
    ```
  }];
}

def CHLO_BroadcastZetaOp : CHLO_BroadcastOp<"broadcast_zeta", CHLO_FloatTensor, CHLO_FloatTensor> {
  let summary = "Elementwise Hurwitz zeta function of two operands brought to one shape";
  let description = [{
    Gives the sum of `(rhs + n) ^ -lhs` over all integers n from 0 on.

    Example:
    ```mlir
    %result = chlo.broadcast_zeta %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def CHLO_BroadcastComplexOp : CHLO_BroadcastOp<"broadcast_complex", CHLO_FloatTensor, CHLO_ComplexTensor> {
  let summary = "Elementwise complex number of two operands brought to one shape";
  let description = [{
    Makes complex numbers of real parts `lhs` and imaginary parts `rhs`.

    Example:
    ```mlir
    %result = chlo.broadcast_complex %lhs, %rhs : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xcomplex<f32>>
    ```
  }];
}

def CHLO_BroadcastCompareOp : CHLO_Op<"broadcast_compare", [RustPure, RustInferTypes]> {
  let summary = "Elementwise comparison of two operands brought to one shape";
  let description = [{
    Tests `lhs` against `rhs`. Without `compare_type`, floats compare as FLOAT does, signless integers as SIGNED does and
    unsigned ones and booleans as UNSIGNED does.

    Example:
    ```mlir
    %result = chlo.broadcast_compare %lhs, %rhs {comparison_direction = #chlo<comparison_direction LT>}
        : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xi1>
    ```
  }];
  let arguments = (ins
    Arg<CHLO_Tensor, "left operand">:$lhs,
    Arg<CHLO_Tensor, "right operand">:$rhs,
    OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions,
    CHLO_ComparisonDirectionAttr:$comparison_direction,
    OptionalAttr<CHLO_ComparisonTypeAttr>:$compare_type);
  let results = (outs Res<CHLO_BoolTensor, "whether the relation holds">:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def CHLO_BroadcastSelectOp : CHLO_Op<"broadcast_select", [RustPure]> {
  let summary = "Elementwise choice between two operands, all brought to one shape";
  let description = [{
    Takes `on_true` where `pred` holds and `on_false` elsewhere.

    Example:
    ```mlir
    %result = chlo.broadcast_select %pred, %on_true, %on_false
        : (tensor<4xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins
    Arg<CHLO_RankedBoolTensor, "which one to take">:$pred,
    Arg<CHLO_Tensor, "taken where `pred` holds">:$on_true,
    Arg<CHLO_Tensor, "taken elsewhere">:$on_false);
  let results = (outs Res<CHLO_Tensor, "elements chosen">:$result);
  let assemblyFormat = "$pred `,` $on_true `,` $on_false attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

def CHLO_ConstantOp : CHLO_Op<"constant", [ConstantLike, Pure, RustInferTypes]> {
  let summary = "A constant";
  let description = [{
    Gives the tensor that its attribute holds.

    Example:
    ```mlir
    %result = chlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Res<CHLO_StaticTensor, "tensor of the attribute's type">:$output);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def CHLO_ConstantLikeOp : CHLO_Op<"constant_like", [Pure, RustInferTypes]> {
  let summary = "A splat of one number in the shape of another tensor";
  let description = [{
    Gives a tensor of the operand's shape with `value` everywhere. The operand gives its shape only, which need not be
    known before run time.

    Example:
    ```mlir
    %result = "chlo.constant_like"(%operand) <{value = 1.0 : f32}> : (tensor<?x4xf32>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value, Arg<CHLO_Tensor, "tensor that has the shape">:$operand);
  let results = (outs Res<CHLO_Tensor, "splat of `value`">:$result);
}

//===----------------------------------------------------------------------===//
// Ops of their own kind
//===----------------------------------------------------------------------===//

def CHLO_RaggedDotOp : CHLO_Op<"ragged_dot", [Pure]> {
  let summary = "Dot product whose left operand is cut into groups";
  let description = [{
    A general dot product in which group i, a stretch of `group_sizes[i]` elements along the ragged dimension of `lhs`, has
    its own right operand or its own result. If the ragged dimension is

    - neither batching nor contracting, group i is multiplied with slice i of `rhs` along its group dimension:
      `[b, m, k], [g, b, k, n], [b, g] -> [b, m, n]`;
    - contracting, each group is summed by itself and becomes one slice of the result:
      `[b, m, k], [b, k, n], [b, g] -> [g, b, m, n]`;
    - batching, the groups cut the batch: `[b, m, k], [b, k, n], [g] -> [b, m, n]`.

    Example:
    ```mlir
    %result = "chlo.ragged_dot"(%lhs, %rhs, %group_sizes) <{
      ragged_dot_dimension_numbers = #chlo.ragged_dot<
        lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1],
        lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>
    }> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
    ```
  }];
  let arguments = (ins
    Arg<CHLO_Tensor, "operand cut into groups">:$lhs,
    Arg<CHLO_Tensor, "other operand">:$rhs,
    Arg<CHLO_RankedIntTensor, "length of each group">:$group_sizes,
    CHLO_RaggedDotDimensionNumbers:$ragged_dot_dimension_numbers,
    OptionalAttr<CHLO_PrecisionConfigAttr>:$precision_config);
  let results = (outs Res<CHLO_Tensor, "sums of products">:$result);
}

def CHLO_ScanOp : CHLO_Op<"scan", [
    AttrSizedOperandSegments, AttrSizedResultSegments, IsolatedFromAbove, RecursiveMemoryEffects, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "A recurrence along one dimension";
  let description = [{
    Runs `body` once per slice of the inputs along `dimension`, from the last one on if `is_reverse`. The body takes one
    slice of each input and the carries, which start as `inits`, and returns one slice of each output and the next
    carries; the last ones are results too. `is_associative` promises that the body may be regrouped into a tree. Without
    inputs, `scan_dim_size` is the number of steps.

    Example:
    ```mlir
    %sums, %total = chlo.scan(%input) inits (%init) dimension=0 {
    ^bb0(%element: tensor<f32>, %sum: tensor<f32>):
      %next = stablehlo.add %element, %sum : tensor<f32>
      stablehlo.return %next, %next : tensor<f32>, tensor<f32>
    } : (tensor<10xf32>, tensor<f32>) -> (tensor<10xf32>, tensor<f32>)
    ```
  }];
  let arguments = (ins
    Arg<Variadic<CHLO_Tensor>, "tensors read slice by slice">:$inputs,
    Arg<Variadic<CHLO_Tensor>, "first carries">:$inits,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$dimension,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$scan_dim_size,
    OptionalAttr<BoolAttr>:$is_reverse,
    OptionalAttr<BoolAttr>:$is_associative);
  let results = (outs
    Res<Variadic<CHLO_Tensor>, "tensors written slice by slice">:$outputs,
    Res<Variadic<CHLO_Tensor>, "last carries">:$carries);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
}

def CHLO_TopKOp : CHLO_Op<"top_k", [Pure, RustInferTypes]> {
  let summary = "The largest entries of each row, with their places";
  let description = [{
    Along the last dimension, gives the `k` largest elements in descending order and where they were. Of equal elements
    the one of lower index comes first.

    Example:
    ```mlir
    %values, %indices = chlo.top_k(%operand, k = 3) : tensor<8x16xf32> -> (tensor<8x3xf32>, tensor<8x3xi32>)
    ```
  }];
  let arguments = (ins Arg<CHLO_Tensor, "tensor whose rows are searched">:$operand, I64Attr:$k);
  let results = (outs
    Res<CHLO_Tensor, "largest elements">:$values,
    Res<CHLO_Tensor, "their indices">:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k `)` attr-dict `:` type($operand) `->` `(` type($values) `,` type($indices) `)`
  }];
}

#endif // SLIMHLO_CHLO_OPS_TD
