// RUN: not slimhlo-opt %s --split-input-file --slimhlo-print-memory 2>&1 | FileCheck %s

func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: too-large.mlir:6:8: error: a tensor<4611686018427387904x4xf32> takes 2^63 bytes or more
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<4611686018427387904x4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4611686018427387904x4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// CHECK: error: it takes 2^63 bytes or more in all
func.func @main(%x: tensor<1152921504606846976xf32>, %y: tensor<1152921504606846976xf32>) -> tensor<4xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
