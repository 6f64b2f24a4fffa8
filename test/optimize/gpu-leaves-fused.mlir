// RUN: slimhlo-opt %s --slimhlo-optimize | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s --check-prefix=CPU

// A weighted segment sum: a GPU computes rows and products within the scatter and stores neither, so that a loop over chunks would save
// nothing and cost launches. XLA for CPU stores both.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.while
// CPU-LABEL: func.func @main
// CPU: stablehlo.while
func.func @main(%table: tensor<65536x64xf32>, %from: tensor<4194304x1xi32>, %to: tensor<4194304x1xi32>, %weights: tensor<4194304xf32>) -> tensor<65536x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<65536x64xf32>
  %rows = "stablehlo.gather"(%table, %from) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<65536x64xf32>, tensor<4194304x1xi32>) -> tensor<4194304x64xf32>
  %w = stablehlo.broadcast_in_dim %weights, dims = [0] : (tensor<4194304xf32>) -> tensor<4194304x64xf32>
  %weighted = stablehlo.multiply %rows, %w : tensor<4194304x64xf32>
  %r = "stablehlo.scatter"(%zeros, %to, %weighted) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<65536x64xf32>, tensor<4194304x1xi32>, tensor<4194304x64xf32>) -> tensor<65536x64xf32>
  return %r : tensor<65536x64xf32>
}
