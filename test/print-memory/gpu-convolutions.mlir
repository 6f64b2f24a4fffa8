// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 top=0" -o /dev/null 2>&1 | FileCheck %s

// Temporaries, kernels and times are those of XLA for an H100 (`test/oracle/referee.py`): a library convolves, and reads from memory what it
// is given, be it larger than what that is made of.

// Images as bytes.
// CHECK: temporaries 16.00 MiB
// CHECK: time 38.8 us, 3 launches
func.func public @main(%a: tensor<256x64x64x4xui8>, %k: tensor<3x3x4x16xf32>) -> tensor<256x64x64x16xf32> {
  %s = stablehlo.constant dense<3.0> : tensor<256x64x64x4xf32>
  %f = stablehlo.convert %a : (tensor<256x64x64x4xui8>) -> tensor<256x64x64x4xf32>
  %m = stablehlo.multiply %f, %s : tensor<256x64x64x4xf32>
  %0 = stablehlo.convolution(%m, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x64x64x4xf32>, tensor<3x3x4x16xf32>) -> tensor<256x64x64x16xf32>
  return %0 : tensor<256x64x64x16xf32>
}

// -----

// A sum.
// CHECK: temporaries 32.00 MiB
// CHECK: time 60.7 us, 3 launches
func.func public @main(%a: tensor<256x64x64x16xbf16>, %b: tensor<256x64x64x16xbf16>, %k: tensor<3x3x16x16xbf16>) -> tensor<256x64x64x16xbf16> {
  %m = stablehlo.add %a, %b : tensor<256x64x64x16xbf16>
  %0 = stablehlo.convolution(%m, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x64x64x16xbf16>, tensor<3x3x16x16xbf16>) -> tensor<256x64x64x16xbf16>
  return %0 : tensor<256x64x64x16xbf16>
}

// -----

// Floats that are made narrower.
// CHECK: temporaries 32.00 MiB
// CHECK: time 60.7 us, 3 launches
func.func public @main(%a: tensor<256x64x64x16xf32>, %k: tensor<3x3x16x16xf32>) -> tensor<256x64x64x16xbf16> {
  %x = stablehlo.convert %a : (tensor<256x64x64x16xf32>) -> tensor<256x64x64x16xbf16>
  %y = stablehlo.convert %k : (tensor<3x3x16x16xf32>) -> tensor<3x3x16x16xbf16>
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x64x64x16xbf16>, tensor<3x3x16x16xbf16>) -> tensor<256x64x64x16xbf16>
  return %0 : tensor<256x64x64x16xbf16>
}
