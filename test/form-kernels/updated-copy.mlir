// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// A slab of a field, halos filled: one kernel.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[SLAB:.*]] = call @multiply_0(%arg0, %arg1)
// CHECK-NEXT: return %[[SLAB]]
// CHECK-LABEL: func.func private @multiply_0
// CHECK-COUNT-2: slimhlo.on_the_fly
func.func @main(%field: tensor<64x16xf32>, %i: tensor<i32>) -> tensor<8x16xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c14 = stablehlo.constant dense<14> : tensor<i32>
  %slab = stablehlo.dynamic_slice %field, %i, %c0, sizes = [8, 16] : (tensor<64x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
  %left = stablehlo.slice %slab [0:8, 12:14] : (tensor<8x16xf32>) -> tensor<8x2xf32>
  %0 = stablehlo.dynamic_update_slice %slab, %left, %c0, %c0 : (tensor<8x16xf32>, tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
  %right = stablehlo.slice %0 [0:8, 2:4] : (tensor<8x16xf32>) -> tensor<8x2xf32>
  %1 = stablehlo.dynamic_update_slice %0, %right, %c0, %c14 : (tensor<8x16xf32>, tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// -----

// What is computed elementwise of an argument that is given away may be in its buffer, and is updated there.
// CHECK-LABEL: func.func @main
// CHECK: call @dynamic_update_slice_0
// CHECK-NOT: slimhlo.on_the_fly
func.func @main(%field: tensor<64x16xf32> {tf.aliasing_output = 0 : i32}, %halo: tensor<64x2xf32>) -> tensor<64x16xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.negate %field : tensor<64x16xf32>
  %1 = stablehlo.dynamic_update_slice %0, %halo, %c0, %c0 : (tensor<64x16xf32>, tensor<64x2xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
  return %1 : tensor<64x16xf32>
}

// -----

// What is put there is a product: the copy need not wait for it.
// CHECK-LABEL: func.func @main
// CHECK: call @dynamic_update_slice_0
// CHECK-NOT: slimhlo.on_the_fly
func.func @main(%field: tensor<64x16xf32>, %a: tensor<8x4xf32>, %b: tensor<4x2xf32>) -> tensor<8x16xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %slab = stablehlo.slice %field [8:16, 0:16] : (tensor<64x16xf32>) -> tensor<8x16xf32>
  %halo = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = stablehlo.dynamic_update_slice %slab, %halo, %c0, %c0 : (tensor<8x16xf32>, tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
