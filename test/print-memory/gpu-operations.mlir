// What operations take on an H100, as times of kernels; by the referee (`referee.py --target h100`).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// A hyperbolic tangent is hidden by memory: 12.4 us.
// CHECK: time 12.4 us, 1 launches
func.func public @main(%a: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %t = stablehlo.tanh %a : tensor<2048x2048xf32>
  return %t : tensor<2048x2048xf32>
}

// -----

// In a product's kernel it is, too: 10.2 us.
// CHECK: time 10.3 us, 1 launches
func.func public @main(%a: tensor<2048x64xf32>, %b: tensor<2048x64xf32>) -> tensor<2048x2048xf32> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %t = stablehlo.tanh %d : tensor<2048x2048xf32>
  return %t : tensor<2048x2048xf32>
}

// -----

// Eight sines are not: 31.2 us, where XLA's own table of instructions says 484.
// CHECK: time 31.2 us, 1 launches
func.func public @main(%a: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %0 = stablehlo.sine %a : tensor<2048x2048xf32>
  %1 = stablehlo.sine %0 : tensor<2048x2048xf32>
  %2 = stablehlo.sine %1 : tensor<2048x2048xf32>
  %3 = stablehlo.sine %2 : tensor<2048x2048xf32>
  %4 = stablehlo.sine %3 : tensor<2048x2048xf32>
  %5 = stablehlo.sine %4 : tensor<2048x2048xf32>
  %6 = stablehlo.sine %5 : tensor<2048x2048xf32>
  %7 = stablehlo.sine %6 : tensor<2048x2048xf32>
  return %7 : tensor<2048x2048xf32>
}

// -----

// Where a slice begins is computed once, not for each of its elements: 6.6 us.
// CHECK: time 6.6 us, 1 launches
func.func public @main(%a: tensor<64x2048x512xf32>, %i: tensor<i64>) -> tensor<2x2048x512xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %c3 = stablehlo.constant dense<3> : tensor<i64>
  %at = stablehlo.divide %i, %c3 : tensor<i64>
  %s = stablehlo.dynamic_slice %a, %at, %c0, %c0, sizes = [2, 2048, 512] : (tensor<64x2048x512xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x2048x512xf32>
  return %s : tensor<2x2048x512xf32>
}
