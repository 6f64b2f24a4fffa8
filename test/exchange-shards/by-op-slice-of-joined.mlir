// RUN: slimhlo-opt %s --slimhlo-exchange-shards=slices-of-joined=true --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-exchange-shards --split-input-file | FileCheck %s --check-prefix=JOINED
// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu --split-input-file | FileCheck %s --check-prefix=CHOSEN

// The field itself, in the middle of what it is extended to at both ends: nothing moves. Of the extended field it moves twice.

// CHECK-LABEL: func.func @middle
// CHECK-NOT: collective_permute
// CHECK: stablehlo.slice %arg0 [0:2, 0:30]
// CHECK-NOT: collective_permute
// JOINED-LABEL: func.func @middle
// JOINED: collective_permute
// CHOSEN-LABEL: func.func @middle
// CHOSEN-NOT: collective_permute
// CHOSEN: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @middle(%x: tensor<2x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<2x30xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %west = stablehlo.slice %x [0:2, 0:1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x32xf32>) -> tensor<2x1xf32>
    %east = stablehlo.slice %x [0:2, 31:32] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x32xf32>) -> tensor<2x1xf32>
    %wide = stablehlo.concatenate %west, %x, %east, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x1xf32>, tensor<2x32xf32>, tensor<2x1xf32>) -> tensor<2x34xf32>
    %r = stablehlo.slice %wide [0:2, 1:31] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x34xf32>) -> tensor<2x30xf32>
    return %r : tensor<2x30xf32>
  }
}

// -----

// Something else reads what was joined: it is made, and slices are of that.

// CHECK-LABEL: func.func @read
// CHECK-NOT: stablehlo.slice %arg0 [0:2, 0:30]
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @read(%x: tensor<2x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<2x30xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<2x34xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %west = stablehlo.slice %x [0:2, 0:1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x32xf32>) -> tensor<2x1xf32>
    %east = stablehlo.slice %x [0:2, 31:32] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x32xf32>) -> tensor<2x1xf32>
    %wide = stablehlo.concatenate %west, %x, %east, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x1xf32>, tensor<2x32xf32>, tensor<2x1xf32>) -> tensor<2x34xf32>
    %r = stablehlo.slice %wide [0:2, 1:31] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<2x34xf32>) -> tensor<2x30xf32>
    %s = stablehlo.negate %wide {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<2x34xf32>
    return %r, %s : tensor<2x30xf32>, tensor<2x34xf32>
  }
}
