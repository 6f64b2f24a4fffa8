// RUN: slimhlo-opt %s --slimhlo-exchange-shards --split-input-file | FileCheck %s

// Parts of two arrays side by side where they were: each device chooses by place, and nothing is sent. A partitioner would send both
// to where another dimension is cut, and back.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  // CHECK-LABEL: func.func @in_place
  // CHECK: sdy.manual_computation
  // CHECK-NOT: collective_permute
  // CHECK: stablehlo.select
  // CHECK-NOT: collective_permute
  // CHECK: return
  func.func @in_place(%x: tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %y: tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %low = stablehlo.slice %x [0:4, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x64xf32>) -> tensor<4x3xf32>
    %high = stablehlo.slice %y [0:4, 3:64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x64xf32>) -> tensor<4x61xf32>
    %r = stablehlo.concatenate %low, %high, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x3xf32>, tensor<4x61xf32>) -> tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----

// Along a dimension that is not cut there is nothing to be won.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  // CHECK-LABEL: func.func @not_cut
  // CHECK-NOT: sdy.manual_computation
  // CHECK: return
  func.func @not_cut(%x: tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %y: tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %low = stablehlo.slice %x [0:1, 0:64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x64xf32>) -> tensor<1x64xf32>
    %high = stablehlo.slice %y [1:4, 0:64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x64xf32>) -> tensor<3x64xf32>
    %r = stablehlo.concatenate %low, %high, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<1x64xf32>, tensor<3x64xf32>) -> tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----

// Values that are unreduced are the partitioner's.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // CHECK-LABEL: func.func @unreduced
  // CHECK-NOT: sdy.manual_computation
  // CHECK: return
  func.func @unreduced(%x: tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}], unreduced={"y"}>}) -> (tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}], unreduced={"y"}>}) {
    %high = stablehlo.slice %x [0:4, 2:64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}], unreduced={"y"}>]>} : (tensor<4x64xf32>) -> tensor<4x62xf32>
    %low = stablehlo.slice %x [0:4, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}], unreduced={"y"}>]>} : (tensor<4x64xf32>) -> tensor<4x2xf32>
    %r = stablehlo.concatenate %high, %low, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}], unreduced={"y"}>]>} : (tensor<4x62xf32>, tensor<4x2xf32>) -> tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}
