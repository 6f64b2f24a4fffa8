// RUN: slimhlo-opt %s --slimhlo-even-products | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-even-products | slimhlo-opt --slimhlo-even-products | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-even-products="target=xla-cpu" | FileCheck %s --check-prefix=CPU
// CPU-NOT: stablehlo.reduce

// 500,000 elements in 256 parts would be filled up to 500,736; 250 parts of 2,000 are views.
// CHECK-LABEL: func.func @regression
// CHECK: %[[A:.*]] = stablehlo.reshape %arg0 : (tensor<8x500000xf32>) -> tensor<8x250x2000xf32>
// CHECK: %[[X:.*]] = stablehlo.reshape %arg1 : (tensor<500000x54xf32>) -> tensor<250x2000x54xf32>
// CHECK: %[[SUMS:.*]] = stablehlo.dot_general %[[A]], %[[X]], batching_dims = [1] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<8x250x2000xf32>, tensor<250x2000x54xf32>) -> tensor<250x8x54xf32>
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[R:.*]] = stablehlo.reduce(%[[SUMS]] init: %[[ZERO]]) applies stablehlo.add across dimensions = [0]
// CHECK: return %[[R]] : tensor<8x54xf32>
func.func @regression(%a: tensor<8x500000xf32>, %x: tensor<500000x54xf32>) -> tensor<8x54xf32> {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<8x500000xf32>, tensor<500000x54xf32>) -> tensor<8x54xf32>
  return %0 : tensor<8x54xf32>
}

// Sums of bf16 are added up in f32, and rounded once.
// CHECK-LABEL: func.func @narrow
// CHECK: stablehlo.dot_general {{.*}} -> tensor<25x512x128xf32>
// CHECK: %[[SUM:.*]] = stablehlo.reduce{{.*}} -> tensor<512x128xf32>
// CHECK: stablehlo.convert %[[SUM]] : (tensor<512x128xf32>) -> tensor<512x128xbf16>
func.func @narrow(%a: tensor<512x20000xbf16>, %x: tensor<20000x128xbf16>) -> tensor<512x128xbf16> {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<512x20000xbf16>, tensor<20000x128xbf16>) -> tensor<512x128xbf16>
  return %0 : tensor<512x128xbf16>
}

// Parts come behind what is a batch already.
// CHECK-LABEL: func.func @batch
// CHECK: stablehlo.dot_general {{.*}}, batching_dims = [0, 2] x [1, 2], contracting_dims = [3] x [3] : (tensor<2x64x{{[0-9]+}}x{{[0-9]+}}xf32>, tensor<32x2x[[PARTS:[0-9]+]]x{{[0-9]+}}xf32>) -> tensor<2x[[PARTS]]x64x32xf32>
// CHECK: stablehlo.reduce{{.*}} across dimensions = [1]
func.func @batch(%a: tensor<2x64x100000xf32>, %x: tensor<32x2x100000xf32>) -> tensor<2x64x32xf32> {
  %0 = stablehlo.dot_general %a, %x, batching_dims = [0] x [1], contracting_dims = [2] x [2] : (tensor<2x64x100000xf32>, tensor<32x2x100000xf32>) -> tensor<2x64x32xf32>
  return %0 : tensor<2x64x32xf32>
}
