// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s
// What is inside of a manual computation over all axes is one device's. Over some of them it is not looked into.

module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  sdy.mesh @both = <["x"=2, "y"=2]>

// CHECK-LABEL: func @all_axes
// CHECK: sdy.manual_computation
// CHECK: stablehlo.while
// CHECK: "stablehlo.gather"
// CHECK: stablehlo.all_reduce
  func.func @all_axes(%table: tensor<10xf32>, %indices: tensor<256x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<f32> {
    %all = sdy.manual_computation(%table, %indices) in_shardings=[<@mesh, [{}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, []>] manual_axes={"x"} (%own: tensor<10xf32>, %some: tensor<128x1xi32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %rows = "stablehlo.gather"(%own, %some) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<128x1xi32>) -> tensor<128xf32>
      %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
      %both = "stablehlo.all_reduce"(%sum) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<f32>) -> tensor<f32>
      sdy.return %both : tensor<f32>
    } : (tensor<10xf32>, tensor<256x1xi32>) -> tensor<f32>
    return %all : tensor<f32>
  }

// CHECK-LABEL: func @some_axes
// CHECK-NOT: stablehlo.while
// CHECK: return
  func.func @some_axes(%table: tensor<10xf32>, %indices: tensor<256x1xi32>) -> tensor<2xf32> {
    %all = sdy.manual_computation(%table, %indices) in_shardings=[<@both, [{}]>, <@both, [{"x"}, {}]>] out_shardings=[<@both, [{"x"}]>] manual_axes={"x"} (%own: tensor<10xf32>, %some: tensor<128x1xi32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %rows = "stablehlo.gather"(%own, %some) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<128x1xi32>) -> tensor<128xf32>
      %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
      %one = stablehlo.reshape %sum : (tensor<f32>) -> tensor<1xf32>
      sdy.return %one : tensor<1xf32>
    } : (tensor<10xf32>, tensor<256x1xi32>) -> tensor<2xf32>
    return %all : tensor<2xf32>
  }
}
