// RUN: slimhlo-opt %s --slimhlo-reuse-gather-indices | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-reuse-gather-indices --slimhlo-reuse-gather-indices | FileCheck %s

// Indices that were clamped are in bounds, whatever the array holds.
// CHECK-LABEL: func @clamped
// CHECK-NOT: stablehlo.compare
// CHECK: %[[TRUE:.*]] = stablehlo.constant dense<true> : tensor<i1>
// CHECK: %[[ALL:.*]] = stablehlo.broadcast_in_dim %[[TRUE]]
// CHECK-NOT: stablehlo.compare
// CHECK: stablehlo.reduce(%[[ALL]]
// CHECK-NOT: stablehlo.compare
// CHECK: return
func.func @clamped(%table: tensor<40x50xf32>, %indices: tensor<9x2xi16>) -> (tensor<9xf32>, tensor<9xi1>) {
  %low = stablehlo.constant dense<0> : tensor<9x2xi16>
  %sizes = stablehlo.constant dense<[39, 49]> : tensor<2xi16>
  %high = stablehlo.broadcast_in_dim %sizes, dims = [1] : (tensor<2xi16>) -> tensor<9x2xi16>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %at = stablehlo.clamp %low, %indices, %high : tensor<9x2xi16>
  %in = stablehlo.compare LE, %at, %high, SIGNED : (tensor<9x2xi16>, tensor<9x2xi16>) -> tensor<9x2xi1>
  %all = stablehlo.reduce(%in init: %true) applies stablehlo.and across dimensions = [1] : (tensor<9x2xi1>, tensor<i1>) -> tensor<9xi1>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<40x50xf32>, tensor<9x2xi16>) -> tensor<9xf32>
  return %r, %all : tensor<9xf32>, tensor<9xi1>
}

// One column may be out of bounds.
// CHECK-LABEL: func @one_column
// CHECK: stablehlo.compare LE
// CHECK: return
func.func @one_column(%table: tensor<40x50xf32>, %indices: tensor<9x2xi16>) -> (tensor<9xf32>, tensor<9x2xi1>) {
  %low = stablehlo.constant dense<0> : tensor<9x2xi16>
  %sizes = stablehlo.constant dense<[39, 49]> : tensor<2xi16>
  %high = stablehlo.broadcast_in_dim %sizes, dims = [1] : (tensor<2xi16>) -> tensor<9x2xi16>
  %fewer = stablehlo.constant dense<[39, 48]> : tensor<2xi16>
  %limit = stablehlo.broadcast_in_dim %fewer, dims = [1] : (tensor<2xi16>) -> tensor<9x2xi16>
  %at = stablehlo.clamp %low, %indices, %high : tensor<9x2xi16>
  %in = stablehlo.compare LE, %at, %limit, SIGNED : (tensor<9x2xi16>, tensor<9x2xi16>) -> tensor<9x2xi1>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<40x50xf32>, tensor<9x2xi16>) -> tensor<9xf32>
  return %r, %in : tensor<9xf32>, tensor<9x2xi1>
}
