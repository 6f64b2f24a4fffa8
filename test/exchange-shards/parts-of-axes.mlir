// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A field that only the first half of an axis cuts: pairs of devices hold the same part, and each sends to one of the other pair.

// CHECK-LABEL: func.func @main
// CHECK: sdy.manual_computation(%{{.*}}) in_shardings=[<@mesh, [{}, {"x":(1)2}]>] out_shardings=[<@mesh, [{}, {"x":(1)2}]>] manual_axes={"x"} (%{{.*}}: tensor<8x32xf32>)
// CHECK: "stablehlo.collective_permute"
// CHECK-SAME: source_target_pairs = dense<{{\[}}[0, 2], [1, 3], [2, 0], [3, 1]]>
// CHECK-SAME: (tensor<8x2xf32>) -> tensor<8x2xf32>
// CHECK-NOT: collective_permute
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x":(1)2}]>}) -> (tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x":(1)2}]>}) {
    %high = stablehlo.slice %x [0:8, 2:64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x":(1)2}]>]>} : (tensor<8x64xf32>) -> tensor<8x62xf32>
    %low = stablehlo.slice %x [0:8, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x":(1)2}]>]>} : (tensor<8x64xf32>) -> tensor<8x2xf32>
    %r = stablehlo.concatenate %high, %low, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x":(1)2}]>]>} : (tensor<8x62xf32>, tensor<8x2xf32>) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}
