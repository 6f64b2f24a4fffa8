// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s

#rows = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>

// A value and its gradient: one gather a chunk, for a reduction and a scatter.
// CHECK-LABEL: func @value_and_gradient
// CHECK-COUNT-1: stablehlo.while
// CHECK-COUNT-1: "stablehlo.gather"
// CHECK-DAG: stablehlo.sine
// CHECK-DAG: stablehlo.cosine
// CHECK: stablehlo.reduce
// CHECK: "stablehlo.scatter"
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @value_and_gradient(%table: tensor<10xf32>, %indices: tensor<128x1xi32>) -> (tensor<f32>, tensor<10xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<128x1xi32>) -> tensor<128xf32>
  %sin = stablehlo.sine %rows : tensor<128xf32>
  %cos = stablehlo.cosine %rows : tensor<128xf32>
  %value = stablehlo.reduce(%sin init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %gradient = "stablehlo.scatter"(%zeros, %indices, %cos) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<10xf32>, tensor<128x1xi32>, tensor<128xf32>) -> tensor<10xf32>
  return %value, %gradient : tensor<f32>, tensor<10xf32>
}

// The second reduction needs the first's result: it has to wait, and what both read is there.
// CHECK-LABEL: func @dependent
// CHECK: "stablehlo.gather"
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @dependent(%table: tensor<10xf32>, %indices: tensor<128x1xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<128x1xi32>) -> tensor<128xf32>
  %most = stablehlo.reduce(%rows init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
  %mosts = stablehlo.broadcast_in_dim %most, dims = [] : (tensor<f32>) -> tensor<128xf32>
  %less = stablehlo.subtract %rows, %mosts : tensor<128xf32>
  %sum = stablehlo.reduce(%less init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// An outer sum that two reductions need is stored today. The last goes into a loop, then the other has it to itself.
// CHECK-LABEL: func @log_sum_exp
// CHECK: stablehlo.reduce({{.*}} applies stablehlo.maximum across dimensions = [0, 1] : (tensor<64x64xf32>
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_slice
// CHECK: stablehlo.exponential %{{.*}} : tensor<1x64xf32>
// CHECK: stablehlo.reduce({{.*}} applies stablehlo.add
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @log_sum_exp(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<f32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %xs = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %ys = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %sums = stablehlo.add %xs, %ys : tensor<64x64xf32>
  %most = stablehlo.reduce(%sums init: %lowest) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<f32>
  %mosts = stablehlo.broadcast_in_dim %most, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
  %less = stablehlo.subtract %sums, %mosts : tensor<64x64xf32>
  %exps = stablehlo.exponential %less : tensor<64x64xf32>
  %sum = stablehlo.reduce(%exps init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<f32>
  %log = stablehlo.log %sum : tensor<f32>
  %r = stablehlo.add %log, %most : tensor<f32>
  return %r : tensor<f32>
}
