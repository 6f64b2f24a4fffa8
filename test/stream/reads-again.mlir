// RUN: slimhlo-opt %s --slimhlo-stream=target=xla-cpu | FileCheck %s

// Weights of 20 MB that each turn reads whole, twice: turns of 16 rows would do little else.
// CHECK-LABEL: func @large_weights
// CHECK-COUNT-2: sizes = [64, 256]
// CHECK: {{^ *}}return
func.func @large_weights(%x: tensor<2048x256xf32>, %y: tensor<2048x256xf32>, %w: tensor<20000x256xf32>) -> tensor<2048xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<2048x256xf32>, tensor<20000x256xf32>) -> tensor<2048x20000xf32>
  %t = stablehlo.dot_general %y, %w, contracting_dims = [1] x [1] : (tensor<2048x256xf32>, tensor<20000x256xf32>) -> tensor<2048x20000xf32>
  %e = stablehlo.exponential %s : tensor<2048x20000xf32>
  %all = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x20000xf32>, tensor<f32>) -> tensor<2048xf32>
  %alls = stablehlo.broadcast_in_dim %all, dims = [0] : (tensor<2048xf32>) -> tensor<2048x20000xf32>
  %share = stablehlo.divide %e, %alls : tensor<2048x20000xf32>
  %p = stablehlo.multiply %share, %t : tensor<2048x20000xf32>
  %sum = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x20000xf32>, tensor<f32>) -> tensor<2048xf32>
  return %sum : tensor<2048xf32>
}

// Where weights are nearly all of the program, a chunk takes half of it at most.
// CHECK-LABEL: func @little_else
// CHECK-COUNT-2: sizes = [16, 64]
// CHECK: {{^ *}}return
func.func @little_else(%x: tensor<2048x64xf32>, %y: tensor<2048x64xf32>, %w: tensor<20000x64xf32>) -> tensor<2048xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<20000x64xf32>) -> tensor<2048x20000xf32>
  %t = stablehlo.dot_general %y, %w, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<20000x64xf32>) -> tensor<2048x20000xf32>
  %e = stablehlo.exponential %s : tensor<2048x20000xf32>
  %all = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x20000xf32>, tensor<f32>) -> tensor<2048xf32>
  %alls = stablehlo.broadcast_in_dim %all, dims = [0] : (tensor<2048xf32>) -> tensor<2048x20000xf32>
  %share = stablehlo.divide %e, %alls : tensor<2048x20000xf32>
  %p = stablehlo.multiply %share, %t : tensor<2048x20000xf32>
  %sum = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x20000xf32>, tensor<f32>) -> tensor<2048xf32>
  return %sum : tensor<2048xf32>
}
