// RUN: slimhlo-opt %s --slimhlo-stream=target=xla-cpu | FileCheck %s

// Sums of the points that are nearest to each of some others, of so many points that what all of one other point takes is more than a
// chunk. An outer loop over the other points, and one over points inside, would do without the one-hot matrix, but all distances would
// be there before it: one loop over points does without them, too.
// CHECK-LABEL: func @step
// CHECK-NOT: tensor<1274000x19xf32>
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_slice {{.*}} (tensor<1274000x5xf32>, tensor<i64>, tensor<i64>)
// CHECK: stablehlo.reduce
// CHECK: stablehlo.dot_general
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @step(%points: tensor<1274000x5xf32>, %centres: tensor<19x5xf32>) -> tensor<19x5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %far = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.broadcast_in_dim %points, dims = [0, 2] : (tensor<1274000x5xf32>) -> tensor<1274000x19x5xf32>
  %c = stablehlo.broadcast_in_dim %centres, dims = [1, 2] : (tensor<19x5xf32>) -> tensor<1274000x19x5xf32>
  %away = stablehlo.subtract %p, %c : tensor<1274000x19x5xf32>
  %squares = stablehlo.multiply %away, %away : tensor<1274000x19x5xf32>
  %distances = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1274000x19x5xf32>, tensor<f32>) -> tensor<1274000x19xf32>
  %numbers = stablehlo.iota dim = 1 : tensor<1274000x19xi32>
  %least:2 = stablehlo.reduce(%distances init: %far), (%numbers init: %none) across dimensions = [1] : (tensor<1274000x19xf32>, tensor<1274000x19xi32>, tensor<f32>, tensor<i32>) -> (tensor<1274000xf32>, tensor<1274000xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
    %nearer = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %d = stablehlo.select %nearer, %a, %b : tensor<i1>, tensor<f32>
    %n = stablehlo.select %nearer, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %d, %n : tensor<f32>, tensor<i32>
  }
  %all = stablehlo.broadcast_in_dim %least#1, dims = [0] : (tensor<1274000xi32>) -> tensor<1274000x19xi32>
  %few = stablehlo.iota dim = 1 : tensor<1x19xi32>
  %each = stablehlo.broadcast_in_dim %few, dims = [0, 1] : (tensor<1x19xi32>) -> tensor<1274000x19xi32>
  %is = stablehlo.compare EQ, %all, %each, SIGNED : (tensor<1274000x19xi32>, tensor<1274000x19xi32>) -> tensor<1274000x19xi1>
  %one_hot = stablehlo.convert %is : (tensor<1274000x19xi1>) -> tensor<1274000x19xf32>
  %turned = stablehlo.transpose %one_hot, dims = [1, 0] : (tensor<1274000x19xf32>) -> tensor<19x1274000xf32>
  %sums = stablehlo.dot_general %turned, %points, contracting_dims = [1] x [0] : (tensor<19x1274000xf32>, tensor<1274000x5xf32>) -> tensor<19x5xf32>
  %counts = stablehlo.reduce(%one_hot init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1274000x19xf32>, tensor<f32>) -> tensor<19xf32>
  %each_sum = stablehlo.broadcast_in_dim %counts, dims = [0] : (tensor<19xf32>) -> tensor<19x5xf32>
  %means = stablehlo.divide %sums, %each_sum : tensor<19x5xf32>
  return %means : tensor<19x5xf32>
}
