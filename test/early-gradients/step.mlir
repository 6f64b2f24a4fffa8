// RUN: slimhlo-opt %s --slimhlo-early-gradients="target=h100" --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-early-gradients="target=h100" --slimhlo-early-gradients="target=h100" --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-early-gradients="target=xla-cpu" --split-input-file | FileCheck %s --check-prefix=NOTHING
// RUN: slimhlo-opt %s --slimhlo-early-gradients="target=h100 least-bytes=1GiB" --split-input-file | FileCheck %s --check-prefix=NOTHING

// NOTHING-NOT: optimization_barrier

// A gradient, the sum of one in parts, and a bias' are there before the product that comes next. The last ones have none after them.

module @sharded attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @step
  // CHECK: %[[H:[0-9]+]] = stablehlo.dot_general %[[X:arg[0-9]+]], %[[W1:arg[0-9]+]]
  // CHECK: %[[D2:[0-9]+]] = stablehlo.cosine %[[H]]
  // CHECK: %[[DW:[0-9]+]] = stablehlo.dot_general %[[H]], %[[D2]], contracting_dims = [0] x [0]
  // CHECK: %[[PARTS:[0-9]+]] = stablehlo.dot_general %{{[0-9]+}}, %{{[0-9]+}}, batching_dims = [0] x [0]
  // CHECK: %[[DB:[0-9]+]] = stablehlo.reduce(%[[D2]] init: %{{[a-z0-9_]+}}) applies stablehlo.add across dimensions = [0]
  // CHECK: %[[SUM:[0-9]+]] = stablehlo.reduce(%[[PARTS]] init:
  // CHECK: %[[HELD:[0-9]+]]:4 = stablehlo.optimization_barrier %[[D2]], %[[DW]], %[[SUM]], %[[DB]]
  // CHECK: stablehlo.dot_general %[[HELD]]#0, %[[W1]]
  // CHECK-NOT: optimization_barrier
  // CHECK: stablehlo.dot_general %[[X]]
  // CHECK: stablehlo.all_reduce
  // CHECK: sdy.return %[[HELD]]#1, %[[HELD]]#2, %[[HELD]]#3
  func.func @step(%x: tensor<65536x128xf32>, %w: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<128xf32>, tensor<128x128xf32>) {
    %0:4 = sdy.manual_computation(%x, %w) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>, <@mesh, [{}]>, <@mesh, [{}, {}]>] manual_axes={"x"} (%mine: tensor<32768x128xf32>, %w1: tensor<128x128xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %h = stablehlo.dot_general %mine, %w1, contracting_dims = [1] x [0] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %d2 = stablehlo.cosine %h : tensor<32768x128xf32>
      %dw = stablehlo.dot_general %h, %d2, contracting_dims = [0] x [0] : (tensor<32768x128xf32>, tensor<32768x128xf32>) -> tensor<128x128xf32>
      %rows = stablehlo.reshape %mine : (tensor<32768x128xf32>) -> tensor<64x512x128xf32>
      %more = stablehlo.reshape %d2 : (tensor<32768x128xf32>) -> tensor<64x512x128xf32>
      %parts = stablehlo.dot_general %rows, %more, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<64x512x128xf32>, tensor<64x512x128xf32>) -> tensor<64x128x128xf32>
      %db = stablehlo.reduce(%d2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32768x128xf32>, tensor<f32>) -> tensor<128xf32>
      %d1 = stablehlo.dot_general %d2, %w1, contracting_dims = [1] x [1] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %sum = stablehlo.reduce(%parts init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x128x128xf32>, tensor<f32>) -> tensor<128x128xf32>
      %last = stablehlo.dot_general %mine, %d1, contracting_dims = [0] x [0] : (tensor<32768x128xf32>, tensor<32768x128xf32>) -> tensor<128x128xf32>
      %all = "stablehlo.all_reduce"(%last) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %both = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %both : tensor<f32>
      }) : (tensor<128x128xf32>) -> tensor<128x128xf32>
      sdy.return %dw, %sum, %db, %all : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128xf32>, tensor<128x128xf32>
    } : (tensor<65536x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<128xf32>, tensor<128x128xf32>)
    return %0#0, %0#1, %0#2, %0#3 : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128xf32>, tensor<128x128xf32>
  }
}

// -----

// No device waits for another here: XLA's order is by memory.

module @alone attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @alone
  // CHECK-NOT: optimization_barrier
  func.func @alone(%x: tensor<65536x128xf32>, %w: tensor<128x128xf32>) -> (tensor<256x128xf32>, tensor<65536x128xf32>) {
    %0:2 = sdy.manual_computation(%x, %w) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%mine: tensor<32768x128xf32>, %w1: tensor<128x128xf32>) {
      %dw = stablehlo.dot_general %mine, %mine, contracting_dims = [0] x [0] : (tensor<32768x128xf32>, tensor<32768x128xf32>) -> tensor<128x128xf32>
      %s = stablehlo.sine %mine : tensor<32768x128xf32>
      %d1 = stablehlo.dot_general %s, %w1, contracting_dims = [1] x [1] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      sdy.return %dw, %d1 : tensor<128x128xf32>, tensor<32768x128xf32>
    } : (tensor<65536x128xf32>, tensor<128x128xf32>) -> (tensor<256x128xf32>, tensor<65536x128xf32>)
    return %0#0, %0#1 : tensor<256x128xf32>, tensor<65536x128xf32>
  }
}

// -----

// Nor for what a partitioner has yet to cut, or on one device.

module @cut attributes {mhlo.num_partitions = 2 : i32} {
  // CHECK-LABEL: func.func @cut
  // CHECK-NOT: optimization_barrier
  func.func @cut(%x: tensor<65536x128xf32>, %w: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<65536x128xf32>) {
    %dw = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<65536x128xf32>, tensor<65536x128xf32>) -> tensor<128x128xf32>
    %s = stablehlo.sine %x : tensor<65536x128xf32>
    %d1 = stablehlo.dot_general %s, %w, contracting_dims = [1] x [1] : (tensor<65536x128xf32>, tensor<128x128xf32>) -> tensor<65536x128xf32>
    return %dw, %d1 : tensor<128x128xf32>, tensor<65536x128xf32>
  }
}
