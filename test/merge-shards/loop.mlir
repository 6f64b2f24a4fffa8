// RUN: slimhlo-opt %s --slimhlo-merge-shards | FileCheck %s

// A loop in which devices only exchange what is at borders runs on each device.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @whole_loop
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK-SAME: (%[[OWN:[a-z0-9]+]]: tensor<8xf32>) {
  // CHECK: stablehlo.while(%[[I:.*]] = %{{.*}}, %[[X:.*]] = %[[OWN]]) : tensor<i32>, tensor<8xf32>
  // CHECK: do {
  // CHECK: %[[E:.*]] = stablehlo.slice %[[X]] [7:8] : (tensor<8xf32>) -> tensor<1xf32>
  // CHECK: "stablehlo.collective_permute"(%[[E]])
  // CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<8xf32>
  // CHECK: sdy.return
  func.func @whole_loop(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c9 = stablehlo.constant dense<9> : tensor<i32>
    %half = stablehlo.constant dense<0.5> : tensor<16xf32>
    %r:2 = stablehlo.while(%i = %c0, %y = %x) : tensor<i32>, tensor<16xf32>
    cond {
      %more = stablehlo.compare LT, %i, %c9 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %0 = sdy.manual_computation(%y) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xf32>) {
        %c = stablehlo.constant dense<0> : tensor<i32>
        %a = stablehlo.slice %own [7:8] : (tensor<8xf32>) -> tensor<1xf32>
        %b = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
        %d = stablehlo.dynamic_update_slice %own, %b, %c : (tensor<8xf32>, tensor<1xf32>, tensor<i32>) -> tensor<8xf32>
        sdy.return %d : tensor<8xf32>
      } : (tensor<16xf32>) -> tensor<16xf32>
      %1 = stablehlo.multiply %0, %half : tensor<16xf32>
      %next = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %next, %1 : tensor<i32>, tensor<16xf32>
    }
    return %r#1 : tensor<16xf32>
  }

  // Where something in it needs all of what is cut, the loop stays, and what can be merged in it is.
  // CHECK-LABEL: func @part_of_loop
  // CHECK: stablehlo.while
  // CHECK: do {
  // CHECK: sdy.manual_computation
  // CHECK: stablehlo.sine
  // CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<8xf32>
  // CHECK: sdy.return
  // CHECK: stablehlo.reverse
  func.func @part_of_loop(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c9 = stablehlo.constant dense<9> : tensor<i32>
    %half = stablehlo.constant dense<0.5> : tensor<16xf32>
    %r:2 = stablehlo.while(%i = %c0, %y = %x) : tensor<i32>, tensor<16xf32>
    cond {
      %more = stablehlo.compare LT, %i, %c9 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %0 = sdy.manual_computation(%y) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xf32>) {
        %a = stablehlo.sine %own : tensor<8xf32>
        sdy.return %a : tensor<8xf32>
      } : (tensor<16xf32>) -> tensor<16xf32>
      %1 = stablehlo.multiply %0, %half : tensor<16xf32>
      %2 = stablehlo.reverse %1, dims = [0] : tensor<16xf32>
      %next = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %next, %2 : tensor<i32>, tensor<16xf32>
    }
    return %r#1 : tensor<16xf32>
  }
}
