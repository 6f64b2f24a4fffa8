// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// Elementwise ops on what a reduction comes to belong to its kernel.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[R:[0-9]+]] = call @divide_0(%arg0)
// CHECK-NEXT: return %[[R]]
func.func @main(%x: tensor<8x16xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.constant dense<16.0> : tensor<8xf32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.divide %0, %count : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK: func.func private @divide_0
// CHECK-SAME: slimhlo.kernel = "reduce"
