// Reductions in stages: XLA for an H100 (`referee.py --target h100`).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// Dimensions that are not side by side go one after the other, 65,536 elements in two stages: 26.4 us, 3 kernels.
// CHECK: time 25.9 us, 3 launches
func.func public @main(%a: tensor<8x256x256x8x4xf32>) -> tensor<8x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<8x256x256x8x4xf32>, tensor<f32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// 4,096 rows are one stage: 38.6 us, 1 kernel.
// CHECK: time 38.7 us, 1 launches
func.func public @main(%a: tensor<4096x4096xf32>) -> tensor<4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

// -----

// 8,192 are two: 47.9 us, 2 kernels.
// CHECK: time 48.2 us, 2 launches
func.func public @main(%a: tensor<8192x4096xf32>) -> tensor<4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8192x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

// -----

// What is made of sums is another kernel: 24.7 us, 2 kernels.
// CHECK: time 24.7 us, 2 launches
func.func public @main(%a: tensor<4096x4096xf32>) -> tensor<4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %c = stablehlo.constant dense<0.1> : tensor<4096xf32>
  %m = stablehlo.multiply %r, %c : tensor<4096xf32>
  return %m : tensor<4096xf32>
}

// -----

// A conversion is not: 12.5 us, 1 kernel.
// CHECK: time 12.3 us, 1 launches
func.func public @main(%a: tensor<4096x4096xbf16>) -> tensor<4096xbf16> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.convert %a : (tensor<4096x4096xbf16>) -> tensor<4096x4096xf32>
  %r = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %c = stablehlo.convert %r : (tensor<4096xf32>) -> tensor<4096xbf16>
  return %c : tensor<4096xbf16>
}
