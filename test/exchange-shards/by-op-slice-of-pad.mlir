// RUN: slimhlo-opt %s --slimhlo-exchange-shards --split-input-file | FileCheck %s

// A slice that takes nothing of what a pad puts before an array is one of the array: nothing moves.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  // CHECK-LABEL: func.func @taken
  // CHECK-NOT: sdy.manual_computation
  // CHECK: %[[SLICE:.*]] = stablehlo.slice %arg0 [0:8, 0:31]
  // CHECK: stablehlo.pad %[[SLICE]]
  // CHECK-NOT: stablehlo.collective_permute
  // CHECK: return
  func.func @taken(%x: tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = sdy.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %x, %zero, low = [0, 4], high = [0, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x32xf32>, tensor<f32>) -> tensor<8x36xf32>
    %1 = stablehlo.slice %0 [0:8, 4:35] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x36xf32>) -> tensor<8x31xf32>
    %2 = stablehlo.pad %1, %zero, low = [0, 0], high = [0, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x31xf32>, tensor<f32>) -> tensor<8x32xf32>
    return %2 : tensor<8x32xf32>
  }
}

// -----

// One that takes a column of the padding stays one of the padded array.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  // CHECK-LABEL: func.func @padding
  // CHECK-NOT: stablehlo.slice %arg0 [0:8, 0:
  // CHECK: return
  func.func @padding(%x: tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = sdy.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %x, %zero, low = [0, 4], high = [0, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x32xf32>, tensor<f32>) -> tensor<8x36xf32>
    %1 = stablehlo.slice %0 [0:8, 3:35] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x36xf32>) -> tensor<8x32xf32>
    return %1 : tensor<8x32xf32>
  }
}
