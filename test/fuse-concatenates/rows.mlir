// RUN: slimhlo-opt %s --slimhlo-fuse-concatenates | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-fuse-concatenates --slimhlo-fuse-concatenates | FileCheck %s

// A rotated field: XLA for CPU would store both slices and what they are joined to.
// CHECK-LABEL: func.func @rotated
// CHECK-SAME: %[[X:[^ :]*]]: tensor<64x512xf64>
// CHECK: %[[E:[^ ]*]] = stablehlo.slice %[[X]] [0:64, 511:512]
// CHECK-NEXT: %[[R:[^ ]*]] = stablehlo.slice %[[X]] [0:64, 0:511]
// CHECK-NEXT: %[[E1:[^ ]*]] = stablehlo.reshape %[[E]] : (tensor<64x1xf64>) -> tensor<64x1x1xf64>
// CHECK-NEXT: %[[R1:[^ ]*]] = stablehlo.reshape %[[R]] : (tensor<64x511xf64>) -> tensor<64x511x1xf64>
// CHECK-NEXT: %[[J:[^ ]*]] = stablehlo.concatenate %[[E1]], %[[R1]], dim = 1 : {{.*}} -> tensor<64x512x1xf64>
// CHECK-NEXT: %[[W:[^ ]*]] = stablehlo.reshape %[[J]] : (tensor<64x512x1xf64>) -> tensor<64x512xf64>
// CHECK-NEXT: stablehlo.add %[[W]], %[[X]]
func.func @rotated(%x: tensor<64x512xf64>) -> tensor<64x512xf64> {
  %edge = stablehlo.slice %x [0:64, 511:512] : (tensor<64x512xf64>) -> tensor<64x1xf64>
  %rest = stablehlo.slice %x [0:64, 0:511] : (tensor<64x512xf64>) -> tensor<64x511xf64>
  %west = stablehlo.concatenate %edge, %rest, dim = 1 : (tensor<64x1xf64>, tensor<64x511xf64>) -> tensor<64x512xf64>
  %r = stablehlo.add %west, %x : tensor<64x512xf64>
  return %r : tensor<64x512xf64>
}

// What is computed is joined on the fly, into a result, too.
// CHECK-LABEL: func.func @results
// CHECK: stablehlo.concatenate {{.*}}, dim = 1 : (tensor<1x4096x1xf32>, tensor<1x4096x1xf32>) -> tensor<1x8192x1xf32>
func.func @results(%a: tensor<1x4096xf32>, %b: tensor<1x4096xf32>) -> tensor<1x8192xf32> {
  %0 = stablehlo.multiply %a, %a : tensor<1x4096xf32>
  %1 = stablehlo.multiply %b, %b : tensor<1x4096xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<1x4096xf32>, tensor<1x4096xf32>) -> tensor<1x8192xf32>
  return %2 : tensor<1x8192xf32>
}
