// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s --implicit-check-not=collective_permute

// An edge that is repeated behind an array, where a pad has put a scalar: all of it is that scalar, and nobody is asked for it. The array
// itself is moved by a column, which is the only exchange.

// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.collective_permute"
// CHECK-SAME: dense<{{\[}}[1, 0], [2, 1], [3, 2]]>
// CHECK-SAME: (tensor<2x1xf32>)
// CHECK: sdy.return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<2x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<2x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %inner = stablehlo.slice %x [0:2, 0:61] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x64xf32>) -> tensor<2x61xf32>
    %moved = stablehlo.pad %inner, %zero, low = [0, -1], high = [0, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x61xf32>, tensor<f32>) -> tensor<2x61xf32>
    %edge = stablehlo.slice %moved [0:2, 60:61] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x61xf32>) -> tensor<2x1xf32>
    %edges = stablehlo.broadcast_in_dim %edge, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x1xf32>) -> tensor<2x3xf32>
    %r = stablehlo.concatenate %moved, %edges, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x61xf32>, tensor<2x3xf32>) -> tensor<2x64xf32>
    return %r : tensor<2x64xf32>
  }
}
