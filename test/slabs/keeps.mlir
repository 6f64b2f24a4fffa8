// RUN: slimhlo-opt %s --slimhlo-slabs="target=xla-cpu min-bytes=1 slab-bytes=64" | FileCheck %s
// CHECK-NOT: stablehlo.while

// The old field is a result, too.
func.func @returned(%x: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<64x4xf32>, tensor<64x4xf32>) {
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.slice %x [1:64, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %p = stablehlo.pad %a, %f, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<63x4xf32>, tensor<f32>) -> tensor<64x4xf32>
  return %p, %x : tensor<64x4xf32>, tensor<64x4xf32>
}

// Elementwise: it is in place as it stands.
func.func @elementwise(%x: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<64x4xf32> {
  %new = stablehlo.multiply %x, %x : tensor<64x4xf32>
  return %new : tensor<64x4xf32>
}

// Few rows change: reads and updates are put in order elsewhere.
func.func @small_update(%x: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<64x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.slice %x [60:62, 0:4] : (tensor<64x4xf32>) -> tensor<2x4xf32>
  %new = stablehlo.dynamic_update_slice %x, %a, %zero, %zero : (tensor<64x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<64x4xf32>
  return %new : tensor<64x4xf32>
}

// Smaller than four slabs.
func.func @small(%x: tensor<15x4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<15x4xf32> {
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.slice %x [1:15, 0:4] : (tensor<15x4xf32>) -> tensor<14x4xf32>
  %p = stablehlo.pad %a, %f, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<14x4xf32>, tensor<f32>) -> tensor<15x4xf32>
  return %p : tensor<15x4xf32>
}
