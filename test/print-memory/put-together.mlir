// What takes an array apart and puts all of it together again is the array (XLA for an H100 and for CPU): there is no second one, though others read the
// parts, which a function may be given.
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s
// CHECK: temporaries 268435456

func.func public @main(%x: tensor<4096x8192xf32>) -> (tensor<8192xf32>, tensor<4096x4096xf32>) {
  %s = stablehlo.sine %x : tensor<4096x8192xf32>
  %a = stablehlo.slice %s [0:4096, 0:4096] : (tensor<4096x8192xf32>) -> tensor<4096x4096xf32>
  %b = stablehlo.slice %s [0:4096, 4096:8192] : (tensor<4096x8192xf32>) -> tensor<4096x4096xf32>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %r = func.call @rest(%a, %b, %p) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<8192xf32>
  return %r, %p : tensor<8192xf32>, tensor<4096x4096xf32>
}

func.func private @rest(%a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>, %p: tensor<4096x4096xf32>) -> tensor<8192xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %all = stablehlo.concatenate %a, %b, dim = 1 : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x8192xf32>
  %row = stablehlo.slice %p [0:4096, 0:1] : (tensor<4096x4096xf32>) -> tensor<4096x1xf32>
  %rows = stablehlo.broadcast_in_dim %row, dims = [0, 1] : (tensor<4096x1xf32>) -> tensor<4096x8192xf32>
  %m = stablehlo.multiply %all, %rows : tensor<4096x8192xf32>
  %r = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x8192xf32>, tensor<f32>) -> tensor<8192xf32>
  return %r : tensor<8192xf32>
}
