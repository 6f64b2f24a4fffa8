// RUN: slimhlo-opt %s --slimhlo-slabs="target=xla-cpu min-bytes=1 slab-bytes=64" | FileCheck %s
// Two stages of a field that wraps around: a loop over rows that are like all others, then the rows at both ends.
// CHECK-LABEL: func @two_stages
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<64x4xf32>
// CHECK: %[[LOOP:[^:]*]]:3 = stablehlo.while(%[[I:[^ ]*]] = %{{[^ ,]*}}, %[[NEW:[^ ]*]] = %{{[^ ,]*}}, %[[IN:[^ ]*]] = %[[X]])
// CHECK: do {
// CHECK: stablehlo.dynamic_slice %[[IN]]
// CHECK-NOT: stablehlo.concatenate
// CHECK: stablehlo.dynamic_update_slice %[[NEW]], %{{[^ ,]*}}, %[[I]]
// CHECK: stablehlo.return
// CHECK: stablehlo.concatenate
// CHECK: %[[FIRST:[^ ]*]] = stablehlo.dynamic_update_slice %[[LOOP]]#1
// CHECK: %[[LAST:[^ ]*]] = stablehlo.dynamic_update_slice %[[FIRST]]
// CHECK: return %[[LAST]]
func.func @two_stages(%x: tensor<64x4xf32>) -> tensor<64x4xf32> {
  %a = stablehlo.slice %x [63:64, 0:4] : (tensor<64x4xf32>) -> tensor<1x4xf32>
  %b = stablehlo.slice %x [0:63, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %west = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1x4xf32>, tensor<63x4xf32>) -> tensor<64x4xf32>
  %d = stablehlo.subtract %x, %west : tensor<64x4xf32>
  %c = stablehlo.slice %d [1:64, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %e = stablehlo.slice %d [0:1, 0:4] : (tensor<64x4xf32>) -> tensor<1x4xf32>
  %east = stablehlo.concatenate %c, %e, dim = 0 : (tensor<63x4xf32>, tensor<1x4xf32>) -> tensor<64x4xf32>
  %new = stablehlo.subtract %east, %d : tensor<64x4xf32>
  return %new : tensor<64x4xf32>
}
