// RUN: slimhlo-opt %s --slimhlo-optimize | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize=max-slowdown=1 | FileCheck %s --check-prefix=FASTEST
// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s --check-prefix=CPU

// Scores of 16 heads, 1 GiB, and weights as large. A GPU stores both: a loop over heads stores some of them at a time, a whole head or more in a
// turn, since each turn starts kernels. Nothing may get slower with max-slowdown=1. XLA for CPU hands all of it to a library that
// stores neither.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general {{.*}}x4096x4096xf32>
// FASTEST-LABEL: func.func @main
// FASTEST-NOT: stablehlo.while
// CPU-LABEL: func.func @main
// CPU-NOT: stablehlo.while
func.func @main(%q: tensor<16x4096x64xf32>, %k: tensor<16x4096x64xf32>, %v: tensor<16x4096x64xf32>) -> tensor<16x4096x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scores = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<16x4096x64xf32>, tensor<16x4096x64xf32>) -> tensor<16x4096x4096xf32>
  %max = stablehlo.reduce(%scores init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<16x4096x4096xf32>, tensor<f32>) -> tensor<16x4096xf32>
  %maxes = stablehlo.broadcast_in_dim %max, dims = [0, 1] : (tensor<16x4096xf32>) -> tensor<16x4096x4096xf32>
  %less = stablehlo.subtract %scores, %maxes : tensor<16x4096x4096xf32>
  %e = stablehlo.exponential %less : tensor<16x4096x4096xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<16x4096x4096xf32>, tensor<f32>) -> tensor<16x4096xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<16x4096xf32>) -> tensor<16x4096x4096xf32>
  %w = stablehlo.divide %e, %sums : tensor<16x4096x4096xf32>
  %r = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<16x4096x4096xf32>, tensor<16x4096x64xf32>) -> tensor<16x4096x64xf32>
  return %r : tensor<16x4096x64xf32>
}
