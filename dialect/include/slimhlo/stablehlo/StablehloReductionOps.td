// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that apply a function given as a region to elements, and the batch normalizations.

#ifndef SLIMHLO_STABLEHLO_REDUCTIONOPS_TD
#define SLIMHLO_STABLEHLO_REDUCTIONOPS_TD

include "slimhlo/stablehlo/StablehloBase.td"

/// An op that applies its regions to elements and does nothing else.
class StableHLO_ApplyOp<string mnemonic, list<Trait> traits = []> : StableHLO_Op<mnemonic, !listconcat(
    [RecursiveMemoryEffects, RustSpeculatable, RustInferTypes], traits)>;

def StableHLO_MapOp : StableHLO_ApplyOp<"map", [StableHLO_ReturnTerminator]> {
  let summary = "function of elements";
  let description = [{
    `computation` applied to the scalars at each place of the inputs. `dimensions` lists all dimensions.

    Example:
    ```mlir
    %r = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %p = stablehlo.multiply %a, %b : tensor<i64>
      stablehlo.return %p : tensor<i64>
    }) : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi64>
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_ReduceOp : StableHLO_ApplyOp<"reduce", [SameVariadicOperandSize, StableHLO_ReturnTerminator]> {
  let summary = "combine elements along dimensions";
  let description = [{
    The elements of the inputs along `dimensions` combined by `body`, in an order that is open, together with
    `init_values`. A body that is one commutative op of this dialect on its two arguments is written after `applies`.

    Example:
    ```mlir
    %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<1x6xi64>, tensor<i64>) -> tensor<1xi64>
    %m:2 = stablehlo.reduce(%x init: %zero), (%y init: %zero) across dimensions = [0]
        : (tensor<6xi64>, tensor<6xi64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
     reducer(%a: tensor<i64>, %b: tensor<i64>) (%c: tensor<i64>, %d: tensor<i64>)  {
      %s = stablehlo.add %a, %b : tensor<i64>
      %t = stablehlo.maximum %c, %d : tensor<i64>
      stablehlo.return %s, %t : tensor<i64>, tensor<i64>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<StableHLO_Tensor>:$result);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_ReduceWindowOp : StableHLO_ApplyOp<"reduce_window", [SameVariadicOperandSize, StableHLO_ReturnTerminator]> {
  let summary = "combine elements within windows";
  let description = [{
    For each place of a window of `window_dimensions`, moved by `window_strides` over the inputs, the elements in it
    combined by `body` together with `init_values`. The inputs are first spread by `base_dilations` and surrounded by
    `padding` (pairs of low and high); the window's elements are `window_dilations` apart.

    Example:
    ```mlir
    %r = "stablehlo.reduce_window"(%x, %zero) <{
      padding = dense<[[2, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>,
      window_strides = array<i64: 4, 1>
    }> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) : (tensor<3x2xi64>, tensor<i64>) -> tensor<2x2xi64>
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$window_dimensions, OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dilations, OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<StableHLO_Tensor>:$result);
}

def StableHLO_SelectAndScatterOp : StableHLO_ApplyOp<"select_and_scatter"> {
  let summary = "combine values into the selected element of each window";
  let description = [{
    A tensor of `init_value`, shaped like the operand, into which each element of `source` is combined by `scatter` at the
    place of the operand's element that `select` prefers within the corresponding window. The gradient of a maximum over
    windows.

    Example:
    ```mlir
    %r = "stablehlo.select_and_scatter"(%x, %s, %zero) <{
      padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>
    }> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %t = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$source, StableHLO_Tensor:$init_value,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_SortOp : StableHLO_ApplyOp<"sort"> {
  let summary = "sort along a dimension";
  let description = [{
    The inputs, with the slices along `dimension` put in the order of `comparator`, which is given two elements of each
    input and says whether the first come before the second. Equal elements keep their order if `is_stable`.

    Example:
    ```mlir
    %r:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>, %c: tensor<i64>, %d: tensor<i64>):
      %p = stablehlo.compare GT, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }) : (tensor<2x3xi64>, tensor<2x3xi64>) -> (tensor<2x3xi64>, tensor<2x3xi64>)
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable);
  let regions = (region SizedRegion<1>:$comparator);
  let results = (outs Variadic<StableHLO_Tensor>:$result);
}

//===----------------------------------------------------------------------===//
// Batch normalization
//===----------------------------------------------------------------------===//

def StableHLO_BatchNormInferenceOp : StableHLO_PureOp<"batch_norm_inference", [RustInferTypes]> {
  let summary = "normalize by given statistics";
  let description = [{
    scale * (operand - mean) / sqrt(variance + epsilon) + offset, with one mean, variance, scale and offset per place of
    dimension `feature_index`.

    Example:
    ```mlir
    %r = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) <{
      epsilon = 0.0 : f32, feature_index = 1 : i64
    }> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins StableHLO_FloatOrQuantizedTensor:$operand, StableHLO_FloatOrQuantizedVector:$scale,
                       StableHLO_FloatOrQuantizedVector:$offset, StableHLO_FloatOrQuantizedVector:$mean,
                       StableHLO_FloatOrQuantizedVector:$variance, F32Attr:$epsilon,
                       StableHLO_NonNegativeI64:$feature_index);
  let results = (outs StableHLO_FloatOrQuantizedTensor:$result);
}

def StableHLO_BatchNormTrainingOp : StableHLO_PureOp<"batch_norm_training", [RustInferTypes]> {
  let summary = "normalize by the operand's own statistics";
  let description = [{
    Mean and variance of the operand over all dimensions but `feature_index`, and the operand normalized by them.

    Example:
    ```mlir
    %output, %mean, %var = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{
      epsilon = 0.0 : f32, feature_index = 1 : i64
    }> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
    ```
  }];
  let arguments = (ins StableHLO_FloatOrQuantizedTensor:$operand, StableHLO_FloatOrQuantizedVector:$scale,
                       StableHLO_FloatOrQuantizedVector:$offset, F32Attr:$epsilon,
                       StableHLO_NonNegativeI64:$feature_index);
  let results = (outs StableHLO_FloatOrQuantizedTensor:$output, StableHLO_FloatOrQuantizedVector:$batch_mean,
                      StableHLO_FloatOrQuantizedVector:$batch_var);
}

def StableHLO_BatchNormGradOp : StableHLO_PureOp<"batch_norm_grad", [RustInferTypes]> {
  let summary = "gradients of a batch normalization";
  let description = [{
    From the gradient of the result of `batch_norm_training` those of its three operands.

    Example:
    ```mlir
    %dx, %dscale, %doffset = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %dy) <{
      epsilon = 0.0 : f32, feature_index = 1 : i64
    }> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>)
        -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
    ```
  }];
  let arguments = (ins StableHLO_FloatOrQuantizedTensor:$operand, StableHLO_FloatOrQuantizedVector:$scale,
                       StableHLO_FloatOrQuantizedVector:$mean, StableHLO_FloatOrQuantizedVector:$variance,
                       StableHLO_FloatOrQuantizedTensor:$grad_output, F32Attr:$epsilon,
                       StableHLO_NonNegativeI64:$feature_index);
  let results = (outs StableHLO_FloatOrQuantizedTensor:$grad_operand,
                      StableHLO_FloatOrQuantizedVector:$grad_scale, StableHLO_FloatOrQuantizedVector:$grad_offset);
}

#endif // SLIMHLO_STABLEHLO_REDUCTIONOPS_TD
