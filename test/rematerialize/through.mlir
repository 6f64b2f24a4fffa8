// RUN: slimhlo-opt %s --slimhlo-rematerialize="windows=1 through=true" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-rematerialize=windows=1 | FileCheck %s --check-prefix=DIRECT

// What is used late is in f32 and takes no memory; the convolution's result in bf16 that it is computed of does, and is
// done again.
// CHECK-LABEL: func.func @behind
// CHECK: stablehlo.convolution
// CHECK: stablehlo.dot_general %{{.*}} -> tensor<64x64xf32>
// CHECK: %[[HELD:.*]]:2 = stablehlo.optimization_barrier
// CHECK: %[[AGAIN:.*]] = stablehlo.convolution(%[[HELD]]#0, %[[HELD]]#1)
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[AGAIN]]
// CHECK: stablehlo.multiply %[[WIDE]], %{{.*}}
// CHECK: return
// DIRECT-LABEL: func.func @behind
// DIRECT-NOT: optimization_barrier
// DIRECT-LABEL: func.func @itself
func.func @behind(%x: tensor<8192x64xf32>, %y: tensor<64x2048xf32>, %images: tensor<64x32x32x16xbf16>, %filter: tensor<3x3x16x64xbf16>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.convolution(%images, %filter) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x32x32x16xbf16>, tensor<3x3x16x64xbf16>) -> tensor<64x32x32x64xbf16>
  %wide = stablehlo.convert %c : (tensor<64x32x32x64xbf16>) -> tensor<64x32x32x64xf32>
  %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<64x32x32x64xf32>, tensor<f32>) -> tensor<64xf32>
  // The peak: 64 MiB that only the next op needs.
  %each = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<64xf32>) -> tensor<64x2048xf32>
  %after = stablehlo.add %y, %each : tensor<64x2048xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<8192x64xf32>, tensor<64x2048xf32>) -> tensor<8192x2048xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<8192x2048xf32>, tensor<64x2048xf32>) -> tensor<8192x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<8192x64xf32>, tensor<8192x64xf32>) -> tensor<64x64xf32>
  %t = stablehlo.reduce(%token init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [3] : (tensor<64xf32>) -> tensor<64x32x32x64xf32>
  %d = stablehlo.multiply %wide, %tb : tensor<64x32x32x64xf32>
  %b = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<64x32x32x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %b, %sum : tensor<64xf32>, tensor<64xf32>
}

// What is used late takes memory itself: that is found without.
// CHECK-LABEL: func.func @itself
// CHECK-NOT: optimization_barrier
// CHECK: return
// DIRECT: optimization_barrier
func.func @itself(%x: tensor<8192x64xf32>, %y: tensor<64x2048xf32>, %x1: tensor<2048x64xf32>) -> (tensor<2048x64xf32>, tensor<2048xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.sine %x1 : tensor<2048x64xf32>
  %scores = stablehlo.dot_general %x1, %k, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %sum = stablehlo.reduce(%scores init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  // The peak: 64 MiB that only the next op needs.
  %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<2048xf32>) -> tensor<64x2048xf32>
  %after = stablehlo.add %y, %each : tensor<64x2048xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<8192x64xf32>, tensor<64x2048xf32>) -> tensor<8192x2048xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<8192x2048xf32>, tensor<64x2048xf32>) -> tensor<8192x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<8192x64xf32>, tensor<8192x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x1, %token, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x64xf32>) -> tensor<2048x64xf32>
  %b = stablehlo.dot_general %scores, %v, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  return %b, %sum : tensor<2048x64xf32>, tensor<2048xf32>
}
