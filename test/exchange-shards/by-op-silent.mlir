// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// Slices and a concatenation that say nothing, among ops that do: laid out like what they are made of.

// CHECK-LABEL: func.func @main
// CHECK: sdy.manual_computation
// CHECK: "stablehlo.collective_permute"
// CHECK-SAME: (tensor<1x8x2xf32>) -> tensor<1x8x2xf32>
// CHECK-NOT: collective_permute
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<8x80xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<1x8x80xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>}) {
    %y = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x80xf32>
    %z = stablehlo.reshape %y : (tensor<8x80xf32>) -> tensor<1x8x80xf32>
    %high = stablehlo.slice %z [0:1, 0:8, 2:80] : (tensor<1x8x80xf32>) -> tensor<1x8x78xf32>
    %low = stablehlo.slice %z [0:1, 0:8, 0:2] : (tensor<1x8x80xf32>) -> tensor<1x8x2xf32>
    %r = stablehlo.concatenate %high, %low, dim = 2 : (tensor<1x8x78xf32>, tensor<1x8x2xf32>) -> tensor<1x8x80xf32>
    %s = stablehlo.add %r, %r {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"x"}]>]>} : tensor<1x8x80xf32>
    return %s : tensor<1x8x80xf32>
  }
}
