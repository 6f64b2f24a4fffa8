// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// The operands of chlo's broadcasting ops are repeated where they are narrower, along the last dimensions unless the op
// says which.

// CHECK: func.func private @broadcast_add_0(%[[A:[a-z0-9]+]]: tensor<4x8xf32>, %[[B:[a-z0-9]+]]: tensor<8xf32>)
// CHECK-NEXT: %[[W:[0-9]+]] = stablehlo.broadcast_in_dim %[[B]], dims = [1]
// CHECK-NEXT: chlo.broadcast_add %[[A]], %[[W]]
// CHECK: func.func private @broadcast_maximum_0(%[[C:[a-z0-9]+]]: tensor<4xf32>, %[[D:[a-z0-9]+]]: tensor<4x8xf32>)
// CHECK-NEXT: %[[V:[0-9]+]] = stablehlo.broadcast_in_dim %[[C]], dims = [0]
// CHECK-NEXT: chlo.broadcast_maximum %[[D]], %[[V]]
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8xf32>, %c: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = chlo.broadcast_add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %p = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = chlo.broadcast_maximum %2, %c {broadcast_dimensions = array<i64: 0>} : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return %0, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}
