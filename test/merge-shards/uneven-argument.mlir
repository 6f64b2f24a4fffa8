// RUN: slimhlo-opt %s --slimhlo-exchange-shards --slimhlo-merge-shards | FileCheck %s

// An argument that is said to be cut in eight, which it cannot be evenly, comes cut in four, whatever is said of what else is made of it:
// two computations of it become one, and what they exchange one exchange.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.add %arg0, %arg0
// CHECK: sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {"x":(1)4}]>]
// CHECK: "stablehlo.collective_permute"
// CHECK-NOT: collective_permute
// CHECK: stablehlo.subtract
// CHECK-NOT: sdy.manual_computation
// CHECK: return
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]>
  func.func @main(%arg0: tensor<42x404xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> (tensor<42x402xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<42x404xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %high = stablehlo.slice %arg0 [0:42, 2:404] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<42x404xf32>) -> tensor<42x402xf32>
    %low = stablehlo.slice %arg0 [0:42, 0:402] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<42x404xf32>) -> tensor<42x402xf32>
    %difference = stablehlo.subtract %high, %low {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<42x402xf32>
    %twice = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<42x404xf32>
    return %difference, %twice : tensor<42x402xf32>, tensor<42x404xf32>
  }
}
