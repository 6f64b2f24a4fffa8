// A loop reads filters that it does not change, in layers and from the other end: each is copied once, before it.
// XLA for an H100 says 22.0 MiB of temporaries for it, and transposes twice before its loop.
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=h100 plain=true top=0 kernels=40" -o /dev/null 2>&1 | FileCheck %s
// CHECK: temporaries 23068676
// CHECK: in 1 runs stablehlo.convolution tensor<3x3x512x512xf32>
// CHECK-NOT: in 8 runs stablehlo.convolution tensor<3x3x512x512xf32>

module @jit_loop {
  func.func public @main(%x: tensor<8x16x16x512xf32>, %k: tensor<3x3x512x512xf32>, %l: tensor<3x3x512x512xf32>) -> tensor<8x16x16x512xf32> {
    %from = stablehlo.constant dense<0> : tensor<i32>
    %to = stablehlo.constant dense<8> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %loop:3 = stablehlo.while(%i = %from, %state = %x, %filter = %k) : tensor<i32>, tensor<8x16x16x512xf32>, tensor<3x3x512x512xf32>
    cond {
      %more = stablehlo.compare LT, %i, %to, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %h = stablehlo.convolution(%state, %filter) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x16x512xf32>, tensor<3x3x512x512xf32>) -> tensor<8x16x16x512xf32>
      %t = stablehlo.tanh %h : tensor<8x16x16x512xf32>
      %turned = stablehlo.reverse %l, dims = [0, 1] : tensor<3x3x512x512xf32>
      %g = stablehlo.convolution(%t, %turned) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x16x512xf32>, tensor<3x3x512x512xf32>) -> tensor<8x16x16x512xf32>
      %s = stablehlo.sine %g : tensor<8x16x16x512xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %s, %filter : tensor<i32>, tensor<8x16x16x512xf32>, tensor<3x3x512x512xf32>
    }
    return %loop#1 : tensor<8x16x16x512xf32>
  }
}
