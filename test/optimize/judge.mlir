// RUN: slimhlo-opt %s --slimhlo-optimize="target=xla-cpu chunk-bytes=4KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize="target=xla-cpu chunk-bytes=4KiB" --slimhlo-optimize="target=xla-cpu chunk-bytes=4KiB" | FileCheck %s

// The gathered rows and their indices are larger than a chunk: a loop saves memory, and is kept.
// CHECK-LABEL: func.func @saves
// CHECK: stablehlo.while
func.func @saves(%table: tensor<100xf32>, %indices: tensor<65536xi32>) -> tensor<100xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<100xf32>
  %column = stablehlo.broadcast_in_dim %indices, dims = [0] : (tensor<65536xi32>) -> tensor<65536x1xi32>
  %rows = "stablehlo.gather"(%table, %column) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<100xf32>, tensor<65536x1xi32>) -> tensor<65536xf32>
  %sines = stablehlo.sine %rows : tensor<65536xf32>
  %r = "stablehlo.scatter"(%zeros, %column, %sines) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<100xf32>, tensor<65536x1xi32>, tensor<65536xf32>) -> tensor<100xf32>
  return %r : tensor<100xf32>
}

// With the rows as a result they are there anyway, and a loop around their sum saves nothing.
// CHECK-LABEL: func.func @gains_nothing
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @gains_nothing(%table: tensor<100xf32>, %indices: tensor<65536x1xi32>) -> (tensor<f32>, tensor<65536xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<100xf32>, tensor<65536x1xi32>) -> tensor<65536xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<65536xf32>, tensor<f32>) -> tensor<f32>
  return %sum, %rows : tensor<f32>, tensor<65536xf32>
}
