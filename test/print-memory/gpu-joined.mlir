// What XLA for an H100 (`referee.py --target h100`) makes of concatenations that several kernels need.
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// What is made of one is stored in its place, in the result: 0.02 MiB, 3 kernels.
// CHECK: temporaries 16392{{$}}
// CHECK: 3 launches
func.func public @main(%a: tensor<1024x8xf64>, %b: tensor<1024x4096xf64>, %c: tensor<1024x8xf64>) -> tensor<1024x4096xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %j = stablehlo.concatenate %a, %b, %c, dim = 1 : (tensor<1024x8xf64>, tensor<1024x4096xf64>, tensor<1024x8xf64>) -> tensor<1024x4112xf64>
  %e = stablehlo.slice %j [0:1024, 9:4105] : (tensor<1024x4112xf64>) -> tensor<1024x4096xf64>
  %w = stablehlo.slice %j [0:1024, 7:4103] : (tensor<1024x4112xf64>) -> tensor<1024x4096xf64>
  %d = stablehlo.subtract %e, %w : tensor<1024x4096xf64>
  %q = stablehlo.abs %d : tensor<1024x4096xf64>
  %m = stablehlo.reduce(%q init: %z) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<1024x4096xf64>, tensor<f64>) -> tensor<f64>
  %s = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<f64>) -> tensor<1024x4096xf64>
  %r = stablehlo.divide %d, %s : tensor<1024x4096xf64>
  return %r : tensor<1024x4096xf64>
}

// -----

// A slice of one operand is one of that: 0 MiB, 2 kernels.
// CHECK: temporaries 0{{$}}
// CHECK: 2 launches
func.func public @main(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> (tensor<2048x1024xf32>, tensor<1024x1024xf32>) {
  %j = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<2048x1024xf32>
  %n = stablehlo.negate %j : tensor<2048x1024xf32>
  %s = stablehlo.slice %j [1024:2048, 0:1024] : (tensor<2048x1024xf32>) -> tensor<1024x1024xf32>
  %t = stablehlo.abs %s : tensor<1024x1024xf32>
  return %n, %t : tensor<2048x1024xf32>, tensor<1024x1024xf32>
}
