// RUN: slimhlo-opt %s --slimhlo-early-parts="target=h100" --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-early-parts="target=h100" --slimhlo-early-parts="target=h100" --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-early-parts="target=xla-cpu" --split-input-file | FileCheck %s --check-prefix=CPU

// XLA for CPU drops barriers.
// CPU-NOT: optimization_barrier

// The last row is read after the loop; of the others the loop has a copy. The loop waits for the row.

// CHECK-LABEL: func.func public @last_row
// CHECK: %[[ALL:[0-9]+]] = stablehlo.sine %arg0
// CHECK: %[[START:[0-9]+]] = stablehlo.cosine %arg1
// CHECK: %[[LAST:[0-9]+]] = stablehlo.slice %[[ALL]] [511:512, 0:1024]
// CHECK: %[[HELD:[0-9]+]]:2 = stablehlo.optimization_barrier %[[LAST]], %[[START]] : tensor<1x1024xf32>, tensor<511x1024xf32>
// CHECK: stablehlo.while(%{{[a-zA-Z0-9_]+}} = %{{[a-z0-9_]+}}, %{{[a-zA-Z0-9_]+}} = %[[HELD]]#1)
// CHECK-NOT: optimization_barrier
// CHECK: stablehlo.add %{{[0-9]+}}, %[[HELD]]#0
func.func public @last_row(%x: tensor<512x1024xf32>, %y: tensor<511x1024xf32>) -> (tensor<1x1024xf32>, tensor<511x1024xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %turns = stablehlo.constant dense<9> : tensor<i32>
  %all = stablehlo.sine %x : tensor<512x1024xf32>
  %start = stablehlo.cosine %y : tensor<511x1024xf32>
  %most = stablehlo.slice %all [0:511, 0:1024] : (tensor<512x1024xf32>) -> tensor<511x1024xf32>
  %w:2 = stablehlo.while(%i = %zero, %s = %start) : tensor<i32>, tensor<511x1024xf32>
  cond {
    %go = stablehlo.compare LT, %i, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %more = stablehlo.multiply %s, %most : tensor<511x1024xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %more : tensor<i32>, tensor<511x1024xf32>
  }
  %last = stablehlo.slice %all [511:512, 0:1024] : (tensor<512x1024xf32>) -> tensor<1x1024xf32>
  %first = stablehlo.slice %w#1 [0:1, 0:1024] : (tensor<511x1024xf32>) -> tensor<1x1024xf32>
  %sum = stablehlo.add %first, %last : tensor<1x1024xf32>
  return %sum, %w#1 : tensor<1x1024xf32>, tensor<511x1024xf32>
}

// -----

// Not: a part of an argument, which is there anyway; one that is not small; one that the loop reads itself; and one before the loop.

// CHECK-LABEL: func.func public @stays
// CHECK-NOT: optimization_barrier
func.func public @stays(%x: tensor<512x1024xf32>, %y: tensor<511x1024xf32>) -> (tensor<1x1024xf32>, tensor<256x1024xf32>, tensor<1x1024xf32>, tensor<511x1024xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %turns = stablehlo.constant dense<9> : tensor<i32>
  %all = stablehlo.sine %x : tensor<512x1024xf32>
  %start = stablehlo.cosine %y : tensor<511x1024xf32>
  %row = stablehlo.slice %all [0:1, 0:1024] : (tensor<512x1024xf32>) -> tensor<1x1024xf32>
  %before = stablehlo.negate %row : tensor<1x1024xf32>
  %w:2 = stablehlo.while(%i = %zero, %s = %start) : tensor<i32>, tensor<511x1024xf32>
  cond {
    %go = stablehlo.compare LT, %i, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %rows = stablehlo.broadcast_in_dim %row, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<511x1024xf32>
    %more = stablehlo.multiply %s, %rows : tensor<511x1024xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %more : tensor<i32>, tensor<511x1024xf32>
  }
  %given = stablehlo.slice %x [511:512, 0:1024] : (tensor<512x1024xf32>) -> tensor<1x1024xf32>
  %half = stablehlo.slice %all [0:256, 0:1024] : (tensor<512x1024xf32>) -> tensor<256x1024xf32>
  return %given, %half, %before, %w#1 : tensor<1x1024xf32>, tensor<256x1024xf32>, tensor<1x1024xf32>, tensor<511x1024xf32>
}
