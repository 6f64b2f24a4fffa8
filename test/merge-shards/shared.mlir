// RUN: slimhlo-opt %s --slimhlo-merge-shards | FileCheck %s

// Two parts of one array that go between the same devices are sent at once, and one more device gets the second for nothing: it has zeros.
// What lies too far away, or goes to other devices, is sent by itself.

// CHECK-LABEL: func.func @main
// CHECK: %[[SENT:.*]] = stablehlo.dynamic_slice %{{.*}}, sizes = [8, 4]
// CHECK: %[[GOT:.*]] = "stablehlo.collective_permute"(%[[SENT]])
// CHECK-SAME: source_target_pairs = dense<{{\[}}[1, 0], [2, 1], [3, 2]]>
// CHECK: %[[FIRST:.*]] = stablehlo.slice %[[GOT]] [0:8, 0:2]
// CHECK: %[[PART:.*]] = stablehlo.slice %[[GOT]] [0:8, 1:4]
// CHECK: stablehlo.constant dense<[true, false, false, false]>
// CHECK: %[[SECOND:.*]] = stablehlo.select %{{[^,]*}}, %[[PART]]
// CHECK: %[[THIRD:.*]] = "stablehlo.collective_permute"
// CHECK-SAME: (tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK: %[[FOURTH:.*]] = "stablehlo.collective_permute"
// CHECK-SAME: source_target_pairs = dense<{{\[}}[1, 2], [2, 3]]>
// CHECK: stablehlo.concatenate %{{[^,]*}}, %[[FIRST]], %[[SECOND]], %[[THIRD]], %[[FOURTH]]
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<8x80xf32>) -> tensor<8x80xf32> {
    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%own: tensor<8x20xf32>) {
      %a = stablehlo.slice %own [0:8, 0:2] : (tensor<8x20xf32>) -> tensor<8x2xf32>
      %b = stablehlo.slice %own [0:8, 1:4] : (tensor<8x20xf32>) -> tensor<8x3xf32>
      %c = stablehlo.slice %own [0:8, 16:20] : (tensor<8x20xf32>) -> tensor<8x4xf32>
      %d = stablehlo.slice %own [0:8, 0:2] : (tensor<8x20xf32>) -> tensor<8x2xf32>
      %p = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<8x2xf32>) -> tensor<8x2xf32>
      %q = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<8x3xf32>) -> tensor<8x3xf32>
      // Too far away.
      %s = "stablehlo.collective_permute"(%c) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
      // To other devices.
      %t = "stablehlo.collective_permute"(%d) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, source_target_pairs = dense<[[1, 2], [2, 3]]> : tensor<2x2xi64>}> : (tensor<8x2xf32>) -> tensor<8x2xf32>
      %u = stablehlo.concatenate %own, %p, %q, %s, %t, dim = 1 : (tensor<8x20xf32>, tensor<8x2xf32>, tensor<8x3xf32>, tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x31xf32>
      %v = stablehlo.slice %u [0:8, 11:31] : (tensor<8x31xf32>) -> tensor<8x20xf32>
      sdy.return %v : tensor<8x20xf32>
    } : (tensor<8x80xf32>) -> tensor<8x80xf32>
    return %r : tensor<8x80xf32>
  }
}
