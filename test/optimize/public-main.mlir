// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s

// A function that is private, and has been inlined wherever it was called, goes; an entry function that says it is public counts as one that
// says nothing.
// CHECK: func.func public @main(
// CHECK-NOT: @callee
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
