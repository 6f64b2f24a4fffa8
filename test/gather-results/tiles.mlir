// RUN: slimhlo-opt %s --slimhlo-gather-results --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-gather-results --slimhlo-gather-results --split-input-file | FileCheck %s

// 7 rows on 2 devices, whole at the boundary: tiles of 4 rows are gathered with an element more each, and all but 7 rows left away.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: %[[ALL:[0-9]+]] = sdy.manual_computation{{.*}} out_shardings=[<@mesh, [{}, {}]>]
  // CHECK: %[[TILE:[0-9]+]] = stablehlo.dynamic_update_slice
  // CHECK: %[[ROW:[0-9]+]] = stablehlo.reshape %[[TILE]] : (tensor<4x3xf32>) -> tensor<12xf32>
  // CHECK: %[[MORE:[0-9]+]] = stablehlo.pad %[[ROW]], %{{.*}}, low = [0], high = [1], interior = [0]
  // CHECK: %[[ROWS:[0-9]+]] = "stablehlo.all_gather"(%[[MORE]]) <{all_gather_dim = 0 : i64, {{.*}}replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>{{.*}} : (tensor<13xf32>) -> tensor<26xf32>
  // CHECK: %[[APART:[0-9]+]] = stablehlo.reshape %[[ROWS]] : (tensor<26xf32>) -> tensor<2x13xf32>
  // CHECK: stablehlo.slice %[[APART]] [0:2, 0:12]
  // CHECK: %[[KEPT:[0-9]+]] = stablehlo.slice %{{[0-9]+}} [0:7, 0:3] : (tensor<8x3xf32>) -> tensor<7x3xf32>
  // CHECK: sdy.return %[[KEPT]] : tensor<7x3xf32>
  // CHECK: return %[[ALL]] : tensor<7x3xf32>
  func.func @main(%x: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<7x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<4x3xf32>) {
      %row = stablehlo.slice %a [0:1, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
      %rest = stablehlo.slice %a [1:4, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %joined = stablehlo.concatenate %rest, %got, dim = 0 : (tensor<3x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
      %tile = stablehlo.dynamic_update_slice %joined, %got, %zero, %zero : (tensor<4x3xf32>, tensor<1x3xf32>, tensor<i64>, tensor<i64>) -> tensor<4x3xf32>
      sdy.return %tile : tensor<4x3xf32>
    } : (tensor<8x3xf32>) -> tensor<8x3xf32>
    %1 = stablehlo.slice %0 [0:7, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x3xf32>) -> tensor<7x3xf32>
    return %1 : tensor<7x3xf32>
  }
}

// -----

// 10 columns on 4 devices, two parts of 5 at the boundary: tiles are of 3, so the second part begins in the second device's
// tile. Each device gets the last column of the one before, and those of the second part begin with it.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  // CHECK-LABEL: func.func @main
  // CHECK: sdy.manual_computation{{.*}} out_shardings=[<@mesh, [{}, {"x":(1)2}]>]
  // CHECK: stablehlo.constant dense<[2, 2, 2, 2, 0]> : tensor<5xi64>
  // CHECK: %[[SENT:[0-9]+]] = stablehlo.dynamic_slice %{{.*}}, sizes = [3, 1]
  // CHECK: %[[GOT:[0-9]+]] = "stablehlo.collective_permute"(%[[SENT]]) {{.*}}dense<{{\[\[}}0, 1], [1, 2], [2, 3]]>
  // CHECK: %[[JOINED:[0-9]+]] = stablehlo.concatenate %[[GOT]], %{{.*}}, dim = 1 : (tensor<3x1xf32>, tensor<3x3xf32>) -> tensor<3x4xf32>
  // CHECK: stablehlo.constant dense<[1, 1, 0, 0]> : tensor<4xi64>
  // CHECK: stablehlo.dynamic_slice %[[JOINED]], {{.*}}sizes = [3, 3]
  // CHECK: "stablehlo.all_gather"{{.*}}replica_groups = dense<{{\[\[}}0, 1], [2, 3]]> : tensor<2x2xi64>{{.*}} : (tensor<10xf32>) -> tensor<20xf32>
  // CHECK: stablehlo.transpose %{{.*}}, dims = [0, 2, 1, 3] : (tensor<1x2x3x3xf32>) -> tensor<1x3x2x3xf32>
  // CHECK: stablehlo.slice %{{.*}} [0:3, 0:5] : (tensor<3x6xf32>) -> tensor<3x5xf32>
  func.func @main(%x: tensor<3x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<3x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%a: tensor<3x3xf32>) {
      %got = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<3x3xf32>) -> tensor<3x3xf32>
      %sum = stablehlo.add %a, %got : tensor<3x3xf32>
      %both = stablehlo.multiply %sum, %sum : tensor<3x3xf32>
      %tile = stablehlo.subtract %both, %sum : tensor<3x3xf32>
      sdy.return %tile : tensor<3x3xf32>
    } : (tensor<3x12xf32>) -> tensor<3x12xf32>
    %1 = stablehlo.slice %0 [0:3, 0:10] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<3x12xf32>) -> tensor<3x10xf32>
    return %1 : tensor<3x10xf32>
  }
}

// -----

// Along two dimensions at once: one gather for both.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: sdy.manual_computation{{.*}} out_shardings=[<@mesh, [{}, {}]>]
  // CHECK: "stablehlo.all_gather"{{.*}}replica_groups = dense<{{\[\[}}0, 1, 2, 3]]> : tensor<1x4xi64>{{.*}} : (tensor<13xf32>) -> tensor<52xf32>
  // CHECK-NOT: stablehlo.all_gather
  // CHECK: stablehlo.reshape %{{.*}} : (tensor<4x12xf32>) -> tensor<2x2x3x4xf32>
  // CHECK: stablehlo.transpose %{{.*}}, dims = [0, 2, 1, 3]
  // CHECK: stablehlo.slice %{{.*}} [0:5, 0:7] : (tensor<6x8xf32>) -> tensor<5x7xf32>
  func.func @main(%x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<5x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%a: tensor<3x4xf32>) {
      %got = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
      %sum = stablehlo.add %a, %got : tensor<3x4xf32>
      %both = stablehlo.multiply %sum, %got : tensor<3x4xf32>
      %tile = stablehlo.subtract %both, %sum : tensor<3x4xf32>
      sdy.return %tile : tensor<3x4xf32>
    } : (tensor<6x8xf32>) -> tensor<6x8xf32>
    %1 = stablehlo.slice %0 [0:5, 0:7] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<6x8xf32>) -> tensor<5x7xf32>
    return %1 : tensor<5x7xf32>
  }
}
