// RUN: slimhlo-opt %s --slimhlo-take-turns --split-input-file | FileCheck %s

// Two results of one exchange, two that meet in a third, and a field that nothing comes for: nobody waits.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @together
  // CHECK-NOT: stablehlo.clamp
  // CHECK: return
  func.func @together(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %z: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<18x8xf32>, tensor<18x8xf32>, tensor<16x8xf32>) {
    %0:3 = sdy.manual_computation(%x, %y, %z) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) {
      %row = stablehlo.slice %a [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %first = stablehlo.concatenate %a, %got, dim = 0 : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<9x8xf32>
      %other = stablehlo.slice %b [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %next = "stablehlo.collective_permute"(%other) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %second = stablehlo.concatenate %next, %a, dim = 0 : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<9x8xf32>
      %sum = stablehlo.add %second, %first : tensor<9x8xf32>
      %twice = stablehlo.add %c, %c : tensor<8x8xf32>
      sdy.return %first, %sum, %twice : tensor<9x8xf32>, tensor<9x8xf32>, tensor<8x8xf32>
    } : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> (tensor<18x8xf32>, tensor<18x8xf32>, tensor<16x8xf32>)
    return %0#0, %0#1, %0#2 : tensor<18x8xf32>, tensor<18x8xf32>, tensor<16x8xf32>
  }
}

// -----

// Truth values have no bits to wait for, and an array that is sent as it came is cut out at no place: the second field does
// not wait for the first.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @whole
  // CHECK-NOT: stablehlo.clamp
  // CHECK: return
  func.func @whole(%x: tensor<128x8xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<130x8xi1>, tensor<16x8xf32>) {
    %0:2 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<64x8xi1>, %b: tensor<8x8xf32>) {
      %row = stablehlo.slice %a [0:1, 0:8] : (tensor<64x8xi1>) -> tensor<1x8xi1>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xi1>) -> tensor<1x8xi1>
      %first = stablehlo.concatenate %a, %got, dim = 0 : (tensor<64x8xi1>, tensor<1x8xi1>) -> tensor<65x8xi1>
      %all = "stablehlo.collective_permute"(%b) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sdy.return %first, %all : tensor<65x8xi1>, tensor<8x8xf32>
    } : (tensor<128x8xi1>, tensor<16x8xf32>) -> (tensor<130x8xi1>, tensor<16x8xf32>)
    return %0#0, %0#1 : tensor<130x8xi1>, tensor<16x8xf32>
  }
}
