// RUN: slimhlo-opt %s "--pass-pipeline=builtin.module(func.func(slimhlo-stream{target=xla-cpu chunk-bytes=64}))" | FileCheck %s
// What is cut along the only dimension that chunks could run along is done on each device's own shards.

module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>

  // Each device adds up its rows, then all do. Positions count from where a shard begins.
  // CHECK-LABEL: func @sum
  // CHECK: %[[SUM:.*]] = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, []>] manual_axes={"x"}
  // CHECK: stablehlo.constant dense<[0, 2048]> : tensor<2xi32>
  // CHECK: stablehlo.while
  // CHECK: "stablehlo.gather"
  // CHECK: "stablehlo.all_reduce"
  // CHECK-SAME: replica_groups = dense<{{\[}}[0, 1]]>
  // CHECK: sdy.return
  // CHECK: return %[[SUM]]
  func.func @sum(%table: tensor<10xi32>, %indices: tensor<4096x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<i32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %position = stablehlo.iota dim = 0 : tensor<4096xi32>
    %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<10xi32>, tensor<4096x1xi32>) -> tensor<4096xi32>
    %product = stablehlo.multiply %rows, %position : tensor<4096xi32>
    %sum = stablehlo.reduce(%product init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xi32>, tensor<i32>) -> tensor<i32>
    return %sum : tensor<i32>
  }

  // An initial value that is not zero would count on each device.
  // CHECK-LABEL: func @initial
  // CHECK-NOT: manual_computation
  // CHECK: return
  func.func @initial(%table: tensor<10xi32>, %indices: tensor<4096x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %init: tensor<i32>) -> tensor<i32> {
    %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<10xi32>, tensor<4096x1xi32>) -> tensor<4096xi32>
    %sum = stablehlo.reduce(%rows init: %init) applies stablehlo.add across dimensions = [0] : (tensor<4096xi32>, tensor<i32>) -> tensor<i32>
    return %sum : tensor<i32>
  }

  // No loop would come of it: one op reads each element of what there is.
  // CHECK-LABEL: func @in_vain
  // CHECK-NOT: manual_computation
  // CHECK: return
  func.func @in_vain(%array: tensor<4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %twice = stablehlo.add %array, %array : tensor<4096xf32>
    %sum = stablehlo.reduce(%twice init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
    return %sum : tensor<f32>
  }

  // Parts that do not come out even.
  // CHECK-LABEL: func @uneven
  // CHECK-NOT: manual_computation
  // CHECK: return
  func.func @uneven(%table: tensor<10xi32>, %indices: tensor<4095x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<i32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<10xi32>, tensor<4095x1xi32>) -> tensor<4095xi32>
    %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4095xi32>, tensor<i32>) -> tensor<i32>
    return %sum : tensor<i32>
  }
}
