// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A loop carries a field of 30 columns on 4 devices as the computation in it has it: with what is beyond its end. It is cut off once,
// after the loop, and updated in place in each turn.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // CHECK-LABEL: func.func @main
  // CHECK-NOT: stablehlo.pad
  // CHECK: %[[LOOP:.*]]:2 = stablehlo.while(%{{.*}} = %{{.*}}, %[[FIELD:.*]] = %arg0) : tensor<i32>, tensor<16x32xf32>
  // CHECK: do {
  // CHECK-NOT: stablehlo.pad
  // CHECK: %[[R:.*]] = sdy.manual_computation(%[[FIELD]])
  // CHECK: } : (tensor<16x32xf32>) -> tensor<16x32xf32>
  // CHECK-NOT: stablehlo.slice
  // CHECK: stablehlo.return %{{.*}}, %[[R]]
  // CHECK: stablehlo.slice %[[LOOP]]#1 [0:16, 0:30] {{.*}} -> tensor<16x30xf32>
  func.func @main(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %turns = stablehlo.constant dense<3> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %f = stablehlo.slice %x [0:16, 0:30] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x32xf32>) -> tensor<16x30xf32>
    %0:2 = stablehlo.while(%n = %i, %a = %f) : tensor<i32>, tensor<16x30xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}, {"x"}]>]>}
    cond {
      %c = stablehlo.compare LT, %n, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %west = stablehlo.slice %a [0:16, 28:29] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>) -> tensor<16x1xf32>
      %u = stablehlo.dynamic_update_slice %a, %west, %i, %i {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<16x1xf32>, tensor<i32>, tensor<i32>) -> tensor<16x30xf32>
      %m = stablehlo.add %n, %one : tensor<i32>
      stablehlo.return %m, %u : tensor<i32>, tensor<16x30xf32>
    }
    %r = stablehlo.pad %0#1, %zero, low = [0, 0], high = [0, 2], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<f32>) -> tensor<16x32xf32>
    return %r : tensor<16x32xf32>
  }

  // A loop in which no computation takes or gives it carries it as it is.
  // CHECK-LABEL: func.func @elementwise
  // CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<16x30xf32>
  func.func @elementwise(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %turns = stablehlo.constant dense<3> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %f = stablehlo.slice %x [0:16, 0:30] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x32xf32>) -> tensor<16x30xf32>
    %0:2 = stablehlo.while(%n = %i, %a = %f) : tensor<i32>, tensor<16x30xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}, {"x"}]>]>}
    cond {
      %c = stablehlo.compare LT, %n, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %u = stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<16x30xf32>
      %m = stablehlo.add %n, %one : tensor<i32>
      stablehlo.return %m, %u : tensor<i32>, tensor<16x30xf32>
    }
    %r = stablehlo.pad %0#1, %zero, low = [0, 0], high = [0, 2], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<f32>) -> tensor<16x32xf32>
    return %r : tensor<16x32xf32>
  }
}
