// RUN: slimhlo-opt %s --slimhlo-simplify --split-input-file | FileCheck %s

// A row of a transpose is a column of what it is made of.
// CHECK-LABEL: func.func @row
// CHECK: %[[COLUMN:.*]] = stablehlo.slice %arg0 [0:8, 3:4] : (tensor<8x4xf32>) -> tensor<8x1xf32>
// CHECK: %[[ROW:.*]] = stablehlo.transpose %[[COLUMN]], dims = [1, 0] : (tensor<8x1xf32>) -> tensor<1x8xf32>
// CHECK: return %[[ROW]]
func.func @row(%x: tensor<8x4xf32>) -> tensor<1x8xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %0 = stablehlo.slice %t [3:4, 0:8] : (tensor<4x8xf32>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// -----

// Every other element, along both.
// CHECK-LABEL: func.func @strides
// CHECK: stablehlo.slice %arg0 [1:8:3, 0:3:2] : (tensor<8x4xf32>) -> tensor<3x2xf32>
func.func @strides(%x: tensor<8x4xf32>) -> tensor<2x3xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %0 = stablehlo.slice %t [0:4:2, 1:8:3] : (tensor<4x8xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// The transpose is there anyway.
// CHECK-LABEL: func.func @kept
// CHECK: %[[T:.*]] = stablehlo.transpose %arg0
// CHECK: stablehlo.slice %[[T]] [3:4, 0:8]
func.func @kept(%x: tensor<8x4xf32>) -> (tensor<1x8xf32>, tensor<4x8xf32>) {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %0 = stablehlo.slice %t [3:4, 0:8] : (tensor<4x8xf32>) -> tensor<1x8xf32>
  return %0, %t : tensor<1x8xf32>, tensor<4x8xf32>
}

// -----

// Dimensions of size 1 come and go.
// CHECK-LABEL: func.func @ones
// CHECK: %[[PART:.*]] = stablehlo.slice %arg0 [2:5:2, 1:4] : (tensor<8x4xf32>) -> tensor<2x3xf32>
// CHECK: %[[ROWS:.*]] = stablehlo.reshape %[[PART]] : (tensor<2x3xf32>) -> tensor<1x2x1x3xf32>
// CHECK: return %[[ROWS]]
func.func @ones(%x: tensor<8x4xf32>) -> tensor<1x2x1x3xf32> {
  %r = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<1x8x1x4xf32>
  %0 = stablehlo.slice %r [0:1, 2:6:2, 0:1, 1:4] : (tensor<1x8x1x4xf32>) -> tensor<1x2x1x3xf32>
  return %0 : tensor<1x2x1x3xf32>
}

// -----

// Merged dimensions are another matter, and so is a slice of nothing.
// CHECK-LABEL: func.func @merged
// CHECK: stablehlo.reshape %arg0
// CHECK: stablehlo.slice
func.func @merged(%x: tensor<8x4xf32>) -> tensor<2xf32> {
  %r = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<32xf32>
  %0 = stablehlo.slice %r [3:5] : (tensor<32xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @nothing
// CHECK: stablehlo.reshape %arg0
// CHECK: stablehlo.slice
func.func @nothing(%x: tensor<8x4xf32>) -> tensor<0x8x4xf32> {
  %r = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<1x8x4xf32>
  %0 = stablehlo.slice %r [0:0, 0:8, 0:4] : (tensor<1x8x4xf32>) -> tensor<0x8x4xf32>
  return %0 : tensor<0x8x4xf32>
}
