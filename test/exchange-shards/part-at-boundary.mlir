// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// 62 columns on four devices: a partitioner leaves the first half of the axis to what a program takes and gives, 31 columns to a device.

// CHECK-LABEL: func.func @main
// CHECK: sdy.manual_computation(%{{.*}}) in_shardings=[<@mesh, [{}, {"x":(1)2}]>] out_shardings=[<@mesh, [{}, {"x":(1)2}]>] manual_axes={"x"} (%{{.*}}: tensor<8x31xf32>)
// CHECK: "stablehlo.collective_permute"
// CHECK-SAME: (tensor<8x2xf32>) -> tensor<8x2xf32>
// CHECK-NOT: collective_permute
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<8x62xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x62xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %high = stablehlo.slice %x [0:8, 2:62] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x62xf32>) -> tensor<8x60xf32>
    %low = stablehlo.slice %x [0:8, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x62xf32>) -> tensor<8x2xf32>
    %r = stablehlo.concatenate %high, %low, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x60xf32>, tensor<8x2xf32>) -> tensor<8x62xf32>
    return %r : tensor<8x62xf32>
  }
}
