// RUN: slimhlo-opt %s --slimhlo-print-memory="target=v5p plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// XLA for a v5p has images and features in the tiles of what it convolves: 64 images take 128 places, so 256 MiB are stored twice, in 584.4 us.
// CHECK: temporaries 536870912
// CHECK: time 584
func.func public @main(%x: tensor<64x128x128x32xf32>, %w: tensor<3x3x32x32xf32>) -> tensor<64x128x128x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<64x128x128x32xf32>
  %one = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x128x128x32xf32>, tensor<3x3x32x32xf32>) -> tensor<64x128x128x32xf32>
  %kept = stablehlo.maximum %one, %zeros : tensor<64x128x128x32xf32>
  %two = stablehlo.convolution(%kept, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x128x128x32xf32>, tensor<3x3x32x32xf32>) -> tensor<64x128x128x32xf32>
  %r = stablehlo.add %two, %kept : tensor<64x128x128x32xf32>
  return %r : tensor<64x128x128x32xf32>
}
