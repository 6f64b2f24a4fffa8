// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// Producers are computed on the fly, once per kernel.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:[0-9]+]] = call @reduce_0(%arg0)
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: tensor<8x16xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<8x16xf32>
  %0 = stablehlo.multiply %x, %two : tensor<8x16xf32>
  %1 = stablehlo.sine %0 : tensor<8x16xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CHECK: func.func private @reduce_0
// CHECK-SAME: slimhlo.kernel = "reduce"
// CHECK: stablehlo.multiply
// CHECK: stablehlo.sine
// CHECK: stablehlo.reduce
