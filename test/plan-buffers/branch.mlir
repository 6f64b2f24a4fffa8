// RUN: slimhlo-opt %s --slimhlo-form-kernels --slimhlo-plan-buffers=check=true | FileCheck %s

// Branches make their result where it is wanted; one that hands on what the caller keeps copies it.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.if
// CHECK: call @sine_0(%arg1) {slimhlo.buffers = ["result0"]}
// CHECK: call @copy_0(%arg1) {slimhlo.buffers = ["result0"]}
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
