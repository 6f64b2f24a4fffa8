// RUN: slimhlo-opt %s --slimhlo-emit-gpu --split-input-file | FileCheck %s

// Elements go through workgroup memory, in the order of the operand and then in that of the result; edges are held and not stored.
// CHECK-LABEL: gpu.func @transpose
// CHECK-SAME: workgroup({{.*}} : memref<1056xf32, #gpu.address_space<workgroup>>)
// CHECK: scf.for
// CHECK: arith.minui
// CHECK: llvm.load
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: scf.if
// CHECK: llvm.store
// CHECK: gpu.barrier
// CHECK: gpu.return
func.func private @transpose(%x: tensor<300x500xf32>) -> tensor<500x300xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<300x500xf32>) -> tensor<500x300xf32>
  return %r : tensor<500x300xf32>
}

// -----

// Of several operands those that are transposed do, each for itself.
// CHECK-LABEL: gpu.func @some
// CHECK-SAME: memref<1056xf32, #gpu.address_space<workgroup>>
// CHECK-SAME: memref<1056xi8, #gpu.address_space<workgroup>>
// CHECK-NOT: memref.load
// CHECK: gpu.barrier
// CHECK: llvm.getelementptr %arg2[
// CHECK: gpu.return
func.func private @some(%x: tensor<3x256x256xf32>, %y: tensor<3x256x256xi1>, %z: tensor<3x256x256xf32>) -> tensor<3x256x256xf32> attributes {slimhlo.kernel = "map"} {
  %a = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<3x256x256xf32>) -> tensor<3x256x256xf32>
  %b = stablehlo.transpose %y, dims = [0, 2, 1] : (tensor<3x256x256xi1>) -> tensor<3x256x256xi1>
  %c = stablehlo.sine %a : tensor<3x256x256xf32>
  %r = stablehlo.select %b, %c, %z : tensor<3x256x256xi1>, tensor<3x256x256xf32>
  return %r : tensor<3x256x256xf32>
}

// -----

// Dimensions that stay side by side are one, here 4 x 200; reshapes after it do not matter.
// CHECK-LABEL: gpu.func @merged
// CHECK-SAME: memref<1056xf64, #gpu.address_space<workgroup>>
// CHECK: gpu.return
func.func private @merged(%x: tensor<300x200x4xf64>) -> tensor<240000xf64> attributes {slimhlo.kernel = "map"} {
  %t = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<300x200x4xf64>) -> tensor<200x4x300xf64>
  %r = stablehlo.reshape %t : (tensor<200x4x300xf64>) -> tensor<240000xf64>
  return %r : tensor<240000xf64>
}

// -----

// The last dimension stays: neighbours are read as neighbours anyway.
// CHECK-LABEL: gpu.func @last_stays
// CHECK-NOT: workgroup
// CHECK: gpu.return
func.func private @last_stays(%x: tensor<100x200x64xf32>) -> tensor<200x100x64xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<100x200x64xf32>) -> tensor<200x100x64xf32>
  return %r : tensor<200x100x64xf32>
}

// -----

// What is small lies in caches.
// CHECK-LABEL: gpu.func @small
// CHECK-NOT: workgroup
// CHECK: gpu.return
func.func private @small(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// Few channels: lines that are read are used by the same warp.
// CHECK-LABEL: gpu.func @channels
// CHECK-NOT: workgroup
// CHECK: gpu.return
func.func private @channels(%x: tensor<8x3x224x224xf32>) -> tensor<8x224x224x3xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.transpose %x, dims = [0, 2, 3, 1] : (tensor<8x3x224x224xf32>) -> tensor<8x224x224x3xf32>
  return %r : tensor<8x224x224x3xf32>
}

// -----

// One element for a whole row.
// CHECK-LABEL: gpu.func @broadcast
// CHECK-NOT: workgroup
// CHECK: gpu.return
func.func private @broadcast(%x: tensor<1024x1024xf32>, %y: tensor<1024xf32>) -> tensor<1024x1024xf32> attributes {slimhlo.kernel = "map"} {
  %b = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %r = stablehlo.multiply %x, %b : tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}
