// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// Some columns of a field, in tiles of their own: as much as a device needs of its own columns is cut out before what it gets is joined to
// it, not all of them.

// CHECK-LABEL: func.func @main
// CHECK: sdy.manual_computation(%arg0) {{.*}} (%[[OWN:.*]]: tensor<54x57xi32>)
// CHECK: %[[PART:.*]] = stablehlo.dynamic_slice %[[OWN]], {{.*}}, sizes = [54, 15]
// CHECK: collective_permute
// CHECK: stablehlo.concatenate %[[PART]], %{{.*}} : (tensor<54x15xi32>, tensor<54x8xi32>) -> tensor<54x23xi32>
// CHECK-NOT: collective_permute
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["y"=2]>
  func.func @main(%x: tensor<54x114xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<54x30xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
    %0 = stablehlo.slice %x [0:54, 80:110] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<54x114xi32>) -> tensor<54x30xi32>
    %1 = stablehlo.slice %x [0:54, 50:80] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : (tensor<54x114xi32>) -> tensor<54x30xi32>
    %2 = stablehlo.reverse %1, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : (tensor<54x30xi32>) -> tensor<54x30xi32>
    return %1 : tensor<54x30xi32>
  }
}
