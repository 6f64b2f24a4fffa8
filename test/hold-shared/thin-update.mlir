// RUN: slimhlo-opt %s --slimhlo-hold-shared --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-hold-shared --slimhlo-hold-shared --split-input-file | FileCheck %s

// A row that is sent of an array in which a row was updated, and is again: cut out in a branch, or XLA for CPU would compute the first
// update for it once more, of a copy of what was there before.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @sent
  // CHECK: %[[NEW:.*]] = stablehlo.dynamic_update_slice
  // CHECK: %[[PART:.*]] = "stablehlo.if"
  // CHECK: %[[CUT:.*]] = stablehlo.dynamic_slice %[[NEW]]
  // CHECK: stablehlo.optimization_barrier %[[CUT]]
  // CHECK: "stablehlo.collective_permute"(%[[PART]])
  // CHECK: stablehlo.dynamic_update_slice %[[NEW]]
  func.func @sent(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %c0 = stablehlo.constant dense<0> : tensor<i64>
      %c3 = stablehlo.constant dense<3> : tensor<i64>
      %c7 = stablehlo.constant dense<7> : tensor<i64>
      %row = stablehlo.slice %own [4:5, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %rows = stablehlo.slice %own [4:6, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>
      %new = stablehlo.dynamic_update_slice %own, %row, %c0, %c0 : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      %part = stablehlo.dynamic_slice %new, %c7, %c0, sizes = [1, 8] : (tensor<8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
      %got = "stablehlo.collective_permute"(%part) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %next = stablehlo.dynamic_update_slice %new, %got, %c3, %c0 : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      sdy.return %next : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}

// -----

// The same in a loop, for a row that goes elsewhere in the array.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @loop
  // CHECK: stablehlo.while
  // CHECK: } do {
  // CHECK: stablehlo.clamp
  // CHECK: %[[NEW:.*]] = stablehlo.dynamic_update_slice
  // CHECK: %[[PART:.*]] = "stablehlo.if"
  // CHECK: stablehlo.dynamic_slice %[[NEW]]
  // CHECK: stablehlo.dynamic_update_slice %[[NEW]], %[[PART]]
  func.func @loop(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %c0 = stablehlo.constant dense<0> : tensor<i64>
      %c3 = stablehlo.constant dense<3> : tensor<i64>
      %c7 = stablehlo.constant dense<7> : tensor<i64>
      %row = stablehlo.slice %own [4:5, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %rows = stablehlo.slice %own [4:6, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>
      %i0 = stablehlo.constant dense<0> : tensor<i32>
      %i1 = stablehlo.constant dense<1> : tensor<i32>
      %all:2 = stablehlo.while(%i = %i0, %y = %own) : tensor<i32>, tensor<8x8xf32>
      cond {
        %more = stablehlo.compare LT, %i, %i1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %new = stablehlo.dynamic_update_slice %y, %row, %c0, %c0 : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
        %part = stablehlo.dynamic_slice %new, %c7, %c0, sizes = [1, 8] : (tensor<8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
        %next = stablehlo.dynamic_update_slice %new, %part, %c3, %c0 : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
        %n = stablehlo.add %i, %i1 : tensor<i32>
        stablehlo.return %n, %next : tensor<i32>, tensor<8x8xf32>
      }
      sdy.return %all#1 : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}

// -----

// A part is put back where it was, and waits for what another field has got: that is the same place all the same.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @waits
  // CHECK-NOT: stablehlo.if
  // CHECK: return
  func.func @waits(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %bits: tensor<i64>) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x, %bits) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>, %told: tensor<i64>) {
      %c0 = stablehlo.constant dense<0> : tensor<i64>
      %c7 = stablehlo.constant dense<7> : tensor<i64>
      %none = stablehlo.clamp %c0, %told, %c0 : tensor<i64>
      %then = stablehlo.add %c7, %none : tensor<i64>
      %row = stablehlo.slice %own [4:5, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %new = stablehlo.dynamic_update_slice %own, %row, %c0, %c0 : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      %part = stablehlo.dynamic_slice %new, %then, %none, sizes = [1, 8] : (tensor<8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
      %got = "stablehlo.collective_permute"(%part) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %next = stablehlo.dynamic_update_slice %new, %got, %c7, %c0 : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      sdy.return %next : tensor<8x8xf32>
    } : (tensor<16x8xf32>, tensor<i64>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}
