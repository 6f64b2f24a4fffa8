// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s

// The messages are much larger than what they are computed from, and all that needs them can be streamed: each loop has its own.
// CHECK-LABEL: func @forward_and_backward
// CHECK-NOT: tensor<4096x4xf32>
// CHECK: stablehlo.while
// CHECK-NOT: tensor<4096x4xf32>
// CHECK: {{^ *}}return
func.func @forward_and_backward(%h: tensor<8x4xf32>, %n: tensor<4096x1xi32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = "stablehlo.gather"(%h, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<4096x1xi32>) -> tensor<4096x4xf32>
  %sent = stablehlo.tanh %rows : tensor<4096x4xf32>
  %sum = stablehlo.reduce(%sent init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x4xf32>, tensor<f32>) -> tensor<4xf32>
  %all = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<4xf32>) -> tensor<4096x4xf32>
  %back = stablehlo.multiply %sent, %all : tensor<4096x4xf32>
  %r = stablehlo.reduce(%back init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %sum, %r : tensor<4xf32>, tensor<4xf32>
}
