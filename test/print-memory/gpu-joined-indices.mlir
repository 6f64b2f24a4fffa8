// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-gpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// Indices that are put together of two arrays, for a gather and for a scatter, are stored: 1,048,576 pairs of i32.
// A sum of all takes some KiB more.
// CHECK: temporaries 83{{[0-9]+}}{{$}}
func.func @main(%table: tensor<128x128xf32>, %i: tensor<1048576x1xi32>, %j: tensor<1048576x1xi32>) -> tensor<128x128xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
  %both = stablehlo.concatenate %i, %j, dim = 1 : (tensor<1048576x1xi32>, tensor<1048576x1xi32>) -> tensor<1048576x2xi32>
  %rows = "stablehlo.gather"(%table, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<128x128xf32>, tensor<1048576x2xi32>) -> tensor<1048576xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<1048576xf32>
  %r = "stablehlo.scatter"(%zeros, %both, %sums) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<128x128xf32>, tensor<1048576x2xi32>, tensor<1048576xf32>) -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}
