// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// The halo of a field whose tiles are short along both dimensions: devices at the end of the first do along the second what all others
// do, with as many rows as a tile has, also in the last column.
// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.collective_permute"
// CHECK-SAME: tensor<54x1xf32>
// CHECK-NOT: collective_permute
// CHECK: return
module attributes {mhlo.num_partitions = 12 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=3, "y"=4]>
  func.func @main(%arg0: tensor<162x264xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<162x264xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c260 = stablehlo.constant dense<260> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %x = stablehlo.slice %arg0 [0:161, 0:261] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<162x264xf32>) -> tensor<161x261xf32>
    %v8 = stablehlo.slice %x [0:161, 259:260] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<161x261xf32>) -> tensor<161x1xf32>
    %v12 = stablehlo.dynamic_update_slice %x, %v8, %c0, %c0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<161x261xf32>, tensor<161x1xf32>, tensor<i32>, tensor<i32>) -> tensor<161x261xf32>
    %v13 = stablehlo.slice %v12 [0:161, 1:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<161x261xf32>) -> tensor<161x1xf32>
    %v17 = stablehlo.dynamic_update_slice %v12, %v13, %c0, %c260 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<161x261xf32>, tensor<161x1xf32>, tensor<i32>, tensor<i32>) -> tensor<161x261xf32>
    %r = stablehlo.pad %v17, %zero, low = [0, 0], high = [1, 3], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<161x261xf32>, tensor<f32>) -> tensor<162x264xf32>
    return %r : tensor<162x264xf32>
  }
}
