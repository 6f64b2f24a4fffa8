// RUN: slimhlo-opt %s --slimhlo-exchange-shards --split-input-file | FileCheck %s

// A difference that several ops read is stored once. What it is computed of is not stored for that, each by itself: neither of
// the two slices is made by updates, but joined from what devices have and get.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // CHECK-LABEL: func.func @main
  // CHECK-NOT: stablehlo.dynamic_update_slice
  // CHECK: %[[D:.*]] = stablehlo.subtract
  // CHECK: stablehlo.dot %[[D]]
  func.func @main(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %y: tensor<64x4xf32>) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<16x4xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %x, %zero, low = [0, 1], high = [0, 4], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x64xf32>, tensor<f32>) -> tensor<16x69xf32>
    %1 = stablehlo.slice %0 [0:16, 4:68] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x69xf32>) -> tensor<16x64xf32>
    %2 = stablehlo.slice %0 [0:16, 0:64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x69xf32>) -> tensor<16x64xf32>
    %3 = stablehlo.subtract %1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<16x64xf32>
    %4 = stablehlo.dot %3, %y : (tensor<16x64xf32>, tensor<64x4xf32>) -> tensor<16x4xf32>
    return %3, %4 : tensor<16x64xf32>, tensor<16x4xf32>
  }
}

// -----

// What is computed of one slice alone is stored in its place: the slice is made by updates.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // CHECK-LABEL: func.func @one_array
  // CHECK: %[[GOT:[0-9]+]] = "stablehlo.collective_permute"
  // CHECK: stablehlo.dynamic_update_slice %{{[0-9]+}}, %[[GOT]]
  // CHECK: stablehlo.add
  func.func @one_array(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %y: tensor<64x4xf32>) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<16x4xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %x, %zero, low = [0, 1], high = [0, 4], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x64xf32>, tensor<f32>) -> tensor<16x69xf32>
    %1 = stablehlo.slice %0 [0:16, 4:68] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x69xf32>) -> tensor<16x64xf32>
    %3 = stablehlo.add %1, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<16x64xf32>
    %4 = stablehlo.dot %3, %y : (tensor<16x64xf32>, tensor<64x4xf32>) -> tensor<16x4xf32>
    return %3, %4 : tensor<16x64xf32>, tensor<16x4xf32>
  }
}
