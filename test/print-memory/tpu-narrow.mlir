// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=v5p plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// XLA for a v5p: what only a product reads is made in bf16, 256 MiB: 403.5 us.
// CHECK: temporaries 268435456
// CHECK: time 403
func.func public @main(%table: tensor<65536x128xf32>, %at: tensor<1048576x1xi32>, %w: tensor<128x128xf32>) -> tensor<1048576x128xf32> {
  %rows = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 128>}> : (tensor<65536x128xf32>, tensor<1048576x1xi32>) -> tensor<1048576x128xf32>
  %r = stablehlo.dot_general %rows, %w, contracting_dims = [1] x [0] : (tensor<1048576x128xf32>, tensor<128x128xf32>) -> tensor<1048576x128xf32>
  return %r : tensor<1048576x128xf32>
}

// -----

// At the highest precision it is not: 512 MiB, 1,107.6 us.
// CHECK: temporaries 536870912
// CHECK: time 1109
func.func public @main(%table: tensor<65536x128xf32>, %at: tensor<1048576x1xi32>, %w: tensor<128x128xf32>) -> tensor<1048576x128xf32> {
  %rows = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 128>}> : (tensor<65536x128xf32>, tensor<1048576x1xi32>) -> tensor<1048576x128xf32>
  %r = stablehlo.dot_general %rows, %w, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<1048576x128xf32>, tensor<128x128xf32>) -> tensor<1048576x128xf32>
  return %r : tensor<1048576x128xf32>
}
