// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: slimhlo-opt %s --slimhlo-late-gathers=gradients=true --canonicalize | FileCheck %s

// Edges beside one of their nodes: neither these nor their gradient are put together, forward or backward.
// CHECK-LABEL: func.func @both_gradients(
// CHECK-SAME: %[[EDGES:.*]]: tensor<5000x8xf32>, %[[NODES:.*]]: tensor<100x64xf32>, %[[ENDS:.*]]: tensor<5000x1xi32>, %[[W:.*]]: tensor<72x32xf32>
// CHECK-NOT: tensor<5000x72xf32>
// CHECK: %[[ROWS:.*]] = "stablehlo.gather"(%[[NODES]], %[[ENDS]])
// CHECK-DAG: %[[W0:.*]] = stablehlo.slice %[[W]] [0:8, 0:32]
// CHECK-DAG: %[[E:.*]] = stablehlo.dot_general %[[EDGES]], %[[W0]], contracting_dims = [1] x [0]
// CHECK-DAG: %[[W1:.*]] = stablehlo.slice %[[W]] [8:72, 0:32]
// CHECK: %[[ALL:.*]] = stablehlo.dot_general %[[NODES]], %[[W1]], contracting_dims = [1] x [0] {{.*}} -> tensor<100x32xf32>
// CHECK: %[[N:.*]] = "stablehlo.gather"(%[[ALL]], %[[ENDS]])
// CHECK: stablehlo.add %[[E]], %[[N]]
// CHECK: %[[D:.*]] = stablehlo.cosine
// CHECK: %[[DW0:.*]] = stablehlo.dot_general %[[D]], %[[EDGES]], contracting_dims = [0] x [0] {{.*}} -> tensor<32x8xf32>
// CHECK: %[[DW1:.*]] = stablehlo.dot_general %[[D]], %[[ROWS]], contracting_dims = [0] x [0] {{.*}} -> tensor<32x64xf32>
// CHECK: stablehlo.concatenate %[[DW0]], %[[DW1]], dim = 1
// CHECK: stablehlo.dot_general %[[D]], %{{.*}}, contracting_dims = [1] x [1] {{.*}} -> tensor<5000x8xf32>
// CHECK: stablehlo.dot_general %[[D]], %{{.*}}, contracting_dims = [1] x [1] {{.*}} -> tensor<5000x64xf32>
// CHECK-NOT: tensor<5000x72xf32>
// CHECK: return
func.func @both_gradients(%edges: tensor<5000x8xf32>, %nodes: tensor<100x64xf32>, %ends: tensor<5000x1xi32>, %w: tensor<72x32xf32>) -> (tensor<32x72xf32>, tensor<5000x8xf32>, tensor<5000x64xf32>) {
  %rows = "stablehlo.gather"(%nodes, %ends) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %all = stablehlo.concatenate %edges, %rows, dim = 1 : (tensor<5000x8xf32>, tensor<5000x64xf32>) -> tensor<5000x72xf32>
  %r = stablehlo.dot_general %all, %w, contracting_dims = [1] x [0] : (tensor<5000x72xf32>, tensor<72x32xf32>) -> tensor<5000x32xf32>
  %d = stablehlo.cosine %r : tensor<5000x32xf32>
  %dw = stablehlo.dot_general %d, %all, contracting_dims = [0] x [0] : (tensor<5000x32xf32>, tensor<5000x72xf32>) -> tensor<32x72xf32>
  %dall = stablehlo.dot_general %d, %w, contracting_dims = [1] x [1] : (tensor<5000x32xf32>, tensor<72x32xf32>) -> tensor<5000x72xf32>
  %dedges = stablehlo.slice %dall [0:5000, 0:8] : (tensor<5000x72xf32>) -> tensor<5000x8xf32>
  %drows = stablehlo.slice %dall [0:5000, 8:72] : (tensor<5000x72xf32>) -> tensor<5000x64xf32>
  return %dw, %dedges, %drows : tensor<32x72xf32>, tensor<5000x8xf32>, tensor<5000x64xf32>
}

// Something needs the gradient in one piece.
// CHECK-LABEL: func.func @whole(
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1] x [1] {{.*}} -> tensor<5000x72xf32>
// CHECK: stablehlo.slice
// CHECK: return
func.func @whole(%edges: tensor<5000x8xf32>, %nodes: tensor<100x64xf32>, %ends: tensor<5000x1xi32>, %w: tensor<72x32xf32>) -> (tensor<5000x72xf32>, tensor<5000x64xf32>) {
  %rows = "stablehlo.gather"(%nodes, %ends) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %all = stablehlo.concatenate %edges, %rows, dim = 1 : (tensor<5000x8xf32>, tensor<5000x64xf32>) -> tensor<5000x72xf32>
  %r = stablehlo.dot_general %all, %w, contracting_dims = [1] x [0] : (tensor<5000x72xf32>, tensor<72x32xf32>) -> tensor<5000x32xf32>
  %d = stablehlo.cosine %r : tensor<5000x32xf32>
  %dall = stablehlo.dot_general %d, %w, contracting_dims = [1] x [1] : (tensor<5000x32xf32>, tensor<72x32xf32>) -> tensor<5000x72xf32>
  %drows = stablehlo.slice %dall [0:5000, 8:72] : (tensor<5000x72xf32>) -> tensor<5000x64xf32>
  return %dall, %drows : tensor<5000x72xf32>, tensor<5000x64xf32>
}

// Queries, keys and values out of one product, whose factor met nothing that was gathered.
// CHECK-LABEL: func.func @no_rows(
// CHECK: stablehlo.dot_general {{.*}} -> tensor<5000x72xf32>
// CHECK-NEXT: stablehlo.slice
// CHECK-NEXT: stablehlo.slice
func.func @no_rows(%x: tensor<5000x32xf32>, %w: tensor<72x32xf32>) -> (tensor<5000x8xf32>, tensor<5000x64xf32>) {
  %all = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<5000x32xf32>, tensor<72x32xf32>) -> tensor<5000x72xf32>
  %one = stablehlo.slice %all [0:5000, 0:8] : (tensor<5000x72xf32>) -> tensor<5000x8xf32>
  %other = stablehlo.slice %all [0:5000, 8:72] : (tensor<5000x72xf32>) -> tensor<5000x64xf32>
  return %one, %other : tensor<5000x8xf32>, tensor<5000x64xf32>
}

// What is put together is small: its product with as many rows is no smaller.
// CHECK-LABEL: func.func @as_large(
// CHECK: stablehlo.concatenate
// CHECK: stablehlo.dot_general {{.*}} -> tensor<4000x72xf32>
func.func @as_large(%edges: tensor<5000x8xf32>, %nodes: tensor<100x64xf32>, %ends: tensor<5000x1xi32>, %d: tensor<5000x4000xf32>) -> tensor<4000x72xf32> {
  %rows = "stablehlo.gather"(%nodes, %ends) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %all = stablehlo.concatenate %edges, %rows, dim = 1 : (tensor<5000x8xf32>, tensor<5000x64xf32>) -> tensor<5000x72xf32>
  %dw = stablehlo.dot_general %d, %all, contracting_dims = [0] x [0] : (tensor<5000x4000xf32>, tensor<5000x72xf32>) -> tensor<4000x72xf32>
  return %dw : tensor<4000x72xf32>
}
