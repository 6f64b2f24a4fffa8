// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that compute each element of the result from the elements at the same place of the operands.

#ifndef SLIMHLO_STABLEHLO_ELEMENTWISEOPS_TD
#define SLIMHLO_STABLEHLO_ELEMENTWISEOPS_TD

include "slimhlo/stablehlo/StablehloBase.td"

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

class StableHLO_UnaryOp<string mnemonic, Type operandType, Type resultType = operandType, list<Trait> traits = []>
    : StableHLO_PureOp<mnemonic, !listconcat([RustInferTypes], traits)> {
  let arguments = (ins operandType:$operand);
  let results = (outs resultType:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))";
}

/// A function whose accuracy may be asked for.
class StableHLO_UnaryOpWithAccuracy<string mnemonic>
    : StableHLO_UnaryOp<mnemonic, StableHLO_FloatComplexOrQuantizedTensor> {
  let arguments = (ins StableHLO_FloatComplexOrQuantizedTensor:$operand,
                       StableHLO_OptionalResultAccuracy:$result_accuracy);
}

def StableHLO_AbsOp : StableHLO_UnaryOp<"abs", StableHLO_SignedNumberTensor, StableHLO_SignedRealTensor> {
  let summary = "absolute value";
  let description = [{
    The absolute value of each element; of a complex number the modulus, so that the result is real.

    Example: `%r = stablehlo.abs %x : tensor<3xi32>`
  }];
}

def StableHLO_CbrtOp : StableHLO_UnaryOpWithAccuracy<"cbrt"> {
  let summary = "cubic root";
  let description = [{
    The real cubic root of each element.

    Example: `%r = stablehlo.cbrt %x : tensor<4xf64>`
  }];
}

def StableHLO_CeilOp : StableHLO_UnaryOp<"ceil", StableHLO_FloatOrQuantizedTensor> {
  let summary = "round up";
  let description = [{
    The smallest integer that is not below each element.

    Example: `%r = stablehlo.ceil %x : tensor<5xf32>`
  }];
}

def StableHLO_ClzOp : StableHLO_UnaryOp<"count_leading_zeros", StableHLO_IntTensor> {
  let summary = "count leading zero bits";
  let description = [{
    How many zeros stand before the first one bit of each element; its width if there is none.

    Example: `%r = stablehlo.count_leading_zeros %x : tensor<2x2xi64>`
  }];
}

def StableHLO_ConvertOp : StableHLO_PureOp<"convert"> {
  let summary = "change the element type";
  let description = [{
    Each element as a value of the result's element type. Floats round to nearest even; a float becomes an integer by
    truncation; anything becomes a bool by comparison with zero; a complex number loses its imaginary part when it
    becomes real.

    Example: `%r = stablehlo.convert %x : (tensor<3xi64>) -> tensor<3xcomplex<f64>>`
  }];
  let arguments = (ins StableHLO_PlainTensor:$operand);
  let results = (outs StableHLO_PlainTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))";
}

def StableHLO_CosineOp : StableHLO_UnaryOpWithAccuracy<"cosine"> {
  let summary = "cosine";
  let description = [{
    The cosine of each element, in radians.

    Example: `%r = stablehlo.cosine %x : tensor<2xf32>`
  }];
}

def StableHLO_ExpOp : StableHLO_UnaryOpWithAccuracy<"exponential"> {
  let summary = "exponential function";
  let description = [{
    e to the power of each element.

    Example: `%r = stablehlo.exponential %x : tensor<2x2xf64>`
  }];
}

def StableHLO_Expm1Op : StableHLO_UnaryOpWithAccuracy<"exponential_minus_one"> {
  let summary = "exponential function minus one";
  let description = [{
    e to the power of each element, minus one, without losing the digits of a small element.

    Example: `%r = stablehlo.exponential_minus_one %x : tensor<2xf64>`
  }];
}

def StableHLO_FloorOp : StableHLO_UnaryOp<"floor", StableHLO_FloatOrQuantizedTensor> {
  let summary = "round down";
  let description = [{
    The largest integer that is not above each element.

    Example: `%r = stablehlo.floor %x : tensor<2xf32>`
  }];
}

def StableHLO_ImagOp : StableHLO_UnaryOp<"imag", StableHLO_FloatOrComplexTensor, StableHLO_FloatTensor> {
  let summary = "imaginary part";
  let description = [{
    The imaginary part of each element; zero for a real operand.

    Example: `%r = stablehlo.imag %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>`
  }];
}

def StableHLO_IsFiniteOp : StableHLO_PureOp<"is_finite", [RustInferTypes]> {
  let summary = "whether elements are finite";
  let description = [{
    True for each element that is neither an infinity nor a NaN.

    Example: `%y = stablehlo.is_finite %x : (tensor<7xf64>) -> tensor<7xi1>`
  }];
  let arguments = (ins StableHLO_FloatOrQuantizedTensor:$x);
  let results = (outs StableHLO_PredTensor:$y);
  let assemblyFormat = "$x attr-dict `:` custom<SameOperandsAndResultType>(type($x), type($y))";
}

def StableHLO_LogOp : StableHLO_UnaryOpWithAccuracy<"log"> {
  let summary = "natural logarithm";
  let description = [{
    The natural logarithm of each element.

    Example: `%r = stablehlo.log %x : tensor<2x2xf64>`
  }];
}

def StableHLO_Log1pOp : StableHLO_UnaryOpWithAccuracy<"log_plus_one"> {
  let summary = "natural logarithm of one plus the operand";
  let description = [{
    The natural logarithm of each element plus one, without losing the digits of a small element.

    Example: `%r = stablehlo.log_plus_one %x : tensor<5xf64>`
  }];
}

def StableHLO_LogisticOp : StableHLO_UnaryOpWithAccuracy<"logistic"> {
  let summary = "logistic function";
  let description = [{
    1 / (1 + e^-x) of each element x.

    Example: `%r = stablehlo.logistic %x : tensor<2x2xf64>`
  }];
}

def StableHLO_NegOp : StableHLO_UnaryOp<"negate", StableHLO_NumberTensor> {
  let summary = "negation";
  let description = [{
    Each element with its sign changed; unsigned elements wrap around.

    Example: `%r = stablehlo.negate %x : tensor<2x3xi32>`
  }];
}

def StableHLO_NotOp : StableHLO_UnaryOp<"not", StableHLO_PredOrIntTensor> {
  let summary = "logical or bitwise complement";
  let description = [{
    The negation of each bool, or each integer with every bit flipped.

    Example: `%r = stablehlo.not %x : tensor<5x3x1xi1>`
  }];
}

def StableHLO_PopulationCountOp : StableHLO_UnaryOp<"popcnt", StableHLO_IntTensor> {
  let summary = "count one bits";
  let description = [{
    How many bits of each element are one.

    Example: `%r = stablehlo.popcnt %x : tensor<4xi64>`
  }];
}

def StableHLO_RealOp : StableHLO_UnaryOp<"real", StableHLO_FloatOrComplexTensor, StableHLO_FloatTensor> {
  let summary = "real part";
  let description = [{
    The real part of each element; the operand itself if it is real.

    Example: `%r = stablehlo.real %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>`
  }];
}

def StableHLO_ReducePrecisionOp : StableHLO_PureOp<"reduce_precision", [RustInferTypes]> {
  let summary = "round to fewer bits";
  let description = [{
    Each element rounded to a float of `exponent_bits` and `mantissa_bits`, and converted back.

    Example: `%r = stablehlo.reduce_precision %x, format = e5m10 : tensor<6xf64>`
  }];
  let arguments = (ins StableHLO_FloatOrQuantizedTensor:$operand, StableHLO_PositiveI32:$exponent_bits,
                       StableHLO_NonNegativeI32:$mantissa_bits);
  let results = (outs StableHLO_FloatOrQuantizedTensor:$output);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits) attr-dict `:`
    custom<SameOperandsAndResultType>(type($operand), type($output))
  }];
}

def StableHLO_RoundOp : StableHLO_UnaryOp<"round_nearest_afz", StableHLO_FloatOrQuantizedTensor> {
  let summary = "round to nearest, ties away from zero";
  let description = [{
    The integer nearest to each element; the one farther from zero if two are equally near.

    Example: `%r = stablehlo.round_nearest_afz %x : tensor<5xf64>`
  }];
}

def StableHLO_RoundNearestEvenOp : StableHLO_UnaryOp<"round_nearest_even", StableHLO_FloatOrQuantizedTensor> {
  let summary = "round to nearest, ties to even";
  let description = [{
    The integer nearest to each element; the even one if two are equally near.

    Example: `%r = stablehlo.round_nearest_even %x : tensor<5xf64>`
  }];
}

def StableHLO_RsqrtOp : StableHLO_UnaryOpWithAccuracy<"rsqrt"> {
  let summary = "reciprocal square root";
  let description = [{
    One over the square root of each element.

    Example: `%r = stablehlo.rsqrt %x : tensor<2x2xf32>`
  }];
}

def StableHLO_SignOp : StableHLO_UnaryOp<"sign", StableHLO_SignedNumberTensor> {
  let summary = "sign";
  let description = [{
    -1, 0 or 1 as each element is negative, zero or positive; signed zeros and NaNs stay. A complex number is divided by
    its modulus.

    Example: `%r = stablehlo.sign %x : tensor<5xf64>`
  }];
}

def StableHLO_SineOp : StableHLO_UnaryOpWithAccuracy<"sine"> {
  let summary = "sine";
  let description = [{
    The sine of each element, in radians.

    Example: `%r = stablehlo.sine %x : tensor<2xf32>`
  }];
}

def StableHLO_SqrtOp : StableHLO_UnaryOpWithAccuracy<"sqrt"> {
  let summary = "square root";
  let description = [{
    The square root of each element.

    Example: `%r = stablehlo.sqrt %x : tensor<2x2xf32>`
  }];
}

def StableHLO_TanOp : StableHLO_UnaryOpWithAccuracy<"tan"> {
  let summary = "tangent";
  let description = [{
    The tangent of each element, in radians.

    Example: `%r = stablehlo.tan %x : tensor<2x2xf64>`
  }];
}

def StableHLO_TanhOp : StableHLO_UnaryOpWithAccuracy<"tanh"> {
  let summary = "hyperbolic tangent";
  let description = [{
    The hyperbolic tangent of each element.

    Example: `%r = stablehlo.tanh %x : tensor<3xf32>`
  }];
}

def StableHLO_UniformDequantizeOp
    : StableHLO_UnaryOp<"uniform_dequantize", StableHLO_QuantizedTensor, StableHLO_FloatTensor> {
  let summary = "quantized numbers as floats";
  let description = [{
    (stored - zero point) * scale of each element, in the float type that the operand's element type expresses.

    Example: `%r = stablehlo.uniform_dequantize %x : (tensor<2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2xf32>`
  }];
}

def StableHLO_UniformQuantizeOp : StableHLO_PureOp<"uniform_quantize"> {
  let summary = "floats as quantized numbers";
  let description = [{
    Each element as the nearest number that the quantized element type of the result can store. An operand that is
    quantized itself is requantized.

    Example: `%r = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:3>>`
  }];
  let arguments = (ins StableHLO_QuantizableTensor:$operand);
  let results = (outs StableHLO_QuantizedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))";
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

class StableHLO_BinaryOp<string mnemonic, Type operandType, Type resultType = operandType, list<Trait> traits = []>
    : StableHLO_PureOp<mnemonic, !listconcat([RustInferTypes], traits)> {
  let arguments = (ins operandType:$lhs, operandType:$rhs);
  let results = (outs resultType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` custom<SameOperandsAndResultType>(type($lhs), type($rhs), type($result))
  }];
}

def StableHLO_AddOp : StableHLO_BinaryOp<"add", StableHLO_TensorOrPerAxis, StableHLO_TensorOrPerAxis, [Commutative]> {
  let summary = "addition";
  let description = [{
    The sum of each pair of elements; for bools, whether either is true. Integers wrap around.

    Example: `%r = stablehlo.add %x, %y : tensor<2x2xi32>`
  }];
}

def StableHLO_AndOp : StableHLO_BinaryOp<"and", StableHLO_PredOrIntTensor, StableHLO_Tensor, [Commutative]> {
  let summary = "logical or bitwise and";
  let description = [{
    Of each pair of elements, the bits that both have.

    Example: `%r = stablehlo.and %x, %y : tensor<2x2xi32>`
  }];
}

def StableHLO_Atan2Op : StableHLO_BinaryOp<"atan2", StableHLO_FloatComplexOrQuantizedTensor> {
  let summary = "angle of a point";
  let description = [{
    The angle between the positive first axis and the point (rhs, lhs), in radians.

    Example: `%r = stablehlo.atan2 %y, %x : tensor<3xf64>`
  }];
}

def StableHLO_DivOp : StableHLO_BinaryOp<"divide", StableHLO_NumberTensor> {
  let summary = "division";
  let description = [{
    The quotient of each pair of elements; of integers, truncated toward zero.

    Example: `%r = stablehlo.divide %x, %y : tensor<4xf32>`
  }];
}

def StableHLO_MaxOp : StableHLO_BinaryOp<"maximum", StableHLO_Tensor, StableHLO_Tensor, [Commutative]> {
  let summary = "larger of two";
  let description = [{
    The larger element of each pair, a NaN if either is one; for bools, whether either is true. Complex numbers are
    ordered by real and then by imaginary part.

    Example: `%r = stablehlo.maximum %x, %y : tensor<4xf32>`
  }];
}

def StableHLO_MinOp : StableHLO_BinaryOp<"minimum", StableHLO_Tensor, StableHLO_Tensor, [Commutative]> {
  let summary = "smaller of two";
  let description = [{
    The smaller element of each pair, a NaN if either is one; for bools, whether both are true. Complex numbers are
    ordered by real and then by imaginary part.

    Example: `%r = stablehlo.minimum %x, %y : tensor<4xf32>`
  }];
}

def StableHLO_MulOp : StableHLO_BinaryOp<"multiply", StableHLO_Tensor, StableHLO_Tensor, [Commutative]> {
  let summary = "multiplication";
  let description = [{
    The product of each pair of elements; for bools, whether both are true. Integers wrap around.

    Example: `%r = stablehlo.multiply %x, %y : tensor<2xi32>`
  }];
}

def StableHLO_OrOp : StableHLO_BinaryOp<"or", StableHLO_PredOrIntTensor, StableHLO_Tensor, [Commutative]> {
  let summary = "logical or bitwise or";
  let description = [{
    Of each pair of elements, the bits that either has.

    Example: `%r = stablehlo.or %x, %y : tensor<2xi1>`
  }];
}

def StableHLO_PowOp : StableHLO_BinaryOp<"power", StableHLO_NumberTensor> {
  let summary = "power";
  let description = [{
    Each element of `lhs` to the power of the element of `rhs`. A negative integer exponent gives zero, or one or minus
    one for those bases.

    Example: `%r = stablehlo.power %x, %y : tensor<6xf64>`
  }];
}

def StableHLO_RemOp : StableHLO_BinaryOp<"remainder", StableHLO_NumberTensor> {
  let summary = "remainder of division";
  let description = [{
    What is left of each element of `lhs` after division by the element of `rhs`; it has the sign of `lhs`.

    Example: `%r = stablehlo.remainder %x, %y : tensor<4xi64>`
  }];
}

def StableHLO_ShiftLeftOp : StableHLO_BinaryOp<"shift_left", StableHLO_IntTensor> {
  let summary = "shift bits left";
  let description = [{
    The bits of each element of `lhs` moved up by the element of `rhs`, zeros following.

    Example: `%r = stablehlo.shift_left %x, %n : tensor<3xi64>`
  }];
}

def StableHLO_ShiftRightArithmeticOp : StableHLO_BinaryOp<"shift_right_arithmetic", StableHLO_IntTensor> {
  let summary = "shift bits right, keeping the sign";
  let description = [{
    The bits of each element of `lhs` moved down by the element of `rhs`, copies of the sign bit following.

    Example: `%r = stablehlo.shift_right_arithmetic %x, %n : tensor<3xi64>`
  }];
}

def StableHLO_ShiftRightLogicalOp : StableHLO_BinaryOp<"shift_right_logical", StableHLO_IntTensor> {
  let summary = "shift bits right";
  let description = [{
    The bits of each element of `lhs` moved down by the element of `rhs`, zeros following.

    Example: `%r = stablehlo.shift_right_logical %x, %n : tensor<3xi64>`
  }];
}

def StableHLO_SubtractOp : StableHLO_BinaryOp<"subtract", StableHLO_NumberTensor> {
  let summary = "subtraction";
  let description = [{
    The difference of each pair of elements. Integers wrap around.

    Example: `%r = stablehlo.subtract %x, %y : tensor<2xi32>`
  }];
}

def StableHLO_XorOp : StableHLO_BinaryOp<"xor", StableHLO_PredOrIntTensor, StableHLO_Tensor, [Commutative]> {
  let summary = "logical or bitwise exclusive or";
  let description = [{
    Of each pair of elements, the bits that just one has.

    Example: `%r = stablehlo.xor %x, %y : tensor<2xi32>`
  }];
}

def StableHLO_ComplexOp : StableHLO_PureOp<"complex", [RustInferTypes]> {
  let summary = "complex numbers from parts";
  let description = [{
    Complex numbers whose real parts are `lhs` and whose imaginary parts are `rhs`.

    Example: `%r = stablehlo.complex %re, %im : tensor<2xcomplex<f64>>`
  }];
  let arguments = (ins StableHLO_Float32Or64Tensor:$lhs, StableHLO_Float32Or64Tensor:$rhs);
  let results = (outs StableHLO_ComplexTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` custom<ComplexTypes>(type($lhs), type($rhs), type($result))
  }];
}

def StableHLO_CompareOp : StableHLO_PureOp<"compare", [RustInferTypes]> {
  let summary = "comparison";
  let description = [{
    Whether each pair of elements stands in the relation `comparison_direction`, in the order that `compare_type` names.

    Example: `%r = stablehlo.compare LT, %x, %y, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>`
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       StableHLO_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<StableHLO_ComparisonTypeAttr>:$compare_type);
  let results = (outs StableHLO_PredTensor:$result);
  let assemblyFormat = [{
    `` $comparison_direction `,` $lhs `,` $rhs (`,` `` $compare_type^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Three operands
//===----------------------------------------------------------------------===//

def StableHLO_ClampOp : StableHLO_PureOp<"clamp", [RustInferTypes]> {
  let summary = "limit to a range";
  let description = [{
    Each element of `operand`, but not below `min` and not above `max`. The limits are tensors of the same shape or
    scalars.

    Example: `%r = stablehlo.clamp %lo, %x, %hi : tensor<3xi32>`
  }];
  let arguments = (ins StableHLO_Tensor:$min, StableHLO_Tensor:$operand, StableHLO_Tensor:$max);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict `:`
    custom<SameOperandsAndResultType>(type($min), type($operand), type($max), type($result))
  }];
}

def StableHLO_SelectOp : StableHLO_PureOp<"select", [RustInferTypes]> {
  let summary = "choice by condition";
  let description = [{
    Each element from `on_true` where `pred` holds and from `on_false` where it does not. A scalar `pred` decides for the
    whole tensor.

    Example: `%r = stablehlo.select %p, %x, %y : tensor<2x2xi1>, tensor<2x2xi32>`
  }];
  let arguments = (ins StableHLO_PredTensor:$pred, StableHLO_Tensor:$on_true, StableHLO_Tensor:$on_false);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict `:`
    custom<SelectTypes>(type($pred), type($on_true), type($on_false), type($result))
  }];
}

#endif // SLIMHLO_STABLEHLO_ELEMENTWISEOPS_TD
