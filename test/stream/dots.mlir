// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s

// Scores of some queries at a time; each chunk of the result is put in its place, the rest after the loop.
// CHECK-LABEL: func @attention
// CHECK-SAME: %[[Q:.*]]: tensor<71x4xf32>, %[[K:.*]]: tensor<64x4xf32>, %[[V:.*]]: tensor<64x4xf32>
// CHECK: %[[LOOP:.*]]:5 = stablehlo.while(%[[I:[^ ,]*]] = %{{[^ ,]*}}, %[[OUT:[^ ,]*]] = %{{[^ ,]*}}, %[[QS:[^ ,]*]] = %[[Q]],
// CHECK: do {
// CHECK: stablehlo.dynamic_slice %[[QS]], %[[I]], %{{.*}}, sizes = [4, 4]
// CHECK: stablehlo.dot_general {{.*}} -> tensor<4x64xf32>
// CHECK: stablehlo.select
// CHECK: stablehlo.reduce({{.*}} across dimensions = [1] : (tensor<4x64xf32>
// CHECK: %[[PART:.*]] = stablehlo.dot_general {{.*}} -> tensor<4x4xf32>
// CHECK: stablehlo.dynamic_update_slice %[[OUT]], %[[PART]], %[[I]], %{{.*}}
// CHECK: {{^ *}}return
// CHECK-NOT: tensor<71x64xf32>
func.func @attention(%q: tensor<71x4xf32>, %k: tensor<64x4xf32>, %v: tensor<64x4xf32>) -> tensor<71x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<-1.0e+09> : tensor<71x64xf32>
  %row = stablehlo.iota dim = 0 : tensor<71x64xi32>
  %column = stablehlo.iota dim = 1 : tensor<71x64xi32>
  %seen = stablehlo.compare GE, %row, %column : (tensor<71x64xi32>, tensor<71x64xi32>) -> tensor<71x64xi1>
  %all_scores = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<71x4xf32>, tensor<64x4xf32>) -> tensor<71x64xf32>
  %scores = stablehlo.select %seen, %all_scores, %none : tensor<71x64xi1>, tensor<71x64xf32>
  %exps = stablehlo.exponential %scores : tensor<71x64xf32>
  %sums = stablehlo.reduce(%exps init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<71x64xf32>, tensor<f32>) -> tensor<71xf32>
  %all = stablehlo.broadcast_in_dim %sums, dims = [0] : (tensor<71xf32>) -> tensor<71x64xf32>
  %weights = stablehlo.divide %exps, %all : tensor<71x64xf32>
  %r = stablehlo.dot_general %weights, %v, contracting_dims = [1] x [0] : (tensor<71x64xf32>, tensor<64x4xf32>) -> tensor<71x4xf32>
  return %r : tensor<71x4xf32>
}

// Two gradients of one large value: one contracts the rows, in f32, the other goes on row by row. What transposes the
// first waits for the loop.
// CHECK-LABEL: func @two_gradients
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general {{.*}} contracting_dims = [0] x [0] : ({{.*}}bf16>, {{.*}}bf16>) -> tensor<4x64xf32>
// CHECK: stablehlo.dynamic_update_slice
// CHECK: stablehlo.convert %{{.*}} : (tensor<4x64xf32>) -> tensor<4x64xbf16>
// CHECK: stablehlo.transpose
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @two_gradients(%x: tensor<128x4xbf16>, %w: tensor<4x64xbf16>) -> (tensor<64x4xbf16>, tensor<128x4xbf16>) {
  %logits = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<128x4xbf16>, tensor<4x64xbf16>) -> tensor<128x64xbf16>
  %p = stablehlo.exponential %logits : tensor<128x64xbf16>
  %dw = stablehlo.dot_general %x, %p, contracting_dims = [0] x [0] : (tensor<128x4xbf16>, tensor<128x64xbf16>) -> tensor<4x64xbf16>
  %dwt = stablehlo.transpose %dw, dims = [1, 0] : (tensor<4x64xbf16>) -> tensor<64x4xbf16>
  %dx = stablehlo.dot_general %p, %w, contracting_dims = [1] x [1] : (tensor<128x64xbf16>, tensor<4x64xbf16>) -> tensor<128x4xbf16>
  return %dwt, %dx : tensor<64x4xbf16>, tensor<128x4xbf16>
}
