// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// What is read after an update in place of what it was before is stored, the smallest of it: not the 16 elements that are
// changed, nor the 16 that are made of the slice.

// CHECK-LABEL: func.func @main
// CHECK: %[[S:[0-9]+]] = call @slice_0(%arg0) : (tensor<16xf32>) -> tensor<8xf32>
// CHECK: %[[U:[0-9]+]] = call @dynamic_update_slice_0(%arg0,
// CHECK: call @add_0(%[[S]], %[[U]])
func.func @main(%x: tensor<16xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<8xf32>, %i: tensor<i32>) -> tensor<16xf32> {
  %0 = stablehlo.slice %x [0:8] : (tensor<16xf32>) -> tensor<8xf32>
  %1 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<16xf32>, tensor<8xf32>, tensor<i32>) -> tensor<16xf32>
  %2 = stablehlo.concatenate %0, %0, dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %3 = stablehlo.add %1, %2 : tensor<16xf32>
  return %3 : tensor<16xf32>
}
