// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A slice for an update of the same array that is left to the partitioner: it would send as much for it, and updates the array in place.

// CHECK-LABEL: func.func @main
// CHECK-NOT: sdy.manual_computation
// CHECK: return
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["y"=2, "x"=4]>
  func.func @main(%x: tensor<166x96xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<166x96xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = stablehlo.slice %x [0:166, 54:71] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<166x96xf64>) -> tensor<166x17xf64>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.constant dense<14> : tensor<i32>
    %3 = stablehlo.dynamic_update_slice %x, %0, %1, %2 : (tensor<166x96xf64>, tensor<166x17xf64>, tensor<i32>, tensor<i32>) -> tensor<166x96xf64>
    return %3 : tensor<166x96xf64>
  }
}
