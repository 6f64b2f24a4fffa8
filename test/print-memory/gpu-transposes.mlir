// Transposes that read element by element, each with 64 bytes of memory; XLA for an H100 (`referee.py --target h100`).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// Three dimensions turned round, of 4, 512 and 1024: 342.9 us.
// CHECK: time 343.1 us, 1 launches
func.func public @main(%a: tensor<8x1024x512x4xf32>) -> tensor<8x4x512x1024xf32> {
  %t = stablehlo.transpose %a, dims = [0, 3, 2, 1] : (tensor<8x1024x512x4xf32>) -> tensor<8x4x512x1024xf32>
  %n = stablehlo.negate %t : tensor<8x4x512x1024xf32>
  return %n : tensor<8x4x512x1024xf32>
}

// -----

// Two that are exchanged go in tiles: 42.6 us.
// CHECK: time 42.6 us, 1 launches
func.func public @main(%a: tensor<8x1024x2048xf32>) -> tensor<8x2048x1024xf32> {
  %t = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<8x1024x2048xf32>) -> tensor<8x2048x1024xf32>
  %n = stablehlo.negate %t : tensor<8x2048x1024xf32>
  return %n : tensor<8x2048x1024xf32>
}

// -----

// Where the last stays the last four lie together: 42.6 us.
// CHECK: time 42.6 us, 1 launches
func.func public @main(%a: tensor<8x1024x512x4xf32>) -> tensor<512x8x1024x4xf32> {
  %t = stablehlo.transpose %a, dims = [2, 0, 1, 3] : (tensor<8x1024x512x4xf32>) -> tensor<512x8x1024x4xf32>
  %n = stablehlo.negate %t : tensor<512x8x1024x4xf32>
  return %n : tensor<512x8x1024x4xf32>
}

// -----

// A reduction goes over its operand as that lies: 22.6 us.
// CHECK: time 22.6 us, 1 launches
func.func public @main(%a: tensor<8x1024x512x4xf32>) -> tensor<8x4x512xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %a, dims = [0, 3, 2, 1] : (tensor<8x1024x512x4xf32>) -> tensor<8x4x512x1024xf32>
  %r = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [3] : (tensor<8x4x512x1024xf32>, tensor<f32>) -> tensor<8x4x512xf32>
  return %r : tensor<8x4x512xf32>
}

// -----

// Tiles are of 8 elements and more: 42.6 us.
// CHECK: time 42.6 us, 1 launches
func.func public @main(%a: tensor<8x262144x8xf32>) -> tensor<8x8x262144xf32> {
  %t = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<8x262144x8xf32>) -> tensor<8x8x262144xf32>
  %n = stablehlo.negate %t : tensor<8x8x262144xf32>
  return %n : tensor<8x8x262144xf32>
}

// -----

// Not of 4: 342.9 us.
// CHECK: time 343.1 us, 1 launches
func.func public @main(%a: tensor<8x524288x4xf32>) -> tensor<8x4x524288xf32> {
  %t = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<8x524288x4xf32>) -> tensor<8x4x524288xf32>
  %n = stablehlo.negate %t : tensor<8x4x524288xf32>
  return %n : tensor<8x4x524288xf32>
}
