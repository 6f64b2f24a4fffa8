// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// 27 rows of one shard put into another. At once they would be 54 stored, sent and received; partitioners gather them from where each device
// has 14. They are sent in two parts, the second when the first is where it belongs.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>

  // CHECK-LABEL: func.func @parts
  // CHECK: sdy.manual_computation
  // CHECK: %[[ONE:[0-9]+]] = "stablehlo.collective_permute"{{.*}} -> tensor<14x8xf32>
  // CHECK: select %{{[0-9]+}}, %[[ONE]]
  // CHECK: %[[PUT:[0-9]+]] = stablehlo.dynamic_update_slice
  // CHECK: %[[CUT:[0-9]+]] = stablehlo.dynamic_slice %[[PUT]], {{.*}}sizes = [13, 8]
  // CHECK: %[[TWO:[0-9]+]] = "stablehlo.collective_permute"(%[[CUT]])
  // CHECK: select %{{[0-9]+}}, %[[TWO]]
  // CHECK: stablehlo.dynamic_update_slice %[[PUT]]
  // CHECK: sdy.return
  func.func @parts(%x: tensor<144x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32})
      -> (tensor<144x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %at = stablehlo.constant dense<100> : tensor<i32>
    %rows = stablehlo.slice %x [22:49, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<144x8xf32>) -> tensor<27x8xf32>
    %0 = stablehlo.dynamic_update_slice %x, %rows, %at, %zero {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<144x8xf32>, tensor<27x8xf32>, tensor<i32>, tensor<i32>) -> tensor<144x8xf32>
    return %0 : tensor<144x8xf32>
  }

  // Few rows are sent at once.
  // CHECK-LABEL: func.func @few
  // CHECK: sdy.manual_computation
  // CHECK: "stablehlo.collective_permute"{{.*}} -> tensor<8x8xf32>
  // CHECK-NOT: "stablehlo.collective_permute"
  // CHECK: sdy.return
  func.func @few(%x: tensor<144x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32})
      -> (tensor<144x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %at = stablehlo.constant dense<100> : tensor<i32>
    %rows = stablehlo.slice %x [22:30, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<144x8xf32>) -> tensor<8x8xf32>
    %0 = stablehlo.dynamic_update_slice %x, %rows, %at, %zero {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<144x8xf32>, tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<144x8xf32>
    return %0 : tensor<144x8xf32>
  }
}
