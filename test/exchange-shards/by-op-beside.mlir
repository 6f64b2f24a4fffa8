// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// Differences of neighbours in shards that come out even: what a device gets is joined to what it has of its own, once for each of the
// two slices, and no strip is padded to be chosen from. The edges of the field are chosen by place.

// CHECK-LABEL: func.func @main
// CHECK: sdy.manual_computation(%arg0) {{.*}} (%[[OWN:.*]]: tensor<4x64xf32>)
// CHECK-NOT: stablehlo.pad
// CHECK: %[[REST:.*]] = stablehlo.slice %[[OWN]] [0:4, 2:64]
// CHECK: %[[EAST:.*]] = stablehlo.concatenate %[[REST]], %{{.*}}, dim = 1 : (tensor<4x62xf32>, tensor<4x2xf32>) -> tensor<4x64xf32>
// CHECK: %[[FIRST:.*]] = stablehlo.slice %[[OWN]] [0:4, 0:62]
// CHECK: %[[WEST:.*]] = stablehlo.concatenate %{{.*}}, %[[FIRST]], dim = 1 : (tensor<4x2xf32>, tensor<4x62xf32>) -> tensor<4x64xf32>
// CHECK: stablehlo.subtract %[[EAST]], %[[WEST]]
// CHECK-NOT: stablehlo.pad
// CHECK: sdy.return
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<4x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<4x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %east = stablehlo.slice %x [0:4, 4:128] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x128xf32>) -> tensor<4x124xf32>
    %west = stablehlo.slice %x [0:4, 0:124] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x128xf32>) -> tensor<4x124xf32>
    %d = stablehlo.subtract %east, %west {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<4x124xf32>
    %r = stablehlo.pad %d, %zero, low = [0, 2], high = [0, 2], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x124xf32>, tensor<f32>) -> tensor<4x128xf32>
    return %r : tensor<4x128xf32>
  }
}
