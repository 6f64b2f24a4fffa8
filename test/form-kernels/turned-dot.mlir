// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// The gradient of weights comes transposed: it is the product of the operands the other way round, and its update may write over it.

// CHECK-LABEL: func.func @main
// CHECK: call @subtract_0
// CHECK: func.func private @subtract_0
// CHECK-SAME: slimhlo.kernel = "dot"
// CHECK-NOT: stablehlo.transpose
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [0] x [0], precision = [HIGH, DEFAULT] : (tensor<32x16xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
// CHECK-NOT: stablehlo.transpose
func.func @main(%w: tensor<16x8xf32>, %d: tensor<32x8xf32>, %x: tensor<32x16xf32>) -> tensor<16x8xf32> {
  %0 = stablehlo.dot_general %d, %x, contracting_dims = [0] x [0], precision = [DEFAULT, HIGH] : (tensor<32x8xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %2 = stablehlo.subtract %w, %1 : tensor<16x8xf32>
  return %2 : tensor<16x8xf32>
}

// -----

// Not where others read the product, nor where dimensions of one operand change places.

// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: stablehlo.transpose
func.func @main(%d: tensor<32x8xf32>, %x: tensor<32x16xf32>, %y: tensor<32x4x4xf32>) -> (tensor<16x8xf32>, tensor<8x16xf32>, tensor<4x4x8xf32>) {
  %0 = stablehlo.dot_general %d, %x, contracting_dims = [0] x [0] : (tensor<32x8xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %2 = stablehlo.dot_general %d, %y, contracting_dims = [0] x [0] : (tensor<32x8xf32>, tensor<32x4x4xf32>) -> tensor<8x4x4xf32>
  %3 = stablehlo.transpose %2, dims = [2, 1, 0] : (tensor<8x4x4xf32>) -> tensor<4x4x8xf32>
  return %1, %0, %3 : tensor<16x8xf32>, tensor<8x16xf32>, tensor<4x4x8xf32>
}
