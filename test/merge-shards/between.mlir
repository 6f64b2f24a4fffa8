// RUN: slimhlo-opt %s --slimhlo-merge-shards --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-merge-shards --slimhlo-merge-shards --split-input-file | FileCheck %s

// What is between two manual computations is on shards, as they are; so are a splat and a constraint on the way.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // CHECK-LABEL: func @between
  // CHECK: %[[R:.*]] = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%[[OWN:[a-z0-9]+]]: tensor<4x8xf32>) {
  // CHECK: %[[TWO:.*]] = stablehlo.broadcast_in_dim %{{.*}} : (tensor<f32>) -> tensor<4x8xf32>
  // CHECK: %[[A:.*]] = stablehlo.sine %[[OWN]] : tensor<4x8xf32>
  // CHECK: %[[B:.*]] = stablehlo.multiply %[[A]], %[[TWO]] : tensor<4x8xf32>
  // CHECK: %[[C:.*]] = stablehlo.cosine %[[B]] : tensor<4x8xf32>
  // CHECK: sdy.return %[[C]] : tensor<4x8xf32>
  // CHECK-NOT: sdy.manual_computation
  // CHECK: return %[[R]]
  func.func @between(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %two = stablehlo.constant dense<2.0> : tensor<8x16xf32>
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%own: tensor<4x8xf32>) {
      %a = stablehlo.sine %own : tensor<4x8xf32>
      sdy.return %a : tensor<4x8xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {"y"}]> : tensor<8x16xf32>
    %2 = stablehlo.multiply %1, %two : tensor<8x16xf32>
    %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%own: tensor<4x8xf32>) {
      %a = stablehlo.cosine %own : tensor<4x8xf32>
      sdy.return %a : tensor<4x8xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    return %3 : tensor<8x16xf32>
  }
}

// -----

// Moves along a dimension that is not cut, a count along one that is, and a sum over it: over the shard, then over devices. The sum is
// needed outside, too.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @moves_and_sums
  // CHECK: %[[R:.*]]:2 = sdy.manual_computation(%arg0)
  // CHECK-SAME: out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}]>]
  // CHECK: %[[A:.*]] = stablehlo.sine
  // CHECK: stablehlo.slice %[[A]] [0:4, 2:6] : (tensor<4x6xf32>) -> tensor<4x4xf32>
  // CHECK: stablehlo.partition_id
  // CHECK: %[[PLACE:.*]] = stablehlo.dynamic_slice
  // CHECK: %[[FIRST:.*]] = stablehlo.reshape %[[PLACE]]
  // CHECK: %[[FIRSTS:.*]] = stablehlo.broadcast_in_dim %[[FIRST]]
  // CHECK: %[[COUNT:.*]] = stablehlo.iota dim = 0 : tensor<4x4xi32>
  // CHECK: stablehlo.add %[[COUNT]], %[[FIRSTS]] : tensor<4x4xi32>
  // CHECK: %[[OWN:.*]] = stablehlo.reduce
  // CHECK: %[[ALL:.*]] = "stablehlo.all_reduce"(%[[OWN]])
  // CHECK-SAME: replica_groups = dense<{{.*}}0, 1{{.*}}>
  // CHECK: sdy.return %{{.*}}, %[[ALL]] : tensor<4x4xf32>, tensor<4xf32>
  // CHECK: return %[[R]]#0, %[[R]]#1
  func.func @moves_and_sums(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<4xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<4x6xf32>) {
      %a = stablehlo.sine %own : tensor<4x6xf32>
      sdy.return %a : tensor<4x6xf32>
    } : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %1 = stablehlo.slice %0 [0:8, 2:6] : (tensor<8x6xf32>) -> tensor<8x4xf32>
    %2 = stablehlo.iota dim = 0 : tensor<8x4xi32>
    %3 = stablehlo.convert %2 : (tensor<8x4xi32>) -> tensor<8x4xf32>
    %4 = stablehlo.add %1, %3 : tensor<8x4xf32>
    %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %4, %5 : tensor<8x4xf32>, tensor<4xf32>
  }
}
