// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=128KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=128KiB" --slimhlo-stream="target=xla-cpu chunk-bytes=128KiB" | FileCheck %s

// Masked attention one head at a time: between its products a head's scores are a matrix. The products keep the head as a
// dimension of the batch.
// CHECK-LABEL: func @heads
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: %[[SCORES:.*]] = stablehlo.dot_general {{.*}} -> tensor<1x1x64x256xf32>
// CHECK: %[[MATRIX:.*]] = stablehlo.reshape %[[SCORES]]
// CHECK: stablehlo.select %{{[^ ,]*}}, %[[MATRIX]], %{{[^ ,]*}} : tensor<64x256xi1>, tensor<64x256xf32>
// CHECK: stablehlo.maximum across dimensions = [1]
// CHECK: stablehlo.exponential %{{.*}} : tensor<64x256xf32>
// CHECK: stablehlo.add across dimensions = [1]
// CHECK-NOT: tensor<64x1xf32>
// CHECK: stablehlo.divide %{{.*}} : tensor<64x256xf32>
// CHECK: stablehlo.reshape {{.*}} -> tensor<1x1x64x256xf32>
// CHECK: stablehlo.dot_general
// CHECK: {{^ *}}return
func.func @heads(%q: tensor<1x256x8x16xf32>, %k: tensor<1x256x8x16xf32>, %v: tensor<1x256x8x16xf32>) -> tensor<1x8x256x16xf32> {
  %scores = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<1x256x8x16xf32>, tensor<1x256x8x16xf32>) -> tensor<1x8x256x256xf32>
  %rows = stablehlo.iota dim = 2 : tensor<1x8x256x256xi32>
  %columns = stablehlo.iota dim = 3 : tensor<1x8x256x256xi32>
  %seen = stablehlo.compare GE, %rows, %columns : (tensor<1x8x256x256xi32>, tensor<1x8x256x256xi32>) -> tensor<1x8x256x256xi1>
  %far = stablehlo.constant dense<-1.0e9> : tensor<1x8x256x256xf32>
  %masked = stablehlo.select %seen, %scores, %far : tensor<1x8x256x256xi1>, tensor<1x8x256x256xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %most = stablehlo.reduce(%masked init: %least) applies stablehlo.maximum across dimensions = [3] : (tensor<1x8x256x256xf32>, tensor<f32>) -> tensor<1x8x256xf32>
  %all_most = stablehlo.broadcast_in_dim %most, dims = [0, 1, 2] : (tensor<1x8x256xf32>) -> tensor<1x8x256x256xf32>
  %less = stablehlo.subtract %masked, %all_most : tensor<1x8x256x256xf32>
  %e = stablehlo.exponential %less : tensor<1x8x256x256xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sums = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<1x8x256x256xf32>, tensor<f32>) -> tensor<1x8x256xf32>
  %columns_of_sums = stablehlo.reshape %sums : (tensor<1x8x256xf32>) -> tensor<1x8x256x1xf32>
  %all = stablehlo.broadcast_in_dim %columns_of_sums, dims = [0, 1, 2, 3] : (tensor<1x8x256x1xf32>) -> tensor<1x8x256x256xf32>
  %weights = stablehlo.divide %e, %all : tensor<1x8x256x256xf32>
  %seen_values = stablehlo.dot_general %weights, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<1x8x256x256xf32>, tensor<1x256x8x16xf32>) -> tensor<1x8x256x16xf32>
  return %seen_values : tensor<1x8x256x16xf32>
}

// Logits of rows have no dimension that the products do not need: what has one besides, a label or a sum per row, keeps it.
// CHECK-LABEL: func @rows
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.reshape {{.*}} -> tensor<[[ROWS:[0-9]+]]x1xf32>
// CHECK: stablehlo.log %{{.*}} : tensor<[[ROWS]]x1xf32>
// CHECK: {{^ *}}return
func.func @rows(%x: tensor<2048x64xf32>, %w: tensor<64x2048xf32>) -> tensor<2048x1xf32> {
  %logits = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %p = stablehlo.exponential %logits : tensor<2048x2048xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sums = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %all = stablehlo.reshape %sums : (tensor<2048xf32>) -> tensor<2048x1xf32>
  %logs = stablehlo.log %all : tensor<2048x1xf32>
  return %logs : tensor<2048x1xf32>
}
