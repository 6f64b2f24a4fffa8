// RUN: slimhlo-opt %s --slimhlo-simplify | FileCheck %s

// CHECK-LABEL: func @of_slice
func.func @of_slice(%x: tensor<20xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.slice %arg0 [4:13:4]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.slice %x [2:18:2] : (tensor<20xf32>) -> tensor<8xf32>
  %1 = stablehlo.slice %0 [1:6:2] : (tensor<8xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// The temporary has to be there for both; to read the larger one later would keep that as well.
// CHECK-LABEL: func @of_shared_slice
func.func @of_shared_slice(%x: tensor<20xf32>, %d: tensor<20x20xf32>) -> (tensor<8xf32>, tensor<3xf32>) {
  // CHECK: stablehlo.dot_general
  // CHECK-NEXT: %[[A:.*]] = stablehlo.slice %{{.*}} [2:10]
  // CHECK-NEXT: stablehlo.slice %[[A]] [1:4]
  %0 = stablehlo.dot_general %d, %x, contracting_dims = [1] x [0] : (tensor<20x20xf32>, tensor<20xf32>) -> tensor<20xf32>
  %1 = stablehlo.slice %0 [2:10] : (tensor<20xf32>) -> tensor<8xf32>
  %2 = stablehlo.slice %1 [1:4] : (tensor<8xf32>) -> tensor<3xf32>
  return %1, %2 : tensor<8xf32>, tensor<3xf32>
}

// CHECK-LABEL: func @of_concatenate
func.func @of_concatenate(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.slice %arg1 [1:3]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %1 = stablehlo.slice %0 [5:7] : (tensor<8xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// Across operands, each cut: the concatenate stays.
// CHECK-LABEL: func @across_operands
func.func @across_operands(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: stablehlo.concatenate
  // CHECK-NEXT: stablehlo.slice
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %1 = stablehlo.slice %0 [2:6] : (tensor<8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func @of_broadcast
func.func @of_broadcast(%x: tensor<6xf32>) -> tensor<3x2xf32> {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.slice %arg0 [4:6]
  // CHECK-NEXT: %[[B:.*]] = stablehlo.broadcast_in_dim %[[A]], dims = [1] : (tensor<2xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: return %[[B]]
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<6xf32>) -> tensor<9x6xf32>
  %1 = stablehlo.slice %0 [0:9:3, 4:6] : (tensor<9x6xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// CHECK-LABEL: func @of_pad_inside
func.func @of_pad_inside(%x: tensor<6xf32>, %v: tensor<f32>) -> tensor<3xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.slice %arg0 [1:4]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.pad %x, %v, low = [2], high = [2], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = stablehlo.slice %0 [3:6] : (tensor<10xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// CHECK-LABEL: func @of_pad_outside
func.func @of_pad_outside(%x: tensor<6xf32>, %v: tensor<f32>) -> tensor<2xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.broadcast_in_dim %arg1, dims = []
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.pad %x, %v, low = [2], high = [2], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = stablehlo.slice %0 [0:2] : (tensor<10xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func @of_pad_straddling
func.func @of_pad_straddling(%x: tensor<6xf32>, %v: tensor<f32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.slice %arg0 [0:3]
  // CHECK-NEXT: %[[R:.*]] = stablehlo.pad %[[A]], %arg1, low = [1], high = [0], interior = [0]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.pad %x, %v, low = [2], high = [2], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = stablehlo.slice %0 [1:5] : (tensor<10xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// With interior padding: the elements themselves, or the gaps between them.
// CHECK-LABEL: func @of_interior
func.func @of_interior(%x: tensor<4xf32>, %v: tensor<f32>) -> (tensor<4xf32>, tensor<3xf32>) {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.broadcast_in_dim %arg1, dims = []
  // CHECK-NEXT: return %arg0, %[[R]]
  %0 = stablehlo.pad %x, %v, low = [0], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %1 = stablehlo.slice %0 [0:7:2] : (tensor<7xf32>) -> tensor<4xf32>
  %2 = stablehlo.slice %0 [1:6:2] : (tensor<7xf32>) -> tensor<3xf32>
  return %1, %2 : tensor<4xf32>, tensor<3xf32>
}

// CHECK-LABEL: func @of_iota
func.func @of_iota() -> tensor<30x4xi32> {
  // CHECK-NEXT: stablehlo.iota dim = 1 : tensor<30x4xi32>
  // CHECK-NEXT: return
  %0 = stablehlo.iota dim = 1 : tensor<40x9xi32>
  %1 = stablehlo.slice %0 [4:34, 0:4] : (tensor<40x9xi32>) -> tensor<30x4xi32>
  return %1 : tensor<30x4xi32>
}

// All slices of one value, side by side again, are that value, whoever else reads them.
// CHECK-LABEL: func.func @put_together
// CHECK: %[[S:.*]] = stablehlo.sine %arg0
// CHECK: %[[A:.*]] = stablehlo.slice %[[S]] [0:4, 0:2]
// CHECK: return %[[S]], %[[A]]
func.func @put_together(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x2xf32>) {
  %s = stablehlo.sine %x : tensor<4x6xf32>
  %a = stablehlo.slice %s [0:4, 0:2] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %b = stablehlo.slice %s [0:4, 2:3] : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %c = stablehlo.slice %s [0:4, 3:6] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %all = stablehlo.concatenate %a, %b, %c, dim = 1 : (tensor<4x2xf32>, tensor<4x1xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  return %all, %a : tensor<4x6xf32>, tensor<4x2xf32>
}

// In another order, with one left out, or of some of the rows, they are not.
// CHECK-LABEL: func.func @not_put_together
// CHECK-COUNT-3: stablehlo.concatenate
func.func @not_put_together(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>, tensor<2x2xf32>) {
  %s = stablehlo.sine %x : tensor<4x4xf32>
  %a = stablehlo.slice %s [0:4, 0:2] : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %b = stablehlo.slice %s [0:4, 2:4] : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %other = stablehlo.concatenate %b, %a, dim = 1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %twice = stablehlo.concatenate %a, %a, dim = 1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %c = stablehlo.slice %s [0:2, 0:2] : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %d = stablehlo.slice %s [0:2, 2:4] : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %rows = stablehlo.concatenate %c, %d, dim = 1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  return %other, %twice, %rows, %a, %c : tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>, tensor<2x2xf32>
}
