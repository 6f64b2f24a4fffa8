// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s

// One update in each row of a splat is a comparison.
// CHECK-LABEL: func @one_in_a_row
// CHECK-NOT: stablehlo.scatter
// CHECK: stablehlo.compare EQ
// CHECK: stablehlo.add
// CHECK: stablehlo.select
// CHECK: {{^ *}}return
func.func @one_in_a_row(%at: tensor<16x1x1xi32>, %x: tensor<16x1xf32>) -> tensor<16x64xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<16x64xf32>
  %r = "stablehlo.scatter"(%zeros, %at, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x64xf32>, tensor<16x1x1xi32>, tensor<16x1xf32>) -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}

// Two updates in a row may meet.
// CHECK-LABEL: func @two_in_a_row
// CHECK: stablehlo.scatter
// CHECK: {{^ *}}return
func.func @two_in_a_row(%at: tensor<16x2x1xi32>, %x: tensor<16x2xf32>) -> tensor<16x64xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<16x64xf32>
  %r = "stablehlo.scatter"(%zeros, %at, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x64xf32>, tensor<16x2x1xi32>, tensor<16x2xf32>) -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
