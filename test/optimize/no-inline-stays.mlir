// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s

// What came with `no_inline` leaves with it.
// CHECK: func.func private @kept(
// CHECK-SAME: attributes {no_inline}
func.func private @kept(%x: tensor<4xf32>) -> tensor<4xf32> attributes {no_inline} {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @main
// CHECK: call @kept
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @kept(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
