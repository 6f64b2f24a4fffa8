// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s

// The weights, of which a chunk takes most, come last and would be turned: they come first instead.
// CHECK-LABEL: func @weights_last
// CHECK: do {
// CHECK: %[[WEIGHTS:.*]] = stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<[[ROWS:[0-9]+]]x64xi1>, tensor<[[ROWS]]x64xf32>
// CHECK: %[[TURNED:.*]] = stablehlo.dot_general %[[WEIGHTS]], %{{.*}}, contracting_dims = [1] x [0] : (tensor<[[ROWS]]x64xf32>, tensor<64x4xf32>) -> tensor<[[ROWS]]x4xf32>
// CHECK: %[[PART:.*]] = stablehlo.transpose %[[TURNED]], dims = [1, 0]
// CHECK: stablehlo.dynamic_update_slice %{{[^ ,]*}}, %[[PART]],
// CHECK: {{^ *}}return
func.func @weights_last(%q: tensor<64x4xf32>, %k: tensor<64x4xf32>, %v: tensor<64x4xf32>, %m: tensor<64xi1>) -> tensor<4x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<64x64xf32>
  %all = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x64xf32>
  %mask = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xi1>) -> tensor<64x64xi1>
  %weights = stablehlo.select %mask, %all, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  %r = stablehlo.dot_general %v, %weights, contracting_dims = [0] x [1] : (tensor<64x4xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// First, they are as they should be.
// CHECK-LABEL: func @weights_first
// CHECK: do {
// CHECK: stablehlo.dot_general %{{.*}}, contracting_dims = [1] x [0]
// CHECK-NOT: stablehlo.transpose
// CHECK: {{^ *}}return
func.func @weights_first(%q: tensor<64x4xf32>, %k: tensor<64x4xf32>, %v: tensor<64x4xf32>, %m: tensor<64xi1>) -> tensor<64x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<64x64xf32>
  %all = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x64xf32>
  %mask = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xi1>) -> tensor<64x64xi1>
  %weights = stablehlo.select %mask, %all, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  %r = stablehlo.dot_general %weights, %v, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x4xf32>) -> tensor<64x4xf32>
  return %r : tensor<64x4xf32>
}

// Each operand has a precision of its own: they stay.
// CHECK-LABEL: func @precisions
// CHECK: do {
// CHECK: stablehlo.dot_general %{{.*}}, contracting_dims = [0] x [1], precision = [DEFAULT, HIGHEST]
// CHECK: {{^ *}}return
func.func @precisions(%q: tensor<64x4xf32>, %k: tensor<64x4xf32>, %v: tensor<64x4xf32>, %m: tensor<64xi1>) -> tensor<4x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<64x64xf32>
  %all = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x64xf32>
  %mask = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xi1>) -> tensor<64x64xi1>
  %weights = stablehlo.select %mask, %all, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  %r = stablehlo.dot_general %v, %weights, contracting_dims = [0] x [1], precision = [DEFAULT, HIGHEST] : (tensor<64x4xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}
