// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// A residual, a sum that a loop adds to: done with the product, and where the operand lies if nobody needs that any more.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = call @add_0(%{{.*}}) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @add_0
// CHECK-SAME: slimhlo.kernel = "dot", slimhlo.pointwise = array<i64: 2>
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %r: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.add %r, %0 : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// What others need of the product is stored beside it, and views of it are the same.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]]:2 = call @tanh_0(%{{.*}}) : (tensor<64x64xf32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<1x64x64xf32>)
// CHECK-NEXT: return %[[Y]]#0, %[[Y]]#1
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<1x64x64xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.reshape %0 : (tensor<64x64xf32>) -> tensor<1x64x64xf32>
  %2 = stablehlo.tanh %1 : tensor<1x64x64xf32>
  return %0, %2 : tensor<64x64xf32>, tensor<1x64x64xf32>
}

// -----

// Into a slice of a larger value, which the product must not read.

// CHECK-LABEL: func.func @main
// CHECK: call @dynamic_update_slice_0
// CHECK: call @dot_general_0
// CHECK: call @dynamic_update_slice_1
// CHECK: func.func private @dynamic_update_slice_0
// CHECK-SAME: slimhlo.in_place = array<i64: 0>, slimhlo.kernel = "dot"
// CHECK: func.func private @dynamic_update_slice_1
// CHECK-SAME: slimhlo.in_place = array<i64: {{[0-9]}}>, slimhlo.kernel = "update"
func.func @main(%t: tensor<256x64xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %i: tensor<i32>) -> tensor<256x64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.dynamic_update_slice %t, %0, %i, %zero : (tensor<256x64xf32>, tensor<64x64xf32>, tensor<i32>, tensor<i32>) -> tensor<256x64xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %3 = stablehlo.slice %2 [0:64, 0:64] : (tensor<256x64xf32>) -> tensor<64x64xf32>
  %4 = stablehlo.dynamic_update_slice %1, %3, %zero, %i : (tensor<256x64xf32>, tensor<64x64xf32>, tensor<i32>, tensor<i32>) -> tensor<256x64xf32>
  return %4 : tensor<256x64xf32>
}

// -----

// Not what needs the product at other places.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @dot_general_0
// CHECK-NEXT: call @add_0
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<64x64xf32>
  %2 = stablehlo.add %1, %0 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}
