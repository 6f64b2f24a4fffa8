// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: slimhlo-opt %s --slimhlo-gather-again | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-gather-again | slimhlo-opt --slimhlo-gather-again | FileCheck %s

// Weights of two layers, spread over the devices that the batch is spread over: those of the first are gathered again for its gradient, once what that
// is of is there. Those of the last are needed on one side of the peak alone.
module @two_layers attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=4]>
  // CHECK-LABEL: func.func public @main(
  // CHECK-SAME: %[[X:.*]]: tensor<4096x1024xf32> {{.*}}, %[[W:[a-z0-9]*]]: tensor<1024x4096xf32> {{.*}}, %[[V:[a-z0-9]*]]: tensor<4096x1024xf32>
  // CHECK: stablehlo.dot_general %[[X]], %[[W]], contracting_dims = [1] x [0]
  // CHECK: %[[HELD:.*]]:2 = stablehlo.optimization_barrier %[[W]], %[[D:.*]] : tensor<1024x4096xf32>, tensor<4096x4096xf32>
  // CHECK: stablehlo.dot_general %[[HELD]]#1, %[[HELD]]#0, contracting_dims = [1] x [1]
  // CHECK-NOT: stablehlo.optimization_barrier
  // CHECK: return
  func.func public @main(%x: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %v: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
    %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x1024xf32>, tensor<1024x4096xf32>) -> tensor<4096x4096xf32>
    %t = stablehlo.tanh %h : tensor<4096x4096xf32>
    %y = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
    %dy = stablehlo.cosine %y : tensor<4096x1024xf32>
    %dt = stablehlo.dot_general %dy, %v, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<4096x1024xf32>) -> tensor<4096x4096xf32>
    %dh = stablehlo.multiply %dt, %t : tensor<4096x4096xf32>
    %dx = stablehlo.dot_general %dh, %w, contracting_dims = [1] x [1] : (tensor<4096x4096xf32>, tensor<1024x4096xf32>) -> tensor<4096x1024xf32>
    return %dx : tensor<4096x1024xf32>
  }
}
