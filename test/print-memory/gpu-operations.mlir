// Operations that XLA for an H100 reckons for an element, as times of kernels (`referee.py --target h100`).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// A hyperbolic tangent counts 467: 32.3 us.
// CHECK: time 32.3 us, 1 launches
func.func public @main(%a: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %t = stablehlo.tanh %a : tensor<2048x2048xf32>
  return %t : tensor<2048x2048xf32>
}

// -----

// In a product's kernel it counts nothing: 7.8 us.
// CHECK: time 7.8 us, 1 launches
func.func public @main(%a: tensor<2048x64xf32>, %b: tensor<2048x64xf32>) -> tensor<2048x2048xf32> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %t = stablehlo.tanh %d : tensor<2048x2048xf32>
  return %t : tensor<2048x2048xf32>
}

// -----

// An element of a concatenation along rows whose first part ends within a warp counts 400: 221.9 us.
// CHECK: time 221.9 us, 1 launches
func.func public @main(%a: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %0 = stablehlo.slice %a [0:4096, 1:4096] : (tensor<4096x4096xf32>) -> tensor<4096x4095xf32>
  %1 = stablehlo.slice %a [0:4096, 0:1] : (tensor<4096x4096xf32>) -> tensor<4096x1xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<4096x4095xf32>, tensor<4096x1xf32>) -> tensor<4096x4096xf32>
  %3 = stablehlo.tanh %2 : tensor<4096x4096xf32>
  return %3 : tensor<4096x4096xf32>
}

// -----

// Where a slice begins is computed once, not for each of its elements: 7.5 us.
// CHECK: time 7.5 us, 1 launches
func.func public @main(%a: tensor<64x2048x512xf32>, %i: tensor<i64>) -> tensor<2x2048x512xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %c3 = stablehlo.constant dense<3> : tensor<i64>
  %at = stablehlo.divide %i, %c3 : tensor<i64>
  %s = stablehlo.dynamic_slice %a, %at, %c0, %c0, sizes = [2, 2048, 512] : (tensor<64x2048x512xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x2048x512xf32>
  return %s : tensor<2x2048x512xf32>
}
