// RUN: slimhlo-opt %s --slimhlo-rematerialize="windows=1 target=xla-cpu" | FileCheck %s

// XLA for CPU drops barriers and finds that both are the same: nothing is computed again for it.
// CHECK-LABEL: func.func @scores
// CHECK-NOT: optimization_barrier
// CHECK: return
func.func @scores(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.sine %x1 : tensor<1024x64xf32>
  %scores = stablehlo.dot_general %x1, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e = stablehlo.exponential %scores : tensor<1024x1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  // The peak: 16 MiB that only the next op needs.
  %large = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %a = stablehlo.dot_general %e, %x1, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %a, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  return %b, %sum : tensor<1024x64xf32>, tensor<1024xf32>
}
