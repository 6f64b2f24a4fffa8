// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// What a call gives is laid out as the function says: a wrap of it exchanges columns at borders, no more.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // CHECK-LABEL: func.func @main
  // CHECK: %[[TWICE:[0-9]+]] = call @twice(%arg0)
  // CHECK: sdy.manual_computation(%[[TWICE]])
  // CHECK: "stablehlo.collective_permute"{{.*}} : (tensor<16x3xf32>) -> tensor<16x3xf32>
  // CHECK: sdy.return
  func.func @main(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> (tensor<16x66xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = func.call @twice(%x) : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %1 = stablehlo.slice %0 [0:16, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x64xf32>) -> tensor<16x2xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x64xf32>, tensor<16x2xf32>) -> tensor<16x66xf32>
    return %2 : tensor<16x66xf32>
  }
  func.func private @twice(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<16x64xf32>
    return %0 : tensor<16x64xf32>
  }

  // Of what a function says nothing nothing is known.
  // CHECK-LABEL: func.func @silent
  // CHECK: %[[THRICE:[0-9]+]] = call @thrice(%arg0)
  // CHECK-NOT: sdy.manual_computation
  // CHECK: {{^ *}}return
  func.func @silent(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> (tensor<16x66xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = func.call @thrice(%x) : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %1 = stablehlo.slice %0 [0:16, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x64xf32>) -> tensor<16x2xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x64xf32>, tensor<16x2xf32>) -> tensor<16x66xf32>
    return %2 : tensor<16x66xf32>
  }
  func.func private @thrice(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
    %0 = stablehlo.add %x, %x : tensor<16x64xf32>
    %1 = stablehlo.add %0, %x : tensor<16x64xf32>
    return %1 : tensor<16x64xf32>
  }
}
