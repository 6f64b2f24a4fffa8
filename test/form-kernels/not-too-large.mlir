// RUN: not slimhlo-opt %s --slimhlo-form-kernels 2>&1 | FileCheck %s

func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: error: 'stablehlo.broadcast_in_dim' op cannot become a GPU kernel: a tensor<4611686018427387904x4xf32> takes 2^63 bytes or more
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<4611686018427387904x4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4611686018427387904x4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
