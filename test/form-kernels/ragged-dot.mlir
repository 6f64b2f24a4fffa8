// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// Each row is multiplied with its group's slice alone, which is gathered on the fly. Nothing comes after the product.

// CHECK-LABEL: func.func @main
// CHECK: %[[PRODUCT:[^ ]*]] = call @dot_general_0
// CHECK-NEXT: return %[[PRODUCT]]
// CHECK: slimhlo.kernel = "dot"
// CHECK: stablehlo.gather
// CHECK: stablehlo.dot_general %{{[^ ]*}}, %{{[^ ]*}}, batching_dims = [0] x [0], contracting_dims = [1] x [1]
func.func @main(%x: tensor<1100x128xf32>, %w: tensor<8x128x512xf32>, %sizes: tensor<8xi32>) -> tensor<1100x512xf32> {
  %0 = "chlo.ragged_dot"(%x, %w, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<1100x128xf32>, tensor<8x128x512xf32>, tensor<8xi32>) -> tensor<1100x512xf32>
  return %0 : tensor<1100x512xf32>
}

// -----

// What is contracted in groups: zeros stand for what is outside of a group, in both operands. One group at a time.

// CHECK-LABEL: func.func @main
// CHECK-NOT: tensor<8x1100x
// CHECK: stablehlo.while
// CHECK: func.call @dynamic_update_slice_0
// CHECK-NOT: tensor<8x1100x
// CHECK: {{^ *}}return
// CHECK: stablehlo.dot_general %{{[^ ]*}}, %{{[^ ]*}}, contracting_dims = [0] x [0]
func.func @main(%x: tensor<1100x128xf32>, %y: tensor<1100x512xf32>, %sizes: tensor<8xi64>) -> tensor<8x128x512xf32> {
  %0 = "chlo.ragged_dot"(%x, %y, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>}> : (tensor<1100x128xf32>, tensor<1100x512xf32>, tensor<8xi64>) -> tensor<8x128x512xf32>
  return %0 : tensor<8x128x512xf32>
}

// -----

// Small operands: all groups at once.

// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
// CHECK: stablehlo.dot_general %{{[^ ]*}}, %{{[^ ]*}}, batching_dims = [0] x [0], contracting_dims = [1] x [1]
func.func @main(%x: tensor<11x12xf32>, %y: tensor<11x5xf32>, %sizes: tensor<8xi64>) -> tensor<8x12x5xf32> {
  %0 = "chlo.ragged_dot"(%x, %y, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>}> : (tensor<11x12xf32>, tensor<11x5xf32>, tensor<8xi64>) -> tensor<8x12x5xf32>
  return %0 : tensor<8x12x5xf32>
}

// -----

// Groups of a batch are multiplied as any batch is.

// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.iota
// CHECK: stablehlo.dot_general %{{[^ ]*}}, %{{[^ ]*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1]
func.func @main(%x: tensor<64x40x50xf32>, %y: tensor<64x50x30xf32>, %sizes: tensor<2xi32>) -> tensor<64x40x30xf32> {
  %0 = "chlo.ragged_dot"(%x, %y, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>}> : (tensor<64x40x50xf32>, tensor<64x50x30xf32>, tensor<2xi32>) -> tensor<64x40x30xf32>
  return %0 : tensor<64x40x30xf32>
}
