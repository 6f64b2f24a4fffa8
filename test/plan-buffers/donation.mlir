// RUN: slimhlo-opt %s --slimhlo-form-kernels --slimhlo-plan-buffers=check=true | FileCheck %s

// Results lie in the arguments that are given for them; the kernel is told.

// CHECK-LABEL: func.func @main
// CHECK-SAME: slimhlo.arena = 0
// CHECK-NEXT: call @{{[a-z]+_[0-9]+}}(%arg0, %arg1, %arg2) {slimhlo.buffers = ["arg1", "arg0"]}
// CHECK: slimhlo.may_share = array<i64: 1, 0>
func.func @main(%p: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %m: tensor<64xf32> {tf.aliasing_output = 1 : i32}, %g: tensor<64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = stablehlo.add %m, %g : tensor<64xf32>
  %1 = stablehlo.subtract %p, %0 : tensor<64xf32>
  return %1, %0 : tensor<64xf32>, tensor<64xf32>
}
