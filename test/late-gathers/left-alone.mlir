// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: slimhlo-opt %s --slimhlo-late-gathers | FileCheck %s
// CHECK-COUNT-7: stablehlo.dot_general %{{[0-9]+}}
// CHECK-NOT: stablehlo.dot_general

// A vocabulary: most of its rows are not asked for.
func.func @vocabulary(%table: tensor<5000x64xf32>, %ids: tensor<9999x1xi32>, %w: tensor<64x32xf32>) -> tensor<9999x32xf32> {
  %rows = "stablehlo.gather"(%table, %ids) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<5000x64xf32>, tensor<9999x1xi32>) -> tensor<9999x64xf32>
  %r = stablehlo.dot_general %rows, %w, contracting_dims = [1] x [0]
    : (tensor<9999x64xf32>, tensor<64x32xf32>) -> tensor<9999x32xf32>
  return %r : tensor<9999x32xf32>
}

// Parts of rows.
func.func @parts(%table: tensor<100x65xf32>, %ids: tensor<5000x1xi32>, %w: tensor<64x32xf32>) -> tensor<5000x32xf32> {
  %rows = "stablehlo.gather"(%table, %ids) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x65xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %r = stablehlo.dot_general %rows, %w, contracting_dims = [1] x [0]
    : (tensor<5000x64xf32>, tensor<64x32xf32>) -> tensor<5000x32xf32>
  return %r : tensor<5000x32xf32>
}

// Rows are contracted: each result is made of all of them.
func.func @over_rows(%table: tensor<100x64xf32>, %ids: tensor<5000x1xi32>, %w: tensor<5000x32xf32>) -> tensor<64x32xf32> {
  %rows = "stablehlo.gather"(%table, %ids) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %r = stablehlo.dot_general %rows, %w, contracting_dims = [0] x [0]
    : (tensor<5000x64xf32>, tensor<5000x32xf32>) -> tensor<64x32xf32>
  return %r : tensor<64x32xf32>
}

// A batch of products: each row has its own matrix.
func.func @batch(%table: tensor<100x64xf32>, %ids: tensor<5000x1xi32>, %w: tensor<5000x64x32xf32>) -> tensor<5000x32xf32> {
  %rows = "stablehlo.gather"(%table, %ids) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %r = stablehlo.dot_general %rows, %w, batching_dims = [0] x [0], contracting_dims = [1] x [1]
    : (tensor<5000x64xf32>, tensor<5000x64x32xf32>) -> tensor<5000x32xf32>
  return %r : tensor<5000x32xf32>
}

// Windows of two rows each, which an index moves.
func.func @windows(%table: tensor<100x64xf32>, %ids: tensor<5000x1xi32>, %w: tensor<64x32xf32>) -> tensor<5000x2x32xf32> {
  %rows = "stablehlo.gather"(%table, %ids) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 2, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x2x64xf32>
  %r = stablehlo.dot_general %rows, %w, contracting_dims = [2] x [0]
    : (tensor<5000x2x64xf32>, tensor<64x32xf32>) -> tensor<5000x2x32xf32>
  return %r : tensor<5000x2x32xf32>
}

// An annotation would be lost, or moved to where it means something else.
func.func @annotated(%table: tensor<100x64xf32>, %ids: tensor<5000x1xi32>, %w: tensor<64x32xf32>) -> tensor<5000x32xf32> {
  %rows = "stablehlo.gather"(%table, %ids) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xf32>, tensor<5000x1xi32>) -> tensor<5000x64xf32>
  %r = stablehlo.dot_general %rows, %w, contracting_dims = [1] x [0] {mhlo.frontend_attributes = {mine = "1"}}
    : (tensor<5000x64xf32>, tensor<64x32xf32>) -> tensor<5000x32xf32>
  return %r : tensor<5000x32xf32>
}

// Sums of parts would be rounded to bf16.
func.func @narrow(%table: tensor<100x64xbf16>, %edges: tensor<5000x8xbf16>, %ids: tensor<5000x1xi32>, %w: tensor<72x32xbf16>) -> tensor<5000x32xbf16> {
  %rows = "stablehlo.gather"(%table, %ids) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 64>
  }> : (tensor<100x64xbf16>, tensor<5000x1xi32>) -> tensor<5000x64xbf16>
  %all = stablehlo.concatenate %rows, %edges, dim = 1 : (tensor<5000x64xbf16>, tensor<5000x8xbf16>) -> tensor<5000x72xbf16>
  %r = stablehlo.dot_general %all, %w, contracting_dims = [1] x [0]
    : (tensor<5000x72xbf16>, tensor<72x32xbf16>) -> tensor<5000x32xbf16>
  return %r : tensor<5000x32xbf16>
}
