// RUN: slimhlo-opt %s --slimhlo-batch-slices="chunk-bytes=32MiB" --canonicalize | FileCheck %s

// The gradient of what a layer read takes the filter from its other end. Libraries for GPUs do so themselves where they see that: the op
// is in the loop, not before it.
// CHECK-LABEL: func.func @turned(
// CHECK-SAME: %{{.*}}: tensor<64x64x64x64xf32>, %[[K:[a-z0-9]+]]: tensor<3x3x64x64xf32>
// CHECK-NOT: stablehlo.reverse
// CHECK: stablehlo.while({{.*}} = %[[K]]
// CHECK: %[[T:.*]] = stablehlo.reverse %{{.*}}, dims = [0, 1] : tensor<3x3x64x64xf32>
// CHECK: stablehlo.convolution(%{{.*}}, %[[T]])
func.func @turned(%x: tensor<64x64x64x64xf32>, %k: tensor<3x3x64x64xf32>) -> tensor<3x3x64x64xf32> {
  %h = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x64x64x64xf32>, tensor<3x3x64x64xf32>) -> tensor<64x64x64x64xf32>
  %t = stablehlo.tanh %h : tensor<64x64x64x64xf32>
  %r = stablehlo.reverse %k, dims = [0, 1] : tensor<3x3x64x64xf32>
  %b = stablehlo.convolution(%t, %r) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x64x64x64xf32>, tensor<3x3x64x64xf32>) -> tensor<64x64x64x64xf32>
  %d = stablehlo.multiply %b, %t : tensor<64x64x64x64xf32>
  %dk = stablehlo.convolution(%x, %d) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x64x64x64xf32>, tensor<64x64x64x64xf32>) -> tensor<3x3x64x64xf32>
  return %dk : tensor<3x3x64x64xf32>
}
