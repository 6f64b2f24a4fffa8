// RUN: slimhlo-opt %s --slimhlo-hold-biases="target=h100" --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-hold-biases="target=xla-cpu" --split-input-file | FileCheck %s --check-prefix=OTHER
// RUN: slimhlo-opt %s --slimhlo-hold-biases="target=v5p" --split-input-file | FileCheck %s --check-prefix=OTHER

// OTHER-NOT: optimization_barrier

// A bias for each sample, which all heads share: XLA for an H100 would store it for each head.
// CHECK-LABEL: func @by_sample
func.func @by_sample(%q: tensor<8x4x64x16xbf16>, %k: tensor<8x4x64x16xbf16>, %bias: tensor<8x1x64x64xbf16>) -> tensor<8x4x64x64xbf16> {
  // CHECK: %[[S:.*]] = stablehlo.dot_general
  // CHECK: %[[H:.*]] = stablehlo.optimization_barrier %arg2
  // CHECK: %[[B:.*]] = stablehlo.broadcast_in_dim %[[H]], dims = [0, 1, 2, 3]
  // CHECK: stablehlo.add %[[S]], %[[B]]
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<8x4x64x16xbf16>, tensor<8x4x64x16xbf16>) -> tensor<8x4x64x64xbf16>
  %1 = stablehlo.broadcast_in_dim %bias, dims = [0, 1, 2, 3] : (tensor<8x1x64x64xbf16>) -> tensor<8x4x64x64xbf16>
  %2 = stablehlo.add %0, %1 : tensor<8x4x64x64xbf16>
  return %2 : tensor<8x4x64x64xbf16>
}

// -----

// In a loop, scaled before: what a loop carries is given to its body.
// CHECK-LABEL: func @by_head
func.func @by_head(%q: tensor<8x4x64x16xbf16>, %k: tensor<8x4x64x16xbf16>, %bias: tensor<4x64xbf16>, %out: tensor<8x4x64x64xbf16>) -> tensor<8x4x64x64xbf16> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %scale = stablehlo.constant dense<0.125> : tensor<8x4x64x64xbf16>
  %0:3 = stablehlo.while(%i = %zero, %b = %bias, %o = %out) : tensor<i32>, tensor<4x64xbf16>, tensor<8x4x64x64xbf16>
    cond {
    %1 = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    // CHECK: %[[H:.*]] = stablehlo.optimization_barrier %{{.*}} : tensor<4x64xbf16>
    // CHECK: stablehlo.broadcast_in_dim %[[H]], dims = [1, 3]
    %1 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<8x4x64x16xbf16>, tensor<8x4x64x16xbf16>) -> tensor<8x4x64x64xbf16>
    %2 = stablehlo.multiply %1, %scale : tensor<8x4x64x64xbf16>
    %3 = stablehlo.broadcast_in_dim %b, dims = [1, 3] : (tensor<4x64xbf16>) -> tensor<8x4x64x64xbf16>
    %4 = stablehlo.add %2, %3 : tensor<8x4x64x64xbf16>
    %5 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %5, %b, %4 : tensor<i32>, tensor<4x64xbf16>, tensor<8x4x64x64xbf16>
  }
  return %0#2 : tensor<8x4x64x64xbf16>
}

// -----

// The product's kernel can say these: repeated for all of the batch, for nothing of it, or in a batch of one dimension.
// CHECK-LABEL: func @fused
func.func @fused(%q: tensor<8x4x64x16xbf16>, %k: tensor<8x4x64x16xbf16>, %mask: tensor<64x64xbf16>, %all: tensor<8x4x64xbf16>, %x: tensor<8x64x16xbf16>, %one: tensor<64x64xbf16>) -> (tensor<8x4x64x64xbf16>, tensor<8x4x64x64xbf16>, tensor<8x64x64xbf16>) {
  // CHECK-NOT: optimization_barrier
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<8x4x64x16xbf16>, tensor<8x4x64x16xbf16>) -> tensor<8x4x64x64xbf16>
  %1 = stablehlo.broadcast_in_dim %mask, dims = [2, 3] : (tensor<64x64xbf16>) -> tensor<8x4x64x64xbf16>
  %2 = stablehlo.add %0, %1 : tensor<8x4x64x64xbf16>
  %3 = stablehlo.dot_general %k, %q, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<8x4x64x16xbf16>, tensor<8x4x64x16xbf16>) -> tensor<8x4x64x64xbf16>
  %4 = stablehlo.broadcast_in_dim %all, dims = [0, 1, 3] : (tensor<8x4x64xbf16>) -> tensor<8x4x64x64xbf16>
  %5 = stablehlo.add %3, %4 : tensor<8x4x64x64xbf16>
  %6 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x64x16xbf16>, tensor<8x64x16xbf16>) -> tensor<8x64x64xbf16>
  %7 = stablehlo.broadcast_in_dim %one, dims = [1, 2] : (tensor<64x64xbf16>) -> tensor<8x64x64xbf16>
  %8 = stablehlo.add %6, %7 : tensor<8x64x64xbf16>
  return %2, %5, %8 : tensor<8x4x64x64xbf16>, tensor<8x4x64x64xbf16>, tensor<8x64x64xbf16>
}

// -----

// The scores are there, and what is computed is not given: nothing is taken along.
// CHECK-LABEL: func @apart
func.func @apart(%q: tensor<8x4x64x16xbf16>, %k: tensor<8x4x64x16xbf16>, %bias: tensor<8x1x64x64xbf16>) -> (tensor<8x4x64x64xbf16>, tensor<8x4x64x64xbf16>, tensor<8x4x64x64xbf16>) {
  // CHECK-NOT: optimization_barrier
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<8x4x64x16xbf16>, tensor<8x4x64x16xbf16>) -> tensor<8x4x64x64xbf16>
  %1 = stablehlo.broadcast_in_dim %bias, dims = [0, 1, 2, 3] : (tensor<8x1x64x64xbf16>) -> tensor<8x4x64x64xbf16>
  %2 = stablehlo.add %0, %1 : tensor<8x4x64x64xbf16>
  %3 = stablehlo.negate %bias : tensor<8x1x64x64xbf16>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<8x1x64x64xbf16>) -> tensor<8x4x64x64xbf16>
  %5 = stablehlo.dot_general %k, %q, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<8x4x64x16xbf16>, tensor<8x4x64x16xbf16>) -> tensor<8x4x64x64xbf16>
  %6 = stablehlo.add %5, %4 : tensor<8x4x64x64xbf16>
  return %0, %2, %6 : tensor<8x4x64x64xbf16>, tensor<8x4x64x64xbf16>, tensor<8x4x64x64xbf16>
}
