// RUN: slimhlo-opt %s --slimhlo-hold-shared --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-hold-shared --slimhlo-hold-shared --split-input-file | FileCheck %s

// The first rows of %x are put into it after another update: they are cut out in a branch before that, and the update waits for them.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: sdy.manual_computation{{.*}} (%[[X:[a-z0-9]+]]: tensor<8x3xf32>)
  // CHECK: %[[GOT:[0-9]+]] = "stablehlo.collective_permute"
  // CHECK: %[[PART:[0-9]+]] = "stablehlo.if"
  // CHECK: stablehlo.slice %[[X]] [0:2, 0:3]
  // CHECK: %[[ONE:[0-9]+]] = stablehlo.slice %[[PART]] [0:1, 0:1]
  // CHECK: %[[ZERO:[0-9]+]] = stablehlo.convert
  // CHECK: %[[AT:[0-9]+]] = stablehlo.add %{{[a-z0-9_]+}}, %[[ZERO]]
  // CHECK: %[[NEW:[0-9]+]] = stablehlo.dynamic_update_slice %[[X]], %[[GOT]], %[[AT]]
  // CHECK: %[[TWICE:[0-9]+]] = stablehlo.negate %[[PART]]
  // CHECK: stablehlo.dynamic_update_slice %[[NEW]], %[[TWICE]]
  func.func @main(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %four = stablehlo.constant dense<4> : tensor<i64>
      %row = stablehlo.slice %x [6:8, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %new = stablehlo.dynamic_update_slice %x, %got, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %part = stablehlo.slice %x [0:2, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %twice = stablehlo.negate %part : tensor<2x3xf32>
      %next = stablehlo.dynamic_update_slice %new, %twice, %four, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next : tensor<8x3xf32>
    } : (tensor<16x3xf32>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }
}

// -----

// An argument that is not given away is copied in any case, and is there for as long as anybody reads it.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK-NOT: stablehlo.if
  // CHECK: return
  func.func @main(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %four = stablehlo.constant dense<4> : tensor<i64>
      %row = stablehlo.slice %x [6:8, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %new = stablehlo.dynamic_update_slice %x, %got, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %part = stablehlo.slice %x [0:2, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %next = stablehlo.dynamic_update_slice %new, %part, %four, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next : tensor<8x3xf32>
    } : (tensor<16x3xf32>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }
}

// -----

// What is made of the part before the update stays where it is: so does the part, in a branch.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: sdy.manual_computation{{.*}} (%[[X:[a-z0-9]+]]: tensor<8x3xf32>)
  // CHECK: %[[PART:[0-9]+]] = "stablehlo.if"
  // CHECK: stablehlo.slice %[[X]] [0:2, 0:3]
  // CHECK: %[[TWICE:[0-9]+]] = stablehlo.negate %[[PART]]
  // CHECK: %[[NEW:[0-9]+]] = stablehlo.dynamic_update_slice %[[X]]
  // CHECK: stablehlo.dynamic_update_slice %[[NEW]], %[[TWICE]]
  func.func @main(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %four = stablehlo.constant dense<4> : tensor<i64>
      %part = stablehlo.slice %x [0:2, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %twice = stablehlo.negate %part : tensor<2x3xf32>
      %row = stablehlo.slice %x [6:8, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %new = stablehlo.dynamic_update_slice %x, %got, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %next = stablehlo.dynamic_update_slice %new, %twice, %four, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next : tensor<8x3xf32>
    } : (tensor<16x3xf32>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }
}
