// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A difference that says nothing, of one part that is said to be whole on each device and one that is not: a partitioner cuts it, so nothing may
// ask for all of it.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // CHECK-LABEL: func.func @main
  // CHECK-NOT: sdy.manual_computation({{.*}}in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>]
  // CHECK: {{^ *}}return
  func.func @main(%x: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32})
      -> (tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.slice %x [4:64, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<64x16xf32>) -> tensor<60x16xf32>
    %1 = stablehlo.slice %x [0:60, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64x16xf32>) -> tensor<60x16xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<60x16xf32>
    %3 = stablehlo.dynamic_update_slice %x, %2, %two, %zero {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64x16xf32>, tensor<60x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
    return %3 : tensor<64x16xf32>
  }
}
