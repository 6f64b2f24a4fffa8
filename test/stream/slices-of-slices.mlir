// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s

// Columns of a chunk are sliced from what the chunk would be one of.
// CHECK-LABEL: func @columns
// CHECK: do {
// CHECK: stablehlo.dynamic_slice {{.*}} sizes = [4, 1]
// CHECK: stablehlo.dynamic_slice {{.*}} sizes = [4, 1]
// CHECK-NOT: stablehlo.slice
// CHECK-NOT: sizes = [4, 2]
// CHECK: stablehlo.concatenate
// CHECK: "stablehlo.gather"
// CHECK: return
func.func @columns(%table: tensor<6x7xf32>, %at: tensor<128x2xi32>) -> tensor<f32> {
  %six = stablehlo.constant dense<6> : tensor<128x1xi32>
  %seven = stablehlo.constant dense<7> : tensor<128x1xi32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %at [0:128, 0:1] : (tensor<128x2xi32>) -> tensor<128x1xi32>
  %1 = stablehlo.slice %at [0:128, 1:2] : (tensor<128x2xi32>) -> tensor<128x1xi32>
  %r0 = stablehlo.remainder %0, %six : tensor<128x1xi32>
  %r1 = stablehlo.remainder %1, %seven : tensor<128x1xi32>
  %both = stablehlo.concatenate %r0, %r1, dim = 1 : (tensor<128x1xi32>, tensor<128x1xi32>) -> tensor<128x2xi32>
  %rows = "stablehlo.gather"(%table, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<6x7xf32>, tensor<128x2xi32>) -> tensor<128xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// What steps over elements stays a slice of the chunk.
// CHECK-LABEL: func @with_steps
// CHECK: do {
// CHECK: stablehlo.dynamic_slice {{.*}} sizes = [4, 4]
// CHECK: stablehlo.slice {{.*}} [0:4, 0:4:2]
// CHECK: "stablehlo.gather"
func.func @with_steps(%table: tensor<6x7xf32>, %at: tensor<128x4xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %both = stablehlo.slice %at [0:128, 0:4:2] : (tensor<128x4xi32>) -> tensor<128x2xi32>
  %rows = "stablehlo.gather"(%table, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<6x7xf32>, tensor<128x2xi32>) -> tensor<128xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
