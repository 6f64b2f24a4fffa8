// RUN: slimhlo-opt %s --slimhlo-merge-shards --split-input-file | FileCheck %s

// 15 columns on two devices come in whole, whatever is said of them. They are padded before a loop, which is one computation all the same.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: %[[PADDED:[0-9]+]] = stablehlo.pad %arg0
  // CHECK: %[[MADE:[0-9]+]] = sdy.manual_computation(%[[PADDED]]) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>]
  // CHECK: stablehlo.while
  // CHECK-NOT: sdy.manual_computation
  // CHECK: stablehlo.slice %[[MADE]] [0:4, 0:15]
  func.func @main(%arg0: tensor<4x15xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<4x15xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %none = stablehlo.constant dense<0.0> : tensor<f32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %padded = stablehlo.pad %arg0, %none, low = [0, 0], high = [0, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x15xf32>, tensor<f32>) -> tensor<4x16xf32>
    %r:2 = stablehlo.while(%i = %zero, %x = %padded) : tensor<i32>, tensor<4x16xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}, {"x"}]>]>}
    cond {
      %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %sent = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%own: tensor<4x8xf32>) {
        %got = "stablehlo.collective_permute"(%own) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
        sdy.return %got : tensor<4x8xf32>
      } : (tensor<4x16xf32>) -> tensor<4x16xf32>
      %twice = stablehlo.add %sent, %sent {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<4x16xf32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %twice : tensor<i32>, tensor<4x16xf32>
    }
    %left = stablehlo.slice %r#1 [0:4, 0:15] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x16xf32>) -> tensor<4x15xf32>
    return %left : tensor<4x15xf32>
  }
}

// -----

// What is made of such an argument itself stays outside.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: %[[TWICE:[0-9]+]] = stablehlo.add %arg0, %arg0
  // CHECK: %[[PADDED:[0-9]+]] = stablehlo.pad %[[TWICE]]
  // CHECK: sdy.manual_computation(%[[PADDED]])
  func.func @main(%arg0: tensor<4x15xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %none = stablehlo.constant dense<0.0> : tensor<f32>
    %twice = stablehlo.add %arg0, %arg0 : tensor<4x15xf32>
    %padded = stablehlo.pad %twice, %none, low = [0, 0], high = [0, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x15xf32>, tensor<f32>) -> tensor<4x16xf32>
    %sent = sdy.manual_computation(%padded) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%own: tensor<4x8xf32>) {
      %got = "stablehlo.collective_permute"(%own) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
      sdy.return %got : tensor<4x8xf32>
    } : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %sum = stablehlo.add %sent, %sent {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<4x16xf32>
    return %sum : tensor<4x16xf32>
  }
}
