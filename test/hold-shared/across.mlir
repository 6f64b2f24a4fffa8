// RUN: slimhlo-opt %s --slimhlo-hold-shared --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-hold-shared --slimhlo-hold-shared --split-input-file | FileCheck %s

// A difference that one computation returns and another reads twice: for a back end both are one, and it would make it for each.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @returned
  // CHECK: %[[DIFFERENCE:.*]] = stablehlo.subtract
  // CHECK: %[[HELD:.*]] = "stablehlo.if"
  // CHECK: stablehlo.optimization_barrier %[[DIFFERENCE]]
  // CHECK: sdy.return %[[HELD]]
  // CHECK-NOT: stablehlo.if
  func.func @returned(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %row = stablehlo.slice %own [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %upper = stablehlo.slice %own [1:8, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
      %lower = stablehlo.slice %own [0:7, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
      %east = stablehlo.concatenate %upper, %row, dim = 0 : (tensor<7x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
      %west = stablehlo.concatenate %row, %lower, dim = 0 : (tensor<1x8xf32>, tensor<7x8xf32>) -> tensor<8x8xf32>
      %difference = stablehlo.subtract %east, %west : tensor<8x8xf32>
      sdy.return %difference : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %sent = stablehlo.slice %own [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %got = "stablehlo.collective_permute"(%sent) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %wide = stablehlo.broadcast_in_dim %got, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<8x8xf32>
      %sum = stablehlo.add %own, %wide : tensor<8x8xf32>
      sdy.return %sum : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %1 : tensor<16x8xf32>
  }
}

// -----

// What is computed between computations, of joined parts of the first, is held where the second begins.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @given
  // CHECK-NOT: stablehlo.if
  // CHECK: %[[SUM:.*]] = stablehlo.add
  // CHECK: sdy.manual_computation(%[[SUM]]) {{.*}} (%[[OWN:.*]]: tensor<8x8xf32>)
  // CHECK: %[[HELD:.*]] = "stablehlo.if"
  // CHECK: stablehlo.optimization_barrier %[[OWN]]
  // CHECK: stablehlo.slice %[[HELD]]
  // CHECK: stablehlo.add %[[HELD]]
  // CHECK-NOT: stablehlo.if
  func.func @given(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %row = stablehlo.slice %own [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %upper = stablehlo.slice %own [1:8, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
      %lower = stablehlo.slice %own [0:7, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
      %east = stablehlo.concatenate %upper, %row, dim = 0 : (tensor<7x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
      %west = stablehlo.concatenate %row, %lower, dim = 0 : (tensor<1x8xf32>, tensor<7x8xf32>) -> tensor<8x8xf32>
      sdy.return %east, %west : tensor<8x8xf32>, tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>)
    %sum = stablehlo.add %0#0, %0#1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<16x8xf32>
    %1 = sdy.manual_computation(%sum) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %sent = stablehlo.slice %own [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %got = "stablehlo.collective_permute"(%sent) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %wide = stablehlo.broadcast_in_dim %got, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<8x8xf32>
      %new = stablehlo.add %own, %wide : tensor<8x8xf32>
      sdy.return %new : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %1 : tensor<16x8xf32>
  }
}

// -----

// One joined array is stored in its place, whichever computation joins it, and an argument of the program is there.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @there
  // CHECK-NOT: stablehlo.if
  func.func @there(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %row = stablehlo.slice %own [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %upper = stablehlo.slice %own [1:8, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
      %east = stablehlo.concatenate %upper, %row, dim = 0 : (tensor<7x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
      sdy.return %east : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %sum = stablehlo.add %0, %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<16x8xf32>
    %1 = sdy.manual_computation(%sum) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %sent = stablehlo.slice %own [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %wide = stablehlo.broadcast_in_dim %sent, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<8x8xf32>
      %new = stablehlo.add %own, %wide : tensor<8x8xf32>
      sdy.return %new : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %1 : tensor<16x8xf32>
  }
}
