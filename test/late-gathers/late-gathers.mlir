// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: slimhlo-opt %s --slimhlo-late-gathers | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-late-gathers | slimhlo-opt --slimhlo-late-gathers | FileCheck %s

// Nodes at one end of each edge.
// CHECK-LABEL: func.func @edges(
// CHECK-SAME: %[[NODES:.*]]: tensor<100x64xf32>, %[[ENDS:.*]]: tensor<5000x1xi32>, %[[W:.*]]: tensor<64x32xf32>
func.func @edges(%nodes: tensor<100x64xf32>, %ends: tensor<5000x1xi32>, %w: tensor<64x32xf32>) -> tensor<5000x32xf32> {
  // CHECK-NEXT: %[[ALL:.*]] = stablehlo.dot_general %[[NODES]], %[[W]], contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT]
  // CHECK-SAME: (tensor<100x64xf32>, tensor<64x32xf32>) -> tensor<100x32xf32>
  // CHECK-NEXT: %[[LATE:.*]] = "stablehlo.gather"(%[[ALL]], %[[ENDS]])
  // CHECK-SAME: offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1
  // CHECK-SAME: indices_are_sorted = true, slice_sizes = array<i64: 1, 32>
  // CHECK-NEXT: return %[[LATE]]
  %rows = "stablehlo.gather"(%nodes, %ends) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = true, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %r = stablehlo.dot_general %rows, %w, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT]
    : (tensor<5000x64xf32>, tensor<64x32xf32>) -> tensor<5000x32xf32>
  return %r : tensor<5000x32xf32>
}

// The rows are the right operand, of two dimensions beside the one that is contracted; two indices pick each, and they come first.
// CHECK-LABEL: func.func @of_two_indices(
// CHECK-SAME: %[[W:.*]]: tensor<32x64xf32>, %[[TABLE:.*]]: tensor<5x6x7x64xf32>, %[[AT:.*]]: tensor<2x3x50xi32>
func.func @of_two_indices(%w: tensor<32x64xf32>, %table: tensor<5x6x7x64xf32>, %at: tensor<2x3x50xi32>) -> tensor<32x3x50x6xf32> {
  // CHECK-NEXT: %[[ALL:.*]] = stablehlo.dot_general %[[W]], %[[TABLE]], contracting_dims = [1] x [3]
  // CHECK-SAME: -> tensor<32x5x6x7xf32>
  // CHECK-NEXT: "stablehlo.gather"(%[[ALL]], %[[AT]])
  // CHECK-SAME: offset_dims = [0, 3], collapsed_slice_dims = [1, 3], start_index_map = [3, 1]
  // CHECK-NOT: index_vector_dim
  // CHECK-SAME: slice_sizes = array<i64: 32, 1, 6, 1>
  // CHECK-SAME: -> tensor<32x3x50x6xf32>
  %rows = "stablehlo.gather"(%table, %at) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0, 2], start_index_map = [2, 0], index_vector_dim = 0>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 6, 1, 64>
  }> : (tensor<5x6x7x64xf32>, tensor<2x3x50xi32>) -> tensor<3x50x6x64xf32>
  %r = stablehlo.dot_general %w, %rows, contracting_dims = [1] x [3]
    : (tensor<32x64xf32>, tensor<3x50x6x64xf32>) -> tensor<32x3x50x6xf32>
  return %r : tensor<32x3x50x6xf32>
}

// Converted on the way: then the table is.
// CHECK-LABEL: func.func @converted
func.func @converted(%nodes: tensor<100x64xf32>, %ends: tensor<5000x1xi32>, %w: tensor<64x32xbf16>) -> tensor<5000x32xbf16> {
  // CHECK-NEXT: %[[NARROW:.*]] = stablehlo.convert %arg0 : (tensor<100x64xf32>) -> tensor<100x64xbf16>
  // CHECK-NEXT: %[[ALL:.*]] = stablehlo.dot_general %[[NARROW]], %arg2, contracting_dims = [1] x [0]
  // CHECK-NEXT: "stablehlo.gather"(%[[ALL]], %arg1)
  %rows = "stablehlo.gather"(%nodes, %ends) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %narrow = stablehlo.convert %rows : (tensor<5000x64xf32>) -> tensor<5000x64xbf16>
  %r = stablehlo.dot_general %narrow, %w, contracting_dims = [1] x [0]
    : (tensor<5000x64xbf16>, tensor<64x32xbf16>) -> tensor<5000x32xbf16>
  return %r : tensor<5000x32xbf16>
}

// Others need the rows as well: they stay, and so does what is gained.
// CHECK-LABEL: func.func @needed_elsewhere
func.func @needed_elsewhere(%nodes: tensor<100x64xf32>, %ends: tensor<5000x1xi32>, %w: tensor<64x32xf32>)
    -> (tensor<5000x64xf32>, tensor<5000x32xf32>) {
  // CHECK: %[[ROWS:.*]] = "stablehlo.gather"(%arg0
  // CHECK: %[[ALL:.*]] = stablehlo.dot_general %arg0
  // CHECK: %[[LATE:.*]] = "stablehlo.gather"(%[[ALL]]
  // CHECK: return %[[ROWS]], %[[LATE]]
  %rows = "stablehlo.gather"(%nodes, %ends) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %r = stablehlo.dot_general %rows, %w, contracting_dims = [1] x [0]
    : (tensor<5000x64xf32>, tensor<64x32xf32>) -> tensor<5000x32xf32>
  return %rows, %r : tensor<5000x64xf32>, tensor<5000x32xf32>
}

// Nodes at both ends of each edge, and what is known of the edge: a sum of products, of which two are of the nodes.
// CHECK-LABEL: func.func @both_ends(
// CHECK-SAME: %[[NODES:.*]]: tensor<100x64xf32>, %[[EDGES:.*]]: tensor<5000x8xf32>, %[[FROM:.*]]: tensor<5000x1xi32>, %[[TO:.*]]: tensor<5000x1xi32>, %[[W:.*]]: tensor<136x32xf32>
func.func @both_ends(%nodes: tensor<100x64xf32>, %edges: tensor<5000x8xf32>, %from: tensor<5000x1xi32>, %to: tensor<5000x1xi32>, %w: tensor<136x32xf32>)
    -> tensor<5000x32xf32> {
  // CHECK-NEXT: %[[W0:.*]] = stablehlo.slice %[[W]] [0:64, 0:32]
  // CHECK-NEXT: %[[ALL0:.*]] = stablehlo.dot_general %[[NODES]], %[[W0]]
  // CHECK-NEXT: %[[LATE0:.*]] = "stablehlo.gather"(%[[ALL0]], %[[FROM]])
  // CHECK-NEXT: %[[W1:.*]] = stablehlo.slice %[[W]] [64:72, 0:32]
  // CHECK-NEXT: %[[EDGE:.*]] = stablehlo.dot_general %[[EDGES]], %[[W1]]
  // CHECK-NEXT: %[[W2:.*]] = stablehlo.slice %[[W]] [72:136, 0:32]
  // CHECK-NEXT: %[[ALL2:.*]] = stablehlo.dot_general %[[NODES]], %[[W2]]
  // CHECK-NEXT: %[[LATE2:.*]] = "stablehlo.gather"(%[[ALL2]], %[[TO]])
  // CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[LATE0]], %[[EDGE]]
  // CHECK-NEXT: stablehlo.add %[[SUM]], %[[LATE2]]
  %senders = "stablehlo.gather"(%nodes, %from) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %receivers = "stablehlo.gather"(%nodes, %to) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %all = stablehlo.concatenate %senders, %edges, %receivers, dim = 1
    : (tensor<5000x64xf32>, tensor<5000x8xf32>, tensor<5000x64xf32>) -> tensor<5000x136xf32>
  %r = stablehlo.dot_general %all, %w, contracting_dims = [1] x [0]
    : (tensor<5000x136xf32>, tensor<136x32xf32>) -> tensor<5000x32xf32>
  return %r : tensor<5000x32xf32>
}
