// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// The gradient of a roll: what is padded lies side by side. A zero is still added to each element: -0.0 becomes 0.0.
// CHECK-LABEL: func.func private @add_0
// CHECK: %[[WHOLE:.*]] = stablehlo.concatenate %arg1, %arg0, dim = 1
// CHECK: %[[ZEROS:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<4x10xf32>
// CHECK: stablehlo.add %[[WHOLE]], %[[ZEROS]]
// CHECK-NOT: stablehlo.pad
func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x4xf32>) -> tensor<4x10xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.pad %x, %zero, low = [0, 4], high = [0, 0], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x10xf32>
  %b = stablehlo.pad %y, %zero, low = [0, 0], high = [0, 6], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x10xf32>
  %r = stablehlo.add %a, %b : tensor<4x10xf32>
  return %r : tensor<4x10xf32>
}

// -----

// They overlap.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.concatenate
// CHECK: stablehlo.pad
func.func @main(%x: tensor<6xf32>, %y: tensor<5xf32>) -> tensor<10xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.pad %x, %zero, low = [4], high = [0], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<10xf32>
  %b = stablehlo.pad %y, %zero, low = [0], high = [5], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<10xf32>
  %r = stablehlo.add %a, %b : tensor<10xf32>
  return %r : tensor<10xf32>
}

// -----

// Some of the result is of neither, another is of a corner.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.concatenate
// CHECK: stablehlo.pad
func.func @main(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2x5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.pad %x, %zero, low = [0, 0], high = [0, 3], interior = [0, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x5xf32>
  %b = stablehlo.pad %y, %zero, low = [0, 3], high = [0, 0], interior = [0, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x5xf32>
  %r = stablehlo.add %a, %b : tensor<2x5xf32>
  return %r : tensor<2x5xf32>
}

// -----

// Padded with ones: a sum of each element and one.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.concatenate
// CHECK: stablehlo.pad
func.func @main(%x: tensor<6xf32>, %y: tensor<4xf32>) -> tensor<10xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.pad %x, %one, low = [4], high = [0], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<10xf32>
  %b = stablehlo.pad %y, %one, low = [0], high = [6], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<10xf32>
  %r = stablehlo.add %a, %b : tensor<10xf32>
  return %r : tensor<10xf32>
}
