// RUN: slimhlo-opt %s --slimhlo-to-kernels | FileCheck %s --check-prefixes=CHECK,CHUNKS
// RUN: slimhlo-opt %s --slimhlo-to-kernels=stream=false | FileCheck %s --check-prefixes=CHECK,PLAIN

// Scores of 8,192 by 8,192 are temporary, and as large as 256 MiB; in chunks they are not. Small chunks leave most of the chip idle, since a product
// of few rows has few tiles: what is kept is what has least bytes times seconds.

// CHECK-LABEL: func.func @main
// CHUNKS-SAME: slimhlo.arena = 17960960 : i64
// CHUNKS: slimhlo.turns = 16
// PLAIN-SAME: slimhlo.arena = 274792448 : i64
// PLAIN-NOT: slimhlo.turns
func.func @main(%q: tensor<8192x64xf32>, %k: tensor<8192x64xf32>, %v: tensor<8192x64xf32>) -> tensor<8192x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<8192x64xf32>, tensor<8192x64xf32>) -> tensor<8192x8192xf32>
  %1 = stablehlo.reduce(%0 init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<8192x8192xf32>, tensor<f32>) -> tensor<8192xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<8192xf32>) -> tensor<8192x8192xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<8192x8192xf32>
  %4 = stablehlo.exponential %3 : tensor<8192x8192xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8192x8192xf32>, tensor<f32>) -> tensor<8192xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<8192xf32>) -> tensor<8192x8192xf32>
  %7 = stablehlo.divide %4, %6 : tensor<8192x8192xf32>
  %8 = stablehlo.dot_general %7, %v, contracting_dims = [1] x [0] : (tensor<8192x8192xf32>, tensor<8192x64xf32>) -> tensor<8192x64xf32>
  return %8 : tensor<8192x64xf32>
}
