// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A field's first and last columns repeat their neighbours, by a concatenation. Each device keeps most of what it has: the first
// and the last write their columns into it, by one update at a place that depends on the device.
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>

  // CHECK-LABEL: func.func @edge
  // CHECK: (%[[OWN:arg[0-9]+]]: tensor<24x48xf32>) {
  // CHECK-NOT: stablehlo.pad
  // CHECK: stablehlo.constant dense<[2, 2, 2, 45, 2, 2, 2, 45]>
  // CHECK: stablehlo.dynamic_slice %[[OWN]], {{.*}}, sizes = [24, 1]
  // CHECK: stablehlo.constant dense<[0, 0, 0, 46, 0, 0, 0, 46]>
  // CHECK: stablehlo.dynamic_slice %[[OWN]], {{.*}}, sizes = [24, 2]
  // CHECK: stablehlo.constant dense<[true, false, false, true, true, false, false, true]>
  // CHECK: %[[NEW:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[OWN]],
  // CHECK-NEXT: sdy.return %[[NEW]]
  func.func @edge(%x: tensor<48x192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<48x192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = stablehlo.slice %x [0:48, 2:3] : (tensor<48x192xf32>) -> tensor<48x1xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<48x1xf32>) -> tensor<48x2xf32>
    %2 = stablehlo.slice %x [0:48, 2:190] : (tensor<48x192xf32>) -> tensor<48x188xf32>
    %3 = stablehlo.slice %x [0:48, 189:190] : (tensor<48x192xf32>) -> tensor<48x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<48x1xf32>) -> tensor<48x2xf32>
    %5 = stablehlo.concatenate %1, %2, %4, dim = 1 : (tensor<48x2xf32>, tensor<48x188xf32>, tensor<48x2xf32>) -> tensor<48x192xf32>
    return %5 : tensor<48x192xf32>
  }
}
