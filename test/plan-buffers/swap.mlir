// RUN: slimhlo-opt %s --slimhlo-form-kernels --slimhlo-plan-buffers=check=true | FileCheck %s

// Two arguments change places: one is saved first.

// CHECK-LABEL: func.func @main
// CHECK-SAME: slimhlo.arena = 64 
// CHECK-NEXT: %[[S:[0-9]+]] = call @copy_0(%arg1) {slimhlo.buffers = ["arena+0"]}
// CHECK-NEXT: %[[A:[0-9]+]] = call @copy_0(%arg0) {slimhlo.buffers = ["arg1"]}
// CHECK-NEXT: %[[B:[0-9]+]] = call @copy_0(%[[S]]) {slimhlo.buffers = ["arg0"]}
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @main(%x: tensor<16xf32> {tf.aliasing_output = 1 : i32}, %y: tensor<16xf32> {tf.aliasing_output = 0 : i32})
    -> (tensor<16xf32>, tensor<16xf32>) {
  return %x, %y : tensor<16xf32>, tensor<16xf32>
}

// CHECK: func.func private @copy_0
// CHECK-SAME: slimhlo.copy
