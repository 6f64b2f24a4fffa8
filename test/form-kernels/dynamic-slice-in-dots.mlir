// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// Where a slice starts is one number for all elements: two products read the slice where it is, instead of a copy.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @dot_general_0(
// CHECK-NEXT: call @dot_general_0(
// CHECK-NEXT: return
// CHECK: func.func private @dot_general_0
// CHECK: stablehlo.dynamic_slice
func.func @main(%x: tensor<4096x512xbf16>, %a: tensor<512x512xbf16>, %b: tensor<512x512xbf16>, %at: tensor<i64>) -> (tensor<512x512xbf16>, tensor<512x512xbf16>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.dynamic_slice %x, %at, %zero, sizes = [512, 512] : (tensor<4096x512xbf16>, tensor<i64>, tensor<i64>) -> tensor<512x512xbf16>
  %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0] : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  %2 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  return %1, %2 : tensor<512x512xbf16>, tensor<512x512xbf16>
}
