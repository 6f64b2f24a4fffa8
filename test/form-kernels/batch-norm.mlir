// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// Normalization is sums per feature and what is computed of them on the fly; narrow floats are computed as f32.

// CHECK-LABEL: func.func @main
// CHECK: call @reduce_0(%arg0)
// CHECK: func.func private @reduce_0
// CHECK: stablehlo.convert {{.*}}tensor<8x4x16xbf16>) -> tensor<8x4x16xf32>
// CHECK: dimensions = [0, 2]
// CHECK-NOT: batch_norm
func.func @main(%x: tensor<8x4x16xbf16>, %scale: tensor<4xbf16>, %offset: tensor<4xbf16>)
    -> (tensor<8x4x16xbf16>, tensor<4xbf16>, tensor<4xbf16>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 0.001 : f32, feature_index = 1 : i64} :
      (tensor<8x4x16xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> (tensor<8x4x16xbf16>, tensor<4xbf16>, tensor<4xbf16>)
  return %0#0, %0#1, %0#2 : tensor<8x4x16xbf16>, tensor<4xbf16>, tensor<4xbf16>
}
