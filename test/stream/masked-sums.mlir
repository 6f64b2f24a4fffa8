// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=4096" | FileCheck %s

// A library sums floats, and knows arithmetic: what is selected is stored before it.
// CHECK-LABEL: func @masked
// CHECK: stablehlo.while
// CHECK: {{^ *}}return
func.func @masked(%x: tensor<512xf32>) -> tensor<512xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<512x512xf32>
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
  %c = stablehlo.compare GT, %a, %b : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xi1>
  %s = stablehlo.select %c, %a, %zeros : tensor<512x512xi1>, tensor<512x512xf32>
  %t = stablehlo.multiply %s, %s : tensor<512x512xf32>
  %r = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  return %r : tensor<512xf32>
}

// Counts are sums of integers, which go in tiles.
// CHECK-LABEL: func @ranks
// CHECK: stablehlo.while
// CHECK: {{^ *}}return
func.func @ranks(%x: tensor<512xf32>) -> tensor<512xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
  %c = stablehlo.compare GT, %a, %b : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xi1>
  %i = stablehlo.convert %c : (tensor<512x512xi1>) -> tensor<512x512xi32>
  %r = stablehlo.reduce(%i init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xi32>, tensor<i32>) -> tensor<512xi32>
  return %r : tensor<512xi32>
}

// Arithmetic is computed on the fly.
// CHECK-LABEL: func @arithmetic
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @arithmetic(%x: tensor<512xf32>) -> tensor<512xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
  %s = stablehlo.multiply %a, %b : tensor<512x512xf32>
  %t = stablehlo.exponential %s : tensor<512x512xf32>
  %r = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  return %r : tensor<512xf32>
}

// What is as large as what it is made of is not worth a loop.
// CHECK-LABEL: func @there
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @there(%x: tensor<512x512xf32>, %c: tensor<512x512xi1>) -> tensor<512xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<512x512xf32>
  %s = stablehlo.select %c, %x, %zeros : tensor<512x512xi1>, tensor<512x512xf32>
  %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  return %r : tensor<512xf32>
}
