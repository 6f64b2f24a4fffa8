// What has no elements is not computed, and what is made of no elements is what it begins with.
// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: call @constant_0() : () -> tensor<0xf32>
// CHECK-NOT: stablehlo.reduce
// CHECK-NOT: stablehlo.dot
func.func @main(%x: tensor<0x4xf32>, %y: tensor<4x3xf32>) -> (tensor<0xf32>, tensor<0x3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<0x4xf32>, tensor<f32>) -> tensor<0xf32>
  %1 = stablehlo.dot %x, %y : (tensor<0x4xf32>, tensor<4x3xf32>) -> tensor<0x3xf32>
  return %0, %1 : tensor<0xf32>, tensor<0x3xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: call @broadcast_in_dim_0(%arg1)
// CHECK-NOT: stablehlo.reduce
func.func @main(%x: tensor<0x4xf32>, %init: tensor<f32>) -> tensor<4xf32> {
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Of four elements each: nothing is left out.
// CHECK-LABEL: func.func @main
// CHECK: call @reduce
func.func @main(%x: tensor<1x4xf32>, %init: tensor<f32>) -> tensor<1xf32> {
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [1] : (tensor<1x4xf32>, tensor<f32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
