// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A stencil of a part of what a stencil computes: the part begins elsewhere than what it is of, so it is made once, by one exchange,
// and all that read it read it as it then is. None of them computes the first stencil again.
// CHECK-LABEL: func.func @main
// CHECK: %[[PART:.*]] = sdy.manual_computation(%arg0)
// CHECK: stablehlo.subtract
// CHECK-NOT: sdy.manual_computation(%arg0)
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%arg0: tensor<288x120xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<284x118xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %v0 = stablehlo.slice %arg0 [0:288, 2:120] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<288x120xf64>) -> tensor<288x118xf64>
    %v1 = stablehlo.slice %arg0 [0:288, 0:118] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<288x120xf64>) -> tensor<288x118xf64>
    %v2 = stablehlo.subtract %v0, %v1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : tensor<288x118xf64>
    %v4 = stablehlo.pad %v2, %zero, low = [0, 1], high = [0, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<288x118xf64>, tensor<f64>) -> tensor<288x120xf64>
    %v5 = stablehlo.add %arg0, %v4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : tensor<288x120xf64>
    %v6 = stablehlo.slice %v5 [0:288, 0:118] : (tensor<288x120xf64>) -> tensor<288x118xf64>
    %v7 = stablehlo.slice %v6 [4:288, 0:118] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<288x118xf64>) -> tensor<284x118xf64>
    %v8 = stablehlo.slice %v6 [0:284, 0:118] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<288x118xf64>) -> tensor<284x118xf64>
    %v9 = stablehlo.subtract %v7, %v8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : tensor<284x118xf64>
    return %v9 : tensor<284x118xf64>
  }
}
