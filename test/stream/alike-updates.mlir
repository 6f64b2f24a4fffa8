// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu --split-input-file | FileCheck %s

// Counting by indices that are given as they are taken: all a loop saves is the ones, which a scatter reads from memory.
// CHECK-LABEL: func.func public @counts
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_slice
// CHECK: "stablehlo.scatter"
// CHECK-NOT: tensor<16777216xi32>
func.func public @counts(%table: tensor<739xi32>, %indices: tensor<16777216x1xui16>) -> tensor<739xi32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<i32>) -> tensor<16777216xi32>
  %0 = "stablehlo.scatter"(%table, %indices, %ones) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %1 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<739xi32>, tensor<16777216x1xui16>, tensor<16777216xi32>) -> tensor<739xi32>
  return %0 : tensor<739xi32>
}

// -----

// Updates that are given: nothing to save.
// CHECK-LABEL: func.func public @given
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func public @given(%table: tensor<739xi32>, %indices: tensor<16777216x1xui16>, %updates: tensor<16777216xi32>) -> tensor<739xi32> {
  %0 = "stablehlo.scatter"(%table, %indices, %updates) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %1 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<739xi32>, tensor<16777216x1xui16>, tensor<16777216xi32>) -> tensor<739xi32>
  return %0 : tensor<739xi32>
}
