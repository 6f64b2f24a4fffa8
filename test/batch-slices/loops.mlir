// RUN: slimhlo-opt %s --slimhlo-batch-slices="target=h100 chunk-bytes=33554432" | FileCheck %s

// What fills the memory is in the body of a loop (time steps of particles that do not see each other): there are slices of them in each of its turns.
// CHECK-LABEL: func.func public @main
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: %[[ALL:[0-9]+]]:{{[0-9]+}} = stablehlo.while
// CHECK: do {
// CHECK: stablehlo.dot_general {{.*}} -> tensor<8192x1024xf32>
// CHECK: stablehlo.dot_general {{.*}} -> tensor<8192x64xf32>
// CHECK: stablehlo.dynamic_update_slice {{.*}} -> tensor<65536x64xf32>
// CHECK: stablehlo.return {{.*}}%[[ALL]]#
func.func public @main(%x: tensor<65536x64xf32>, %w1: tensor<64x1024xf32>, %w2: tensor<1024x64xf32>) -> tensor<65536x64xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c10 = stablehlo.constant dense<10> : tensor<i32>
  %all:2 = stablehlo.while(%i = %c0, %now = %x) : tensor<i32>, tensor<65536x64xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c10 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %h = stablehlo.dot_general %now, %w1, contracting_dims = [1] x [0] : (tensor<65536x64xf32>, tensor<64x1024xf32>) -> tensor<65536x1024xf32>
    %a = stablehlo.tanh %h : tensor<65536x1024xf32>
    %next = stablehlo.dot_general %a, %w2, contracting_dims = [1] x [0] : (tensor<65536x1024xf32>, tensor<1024x64xf32>) -> tensor<65536x64xf32>
    %j = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %j, %next : tensor<i32>, tensor<65536x64xf32>
  }
  return %all#1 : tensor<65536x64xf32>
}
