// RUN: slimhlo-opt %s --slimhlo-batch-slices="chunk-bytes=1MiB" --canonicalize --cse | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-batch-slices="chunk-bytes=1MiB after-sums=true" --canonicalize --cse | FileCheck %s --check-prefix=AFTER

// Members are made within the loop, and the one that turns out best is made again by itself: no more than it is there.
// CHECK-LABEL: func.func @main
// CHECK: %[[LOOP:[^ :]*]]:{{.*}} = stablehlo.while
// CHECK: } do {
// CHECK: stablehlo.sine %{{.*}} : tensor<[[SLICE:[0-9]*]]x4096xf32>
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.return
// CHECK-NOT: tensor<512x4096x
// CHECK: %[[AT:.*]] = stablehlo.clamp %{{.*}}, %arg2, %{{.*}} : tensor<i32>
// CHECK: stablehlo.convert %[[AT]] : (tensor<i32>) -> tensor<i64>
// CHECK: stablehlo.iota dim = 1 : tensor<1x4096xi32>
// CHECK: %[[SINE:.*]] = stablehlo.sine %{{.*}} : tensor<1x4096xf32>
// CHECK: %[[SUM:.*]] = stablehlo.add %{{.*}}, %[[SINE]] : tensor<1x4096xf32>
// CHECK: %[[ONE:.*]] = stablehlo.tanh %[[SUM]] : tensor<1x4096xf32>
// CHECK: return %{{.*}}, %[[ONE]]

// What waits for all losses makes the members again, of their places.
// AFTER-LABEL: func.func @after
// AFTER: stablehlo.sort
// AFTER: stablehlo.while
// AFTER: } do {
// AFTER: stablehlo.sine %{{.*}} : tensor<{{[0-9]*}}x4096xf32>
// AFTER: stablehlo.dot_general {{.*}} contracting_dims = [0] x [0]
func.func @main(%known: tensor<4096xf32>, %w: tensor<4096x8xf32>, %best: tensor<i32>) -> (tensor<512x8xf32>, tensor<1x4096xf32>) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %places = stablehlo.iota dim = 0 : tensor<512x4096xi32>
  %columns = stablehlo.iota dim = 1 : tensor<512x4096xi32>
  %mixed = stablehlo.multiply %places, %columns : tensor<512x4096xi32>
  %angles = stablehlo.convert %mixed : (tensor<512x4096xi32>) -> tensor<512x4096xf32>
  %noise = stablehlo.sine %angles : tensor<512x4096xf32>
  %center = stablehlo.broadcast_in_dim %known, dims = [1] : (tensor<4096xf32>) -> tensor<512x4096xf32>
  %sum = stablehlo.add %center, %noise : tensor<512x4096xf32>
  %members = stablehlo.tanh %sum : tensor<512x4096xf32>
  %found = stablehlo.dot_general %members, %w, contracting_dims = [1] x [0] : (tensor<512x4096xf32>, tensor<4096x8xf32>) -> tensor<512x8xf32>
  %one = stablehlo.dynamic_slice %members, %best, %c0, sizes = [1, 4096] : (tensor<512x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4096xf32>
  return %found, %one : tensor<512x8xf32>, tensor<1x4096xf32>
}

func.func @after(%known: tensor<4096xf32>, %w: tensor<4096xf32>) -> tensor<4096xf32> {
  %places = stablehlo.iota dim = 0 : tensor<512x4096xi32>
  %columns = stablehlo.iota dim = 1 : tensor<512x4096xi32>
  %mixed = stablehlo.multiply %places, %columns : tensor<512x4096xi32>
  %angles = stablehlo.convert %mixed : (tensor<512x4096xi32>) -> tensor<512x4096xf32>
  %noise = stablehlo.sine %angles : tensor<512x4096xf32>
  %center = stablehlo.broadcast_in_dim %known, dims = [1] : (tensor<4096xf32>) -> tensor<512x4096xf32>
  %sum = stablehlo.add %center, %noise : tensor<512x4096xf32>
  %members = stablehlo.tanh %sum : tensor<512x4096xf32>
  %losses = stablehlo.dot_general %members, %w, contracting_dims = [1] x [0] : (tensor<512x4096xf32>, tensor<4096xf32>) -> tensor<512xf32>
  %sorted = "stablehlo.sort"(%losses) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<512xf32>) -> tensor<512xf32>
  %towards = stablehlo.dot_general %sorted, %members, contracting_dims = [0] x [0] : (tensor<512xf32>, tensor<512x4096xf32>) -> tensor<4096xf32>
  return %towards : tensor<4096xf32>
}
