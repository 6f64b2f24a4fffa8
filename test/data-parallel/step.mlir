// RUN: slimhlo-opt %s --slimhlo-data-parallel="target=h100" --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-data-parallel="target=h100 close=false" --split-input-file | FileCheck %s --check-prefix=OPEN
// RUN: slimhlo-opt %s --slimhlo-data-parallel="target=h100 close=false" --slimhlo-data-parallel="target=h100 open=false" --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-data-parallel="target=xla-cpu" --split-input-file | FileCheck %s --check-prefix=CPU

// CPU-NOT: sdy.manual_computation

// Products of rows, a loss, the gradient of parameters, which come whole, and an update that each device does for itself.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["data"=4]>
  // CHECK-LABEL: func.func public @main
  // CHECK-SAME: tensor<512x784xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}
  // CHECK-SAME: -> (tensor<784x64xf32> {jax.result_info = "w"}, tensor<f32>, tensor<512x64xf32>)
  // CHECK: %[[ALL:.*]]:3 = sdy.manual_computation(%arg0, %arg1)
  // CHECK-SAME: in_shardings=[<@mesh, [{"data"}, {}]>, <@mesh, [{}, {}]>]
  // CHECK-SAME: out_shardings=[<@mesh, [{}, {}]>, <@mesh, []>, <@mesh, [{"data"}, {}]>] manual_axes={"data"}
  // CHECK: stablehlo.dot_general %{{.*}} (tensor<128x784xf32>, tensor<784x64xf32>) -> tensor<128x64xf32>
  // CHECK: %[[SUM:.*]] = stablehlo.reduce(
  // CHECK: %[[LOSS:.*]] = "stablehlo.all_reduce"(%[[SUM]]) {{.*}}replica_groups = dense<{{\[\[}}0, 1, 2, 3]]>
  // CHECK: %[[PART:.*]] = stablehlo.dot_general %{{.*}} (tensor<128x784xf32>, tensor<128x64xf32>) -> tensor<784x64xf32>
  // CHECK: %[[DW:.*]] = "stablehlo.all_reduce"(%[[PART]])
  // CHECK: %[[NEW:.*]] = stablehlo.subtract %{{.*}}, %[[DW]] : tensor<784x64xf32>
  // CHECK: sdy.return %[[NEW]], %[[LOSS]]
  // CHECK: return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
  // OPEN-LABEL: func.func public @main
  // OPEN-SAME: (%arg0: tensor<128x784xf32>, %arg1: tensor<784x64xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<784x64xf32> {jax.result_info = "w"}, tensor<f32>, tensor<128x64xf32>)
  // OPEN-SAME: slimhlo.whole_type = (tensor<512x784xf32>, tensor<784x64xf32>) -> (tensor<784x64xf32>, tensor<f32>, tensor<512x64xf32>)
  // OPEN-NOT: sdy.manual_computation
  func.func public @main(%x: tensor<512x784xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<784x64xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<784x64xf32> {jax.result_info = "w"}, tensor<f32>, tensor<512x64xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x784xf32>, tensor<784x64xf32>) -> tensor<512x64xf32>
    %a = stablehlo.tanh %h : tensor<512x64xf32>
    %loss = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<f32>
    %dw = stablehlo.dot_general %x, %a, contracting_dims = [0] x [0] : (tensor<512x784xf32>, tensor<512x64xf32>) -> tensor<784x64xf32>
    %new = stablehlo.subtract %w, %dw : tensor<784x64xf32>
    return %new, %loss, %a : tensor<784x64xf32>, tensor<f32>, tensor<512x64xf32>
  }
}

// -----

// What a sum starts from counts once, and is no zero here. The mesh's other axis cuts nothing.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  // CHECK-LABEL: func.func public @main
  // CHECK: sdy.manual_computation(%arg0, %arg1) {{.*}} manual_axes={"data", "model"}
  // CHECK: %[[NONE:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
  // CHECK: %[[PART:.*]] = stablehlo.reduce(%{{.*}} init: %[[NONE]])
  // CHECK: %[[SUM:.*]] = "stablehlo.all_reduce"(%[[PART]]) {{.*}}replica_groups = dense<{{\[\[}}0, 2], [1, 3]]>
  // CHECK: %[[INIT:.*]] = stablehlo.broadcast_in_dim
  // CHECK: stablehlo.add %[[INIT]], %[[SUM]] : tensor<8xf32>
  func.func public @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %init: tensor<f32>) -> tensor<8xf32> {
    %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Rows of what all devices have: of what counts them, of a splat, and of a table.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  // CHECK-LABEL: func.func public @main
  // CHECK: %[[DEVICE:.*]] = stablehlo.partition_id
  // CHECK-DAG: %[[IOTA:.*]] = stablehlo.iota dim = 0 : tensor<8x4xi32>
  // CHECK-DAG: stablehlo.constant dense<[0, 8]> : tensor<2xi32>
  // CHECK-DAG: stablehlo.constant dense<[0, 8]> : tensor<2xi64>
  // CHECK-DAG: stablehlo.dynamic_slice %{{.*}} sizes = [8, 4]
  // CHECK: stablehlo.multiply %{{.*}} : tensor<8x4xi32>
  // CHECK: sdy.return
  func.func public @main(%x: tensor<16x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %table: tensor<16x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<16x4xi32> {
    %rows = stablehlo.iota dim = 0 : tensor<16x4xi32>
    %two = stablehlo.constant dense<2> : tensor<16x4xi32>
    %0 = stablehlo.multiply %x, %two : tensor<16x4xi32>
    %1 = stablehlo.add %0, %rows : tensor<16x4xi32>
    %2 = stablehlo.add %1, %table : tensor<16x4xi32>
    return %2 : tensor<16x4xi32>
  }
}

// -----

// A loop carries rows, and stacks of them that start as zeros; barriers hand them on; a constraint that says so goes.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  // CHECK-LABEL: func.func public @main
  // CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<8x4xf32>, tensor<3x8x4xf32>
  // CHECK: stablehlo.dynamic_update_slice {{.*}} (tensor<3x8x4xf32>, tensor<1x8x4xf32>
  // CHECK: stablehlo.optimization_barrier {{.*}} : tensor<8x4xf32>, tensor<4x4xf32>
  // CHECK-NOT: sharding_constraint
  // CHECK: sdy.return
  func.func public @main(%x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<4x4xf32>) -> (tensor<16x4xf32>, tensor<3x16x4xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %none = stablehlo.constant dense<0.0> : tensor<3x16x4xf32>
    %all:3 = stablehlo.while(%i = %zero, %h = %x, %stack = %none) : tensor<i32>, tensor<16x4xf32>, tensor<3x16x4xf32>
    cond {
      %more = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %own = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
      %row = stablehlo.reshape %own : (tensor<16x4xf32>) -> tensor<1x16x4xf32>
      %put = stablehlo.dynamic_update_slice %stack, %row, %i, %zero, %zero : (tensor<3x16x4xf32>, tensor<1x16x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x16x4xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %own, %put : tensor<i32>, tensor<16x4xf32>, tensor<3x16x4xf32>
    }
    %said = sdy.sharding_constraint %all#1 <@mesh, [{"data"}, {}]> : tensor<16x4xf32>
    %held:2 = stablehlo.optimization_barrier %said, %w : tensor<16x4xf32>, tensor<4x4xf32>
    %last = stablehlo.dot_general %held#0, %held#1, contracting_dims = [1] x [0] : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
    return %last, %all#2 : tensor<16x4xf32>, tensor<3x16x4xf32>
  }
}
