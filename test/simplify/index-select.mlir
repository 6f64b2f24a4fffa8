// RUN: slimhlo-opt %s --slimhlo-simplify | FileCheck %s

// A torch_index_select is a gather; indices of 64 bits are read as unsigned ones of 32, as XLA reads them.

// CHECK-LABEL: func.func @one
// CHECK: "stablehlo.gather"(%arg0, %arg1)
// CHECK-SAME: offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1
// CHECK-SAME: slice_sizes = array<i64: 4, 1>
// CHECK-SAME: (tensor<4x5xf32>, tensor<3xi32>) -> tensor<4x3xf32>
func.func @one(%x: tensor<4x5xf32>, %i: tensor<3xi32>) -> tensor<4x3xf32> {
  %0 = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 0 : i64} : (tensor<4x5xf32>, tensor<3xi32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @batch
// CHECK: %[[I:[0-9]+]] = stablehlo.convert %arg1 : (tensor<4x2xi64>) -> tensor<4x2xui32>
// CHECK: "stablehlo.gather"(%arg0, %[[I]])
// CHECK-SAME: offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2
// CHECK-SAME: slice_sizes = array<i64: 1, 6, 1, 7>
func.func @batch(%x: tensor<4x6x5x7xf32>, %i: tensor<4x2xi64>) -> tensor<4x6x2x7xf32> {
  %0 = "stablehlo.torch_index_select"(%x, %i) {dim = -2 : i64, batch_dims = 1 : i64} : (tensor<4x6x5x7xf32>, tensor<4x2xi64>) -> tensor<4x6x2x7xf32>
  return %0 : tensor<4x6x2x7xf32>
}

// Not where there is nothing to choose from, nor where shapes do not fit: XLA says what is wrong with them.

// CHECK-LABEL: func.func @left
// CHECK-COUNT-2: stablehlo.torch_index_select
func.func @left(%x: tensor<4x0xf32>, %y: tensor<4x5xf32>, %i: tensor<3xi32>) -> (tensor<4x3xf32>, tensor<3x4xf32>) {
  %0 = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 0 : i64} : (tensor<4x0xf32>, tensor<3xi32>) -> tensor<4x3xf32>
  %1 = "stablehlo.torch_index_select"(%y, %i) {dim = 1 : i64, batch_dims = 0 : i64} : (tensor<4x5xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<3x4xf32>
}
