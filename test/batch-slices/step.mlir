// RUN: slimhlo-opt %s --slimhlo-batch-slices=chunk-bytes=8MiB --split-input-file | FileCheck %s

// A layer, forward and backward, in eight slices of 128 rows: activations of 16 MiB become 2. The gradient of the weights is
// added up, the loss of each sample is put in its place.
// CHECK-LABEL: func.func @layer
// CHECK-SAME: %[[X:.*]]: tensor<1024x64xf32>, %[[W:.*]]: tensor<64x4096xf32>
// CHECK: %[[LOOP:.*]]:{{[0-9]+}} = stablehlo.while(%[[I:.*]] = %{{.*}}, %[[LOSSES:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}, %[[XS:.*]] = %[[X]], %[[WS:.*]] = %[[W]]
// CHECK: do {
// CHECK: %[[ROWS:.*]] = stablehlo.dynamic_slice %[[XS]], %[[I]], %{{.*}} -> tensor<[[ROWSIZE:[0-9]+]]x64xf32>
// CHECK: %[[H:.*]] = stablehlo.dot_general %[[ROWS]], %[[WS]], {{.*}} -> tensor<[[ROWSIZE]]x4096xf32>
// CHECK: %[[A:.*]] = stablehlo.tanh %[[H]]
// CHECK: %[[L:.*]] = stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<[[ROWSIZE]]x4096xf32>
// CHECK: stablehlo.dynamic_update_slice %[[LOSSES]], %[[L]], %[[I]]
// CHECK: %[[PART:.*]] = stablehlo.dot_general %[[ROWS]], %{{.*}}, contracting_dims = [0] x [0]
// CHECK: stablehlo.add %[[SUM]], %[[PART]] : tensor<64x4096xf32>
// CHECK: return %[[LOOP]]#1, %[[LOOP]]#2
func.func @layer(%x: tensor<1024x64xf32>, %w: tensor<64x4096xf32>) -> (tensor<1024xf32>, tensor<64x4096xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<1024x4096xf32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x4096xf32>) -> tensor<1024x4096xf32>
  %a = stablehlo.tanh %h : tensor<1024x4096xf32>
  %l = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x4096xf32>, tensor<f32>) -> tensor<1024xf32>
  %sq = stablehlo.multiply %a, %a : tensor<1024x4096xf32>
  %d = stablehlo.subtract %one, %sq : tensor<1024x4096xf32>
  %dw = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<1024x64xf32>, tensor<1024x4096xf32>) -> tensor<64x4096xf32>
  return %l, %dw : tensor<1024xf32>, tensor<64x4096xf32>
}

// -----

// Narrow gradients are added up in f32.
// CHECK-LABEL: func.func @narrow
// CHECK: stablehlo.while
// CHECK: %[[PART:.*]] = stablehlo.dot_general {{.*}} -> tensor<64x4096xf32>
// CHECK: stablehlo.add %{{.*}}, %[[PART]] : tensor<64x4096xf32>
// CHECK: stablehlo.convert %{{.*}}#1 : (tensor<64x4096xf32>) -> tensor<64x4096xbf16>
func.func @narrow(%x: tensor<4096x64xbf16>, %w: tensor<64x4096xbf16>) -> tensor<64x4096xbf16> {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x64xbf16>, tensor<64x4096xbf16>) -> tensor<4096x4096xbf16>
  %a = stablehlo.tanh %h : tensor<4096x4096xbf16>
  %dw = stablehlo.dot_general %x, %a, contracting_dims = [0] x [0] : (tensor<4096x64xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xbf16>
  return %dw : tensor<64x4096xbf16>
}
