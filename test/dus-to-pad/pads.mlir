// RUN: slimhlo-opt %s --slimhlo-dus-to-pad | FileCheck %s

// A padded piece put into more of the same padding is one pad.
// CHECK-LABEL: func @update_is_pad
func.func @update_is_pad(%x: tensor<2xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %p = stablehlo.pad %x, %zero, low = [1], high = [2], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  // CHECK: stablehlo.pad %arg0, %{{.*}}, low = [4], high = [4], interior = [0]
  // CHECK-NEXT: return
  %r = stablehlo.dynamic_update_slice %zeros, %p, %c3 : (tensor<10xf32>, tensor<5xf32>, tensor<i32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// CHECK-LABEL: func @into_pad
func.func @into_pad(%x: tensor<2xf32>, %y: tensor<3xf32>, %v: tensor<f32>) -> tensor<10xf32> {
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %p = stablehlo.pad %x, %v, low = [1], high = [7], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<10xf32>
  // CHECK-NEXT: %[[ALL:.*]] = stablehlo.concatenate %arg0, %arg1, dim = 0
  // CHECK-NEXT: stablehlo.pad %[[ALL]], %arg2, low = [1], high = [4], interior = [0]
  %r = stablehlo.dynamic_update_slice %p, %y, %c3 : (tensor<10xf32>, tensor<3xf32>, tensor<i32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// 0.0 and -0.0 are not the same padding.
// CHECK-LABEL: func @other_padding
func.func @other_padding(%x: tensor<2xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<-0.0> : tensor<10xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %p = stablehlo.pad %x, %zero, low = [1], high = [2], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  // CHECK: %[[P:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [1], high = [2]
  // CHECK: stablehlo.pad %[[P]], %{{.*}}, low = [3], high = [2]
  %r = stablehlo.dynamic_update_slice %zeros, %p, %c3 : (tensor<10xf32>, tensor<5xf32>, tensor<i32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// Interior padding and cropping pads are not taken apart.
// CHECK-LABEL: func @interior
func.func @interior(%x: tensor<2xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %p = stablehlo.pad %x, %zero, low = [0], high = [0], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
  // CHECK: %[[P:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [0], high = [0], interior = [1]
  // CHECK: stablehlo.pad %[[P]], %{{.*}}, low = [3], high = [4], interior = [0]
  %r = stablehlo.dynamic_update_slice %zeros, %p, %c3 : (tensor<10xf32>, tensor<3xf32>, tensor<i32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}
