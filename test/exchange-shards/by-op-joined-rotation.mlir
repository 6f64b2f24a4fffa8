// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A rotation along one dimension that is joined to a constant along another, which is left to partitioners: the rotation
// is an exchange of four columns all the same, and its slices are none by themselves.
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  // CHECK-LABEL: func.func @rotated
  // CHECK: %[[ROTATED:.*]] = sdy.manual_computation(%arg0)
  // CHECK: %[[GOT:.*]] = "stablehlo.collective_permute"(%{{.*}}) {{.*}} : (tensor<51x4xf32>)
  // CHECK-NOT: stablehlo.collective_permute
  // CHECK: sdy.return
  // CHECK: stablehlo.concatenate %[[ROTATED]], %{{.*}}, dim = 0
  func.func @rotated(%x: tensor<102x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<104x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %0 = stablehlo.slice %x [0:102, 28:32] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<102x32xf32>) -> tensor<102x4xf32>
    %1 = stablehlo.slice %x [0:102, 0:28] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<102x32xf32>) -> tensor<102x28xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<102x4xf32>, tensor<102x28xf32>) -> tensor<102x32xf32>
    %ones = sdy.constant dense<1.0> : tensor<2x32xf32>
    %3 = stablehlo.concatenate %2, %ones, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<102x32xf32>, tensor<2x32xf32>) -> tensor<104x32xf32>
    return %3 : tensor<104x32xf32>
  }
}
