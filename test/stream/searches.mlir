// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s

// A search for each element, whose steps look into a small table, is done a chunk at a time.
// CHECK-LABEL: func @counted
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: stablehlo.dynamic_slice {{.*}} (tensor<512xf32>, tensor<i64>) -> tensor<[[SOME:[0-9]+]]xf32>
// CHECK: stablehlo.while
// CHECK: "stablehlo.gather"
// CHECK: (tensor<17xf32>, tensor<[[SOME]]x1xi32>) -> tensor<[[SOME]]xf32>
// CHECK: "stablehlo.scatter"
// CHECK: return
func.func @counted(%table: tensor<17xf32>, %x: tensor<512xf32>) -> tensor<18xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %low = stablehlo.constant dense<0> : tensor<512xi32>
  %high = stablehlo.constant dense<17> : tensor<512xi32>
  %counts = stablehlo.constant dense<0> : tensor<18xi32>
  %ones = stablehlo.constant dense<1> : tensor<512xi32>
  %found:5 = stablehlo.while(%i = %zero, %t = %table, %v = %x, %l = %low, %h = %high) : tensor<i32>, tensor<17xf32>, tensor<512xf32>, tensor<512xi32>, tensor<512xi32>
  cond {
    %five = stablehlo.constant dense<5> : tensor<i32>
    %more = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<512xi32>
    %both = stablehlo.add %l, %h : tensor<512xi32>
    %middle = stablehlo.divide %both, %two : tensor<512xi32>
    %at = stablehlo.broadcast_in_dim %middle, dims = [0] : (tensor<512xi32>) -> tensor<512x1xi32>
    %edge = "stablehlo.gather"(%t, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<17xf32>, tensor<512x1xi32>) -> tensor<512xf32>
    %left = stablehlo.compare LT, %v, %edge, FLOAT : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xi1>
    %nl = stablehlo.select %left, %l, %middle : tensor<512xi1>, tensor<512xi32>
    %nh = stablehlo.select %left, %middle, %h : tensor<512xi1>, tensor<512xi32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %t, %v, %nl, %nh : tensor<i32>, tensor<17xf32>, tensor<512xf32>, tensor<512xi32>, tensor<512xi32>
  }
  %places = stablehlo.broadcast_in_dim %found#4, dims = [0] : (tensor<512xi32>) -> tensor<512x1xi32>
  %r = "stablehlo.scatter"(%counts, %places, %ones) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<18xi32>, tensor<512x1xi32>, tensor<512xi32>) -> tensor<18xi32>
  return %r : tensor<18xi32>
}
