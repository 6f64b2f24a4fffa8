// What the pass is for, at its size: scores with a bias for each sample, and their softmax. Before and after the pass, under XLA for an H100:
//   python test/oracle/referee.py --target h100 test/hold-biases/softmax.mlir
// RUN: slimhlo-opt %s --slimhlo-hold-biases="target=h100" | FileCheck %s
// CHECK: %[[HELD:.*]] = stablehlo.optimization_barrier %arg2
// CHECK: stablehlo.broadcast_in_dim %[[HELD]], dims = [0, 1, 2, 3]
func.func public @main(%q: tensor<8x4x1024x64xbf16>, %k: tensor<8x4x1024x64xbf16>, %bias: tensor<8x1x1024x1024xbf16>) -> tensor<8x4x1024x1024xbf16> {
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %scores = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<8x4x1024x64xbf16>, tensor<8x4x1024x64xbf16>) -> tensor<8x4x1024x1024xbf16>
  %all = stablehlo.broadcast_in_dim %bias, dims = [0, 1, 2, 3] : (tensor<8x1x1024x1024xbf16>) -> tensor<8x4x1024x1024xbf16>
  %sum = stablehlo.add %scores, %all : tensor<8x4x1024x1024xbf16>
  %most = stablehlo.reduce(%sum init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<8x4x1024x1024xbf16>, tensor<bf16>) -> tensor<8x4x1024xbf16>
  %mosts = stablehlo.broadcast_in_dim %most, dims = [0, 1, 2] : (tensor<8x4x1024xbf16>) -> tensor<8x4x1024x1024xbf16>
  %less = stablehlo.subtract %sum, %mosts : tensor<8x4x1024x1024xbf16>
  %e = stablehlo.exponential %less : tensor<8x4x1024x1024xbf16>
  %wide = stablehlo.convert %e : (tensor<8x4x1024x1024xbf16>) -> tensor<8x4x1024x1024xf32>
  %row = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<8x4x1024x1024xf32>, tensor<f32>) -> tensor<8x4x1024xf32>
  %narrow = stablehlo.convert %row : (tensor<8x4x1024xf32>) -> tensor<8x4x1024xbf16>
  %rows = stablehlo.broadcast_in_dim %narrow, dims = [0, 1, 2] : (tensor<8x4x1024xbf16>) -> tensor<8x4x1024x1024xbf16>
  %p = stablehlo.divide %e, %rows : tensor<8x4x1024x1024xbf16>
  return %p : tensor<8x4x1024x1024xbf16>
}
