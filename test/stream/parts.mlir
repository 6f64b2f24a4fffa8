// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=32KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=32KiB" --slimhlo-stream="target=xla-cpu chunk-bytes=32KiB" | FileCheck %s

// Both gradients of a softmax over a large table, rows at a time: scores are computed once, and of the table's gradient a part at a
// time is added to the sum, which wants more rows in a chunk. What is transposed at the end is computed so that it need not be.
// CHECK-LABEL: func @table_gradient
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: stablehlo.exponential %{{.*}} : tensor<64x2048xf32>
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: stablehlo.dynamic_slice
// CHECK: stablehlo.dot_general {{.*}} contracting_dims = [0] x [0]
// CHECK: stablehlo.dynamic_update_slice
// CHECK: {{^ *}}return
func.func @table_gradient(%x: tensor<2048x128xf32>, %w: tensor<128x2048xf32>) -> (tensor<2048x128xf32>, tensor<128x2048xf32>) {
  %logits = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2048x128xf32>, tensor<128x2048xf32>) -> tensor<2048x2048xf32>
  %p = stablehlo.exponential %logits : tensor<2048x2048xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sums = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %all = stablehlo.broadcast_in_dim %sums, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  %d = stablehlo.divide %p, %all : tensor<2048x2048xf32>
  %dw = stablehlo.dot_general %d, %x, contracting_dims = [0] x [0] : (tensor<2048x2048xf32>, tensor<2048x128xf32>) -> tensor<2048x128xf32>
  %dwt = stablehlo.transpose %dw, dims = [1, 0] : (tensor<2048x128xf32>) -> tensor<128x2048xf32>
  %dx = stablehlo.dot_general %d, %w, contracting_dims = [1] x [1] : (tensor<2048x2048xf32>, tensor<128x2048xf32>) -> tensor<2048x128xf32>
  return %dx, %dwt : tensor<2048x128xf32>, tensor<128x2048xf32>
}
