// RUN: slimhlo-opt %s --split-input-file --slimhlo-stream="target=h100 chunk-bytes=64KiB" --canonicalize | FileCheck %s
// RUN: slimhlo-opt %s --split-input-file --slimhlo-stream="target=xla-cpu chunk-bytes=64KiB" --canonicalize | FileCheck %s --check-prefix=CPU

// Scores of one head and batch take 64 KiB, those of a head of all four batches four times as much: an inner loop takes them apart, and one
// within it queries. Where iterations take time the outer two are one, which counts 8 times 4, takes slices of what is there and puts products
// in their place at once. The innermost needs all keys and values of its head, which are sliced for it, and stays.
// CHECK-LABEL: @main
// CHECK: stablehlo.while(%[[AT:[^ ]+]] = %{{[^,]*}}, %[[ALL:[^ ]+]] = {{.*}}, %[[Q:[^ ]+]] = %arg0,
// CHECK: do {
// CHECK: %[[HEAD:.*]] = stablehlo.divide %[[AT]], %
// CHECK: %[[BATCH:.*]] = stablehlo.remainder %[[AT]], %
// CHECK: stablehlo.dynamic_slice %[[Q]], %[[BATCH]], %[[HEAD]], %{{.*}}, sizes = [1, 1, 128, 16]
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.while
// CHECK: stablehlo.dynamic_update_slice %[[ALL]], %{{[^,]*}}, %[[BATCH]], %[[HEAD]]
// CPU-LABEL: @main
// CPU-NOT: stablehlo.remainder
func.func @main(%q: tensor<4x8x128x16xf32>, %k: tensor<4x8x128x16xf32>, %v: tensor<4x8x128x16xf32>) -> tensor<4x8x128x16xf32> {
  %scores = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<4x8x128x16xf32>, tensor<4x8x128x16xf32>) -> tensor<4x8x128x128xf32>
  %e = stablehlo.exponential %scores : tensor<4x8x128x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<4x8x128x128xf32>, tensor<f32>) -> tensor<4x8x128xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<4x8x128xf32>) -> tensor<4x8x128x128xf32>
  %w = stablehlo.divide %e, %sums : tensor<4x8x128x128xf32>
  %r = stablehlo.dot_general %w, %v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<4x8x128x128xf32>, tensor<4x8x128x16xf32>) -> tensor<4x8x128x16xf32>
  return %r : tensor<4x8x128x16xf32>
}
