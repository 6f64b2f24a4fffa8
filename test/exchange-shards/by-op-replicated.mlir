// RUN: slimhlo-opt %s --slimhlo-exchange-shards --split-input-file | FileCheck %s

// A slice of what an op says to be whole on each device, though it is made of what is not: partitioners have it as they like. A
// computation that takes it whole would have it gathered, and none is made for what devices only read at other places of it.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>

  // CHECK-LABEL: func.func @main
  // CHECK-NOT: sdy.manual_computation
  // CHECK: {{^ *}}return
  func.func @main(%x: tensor<2x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %y: tensor<2x64xf32>)
      -> (tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.concatenate %y, %x, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<4x64xf32>
    %1 = stablehlo.slice %0 [0:4, 61:62] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<4x64xf32>) -> tensor<4x1xf32>
    %2 = stablehlo.dynamic_update_slice %0, %1, %i, %i {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<4x64xf32>, tensor<4x1xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
    return %2 : tensor<4x64xf32>
  }
}

// -----

// Said to be cut, it is read as it is.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>

  // CHECK-LABEL: func.func @cut
  // CHECK: %[[ALL:.*]] = stablehlo.concatenate
  // CHECK: sdy.manual_computation(%[[ALL]])
  // CHECK: "stablehlo.collective_permute"{{.*}} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  func.func @cut(%x: tensor<2x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %y: tensor<2x64xf32>)
      -> (tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.concatenate %y, %x, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<4x64xf32>
    %1 = stablehlo.slice %0 [0:4, 61:62] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<4x64xf32>) -> tensor<4x1xf32>
    %2 = stablehlo.dynamic_update_slice %0, %1, %i, %i {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<4x64xf32>, tensor<4x1xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
    return %2 : tensor<4x64xf32>
  }
}
