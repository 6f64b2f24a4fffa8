// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=v5p plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// XLA for a v5p: rows that are gathered lie as rows, of 128 elements instead of 16, and are stored before anything is made of them: 544 MiB.
// CHECK: temporaries 536870912
func.func public @main(%table: tensor<65536x16xf32>, %at: tensor<1048576x1xi32>) -> tensor<1048576xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<65536x16xf32>, tensor<1048576x1xi32>) -> tensor<1048576x16xf32>
  %each = stablehlo.exponential %rows : tensor<1048576x16xf32>
  %r = stablehlo.reduce(%each init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1048576x16xf32>, tensor<f32>) -> tensor<1048576xf32>
  return %r : tensor<1048576xf32>
}

// -----

// A scatter of one element into each row is a choice by place, in the kernel that multiplies it: nothing is stored, 97.6 us.
// CHECK: temporaries 0
// CHECK: time 97.6 us, 1 launches
func.func public @main(%at: tensor<8192x1x1xi32>, %x: tensor<8192x1xf32>, %y: tensor<8192x4096xf32>) -> tensor<8192x4096xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<8192x4096xf32>
  %hot = "stablehlo.scatter"(%zeros, %at, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8192x4096xf32>, tensor<8192x1x1xi32>, tensor<8192x1xf32>) -> tensor<8192x4096xf32>
  %r = stablehlo.multiply %hot, %y : tensor<8192x4096xf32>
  return %r : tensor<8192x4096xf32>
}

// -----

// Single elements are no rows: they lie as they fit, 4 MiB.
// CHECK: temporaries 4194304
func.func public @main(%table: tensor<65536xf32>, %at: tensor<1048576x1xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %each = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<65536xf32>, tensor<1048576x1xi32>) -> tensor<1048576x1xf32>
  %exp = stablehlo.exponential %each : tensor<1048576x1xf32>
  %r = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1048576x1xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
