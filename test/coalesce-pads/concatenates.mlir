// RUN: slimhlo-opt %s --slimhlo-coalesce-pads | FileCheck %s

// CHECK-LABEL: func @between_splats
func.func @between_splats(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<9xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.pad %arg0, %arg1, low = [3], high = [2], interior = [0]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<1xf32>
  %1 = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %2 = stablehlo.concatenate %0, %1, %x, %1, dim = 0 : (tensor<1xf32>, tensor<2xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<9xf32>
  return %2 : tensor<9xf32>
}

// 0.0 and -0.0 are not the same.
// CHECK-LABEL: func @two_scalars
func.func @two_scalars(%x: tensor<4xf32>) -> tensor<9xf32> {
  // CHECK: stablehlo.concatenate
  %0 = stablehlo.constant dense<0.0> : tensor<3xf32>
  %1 = stablehlo.constant dense<-0.0> : tensor<2xf32>
  %2 = stablehlo.concatenate %0, %x, %1, dim = 0 : (tensor<3xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<9xf32>
  return %2 : tensor<9xf32>
}

// Two values stay a concatenate; splats next to each other are one.
// CHECK-LABEL: func @two_values
func.func @two_values(%x: tensor<4xf32>, %y: tensor<4xf32>, %v: tensor<f32>) -> tensor<12xf32> {
  // CHECK-NEXT: %[[S:.*]] = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[R:.*]] = stablehlo.concatenate %arg0, %[[S]], %arg1, dim = 0
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.concatenate %x, %0, %0, %y, dim = 0 : (tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) -> tensor<12xf32>
  return %1 : tensor<12xf32>
}

// CHECK-LABEL: func @pad_and_splat
func.func @pad_and_splat(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<9xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.pad %arg0, %arg1, low = [3], high = [2], interior = [0]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.pad %x, %v, low = [1], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<2xf32>, tensor<7xf32>) -> tensor<9xf32>
  return %2 : tensor<9xf32>
}

// CHECK-LABEL: func @padded_alike
func.func @padded_alike(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>, %v: tensor<f32>) -> tensor<5x7xf32> {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.concatenate %arg0, %arg1, dim = 0
  // CHECK-NEXT: %[[R:.*]] = stablehlo.pad %[[A]], %arg2, low = [0, 1], high = [0, 2], interior = [0, 0]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.pad %x, %v, low = [0, 1], high = [0, 2], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x7xf32>
  %1 = stablehlo.pad %y, %v, low = [0, 1], high = [0, 2], interior = [0, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x7xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<2x7xf32>, tensor<3x7xf32>) -> tensor<5x7xf32>
  return %2 : tensor<5x7xf32>
}

// A lone element that is no constant is copied, not padded with.
// CHECK-LABEL: func @lone_element
func.func @lone_element(%x: tensor<40xf16>) -> tensor<40xf16> {
  %rest = stablehlo.slice %x [1:40] : (tensor<40xf16>) -> tensor<39xf16>
  %first = stablehlo.slice %x [0:1] : (tensor<40xf16>) -> tensor<1xf16>
  // CHECK: stablehlo.concatenate
  // CHECK-NOT: stablehlo.pad
  %r = stablehlo.concatenate %rest, %first, dim = 0 : (tensor<39xf16>, tensor<1xf16>) -> tensor<40xf16>
  return %r : tensor<40xf16>
}

// Several copies of it are.
// CHECK-LABEL: func @repeated_element
func.func @repeated_element(%x: tensor<40xf16>) -> tensor<42xf16> {
  %first = stablehlo.slice %x [0:1] : (tensor<40xf16>) -> tensor<1xf16>
  %more = stablehlo.broadcast_in_dim %first, dims = [0] : (tensor<1xf16>) -> tensor<2xf16>
  // CHECK: stablehlo.pad
  %r = stablehlo.concatenate %x, %more, dim = 0 : (tensor<40xf16>, tensor<2xf16>) -> tensor<42xf16>
  return %r : tensor<42xf16>
}
