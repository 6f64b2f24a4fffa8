// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=256" | FileCheck %s

// Sums of the points that are nearest to each of some others, and how many there are: one loop over points, in which the product joins
// the sum although what is computed on the fly for both is much larger than what it takes.
// CHECK-LABEL: func @step
// CHECK-NOT: stablehlo.dot_general
// CHECK: do {
// CHECK: stablehlo.dynamic_slice {{.*}} (tensor<512x8xf32>, tensor<i64>, tensor<i64>)
// CHECK-DAG: stablehlo.dot_general {{.*}} -> tensor<16x8xf32>
// CHECK-DAG: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0] : {{.*}} -> tensor<16xf32>
// CHECK: }
// CHECK-NOT: stablehlo.while
// CHECK: return
func.func @step(%points: tensor<512x8xf32>, %centres: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %far = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.broadcast_in_dim %points, dims = [0, 2] : (tensor<512x8xf32>) -> tensor<512x16x8xf32>
  %c = stablehlo.broadcast_in_dim %centres, dims = [1, 2] : (tensor<16x8xf32>) -> tensor<512x16x8xf32>
  %away = stablehlo.subtract %p, %c : tensor<512x16x8xf32>
  %squares = stablehlo.multiply %away, %away : tensor<512x16x8xf32>
  %distances = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<512x16x8xf32>, tensor<f32>) -> tensor<512x16xf32>
  %numbers = stablehlo.iota dim = 1 : tensor<512x16xi32>
  %least:2 = stablehlo.reduce(%distances init: %far), (%numbers init: %none) across dimensions = [1] : (tensor<512x16xf32>, tensor<512x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<512xf32>, tensor<512xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
    %nearer = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %d = stablehlo.select %nearer, %a, %b : tensor<i1>, tensor<f32>
    %n = stablehlo.select %nearer, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %d, %n : tensor<f32>, tensor<i32>
  }
  %all = stablehlo.broadcast_in_dim %least#1, dims = [0] : (tensor<512xi32>) -> tensor<512x16xi32>
  %is = stablehlo.compare EQ, %all, %numbers, SIGNED : (tensor<512x16xi32>, tensor<512x16xi32>) -> tensor<512x16xi1>
  %one_hot = stablehlo.convert %is : (tensor<512x16xi1>) -> tensor<512x16xf32>
  %sums = stablehlo.dot_general %one_hot, %points, contracting_dims = [0] x [0] : (tensor<512x16xf32>, tensor<512x8xf32>) -> tensor<16x8xf32>
  %counts = stablehlo.reduce(%one_hot init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x16xf32>, tensor<f32>) -> tensor<16xf32>
  return %sums, %counts : tensor<16x8xf32>, tensor<16xf32>
}
