// RUN: slimhlo-opt %s --slimhlo-merge-shards --split-input-file | FileCheck %s

// A column that the first device needs of its right neighbor, and the last one of its left one, goes along with three that all of them
// send to either side, wherever these stand.

// CHECK-LABEL: func.func @between
// CHECK-DAG: %[[LEFT:.*]] = "stablehlo.collective_permute"{{.*}}source_target_pairs = dense<{{\[}}[1, 0], [2, 1], [3, 2]]>{{.*}} (tensor<8x3xf32>)
// CHECK-DAG: %[[RIGHT:.*]] = "stablehlo.collective_permute"{{.*}}source_target_pairs = dense<{{\[}}[0, 1], [1, 2], [2, 3]]>{{.*}} (tensor<8x3xf32>)
// CHECK-NOT: stablehlo.collective_permute
// CHECK: %[[ONE:.*]] = stablehlo.select %{{[^,]*}}, %{{[^,]*}}, %{{.*}} : tensor<i1>, tensor<8x1xf32>
// CHECK: %[[BOTH:.*]] = stablehlo.select %{{[^,]*}}, %{{[^,]*}}, %[[ONE]] : tensor<i1>, tensor<8x1xf32>
// CHECK-NOT: stablehlo.collective_permute
// CHECK: stablehlo.concatenate %{{[^,]*}}, %[[BOTH]]
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @between(%x: tensor<8x80xf32>) -> tensor<8x80xf32> {
    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%own: tensor<8x20xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %table = stablehlo.constant dense<[0, 0, 19, 0]> : tensor<4xi64>
      %id = stablehlo.partition_id : tensor<ui32>
      %number = stablehlo.dynamic_slice %table, %id, sizes = [1] : (tensor<4xi64>, tensor<ui32>) -> tensor<1xi64>
      %start = stablehlo.reshape %number : (tensor<1xi64>) -> tensor<i64>
      %a = stablehlo.slice %own [0:8, 0:3] : (tensor<8x20xf32>) -> tensor<8x3xf32>
      %b = stablehlo.dynamic_slice %own, %zero, %start, sizes = [8, 1] : (tensor<8x20xf32>, tensor<i64>, tensor<i64>) -> tensor<8x1xf32>
      %c = stablehlo.slice %own [0:8, 17:20] : (tensor<8x20xf32>) -> tensor<8x3xf32>
      %p = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<8x3xf32>) -> tensor<8x3xf32>
      %q = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 0], [2, 3]]> : tensor<2x2xi64>}> : (tensor<8x1xf32>) -> tensor<8x1xf32>
      %s = "stablehlo.collective_permute"(%c) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8x3xf32>) -> tensor<8x3xf32>
      %u = stablehlo.concatenate %own, %q, %p, %s, dim = 1 : (tensor<8x20xf32>, tensor<8x1xf32>, tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x27xf32>
      %v = stablehlo.slice %u [0:8, 7:27] : (tensor<8x27xf32>) -> tensor<8x20xf32>
      sdy.return %v : tensor<8x20xf32>
    } : (tensor<8x80xf32>) -> tensor<8x80xf32>
    return %r : tensor<8x80xf32>
  }
}

// -----

// One that neither side sends would make them wider by more than it is, and stays.

// CHECK-LABEL: func.func @far
// CHECK-COUNT-3: "stablehlo.collective_permute"
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @far(%x: tensor<8x80xf32>) -> tensor<8x80xf32> {
    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%own: tensor<8x20xf32>) {
      %a = stablehlo.slice %own [0:8, 0:3] : (tensor<8x20xf32>) -> tensor<8x3xf32>
      %b = stablehlo.slice %own [0:8, 10:11] : (tensor<8x20xf32>) -> tensor<8x1xf32>
      %c = stablehlo.slice %own [0:8, 17:20] : (tensor<8x20xf32>) -> tensor<8x3xf32>
      %p = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<8x3xf32>) -> tensor<8x3xf32>
      %q = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 0], [2, 3]]> : tensor<2x2xi64>}> : (tensor<8x1xf32>) -> tensor<8x1xf32>
      %s = "stablehlo.collective_permute"(%c) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8x3xf32>) -> tensor<8x3xf32>
      %u = stablehlo.concatenate %own, %q, %p, %s, dim = 1 : (tensor<8x20xf32>, tensor<8x1xf32>, tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x27xf32>
      %v = stablehlo.slice %u [0:8, 7:27] : (tensor<8x27xf32>) -> tensor<8x20xf32>
      sdy.return %v : tensor<8x20xf32>
    } : (tensor<8x80xf32>) -> tensor<8x80xf32>
    return %r : tensor<8x80xf32>
  }
}
