// RUN: slimhlo-opt %s --slimhlo-hold-shared --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-hold-shared --slimhlo-hold-shared --split-input-file | FileCheck %s

// A difference of two joined arrays that is sent on and read here: it is stored once, and neither of the two is.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @stencil
  // CHECK: %[[DIFFERENCE:.*]] = stablehlo.subtract
  // CHECK: %[[HELD:.*]] = "stablehlo.if"
  // CHECK: %[[KEPT:.*]] = stablehlo.optimization_barrier %[[DIFFERENCE]]
  // CHECK: stablehlo.return %[[KEPT]]
  // CHECK: stablehlo.slice %[[HELD]]
  // CHECK: stablehlo.add %[[HELD]]
  // CHECK-NOT: stablehlo.if
  func.func @stencil(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %row = stablehlo.slice %own [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %upper = stablehlo.slice %own [1:8, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
      %lower = stablehlo.slice %own [0:7, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
      %east = stablehlo.concatenate %upper, %row, dim = 0 : (tensor<7x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
      %west = stablehlo.concatenate %row, %lower, dim = 0 : (tensor<1x8xf32>, tensor<7x8xf32>) -> tensor<8x8xf32>
      %difference = stablehlo.subtract %east, %west : tensor<8x8xf32>
      %sent = stablehlo.slice %difference [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %got = "stablehlo.collective_permute"(%sent) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %wide = stablehlo.broadcast_in_dim %got, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<8x8xf32>
      %sum = stablehlo.add %difference, %wide : tensor<8x8xf32>
      sdy.return %sum : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}

// -----

// The same, read the other way round.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @transposed
  // CHECK: %[[HELD:.*]] = "stablehlo.if"
  // CHECK: stablehlo.transpose %[[HELD]]
  func.func @transposed(%x: tensor<16x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%own: tensor<8x8xi32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %east = stablehlo.pad %own, %zero, low = [-1, 0], high = [1, 0], interior = [0, 0] : (tensor<8x8xi32>, tensor<i32>) -> tensor<8x8xi32>
      %west = stablehlo.pad %own, %zero, low = [1, 0], high = [-1, 0], interior = [0, 0] : (tensor<8x8xi32>, tensor<i32>) -> tensor<8x8xi32>
      %difference = stablehlo.subtract %east, %west : tensor<8x8xi32>
      %turned = stablehlo.transpose %difference, dims = [1, 0] : (tensor<8x8xi32>) -> tensor<8x8xi32>
      %back = stablehlo.reverse %turned, dims = [0] : (tensor<8x8xi32>) -> tensor<8x8xi32>
      %sum = stablehlo.add %turned, %back : tensor<8x8xi32>
      sdy.return %sum : tensor<8x8xi32>
    } : (tensor<16x8xi32>) -> tensor<8x16xi32>
    return %0 : tensor<8x16xi32>
  }
}
