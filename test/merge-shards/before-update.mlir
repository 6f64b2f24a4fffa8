// RUN: slimhlo-opt %s --slimhlo-merge-shards --split-input-file | FileCheck %s

// Columns that the last two devices send after the first has put what it got into its own: where they are sent from is as it was, and
// both go at once, as wide as the wider. The update comes behind.

// CHECK-LABEL: func.func @elsewhere
// CHECK: %[[GOT:.*]] = "stablehlo.collective_permute"{{.*}}source_target_pairs = dense<{{\[}}[1, 0], [2, 3]]>{{.*}} (tensor<8x3xf32>)
// CHECK-NOT: stablehlo.collective_permute
// CHECK: stablehlo.dynamic_update_slice
// CHECK-NOT: stablehlo.collective_permute
// CHECK: sdy.return
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @elsewhere(%x: tensor<8x80xf32>) -> tensor<8x80xf32> {
    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%own: tensor<8x20xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %place = stablehlo.constant dense<10> : tensor<i64>
      %a = stablehlo.slice %own [0:8, 0:3] : (tensor<8x20xf32>) -> tensor<8x3xf32>
      %p = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<8x3xf32>) -> tensor<8x3xf32>
      %u = stablehlo.dynamic_update_slice %own, %p, %zero, %place : (tensor<8x20xf32>, tensor<8x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x20xf32>
      %b = stablehlo.slice %u [0:8, 0:2] : (tensor<8x20xf32>) -> tensor<8x2xf32>
      %q = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[2, 3]]> : tensor<1x2xi64>}> : (tensor<8x2xf32>) -> tensor<8x2xf32>
      %v = stablehlo.dynamic_update_slice %u, %q, %zero, %zero : (tensor<8x20xf32>, tensor<8x2xf32>, tensor<i64>, tensor<i64>) -> tensor<8x20xf32>
      sdy.return %v : tensor<8x20xf32>
    } : (tensor<8x80xf32>) -> tensor<8x80xf32>
    return %r : tensor<8x80xf32>
  }
}

// -----

// What the update has written is sent: that is not there before.

// CHECK-LABEL: func.func @there
// CHECK: "stablehlo.collective_permute"
// CHECK: stablehlo.dynamic_update_slice
// CHECK: "stablehlo.collective_permute"
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @there(%x: tensor<8x80xf32>) -> tensor<8x80xf32> {
    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%own: tensor<8x20xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %place = stablehlo.constant dense<10> : tensor<i64>
      %a = stablehlo.slice %own [0:8, 0:3] : (tensor<8x20xf32>) -> tensor<8x3xf32>
      %p = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<8x3xf32>) -> tensor<8x3xf32>
      %u = stablehlo.dynamic_update_slice %own, %p, %zero, %place : (tensor<8x20xf32>, tensor<8x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x20xf32>
      %b = stablehlo.slice %u [0:8, 12:14] : (tensor<8x20xf32>) -> tensor<8x2xf32>
      %q = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[2, 3]]> : tensor<1x2xi64>}> : (tensor<8x2xf32>) -> tensor<8x2xf32>
      %v = stablehlo.dynamic_update_slice %u, %q, %zero, %zero : (tensor<8x20xf32>, tensor<8x2xf32>, tensor<i64>, tensor<i64>) -> tensor<8x20xf32>
      sdy.return %v : tensor<8x20xf32>
    } : (tensor<8x80xf32>) -> tensor<8x80xf32>
    return %r : tensor<8x80xf32>
  }
}

// -----

// How large an array is is not known: nothing is put together.

// CHECK-LABEL: func.func @of_any_size
// CHECK-COUNT-2: "stablehlo.collective_permute"
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @of_any_size(%x: tensor<?x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<?x8xf32> {
    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%own: tensor<?x4xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %b = stablehlo.dynamic_slice %own, %zero, %zero, sizes = [1, 2] : (tensor<?x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x2xf32>
      %p = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1x2xf32>) -> tensor<1x2xf32>
      %u = stablehlo.dynamic_update_slice %own, %p, %zero, %zero : (tensor<?x4xf32>, tensor<1x2xf32>, tensor<i64>, tensor<i64>) -> tensor<?x4xf32>
      %c = stablehlo.dynamic_slice %u, %zero, %zero, sizes = [1, 2] : (tensor<?x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x2xf32>
      %q = "stablehlo.collective_permute"(%c) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1x2xf32>) -> tensor<1x2xf32>
      %v = stablehlo.dynamic_update_slice %u, %q, %zero, %zero : (tensor<?x4xf32>, tensor<1x2xf32>, tensor<i64>, tensor<i64>) -> tensor<?x4xf32>
      sdy.return %v : tensor<?x4xf32>
    } : (tensor<?x8xf32>) -> tensor<?x8xf32>
    return %r : tensor<?x8xf32>
  }
}
