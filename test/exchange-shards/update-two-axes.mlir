// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// Across borders along two dimensions a partitioner gathers the array and the update along one, then along the other: four all-gathers,
// where as many exchanges of what crosses a border bring less.

// CHECK-LABEL: func.func @main
// CHECK: sdy.manual_computation
// CHECK-COUNT-4: stablehlo.collective_permute
// CHECK-NOT: stablehlo.collective_permute
// CHECK: sdy.return
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["y"=2, "x"=4]>
  func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %u: tensor<24x56xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %r = stablehlo.dynamic_update_slice %x, %u, %c, %c {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<32x64xf32>, tensor<24x56xf32>, tensor<i32>, tensor<i32>) -> tensor<32x64xf32>
    return %r : tensor<32x64xf32>
  }
}
