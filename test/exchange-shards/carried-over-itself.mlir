// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// Rows of a field that a loop carries move over themselves, and of what is computed of it a part is sent: it is updated
// in place, in two parts, rather than chosen by place, for which what is chosen from would be stored.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: sdy.manual_computation
// CHECK-COUNT-2: stablehlo.dynamic_update_slice {{.*}} (tensor<32x32xf32>, tensor<4x32xf32>
// CHECK-NOT: stablehlo.iota
// CHECK: sdy.return
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c3 = stablehlo.constant dense<3> : tensor<i32>
    %c40 = stablehlo.constant dense<40> : tensor<i32>
    %l:2 = stablehlo.while(%i = %c0, %x = %arg0) : tensor<i32>, tensor<64x32xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}, {}]>]>}
    cond {
      %c = stablehlo.compare LT, %i, %c3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %part = stablehlo.slice %x [36:44, 0:32] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64x32xf32>) -> tensor<8x32xf32>
      %moved = stablehlo.dynamic_update_slice %x, %part, %c40, %c0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64x32xf32>, tensor<8x32xf32>, tensor<i32>, tensor<i32>) -> tensor<64x32xf32>
      %twice = stablehlo.add %moved, %moved {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<64x32xf32>
      %a = stablehlo.slice %twice [2:64, 0:32] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64x32xf32>) -> tensor<62x32xf32>
      %b = stablehlo.slice %twice [0:2, 0:32] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64x32xf32>) -> tensor<2x32xf32>
      %turned = stablehlo.concatenate %a, %b, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<62x32xf32>, tensor<2x32xf32>) -> tensor<64x32xf32>
      %n = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %n, %turned : tensor<i32>, tensor<64x32xf32>
    }
    return %l#1 : tensor<64x32xf32>
  }
}
