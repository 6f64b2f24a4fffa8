// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=4096" | FileCheck %s

// The nearest neighbours: distances of some rows at a time, values and indices from one loop.
// CHECK-LABEL: func @nearest
// CHECK-NOT: stablehlo.dot_general
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general
// CHECK: chlo.top_k
// CHECK-NOT: chlo.top_k
// CHECK: {{^ *}}return
func.func @nearest(%x: tensor<512x4xf32>, %y: tensor<512x4xf32>) -> (tensor<512x8xf32>, tensor<512x8xi32>) {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (tensor<512x4xf32>, tensor<512x4xf32>) -> tensor<512x512xf32>
  %n = stablehlo.negate %d : tensor<512x512xf32>
  %values, %indices = chlo.top_k(%n, k = 8) : tensor<512x512xf32> -> (tensor<512x8xf32>, tensor<512x8xi32>)
  return %values, %indices : tensor<512x8xf32>, tensor<512x8xi32>
}

// Rows cannot be taken apart.
// CHECK-LABEL: func @one_row
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @one_row(%x: tensor<1x512xf32>, %y: tensor<512x512xf32>) -> tensor<1x8xf32> {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1x512xf32>, tensor<512x512xf32>) -> tensor<1x512xf32>
  %values, %indices = chlo.top_k(%d, k = 8) : tensor<1x512xf32> -> (tensor<1x8xf32>, tensor<1x8xi32>)
  return %values : tensor<1x8xf32>
}
