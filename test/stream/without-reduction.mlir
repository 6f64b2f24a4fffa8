// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s

// Weights that need no sum of their row (a sigmoid's): no library computes them together with both products.
// CHECK-LABEL: func.func @sigmoid_attention
// CHECK: stablehlo.while
// CHECK: {{^ *}}return
func.func @sigmoid_attention(%q: tensor<2048x32xf32>, %k: tensor<2048x32xf32>, %v: tensor<2048x32xf32>) -> tensor<2048x32xf32> {
  %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<2048x32xf32>, tensor<2048x32xf32>) -> tensor<2048x2048xf32>
  %w = stablehlo.logistic %s : tensor<2048x2048xf32>
  %r = stablehlo.dot_general %w, %v, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x32xf32>) -> tensor<2048x32xf32>
  return %r : tensor<2048x32xf32>
}

// Kernel weights for one vector: a product with a vector is no product of matrices.
// CHECK-LABEL: func.func @kernel_sum
// CHECK: stablehlo.while
// CHECK: {{^ *}}return
func.func @kernel_sum(%x: tensor<4096x3xf32>, %y: tensor<4096x3xf32>, %w: tensor<4096xf32>) -> tensor<4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<4096x3xf32>) -> tensor<4096x4096x3xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [1, 2] : (tensor<4096x3xf32>) -> tensor<4096x4096x3xf32>
  %d = stablehlo.subtract %a, %b : tensor<4096x4096x3xf32>
  %s = stablehlo.multiply %d, %d : tensor<4096x4096x3xf32>
  %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4096x4096x3xf32>, tensor<f32>) -> tensor<4096x4096xf32>
  %n = stablehlo.negate %r : tensor<4096x4096xf32>
  %e = stablehlo.exponential %n : tensor<4096x4096xf32>
  %f = stablehlo.dot_general %e, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  return %f : tensor<4096xf32>
}

// A softmax between two products of many rows is the library's.
// CHECK-LABEL: func.func @softmax_attention
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @softmax_attention(%q: tensor<4x1024x32xf32>, %k: tensor<4x1024x32xf32>, %v: tensor<4x1024x32xf32>) -> tensor<4x1024x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x1024x32xf32>, tensor<4x1024x32xf32>) -> tensor<4x1024x1024xf32>
  %e = stablehlo.exponential %s : tensor<4x1024x1024xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x1024x1024xf32>, tensor<f32>) -> tensor<4x1024xf32>
  %b = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<4x1024xf32>) -> tensor<4x1024x1024xf32>
  %w = stablehlo.divide %e, %b : tensor<4x1024x1024xf32>
  %r = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x1024x1024xf32>, tensor<4x1024x32xf32>) -> tensor<4x1024x32xf32>
  return %r : tensor<4x1024x32xf32>
}
