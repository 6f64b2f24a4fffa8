// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: slimhlo-opt %s --slimhlo-emit-gpu --split-input-file | FileCheck %s

// A roll: slices of one buffer are joined. The address is chosen, and each element loaded once (four of a thread,
// and one of those that are left over).
// CHECK-LABEL: gpu.func @roll
// CHECK-COUNT-5: llvm.load
// CHECK-NOT: llvm.load
// CHECK: gpu.return
func.func private @roll(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {slimhlo.kernel = "map"} {
  %a = stablehlo.slice %x [0:4096, 1:4096] : (tensor<4096x4096xf32>) -> tensor<4096x4095xf32>
  %b = stablehlo.slice %x [0:4096, 0:1] : (tensor<4096x4096xf32>) -> tensor<4096x1xf32>
  %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<4096x4095xf32>, tensor<4096x1xf32>) -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// -----

// An update of a slice, by part of what it is of, repeated: the same.
// CHECK-LABEL: gpu.func @update
// CHECK-COUNT-4: llvm.load
// CHECK-NOT: llvm.load
// CHECK: gpu.return
func.func private @update(%x: tensor<8192x4096xf32>) -> tensor<4096x4096xf32> attributes {slimhlo.kernel = "map"} {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %slab = stablehlo.slice %x [4096:8192, 0:4096] : (tensor<8192x4096xf32>) -> tensor<4096x4096xf32>
  %row = stablehlo.slice %slab [8:9, 0:4096] : (tensor<4096x4096xf32>) -> tensor<1x4096xf32>
  %rows = stablehlo.broadcast_in_dim %row, dims = [0, 1] : (tensor<1x4096xf32>) -> tensor<8x4096xf32>
  %r = stablehlo.dynamic_update_slice %slab, %rows, %c0, %c0 {slimhlo.on_the_fly}
    : (tensor<4096x4096xf32>, tensor<8x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// -----

// What is computed on the way is computed where it is needed.
// CHECK-LABEL: gpu.func @computed
// CHECK: math.sin
// CHECK: gpu.return
func.func private @computed(%x: tensor<8192x4096xf32>) -> tensor<4096x4096xf32> attributes {slimhlo.kernel = "map"} {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %slab = stablehlo.slice %x [4096:8192, 0:4096] : (tensor<8192x4096xf32>) -> tensor<4096x4096xf32>
  %rows = stablehlo.slice %x [0:8, 0:4096] : (tensor<8192x4096xf32>) -> tensor<8x4096xf32>
  %sines = stablehlo.sine %rows : tensor<8x4096xf32>
  %r = stablehlo.dynamic_update_slice %slab, %sines, %c0, %c0 {slimhlo.on_the_fly}
    : (tensor<4096x4096xf32>, tensor<8x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}
