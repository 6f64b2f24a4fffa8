// RUN: slimhlo-opt %s --slimhlo-rematerialize=windows=1 --split-input-file | FileCheck %s

// What is 4 MiB is computed again from 256 KiB, once what is done before is there.
// CHECK-LABEL: func.func @scores
// CHECK: %[[SCORES:.*]] = stablehlo.dot_general %{{.*}} -> tensor<1024x1024xf32>
// CHECK: %[[TOKEN:.*]] = stablehlo.dot_general %{{.*}} -> tensor<64x64xf32>
// CHECK: %[[LAST:.*]] = stablehlo.dot_general %[[X1:.*]], %[[TOKEN]]
// CHECK: %[[HELD:.*]]:2 = stablehlo.optimization_barrier %[[X1]], %[[LAST]]
// CHECK: %[[AGAIN:.*]] = stablehlo.dot_general %[[HELD]]#0, %{{.*}} -> tensor<1024x1024xf32>
// CHECK: %[[E:.*]] = stablehlo.exponential %[[AGAIN]]
// CHECK: stablehlo.dot_general %[[E]], %[[HELD]]#1
// CHECK-NOT: optimization_barrier
func.func @scores(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.sine %x1 : tensor<1024x64xf32>
  %scores = stablehlo.dot_general %x1, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e = stablehlo.exponential %scores : tensor<1024x1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  // The peak: 16 MiB that only the next op needs.
  %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %each : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x1, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %e, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %b, %sum : tensor<1024x64xf32>, tensor<1024xf32>
}

// -----

// What is returned is there anyway.
// CHECK-LABEL: func.func @returned
// CHECK-NOT: optimization_barrier
// CHECK: return
func.func @returned(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024x1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.sine %x1 : tensor<1024x64xf32>
  %scores = stablehlo.dot_general %x1, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e = stablehlo.exponential %scores : tensor<1024x1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  // The peak: 16 MiB that only the next op needs.
  %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %each : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x1, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %e, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %b, %e : tensor<1024x64xf32>, tensor<1024x1024xf32>
}

// -----

// What somebody put behind a barrier stays there.
// CHECK-LABEL: func.func @barred
// CHECK: optimization_barrier
// CHECK-NOT: optimization_barrier
// CHECK: return
func.func @barred(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.sine %x1 : tensor<1024x64xf32>
  %scores = stablehlo.dot_general %x1, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %exp = stablehlo.exponential %scores : tensor<1024x1024xf32>
  %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %e = stablehlo.optimization_barrier %exp : tensor<1024x1024xf32>
  // The peak: 16 MiB that only the next op needs.
  %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %each : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x1, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %e, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %b, %sum : tensor<1024x64xf32>, tensor<1024xf32>
}

// -----

// Whoever attains the maximum is looked for by the very bits of a sum.
// CHECK-LABEL: func.func @compared
// CHECK-NOT: optimization_barrier
// CHECK: return
func.func @compared(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.sine %x1 : tensor<1024x64xf32>
  %scores = stablehlo.dot_general %x1, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e = stablehlo.exponential %scores : tensor<1024x1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %most = stablehlo.reduce(%scores init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  // The peak: 16 MiB that only the next op needs.
  %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %each : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %there = stablehlo.broadcast_in_dim %most, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %is = stablehlo.compare EQ, %scores, %there, FLOAT : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xi1>
  %one = stablehlo.convert %is : (tensor<1024x1024xi1>) -> tensor<1024x1024xf32>
  %v = stablehlo.dot_general %x1, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %one, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %b, %sum : tensor<1024x64xf32>, tensor<1024xf32>
}

// -----

// What a product is compared with is made of the same one: both are made again.
// CHECK-LABEL: func.func @compared_with_its_own
// CHECK: %[[FIRST:.*]] = stablehlo.dot_general %{{.*}} -> tensor<1024x1024xf32>
// CHECK: stablehlo.exponential %[[FIRST]]
// CHECK: %[[HELD:.*]]:2 = stablehlo.optimization_barrier
// CHECK: %[[AGAIN:.*]] = stablehlo.dot_general %[[HELD]]#0, %{{.*}} -> tensor<1024x1024xf32>
// CHECK: %[[MOST:.*]] = stablehlo.maximum %[[AGAIN]], %{{.*}}
// CHECK: stablehlo.compare EQ, %[[AGAIN]], %[[MOST]], FLOAT
func.func @compared_with_its_own(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<1024x1024xf32>
  %k = stablehlo.sine %x1 : tensor<1024x64xf32>
  %scores = stablehlo.dot_general %x1, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e = stablehlo.exponential %scores : tensor<1024x1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  // The peak: 16 MiB that only the next op needs.
  %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %each : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %most = stablehlo.maximum %scores, %zeros : tensor<1024x1024xf32>
  %is = stablehlo.compare EQ, %scores, %most, FLOAT : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xi1>
  %v = stablehlo.dot_general %x1, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %d = stablehlo.dot_general %v, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %ds = stablehlo.select %is, %d, %zeros : tensor<1024x1024xi1>, tensor<1024x1024xf32>
  %b = stablehlo.dot_general %ds, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %b, %sum : tensor<1024x64xf32>, tensor<1024xf32>
}

// -----

// What takes longer to compute than to keep, 65,536 multiplications an element, is kept.
// CHECK-LABEL: func.func @deep
// CHECK-NOT: optimization_barrier
// CHECK: return
func.func @deep(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>, %w: tensor<1024x65536xf64>) -> (tensor<1024x64xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.dot_general %w, %w, contracting_dims = [1] x [1] : (tensor<1024x65536xf64>, tensor<1024x65536xf64>) -> tensor<1024x1024xf64>
  %e = stablehlo.convert %k : (tensor<1024x1024xf64>) -> tensor<1024x1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  // The peak: 16 MiB that only the next op needs.
  %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %each : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x1, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %e, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %b, %sum : tensor<1024x64xf32>, tensor<1024xf32>
}

// -----

// A softmax is one kernel: a sum of each row that is kept for later would have to be stored, and the rows read once more for it. It is done again
// with what reads the rows.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[HELD:.*]]:2 = stablehlo.optimization_barrier %{{.*}}, %{{.*}} : tensor<1024x64xf32>, tensor<1024x64xf32>
// CHECK: %[[AGAIN:.*]] = stablehlo.dot_general %[[HELD]]#0
// CHECK: %[[E:.*]] = stablehlo.exponential %[[AGAIN]]
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[E]]
// CHECK: stablehlo.divide %[[E]], %{{.*}}
func.func @softmax(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>) -> tensor<1024x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.sine %x1 : tensor<1024x64xf32>
  %scores = stablehlo.dot_general %x1, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e = stablehlo.exponential %scores : tensor<1024x1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %all = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %p = stablehlo.divide %e, %all : tensor<1024x1024xf32>
  %y1 = stablehlo.dot_general %y, %p, contracting_dims = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x1024xf32>
  // The peak: 16 MiB that only the next op needs.
  %large = stablehlo.dot_general %x, %y1, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x1, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %b : tensor<1024x64xf32>
}
