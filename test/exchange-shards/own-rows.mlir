// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// Columns are exchanged, then the first row repeats the second, with the new columns in it. A back end that knew where the row is
// would compute the update before once more for it, from a copy of the array: its place is looked up in a table with a number
// more than there are devices.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // CHECK-LABEL: func.func @rows
  // CHECK: %[[ONE:[a-z0-9_]+]] = stablehlo.dynamic_update_slice
  // CHECK: stablehlo.constant dense<[1, 1, 1, 1, 0]> : tensor<5xi64>
  // CHECK: %[[ROW:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[ONE]], {{.*}}, sizes = [1, 16]
  // CHECK: stablehlo.dynamic_update_slice %[[ONE]], %[[ROW]],
  func.func @rows(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %low = stablehlo.slice %x [0:16, 62:63] : (tensor<16x64xf32>) -> tensor<16x1xf32>
    %one = stablehlo.dynamic_update_slice %x, %low, %zero, %zero : (tensor<16x64xf32>, tensor<16x1xf32>, tensor<i32>, tensor<i32>) -> tensor<16x64xf32>
    %row = stablehlo.slice %one [1:2, 0:64] : (tensor<16x64xf32>) -> tensor<1x64xf32>
    %two = stablehlo.dynamic_update_slice %one, %row, %zero, %zero : (tensor<16x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<16x64xf32>
    return %two : tensor<16x64xf32>
  }

  // Of several rows nothing is computed again.
  // CHECK-LABEL: func.func @several
  // CHECK: %[[UPDATED:[a-z0-9_]+]] = stablehlo.dynamic_update_slice
  // CHECK: %[[ROWS:[a-z0-9_]+]] = stablehlo.slice %[[UPDATED]] [2:4, 0:16]
  // CHECK: stablehlo.dynamic_update_slice %[[UPDATED]], %[[ROWS]],
  func.func @several(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %low = stablehlo.slice %x [0:16, 62:63] : (tensor<16x64xf32>) -> tensor<16x1xf32>
    %one = stablehlo.dynamic_update_slice %x, %low, %zero, %zero : (tensor<16x64xf32>, tensor<16x1xf32>, tensor<i32>, tensor<i32>) -> tensor<16x64xf32>
    %row = stablehlo.slice %one [2:4, 0:64] : (tensor<16x64xf32>) -> tensor<2x64xf32>
    %two = stablehlo.dynamic_update_slice %one, %row, %zero, %zero : (tensor<16x64xf32>, tensor<2x64xf32>, tensor<i32>, tensor<i32>) -> tensor<16x64xf32>
    return %two : tensor<16x64xf32>
  }
}
