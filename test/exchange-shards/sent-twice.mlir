// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A field of five tiles on six devices, longer at both ends by what is at the other: the fifth device has what the first and the sixth
// need. It sends it to one after the other, and in between gets its own strip of the fourth: what it sends second is
// still its own.
// CHECK: %[[OWN:.*]] = stablehlo.dynamic_slice %{{.*}} sizes = [2, 4]
// CHECK: %[[FIRST:.*]] = "stablehlo.collective_permute"(%[[OWN]])
// CHECK-SAME: source_target_pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]>
// CHECK: %[[HAVE:.*]] = stablehlo.select %{{[0-9]+}}, %[[FIRST]], %[[OWN]]
// CHECK: %[[SECOND:.*]] = "stablehlo.collective_permute"(%[[OWN]])
// CHECK-SAME: source_target_pairs = dense<{{\[\[}}4, 5]]>
// CHECK: stablehlo.select %{{[0-9]+}}, %[[SECOND]], %[[HAVE]]
module attributes {mhlo.num_partitions = 6 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=6]>
  func.func @main(%arg0: tensor<48x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<48x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %x = stablehlo.slice %arg0 [0:40, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<48x4xf32>) -> tensor<40x4xf32>
    %low = stablehlo.slice %x [38:40, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<40x4xf32>) -> tensor<2x4xf32>
    %high = stablehlo.slice %x [0:2, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<40x4xf32>) -> tensor<2x4xf32>
    %wide = stablehlo.concatenate %low, %x, %high, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<2x4xf32>, tensor<40x4xf32>, tensor<2x4xf32>) -> tensor<44x4xf32>
    %even = stablehlo.pad %wide, %zero, low = [0, 0], high = [4, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<44x4xf32>, tensor<f32>) -> tensor<48x4xf32>
    return %even : tensor<48x4xf32>
  }
}
