// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A halo of 31 x 64 elements on 4 x 2 devices. 31 rows do not come out even on 4, so at the program's boundary each device has all
// of them: the field is updated like that, in place, whatever the ops say. As they say, its rows would be cut, and gathered again.
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=2]>

  // CHECK-LABEL: func.func @main
  // CHECK: %[[R:[0-9]+]] = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>]
  // CHECK-SAME: (%[[OWN:.*]]: tensor<31x32xf32>)
  // CHECK: "stablehlo.collective_permute"{{.*}} : (tensor<31x2xf32>) -> tensor<31x2xf32>
  // CHECK: stablehlo.dynamic_update_slice %[[OWN]]
  // CHECK: {{^ *}}return %[[R]]
  func.func @main(%x: tensor<31x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>, tf.aliasing_output = 0 : i32})
      -> (tensor<31x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %end = stablehlo.constant dense<62> : tensor<i32>
    %west = stablehlo.slice %x [0:31, 60:62] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<31x64xf32>) -> tensor<31x2xf32>
    %0 = stablehlo.dynamic_update_slice %x, %west, %i, %i {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<31x64xf32>, tensor<31x2xf32>, tensor<i32>, tensor<i32>) -> tensor<31x64xf32>
    %east = stablehlo.slice %x [0:31, 2:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<31x64xf32>) -> tensor<31x2xf32>
    %1 = stablehlo.dynamic_update_slice %0, %east, %i, %end {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<31x64xf32>, tensor<31x2xf32>, tensor<i32>, tensor<i32>) -> tensor<31x64xf32>
    return %1 : tensor<31x64xf32>
  }

  // What is made of a computed field, whose rows are cut, is not: they would be gathered for it.
  // CHECK-LABEL: func.func @computed
  // CHECK: %[[TWICE:[0-9]+]] = stablehlo.add %arg0, %arg0 {{.*}}[{"x"}, {"y"}]
  // CHECK-NOT: in_shardings=[<@mesh, [{}, {"y"}]>]
  // CHECK: {{^ *}}return
  func.func @computed(%x: tensor<31x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
      -> (tensor<31x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %end = stablehlo.constant dense<62> : tensor<i32>
    %twice = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : tensor<31x64xf32>
    %west = stablehlo.slice %twice [0:31, 60:62] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<31x64xf32>) -> tensor<31x2xf32>
    %0 = stablehlo.dynamic_update_slice %twice, %west, %i, %i {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<31x64xf32>, tensor<31x2xf32>, tensor<i32>, tensor<i32>) -> tensor<31x64xf32>
    %east = stablehlo.slice %twice [0:31, 2:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<31x64xf32>) -> tensor<31x2xf32>
    %1 = stablehlo.dynamic_update_slice %0, %east, %i, %end {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<31x64xf32>, tensor<31x2xf32>, tensor<i32>, tensor<i32>) -> tensor<31x64xf32>
    return %1 : tensor<31x64xf32>
  }
}
