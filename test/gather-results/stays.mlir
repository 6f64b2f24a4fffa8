// RUN: slimhlo-opt %s --slimhlo-gather-results --split-input-file | FileCheck %s

// Nothing is exchanged: what the computation is for is not known.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK-NOT: all_gather
  // CHECK: return
  func.func @main(%x: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<7x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<4x3xf32>) {
      %tile = stablehlo.add %a, %a : tensor<4x3xf32>
      sdy.return %tile : tensor<4x3xf32>
    } : (tensor<8x3xf32>) -> tensor<8x3xf32>
    %1 = stablehlo.slice %0 [0:7, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x3xf32>) -> tensor<7x3xf32>
    return %1 : tensor<7x3xf32>
  }
}

// -----

// The first result is read by something else, the second is returned in tiles.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK-NOT: all_gather
  // CHECK: return
  func.func @main(%x: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<7x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<4x3xf32>) {
      %tile = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
      %other = stablehlo.add %a, %tile : tensor<4x3xf32>
      sdy.return %tile, %other : tensor<4x3xf32>, tensor<4x3xf32>
    } : (tensor<8x3xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>)
    %1 = stablehlo.slice %0#0 [0:7, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x3xf32>) -> tensor<7x3xf32>
    %2 = stablehlo.add %0#0, %0#0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x3xf32>
    return %1, %0#1, %2 : tensor<7x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>
  }
}

// -----

// Nothing as large is stored before the tile: what is gathered can be where the result will be.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK-NOT: all_gather
  // CHECK: return
  func.func @main(%x: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<7x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<4x3xf32>) {
      %row = stablehlo.slice %a [0:1, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
      %rest = stablehlo.slice %a [1:4, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
      %tile = stablehlo.concatenate %rest, %got, dim = 0 : (tensor<3x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
      sdy.return %tile : tensor<4x3xf32>
    } : (tensor<8x3xf32>) -> tensor<8x3xf32>
    %1 = stablehlo.slice %0 [0:7, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x3xf32>) -> tensor<7x3xf32>
    return %1 : tensor<7x3xf32>
  }
}
