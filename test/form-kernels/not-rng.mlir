// RUN: not slimhlo-opt %s --slimhlo-form-kernels 2>&1 | FileCheck %s

// Kernels have no state from which to draw other numbers each time.

// CHECK: 'stablehlo.rng' op cannot become a GPU kernel: {{.*}} use rng_bit_generator
func.func @main(%low: tensor<f32>, %high: tensor<f32>) -> tensor<3x4xf32> {
  %shape = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  %0 = stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
