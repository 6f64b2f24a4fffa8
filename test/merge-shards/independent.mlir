// RUN: slimhlo-opt %s --slimhlo-merge-shards --split-input-file | FileCheck %s

// Computations of two fields that have nothing to do with each other are one: passes see what is there at once.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @two
  // CHECK: %[[BOTH:.*]]:2 = sdy.manual_computation(%arg0, %arg1)
  // CHECK: stablehlo.reverse
  // CHECK: stablehlo.negate
  // CHECK-NOT: sdy.manual_computation
  // CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
  func.func @two(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %2 = stablehlo.reverse %own, dims = [0] : tensor<8x8xf32>
      sdy.return %2 : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %1 = sdy.manual_computation(%y) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %2 = stablehlo.negate %own : tensor<8x8xf32>
      sdy.return %2 : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %0, %1 : tensor<16x8xf32>, tensor<16x8xf32>
  }
}

// -----

// What is left to the partitioner between them keeps them apart.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @apart
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK: %[[SUM:.*]] = stablehlo.dot_general
  // CHECK: sdy.manual_computation(%[[SUM]])
  func.func @apart(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x16xf32>) {
      %3 = stablehlo.reverse %own, dims = [0] : tensor<8x16xf32>
      sdy.return %3 : tensor<8x16xf32>
    } : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x16xf32>) {
      %3 = stablehlo.negate %own : tensor<8x16xf32>
      sdy.return %3 : tensor<8x16xf32>
    } : (tensor<16x16xf32>) -> tensor<16x16xf32>
    return %2 : tensor<16x16xf32>
  }
}
