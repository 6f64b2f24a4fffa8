// RUN: slimhlo-opt %s --slimhlo-simplify | FileCheck %s

// A gather of one slice starts where a dynamic_slice does: what vmap makes of one at a place that it does not map over.

// CHECK-LABEL: func.func @mapped(
// CHECK-SAME: %[[X:.*]]: tensor<32x44x8xf32>, %[[I:.*]]: tensor<i32>)
// CHECK: %[[ZERO:[a-z0-9_]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: stablehlo.dynamic_slice %[[X]], %[[ZERO]], %[[I]], %[[ZERO]], sizes = [32, 1, 8]
// CHECK-NOT: stablehlo.gather
func.func @mapped(%x: tensor<32x44x8xf32>, %i: tensor<i32>) -> tensor<32x1x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<1xi32>
  %one = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
  %at = stablehlo.concatenate %one, %zero, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %0 = "stablehlo.gather"(%x, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1, 2], start_index_map = [1, 2]>, slice_sizes = array<i64: 32, 1, 8>}> : (tensor<32x44x8xf32>, tensor<2xi32>) -> tensor<32x1x8xf32>
  return %0 : tensor<32x1x8xf32>
}

// Collapsed dimensions go, the numbers are for dimensions in any order, and come out of a vector.

// CHECK-LABEL: func.func @collapsed(
// CHECK-SAME: %[[X:.*]]: tensor<5x6x7xf32>, %[[AT:.*]]: tensor<2xui8>)
// CHECK: %[[ZERO:[a-z0-9_]+]] = stablehlo.constant dense<0> : tensor<ui8>
// CHECK: %[[SECOND:[0-9]+]] = stablehlo.slice %[[AT]] [1:2]
// CHECK: %[[FIRST_DIM:[0-9]+]] = stablehlo.reshape %[[SECOND]] : (tensor<1xui8>) -> tensor<ui8>
// CHECK: %[[FIRST:[0-9]+]] = stablehlo.slice %[[AT]] [0:1]
// CHECK: %[[THIRD_DIM:[0-9]+]] = stablehlo.reshape %[[FIRST]] : (tensor<1xui8>) -> tensor<ui8>
// CHECK: %[[PART:[0-9]+]] = stablehlo.dynamic_slice %[[X]], %[[FIRST_DIM]], %[[ZERO]], %[[THIRD_DIM]], sizes = [1, 6, 3]
// CHECK: stablehlo.reshape %[[PART]] : (tensor<1x6x3xf32>) -> tensor<6x3xf32>
func.func @collapsed(%x: tensor<5x6x7xf32>, %at: tensor<2xui8>) -> tensor<6x3xf32> {
  %0 = "stablehlo.gather"(%x, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], collapsed_slice_dims = [0], start_index_map = [2, 0]>, slice_sizes = array<i64: 1, 6, 3>}> : (tensor<5x6x7xf32>, tensor<2xui8>) -> tensor<6x3xf32>
  return %0 : tensor<6x3xf32>
}

// Not of several slices, nor where the slice has another place for each of a batch.

// CHECK-LABEL: func.func @several(
// CHECK-COUNT-2: "stablehlo.gather"
// CHECK-NOT: dynamic_slice
func.func @several(%x: tensor<5x6xf32>, %at: tensor<2x1xi32>, %each: tensor<5x1xi32>) -> (tensor<2x6xf32>, tensor<5xf32>) {
  %0 = "stablehlo.gather"(%x, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<5x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  %1 = "stablehlo.gather"(%x, %each) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x6xf32>, tensor<5x1xi32>) -> tensor<5xf32>
  return %0, %1 : tensor<2x6xf32>, tensor<5xf32>
}
