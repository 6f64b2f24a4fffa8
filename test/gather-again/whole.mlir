// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: slimhlo-opt %s --slimhlo-gather-again | FileCheck %s

// Weights that every device has are gathered for nothing.
// CHECK-LABEL: func.func public @main(
// CHECK-NOT: stablehlo.optimization_barrier
module @whole attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=4]>
  func.func public @main(%x: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
    %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x1024xf32>, tensor<1024x4096xf32>) -> tensor<4096x4096xf32>
    %t = stablehlo.tanh %h : tensor<4096x4096xf32>
    %dx = stablehlo.dot_general %t, %w, contracting_dims = [1] x [1] : (tensor<4096x4096xf32>, tensor<1024x4096xf32>) -> tensor<4096x1024xf32>
    return %dx : tensor<4096x1024xf32>
  }
}
