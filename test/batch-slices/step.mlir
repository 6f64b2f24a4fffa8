// RUN: slimhlo-opt %s --slimhlo-batch-slices=chunk-bytes=8MiB --split-input-file | FileCheck %s

// Two layers, forward and backward, in slices of rows: the gradient of the first weights is added up, the outputs are put in their place.
// CHECK-LABEL: func.func @layers
// CHECK-SAME: %[[X:.*]]: tensor<1024x64xf32>, %[[W:.*]]: tensor<64x4096xf32>, %[[V:.*]]: tensor<4096x64xf32>
// CHECK: %[[LOOP:.*]]:{{[0-9]+}} = stablehlo.while(%[[I:[^ ]+]] = %{{[^,]*}}, %[[OUTS:[^ ]+]] = %{{[^,]*}}, %[[SUM:[^ ]+]] = %{{[^,]*}}, %[[XS:[^ ]+]] = %[[X]], %[[WS:[^ ]+]] = %[[W]], %[[VS:[^ ]+]] = %[[V]])
// CHECK: do {
// CHECK: %[[ROWS:.*]] = stablehlo.dynamic_slice %[[XS]], %[[I]], {{.*}} -> tensor<[[N:[0-9]+]]x64xf32>
// CHECK: %[[H:.*]] = stablehlo.dot_general %[[ROWS]], %[[WS]], {{.*}} -> tensor<[[N]]x4096xf32>
// CHECK: %[[A:.*]] = stablehlo.tanh %[[H]]
// CHECK: %[[Y:.*]] = stablehlo.dot_general %[[A]], %[[VS]], {{.*}} -> tensor<[[N]]x64xf32>
// CHECK: stablehlo.dynamic_update_slice %[[OUTS]], %{{[^,]*}}, %[[I]]
// CHECK: %[[PART:.*]] = stablehlo.dot_general %[[ROWS]], %{{[^,]*}}, contracting_dims = [0] x [0]
// CHECK: stablehlo.add %[[SUM]], %[[PART]] : tensor<64x4096xf32>
// CHECK: return %[[LOOP]]#1, %[[LOOP]]#2
func.func @layers(%x: tensor<1024x64xf32>, %w: tensor<64x4096xf32>, %v: tensor<4096x64xf32>) -> (tensor<1024x64xf32>, tensor<64x4096xf32>) {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x4096xf32>) -> tensor<1024x4096xf32>
  %a = stablehlo.tanh %h : tensor<1024x4096xf32>
  %y = stablehlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<1024x4096xf32>, tensor<4096x64xf32>) -> tensor<1024x64xf32>
  %z = stablehlo.tanh %y : tensor<1024x64xf32>
  %da = stablehlo.dot_general %z, %v, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<4096x64xf32>) -> tensor<1024x4096xf32>
  %dh = stablehlo.multiply %da, %a : tensor<1024x4096xf32>
  %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<1024x64xf32>, tensor<1024x4096xf32>) -> tensor<64x4096xf32>
  return %z, %dw : tensor<1024x64xf32>, tensor<64x4096xf32>
}

// -----

// Narrow gradients are added up in f32.
// CHECK-LABEL: func.func @narrow
// CHECK: stablehlo.while
// CHECK: %[[PART:.*]] = stablehlo.dot_general {{.*}} -> tensor<64x4096xf32>
// CHECK: stablehlo.add %{{.*}}, %[[PART]] : tensor<64x4096xf32>
// CHECK: stablehlo.convert %{{.*}}#{{[0-9]+}} : (tensor<64x4096xf32>) -> tensor<64x4096xbf16>
func.func @narrow(%x: tensor<4096x64xbf16>, %w: tensor<64x4096xbf16>, %v: tensor<4096x64xbf16>) -> tensor<64x4096xbf16> {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x64xbf16>, tensor<64x4096xbf16>) -> tensor<4096x4096xbf16>
  %a = stablehlo.tanh %h : tensor<4096x4096xbf16>
  %y = stablehlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xbf16>
  %da = stablehlo.dot_general %y, %v, contracting_dims = [1] x [1] : (tensor<4096x64xbf16>, tensor<4096x64xbf16>) -> tensor<4096x4096xbf16>
  %dh = stablehlo.multiply %da, %a : tensor<4096x4096xbf16>
  %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<4096x64xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xbf16>
  return %dw : tensor<64x4096xbf16>
}
