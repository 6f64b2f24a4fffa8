// RUN: slimhlo-opt %s --slimhlo-emit-gpu --split-input-file | FileCheck %s

// A product of matrices by tiles: places of the window times features. What lies in the padding is zero.
// CHECK-LABEL: gpu.func @tiles
// CHECK-SAME: memref<1088xf32, #gpu.address_space<workgroup>>
// CHECK-SAME: memref<1088xf32, #gpu.address_space<workgroup>>
// CHECK: llvm.load
// CHECK: memref.load
// CHECK: arith.mulf
// CHECK: gpu.barrier
// CHECK: arith.select
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: llvm.store
// CHECK: gpu.return
func.func private @tiles(%x: tensor<8x64x56x56xf32>, %w: tensor<128x64x3x3xf32>) -> tensor<8x128x56x56xf32> attributes {slimhlo.kernel = "convolution"} {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x64x56x56xf32>, tensor<128x64x3x3xf32>) -> tensor<8x128x56x56xf32>
  return %r : tensor<8x128x56x56xf32>
}

// -----

// Groups are products of their own, of 32 columns here, which are half of a large tile; sums of narrow floats are in f32.
// CHECK-LABEL: gpu.func @groups
// CHECK-SAME: memref<2304xf32, #gpu.address_space<workgroup>>
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: arith.truncf {{.*}} : f32 to bf16
// CHECK: gpu.return
func.func private @groups(%x: tensor<8x56x56x64xbf16>, %w: tensor<3x3x16x128xbf16>) -> tensor<8x54x54x128xbf16> attributes {slimhlo.kernel = "convolution"} {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<8x56x56x64xbf16>, tensor<3x3x16x128xbf16>) -> tensor<8x54x54x128xbf16>
  return %r : tensor<8x54x54x128xbf16>
}

// -----

// A feature for itself has no use for tiles.
// CHECK-LABEL: gpu.func @depthwise
// CHECK-NOT: workgroup
// CHECK: scf.for
// CHECK: gpu.return
func.func private @depthwise(%x: tensor<8x56x56x64xf32>, %w: tensor<3x3x1x64xf32>) -> tensor<8x54x54x64xf32> attributes {slimhlo.kernel = "convolution"} {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 64 : i64} : (tensor<8x56x56x64xf32>, tensor<3x3x1x64xf32>) -> tensor<8x54x54x64xf32>
  return %r : tensor<8x54x54x64xf32>
}
