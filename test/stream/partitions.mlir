// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s
// CHECK-NOT: stablehlo.while

// CHECK-LABEL: func @main
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%table: tensor<10xf32>, %indices: tensor<128x1xi32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<128x1xi32>) -> tensor<128xf32>
    %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
    return %sum : tensor<f32>
  }
}
