// RUN: slimhlo-opt %s --slimhlo-dus-to-pad | FileCheck %s

// A scalar seen through broadcasts, reshapes and transposes.
// CHECK-LABEL: func @argument
// CHECK-SAME: (%[[X:.*]]: tensor<4x3xf32>, %[[S:.*]]: tensor<f32>)
func.func @argument(%x: tensor<4x3xf32>, %s: tensor<f32>) -> tensor<10x3xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %row = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
  %flat = stablehlo.reshape %row : (tensor<3x1xf32>) -> tensor<3xf32>
  %full = stablehlo.broadcast_in_dim %flat, dims = [0] : (tensor<3xf32>) -> tensor<3x10xf32>
  %turned = stablehlo.transpose %full, dims = [1, 0] : (tensor<3x10xf32>) -> tensor<10x3xf32>
  // CHECK-NEXT: stablehlo.pad %[[X]], %[[S]], low = [0, 0], high = [6, 0], interior = [0, 0]
  // CHECK-NEXT: return
  %r = stablehlo.dynamic_update_slice %turned, %x, %c0, %c0 : (tensor<10x3xf32>, tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<10x3xf32>
  return %r : tensor<10x3xf32>
}

// Converts on the way are done on the scalar.
// CHECK-LABEL: func @converted
// CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>, %[[S:.*]]: tensor<f32>)
func.func @converted(%x: tensor<4xbf16>, %s: tensor<f32>) -> tensor<10xbf16> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %full = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<10xf32>
  %narrow = stablehlo.convert %full : (tensor<10xf32>) -> tensor<10xbf16>
  // CHECK: %[[V:.*]] = stablehlo.convert %[[S]] : (tensor<f32>) -> tensor<bf16>
  // CHECK-NEXT: stablehlo.pad %[[X]], %[[V]], low = [0], high = [6], interior = [0]
  %r = stablehlo.dynamic_update_slice %narrow, %x, %c0 : (tensor<10xbf16>, tensor<4xbf16>, tensor<i32>) -> tensor<10xbf16>
  return %r : tensor<10xbf16>
}

// One element, but not of rank 0.
// CHECK-LABEL: func @single_element
// CHECK-SAME: (%[[X:.*]]: tensor<4xi32>, %[[S:.*]]: tensor<1x1xi32>)
func.func @single_element(%x: tensor<4xi32>, %s: tensor<1x1xi32>) -> tensor<10xi32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.reshape %s : (tensor<1x1xi32>) -> tensor<1xi32>
  %full = stablehlo.broadcast_in_dim %one, dims = [0] : (tensor<1xi32>) -> tensor<10xi32>
  // CHECK: %[[V:.*]] = stablehlo.reshape %[[S]] : (tensor<1x1xi32>) -> tensor<i32>
  // CHECK-NEXT: stablehlo.pad %[[X]], %[[V]], low = [0], high = [6], interior = [0]
  %r = stablehlo.dynamic_update_slice %full, %x, %c0 : (tensor<10xi32>, tensor<4xi32>, tensor<i32>) -> tensor<10xi32>
  return %r : tensor<10xi32>
}

// A row that repeats is not a splat.
// CHECK-LABEL: func @row
func.func @row(%x: tensor<4x3xf32>, %row: tensor<3xf32>) -> tensor<10x3xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %full = stablehlo.broadcast_in_dim %row, dims = [1] : (tensor<3xf32>) -> tensor<10x3xf32>
  // CHECK-NOT: stablehlo.pad
  // CHECK: stablehlo.dynamic_update_slice
  %r = stablehlo.dynamic_update_slice %full, %x, %c0, %c0 : (tensor<10x3xf32>, tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<10x3xf32>
  return %r : tensor<10x3xf32>
}
