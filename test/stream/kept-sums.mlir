// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=4096" | FileCheck %s

#rows = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
#few = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
#into = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>

// Scores of edges that two loops need, with what is made of the first in between: to gather rows of both ends again takes longer
// than to keep them, for which there is room. What is made of them is not kept besides.
// CHECK-LABEL: func @few_heads
// CHECK: stablehlo.while
// CHECK-COUNT-2: -> tensor<2x2x64xf32>
// CHECK: dynamic_update_slice {{.*}} -> tensor<4096x2xf32>
// CHECK: stablehlo.while
// CHECK-NOT: x2x64xf32>
// CHECK: dynamic_slice {{.*}} sizes = [256, 2]
// CHECK: stablehlo.divide %{{.*}} : tensor<256x2xf32>
// CHECK: {{^ *}}return
func.func @few_heads(%x: tensor<200x2x64xf32>, %y: tensor<200x2x64xf32>, %s: tensor<4096x1xi32>, %d: tensor<4096x1xi32>) -> tensor<200x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<200x2xf32>
  %xs = "stablehlo.gather"(%x, %s) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 2, 64>}> : (tensor<200x2x64xf32>, tensor<4096x1xi32>) -> tensor<4096x2x64xf32>
  %yd = "stablehlo.gather"(%y, %d) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 2, 64>}> : (tensor<200x2x64xf32>, tensor<4096x1xi32>) -> tensor<4096x2x64xf32>
  %xy = stablehlo.multiply %xs, %yd : tensor<4096x2x64xf32>
  %scores = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4096x2x64xf32>, tensor<f32>) -> tensor<4096x2xf32>
  %total = "stablehlo.scatter"(%zeros, %d, %scores) <{scatter_dimension_numbers = #into}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<200x2xf32>, tensor<4096x1xi32>, tensor<4096x2xf32>) -> tensor<200x2xf32>
  %totals = "stablehlo.gather"(%total, %d) <{dimension_numbers = #few, slice_sizes = array<i64: 1, 2>}> : (tensor<200x2xf32>, tensor<4096x1xi32>) -> tensor<4096x2xf32>
  %share = stablehlo.divide %scores, %totals : tensor<4096x2xf32>
  %sent = "stablehlo.scatter"(%zeros, %s, %share) <{scatter_dimension_numbers = #into}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<200x2xf32>, tensor<4096x1xi32>, tensor<4096x2xf32>) -> tensor<200x2xf32>
  return %sent : tensor<200x2xf32>
}

// Scores that are twice of all arguments and results are computed again.
// CHECK-LABEL: func @many_heads
// CHECK: stablehlo.while
// CHECK-COUNT-2: -> tensor<1x16x64xf32>
// CHECK: stablehlo.while
// CHECK-COUNT-2: -> tensor<1x16x64xf32>
// CHECK-NOT: tensor<4096x16xf32>
// CHECK: {{^ *}}return
func.func @many_heads(%x: tensor<10x16x64xf32>, %y: tensor<10x16x64xf32>, %s: tensor<4096x1xi32>, %d: tensor<4096x1xi32>) -> tensor<10x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<10x16xf32>
  %xs = "stablehlo.gather"(%x, %s) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 16, 64>}> : (tensor<10x16x64xf32>, tensor<4096x1xi32>) -> tensor<4096x16x64xf32>
  %yd = "stablehlo.gather"(%y, %d) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 16, 64>}> : (tensor<10x16x64xf32>, tensor<4096x1xi32>) -> tensor<4096x16x64xf32>
  %xy = stablehlo.multiply %xs, %yd : tensor<4096x16x64xf32>
  %scores = stablehlo.reduce(%xy init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4096x16x64xf32>, tensor<f32>) -> tensor<4096x16xf32>
  %total = "stablehlo.scatter"(%zeros, %d, %scores) <{scatter_dimension_numbers = #into}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<10x16xf32>, tensor<4096x1xi32>, tensor<4096x16xf32>) -> tensor<10x16xf32>
  %totals = "stablehlo.gather"(%total, %d) <{dimension_numbers = #few, slice_sizes = array<i64: 1, 16>}> : (tensor<10x16xf32>, tensor<4096x1xi32>) -> tensor<4096x16xf32>
  %share = stablehlo.divide %scores, %totals : tensor<4096x16xf32>
  %sent = "stablehlo.scatter"(%zeros, %s, %share) <{scatter_dimension_numbers = #into}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<10x16xf32>, tensor<4096x1xi32>, tensor<4096x16xf32>) -> tensor<10x16xf32>
  return %sent : tensor<10x16xf32>
}
