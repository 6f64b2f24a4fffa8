// RUN: slimhlo-opt %s --slimhlo-exchange-shards --slimhlo-merge-shards | FileCheck %s

// A stencil of a field of 71 rows a device of one of 72, computed by one kernel: what is read at a distance of one joins a part of the
// tile and of the strip, for what is joined once for two readers would be stored.
// CHECK-LABEL: func.func @main
// CHECK-DAG: stablehlo.concatenate {{.*}} (tensor<2x3x60xi32>, tensor<2x72x60xi32>) -> tensor<2x75x60xi32>
// CHECK-DAG: stablehlo.concatenate {{.*}} (tensor<2x2x60xi32>, tensor<2x72x60xi32>) -> tensor<2x74x60xi32>
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%arg0: tensor<2x288x60xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) -> (tensor<2x284x60xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
    %v0 = stablehlo.slice %arg0 [0:2, 0:285, 0:60] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>} : (tensor<2x288x60xi32>) -> tensor<2x285x60xi32>
    %v1 = stablehlo.slice %v0 [0:2, 2:285, 0:60] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>} : (tensor<2x285x60xi32>) -> tensor<2x283x60xi32>
    %v2 = stablehlo.slice %v0 [0:2, 0:283, 0:60] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>} : (tensor<2x285x60xi32>) -> tensor<2x283x60xi32>
    %v3 = stablehlo.subtract %v1, %v2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>} : tensor<2x283x60xi32>
    %v4 = stablehlo.slice %v0 [0:2, 1:284, 0:60] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>} : (tensor<2x285x60xi32>) -> tensor<2x283x60xi32>
    %v5 = stablehlo.add %v3, %v4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>} : tensor<2x283x60xi32>
    %v6 = stablehlo.constant dense<0> : tensor<i32>
    %v7 = stablehlo.pad %v5, %v6, low = [0, 0, 0], high = [0, 1, 0], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>} : (tensor<2x283x60xi32>, tensor<i32>) -> tensor<2x284x60xi32>
    return %v7 : tensor<2x284x60xi32>
  }
}
