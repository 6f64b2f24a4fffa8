// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// Rows that are repeated at the edges of an array which is given to the program's caller whole along the other dimension:
// a row is moved to where a device needs it, then repeated, not the other way round.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: sdy.manual_computation
  // CHECK: stablehlo.pad %{{.*}} : (tensor<1x12xf32>, tensor<f32>) -> tensor<1x[[WIDE:[0-9]+]]xf32>
  // CHECK: stablehlo.dynamic_slice {{.*}} : (tensor<1x[[WIDE]]xf32>, tensor<i64>, tensor<i64>) -> tensor<1x23xf32>
  // CHECK: stablehlo.broadcast_in_dim {{.*}} : (tensor<1x23xf32>) -> tensor<{{.*}}x23xf32>
  // CHECK-NOT: stablehlo.pad {{.*}} -> tensor<12x[[WIDE]]xf32>
  // CHECK: sdy.return
  func.func @main(%own: tensor<20x22xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<24x23xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %ones = sdy.constant dense<1.0> : tensor<20x1xf32>
    %x = stablehlo.concatenate %own, %ones, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<20x22xf32>, tensor<20x1xf32>) -> tensor<20x23xf32>
    %first = stablehlo.slice %x [0:1, 0:23] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<20x23xf32>) -> tensor<1x23xf32>
    %low = stablehlo.broadcast_in_dim %first, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<1x23xf32>) -> tensor<2x23xf32>
    %last = stablehlo.slice %x [19:20, 0:23] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<20x23xf32>) -> tensor<1x23xf32>
    %high = stablehlo.broadcast_in_dim %last, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<1x23xf32>) -> tensor<2x23xf32>
    %all = stablehlo.concatenate %low, %x, %high, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<2x23xf32>, tensor<20x23xf32>, tensor<2x23xf32>) -> tensor<24x23xf32>
    return %all : tensor<24x23xf32>
  }
}
