// RUN: slimhlo-opt %s --slimhlo-merge-shards | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-merge-shards --slimhlo-merge-shards | FileCheck %s

// What a shard is reshaped to for a time is moved as it was before: XLA for CPU copies an array that changes its shape between updates.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>

  // CHECK-LABEL: func.func @update
  // CHECK: %[[ROW:.*]] = stablehlo.dynamic_slice %[[OWN:[a-z0-9]+]], {{.*}}sizes = [1, 64] : (tensor<8x64xf32>
  // CHECK: %[[GOT:.*]] = "stablehlo.collective_permute"(%[[ROW]]) {{.*}} -> tensor<1x64xf32>
  // CHECK: %[[NEW:.*]] = stablehlo.dynamic_update_slice %[[OWN]], %[[GOT]]{{.*}} -> tensor<8x64xf32>
  // CHECK-NOT: stablehlo.reshape
  // CHECK: sdy.return %[[NEW]]
  func.func @update(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x64xf32>) {
      %c0 = stablehlo.constant dense<0> : tensor<i64>
      %c7 = stablehlo.constant dense<7> : tensor<i64>
      %wide = stablehlo.reshape %own : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
      %row = stablehlo.dynamic_slice %wide, %c0, %c7, %c0, sizes = [1, 1, 64] : (tensor<1x8x64xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x1x64xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x1x64xf32>) -> tensor<1x1x64xf32>
      %new = stablehlo.dynamic_update_slice %wide, %got, %c0, %c0, %c0 : (tensor<1x8x64xf32>, tensor<1x1x64xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x8x64xf32>
      %r = stablehlo.reshape %new : (tensor<1x8x64xf32>) -> tensor<8x64xf32>
      sdy.return %r : tensor<8x64xf32>
    } : (tensor<16x64xf32>) -> tensor<16x64xf32>
    return %0 : tensor<16x64xf32>
  }

  // CHECK-LABEL: func.func @join
  // CHECK-NOT: stablehlo.reshape
  // CHECK: stablehlo.concatenate {{.*}}dim = 0 : (tensor<7x64xf32>, tensor<1x64xf32>) -> tensor<8x64xf32>
  // CHECK: stablehlo.add {{.*}} : tensor<8x64xf32>
  // CHECK-NOT: stablehlo.reshape
  // CHECK: sdy.return
  func.func @join(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x64xf32>) {
      %c0 = stablehlo.constant dense<0> : tensor<i64>
      %c7 = stablehlo.constant dense<7> : tensor<i64>
      %wide = stablehlo.reshape %own : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
      %upper = stablehlo.slice %wide [0:1, 1:8, 0:64] : (tensor<1x8x64xf32>) -> tensor<1x7x64xf32>
      %first = stablehlo.slice %wide [0:1, 0:1, 0:64] : (tensor<1x8x64xf32>) -> tensor<1x1x64xf32>
      %joined = stablehlo.concatenate %upper, %first, dim = 1 : (tensor<1x7x64xf32>, tensor<1x1x64xf32>) -> tensor<1x8x64xf32>
      %sum = stablehlo.add %joined, %wide : tensor<1x8x64xf32>
      %r = stablehlo.reshape %sum : (tensor<1x8x64xf32>) -> tensor<8x64xf32>
      sdy.return %r : tensor<8x64xf32>
    } : (tensor<16x64xf32>) -> tensor<16x64xf32>
    return %0 : tensor<16x64xf32>
  }

  // Given back like that, it is reshaped last.
  // CHECK-LABEL: func.func @given
  // CHECK: stablehlo.dynamic_update_slice {{.*}} -> tensor<8x64xf32>
  // CHECK: %[[R:.*]] = stablehlo.reshape
  // CHECK: sdy.return %[[R]]
  func.func @given(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1x16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x64xf32>) {
      %c0 = stablehlo.constant dense<0> : tensor<i64>
      %c7 = stablehlo.constant dense<7> : tensor<i64>
      %wide = stablehlo.reshape %own : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
      %row = stablehlo.dynamic_slice %wide, %c0, %c7, %c0, sizes = [1, 1, 64] : (tensor<1x8x64xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x1x64xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x1x64xf32>) -> tensor<1x1x64xf32>
      %r = stablehlo.dynamic_update_slice %wide, %got, %c0, %c0, %c0 : (tensor<1x8x64xf32>, tensor<1x1x64xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x8x64xf32>
      sdy.return %r : tensor<1x8x64xf32>
    } : (tensor<16x64xf32>) -> tensor<1x16x64xf32>
    return %0 : tensor<1x16x64xf32>
  }

  // Joined along a dimension of one element, it needs that.
  // CHECK-LABEL: func.func @along
  // CHECK: stablehlo.reshape
  // CHECK: stablehlo.concatenate {{.*}}dim = 0
  // CHECK: stablehlo.slice
  // CHECK: stablehlo.reshape
  // CHECK: sdy.return
  func.func @along(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x64xf32>) {
      %c0 = stablehlo.constant dense<0> : tensor<i64>
      %c7 = stablehlo.constant dense<7> : tensor<i64>
      %wide = stablehlo.reshape %own : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
      %more = stablehlo.concatenate %wide, %wide, dim = 0 : (tensor<1x8x64xf32>, tensor<1x8x64xf32>) -> tensor<2x8x64xf32>
      %one = stablehlo.slice %more [1:2, 0:8, 0:64] : (tensor<2x8x64xf32>) -> tensor<1x8x64xf32>
      %r = stablehlo.reshape %one : (tensor<1x8x64xf32>) -> tensor<8x64xf32>
      sdy.return %r : tensor<8x64xf32>
    } : (tensor<16x64xf32>) -> tensor<16x64xf32>
    return %0 : tensor<16x64xf32>
  }

  // Nothing is left out of a sum.
  // CHECK-LABEL: func.func @summed
  // CHECK: stablehlo.reshape
  // CHECK: stablehlo.reduce{{.*}} across dimensions = [2] : (tensor<1x8x64xf32>
  // CHECK: sdy.return
  func.func @summed(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%own: tensor<8x64xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %wide = stablehlo.reshape %own : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
      %r = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x8x64xf32>, tensor<f32>) -> tensor<1x8xf32>
      sdy.return %r : tensor<1x8xf32>
    } : (tensor<16x64xf32>) -> tensor<1x16xf32>
    return %0 : tensor<1x16xf32>
  }
}
