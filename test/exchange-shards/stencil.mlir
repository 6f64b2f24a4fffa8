// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A stencil on all but the edges: made for the whole shard, from what neighbours send, and what is there at the edges of all.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @stencil
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK-SAME: (%[[OWN:[a-z0-9]+]]: tensor<8x8xf32>) {
  // CHECK-NOT: stablehlo.dynamic_update_slice
  // CHECK: %[[NORTH:.*]] = "stablehlo.collective_permute"
  // CHECK-NOT: stablehlo.dynamic_update_slice
  // CHECK: %[[SOUTH:.*]] = "stablehlo.collective_permute"
  // CHECK-NOT: stablehlo.dynamic_update_slice
  // CHECK: %[[SUM:.*]] = stablehlo.add %{{.*}}, %{{.*}} : tensor<8x8xf32>
  // CHECK: %[[R:.*]] = stablehlo.select %{{[0-9]+}}, %[[OWN]], %[[SUM]] : tensor<8x8xi1>, tensor<8x8xf32>
  // CHECK: sdy.return %[[R]]
  func.func @stencil(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %north = stablehlo.slice %x [0:14, 0:8] : (tensor<16x8xf32>) -> tensor<14x8xf32>
    %south = stablehlo.slice %x [2:16, 0:8] : (tensor<16x8xf32>) -> tensor<14x8xf32>
    %sum = stablehlo.add %north, %south : tensor<14x8xf32>
    %r = stablehlo.dynamic_update_slice %x, %sum, %c1, %c0 : (tensor<16x8xf32>, tensor<14x8xf32>, tensor<i32>, tensor<i32>) -> tensor<16x8xf32>
    return %r : tensor<16x8xf32>
  }

  // One that writes a part is an update in place.
  // CHECK-LABEL: func @part
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK-SAME: (%[[OWN:[a-z0-9]+]]: tensor<8x8xf32>) {
  // CHECK: %[[R:.*]] = stablehlo.dynamic_update_slice %[[OWN]],
  // CHECK: sdy.return %[[R]]
  func.func @part(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c7 = stablehlo.constant dense<7> : tensor<i32>
    %north = stablehlo.slice %x [0:2, 0:8] : (tensor<16x8xf32>) -> tensor<2x8xf32>
    %south = stablehlo.slice %x [14:16, 0:8] : (tensor<16x8xf32>) -> tensor<2x8xf32>
    %sum = stablehlo.add %north, %south : tensor<2x8xf32>
    %r = stablehlo.dynamic_update_slice %x, %sum, %c7, %c0 : (tensor<16x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<16x8xf32>
    return %r : tensor<16x8xf32>
  }
}
