// RUN: slimhlo-opt %s --slimhlo-batch-slices="chunk-bytes=8MiB after-sums=true and-before=true" --split-input-file | FileCheck %s

// What a network makes of each sample goes through a loop over all of them, which no slice gets through. What comes after it computes the
// layer again, slice by slice, so that what comes before it stores none.
// CHECK-LABEL: func.func @agent
// CHECK: stablehlo.while(
// CHECK: do {
// CHECK: %[[H:.*]] = stablehlo.dot_general {{.*}} -> tensor<[[N:[0-9]+]]x4096xf32>
// CHECK: %[[T:.*]] = stablehlo.tanh %[[H]]
// CHECK: stablehlo.dot_general %[[T]], {{.*}} -> tensor<[[N]]x16xf32>
// CHECK: stablehlo.while(
// CHECK: do {
// CHECK: stablehlo.dynamic_slice %{{.*}} : (tensor<8192x16xf32>
// CHECK: stablehlo.while(
// CHECK: do {
// CHECK: %[[H2:.*]] = stablehlo.dot_general {{.*}} -> tensor<[[M:[0-9]+]]x4096xf32>
// CHECK: %[[T2:.*]] = stablehlo.tanh %[[H2]]
// CHECK: stablehlo.multiply %[[T2]], %[[T2]] : tensor<[[M]]x4096xf32>
// CHECK: stablehlo.dot_general {{.*}} -> tensor<64x4096xf32>
// CHECK: return
func.func @agent(%x: tensor<8192x64xf32>, %w: tensor<64x4096xf32>, %v: tensor<4096x16xf32>) -> tensor<64x4096xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %all = stablehlo.constant dense<8192> : tensor<i32>
  %ones = stablehlo.constant dense<1.0> : tensor<8192x4096xf32>
  %state = stablehlo.constant dense<0.0> : tensor<1x16xf32>
  %states = stablehlo.constant dense<0.0> : tensor<8192x16xf32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8192x64xf32>, tensor<64x4096xf32>) -> tensor<8192x4096xf32>
  %t = stablehlo.tanh %h : tensor<8192x4096xf32>
  %f = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<8192x4096xf32>, tensor<4096x16xf32>) -> tensor<8192x16xf32>
  %loop:4 = stablehlo.while(%i = %zero, %s = %state, %out = %states, %in = %f) : tensor<i32>, tensor<1x16xf32>, tensor<8192x16xf32>, tensor<8192x16xf32>
  cond {
    %more = stablehlo.compare LT, %i, %all : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %row = stablehlo.dynamic_slice %in, %i, %zero, sizes = [1, 16] : (tensor<8192x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
    %sum = stablehlo.add %s, %row : tensor<1x16xf32>
    %new = stablehlo.sine %sum : tensor<1x16xf32>
    %outs = stablehlo.dynamic_update_slice %out, %new, %i, %zero : (tensor<8192x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8192x16xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %new, %outs, %in : tensor<i32>, tensor<1x16xf32>, tensor<8192x16xf32>, tensor<8192x16xf32>
  }
  %dt = stablehlo.dot_general %loop#2, %v, contracting_dims = [1] x [1] : (tensor<8192x16xf32>, tensor<4096x16xf32>) -> tensor<8192x4096xf32>
  %square = stablehlo.multiply %t, %t : tensor<8192x4096xf32>
  %slope = stablehlo.subtract %ones, %square : tensor<8192x4096xf32>
  %dh = stablehlo.multiply %dt, %slope : tensor<8192x4096xf32>
  %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<8192x64xf32>, tensor<8192x4096xf32>) -> tensor<64x4096xf32>
  return %dw : tensor<64x4096xf32>
}

// -----

// Nothing waits for a sum of all rows: what can be done at once is for slices without.
// CHECK-LABEL: func.func @nothing_waits
// CHECK-NOT: stablehlo.while
// CHECK: return
func.func @nothing_waits(%x: tensor<8192x64xf32>, %w: tensor<64x4096xf32>, %v: tensor<4096x16xf32>) -> tensor<8192x16xf32> {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8192x64xf32>, tensor<64x4096xf32>) -> tensor<8192x4096xf32>
  %t = stablehlo.tanh %h : tensor<8192x4096xf32>
  %f = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<8192x4096xf32>, tensor<4096x16xf32>) -> tensor<8192x16xf32>
  return %f : tensor<8192x16xf32>
}
