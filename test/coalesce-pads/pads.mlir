// RUN: slimhlo-opt %s --slimhlo-coalesce-pads | FileCheck %s

// CHECK-LABEL: func @of_pad
func.func @of_pad(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<21xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.pad %arg0, %arg1, low = [3], high = [8], interior = [2]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.pad %x, %v, low = [1], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %1 = stablehlo.pad %0, %v, low = [0], high = [2], interior = [2] : (tensor<7xf32>, tensor<f32>) -> tensor<21xf32>
  return %1 : tensor<21xf32>
}

// What the inner one cuts off does not come back.
// CHECK-LABEL: func @cut_off
func.func @cut_off(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<5xf32> {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.slice %arg0 [1:4]
  // CHECK-NEXT: %[[R:.*]] = stablehlo.pad %[[A]], %arg1, low = [2], high = [0]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.pad %x, %v, low = [-1], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = stablehlo.pad %0, %v, low = [2], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}

// CHECK-LABEL: func @other_value
func.func @other_value(%x: tensor<4xf32>, %v: tensor<f32>, %w: tensor<f32>) -> tensor<9xf32> {
  // CHECK: stablehlo.pad
  // CHECK: stablehlo.pad
  %0 = stablehlo.pad %x, %v, low = [1], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %1 = stablehlo.pad %0, %w, low = [0], high = [2], interior = [0] : (tensor<7xf32>, tensor<f32>) -> tensor<9xf32>
  return %1 : tensor<9xf32>
}

// Something else needs the inner pad.
// CHECK-LABEL: func @shared
func.func @shared(%x: tensor<4xf32>, %v: tensor<f32>) -> (tensor<7xf32>, tensor<9xf32>) {
  // CHECK: stablehlo.pad
  // CHECK: stablehlo.pad
  %0 = stablehlo.pad %x, %v, low = [1], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %1 = stablehlo.pad %0, %v, low = [0], high = [2], interior = [0] : (tensor<7xf32>, tensor<f32>) -> tensor<9xf32>
  return %0, %1 : tensor<7xf32>, tensor<9xf32>
}

// CHECK-LABEL: func @of_splat
func.func @of_splat(%v: tensor<f32>) -> tensor<7xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<7xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.pad %0, %v, low = [1], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  return %1 : tensor<7xf32>
}

// CHECK-LABEL: func @only_cuts
func.func @only_cuts(%x: tensor<9xf32>, %v: tensor<f32>) -> tensor<6xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.slice %arg0 [1:7]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.pad %x, %v, low = [-1], high = [-2], interior = [0] : (tensor<9xf32>, tensor<f32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
