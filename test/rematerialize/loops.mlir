// RUN: slimhlo-opt %s --slimhlo-rematerialize=windows=1 --split-input-file | FileCheck %s

// In a loop's body, too, what is 4 MiB is computed again from 256 KiB.
// CHECK-LABEL: func.func @body
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: %[[SCORES:.*]] = stablehlo.dot_general %{{.*}} -> tensor<1024x1024xf32>
// CHECK: %[[TOKEN:.*]] = stablehlo.dot_general %{{.*}} -> tensor<64x64xf32>
// CHECK: %[[LAST:.*]] = stablehlo.dot_general %{{.*}}, %[[TOKEN]]
// CHECK: %[[HELD:.*]]:3 = stablehlo.optimization_barrier %{{.*}}, %{{.*}}, %[[LAST]]
// CHECK: %[[AGAIN:.*]] = stablehlo.dot_general %[[HELD]]#1, %{{.*}} -> tensor<1024x1024xf32>
// CHECK: stablehlo.exponential %[[AGAIN]]
// CHECK-NOT: optimization_barrier
func.func @body(%x: tensor<2048x64xf32>, %y: tensor<64x512xf32>, %x1: tensor<1024x64xf32>) -> tensor<1024x64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %i0, %r0, %x0, %y0 = stablehlo.while(%i = %zero, %r = %x1, %xs = %x, %ys = %y) : tensor<i64>, tensor<1024x64xf32>, tensor<2048x64xf32>, tensor<64x512xf32>
  cond {
    %ten = stablehlo.constant dense<10> : tensor<i64>
    %more = stablehlo.compare LT, %i, %ten, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %none = stablehlo.constant dense<0.0> : tensor<f32>
    %next = stablehlo.add %i, %one : tensor<i64>
    %k = stablehlo.sine %r : tensor<1024x64xf32>
    %scores = stablehlo.dot_general %r, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
    %e = stablehlo.exponential %scores : tensor<1024x1024xf32>
    %sum = stablehlo.reduce(%e init: %none) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<1024xf32>) -> tensor<1024x64xf32>
    // The peak: 4 MiB that only the next op needs.
    %some = stablehlo.slice %sum [0:512] : (tensor<1024xf32>) -> tensor<512xf32>
    %each = stablehlo.broadcast_in_dim %some, dims = [1] : (tensor<512xf32>) -> tensor<64x512xf32>
    %after = stablehlo.add %ys, %each : tensor<64x512xf32>
    %large = stablehlo.dot_general %xs, %after, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x512xf32>) -> tensor<2048x512xf32>
    %small = stablehlo.dot_general %large, %ys, contracting_dims = [1] x [1] : (tensor<2048x512xf32>, tensor<64x512xf32>) -> tensor<2048x64xf32>
    %token = stablehlo.dot_general %small, %xs, contracting_dims = [0] x [0] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<64x64xf32>
    %v = stablehlo.dot_general %r, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
    %b = stablehlo.dot_general %e, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
    %c = stablehlo.divide %b, %sums : tensor<1024x64xf32>
    stablehlo.return %next, %c, %xs, %ys : tensor<i64>, tensor<1024x64xf32>, tensor<2048x64xf32>, tensor<64x512xf32>
  }
  return %r0 : tensor<1024x64xf32>
}

// -----

// Where that is less than a sixteenth of what is alive, a loop stays as it is.
// CHECK-LABEL: func.func @little
// CHECK-NOT: optimization_barrier
// CHECK: return
func.func @little(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>) -> tensor<1024x64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %i0, %r0, %x0, %y0 = stablehlo.while(%i = %zero, %r = %x1, %xs = %x, %ys = %y) : tensor<i64>, tensor<1024x64xf32>, tensor<4096x64xf32>, tensor<64x1024xf32>
  cond {
    %ten = stablehlo.constant dense<10> : tensor<i64>
    %more = stablehlo.compare LT, %i, %ten, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %none = stablehlo.constant dense<0.0> : tensor<f32>
    %next = stablehlo.add %i, %one : tensor<i64>
    %k = stablehlo.sine %r : tensor<1024x64xf32>
    %scores = stablehlo.dot_general %r, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
    %e = stablehlo.exponential %scores : tensor<1024x1024xf32>
    %sum = stablehlo.reduce(%e init: %none) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<1024xf32>) -> tensor<1024x64xf32>
    // The peak: 16 MiB that only the next op needs.
    %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
    %after = stablehlo.add %ys, %each : tensor<64x1024xf32>
    %large = stablehlo.dot_general %xs, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
    %small = stablehlo.dot_general %large, %ys, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
    %token = stablehlo.dot_general %small, %xs, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
    %v = stablehlo.dot_general %r, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
    %b = stablehlo.dot_general %e, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
    %c = stablehlo.divide %b, %sums : tensor<1024x64xf32>
    stablehlo.return %next, %c, %xs, %ys : tensor<i64>, tensor<1024x64xf32>, tensor<4096x64xf32>, tensor<64x1024xf32>
  }
  return %r0 : tensor<1024x64xf32>
}
