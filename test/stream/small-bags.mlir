// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s

// Sums of two rows of a table each: so few that a back end adds them up where their sums are needed, but the rows are gathered first.
// CHECK-LABEL: func.func public @main
// CHECK: stablehlo.while
// CHECK: "stablehlo.gather"
// CHECK: stablehlo.reduce
// CHECK: stablehlo.add %{{.*}} : tensor<131072x64xf32>
// CHECK-NOT: tensor<131072x2x64xf32>
func.func public @main(%table: tensor<3808x64xf32>, %bags: tensor<131072x2xi32>) -> tensor<131072x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reshape %bags : (tensor<131072x2xi32>) -> tensor<131072x2x1xi32>
  %1 = "stablehlo.gather"(%table, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<3808x64xf32>, tensor<131072x2x1xi32>) -> tensor<131072x2x64xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<131072x2x64xf32>, tensor<f32>) -> tensor<131072x64xf32>
  return %2 : tensor<131072x64xf32>
}
