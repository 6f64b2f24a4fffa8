// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// Edges repeated, on 16 devices: tiles of 58 rows of what had 57, so every device reads at a distance of its own, and some get something from the
// left, others from the right. Places come from tables, and one exchange brings all.
module attributes {mhlo.num_partitions = 16 : i32} {
  sdy.mesh @mesh = <["x"=16]>

  // CHECK-LABEL: func.func @main
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK: "stablehlo.collective_permute"
  // CHECK-SAME: (tensor<13x8xf32>) -> tensor<13x8xf32>
  // CHECK-NOT: "stablehlo.collective_permute"
  // CHECK: sdy.return
  // CHECK-NOT: stablehlo.concatenate
  // CHECK: {{^ *}}return
  func.func @main(%x: tensor<912x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<928x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.slice %x [0:1, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<912x8xf32>) -> tensor<1x8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<1x8xf32>) -> tensor<2x8xf32>
    %2 = stablehlo.slice %x [911:912, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<912x8xf32>) -> tensor<1x8xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<1x8xf32>) -> tensor<2x8xf32>
    %4 = stablehlo.concatenate %1, %x, %3, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<2x8xf32>, tensor<912x8xf32>, tensor<2x8xf32>) -> tensor<916x8xf32>
    %5 = stablehlo.pad %4, %zero, low = [0, 0], high = [12, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<916x8xf32>, tensor<f32>) -> tensor<928x8xf32>
    return %5 : tensor<928x8xf32>
  }
}
