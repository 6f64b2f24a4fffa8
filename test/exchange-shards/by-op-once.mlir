// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A stencil of a stencil: the first is padded, and two slices read it. It is made once, and what reads it takes it as it
// then is: two computations, of which only the first reads the argument.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // CHECK-LABEL: func.func @main
  // CHECK: %[[FIRST:.*]] = sdy.manual_computation(%arg0)
  // CHECK: "stablehlo.collective_permute"
  // CHECK: sdy.return
  // CHECK-NOT: sdy.manual_computation(%arg0)
  // CHECK: sdy.manual_computation(%[[FIRST]])
  // CHECK-NOT: sdy.manual_computation(%arg0)
  // CHECK: {{^ *}}return
  func.func @main(%x: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.slice %x [2:64, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64x16xf32>) -> tensor<62x16xf32>
    %1 = stablehlo.slice %x [0:62, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64x16xf32>) -> tensor<62x16xf32>
    %2 = stablehlo.subtract %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<62x16xf32>
    %3 = stablehlo.pad %2, %zero, low = [1, 0], high = [1, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<62x16xf32>, tensor<f32>) -> tensor<64x16xf32>
    %4 = stablehlo.slice %3 [2:64, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64x16xf32>) -> tensor<62x16xf32>
    %5 = stablehlo.slice %3 [0:62, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64x16xf32>) -> tensor<62x16xf32>
    %6 = stablehlo.subtract %4, %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<62x16xf32>
    %7 = stablehlo.pad %6, %zero, low = [1, 0], high = [1, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<62x16xf32>, tensor<f32>) -> tensor<64x16xf32>
    return %7 : tensor<64x16xf32>
  }
}
