// RUN: slimhlo-opt %s --slimhlo-dus-to-pad | FileCheck %s

// Pieces that tile a box are concatenated, in the order of their places, and padded once.
// CHECK-LABEL: func @tiles
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<3xf32>, %[[Z:.*]]: tensor<1xf32>)
func.func @tiles(%x: tensor<2xf32>, %y: tensor<3xf32>, %z: tensor<1xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c2 = stablehlo.constant dense<2> : tensor<i32>
  %c4 = stablehlo.constant dense<4> : tensor<i32>
  // CHECK: %[[ALL:.*]] = stablehlo.concatenate %[[Z]], %[[X]], %[[Y]], dim = 0
  // CHECK-NOT: dynamic_update_slice
  // CHECK: stablehlo.pad %[[ALL]], %{{.*}}, low = [1], high = [3]
  // CHECK-NEXT: return
  %0 = stablehlo.dynamic_update_slice %zeros, %x, %c2 : (tensor<10xf32>, tensor<2xf32>, tensor<i32>) -> tensor<10xf32>
  %1 = stablehlo.dynamic_update_slice %0, %y, %c4 : (tensor<10xf32>, tensor<3xf32>, tensor<i32>) -> tensor<10xf32>
  %2 = stablehlo.dynamic_update_slice %1, %z, %c1 : (tensor<10xf32>, tensor<1xf32>, tensor<i32>) -> tensor<10xf32>
  return %2 : tensor<10xf32>
}

// Tiles of everything need no pad.
// CHECK-LABEL: func @tiles_all
func.func @tiles_all(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<5xf32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c2 = stablehlo.constant dense<2> : tensor<i32>
  // CHECK-NEXT: %[[ALL:.*]] = stablehlo.concatenate %arg0, %arg1, dim = 0
  // CHECK-NEXT: return %[[ALL]]
  %0 = stablehlo.dynamic_update_slice %zeros, %x, %c0 : (tensor<5xf32>, tensor<2xf32>, tensor<i32>) -> tensor<5xf32>
  %1 = stablehlo.dynamic_update_slice %0, %y, %c2 : (tensor<5xf32>, tensor<3xf32>, tensor<i32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}

// The second update paints over the first.
// CHECK-LABEL: func @covered
func.func @covered(%x: tensor<2xf32>, %y: tensor<4xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %c2 = stablehlo.constant dense<2> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: stablehlo.pad %arg1, %{{.*}}, low = [1], high = [5]
  // CHECK-NEXT: return
  %0 = stablehlo.dynamic_update_slice %zeros, %x, %c2 : (tensor<10xf32>, tensor<2xf32>, tensor<i32>) -> tensor<10xf32>
  %1 = stablehlo.dynamic_update_slice %0, %y, %c1 : (tensor<10xf32>, tensor<4xf32>, tensor<i32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// Overlapping pieces do not tile: the first becomes a pad, the second is written into it.
// CHECK-LABEL: func @overlap
func.func @overlap(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %c2 = stablehlo.constant dense<2> : tensor<i32>
  %c4 = stablehlo.constant dense<4> : tensor<i32>
  // CHECK: %[[PAD:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [2], high = [5]
  // CHECK: stablehlo.dynamic_update_slice %[[PAD]], %arg1
  %0 = stablehlo.dynamic_update_slice %zeros, %x, %c2 : (tensor<10xf32>, tensor<3xf32>, tensor<i32>) -> tensor<10xf32>
  %1 = stablehlo.dynamic_update_slice %0, %y, %c4 : (tensor<10xf32>, tensor<3xf32>, tensor<i32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// The intermediate array is needed, so its pieces are not computed a second time.
// CHECK-LABEL: func @shared
func.func @shared(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %c2 = stablehlo.constant dense<2> : tensor<i32>
  %c4 = stablehlo.constant dense<4> : tensor<i32>
  // CHECK-NOT: concatenate
  // CHECK: %[[PAD:.*]] = stablehlo.pad %arg0
  // CHECK: %[[R:.*]] = stablehlo.dynamic_update_slice %[[PAD]], %arg1
  // CHECK: return %[[PAD]], %[[R]]
  %0 = stablehlo.dynamic_update_slice %zeros, %x, %c2 : (tensor<10xf32>, tensor<2xf32>, tensor<i32>) -> tensor<10xf32>
  %1 = stablehlo.dynamic_update_slice %0, %y, %c4 : (tensor<10xf32>, tensor<2xf32>, tensor<i32>) -> tensor<10xf32>
  return %0, %1 : tensor<10xf32>, tensor<10xf32>
}

// Both dots would have to be kept at once; written one after the other, the first is free when the second comes.
// CHECK-LABEL: func @costly
func.func @costly(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<32x8xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<32x8xf32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c8 = stablehlo.constant dense<8> : tensor<i32>
  // CHECK-NOT: concatenate
  // CHECK: stablehlo.dot
  // CHECK: %[[PAD:.*]] = stablehlo.pad
  // CHECK: stablehlo.dynamic_update_slice %[[PAD]]
  %x = stablehlo.dot %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = stablehlo.dynamic_update_slice %zeros, %x, %c0, %c0 : (tensor<32x8xf32>, tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<32x8xf32>
  %y = stablehlo.dot %b, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.dynamic_update_slice %0, %y, %c8, %c0 : (tensor<32x8xf32>, tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<32x8xf32>
  return %1 : tensor<32x8xf32>
}
