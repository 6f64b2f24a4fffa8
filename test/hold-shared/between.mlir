// RUN: slimhlo-opt %s --slimhlo-hold-shared --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-hold-shared --slimhlo-hold-shared --split-input-file | FileCheck %s

// Twice what was updated is updated in turn by a part of itself: it is stored before the part is cut out.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @sum
  // CHECK: %[[NEW:[0-9]+]] = stablehlo.dynamic_update_slice
  // CHECK: %[[TWICE:[0-9]+]] = stablehlo.add %[[NEW]], %[[NEW]]
  // CHECK: %[[HELD:[0-9]+]] = "stablehlo.if"
  // CHECK: stablehlo.optimization_barrier %[[TWICE]]
  // CHECK: %[[PART:[0-9]+]] = stablehlo.dynamic_slice %[[HELD]]
  // CHECK: %[[GOT:[0-9]+]] = "stablehlo.collective_permute"(%[[PART]])
  // CHECK: stablehlo.dynamic_update_slice %[[HELD]], %[[GOT]]
  func.func @sum(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %at: tensor<i64>) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %at) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>, %place: tensor<i64>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %some = stablehlo.constant dense<1.0> : tensor<2x3xf32>
      %new = stablehlo.dynamic_update_slice %x, %some, %place, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %twice = stablehlo.add %new, %new : tensor<8x3xf32>
      %part = stablehlo.dynamic_slice %twice, %place, %zero, sizes = [2, 3] : (tensor<8x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
      %got = "stablehlo.collective_permute"(%part) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %next = stablehlo.dynamic_update_slice %twice, %got, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next : tensor<8x3xf32>
    } : (tensor<16x3xf32>, tensor<i64>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }
}

// -----

// In a loop, and cut out of what was padded.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @cut
  // CHECK: stablehlo.while
  // CHECK: do {
  // CHECK: %[[CUT:[0-9]+]] = stablehlo.dynamic_slice {{.*}} sizes = [8, 3]
  // CHECK: %[[HELD:[0-9]+]] = "stablehlo.if"
  // CHECK: stablehlo.optimization_barrier %[[CUT]]
  // CHECK: stablehlo.slice %[[HELD]]
  // CHECK: stablehlo.dynamic_update_slice %[[HELD]]
  func.func @cut(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %at: tensor<i64>) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %at) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>, %place: tensor<i64>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %one = stablehlo.constant dense<1> : tensor<i64>
      %end = stablehlo.constant dense<3> : tensor<i64>
      %none = stablehlo.constant dense<0.0> : tensor<f32>
      %r:2 = stablehlo.while(%i = %zero, %own = %x) : tensor<i64>, tensor<8x3xf32>
      cond {
        %c = stablehlo.compare LT, %i, %end : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %padded = stablehlo.pad %own, %none, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<10x3xf32>
        %cut = stablehlo.dynamic_slice %padded, %place, %zero, sizes = [8, 3] : (tensor<10x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
        %part = stablehlo.slice %cut [0:2, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
        %next = stablehlo.dynamic_update_slice %cut, %part, %place, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
        %n = stablehlo.add %i, %one : tensor<i64>
        stablehlo.return %n, %next : tensor<i64>, tensor<8x3xf32>
      }
      sdy.return %r#1 : tensor<8x3xf32>
    } : (tensor<16x3xf32>, tensor<i64>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }
}

// -----

// An argument is there in any case, and what nobody cuts a part of, or nobody updates, is computed once.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @stays
  // CHECK-NOT: stablehlo.if
  // CHECK: return
  func.func @stays(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %at: tensor<i64>) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %at) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>, %place: tensor<i64>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %some = stablehlo.constant dense<1.0> : tensor<2x3xf32>
      %first = stablehlo.add %x, %x : tensor<8x3xf32>
      %part = stablehlo.dynamic_slice %first, %place, %zero, sizes = [2, 3] : (tensor<8x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
      %new = stablehlo.dynamic_update_slice %first, %part, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %second = stablehlo.add %new, %new : tensor<8x3xf32>
      %next = stablehlo.dynamic_update_slice %second, %some, %place, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %third = stablehlo.add %next, %next : tensor<8x3xf32>
      %one = stablehlo.slice %third [0:4, 0:3] : (tensor<8x3xf32>) -> tensor<4x3xf32>
      %other = stablehlo.slice %third [4:8, 0:3] : (tensor<8x3xf32>) -> tensor<4x3xf32>
      %both = stablehlo.concatenate %other, %one, dim = 0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
      sdy.return %both : tensor<8x3xf32>
    } : (tensor<16x3xf32>, tensor<i64>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }
}

// -----

// A joined field is updated by a stencil of itself, and nothing else reads either: one kernel computes both, and writes all of the field anew.
// What reads the stencil besides would have it computed again.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @stencil_of_itself
  // CHECK-NOT: stablehlo.if
  // CHECK: return
  func.func @stencil_of_itself(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %one = stablehlo.constant dense<1> : tensor<i64>
      %low = stablehlo.slice %x [2:8, 0:3] : (tensor<8x3xf32>) -> tensor<6x3xf32>
      %high = stablehlo.slice %x [0:2, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %joined = stablehlo.concatenate %low, %high, dim = 0 : (tensor<6x3xf32>, tensor<2x3xf32>) -> tensor<8x3xf32>
      %twice = stablehlo.add %joined, %joined : tensor<8x3xf32>
      %north = stablehlo.slice %twice [2:8, 0:3] : (tensor<8x3xf32>) -> tensor<6x3xf32>
      %south = stablehlo.slice %twice [0:6, 0:3] : (tensor<8x3xf32>) -> tensor<6x3xf32>
      %new = stablehlo.subtract %north, %south : tensor<6x3xf32>
      %next = stablehlo.dynamic_update_slice %twice, %new, %one, %zero : (tensor<8x3xf32>, tensor<6x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next : tensor<8x3xf32>
    } : (tensor<16x3xf32>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }

  // CHECK-LABEL: func.func @stencil_sent
  // CHECK: stablehlo.if
  // CHECK: return
  func.func @stencil_sent(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<12x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0:2 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %one = stablehlo.constant dense<1> : tensor<i64>
      %low = stablehlo.slice %x [2:8, 0:3] : (tensor<8x3xf32>) -> tensor<6x3xf32>
      %high = stablehlo.slice %x [0:2, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %joined = stablehlo.concatenate %low, %high, dim = 0 : (tensor<6x3xf32>, tensor<2x3xf32>) -> tensor<8x3xf32>
      %twice = stablehlo.add %joined, %joined : tensor<8x3xf32>
      %north = stablehlo.slice %twice [2:8, 0:3] : (tensor<8x3xf32>) -> tensor<6x3xf32>
      %south = stablehlo.slice %twice [0:6, 0:3] : (tensor<8x3xf32>) -> tensor<6x3xf32>
      %new = stablehlo.subtract %north, %south : tensor<6x3xf32>
      %next = stablehlo.dynamic_update_slice %twice, %new, %one, %zero : (tensor<8x3xf32>, tensor<6x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %got = "stablehlo.collective_permute"(%new) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<6x3xf32>) -> tensor<6x3xf32>
      sdy.return %next, %got : tensor<8x3xf32>, tensor<6x3xf32>
    } : (tensor<16x3xf32>) -> (tensor<16x3xf32>, tensor<12x3xf32>)
    return %0#0, %0#1 : tensor<16x3xf32>, tensor<12x3xf32>
  }
}
