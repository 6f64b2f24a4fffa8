// RUN: slimhlo-opt %s --slimhlo-exchange-shards --split-input-file | FileCheck %s

// Differences of which some ops say nothing are computed where they are padded, and one column comes from either side. Computed in a place of their own
// they would need two, and another for the pad.
// CHECK-LABEL: func.func @main
// CHECK: sdy.manual_computation(%arg0)
// CHECK: "stablehlo.collective_permute"
// CHECK-SAME: (tensor<8x1xf32>) -> tensor<8x1xf32>
// CHECK: "stablehlo.collective_permute"
// CHECK-SAME: (tensor<8x1xf32>) -> tensor<8x1xf32>
// CHECK-NOT: collective_permute
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<8x80xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x80xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %none = stablehlo.constant dense<0.0> : tensor<f32>
    %east = stablehlo.slice %x [0:8, 2:80] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x80xf32>) -> tensor<8x78xf32>
    %west = stablehlo.slice %x [0:8, 0:78] : (tensor<8x80xf32>) -> tensor<8x78xf32>
    %d = stablehlo.subtract %east, %west {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x78xf32>
    %own = stablehlo.slice %x [0:8, 1:79] : (tensor<8x80xf32>) -> tensor<8x78xf32>
    %s = stablehlo.add %d, %own : tensor<8x78xf32>
    %r = stablehlo.pad %s, %none, low = [0, 1], high = [0, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x78xf32>, tensor<f32>) -> tensor<8x80xf32>
    return %r : tensor<8x80xf32>
  }
}

// -----

// What something else reads as well is there as it is.
// CHECK-LABEL: func.func @read
// CHECK: %[[S:.*]] = stablehlo.add
// CHECK: sdy.manual_computation({{.*}}%{{[0-9]+}}
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @read(%x: tensor<8x80xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x80xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<8x4xf32>) {
    %none = stablehlo.constant dense<0.0> : tensor<f32>
    %east = stablehlo.slice %x [0:8, 2:80] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x80xf32>) -> tensor<8x78xf32>
    %own = stablehlo.slice %x [0:8, 1:79] : (tensor<8x80xf32>) -> tensor<8x78xf32>
    %s = stablehlo.add %east, %own : tensor<8x78xf32>
    %r = stablehlo.pad %s, %none, low = [0, 1], high = [0, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x78xf32>, tensor<f32>) -> tensor<8x80xf32>
    %w = stablehlo.constant dense<1.0> : tensor<78x4xf32>
    %p = stablehlo.dot %s, %w : (tensor<8x78xf32>, tensor<78x4xf32>) -> tensor<8x4xf32>
    return %r, %p : tensor<8x80xf32>, tensor<8x4xf32>
  }
}
