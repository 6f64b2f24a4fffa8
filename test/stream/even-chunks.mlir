// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=16KiB" --canonicalize | FileCheck %s

// A chunk of 2048 would leave 1696 rows over; 2000 divides them all.
// CHECK-LABEL: func @divides
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_slice {{.*}} (tensor<100000xi32>, tensor<i64>) -> tensor<2000xi32>
// CHECK-NOT: stablehlo.slice
// CHECK: {{^ *}}return
func.func @divides(%table: tensor<97xf32>, %at: tensor<100000xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %index = stablehlo.reshape %at : (tensor<100000xi32>) -> tensor<100000x1xi32>
  %rows = "stablehlo.gather"(%table, %index) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<97xf32>, tensor<100000x1xi32>) -> tensor<100000xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<100000xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// 100,003 is a prime: in as many turns, chunks that leave little over.
// CHECK-LABEL: func @prime
// CHECK: stablehlo.dynamic_slice {{.*}} -> tensor<2040xi32>
// CHECK: stablehlo.slice {{.*}} -> tensor<43xi32>
func.func @prime(%table: tensor<97xf32>, %at: tensor<100003xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %index = stablehlo.reshape %at : (tensor<100003xi32>) -> tensor<100003x1xi32>
  %rows = "stablehlo.gather"(%table, %index) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<97xf32>, tensor<100003x1xi32>) -> tensor<100003xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<100003xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// Little is left over by a power of two: it stays one.
// CHECK-LABEL: func @little
// CHECK: stablehlo.dynamic_slice {{.*}} -> tensor<2048xi32>
// CHECK: stablehlo.slice {{.*}} -> tensor<43xi32>
func.func @little(%table: tensor<97xf32>, %at: tensor<98347xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %index = stablehlo.reshape %at : (tensor<98347xi32>) -> tensor<98347x1xi32>
  %rows = "stablehlo.gather"(%table, %index) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<97xf32>, tensor<98347x1xi32>) -> tensor<98347xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<98347xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
