// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A dimension cut along two axes, major first; an axis of size 1; rows that every device has.
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "one"=1, "y"=4]>

  // CHECK-LABEL: func.func @two_axes
  // CHECK: in_shardings=[<@mesh, [{"y", "x"}]>] out_shardings=[<@mesh, [{"y", "x"}]>] manual_axes={"x", "one", "y"}
  // CHECK: source_target_pairs = dense<{{\[\[}}0, 4], [1, 5], [2, 6], [3, 7], [4, 1], [5, 2], [6, 3], [7, 0]]>
  func.func @two_axes(%x: tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "one", "x"}]>}) -> (tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "one", "x"}]>}) {
    %0 = stablehlo.slice %x [63:64] : (tensor<64xi32>) -> tensor<1xi32>
    %1 = stablehlo.slice %x [0:63] : (tensor<64xi32>) -> tensor<63xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xi32>, tensor<63xi32>) -> tensor<64xi32>
    return %2 : tensor<64xi32>
  }

  // Devices along "x" have the same: each group exchanges for itself.
  // CHECK-LABEL: func.func @replicated
  // CHECK: source_target_pairs = dense<{{\[\[}}3, 0], [7, 4]]>
  // CHECK: stablehlo.constant dense<[true, false, false, false, true, false, false, false]>
  func.func @replicated(%x: tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.slice %x [60:62] : (tensor<64xi32>) -> tensor<2xi32>
    %1 = stablehlo.dynamic_update_slice %x, %0, %c0 : (tensor<64xi32>, tensor<2xi32>, tensor<i64>) -> tensor<64xi32>
    return %1 : tensor<64xi32>
  }

  // CHECK-LABEL: func.func @rows_of_all
  // CHECK: sdy.manual_computation(%arg1, %arg0) in_shardings=[<@mesh, [{}, {"x"}]>, <@mesh, [{"y"}, {"x"}]>]
  // CHECK-NOT: collective_permute
  // CHECK: stablehlo.dynamic_update_slice
  func.func @rows_of_all(%x: tensor<16x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %rows: tensor<2x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<16x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %1 = stablehlo.dynamic_update_slice %x, %rows, %c0, %c0 : (tensor<16x8xi32>, tensor<2x8xi32>, tensor<i64>, tensor<i64>) -> tensor<16x8xi32>
    return %1 : tensor<16x8xi32>
  }
}
