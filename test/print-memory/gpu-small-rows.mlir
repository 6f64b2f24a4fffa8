// Rows of which a warp reduces several at once are a kernel of XLA's for an H100 (`referee.py --target h100`); other short ones are reduced by who reads the result.
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// 4 elements: 32.00 MiB, 2 kernels.
// CHECK: temporaries 33554432{{$}}
// CHECK: 2 launches
func.func public @main(%a: tensor<4096x2048x4xf32>) -> tensor<4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.multiply %a, %a : tensor<4096x2048x4xf32>
  %r = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [2] : (tensor<4096x2048x4xf32>, tensor<f32>) -> tensor<4096x2048xf32>
  %q = stablehlo.sqrt %r : tensor<4096x2048xf32>
  %s = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x2048xf32>, tensor<f32>) -> tensor<4096xf32>
  return %s : tensor<4096xf32>
}

// -----

// 3 elements: 0 MiB, 1 kernel.
// CHECK: temporaries 0{{$}}
// CHECK: 1 launches
func.func public @main(%a: tensor<4096x2048x3xf32>) -> tensor<4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.multiply %a, %a : tensor<4096x2048x3xf32>
  %r = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [2] : (tensor<4096x2048x3xf32>, tensor<f32>) -> tensor<4096x2048xf32>
  %q = stablehlo.sqrt %r : tensor<4096x2048xf32>
  %s = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x2048xf32>, tensor<f32>) -> tensor<4096xf32>
  return %s : tensor<4096xf32>
}

// -----

// Sums of sums are sums: 0 MiB, 1 kernel.
// CHECK: temporaries 0{{$}}
// CHECK: 1 launches
func.func public @main(%a: tensor<4096x8xf32>, %b: tensor<2048x8xf32>) -> tensor<4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<4096x8xf32>) -> tensor<4096x2048x8xf32>
  %q = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<2048x8xf32>) -> tensor<4096x2048x8xf32>
  %d = stablehlo.subtract %p, %q : tensor<4096x2048x8xf32>
  %m = stablehlo.multiply %d, %d : tensor<4096x2048x8xf32>
  %r = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [2] : (tensor<4096x2048x8xf32>, tensor<f32>) -> tensor<4096x2048xf32>
  %s = stablehlo.reduce(%r init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x2048xf32>, tensor<f32>) -> tensor<4096xf32>
  return %s : tensor<4096xf32>
}
