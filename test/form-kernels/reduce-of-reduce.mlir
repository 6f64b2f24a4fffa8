// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// mean(sqrt(sum((a[:, None] - b)**2, -1))): distances take much more memory than points, and are each needed once.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @reduce_0(
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @reduce_0
// CHECK: stablehlo.reduce
// CHECK: stablehlo.sqrt
// CHECK: stablehlo.reduce
func.func @main(%a: tensor<2048x3xf32>, %b: tensor<2048x3xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<2048x3xf32>) -> tensor<2048x2048x3xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<2048x3xf32>) -> tensor<2048x2048x3xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<2048x2048x3xf32>
  %3 = stablehlo.multiply %2, %2 : tensor<2048x2048x3xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2048x2048x3xf32>, tensor<f32>) -> tensor<2048x2048xf32>
  %5 = stablehlo.sqrt %4 : tensor<2048x2048xf32>
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<f32>
  return %6 : tensor<f32>
}

// -----

// What is needed twice is computed once.

// CHECK-LABEL: func.func @main
// CHECK: %[[D:.*]] = call @reduce_0(
// CHECK: call @{{.*}}(%[[D]]
// CHECK: call @{{.*}}(%[[D]]
func.func @main(%a: tensor<2048x3xf32>, %b: tensor<2048x3xf32>) -> (tensor<f32>, tensor<2048xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<2048x3xf32>) -> tensor<2048x2048x3xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<2048x3xf32>) -> tensor<2048x2048x3xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<2048x2048x3xf32>
  %3 = stablehlo.multiply %2, %2 : tensor<2048x2048x3xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2048x2048x3xf32>, tensor<f32>) -> tensor<2048x2048xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<f32>
  %6 = stablehlo.reduce(%4 init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  return %5, %6 : tensor<f32>, tensor<2048xf32>
}

// -----

// What is smaller than what it is made of is made by many threads.

// CHECK-LABEL: func.func @main
// CHECK: call @reduce_0(%arg0)
// CHECK-NEXT: call @reduce_1(
func.func @main(%a: tensor<2048x2048x16xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2048x2048x16xf32>, tensor<f32>) -> tensor<2048x2048xf32>
  %1 = stablehlo.sqrt %0 : tensor<2048x2048xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
