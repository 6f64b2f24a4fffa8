// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=256" | FileCheck %s

#rows = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>

// Three sorted arrays are there as long as the loop runs, and it saves one.
// CHECK-LABEL: func @three
// CHECK: stablehlo.while
// CHECK: {{^ *}}return
func.func @three(%table: tensor<10xf32>, %indices: tensor<4096x1xi32>, %x0: tensor<4096xf32>, %x1: tensor<4096xf32>, %x2: tensor<4096xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p0 = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<4096x1xi32>) -> tensor<4096xf32>
  %s0 = "stablehlo.sort"(%x0) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4096xf32>) -> tensor<4096xf32>
  %p1 = stablehlo.multiply %p0, %s0 : tensor<4096xf32>
  %s1 = "stablehlo.sort"(%x1) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4096xf32>) -> tensor<4096xf32>
  %p2 = stablehlo.multiply %p1, %s1 : tensor<4096xf32>
  %s2 = "stablehlo.sort"(%x2) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4096xf32>) -> tensor<4096xf32>
  %p3 = stablehlo.multiply %p2, %s2 : tensor<4096xf32>
  %sum = stablehlo.reduce(%p3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// Four of them are too much for that: without a loop each can go as soon as it is read.
// CHECK-LABEL: func @four
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @four(%table: tensor<10xf32>, %indices: tensor<4096x1xi32>, %x0: tensor<4096xf32>, %x1: tensor<4096xf32>, %x2: tensor<4096xf32>, %x3: tensor<4096xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p0 = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<4096x1xi32>) -> tensor<4096xf32>
  %s0 = "stablehlo.sort"(%x0) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4096xf32>) -> tensor<4096xf32>
  %p1 = stablehlo.multiply %p0, %s0 : tensor<4096xf32>
  %s1 = "stablehlo.sort"(%x1) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4096xf32>) -> tensor<4096xf32>
  %p2 = stablehlo.multiply %p1, %s1 : tensor<4096xf32>
  %s2 = "stablehlo.sort"(%x2) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4096xf32>) -> tensor<4096xf32>
  %p3 = stablehlo.multiply %p2, %s2 : tensor<4096xf32>
  %s3 = "stablehlo.sort"(%x3) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4096xf32>) -> tensor<4096xf32>
  %p4 = stablehlo.multiply %p3, %s3 : tensor<4096xf32>
  %sum = stablehlo.reduce(%p4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
