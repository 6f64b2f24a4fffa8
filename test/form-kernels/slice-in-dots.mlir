// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// One layer's weights are read where they lie, however often products read them: a slice costs no more than an offset.

// CHECK-LABEL: func.func @main
// CHECK-NOT:     call @slice
// CHECK:         call @dot_general_0
// CHECK:         call @dot_general_1
// CHECK:       func.func private @dot_general_0
// CHECK:         stablehlo.slice
// CHECK:       func.func private @dot_general_1
// CHECK:         stablehlo.slice
func.func @main(%x: tensor<16384x512xf32>, %y: tensor<16384x512xf32>, %w: tensor<4x512x512xf32>) -> (tensor<16384x512xf32>, tensor<16384x512xf32>) {
  %0 = stablehlo.slice %w [1:2, 0:512, 0:512] : (tensor<4x512x512xf32>) -> tensor<1x512x512xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x512x512xf32>) -> tensor<512x512xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [0] : (tensor<16384x512xf32>, tensor<512x512xf32>) -> tensor<16384x512xf32>
  %3 = stablehlo.dot_general %y, %1, contracting_dims = [1] x [1] : (tensor<16384x512xf32>, tensor<512x512xf32>) -> tensor<16384x512xf32>
  return %2, %3 : tensor<16384x512xf32>, tensor<16384x512xf32>
}
