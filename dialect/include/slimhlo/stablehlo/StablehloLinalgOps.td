// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear algebra: contractions, convolutions, factorizations and Fourier transforms.

#ifndef SLIMHLO_STABLEHLO_LINALGOPS_TD
#define SLIMHLO_STABLEHLO_LINALGOPS_TD

include "slimhlo/stablehlo/StablehloBase.td"

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def StableHLO_DotGeneralOp : StableHLO_PureOp<"dot_general"> {
  let summary = "sum of products over dimensions";
  let description = [{
    Products of elements of both operands, summed over pairs of contracting dimensions and computed apart for each place
    of the batching dimensions. The result's dimensions are the batching ones, what is left of `lhs`, what is left of
    `rhs`.

    Example:
    ```mlir
    %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1],
                                       precision = [DEFAULT, DEFAULT]
        : (tensor<2x2x3xf32>, tensor<2x3x4xf32>) -> tensor<2x2x4xf32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_TensorOrPerAxis:$rhs,
                       StableHLO_DotDimensionNumbers:$dot_dimension_numbers,
                       OptionalAttr<StableHLO_PrecisionConfig>:$precision_config,
                       OptionalAttr<StableHLO_DotAlgorithm>:$algorithm);
  let results = (outs StableHLO_TensorOrPerAxis:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers) ``
    custom<PrecisionConfigAndAlgorithm>($precision_config, $algorithm) attr-dict `:`
    functional-type(operands, results)
  }];
}

def StableHLO_DotOp : StableHLO_PureOp<"dot"> {
  let summary = "product of vectors or matrices";
  let description = [{
    The last dimension of `lhs` contracted with the first of `rhs`. Written by older producers only; it is a
    `dot_general`.

    Example: `%r = stablehlo.dot %x, %y : (tensor<1x5xi32>, tensor<5x4xi32>) -> tensor<1x4xi32>`
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_TensorOrPerAxis:$rhs,
                       OptionalAttr<StableHLO_PrecisionConfig>:$precision_config);
  let results = (outs StableHLO_TensorOrPerAxis:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<PrecisionConfig>($precision_config) attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_EinsumOp : StableHLO_PureOp<"einsum"> {
  let summary = "contraction in Einstein notation";
  let description = [{
    The contraction of both operands that the text `einsum_config` describes. Written by older producers only; it is a
    `dot_general`.

    Example:
    ```mlir
    %r = stablehlo.einsum %x, %y, config = "ab,bc->ac" : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs, StrAttr:$einsum_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_UnaryEinsumOp : StableHLO_PureOp<"unary_einsum"> {
  let summary = "sum over dimensions in Einstein notation";
  let description = [{
    What the text `einsum_config` makes of the operand: sums over dimensions, diagonals, transpositions. Written by older
    producers only.

    Example: `%r = stablehlo.unary_einsum %x, config = "ab->a" : (tensor<4x16xf32>) -> tensor<4xf32>`
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StrAttr:$einsum_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

def StableHLO_ConvolutionOp : StableHLO_PureOp<"convolution"> {
  let summary = "convolution";
  let description = [{
    Products of the kernel `rhs` with windows of the input `lhs`, summed over the kernel's spatial dimensions and input
    features. `dimension_numbers` says which dimension is which; the window is moved by `window_strides` over the input
    surrounded by `padding` (pairs of low and high), with `lhs_dilation - 1` holes between elements of the input and
    `rhs_dilation - 1` between those of the kernel, which `window_reversal` flips.

    Example:
    ```mlir
    %r = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {stride = [4, 4], pad = [[0, 0], [0, 0]], rhs_dilate = [2, 2]}
        {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x4x4x1xi64>, tensor<2x2x1x1xi64>) -> tensor<1x1x1x1xi64>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_TensorOrPerAxis:$rhs,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<I64ElementsAttr>:$padding,
                       OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation, OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
                       OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                       StableHLO_ConvDimensionNumbers:$dimension_numbers,
                       StableHLO_PositiveI64:$feature_group_count, StableHLO_PositiveI64:$batch_group_count,
                       OptionalAttr<StableHLO_PrecisionConfig>:$precision_config);
  let results = (outs StableHLO_TensorOrPerAxis:$result);
  let assemblyFormat = [{
    `(` operands `)` `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers) `,`
    `window` `=` `{` custom<WindowAttributes>($window_strides, $padding, $lhs_dilation, $rhs_dilation,
                                              $window_reversal) `}`
    attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_DynamicConvOp : StableHLO_PartialOp<"dynamic_conv"> {
  let summary = "convolution with a computed padding";
  let description = [{
    `convolution` whose padding is the operand `padding`.

    Example:
    ```mlir
    %r = "stablehlo.dynamic_conv"(%x, %k, %padding) <{
      batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>,
      feature_group_count = 1 : i64
    }> : (tensor<1x8x8x3xf32>, tensor<2x2x3x4xf32>, tensor<2x2xi64>) -> tensor<1x?x?x4xf32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs, StableHLO_StaticIntMatrix:$padding,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation, OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
                       OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                       StableHLO_ConvDimensionNumbers:$dimension_numbers,
                       StableHLO_PositiveI64:$feature_group_count, StableHLO_PositiveI64:$batch_group_count,
                       OptionalAttr<StableHLO_PrecisionConfig>:$precision_config);
  let results = (outs StableHLO_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Factorizations and transforms
//===----------------------------------------------------------------------===//

def StableHLO_CholeskyOp : StableHLO_PartialOp<"cholesky", [RustInferTypes]> {
  let summary = "Cholesky factor";
  let description = [{
    The triangular factor of each positive definite matrix in the last two dimensions of `a`: L with a = L L^H if `lower`,
    else U with a = U^H U. The other triangle of the result is open.

    Example: `%r = stablehlo.cholesky %a, lower = true : tensor<3x3xf64>`
  }];
  let arguments = (ins StableHLO_FloatComplexOrQuantizedTensor:$a,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$lower);
  let results = (outs StableHLO_FloatComplexOrQuantizedTensor:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)? attr-dict `:` custom<SameOperandsAndResultType>(type($a), type($result))
  }];
}

def StableHLO_TriangularSolveOp : StableHLO_PartialOp<"triangular_solve", [RustInferTypes]> {
  let summary = "solve with a triangular matrix";
  let description = [{
    x with op(a) x = b, or x op(a) = b if not `left_side`, for each pair of matrices in the last two dimensions. op is
    `transpose_a`; of `a` only the triangle that `lower` names is read, and its diagonal is taken as ones if
    `unit_diagonal`.

    Example:
    ```mlir
    %x = "stablehlo.triangular_solve"(%a, %b) <{
      left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false
    }> : (tensor<3x3xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
    ```
  }];
  let arguments = (ins StableHLO_FloatOrComplexTensor:$a, StableHLO_FloatOrComplexTensor:$b, BoolAttr:$left_side,
                       BoolAttr:$lower, BoolAttr:$unit_diagonal, StableHLO_TransposeAttr:$transpose_a);
  let results = (outs StableHLO_FloatOrComplexTensor:$result);
}

def StableHLO_FftOp : StableHLO_PureOp<"fft", [RustInferTypes]> {
  let summary = "Fourier transform";
  let description = [{
    The transform `fft_type` over the last dimensions, whose sizes are `fft_length`.

    Example: `%r = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>`
  }];
  let arguments = (ins StableHLO_FloatOrComplexTensor:$operand, StableHLO_FftTypeAttr:$fft_type,
                       DenseI64ArrayAttr:$fft_length);
  let results = (outs StableHLO_FloatOrComplexTensor:$result);
  let assemblyFormat = [{
    $operand `,` `type` `=` `` $fft_type `,` `length` `=` $fft_length attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif // SLIMHLO_STABLEHLO_LINALGOPS_TD
