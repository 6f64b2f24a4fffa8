// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=262144" | FileCheck %s

// The sum of nine values is as small as one of them: what is much larger than it is computed in chunks, by rows of the sum,
// though it is not larger than all nine.
// CHECK-LABEL: func.func @residual
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general {{.*}} -> tensor<{{[0-9]+}}x1024xf32>
// CHECK-NOT: tensor<4096x1024xf32>
func.func @residual(%0: tensor<4096x64xf32>, %1: tensor<4096x64xf32>, %2: tensor<4096x64xf32>, %3: tensor<4096x64xf32>,
    %4: tensor<4096x64xf32>, %5: tensor<4096x64xf32>, %6: tensor<4096x64xf32>, %7: tensor<4096x64xf32>, %more: tensor<4096x64xf32>,
    %weights: tensor<64x1024xf32>) -> (tensor<4096xf32>, tensor<4096x64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %8 = stablehlo.add %0, %1 : tensor<4096x64xf32>
  %9 = stablehlo.add %8, %2 : tensor<4096x64xf32>
  %10 = stablehlo.add %9, %3 : tensor<4096x64xf32>
  %11 = stablehlo.add %10, %4 : tensor<4096x64xf32>
  %12 = stablehlo.add %11, %5 : tensor<4096x64xf32>
  %13 = stablehlo.add %12, %6 : tensor<4096x64xf32>
  %14 = stablehlo.add %13, %7 : tensor<4096x64xf32>
  %sum = stablehlo.add %14, %more : tensor<4096x64xf32>
  %logits = stablehlo.dot_general %sum, %weights, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %max = stablehlo.reduce(%logits init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<4096xf32>
  %maxima = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4096xf32>) -> tensor<4096x1024xf32>
  %less = stablehlo.subtract %logits, %maxima : tensor<4096x1024xf32>
  %exp = stablehlo.exponential %less : tensor<4096x1024xf32>
  %total = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<4096xf32>
  return %total, %sum : tensor<4096xf32>, tensor<4096x64xf32>
}
