// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// What an update reads of the array that it changes is computed on the fly if it is apart from what is written.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:[0-9]+]] = call @dynamic_update_slice_0(%arg0)
// CHECK-NEXT: %[[B:[0-9]+]] = call @slice_0(%[[A]])
// CHECK-NEXT: call @dynamic_update_slice_1(%[[A]], %[[B]])
func.func @main(%x: tensor<16xf32> {tf.aliasing_output = 0 : i32}) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %apart = stablehlo.slice %x [12:14] : (tensor<16xf32>) -> tensor<2xf32>
  %0 = stablehlo.dynamic_update_slice %x, %apart, %zero : (tensor<16xf32>, tensor<2xf32>, tensor<i32>) -> tensor<16xf32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %near = stablehlo.slice %0 [0:2] : (tensor<16xf32>) -> tensor<2xf32>
  %1 = stablehlo.dynamic_update_slice %0, %near, %one : (tensor<16xf32>, tensor<2xf32>, tensor<i32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
