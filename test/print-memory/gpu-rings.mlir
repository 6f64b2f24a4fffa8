// Results that are computed in the memory of each other's arguments: XLA for an H100 (`referee.py --target h100`) has one of them wait in memory of its own.
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// 8.00 MiB, 3 kernels and 2 copies.
// CHECK: temporaries 8388608{{$}}
// CHECK: 5 launches
func.func public @main(%x: tensor<2048x1024xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<2048x1024xf32> {tf.aliasing_output = 1 : i32}, %z: tensor<2048x1024xf32> {tf.aliasing_output = 2 : i32}) -> (tensor<2048x1024xf32>, tensor<2048x1024xf32>, tensor<2048x1024xf32>) {
  %a = stablehlo.negate %y : tensor<2048x1024xf32>
  %b = stablehlo.abs %z : tensor<2048x1024xf32>
  %c = stablehlo.add %x, %x : tensor<2048x1024xf32>
  return %a, %b, %c : tensor<2048x1024xf32>, tensor<2048x1024xf32>, tensor<2048x1024xf32>
}

// -----

// A loop that hands on what it was given: 8.00 MiB, 39 kernels.
// CHECK: temporaries 8388612{{$}}
// CHECK: 38 launches
func.func public @main(%x: tensor<2048x1024xf32>, %y: tensor<2048x1024xf32>) -> (tensor<2048x1024xf32>, tensor<2048x1024xf32>) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c9 = stablehlo.constant dense<9> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c0, %u = %x, %v = %y) : tensor<i32>, tensor<2048x1024xf32>, tensor<2048x1024xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %c9, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %r = stablehlo.reverse %v, dims = [0] : tensor<2048x1024xf32>
    %s = stablehlo.subtract %r, %u : tensor<2048x1024xf32>
    %n = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %n, %v, %s : tensor<i32>, tensor<2048x1024xf32>, tensor<2048x1024xf32>
  }
  return %0#1, %0#2 : tensor<2048x1024xf32>, tensor<2048x1024xf32>
}
