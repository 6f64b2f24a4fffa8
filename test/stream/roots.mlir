// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s

// The last dot streams what is joined for it, and takes along what the dots before it are made into. They still share a loop of
// their own, over the weights that both need, none of which are stored whole.
// CHECK-LABEL: func @two_dots_joined
// CHECK-NOT: tensor<1024x1024xf32>
// CHECK: stablehlo.while
// CHECK-NOT: tensor<1024x1024xf32>
// CHECK: stablehlo.exponential
// CHECK-NOT: stablehlo.exponential
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.exponential
// CHECK: stablehlo.concatenate
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @two_dots_joined(%q: tensor<1024x4xf32>, %k: tensor<1024x4xf32>, %y: tensor<1024x4xf32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %scores = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<1024x4xf32>, tensor<1024x4xf32>) -> tensor<1024x1024xf32>
  %exps = stablehlo.exponential %scores : tensor<1024x1024xf32>
  %sums = stablehlo.reduce(%exps init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %all = stablehlo.broadcast_in_dim %sums, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %weights = stablehlo.divide %exps, %all : tensor<1024x1024xf32>
  %rows = stablehlo.dot_general %weights, %y, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x4xf32>) -> tensor<1024x4xf32>
  %columns = stablehlo.dot_general %weights, %q, contracting_dims = [0] x [0] : (tensor<1024x1024xf32>, tensor<1024x4xf32>) -> tensor<1024x4xf32>
  %less = stablehlo.negate %rows : tensor<1024x4xf32>
  %other = stablehlo.negate %columns : tensor<1024x4xf32>
  %both = stablehlo.concatenate %less, %other, dim = 1 : (tensor<1024x4xf32>, tensor<1024x4xf32>) -> tensor<1024x8xf32>
  %r = stablehlo.dot_general %both, %y, contracting_dims = [0] x [0] : (tensor<1024x8xf32>, tensor<1024x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
