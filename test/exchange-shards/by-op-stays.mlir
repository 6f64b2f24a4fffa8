// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// What partitioners do on each device by themselves is left to them.
// CHECK-NOT: sdy.manual_computation
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["one"=1, "x"=4]>

  // To a size that comes out even, and back.
  func.func @ends(%arg0: tensor<20x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"one"}]>}) -> (tensor<20x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %c = sdy.constant dense<1.0> : tensor<f32>
    %0 = stablehlo.slice %arg0 [0:19, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<20x8xf32>) -> tensor<19x8xf32>
    %1 = stablehlo.exponential %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<19x8xf32>
    %2 = stablehlo.pad %1, %c, low = [0, 0], high = [1, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<19x8xf32>, tensor<f32>) -> tensor<20x8xf32>
    return %2 : tensor<20x8xf32>
  }

  // Along a dimension that is whole on each device.
  func.func @whole(%arg0: tensor<19x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<19x8xf32> {
    %0 = stablehlo.slice %arg0 [0:19, 3:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<19x8xf32>) -> tensor<19x5xf32>
    %1 = stablehlo.slice %arg0 [0:19, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<19x8xf32>) -> tensor<19x3xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<19x5xf32>, tensor<19x3xf32>) -> tensor<19x8xf32>
    %3 = stablehlo.exponential %2 : tensor<19x8xf32>
    return %3 : tensor<19x8xf32>
  }

  // Strides.
  func.func @strides(%arg0: tensor<20x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<9x8xf32> {
    %0 = stablehlo.slice %arg0 [1:19:2, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<20x8xf32>) -> tensor<9x8xf32>
    %1 = stablehlo.exponential %0 : tensor<9x8xf32>
    return %1 : tensor<9x8xf32>
  }

  // Another mesh's shardings, or what is unreduced.
  func.func @unreduced(%arg0: tensor<20x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}) -> tensor<20x8xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : tensor<20x8xf32>
    return %0 : tensor<20x8xf32>
  }
}
