// Transposes are read and written once, whichever dimensions they turn round; XLA for an H100 (`referee.py --target h100`). An H100 takes 198 us
// for one of 8,192 rows and columns (`probes.py`), which is 2.7e12 bytes a second.
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// Three dimensions turned round, of 4, 512 and 1024: 46.1 us.
// CHECK: time 46.2 us, 1 launches
func.func public @main(%a: tensor<8x1024x512x4xf32>) -> tensor<8x4x512x1024xf32> {
  %t = stablehlo.transpose %a, dims = [0, 3, 2, 1] : (tensor<8x1024x512x4xf32>) -> tensor<8x4x512x1024xf32>
  %n = stablehlo.negate %t : tensor<8x4x512x1024xf32>
  return %n : tensor<8x4x512x1024xf32>
}

// -----

// Two that are exchanged go in tiles: 46.1 us.
// CHECK: time 46.2 us, 1 launches
func.func public @main(%a: tensor<8x1024x2048xf32>) -> tensor<8x2048x1024xf32> {
  %t = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<8x1024x2048xf32>) -> tensor<8x2048x1024xf32>
  %n = stablehlo.negate %t : tensor<8x2048x1024xf32>
  return %n : tensor<8x2048x1024xf32>
}

// -----

// A reduction goes over its operand as that lies: 23.7 us.
// CHECK: time 23.7 us, 1 launches
func.func public @main(%a: tensor<8x1024x512x4xf32>) -> tensor<8x4x512xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %a, dims = [0, 3, 2, 1] : (tensor<8x1024x512x4xf32>) -> tensor<8x4x512x1024xf32>
  %r = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [3] : (tensor<8x4x512x1024xf32>, tensor<f32>) -> tensor<8x4x512xf32>
  return %r : tensor<8x4x512xf32>
}
