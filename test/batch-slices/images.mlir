// RUN: slimhlo-opt %s --slimhlo-batch-slices=chunk-bytes=32MiB | FileCheck %s

// A convolution, the largest of each window, and back, image by image: the gradient of the kernel, a convolution that contracts the batch, is added up.
// CHECK-LABEL: func.func @images
// CHECK: stablehlo.while
// CHECK: stablehlo.convolution(%{{.*}}, %{{.*}}) {{.*}} : (tensor<[[N:[0-9]+]]x128x128x3xf32>, tensor<3x3x3x64xf32>) -> tensor<[[N]]x128x128x64xf32>
// CHECK: "stablehlo.reduce_window"
// CHECK: -> tensor<[[N]]x64x64x64xf32>
// CHECK: "stablehlo.select_and_scatter"
// CHECK: -> tensor<[[N]]x128x128x64xf32>
// CHECK: %[[PART:.*]] = stablehlo.convolution({{.*}} -> tensor<3x3x3x64xf32>
// CHECK: stablehlo.add %{{.*}}, %[[PART]] : tensor<3x3x3x64xf32>
func.func @images(%x: tensor<32x128x128x3xf32>, %k: tensor<3x3x3x64xf32>) -> tensor<3x3x3x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %h = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<32x128x128x3xf32>, tensor<3x3x3x64xf32>) -> tensor<32x128x128x64xf32>
  %t = stablehlo.tanh %h : tensor<32x128x128x64xf32>
  %p = "stablehlo.reduce_window"(%t, %low) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<32x128x128x64xf32>, tensor<f32>) -> tensor<32x64x64x64xf32>
  %dp = stablehlo.sine %p : tensor<32x64x64x64xf32>
  %dt = "stablehlo.select_and_scatter"(%t, %dp, %zero) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %m : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<32x128x128x64xf32>, tensor<32x64x64x64xf32>, tensor<f32>) -> tensor<32x128x128x64xf32>
  %dh = stablehlo.multiply %dt, %t : tensor<32x128x128x64xf32>
  %dk = stablehlo.convolution(%x, %dh) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<32x128x128x3xf32>, tensor<32x128x128x64xf32>) -> tensor<3x3x3x64xf32>
  // The other way round would be the gradient of x.
  return %dk : tensor<3x3x3x64xf32>
}
