// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" -split-input-file 2>&1 >/dev/null | FileCheck %s

// Forces between bodies: the sum of squares and the sum of forces both read all differences, and are computed together with them in
// the end, as the one is computed on the way to the other.
// CHECK: temporaries 0{{$}}
func.func @main(%x: tensor<1024x3xf32>, %m: tensor<1024xf32>) -> tensor<1024x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %xi = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1024x3xf32>) -> tensor<1024x1024x3xf32>
  %xj = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<1024x3xf32>) -> tensor<1024x1024x3xf32>
  %d = stablehlo.subtract %xj, %xi : tensor<1024x1024x3xf32>
  %dd = stablehlo.multiply %d, %d : tensor<1024x1024x3xf32>
  %r = stablehlo.reduce(%dd init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1024x1024x3xf32>, tensor<f32>) -> tensor<1024x1024xf32>
  %root = stablehlo.sqrt %r : tensor<1024x1024xf32>
  %rr = stablehlo.multiply %r, %root : tensor<1024x1024xf32>
  %ms = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %f = stablehlo.divide %ms, %rr : tensor<1024x1024xf32>
  %fs = stablehlo.broadcast_in_dim %f, dims = [0, 1] : (tensor<1024x1024xf32>) -> tensor<1024x1024x3xf32>
  %all = stablehlo.multiply %d, %fs : tensor<1024x1024x3xf32>
  %sum = stablehlo.reduce(%all init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024x3xf32>, tensor<f32>) -> tensor<1024x3xf32>
  return %sum : tensor<1024x3xf32>
}

// -----

// Where the first sum is a result, they stay two, and the differences are there for both.
// CHECK: temporaries 12582912
func.func @main(%x: tensor<1024x3xf32>, %m: tensor<1024xf32>) -> (tensor<1024x3xf32>, tensor<1024x1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %xi = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1024x3xf32>) -> tensor<1024x1024x3xf32>
  %xj = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<1024x3xf32>) -> tensor<1024x1024x3xf32>
  %d = stablehlo.subtract %xj, %xi : tensor<1024x1024x3xf32>
  %dd = stablehlo.multiply %d, %d : tensor<1024x1024x3xf32>
  %r = stablehlo.reduce(%dd init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1024x1024x3xf32>, tensor<f32>) -> tensor<1024x1024xf32>
  %root = stablehlo.sqrt %r : tensor<1024x1024xf32>
  %rr = stablehlo.multiply %r, %root : tensor<1024x1024xf32>
  %ms = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %f = stablehlo.divide %ms, %rr : tensor<1024x1024xf32>
  %fs = stablehlo.broadcast_in_dim %f, dims = [0, 1] : (tensor<1024x1024xf32>) -> tensor<1024x1024x3xf32>
  %all = stablehlo.multiply %d, %fs : tensor<1024x1024x3xf32>
  %sum = stablehlo.reduce(%all init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024x3xf32>, tensor<f32>) -> tensor<1024x3xf32>
  return %sum, %r : tensor<1024x3xf32>, tensor<1024x1024xf32>
}
