// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// Gradients by sample, of which the sum alone is wanted: each is a product of two elements, and none is stored.

// CHECK-LABEL: func.func @main
// CHECK-NOT: tensor<64x8x16xf32>
// CHECK: func.func private @reduce_0
// CHECK-NOT: stablehlo.dot_general
// CHECK: %[[D:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [0, 1] : (tensor<64x8xf32>) -> tensor<64x8x16xf32>
// CHECK: %[[X:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [0, 2] : (tensor<64x16xf32>) -> tensor<64x8x16xf32>
// CHECK: stablehlo.multiply %[[D]], %[[X]]
func.func @main(%d: tensor<64x1x8xf32>, %x: tensor<64x1x16xf32>) -> tensor<8x16xf32> {
  %cst = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %d, %x, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<64x1x8xf32>, tensor<64x1x16xf32>) -> tensor<64x8x16xf32>
  %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<64x8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

// Narrow operands become what the product is of first.

// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.dot_general
// CHECK: stablehlo.convert %{{.*}} : (tensor<8xbf16>) -> tensor<8xf32>
// CHECK: stablehlo.convert %{{.*}} : (tensor<16xbf16>) -> tensor<16xf32>
// CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<8x16xf32>
func.func @main(%d: tensor<8x1xbf16>, %x: tensor<1x16xbf16>) -> tensor<8x16xf32> {
  %0 = stablehlo.dot_general %d, %x, contracting_dims = [1] x [0] : (tensor<8x1xbf16>, tensor<1x16xbf16>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// Not where two elements are contracted, nor where the batch comes behind an operand's own dimension.

// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: stablehlo.dot_general
func.func @main(%d: tensor<8x2xf32>, %x: tensor<2x16xf32>, %y: tensor<1x8x64xf32>, %z: tensor<1x64x16xf32>) -> (tensor<8x16xf32>, tensor<64x8x16xf32>) {
  %0 = stablehlo.dot_general %d, %x, contracting_dims = [1] x [0] : (tensor<8x2xf32>, tensor<2x16xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.dot_general %y, %z, batching_dims = [2] x [1], contracting_dims = [0] x [0] : (tensor<1x8x64xf32>, tensor<1x64x16xf32>) -> tensor<64x8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<64x8x16xf32>
}
