// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // Ops that say to be whole on each device, of what is not, for one that is not: all of it would be gathered and cut again.
  // CHECK-LABEL: func.func @main
  // CHECK-NOT: [{}, {}]
  // CHECK: sdy.manual_computation(%{{[a-z0-9]+}}) in_shardings=[<@mesh, [{}, {"x"}]>]
  // CHECK: "stablehlo.collective_permute"
  // CHECK-SAME: (tensor<16x3xf32>) -> tensor<16x3xf32>
  // CHECK: {{^ *}}return
  func.func @main(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> (tensor<16x60xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<16x64xf32>
    %1 = stablehlo.add %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<16x64xf32>
    %2 = stablehlo.slice %1 [0:16, 4:64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x64xf32>) -> tensor<16x60xf32>
    %3 = stablehlo.slice %1 [0:16, 0:60] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x64xf32>) -> tensor<16x60xf32>
    %4 = stablehlo.subtract %2, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<16x60xf32>
    return %4 : tensor<16x60xf32>
  }

  // A product is not a move: what it takes whole it has whole.
  // CHECK-LABEL: func.func @product
  // CHECK: stablehlo.add %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>}
  // CHECK: stablehlo.dot
  func.func @product(%x: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<16x8xf32>) -> tensor<64x8xf32> {
    %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<64x16xf32>
    %1 = stablehlo.dot %0, %y : (tensor<64x16xf32>, tensor<16x8xf32>) -> tensor<64x8xf32>
    return %1 : tensor<64x8xf32>
  }
}
