// Kernels that store several results, as XLA for an H100 makes them; its times and kernels (`referee.py --target h100`).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// Two that read the same: 17.9 us, 1 kernel.
// CHECK: time 18.0 us, 1 launches
func.func public @main(%a: tensor<2048x2048xf32>) -> (tensor<2048x2048xf32>, tensor<2048x2048xf32>) {
  %s = stablehlo.negate %a : tensor<2048x2048xf32>
  %x = stablehlo.add %s, %a : tensor<2048x2048xf32>
  %y = stablehlo.multiply %s, %a : tensor<2048x2048xf32>
  return %x, %y : tensor<2048x2048xf32>, tensor<2048x2048xf32>
}

// -----

// One that makes what another one reads: 23.5 us, 1 kernel.
// CHECK: time 23.6 us, 1 launches
func.func public @main(%u: tensor<2048x2048xf32>, %v: tensor<2048x2048xf32>) -> (tensor<2048x2048xf32>, tensor<2048x2048xf32>) {
  %a = stablehlo.multiply %u, %v : tensor<2048x2048xf32>
  %x = stablehlo.add %a, %v : tensor<2048x2048xf32>
  %b = stablehlo.multiply %x, %x : tensor<2048x2048xf32>
  %y = stablehlo.add %b, %u : tensor<2048x2048xf32>
  return %x, %y : tensor<2048x2048xf32>, tensor<2048x2048xf32>
}

// -----

// Not of slices that have nothing in common: 13.3 us, 2 kernels.
// CHECK: time 13.3 us, 2 launches
func.func public @main(%a: tensor<2048x2048xf32>) -> (tensor<1024x2048xf32>, tensor<1024x2048xf32>) {
  %l = stablehlo.slice %a [0:1024, 0:2048] : (tensor<2048x2048xf32>) -> tensor<1024x2048xf32>
  %r = stablehlo.slice %a [1024:2048, 0:2048] : (tensor<2048x2048xf32>) -> tensor<1024x2048xf32>
  %x = stablehlo.negate %l : tensor<1024x2048xf32>
  %y = stablehlo.multiply %r, %r : tensor<1024x2048xf32>
  return %x, %y : tensor<1024x2048xf32>, tensor<1024x2048xf32>
}

// -----

// Nor where a third has to run between them, here two: 34.8 us, 4 kernels.
// CHECK: time 35.6 us, 4 launches
func.func public @main(%a: tensor<2048x2048xf32>, %b: tensor<2048x64xf32>) -> (tensor<2048x2048xf32>, tensor<2048x2048xf32>) {
  %s = stablehlo.negate %a : tensor<2048x2048xf32>
  %x = stablehlo.add %s, %a : tensor<2048x2048xf32>
  %d = stablehlo.dot_general %x, %b, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %w = stablehlo.slice %d [0:2048, 0:1] : (tensor<2048x64xf32>) -> tensor<2048x1xf32>
  %r = stablehlo.reshape %w : (tensor<2048x1xf32>) -> tensor<2048xf32>
  %q = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  %m = stablehlo.multiply %a, %q : tensor<2048x2048xf32>
  %y = stablehlo.multiply %m, %m : tensor<2048x2048xf32>
  return %x, %y : tensor<2048x2048xf32>, tensor<2048x2048xf32>
}
