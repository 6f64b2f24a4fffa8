// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s

// Sums of two vectors' elements are needed for their maximum and for what is subtracted from it. They are computed for each:
// a back end would store them for both. The barrier waits for the first and has what the sums are computed from.
// CHECK-LABEL: func @two_readers
// CHECK: stablehlo.while({{.*}}, %[[X:[^ ,]*]] = %arg0, %[[Y:[^ ,]*]] = %arg1)
// CHECK: do {
// CHECK: %[[PART:.*]] = stablehlo.dynamic_slice %[[X]]
// CHECK: %[[SUMS:.*]] = stablehlo.add {{.*}} : tensor<[[ROWS:[0-9]+]]x512xf32>
// CHECK: %[[MOST:.*]] = stablehlo.reduce(%[[SUMS]] init: {{.*}} applies stablehlo.maximum
// CHECK: %[[BEHIND:.*]]:3 = stablehlo.optimization_barrier %[[MOST]], %[[PART]], %[[Y]] :
// CHECK: stablehlo.broadcast_in_dim %[[BEHIND]]#1, dims = [0]
// CHECK: stablehlo.broadcast_in_dim %[[BEHIND]]#2, dims = [1]
// CHECK: %[[AGAIN:.*]] = stablehlo.add {{.*}} : tensor<[[ROWS]]x512xf32>
// CHECK: stablehlo.subtract %[[AGAIN]],
// CHECK: {{^ *}}return
func.func @two_readers(%arg0: tensor<512xf32>, %arg1: tensor<512xf32>) -> tensor<512xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %x = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %y = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
  %sums = stablehlo.add %x, %y : tensor<512x512xf32>
  %most = stablehlo.reduce(%sums init: %none) applies stablehlo.maximum across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %all = stablehlo.broadcast_in_dim %most, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %less = stablehlo.subtract %sums, %all : tensor<512x512xf32>
  %exps = stablehlo.exponential %less : tensor<512x512xf32>
  %sum = stablehlo.reduce(%exps init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  return %sum : tensor<512xf32>
}

// So it is for reductions over the dimension that is streamed.
// CHECK-LABEL: func @accumulators
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: %[[SUMS:.*]] = stablehlo.add {{.*}} : tensor<[[ROWS:[0-9]+]]x512xi32>
// CHECK: stablehlo.reduce(%[[SUMS]] init:
// CHECK: stablehlo.optimization_barrier
// CHECK: %[[AGAIN:.*]] = stablehlo.add {{.*}} : tensor<[[ROWS]]x512xi32>
// CHECK: stablehlo.reduce(%[[AGAIN]] init:
// CHECK: {{^ *}}return
func.func @accumulators(%arg0: tensor<512xi32>, %arg1: tensor<512xi32>) -> (tensor<i32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<-2147483648> : tensor<i32>
  %x = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<512xi32>) -> tensor<512x512xi32>
  %y = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<512xi32>) -> tensor<512x512xi32>
  %sums = stablehlo.add %x, %y : tensor<512x512xi32>
  %most = stablehlo.reduce(%sums init: %none) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<512x512xi32>, tensor<i32>) -> tensor<i32>
  %sum = stablehlo.reduce(%sums init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<512x512xi32>, tensor<i32>) -> tensor<i32>
  return %most, %sum : tensor<i32>, tensor<i32>
}

// Exponentials are not computed twice.
// CHECK-LABEL: func @costly
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.optimization_barrier
// CHECK: {{^ *}}return
func.func @costly(%arg0: tensor<512xf32>, %arg1: tensor<512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %x = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %y = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
  %sums = stablehlo.add %x, %y : tensor<512x512xf32>
  %exps = stablehlo.exponential %sums : tensor<512x512xf32>
  %most = stablehlo.reduce(%exps init: %none) applies stablehlo.maximum across dimensions = [0] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %sum = stablehlo.reduce(%exps init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  return %most, %sum : tensor<512xf32>, tensor<512xf32>
}
